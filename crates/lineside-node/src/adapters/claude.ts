// Claude Agent SDK: callbacks for all of its hooks, which have the daemon answer in the words of Claude Code.
//
// What a document of Claude Code means, and how it is answered, is known to the daemon; here it is carried.

import type { HookCallback, HookCallbackMatcher, HookEvent, HookInput, HookJSONOutput, Options } from '@anthropic-ai/claude-agent-sdk';
import type { Session } from '../client.ts';
import { object, parsed } from '../wire.ts';

/** The events that are asked about: all that have a place among the points and need no answer of their own. */
const EVENTS: readonly HookEvent[] = [
  ...(['SessionStart', 'SessionEnd', 'UserPromptSubmit', 'UserPromptExpansion', 'PreToolUse', 'PermissionRequest'] as const),
  ...(['PermissionDenied', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'SubagentStart', 'SubagentStop'] as const),
  ...(['Stop', 'StopFailure', 'PreCompact', 'PostCompact', 'Notification', 'TaskCreated', 'TaskCompleted', 'ConfigChange'] as const),
];
/** How long a hook may take, in seconds, unless it is said. */
const TIMEOUT = 60;

/** What the adapter may be told. */
export interface ClaudeSettings {
  /** How long all hooks may take for an event, in seconds; 60. */
  timeout?: number;
}

type HookSet = Partial<Record<HookEvent, HookCallbackMatcher[]>>;

/** The options of `query` with the hooks of a session: the session of Claude Code is below it. */
export function hooked(session: Session, options: Options = {}, settings: ClaudeSettings = {}): Options {
  const own = hooks(session, settings);
  const joined: HookSet = { ...options.hooks };
  for (const [event, matchers] of Object.entries(own) as [HookEvent, HookCallbackMatcher[]][]) joined[event] = [...matchers, ...(joined[event] ?? [])];
  // What Claude Code starts inherits the session, and its trace.
  return { ...options, hooks: joined, env: { ...(options.env ?? process.env), ...session.environment } };
}

/** The hooks by themselves, for `options.hooks`. */
export function hooks(session: Session, { timeout = TIMEOUT }: ClaudeSettings = {}): HookSet {
  const { wire } = session.client.granted(session.environment.LINESIDE_GRANT ?? '');
  const ask: HookCallback = async (input, _id, { signal }) => {
    const event = input.hook_event_name;
    try {
      const headers = { 'Lineside-Protocol': '1', 'Lineside-Event': event, 'Lineside-Within-Ms': String(timeout * 1000 - 1000) };
      const answer = await wire.fetch('POST', '/v1/hosts/claude', { body: input, headers, signal });
      const end = Number(answer.headers['lineside-stdout-bytes'] ?? answer.body.length);
      const log = answer.body.subarray(end).toString('utf8').trim();
      if (answer.headers['lineside-exit'] === '2') return refused(input, log);
      const said = answer.body.subarray(0, end).toString('utf8').trim();
      if (said === '') return {};
      const output = object(parsed(said));
      if (!output) throw new Error('the answer of the daemon is no JSON object');
      return output as HookJSONOutput;
    } catch (error) {
      if (signal.aborted) throw error;
      return refused(input, `lineside has not decided about ${event}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return Object.fromEntries(EVENTS.map((event) => [event, [{ hooks: [ask], timeout, onFailure: 'block' }]]));
}

/** A refusal in the words of the event. What has happened already goes on. */
function refused({ hook_event_name: event }: HookInput, reason: string): HookJSONOutput {
  switch (event) {
    case 'PreToolUse':
      return { hookSpecificOutput: { hookEventName: event, permissionDecision: 'deny', permissionDecisionReason: reason } };
    case 'PermissionRequest':
      return { hookSpecificOutput: { hookEventName: event, decision: { behavior: 'deny', message: reason } } };
    case 'SessionStart':
      return { continue: false, stopReason: reason };
    case 'UserPromptSubmit':
    case 'UserPromptExpansion':
    case 'PostToolUse':
    case 'PreCompact':
    case 'TaskCreated':
    case 'TaskCompleted':
    case 'ConfigChange':
      return { decision: 'block', reason };
    default:
      return { systemMessage: reason };
  }
}

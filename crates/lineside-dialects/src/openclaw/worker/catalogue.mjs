// The hooks: those that fire (OC-35), those at points of their own and those that are only recorded (OC-36), the events
// of hook packs, and which of them are special.

export const FIRING = new Set([
  'before_agent_start', 'before_prompt_build', 'before_tool_call', 'tool_result_persist', 'before_agent_finalize',
  'message_sending', 'session_start', 'session_end', 'agent_end', 'llm_input', 'llm_output', 'after_tool_call',
  'subagent_spawned', 'subagent_ended', 'before_compaction', 'after_compaction', 'message_received', 'message_sent',
  'gateway_start', 'gateway_stop',
]);

// Name and nearest hook that fires everywhere, where there is one. Those with a point of their own are called when a
// program publishes it; the others are no hooks of the current release.
export const APART = new Map([
  ['before_model_resolve', 'before_prompt_build'],
  ['agent_turn_prepare', 'before_prompt_build'],
  ['before_agent_run', 'before_prompt_build'],
  ['before_agent_reply', 'before_prompt_build'],
  ['heartbeat_prompt_contribution', 'before_prompt_build'],
  ['model_call_started', 'llm_input'],
  ['model_call_ended', 'llm_output'],
  ['reply_payload_sending', 'message_sending'],
  ['inbound_claim', 'message_received'],
  ['before_dispatch', 'message_received'],
  ['reply_dispatch', 'message_received'],
  ['channel_pairing_requested', 'message_received'],
  ['before_message_write', 'tool_result_persist'],
  ['resolve_exec_env', 'before_tool_call'],
  ['subagent_progress', 'subagent_spawned'],
  ['subagent_delivery_target', 'subagent_spawned'],
  ['before_reset', 'session_end'],
  ['before_install', null],
  ['cron_reconciled', null],
  ['cron_changed', null],
  ['skill_proposal_evaluate', null],
  ['skill_proposal_changed', null],
  ['skill_changed', null],
]);
export const RECORDED = new Map([
  ['subagent_spawning', 'subagent_spawned'],
  ['deactivate', 'gateway_stop'],
]);

// Hooks at points of their own that are told and not asked.
const TOLD_APART = new Set([
  'model_call_started', 'model_call_ended', 'channel_pairing_requested', 'subagent_progress', 'cron_reconciled',
  'cron_changed', 'skill_proposal_changed', 'skill_changed',
]);

// The point of a hook that has one of its own.
export function ownPoint(hook) {
  const name = hook.replace(/[:-]/g, '_');
  if (/^(before|after|on)_/.test(name)) return `x.openclaw.${name}`;
  const isTold = TOLD_APART.has(hook) || (hook.includes(':') && hook !== 'agent:bootstrap');
  return `x.openclaw.${isTold ? 'on' : 'before'}_${name}`;
}

// Events of hook packs and their families. Commands, and what only OpenClaw's gateway does, have only points of their
// own for those that a plugin registers.
export const PACK_EVENTS = new Set([
  'command:new', 'command:reset', 'command:stop', 'session:auto-reset', 'session:compact:before',
  'session:compact:after', 'session:patch', 'agent:bootstrap', 'gateway:startup', 'gateway:shutdown',
  'gateway:pre-restart', 'message:received', 'message:transcribed', 'message:preprocessed', 'message:sent',
]);
export const PACK_FAMILIES = new Set(['command', 'session', 'agent', 'gateway', 'message']);
const PACK_APART = new Set(['command', 'session:patch', 'gateway:pre-restart', 'message:transcribed', 'message:preprocessed']);
export const isPackEvent = (event) => PACK_EVENTS.has(event) || PACK_FAMILIES.has(event);
export const isPackApart = (event) => PACK_APART.has(event) || event.startsWith('command:');

export const isKnown = (hook) => FIRING.has(hook) || APART.has(hook) || RECORDED.has(hook);

// OC-25
export const PROMPT_INJECTION = new Set([
  'before_agent_start', 'before_prompt_build', 'agent_turn_prepare', 'heartbeat_prompt_contribution',
]);
export const CONVERSATION_ACCESS = new Set([
  'before_agent_start', 'before_prompt_build', 'llm_input', 'llm_output', 'before_agent_finalize', 'agent_end',
  'before_model_resolve', 'agent_turn_prepare', 'before_agent_reply', 'before_agent_run',
]);

// OC-28
export const WITH_MATCHER = new Set(['before_tool_call', 'after_tool_call']);

// OC-34
export const CORE_GATEWAY_METHODS = [
  'agent', 'connect', 'health', 'last-heartbeat', 'poll', 'send', 'set-heartbeats', 'status', 'system-event',
  'system-presence', 'wake', 'config.', 'exec.approvals.', 'update.', 'wizard.',
];
export const CORE_COMMANDS = [
  'help', 'commands', 'status', 'diagnostics', 'codex', 'whoami', 'context', 'btw', 'stop', 'restart', 'reset', 'new',
  'compact', 'config', 'debug', 'allowlist', 'activation', 'skill', 'learn', 'loop', 'subagents', 'kill', 'steer',
  'tell', 'model', 'models', 'queue', 'send', 'bash', 'exec', 'think', 'verbose', 'reasoning', 'elevated', 'usage',
];

// Hooks of this process: what they are registered with, and what they may answer. The words are those of lineside's own file.

import type { Call, Run } from './attach.ts';
import type { Gate, Point, Verdict } from './decision.ts';
import type { AmendmentOf, PayloadOf } from './points.ts';
import { object } from './wire.ts';
import type { Fields } from './wire.ts';

export type { Call, Registration } from './attach.ts';

/** Which sessions a hook is for: its session and everything below, the session alone, or what is below. */
export type Reach = 'subtree' | 'self' | 'children';

/** An event as a hook has it: its envelope, and the payload of its point. */
export interface Event<P extends Point> {
  id: string;
  point: P;
  session: string;
  seq: number;
  payload: PayloadOf<P>;
  parent_session?: string;
  agent?: { id: string; kind: 'main' | 'subagent'; type?: string };
  cwd?: string;
  project_root?: string;
  traceparent?: string;
  /** Of an automation: its job, the attempt, and how many events it is for. */
  job?: { id: number; attempt: number; events: number };
  [field: string]: unknown;
}

/** What an interceptor answers; nothing for no opinion. An exception is a failure, which means what `on_failure` says. */
export interface Answer<P extends Gate> {
  verdict?: Verdict;
  reason?: string;
  /** Fields of the payload and their new values, for a hook with `amends`. */
  amend?: AmendmentOf<P>;
  context?: string | { text: string; role?: 'system' | 'assistant' | 'tool'; key?: string; expires_ms?: number }[];
  notice?: string;
}

/** An interceptor. */
export type Intercept<P extends Gate> = (event: Event<P>, call: Call) => Answer<P> | void | Promise<Answer<P> | void>;

/** What every hook may have: filters in the words of lineside's own file, and the sessions that it is for. */
export interface HookSettings {
  match?: Fields;
  reach?: Reach;
  priority?: number;
  /** Milliseconds, at most ten minutes; 30,000 for an interceptor. */
  timeout?: number;
}

/** What an interceptor is registered with. */
export interface InterceptSettings extends HookSettings {
  /** It may change the payload, and runs alone. */
  amends?: boolean;
  /** What it counts as when it cannot answer; `block`, and `continue` with `amends`. */
  on_failure?: 'block' | 'continue';
}

/** What comes of a run of an automation; nothing for success without a text. An exception is a failed attempt. */
export interface Report {
  summary: string;
  body?: string;
  found?: 'success' | 'failure';
}

/** What an automation runs. */
export type Automate<P extends Point> = (event: Event<P>, call: Call) => Report | void | Promise<Report | void>;

/** What an automation is registered with: the settings of `automate` in lineside's own file; times are in milliseconds. */
export interface AutomateSettings extends HookSettings {
  rate?: { starts: number; period: number; key?: string; excess?: 'wait' | 'drop' };
  debounce?: { quiet: number; at_most?: number };
  batch?: { count?: number; within?: number };
  hold_key?: string;
  concurrency?: string;
  limit?: number;
  on_busy?: 'queue' | 'coalesce' | 'drop' | 'restart';
  retry?: { attempts: number; constant?: number; exponential?: number; at_most?: number; after?: 'any_failure' | 'any_but_output' };
  join?: 'background' | 'before_next_model';
  result?: string | Fields;
  at_end?: 'leave_running' | { drain: number };
  cancelled_by?: { on: Point; match: Fields } | { on: Point; match: Fields }[];
}

/** An interceptor as it is registered. */
export function interceptor<P extends Gate>(point: P, name: string, settings: InterceptSettings, run: Intercept<P>): [Fields, Run] {
  const { reach, timeout = 30_000, amends = false, ...more } = settings;
  const hook = { on_failure: amends ? 'continue' : 'block', ...more, amends, timeout, name, on: point };
  return [{ reach, hook }, run as unknown as Run];
}

/** An automation as it is registered. */
export function automation<P extends Point>(point: P, name: string, settings: AutomateSettings, run: Automate<P>): [Fields, Run] {
  const { reach, match, priority, timeout, ...automate } = settings;
  const reported: Run = async (event, call) => {
    const report = object(await run(event as unknown as Event<P>, call));
    return report ? { found: 'success', ...report } : { summary: `${name} has run`, found: 'success' };
  };
  return [{ reach, hook: { match, priority, timeout, automate, name, on: point } }, reported];
}

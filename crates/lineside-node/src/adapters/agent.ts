// What the adapters of agent frameworks have in common: a tool call, a call of a model, a stop and a subagent, each with its
// events. A framework is not known here.

import { randomUUID } from 'node:crypto';
import type { Delivery, Session, SessionSettings } from '../client.ts';
import type { Decision, Gate } from '../decision.ts';
import type { ChangedFile, PayloadOf, ToolCall } from '../points.ts';

/** What kind of tool it is, in whatever program: guards for shells and files go by it. */
export type ToolClass = 'shell' | 'write' | 'edit' | 'read' | 'task' | 'mcp';

/** What a person is asked. */
export interface Question {
  tool: string;
  input: unknown;
  reason: string;
}

/** What the adapters may be told. */
export interface AdapterSettings {
  /** The class of each tool, by its name. */
  classes?: Record<string, ToolClass>;
  /** Asks a person, where a hook says `ask`; whether the call may run. Without it such a call is refused. */
  ask?: (question: Question) => boolean | Promise<boolean>;
  /** Gives hooks the messages at each call of a model, and not only their number. */
  messages?: boolean;
}

/** Something was refused. Its message is the reason, and is for the model. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** One run of an agent: a session, and what happens between two calls of its model. */
export class AgentRun {
  readonly session: Session;
  readonly settings: AdapterSettings;
  #calls: ToolCall[] = [];
  #changed: ChangedFile[] = [];
  #stopped: string | undefined;
  /** Whether a stop was refused since the last prompt. */
  #isKept = false;

  constructor(session: Session, settings: AdapterSettings = {}) {
    this.session = session;
    this.settings = settings;
  }

  /** Runs a tool between its events. Throws `Refused` where a hook refuses it or its output, or there is no decision. */
  async tool<T>(name: string, input: unknown, run: (input: never) => T, more: { id?: string | undefined; signal?: AbortSignal | undefined } = {}): Promise<Awaited<T>> {
    const call = { tool_name: name, tool_input: input ?? {}, ...this.#classOf(name), ...(more.id === undefined ? {} : { tool_call_id: more.id }) };
    const before = await this.decide('before_tool', call, more.signal);
    if (before.verdict === 'ask' && !(await this.settings.ask?.({ tool: name, input: before.payload.tool_input, reason: before.reason ?? '' }))) {
      const reason = `${before.reason ?? 'a person has to be asked'} (${this.settings.ask ? 'denied' : 'this program asks no person'})`;
      await this.session.publish('on_permission_denied', { tool_name: name, reason });
      throw new Refused(reason);
    }
    const made = { ...call, tool_input: before.payload.tool_input };
    const began = performance.now();
    let output: Awaited<T>;
    try {
      output = await run(made.tool_input as never);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.#calls.push({ ...made, error: text });
      const after = await this.decide('after_tool_error', { ...made, error: text });
      throw after.changed.includes('error') ? new Error(String(after.payload.error)) : error;
    }
    const after = await this.decide('after_tool', { ...made, tool_output: output ?? null, duration_ms: Math.round(performance.now() - began) });
    const given = after.changed.includes('tool_output') ? (after.payload.tool_output as Awaited<T>) : output;
    this.#calls.push({ ...made, tool_output: given ?? null });
    this.#changed.push(...changedBy(made));
    return given;
  }

  /** A prompt of a person: as hooks leave it. */
  async prompt(prompt: string): Promise<string> {
    this.#isKept = false;
    return (await this.decide('before_prompt', { prompt })).payload.prompt;
  }

  /** What the next call of the model must have. It is accepted when the call was made. */
  async context(signal?: AbortSignal): Promise<Delivery> {
    this.#goesOn();
    if (this.#calls.length > 0) {
      const batch = { tool_calls: this.#calls, changed_files: this.#changed };
      [this.#calls, this.#changed] = [[], []];
      await this.session.publish('after_tool_batch', batch);
    }
    return this.session.collect({ beforeNextModel: true, ...(signal ? { signal } : {}) });
  }

  /** A call of the model: what it is made with, as hooks leave it. */
  async model(model: string, messages: unknown[], tools: string[], signal?: AbortSignal): Promise<PayloadOf<'before_model'>> {
    const given = this.settings.messages ? { messages } : { message_count: messages.length };
    return (await this.decide('before_model', { model, ...given, tools }, signal)).payload;
  }

  /** The answer of the model: as hooks leave it. */
  async answer<T>(model: string, output: T, more: { usage?: object; stop_reason?: string } = {}): Promise<T> {
    const after = await this.decide('after_model', { model, output, ...more } as PayloadOf<'after_model'>);
    return after.changed.includes('output') ? (after.payload.output as T) : output;
  }

  /** The agent is about to stop: why it has to go on, if a hook keeps it working. */
  async stop(output: unknown): Promise<string | undefined> {
    this.#goesOn();
    const decision = await this.session.publish('before_stop', { stop_active: this.#isKept, output });
    if (decision.verdict !== 'block') return undefined;
    this.#isKept = true;
    return decision.reason ?? 'a hook keeps the agent working';
  }

  /**
   * Has a subagent work in a session below this one, under its hooks: `work` is given its run, and the prompt as hooks leave it.
   * A hook that refuses what it brings back has it work once more, with the reason as its prompt.
   */
  async delegate(type: string, prompt: string, work: (run: AgentRun, prompt: string) => Promise<string>, settings: SessionSettings = {}): Promise<string> {
    const id = `${this.session.id}/${type}-${randomUUID().slice(0, 8)}`;
    const before = await this.decide('before_subagent', { child_session: id, agent_type: type, prompt });
    const child = await this.session.subagent(id, { agent: { id: type, type }, ...settings });
    try {
      const run = new AgentRun(child, this.settings);
      for (let [asked, isKept] = [before.payload.prompt ?? prompt, false]; ; isKept = true) {
        const output = await work(run, asked);
        const after = await this.session.publish('after_subagent', { child_session: id, agent_type: type, output, stop_active: isKept });
        if (after.verdict === 'stop') throw new Refused((this.#stopped = after.reason ?? 'a hook has stopped the agent'));
        if (!after.isRefused) return after.payload.output ?? output;
        asked = after.reason ?? 'go on';
      }
    } finally {
      await child.close();
    }
  }

  /** Publishes what is to happen, and throws `Refused` where it must not. */
  async decide<P extends Gate>(point: P, payload: PayloadOf<P>, signal?: AbortSignal): Promise<Decision<P>> {
    const decision = await this.session.publish(point, payload, { signal }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new Refused(`lineside has not decided about ${point}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    });
    if (!decision.isRefused) return decision;
    const reason = decision.reason ?? `${decision.author ?? 'a hook'} refuses it`;
    if (decision.verdict === 'stop') this.#stopped = reason;
    throw new Refused(reason);
  }

  /** Throws when a hook has stopped the agent. */
  #goesOn(): void {
    if (this.#stopped !== undefined) throw new Refused(this.#stopped);
  }

  #classOf(name: string): { tool_class?: ToolClass } {
    const found = this.settings.classes?.[name];
    return found === undefined ? {} : { tool_class: found };
  }
}

/** The files that a tool call has changed, as its class and its input have them. */
function changedBy({ tool_name, tool_input, tool_class }: ToolCall & { tool_class?: ToolClass }): ChangedFile[] {
  if (tool_class !== 'write' && tool_class !== 'edit') return [];
  const { path, file_path, filePath } = (tool_input ?? {}) as Record<string, unknown>;
  const found = path ?? file_path ?? filePath;
  return typeof found === 'string' ? [{ path: found, tool_name }] : [];
}

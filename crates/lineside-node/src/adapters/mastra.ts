// Mastra: an agent whose tools, calls of its model and stops are under the hooks of a session, by a processor.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { AgentConfig } from '@mastra/core/agent';
import type { ProcessInputArgs, ProcessInputStepArgs, ProcessInputStepResult, ProcessOutputStepArgs, Processor } from '@mastra/core/processors';
import type { Session } from '../client.ts';
import { AgentRun, Refused } from './agent.ts';
import type { AdapterSettings } from './agent.ts';

export { AgentRun, Refused } from './agent.ts';
export type { AdapterSettings, Question, ToolClass } from './agent.ts';

/** Under which name Mastra gives an agent its subagents as tools. */
const SUBAGENT = 'agent-';
/** How often a processor may have the model called again; that of a stop is bounded by the bus. */
const RETRIES = 16;

/** The run of the subagent that is at work. */
const below = new AsyncLocalStorage<AgentRun>();

/** What an agent is made of, as far as it is put under hooks. */
type Config = Pick<AgentConfig, 'inputProcessors' | 'outputProcessors' | 'maxProcessorRetries'>;
type Given<T> = T | ((context: never) => T | Promise<T>) | undefined;

/** The same settings of `new Agent` with the hooks of a session. As a subagent it is under those of a session below. */
export function hooked<C extends object>(session: Session | AgentRun, config: C, settings?: AdapterSettings): C {
  const processor = hooks(session, settings);
  const { inputProcessors, outputProcessors, maxProcessorRetries } = config as Config;
  return {
    ...config,
    inputProcessors: joined(inputProcessors as Given<unknown[]>, (given) => [...given, processor]),
    outputProcessors: joined(outputProcessors as Given<unknown[]>, (given) => [processor, ...given]),
    maxProcessorRetries: Math.max(maxProcessorRetries ?? 0, RETRIES),
  };
}

/** The processor by itself: the last one of the input, and the first one of the output. */
export function hooks(session: Session | AgentRun, settings?: AdapterSettings): Processor<'lineside'> {
  return new Hooks(session instanceof AgentRun ? session : new AgentRun(session, settings));
}

function joined(given: Given<unknown[]>, join: (given: unknown[]) => unknown[]): Given<unknown[]> {
  if (typeof given !== 'function') return join(given ?? []);
  return async (context: never) => join(await given(context));
}

interface Executing {
  execute?: (input: unknown, options?: { toolCallId?: string; abortSignal?: AbortSignal }) => unknown;
}

class Hooks implements Processor<'lineside'> {
  readonly id = 'lineside' as const;
  readonly #own: AgentRun;

  constructor(run: AgentRun) {
    this.#own = run;
  }

  get #run(): AgentRun {
    return below.getStore() ?? this.#own;
  }

  /** What a person has said, as hooks leave it. */
  async processInput({ messages, abort }: ProcessInputArgs): Promise<ProcessInputArgs['messages']> {
    const last = messages.at(-1);
    // A subagent is told what to do by the agent above.
    if (last?.role !== 'user' || below.getStore()) return messages;
    const texts = (last.content.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : []));
    const said = texts.join('\n');
    const left = await orAbort(abort, () => this.#run.prompt(said));
    if (left === said) return messages;
    const others = last.content.parts.filter((part) => part.type !== 'text');
    const { content: _, ...content } = last.content;
    return [...messages.slice(0, -1), { ...last, content: { ...content, parts: [{ type: 'text', text: left }, ...others] } }];
  }

  /** Before each call of the model: what hooks have for the context, and tools that ask them. */
  async processInputStep(args: ProcessInputStepArgs): Promise<ProcessInputStepResult> {
    const { messageList, model, tools = {}, modelSettings, abortSignal, abort } = args;
    const run = this.#run;
    return orAbort(abort, async () => {
      const delivery = await run.context(abortSignal);
      if (delivery.text) messageList.add({ role: 'user', content: delivery.text }, 'input');
      await run.model(model.modelId, messageList.get.all.db(), Object.keys(tools), abortSignal);
      await delivery.accept();
      const { traceparent } = run.session;
      const headers = { ...(traceparent !== undefined && { traceparent }), ...modelSettings?.headers };
      return { messageList, tools: hookedTools(run, tools), modelSettings: { ...modelSettings, headers } };
    });
  }

  /** After each answer of the model; one without calls of tools is a stop. */
  async processOutputStep(args: ProcessOutputStepArgs): Promise<ProcessOutputStepArgs['messages']> {
    const { messages, text = '', toolCalls = [], usage, finishReason, steps, abort } = args;
    const run = this.#run;
    const { inputTokens, outputTokens } = usage ?? {};
    const reason = await orAbort(abort, async () => {
      const more = { usage: { input_tokens: inputTokens ?? 0, output_tokens: outputTokens ?? 0 }, ...(finishReason !== undefined && { stop_reason: finishReason }) };
      await run.answer(String(steps.at(-1)?.response.modelId ?? ''), text, more);
      return toolCalls.length > 0 ? undefined : run.stop(text);
    });
    if (reason !== undefined) abort(reason, { retry: true });
    return messages;
  }
}

/** What was refused ends the run, as Mastra ends it. */
async function orAbort<T>(abort: (reason?: string) => never, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Refused) abort(error.message);
    throw error;
  }
}

function hookedTools(run: AgentRun, tools: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const { execute } = (tool ?? {}) as Executing;
      if (!execute) return [name, tool];
      const hooked: NonNullable<Executing['execute']> = (input, options) => {
        const made = (given: unknown) => execute.call(tool, given, options);
        const call = { id: options?.toolCallId, signal: options?.abortSignal };
        if (!name.startsWith(SUBAGENT)) return run.tool(name, input, made, call);
        return run.tool(name, input, (given: { prompt?: string }) => delegated(run, name.slice(SUBAGENT.length), given, made), call);
      };
      // It keeps what its class has given it.
      return [name, Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute: hooked })];
    }),
  );
}

/** Has a subagent work below, whose own hooks are those of the session there. Its result has the text as hooks leave it. */
async function delegated(run: AgentRun, type: string, input: { prompt?: string }, work: (input: unknown) => unknown): Promise<unknown> {
  let result: unknown;
  const text = await run.delegate(type, input.prompt ?? '', async (child, prompt) => {
    result = await below.run(child, async () => work({ ...input, prompt }));
    const { text } = (result ?? {}) as { text?: unknown };
    return typeof text === 'string' ? text : JSON.stringify(result ?? null);
  });
  return typeof result === 'object' && result !== null && 'text' in result ? { ...result, text } : text;
}

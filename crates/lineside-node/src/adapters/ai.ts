// Vercel AI SDK: a model and tools that are under the hooks of a session, for `generateText`, `streamText` and agents.
//
// Everything hangs on the model and on `execute` of the tools, which every entry point of the SDK goes through.

import { wrapLanguageModel } from 'ai';
import type { LanguageModel, LanguageModelMiddleware, ToolSet } from 'ai';
import type { Delivery, Session, SessionSettings } from '../client.ts';
import { RequestError } from '../wire.ts';
import { AgentRun } from './agent.ts';
import type { AdapterSettings } from './agent.ts';

export { AgentRun, Refused } from './agent.ts';
export type { AdapterSettings, Question, ToolClass } from './agent.ts';

/** The forms of the SDK's provider interface that is current, without a dependency on it. */
type Wrapped = NonNullable<Parameters<NonNullable<LanguageModelMiddleware['wrapGenerate']>>[0]>;
type Params = Wrapped['params'];
type Prompt = Params['prompt'];
type Message = Prompt[number];
type Generated = Awaited<ReturnType<Wrapped['doGenerate']>>;
type Streamed = Awaited<ReturnType<Wrapped['doStream']>>;
type Part = Streamed['stream'] extends ReadableStream<infer P> ? P : never;

/** What is put under hooks: the settings of `generateText`, `streamText` or `ToolLoopAgent`. */
interface Hookable {
  model: LanguageModel;
  tools?: ToolSet;
}

/** The same settings with a model and tools that are under the hooks of a session. */
export function hooked<S extends Hookable>(session: Session | AgentRun, options: S, settings?: AdapterSettings): S {
  const run = session instanceof AgentRun ? session : new AgentRun(session, settings);
  const { model, tools } = options;
  if (typeof model === 'string') throw new TypeError(`give the model as an object: gateway(${JSON.stringify(model)}) of \`ai\``);
  const middleware = new Conversation(run).middleware();
  return {
    ...options,
    model: wrapLanguageModel({ model, middleware } as Parameters<typeof wrapLanguageModel>[0]),
    ...(tools && { tools: hookedTools(run, tools) }),
  };
}

/** The tool's work by a subagent, in a session below: `work` is given what `hooked` takes in the place of a session. */
export function delegated(
  session: Session | AgentRun,
  type: string,
  prompt: string,
  work: (run: AgentRun, prompt: string) => Promise<string>,
  settings?: SessionSettings & AdapterSettings,
): Promise<string> {
  const run = session instanceof AgentRun ? session : new AgentRun(session, settings);
  return run.delegate(type, prompt, work, settings);
}

function hookedTools(run: AgentRun, tools: ToolSet): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const { execute } = tool;
      if (!execute) return [name, tool];
      const hooked: typeof execute = (input, options) => {
        const call = { id: options.toolCallId, signal: options.abortSignal };
        return run.tool(name, input, async (given: typeof input) => last(await execute.call(tool, given, options)), call);
      };
      return [name, { ...tool, execute: hooked }];
    }),
  );
}

/** What a tool gives in the end, of one that gives preliminary results. */
async function last(output: unknown): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output;
  let value: unknown;
  for await (value of output as AsyncIterable<unknown>);
  return value;
}

/** What hooks have put into a conversation: behind so many messages, of which the last one is this. */
interface Woven {
  at: number;
  behind: string;
  messages: Message[];
}

/**
 * The conversation of a session. What hooks have put into it is no part of the SDK's history, so it is put where it was in each
 * later call that has the messages before it.
 */
class Conversation {
  readonly #run: AgentRun;
  #woven: Woven[] = [];
  /** Context that was taken for a call which has failed since. */
  #held: Delivery[] = [];
  /** What hooks were asked about last, of what a person has said, and what they have made of that, by its place. */
  #asked = '';
  #amended = new Map<number, { said: string; message: Message }>();

  constructor(run: AgentRun) {
    this.#run = run;
  }

  middleware(): LanguageModelMiddleware {
    return {
      specificationVersion: 'v4',
      wrapGenerate: ({ model, params }) => this.#generate(model, params),
      wrapStream: ({ model, params }) => this.#stream(model, params),
    };
  }

  async #generate(model: Wrapped['model'], params: Params): Promise<Generated> {
    for (;;) {
      const made = await this.#prepared(model, params);
      const result = await model.doGenerate(made.params);
      await made.accept();
      const content = await this.#run.answer(model.modelId, result.content, { usage: usageOf(result.usage), stop_reason: result.finishReason.unified });
      if (content.some(({ type }) => type === 'tool-call')) return { ...result, content };
      const reason = await this.#run.stop(textOf(content));
      if (reason === undefined) return { ...result, content };
      const said: Message = { role: 'assistant', content: [{ type: 'text', text: textOf(content) }] };
      this.#weave(params.prompt, [...(textOf(content) ? [said] : []), asUser(reason)]);
    }
  }

  async #stream(model: Wrapped['model'], params: Params): Promise<Streamed> {
    const next = async () => {
      const made = await this.#prepared(model, params);
      const result = await model.doStream(made.params);
      await made.accept();
      return result;
    };
    const first = await next();
    const parts = this.#parts(model, params, first, next)[Symbol.asyncIterator]();
    const stream = new ReadableStream<Part>({
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await parts.return?.(undefined)),
    });
    return { ...first, stream };
  }

  /** The parts of one answer, and where a hook keeps the agent working those of the next. */
  async *#parts(model: Wrapped['model'], params: Params, result: Streamed, next: () => Promise<Streamed>): AsyncGenerator<Part, void> {
    for (let round = 0; ; round++) {
      let [text, callsTools, finish]: [string, boolean, Part | undefined] = ['', false, undefined];
      for await (const part of result.stream as unknown as AsyncIterable<Part>) {
        if (part.type === 'text-delta') text += part.delta;
        if (part.type === 'tool-call') callsTools = true;
        if (part.type === 'finish') finish = part;
        // An answer that goes on begins once, and its texts have names of their own.
        else if (round === 0) yield part;
        else if (part.type !== 'stream-start') yield 'id' in part && typeof part.id === 'string' && part.type !== 'response-metadata' && /^(text|reasoning)-/.test(part.type) ? ({ ...part, id: `${round}:${part.id}` } as Part) : part;
      }
      if (finish?.type === 'finish') await this.#run.answer(model.modelId, text, { usage: usageOf(finish.usage), stop_reason: finish.finishReason.unified });
      const reason = callsTools || !finish ? undefined : await this.#run.stop(text);
      if (reason === undefined) {
        if (finish) yield finish;
        return;
      }
      // The text was given out, and stands in the SDK's history from here on.
      this.#weave(params.prompt, [asUser(reason)]);
      result = await next();
    }
  }

  /** What a call is made with, and what accepts the context that it has. */
  async #prepared(model: Wrapped['model'], params: Params): Promise<{ params: Params; accept: () => Promise<void> }> {
    const { session } = this.#run;
    const signal = params.abortSignal;
    const prompt = await this.#said(params.prompt);
    this.#held.push(await this.#run.context(signal));
    const texts = this.#held.flatMap(({ text }) => (text ? [asUser(text)] : []));
    const messages = [...this.#wove(params.prompt, prompt), ...texts];
    const tools = (params.tools ?? []).map(({ name }) => name);
    const amended = await this.#run.model(model.modelId, messages, tools, signal);
    const headers = session.traceparent === undefined ? params.headers : { traceparent: session.traceparent, ...params.headers };
    const accept = async () => {
      if (texts.length > 0) this.#weave(params.prompt, texts);
      for (const delivery of this.#held.splice(0)) await delivery.accept().catch(unlessGone);
    };
    return { params: { ...params, ...(headers && { headers }), prompt: (amended.messages as Prompt | undefined) ?? messages }, accept };
  }

  /** The prompt, of which what a person has said is as hooks leave it. */
  async #said(prompt: Prompt): Promise<Prompt> {
    const at = prompt.length - 1;
    const message = prompt[at];
    const said = message?.role === 'user' ? saidBy(message) : '';
    // A call that is made once more has the same.
    if (message?.role === 'user' && this.#asked !== `${prompt.length} ${said}`) {
      const left = await this.#run.prompt(said);
      this.#asked = `${prompt.length} ${said}`;
      const others = message.content.filter((part) => part.type !== 'text');
      if (left !== said) this.#amended.set(at, { said, message: { ...message, content: [{ type: 'text', text: left }, ...others] } });
    }
    return prompt.map((message, at) => {
      const amended = this.#amended.get(at);
      return amended && message.role === 'user' && saidBy(message) === amended.said ? amended.message : message;
    });
  }

  #weave(prompt: Prompt, messages: Message[]): void {
    this.#woven.push({ at: prompt.length, behind: JSON.stringify(prompt.at(-1)), messages });
  }

  /** A prompt with what hooks have put into it as it was given, each behind the messages that it came after. */
  #wove(given: Prompt, prompt: Prompt): Prompt {
    const messages: Prompt = [];
    const waiting = this.#woven.filter(({ at, behind }) => JSON.stringify(given[at - 1]) === behind);
    for (const [at, message] of [...prompt.entries(), [prompt.length, undefined] as const]) {
      // Never between the call of a tool and its result.
      while (message?.role !== 'tool' && waiting[0] && waiting[0].at <= at) messages.push(...(waiting.shift()?.messages ?? []));
      if (message) messages.push(message);
    }
    for (const { messages: rest } of waiting) messages.push(...rest);
    return messages;
  }
}

/** Messages that went back before they were accepted come again. */
function unlessGone(error: unknown): void {
  if (!(error instanceof RequestError) || error.status !== 404) throw error;
}

function asUser(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function saidBy({ content }: Message & { role: 'user' }): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function textOf(content: Generated['content']): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}

function usageOf({ inputTokens, outputTokens }: Generated['usage']): { input_tokens?: number; output_tokens?: number } {
  return { input_tokens: inputTokens.total ?? 0, output_tokens: outputTokens.total ?? 0 };
}

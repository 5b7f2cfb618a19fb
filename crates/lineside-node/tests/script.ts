// A model for the tests of adapters that answers with what its script has, and keeps what it was asked.

import assert from 'node:assert/strict';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';

/** One answer: a text, or the call of a tool with its input. */
export type Step = { text: string } | { call: [string, object] };

type Options = Parameters<MockLanguageModelV4['doGenerate']>[0];

/** A model that answers with one step after another. */
export class Scripted extends MockLanguageModelV4 {
  readonly prompts: Options['prompt'][] = [];
  readonly headers: Options['headers'][] = [];
}

/** A model that answers with these steps. */
export function scripted(...steps: Step[]): Scripted {
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  let at = 0;
  const next = ({ prompt, headers }: Options) => {
    const step = steps[at++];
    model.prompts.push(prompt);
    model.headers.push(headers);
    assert.ok(step, 'the script is over');
    const call = 'call' in step ? step.call : undefined;
    const finishReason = { unified: call ? ('tool-calls' as const) : ('stop' as const), raw: undefined };
    const toolCall = call && { type: 'tool-call' as const, toolCallId: `call-${at}`, toolName: call[0], input: JSON.stringify(call[1]) };
    return { toolCall, text: 'text' in step ? step.text : '', finishReason };
  };
  const model: Scripted = new Scripted({
    doGenerate: async (options) => {
      const { toolCall, text, finishReason } = next(options);
      return { content: toolCall ? [toolCall] : [{ type: 'text', text }], finishReason, usage, warnings: [] };
    },
    doStream: async (options) => {
      const { toolCall, text, finishReason } = next(options);
      const said = [{ type: 'text-start' as const, id: '1' }, { type: 'text-delta' as const, id: '1', delta: text }, { type: 'text-end' as const, id: '1' }];
      const parts = [{ type: 'stream-start' as const, warnings: [] }, ...(toolCall ? [toolCall] : said), { type: 'finish' as const, usage, finishReason }];
      return { stream: simulateReadableStream({ chunks: parts }) };
    },
  });
  return model;
}

// A model of Vercel AI SDK for the pages: it calls the first tool that it is given, and answers with what it has from that.

import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';

const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };

type Options = Parameters<MockLanguageModelV4['doGenerate']>[0];

function answered({ prompt, tools }: Options) {
  const results = prompt.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const result = results.findLast((part) => part.type === 'tool-result');
  if (result?.type === 'tool-result') {
    const text = 'value' in result.output ? (typeof result.output.value === 'string' ? result.output.value : JSON.stringify(result.output.value)) : '';
    return { text, call: undefined, finishReason: { unified: 'stop' as const, raw: undefined } };
  }
  const toolName = tools?.[0]?.name ?? '';
  const input = JSON.stringify(toolName === 'review' ? { task: 'the last change' } : { command: 'rm -rf /' });
  const call = { type: 'tool-call' as const, toolCallId: 'call-1', toolName, input };
  return { text: '', call, finishReason: { unified: 'tool-calls' as const, raw: undefined } };
}

// Both frameworks take it, each by a type of its own.
export const model: any = new MockLanguageModelV4({
  doGenerate: async (options: Options) => {
    const { text, call, finishReason } = answered(options);
    return { content: [call ?? { type: 'text', text }], finishReason, usage, warnings: [] };
  },
  doStream: async (options: Options) => {
    const { text, call, finishReason } = answered(options);
    const said = [{ type: 'text-start' as const, id: '1' }, { type: 'text-delta' as const, id: '1', delta: text }, { type: 'text-end' as const, id: '1' }];
    const parts = [{ type: 'stream-start' as const, warnings: [] }, ...(call ? [call] : said), { type: 'finish' as const, usage, finishReason }];
    return { stream: simulateReadableStream({ chunks: parts }) };
  },
});

// A model on loopback that speaks the HTTP of Anthropic's messages, and answers with what its script has.

import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

/** One answer: a text, the call of a tool with its input, or a text with what came back from the last tool behind it. */
type Step = { text: string } | { call: [string, object] } | { told: string };

interface Body {
  messages: { role: string; content: unknown }[];
  tools?: { name: string }[];
  stream?: boolean;
}

/** A model that ends with its test. */
export async function model(t: TestContext, scripts: Record<string, Step[]>): Promise<{ url: string; asked: Body[] }> {
  const { server, ...rest } = await serve(scripts);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return rest;
}

/** Serves a model. Of the scripts the one is played whose name stands in the first message, by the number of answers so far. */
export async function serve(scripts: Record<string, Step[]>): Promise<{ url: string; asked: Body[]; server: http.Server }> {
  const asked: Body[] = [];
  const server = http.createServer(async (request, response) => {
    const body = JSON.parse((await text(request)) || '{}') as Body;
    if (!request.url?.includes('/v1/messages') || request.url.includes('count_tokens')) return void json(response, { input_tokens: 1 });
    asked.push(body);
    const first = JSON.stringify(body.messages.filter(({ role }) => role === 'user').map(({ content }) => content));
    const script = Object.entries(scripts).findLast(([name]) => first.includes(name))?.[1] ?? [];
    const step = script[body.messages.filter(({ role }) => role === 'assistant').length] ?? { text: 'ok' };
    answer(response, body, 'told' in step ? { text: step.told + toldBy(body) } : step, asked.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** What the last tool has given back. */
function toldBy({ messages }: Body): string {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as { type: string; content?: unknown }[]) : []));
  return String(blocks.findLast(({ type }) => type === 'tool_result')?.content ?? '');
}

function json(response: http.ServerResponse, value: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

function answer(response: http.ServerResponse, body: Body, step: Exclude<Step, { told: string }>, count: number): void {
  const block = 'text' in step ? { type: 'text', text: step.text } : { type: 'tool_use', id: `toolu_${count}`, name: step.call[0], input: step.call[1] };
  const stop_reason = 'text' in step ? 'end_turn' : 'tool_use';
  const message = { id: `msg_${count}`, type: 'message', role: 'assistant', model: 'scripted', stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } };
  if (!body.stream) return json(response, { ...message, content: [block], stop_reason });
  const begun = 'text' in step ? { type: 'text', text: '' } : { ...block, input: {} };
  const delta = 'text' in step ? { type: 'text_delta', text: step.text } : { type: 'input_json_delta', partial_json: JSON.stringify(step.call[1]) };
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: begun },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

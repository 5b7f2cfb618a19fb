// The adapter for Mastra, with Mastra itself and a model that says what its script has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import type { Session } from 'lineside';
import { hooked } from 'lineside/mastra';
import { z } from 'zod';
import { Daemon } from '../daemon.ts';
import { scripted } from '../script.ts';
import { guarded, opened } from '../session.ts';

type Model = ConstructorParameters<typeof Agent>[0]['model'];

const classes = { bash: 'shell' } as const;

function shell() {
  const ran: string[] = [];
  const bash = createTool({
    id: 'bash',
    description: 'Runs a command.',
    inputSchema: z.object({ command: z.string() }),
    execute: async ({ command }) => {
      ran.push(command);
      if (command === 'false') throw new Error('exit status 1');
      return `output of ${command}`;
    },
  });
  return { ran, bash };
}

function agent(session: Session, model: unknown, more: object) {
  return new Agent(hooked(session, { id: 'a', name: 'a', instructions: 'Work.', model: model as Model, ...more }, { classes }));
}

test('a call is refused with its reason, amended, and its output changed', async (t) => {
  const session = await guarded(t);
  const model = scripted({ call: ['bash', { command: 'rm -rf /' }] }, { call: ['bash', { command: 'ls' }] }, { call: ['bash', { command: 'false' }] }, { text: 'done' });
  const { ran, bash } = shell();
  const result = await agent(session, model, { tools: { bash } }).generate('go', { maxSteps: 9 });
  assert.equal(result.text, 'done');
  assert.deepEqual(ran, ['ls -l', 'false']);
  const results = model.prompts.at(-1)?.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content));
  assert.match(results?.[0] ?? '', /it stays/);
  assert.match(results?.[1] ?? '', /redacted/);
  assert.match(results?.[2] ?? '', /exit status 1/);
});

test('context is there before a call of the model, once, and stays; the call is in the trace of the session', async (t) => {
  const session = await opened(t);
  await session.intercept('before_prompt', 'hint', { amends: true }, ({ payload }) => ({ context: 'Mind the gap.', amend: { prompt: `${payload.prompt}, please` } }));
  await session.intercept('after_tool_batch', 'batch', {}, ({ payload }) => ({ context: `${payload.tool_calls.length} calls` }));
  const model = scripted({ call: ['bash', { command: 'a' }] }, { call: ['bash', { command: 'b' }] }, { text: 'done' });
  await agent(session, model, { tools: { bash: shell().bash } }).generate('go', { maxSteps: 9 });
  const counts = (text: RegExp) => model.prompts.map((prompt) => JSON.stringify(prompt).match(text)?.length ?? 0);
  assert.deepEqual(counts(/go, please/g), [1, 1, 1]);
  assert.deepEqual(counts(/Mind the gap/g), [1, 1, 1]);
  assert.deepEqual(counts(/1 calls/g), [0, 1, 2]);
  assert.equal(model.headers[0]?.traceparent, session.traceparent);
});

test('an agent that wants to stop is kept working, and goes on with the reason', async (t) => {
  const session = await opened(t);
  const stops: unknown[] = [];
  await session.intercept('before_stop', 'tests', {}, ({ payload }) => {
    stops.push([payload.stop_active, payload.output]);
    if (!payload.stop_active) return { verdict: 'block', reason: 'the tests fail' };
  });
  const model = scripted({ text: 'all done' }, { call: ['bash', { command: 'fix' }] }, { text: 'fixed' });
  const { ran, bash } = shell();
  const result = await agent(session, model, { tools: { bash } }).generate('go', { maxSteps: 9 });
  assert.deepEqual([result.text.endsWith('fixed'), ran], [true, ['fix']]);
  assert.deepEqual(stops, [[false, 'all done'], [true, 'fixed']]);
  assert.match(JSON.stringify(model.prompts[1]), /the tests fail/);
});

test('a subagent has a session below, under the hooks of the one above', async (t) => {
  const session = await opened(t);
  const seen: unknown[] = [];
  await session.intercept('before_tool', 'gate', { reach: 'children' }, ({ parent_session, agent, payload }) => {
    seen.push([parent_session, agent?.type, payload.tool_name]);
    return { verdict: 'block', reason: 'not below' };
  });
  await session.intercept('after_subagent', 'quality', { amends: true }, ({ payload }) => ({ amend: { output: `${payload.output}!` } }));
  const { ran, bash } = shell();
  const below = scripted({ call: ['bash', { command: 'ls' }] }, { text: 'reviewed' });
  const reviewer = new Agent(hooked(session, { id: 'reviewer', name: 'reviewer', description: 'Reviews.', instructions: 'Review.', model: below as unknown as Model, tools: { bash } }));
  const above = scripted({ call: ['agent-reviewer', { prompt: 'this' }] }, { text: 'done' });
  const result = await agent(session, above, { agents: { reviewer } }).generate('go', { maxSteps: 9 });
  assert.equal(result.text, 'done');
  assert.deepEqual([ran, seen], [[], [['s1', 'reviewer', 'bash']]]);
  assert.match(JSON.stringify(above.prompts[1]), /reviewed!/);
});

test('without a daemon no tool runs and no model is called', async (t) => {
  const daemon = await Daemon.start(t);
  const session = await daemon.client(t).session('s1');
  const model = scripted({ text: 'never' });
  await daemon.kill();
  const result = await agent(session, model, { tools: shell() }).generate('go');
  assert.match(result.tripwire?.reason ?? '', /lineside has not decided about before_prompt/);
  assert.equal(model.prompts.length, 0);
});

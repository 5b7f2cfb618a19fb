// The adapter for Vercel AI SDK, with the SDK itself and a model that says what its script has.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { APICallError, generateText, isStepCount, streamText, tool, ToolLoopAgent } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { AgentRun, delegated, hooked } from 'lineside/ai';
import { z } from 'zod';
import { Daemon } from '../daemon.ts';
import { scripted } from '../script.ts';
import { guarded, opened } from '../session.ts';

/** What a shell has run. */
function shell() {
  const ran: string[] = [];
  const run = tool({
    inputSchema: z.object({ command: z.string() }),
    execute: async ({ command }) => {
      ran.push(command);
      if (command === 'false') throw new Error('exit status 1');
      return `output of ${command}`;
    },
  });
  return { ran, run };
}

const classes = { bash: 'shell' } as const;
const stopWhen = isStepCount(9);

test('a call is refused with its reason, amended, and its output withheld', async (t) => {
  const session = await guarded(t);
  const model = scripted({ call: ['bash', { command: 'rm -rf /' }] }, { call: ['bash', { command: 'ls' }] }, { call: ['bash', { command: 'false' }] }, { text: 'done' });
  const { ran, run } = shell();
  const result = await generateText({ ...hooked(session, { model, tools: { bash: run } }, { classes }), prompt: 'go', stopWhen });
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
  const agent = new ToolLoopAgent(hooked(session, { model, tools: { bash: shell().run } }, { classes }));
  await agent.generate({ prompt: 'go' });
  const texts = model.prompts.map((prompt) => prompt.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`));
  const having = (text: RegExp) => texts.map((messages) => messages.flatMap((message, at) => (text.test(message) ? [at] : [])));
  assert.deepEqual(having(/go, please/), [[0], [0], [0]]);
  assert.deepEqual(having(/Mind the gap/), [[1], [1], [1]]);
  assert.deepEqual(having(/1 calls/), [[], [4], [4, 7]]);
  assert.equal(model.headers[0]?.traceparent, session.traceparent);
});

test('an agent that wants to stop is kept working, and goes on with the reason', async (t) => {
  const session = await opened(t);
  const stops: unknown[] = [];
  await session.intercept('before_stop', 'tests', {}, ({ payload }) => {
    stops.push([payload.stop_active, payload.output]);
    if (!payload.stop_active) return { verdict: 'block', reason: 'the tests fail' };
  });
  const model = scripted({ text: 'all done' }, { call: ['bash', { command: 'fix' }] }, { text: 'fixed' }, { text: 'said' }, { text: 'streamed' });
  const { ran, run } = shell();
  const options = hooked(session, { model, tools: { bash: run } });
  const result = await generateText({ ...options, prompt: 'go', stopWhen });
  assert.deepEqual([result.text, ran], ['fixed', ['fix']]);
  assert.deepEqual(stops, [[false, 'all done'], [true, 'fixed']]);
  assert.match(JSON.stringify(model.prompts[1]), /all done.*the tests fail/);
  assert.match(JSON.stringify(model.prompts[2]), /all done.*the tests fail.*output of fix/);
  const stream = streamText({ ...hooked(session, { model, tools: { bash: run } }), prompt: 'go on', stopWhen });
  assert.equal(await stream.text, 'saidstreamed');
  assert.deepEqual(stops.slice(2), [[false, 'said'], [true, 'streamed']]);
});

test('another conversation of the same agent has its prompt judged, and nothing of the one before', async (t) => {
  const session = await opened(t);
  await session.intercept('before_prompt', 'gate', {}, ({ payload }) => {
    if (payload.prompt === 'harm') return { verdict: 'block', reason: 'no harm' };
    return { context: `hint for ${payload.prompt}` };
  });
  const model = scripted({ text: 'a' }, { text: 'b' });
  const agent = new ToolLoopAgent(hooked(session, { model, maxRetries: 0 }));
  await agent.generate({ prompt: 'one' });
  await agent.generate({ prompt: 'two' });
  await assert.rejects(agent.generate({ prompt: 'harm' }), /no harm/);
  assert.equal(model.prompts.length, 2);
  assert.match(JSON.stringify(model.prompts[1]), /hint for two/);
  assert.doesNotMatch(JSON.stringify(model.prompts[1]), /hint for one/);
});

test('context that was taken for a call which has failed is there when that is made once more', async (t) => {
  const session = await opened(t, [{ name: 'hint', on: 'before_prompt', context: 'Mind the gap.' }]);
  const { doGenerate } = scripted({ text: 'done' });
  let calls = 0;
  const prompts: unknown[] = [];
  const failing = new MockLanguageModelV4({
    doGenerate: async (options) => {
      prompts.push(options.prompt);
      if (++calls === 1) throw new APICallError({ message: 'busy', url: '', requestBodyValues: {}, isRetryable: true });
      return doGenerate(options);
    },
  });
  await generateText({ ...hooked(session, { model: failing }), prompt: 'go', maxRetries: 1 });
  assert.deepEqual(prompts.map((prompt) => JSON.stringify(prompt).match(/Mind the gap/g)?.length), [1, 1]);
  assert.equal((await session.collect()).messages.length, 0);
});

test('a subagent has a session below, under the hooks of the one above', async (t) => {
  const session = await opened(t);
  const seen: unknown[] = [];
  await session.intercept('before_tool', 'gate', { reach: 'children' }, ({ parent_session, agent }) => {
    seen.push([parent_session, agent?.type]);
    return { verdict: 'block', reason: 'not below' };
  });
  await session.intercept('after_subagent', 'quality', { amends: true }, ({ payload }) => ({ amend: { output: `${payload.output}!` } }));
  const below = scripted({ call: ['bash', { command: 'ls' }] }, { text: 'reviewed' });
  const above = scripted({ call: ['review', { task: 'this' }] }, { text: 'done' });
  const { ran, run } = shell();
  const settings = { classes: { bash: 'shell' as const } };
  const agent = new AgentRun(session, settings);
  const review = tool({
    inputSchema: z.object({ task: z.string() }),
    execute: ({ task }) =>
      delegated(agent, 'reviewer', task, async (child, prompt) => (await generateText({ ...hooked(child, { model: below, tools: { bash: run } }), prompt, stopWhen })).text),
  });
  await generateText({ ...hooked(agent, { model: above, tools: { review } }), prompt: 'go', stopWhen });
  assert.deepEqual([ran, seen], [[], [['s1', 'reviewer']]]);
  assert.match(JSON.stringify(above.prompts[1]), /reviewed!/);
  const { sessions } = (await session.client.get('/v1/sessions')) as { sessions: { id: string }[] };
  assert.deepEqual(sessions.map(({ id }) => id), ['s1']);
});

test('a question goes to the person of the program, and without one the call is refused', async (t) => {
  const session = await opened(t, [{ name: 'push', on: 'before_tool', match: { runs: { program: 'git', subcommand: 'push' } }, verdict: 'ask', reason: 'it leaves' }]);
  const call = { call: ['bash', { command: 'git push' }] as [string, object] };
  const model = scripted(call, { text: 'a' }, call, { text: 'b' });
  const { ran, run } = shell();
  await generateText({ ...hooked(session, { model, tools: { bash: run } }, { classes }), prompt: 'go', stopWhen });
  assert.deepEqual(ran, []);
  assert.match(JSON.stringify(model.prompts[1]), /it leaves.*asks no person/);
  const asked: unknown[] = [];
  const ask = (question: unknown) => asked.push(question) > 0;
  await generateText({ ...hooked(session, { model, tools: { bash: run } }, { classes, ask }), prompt: 'go', stopWhen });
  assert.deepEqual([ran, asked.length], [['git push'], 1]);
});

test('without a daemon no tool runs and no model is called', async (t) => {
  const daemon = await Daemon.start(t);
  const session = await daemon.client(t).session('s1');
  const model = scripted({ text: 'never' });
  await daemon.kill();
  const { ran, run } = shell();
  const options = hooked(session, { model, tools: { bash: run } });
  await assert.rejects(generateText({ ...options, prompt: 'go', maxRetries: 0 }), /lineside has not decided about before_prompt/);
  await assert.rejects(Promise.resolve(options.tools.bash.execute?.({ command: 'ls' }, { toolCallId: '1', messages: [], context: {} } as never)), /has not decided about before_tool/);
  assert.deepEqual([ran, model.prompts.length], [[], 0]);
});

test('a hook that stops the agent ends its run', async (t) => {
  const session = await opened(t, [{ name: 'halt', on: 'before_tool', verdict: 'stop', reason: 'enough' }]);
  const model = scripted({ call: ['bash', { command: 'ls' }] });
  await assert.rejects(generateText({ ...hooked(session, { model, tools: { bash: shell().run } }), prompt: 'go', stopWhen, maxRetries: 0 }), /enough/);
  assert.equal(model.prompts.length, 1);
});

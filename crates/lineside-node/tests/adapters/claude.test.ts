// The adapter for Claude Agent SDK, with the SDK and its Claude Code, and a scripted model on loopback.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { query } from '@anthropic-ai/claude-agent-sdk';
import type { Options } from '@anthropic-ai/claude-agent-sdk';
import type { Session } from 'lineside';
import { hooked } from 'lineside/claude';
import { model } from '../anthropic.ts';
import { Daemon } from '../daemon.ts';

/** Runs a prompt to its end: the messages of Claude Code as one text. */
async function run(session: Session, folder: string, url: string, prompt: string, more: Options = {}): Promise<string> {
  const home = path.join(folder, 'claude');
  fs.mkdirSync(home, { recursive: true });
  const env = { PATH: process.env.PATH, HOME: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none', IS_SANDBOX: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' };
  const options: Options = { cwd: home, env, settingSources: [], permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true, ...more };
  const messages: unknown[] = [];
  for await (const message of query({ prompt, options: hooked(session, options) })) messages.push(message);
  return JSON.stringify(messages);
}

async function opened(t: TestContext, hooks: unknown[] = []): Promise<{ session: Session; folder: string; daemon: Daemon }> {
  const daemon = await Daemon.start(t, hooks);
  return { session: await daemon.client(t).session('s1'), folder: daemon.folder, daemon };
}

test('a call is refused with its reason, and amended', async (t) => {
  const { session, folder } = await opened(t, [{ name: 'no-deletions', on: 'before_tool', match: { tool: 'Shell', deletes: '**' }, verdict: 'block', reason: 'it stays' }]);
  await session.intercept('before_tool', 'amender', { amends: true, match: { tool: 'Shell' } }, ({ payload }) => {
    const input = payload.tool_input as { command: string };
    if (input.command === 'echo one') return { amend: { tool_input: { ...input, command: 'echo one-and-two' } } };
  });
  const { url, asked } = await model(t, { MAIN: [{ call: ['Bash', { command: 'rm -rf ./precious' }] }, { call: ['Bash', { command: 'echo one' }] }, { text: 'done' }] });
  fs.mkdirSync(path.join(folder, 'claude/precious'), { recursive: true });
  const messages = await run(session, folder, url, 'MAIN');
  assert.ok(fs.existsSync(path.join(folder, 'claude/precious')));
  assert.match(messages, /it stays/);
  assert.match(JSON.stringify(asked.at(-1)?.messages), /it stays.*one-and-two/);
});

test('context is there before a call of the model, a stop is refused, and the session is below', async (t) => {
  const { session, folder } = await opened(t);
  const seen: unknown[] = [];
  await session.intercept('before_prompt', 'hint', {}, ({ parent_session, traceparent }) => {
    seen.push(parent_session, traceparent?.split('-')[1]);
    return { context: 'Mind the gap.' };
  });
  await session.intercept('before_stop', 'tests', {}, ({ payload }) => {
    if (!payload.stop_active) return { verdict: 'block', reason: 'the tests fail' };
  });
  const { url, asked } = await model(t, { MAIN: [{ text: 'all done' }, { text: 'fixed' }] });
  const messages = await run(session, folder, url, 'MAIN');
  assert.match(messages, /fixed/);
  assert.deepEqual(seen, ['s1', session.traceparent?.split('-')[1]]);
  assert.match(JSON.stringify(asked[0]?.messages), /Mind the gap\./);
  assert.match(JSON.stringify(asked.at(-1)?.messages), /the tests fail/);
});

test('a subagent has a session below, under the hooks of the one above', async (t) => {
  const { session, folder } = await opened(t);
  const seen: unknown[] = [];
  await session.intercept('before_tool', 'gate', { match: { agent_kind: 'subagent', tool: 'Shell' } }, ({ agent, payload }) => {
    seen.push([agent?.type, payload.tool_name]);
    return { verdict: 'block', reason: 'not below' };
  });
  const task = { description: 'look', prompt: 'SUB look', subagent_type: 'reviewer' };
  const { url, asked } = await model(t, { MAIN: [{ call: ['Agent', task] }, { text: 'done' }], SUB: [{ call: ['Bash', { command: 'echo sub > sub.txt' }] }, { text: 'sub done' }] });
  await run(session, folder, url, 'MAIN', { agents: { reviewer: { description: 'Reviews.', prompt: 'Review.', tools: ['Bash'] } } });
  assert.deepEqual(seen, [['reviewer', 'Bash']]);
  assert.ok(!fs.existsSync(path.join(folder, 'claude/sub.txt')));
  assert.match(JSON.stringify(asked.map(({ messages }) => messages)), /not below/);
});

test('without a daemon no tool runs', async (t) => {
  const { session, folder, daemon } = await opened(t);
  const { url, asked } = await model(t, { MAIN: [{ call: ['Bash', { command: 'echo one > one.txt' }] }, { text: 'done' }] });
  await daemon.kill();
  const messages = await run(session, folder, url, 'MAIN');
  assert.match(messages, /lineside has not decided about/);
  assert.ok(!fs.existsSync(path.join(folder, 'claude/one.txt')));
  assert.equal(asked.length, 0, 'the prompt did not reach the model');
});

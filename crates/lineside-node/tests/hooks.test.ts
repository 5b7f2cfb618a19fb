// Hooks of this process, asked by the daemon: what they answer, how they fail, and that they come back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Heard } from 'lineside';
import { Daemon, event } from './daemon.ts';

const LS = { tool_name: 'Shell', tool_input: { command: 'ls' } };

test('an amender changes what it may, and a gate judges what it leaves', async (t) => {
  const client = (await Daemon.start(t)).client(t);
  const session = await client.session('s1');
  await session.intercept('before_tool', 'amender', { amends: true, priority: 2 }, ({ payload }) => {
    const { command } = payload.tool_input as { command: string };
    return { amend: { tool_input: { command: `${command} -l` } }, context: 'It is long.' };
  });
  const seen: unknown[] = [];
  await session.intercept('before_tool', 'gate', { priority: 1 }, async ({ point, session, payload }) => {
    seen.push([point, session, payload.tool_input]);
  });
  const decision = await session.publish('before_tool', LS);
  assert.deepEqual(decision.payload.tool_input, { command: 'ls -l' });
  assert.deepEqual(decision.changed, ['tool_input']);
  assert.deepEqual(seen, [['before_tool', 's1', { command: 'ls -l' }]]);
  assert.match((await session.collect()).text, /It is long\./);
});

test('a gate that throws has failed, which blocks; an amender that throws is passed over', async (t) => {
  const client = (await Daemon.start(t)).client(t);
  const session = await client.session('s1');
  const broken = () => {
    throw new TypeError('a mistake');
  };
  const amender = await session.intercept('before_tool', 'amender', { amends: true }, broken);
  assert.equal((await session.publish('before_tool', LS)).verdict, 'continue');
  await amender.remove();
  await session.intercept('before_tool', 'gate', {}, broken);
  const decision = await session.publish('before_tool', LS);
  assert.equal(decision.isRefused, true);
  assert.match(JSON.stringify(decision.json.failed), /TypeError: a mistake/);
});

test('an inherited hook is let go of when the last session below is over', async (t) => {
  const session = await (await Daemon.start(t)).client(t).session('s1');
  let gate: (() => object) | undefined = () => ({ verdict: 'block', reason: 'it is held' });
  const held = new WeakRef(gate);
  await session.intercept('before_tool', 'gate', {}, gate);
  gate = undefined;
  const child = await session.subagent('s2');
  await session.close();
  assert.equal((await child.publish('before_tool', LS)).reason, 'it is held');
  await child.close();
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  while (held.deref()) {
    await setImmediate();
    collect();
  }
});

test('a setting that cannot be meant is an error that names it', async (t) => {
  const session = await (await Daemon.start(t)).client(t).session('s1');
  const match = { tol: 'Shell' };
  await assert.rejects(session.intercept('before_tool', 'gate', { match }, () => {}), /tol/);
  assert.equal((await session.publish('before_tool', LS)).verdict, 'continue');
});

test('an automation runs for what it is for, and its report reaches the context', async (t) => {
  const session = await (await Daemon.start(t)).client(t).session('s1');
  const jobs: unknown[] = [];
  await session.automate('after_tool_batch', 'lint', { batch: { count: 2, within: 60_000 }, join: 'before_next_model', timeout: 5000 }, (batch) => {
    jobs.push([batch.job?.events, batch.payload.changed_files.length]);
    return { summary: '2 errors', body: 'in a.ts', found: 'failure' };
  });
  const batch = (path: string) => ({ tool_calls: [], changed_files: [{ path }] });
  const decisions = [await session.publish('after_tool_batch', batch('a.ts')), await session.publish('after_tool_batch', batch('b.ts'))];
  for (const decision of decisions) assert.equal(decision.acknowledgements[0]?.hook, 'lint');
  const delivery = await session.collect({ beforeNextModel: true });
  assert.match(delivery.text, /2 errors/);
  assert.deepEqual(jobs, [[2, 2]]);
});

test('an observer hears what is decided in its session and below it', async (t) => {
  const session = await (await Daemon.start(t)).client(t).session('s1');
  const child = await session.subagent('s2');
  await session.intercept('before_tool', 'gate', { reach: 'children' }, () => ({ verdict: 'block', reason: 'not below' }));
  const heard: unknown[] = [];
  const third = event();
  const observer = await session.observe('before_tool', {}, ({ event, verdict, reason, lost }: Heard<'before_tool'>) => {
    heard.push([event.session, event.payload.tool_name, verdict, reason, lost]);
    if (heard.length === 3) third.happens();
  });
  await session.publish('before_tool', LS);
  await session.publish('on_prompt', { prompt: 'of another point' });
  await child.publish('before_tool', LS);
  await session.publish('before_tool', LS);
  await third.happened;
  observer.end();
  assert.deepEqual(heard, [
    ['s1', 'Shell', 'continue', undefined, 0],
    ['s2', 'Shell', 'block', 'not below', 0],
    ['s1', 'Shell', 'continue', undefined, 0],
  ]);
});

test('while its program is gone a gate has failed, and with another daemon it is back', async (t) => {
  const daemon = await Daemon.start(t);
  const client = daemon.client(t);
  const session = await client.session('s1');
  const child = await session.subagent('s2');
  await child.intercept('before_tool', 'gate', {}, () => ({ verdict: 'block', reason: 'here' }));
  await daemon.kill();
  await daemon.start();
  // The client opens both sessions again, the child with its hook.
  const other = daemon.client(t);
  for (;;) {
    const { sessions } = (await other.get('/v1/sessions')) as { sessions: { id: string }[] };
    if (sessions.length === 2) break;
  }
  assert.equal((await child.publish('before_tool', LS)).reason, 'here');
  assert.equal((await session.publish('before_tool', LS)).verdict, 'continue');
  await client.close();
  const again = await other.session('s2', { resume: true });
  const decision = await again.publish('before_tool', LS);
  assert.equal(decision.isRefused, true);
  assert.match(JSON.stringify(decision.json.failed), /gate/);
});

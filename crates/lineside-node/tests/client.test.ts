// The client against a real daemon: decisions, context, children, and what becomes of an event without an answer.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Client, RefusedEvent, RequestError } from 'lineside';
import { Daemon, event } from './daemon.ts';

const RM = { tool_name: 'Shell', tool_input: { command: 'rm -rf /' } };
const LS = { tool_name: 'Shell', tool_input: { command: 'ls' } };
const GUARD = { name: 'no-deletions', on: 'before_tool', match: { deletes: '/**' }, verdict: 'block', reason: 'it stays' };

test('a decision is about the payload, and has the reason and the author of a refusal', async (t) => {
  const client = (await Daemon.start(t, [GUARD])).client(t);
  const session = await client.session('s1');
  const passed = await session.publish('before_tool', LS);
  assert.equal(passed.isRefused, false);
  assert.deepEqual(passed.payload, LS);
  assert.equal(passed.digest, createHash('sha256').update(JSON.stringify(passed.payload)).digest('hex'));
  assert.equal(passed.seq, 1);
  const refused = await session.publish('before_tool', RM);
  assert.equal(refused.isRefused, true);
  assert.equal(refused.author, 'no-deletions');
  assert.match(refused.reason ?? '', /^it stays/);
});

test('what may run is given, and a refusal and an ask that no person has answered throw', async (t) => {
  const push = { name: 'no-push', on: 'before_tool', match: { runs: { program: 'git', subcommand: 'push' } }, verdict: 'ask', reason: 'it leaves' };
  const client = (await Daemon.start(t, [GUARD, push])).client(t);
  const session = await client.session('s1');
  assert.deepEqual((await session.publish('before_tool', LS)).obey(), LS);
  const refused = await session.publish('before_tool', RM);
  assert.throws(() => refused.obey(), (error) => error instanceof RefusedEvent && error.verdict === 'block' && error.author === 'no-deletions');
  const asked = await session.publish('before_tool', { tool_name: 'Shell', tool_input: { command: 'git push' } });
  assert.equal(asked.isRefused, false);
  assert.throws(() => asked.obey(), (error) => error instanceof RefusedEvent && error.verdict === 'ask' && error.message === 'it leaves (git)');
});

test('many events of any size are under way at once, and each has its own decision', async (t) => {
  const client = (await Daemon.start(t, [GUARD])).client(t);
  const session = await client.session('s1');
  const sizes = [0, 10, 1000, 70_000, 300_000];
  const texts = Array.from({ length: 400 }, (_, at) => `é${at}`.padEnd(sizes[at % sizes.length] ?? 0, 'x'));
  const decisions = await Promise.all(texts.map((text) => session.publish('on_prompt', { prompt: text })));
  assert.deepEqual(decisions.map((decision) => decision.payload.prompt), texts);
  assert.deepEqual(decisions.map((decision) => decision.seq).sort((a, b) => Number(a) - Number(b)), texts.map((_, at) => at + 1));
});

test('a decision is read in whatever pieces and behind whatever head it comes', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-node-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const heads = [
    (id: string, bytes: number) => `{"type":"decision","id":${id},"bytes":${bytes}}\n`,
    (id: string, bytes: number) => `\n{"type":"later","bytes":9}\n{"id":1}\n\n{"type":"decision","id":${id},"bytes":${bytes},"later":1}\n`,
    (id: string, bytes: number) => `{"bytes": ${bytes}, "id": ${id}, "type": "decision"}\n`,
  ];
  const pieces = [1000, 1, 7, 24, 25, 26, 40];
  let [piece, head] = [0, heads[0]];
  const daemon = http.createServer((_, response) => response.end('{}'));
  daemon.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lineside-events/1\r\n\r\n');
    socket.on('data', async (chunk) => {
      const [, id = '', event = ''] = /"id":(\d+),.*\n(.*)/.exec(String(chunk)) ?? [];
      const body = JSON.stringify({ verdict: 'continue', payload: (JSON.parse(event) as { payload: object }).payload });
      const bytes = Buffer.from(`${head?.(id, Buffer.byteLength(body)) ?? ''}${body}`);
      for (let at = 0; at < bytes.length; at += piece) {
        socket.write(bytes.subarray(at, at + piece));
        await setImmediate();
      }
    });
  });
  const place = path.join(folder, 's');
  await once(daemon.listen(place), 'listening');
  const client = new Client(place);
  t.after(async () => {
    await client.close();
    daemon.close();
  });
  const session = await client.session('s1');
  for (head of heads) {
    for (piece of pieces) {
      const payload = { prompt: `é${piece}`.padEnd(100, 'x') };
      assert.deepEqual((await session.publish('on_prompt', payload)).payload, payload);
    }
  }
});

test('no byte is sent to a socket that another user may have put there', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-node-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  let asked = 0;
  const other = http.createServer((_, response) => response.end(`{"seen": ${(asked += 1)}}`));
  const place = path.join(folder, 's');
  await once(other.listen(place), 'listening');
  t.after(() => other.close());
  fs.chmodSync(folder, 0o755);
  const isRefused = (error: RequestError) => error.kind === 'no_daemon' && /is open to other users/.test(error.message);
  await assert.rejects(new Client(place).session('s1'), isRefused);
  assert.equal(asked, 0);
});

test('without a daemon, a session or a grant the error says what happened and what to do', async (t) => {
  const nowhere = new Client('/nowhere/lineside.sock');
  await assert.rejects(nowhere.session('s1'), (error: RequestError) => {
    assert.equal(error.kind, 'no_daemon');
    assert.match(error.message, /no daemon answers at \/nowhere\/lineside\.sock \(ENOENT\); start one with `lineside serve`/);
    return true;
  });
  const daemon = await Daemon.start(t);
  const session = await daemon.client(t).session('s1');
  await session.close();
  await assert.rejects(session.publish('before_tool', LS), (error: RequestError) => {
    assert.deepEqual([error.kind, error.status, error.blocks], ['refused', 409, true]);
    return true;
  });
  await assert.rejects(daemon.client(t, 'wrong').session('s2'), { kind: 'refused', status: 403 });
});

test('what the daemon takes with it is undecided, and the next event is asked of the new one', async (t) => {
  const daemon = await Daemon.start(t);
  const [client, hooked] = [daemon.client(t), daemon.client(t)];
  const session = await client.session('s1');
  const child = await hooked.session('s1', { resume: true });
  const asked = event();
  await child.intercept('before_tool', 'slow', {}, () => new Promise<void>(() => asked.happens()));
  const published = session.publish('before_tool', LS);
  published.catch(() => {});
  await asked.happened;
  await daemon.kill();
  await assert.rejects(published, { kind: 'broken' });
  await hooked.close();
  await daemon.start();
  await assert.rejects(session.publish('before_tool', LS), (error: RequestError) => {
    assert.deepEqual([error.kind, error.status, error.blocks], ['refused', 404, true]);
    assert.match(error.problem ?? '', /:no-such-session$/);
    return true;
  });
  const other = await client.session('s2');
  assert.equal((await other.publish('before_tool', LS)).verdict, 'continue');
});

test('an event that the daemon of before cannot have read is sent to the one in its place', async (t) => {
  const daemon = await Daemon.start(t, [{ name: 'no-shell', on: 'before_tool', verdict: 'block', reason: 'no shell' }]);
  const client = daemon.client(t);
  const session = await client.session('s1');
  assert.equal((await session.publish('before_tool', LS)).reason, 'no shell');
  daemon.replace();
  // Of that one: it knows no such session.
  await assert.rejects(session.publish('before_tool', LS), { kind: 'refused', status: 404 });
  const other = await client.session('s2');
  assert.equal((await other.publish('before_tool', LS)).reason, 'no shell');
});

test('an event is given up by its signal and within its time', async (t) => {
  const client = (await Daemon.start(t)).client(t);
  const session = await client.session('s1');
  const [asked, gone] = [event(), event()];
  const slow = await session.intercept('before_tool', 'slow', { on_failure: 'block' }, (_, call) => {
    call.signal.addEventListener('abort', () => gone.happens());
    asked.happens();
    return new Promise(() => {});
  });
  const giving = new AbortController();
  const published = session.publish('before_tool', LS, { signal: giving.signal });
  published.catch(() => {});
  await asked.happened;
  giving.abort(new Error('no longer needed'));
  await assert.rejects(published, { message: 'no longer needed' });
  await gone.happened;
  const late = await session.publish('before_tool', LS, { withinMs: 50 });
  assert.equal(late.isRefused, true);
  assert.match(late.reason ?? '', /slow/);
  assert.equal(await slow.remove(), true);
  assert.equal((await session.publish('before_tool', LS)).verdict, 'continue');
  assert.equal(await slow.remove(), false);
});

test('context is collected, and accepted once', async (t) => {
  const client = (await Daemon.start(t, [{ name: 'hint', on: 'before_prompt', context: 'Mind the gap.' }])).client(t);
  const session = await client.session('s1');
  assert.equal((await session.collect()).text, '');
  await session.publish('before_prompt', { prompt: 'go' });
  const delivery = await session.collect({ beforeNextModel: true });
  assert.deepEqual(delivery.messages.map(({ text, hook }) => [text, hook]), [['Mind the gap.', 'hint']]);
  assert.match(delivery.text, /Mind the gap\./);
  await delivery.accept();
  await assert.rejects(delivery.accept(), { kind: 'refused', status: 404 });
  assert.equal((await session.collect()).messages.length, 0);
});

test('a child session is under the hooks of its parent, in this process and in another one', async (t) => {
  const daemon = await Daemon.start(t);
  const session = await daemon.client(t).session('s1', { agent: 'main', cwd: daemon.folder });
  await session.intercept('before_tool', 'no-shell', { match: { tool: 'Shell' } }, () => ({ verdict: 'block', reason: 'no shell' }));
  const child = await session.subagent('s1/reviewer', { agent: { id: 'reviewer', type: 'reviewer' } });
  assert.equal((await child.publish('before_tool', LS)).reason, 'no shell');
  assert.equal(child.traceparent?.split('-')[1], session.traceparent?.split('-')[1], 'one trace');
  const program = `
    import { Client } from 'lineside';
    const client = await Client.connect();
    const session = await client.session('elsewhere');
    const decision = await session.publish('before_tool', ${JSON.stringify(LS)});
    console.log(JSON.stringify([decision.reason, session.traceparent]));
    await client.close();
  `;
  const environment = { ...process.env, ...session.environment };
  const other = spawn(process.execPath, ['--input-type=module', '-e', program], { env: environment, stdio: ['ignore', 'pipe', 'inherit'], cwd: import.meta.dirname });
  let said = '';
  other.stdout.on('data', (text) => (said += String(text)));
  assert.deepEqual(await once(other, 'close'), [0, null]);
  const [reason, trace] = JSON.parse(said) as [string, string];
  assert.equal(reason, 'no shell');
  assert.equal(trace.split('-')[1], session.traceparent?.split('-')[1]);
  assert.equal((await session.client.get('/v1/sessions/elsewhere')).parent, 's1');
});

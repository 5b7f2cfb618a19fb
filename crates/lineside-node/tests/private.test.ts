// A daemon of the process alone: where none runs it is started, and it ends with its process, however that does.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { PrivateDaemon, StartDaemonError } from 'lineside';
import { COMMAND } from './daemon.ts';

const run = promisify(execFile);

/** A program that connects in a home of its own, with what it is to do then. */
const PROGRAM = (then: string) => `
import { Client } from 'lineside';
const client = await Client.connect({ command: ${JSON.stringify(COMMAND)} });
const session = await client.session('s1');
const decision = await session.publish('before_tool', { tool_name: 'Shell', tool_input: { command: 'rm -rf /' } });
console.log(client.socket + ' ' + decision.reason);
${then}
`;

/** The environment of an account without a daemon, whose user has a guard. */
function account(t: TestContext): NodeJS.ProcessEnv {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-home-'));
  t.after(() => fs.rmSync(home, { recursive: true, force: true }));
  const hooks = [{ name: 'guard', on: 'before_tool', match: { deletes: '/**' }, verdict: 'block', reason: 'it stays' }];
  fs.mkdirSync(path.join(home, '.config/lineside'), { recursive: true });
  fs.writeFileSync(path.join(home, '.config/lineside/hooks.yaml'), JSON.stringify({ hooks }));
  return { PATH: process.env.PATH, HOME: home, TMPDIR: home };
}

/** Waits until a folder is gone. */
async function gone(folder: string): Promise<void> {
  const watching = fs.watch(path.dirname(folder));
  try {
    while (fs.existsSync(folder)) await Promise.race([once(watching, 'change'), once(watching, 'error')]);
  } finally {
    watching.close();
  }
}

const node = ['--input-type=module', '-e'];
const cwd = import.meta.dirname;

test('where no daemon runs there is one with the hooks of the user, which ends with the program', async (t) => {
  const env = account(t);
  const { stdout } = await run(process.execPath, [...node, PROGRAM('await client.close();')], { env, cwd });
  const [socket = '', ...reason] = stdout.trim().split(' ');
  assert.match(reason.join(' '), /^it stays/);
  assert.ok(!fs.existsSync(path.dirname(socket)), 'it is gone when `close` has returned');
  // One that does not close it ends all the same, and by itself.
  const left = await run(process.execPath, [...node, PROGRAM('')], { env, cwd });
  await gone(path.dirname(left.stdout.trim().split(' ')[0] ?? ''));
});

test('a program that is killed leaves no daemon behind', async (t) => {
  const program = spawn(process.execPath, [...node, PROGRAM('setInterval(() => {}, 1000);')], { env: account(t), cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  let socket = '';
  for await (const line of createInterface(program.stdout)) {
    socket = line.split(' ')[0] ?? '';
    break;
  }
  assert.ok(fs.existsSync(socket));
  program.kill('SIGKILL');
  await gone(path.dirname(socket));
});

test('a program that has inherited a session starts no daemon of its own', async (t) => {
  const env = { ...account(t), LINESIDE_SOCKET: '/nowhere/lineside.sock', LINESIDE_GRANT: 'over' };
  const ran = await run(process.execPath, [...node, PROGRAM('')], { env, cwd }).catch((error) => error);
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /no daemon answers at \/nowhere\/lineside\.sock/);
});

test('a command that cannot be started, or is another one, is named with what it said', async () => {
  await assert.rejects(PrivateDaemon.start({ command: '/nowhere/lineside' }), (error: StartDaemonError) => {
    assert.match(error.message, /could not start a daemon with \/nowhere\/lineside: .*ENOENT; give the path/);
    return true;
  });
  await assert.rejects(PrivateDaemon.start({ command: COMMAND, arguments: ['--no-such-option'] }), /it ended with exit status 2; it said:\n.*no-such-option/s);
});

// The package as it is published: packed, installed, and used with all its parts.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { COMMAND, Daemon } from './daemon.ts';

const run = promisify(execFile);
const own = path.resolve(import.meta.dirname, '..');

const WORKER = `
import { hook, serve } from 'lineside/worker';
hook(() => ({ verdict: 'block', reason: 'a worker of the package' }));
serve();
`;

test('what is packed is installed without anything else, and its kit is a worker', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-npm-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const { stdout } = await run(process.execPath, [path.join(own, 'pack.mjs'), folder]);
  const packed = stdout.trim();
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
  const offline = ['--offline', '--omit=optional', '--omit=peer', '--no-audit', '--no-fund', '--cache', path.join(folder, 'cache')];
  await run('npm', ['install', ...offline, packed], { cwd: folder });
  assert.deepEqual(fs.readdirSync(path.join(folder, 'node_modules')).filter((name) => !name.startsWith('.')), ['lineside']);
  fs.writeFileSync(path.join(folder, 'guard.mjs'), WORKER);
  const daemon = await Daemon.start(t, [{ name: 'guard', on: 'before_tool', worker: { program: [process.execPath, path.join(folder, 'guard.mjs')] } }]);
  const session = await daemon.client(t).session('s1');
  const decision = await session.publish('before_tool', { tool_name: 'Shell', tool_input: {} });
  assert.match(decision.reason ?? '', /a worker of the package/);
});

test('the package of a platform has the command, which is found', async (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-npm-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const platform = `${process.platform}-${process.arch}`;
  await assert.rejects(run(process.execPath, [path.join(own, 'pack.mjs'), folder, platform, folder]), /there is no `lineside` in/);
  await assert.rejects(run(process.execPath, [path.join(own, 'pack.mjs'), folder, 'plan9-mips', folder]), /plan9-mips is none of/);
  // As npm would lay it out; packing a command that was built for debugging takes half a minute.
  const bin = path.join(folder, 'node_modules/@lineside', platform, 'bin');
  fs.mkdirSync(bin, { recursive: true });
  fs.symlinkSync(COMMAND, path.join(bin, 'lineside'));
  fs.cpSync(path.join(own, 'dist'), path.join(folder, 'node_modules/lineside/dist'), { recursive: true });
  fs.copyFileSync(path.join(own, 'package.json'), path.join(folder, 'node_modules/lineside/package.json'));
  const program = "import { findCommand } from 'lineside'; console.log(findCommand());";
  const found = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
  assert.equal(found.stdout.trim(), fs.realpathSync(COMMAND));
});

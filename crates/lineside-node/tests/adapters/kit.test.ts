// The client as one file, as the command prints it: it has the types of the package, and runs as it is.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { COMMAND, Daemon } from '../daemon.ts';

const run = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../../..');

const PROGRAM = `
import { Client } from './lineside.ts';
const client = await Client.connect();
const session = await client.session('s1');
await session.intercept('before_tool', 'gate', {}, ({ payload }) => ({ verdict: 'block', reason: \`no \${payload.tool_name}\` }));
const { reason } = await session.publish('before_tool', { tool_name: 'Shell', tool_input: {} });
console.log(reason);
await client.close();
`;

test('the client as one file has no error of the compiler, and runs where Node takes the types off', async (t) => {
  const daemon = await Daemon.start(t);
  // Below the packages, for the types of Node.
  const folder = path.join(root, 'lineside', path.basename(daemon.folder));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.mkdirSync(folder);
  const { stdout } = await run(COMMAND, ['kit', 'typescript', '--client'], { maxBuffer: 1 << 24 });
  fs.writeFileSync(path.join(folder, 'lineside.ts'), stdout);
  fs.writeFileSync(path.join(folder, 'program.ts'), PROGRAM);
  const options = { rootDir: '.', noEmit: true, allowImportingTsExtensions: true, rewriteRelativeImportExtensions: false };
  fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', compilerOptions: options, include: ['.'] }));
  const compiled = await run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch((error) => error);
  assert.equal(compiled.code, undefined, compiled.stdout);
  const ran = await run(process.execPath, ['--disable-warning=ExperimentalWarning', path.join(folder, 'program.ts')], { env: { ...process.env, LINESIDE_SOCKET: daemon.socket } });
  assert.equal(ran.stdout, 'no Shell\n');
});

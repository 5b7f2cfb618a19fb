// The programs on the pages of the book: compiled, run, and what they print compared with what stands beside it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Daemon } from './daemon.ts';

const run = promisify(execFile);

/** The pages of the book, and those about frameworks, which need a newer Node. */
export const PAGES = ['typescript.md'];
export const ADAPTER_PAGES = ['adapters/vercel-ai-sdk.md', 'adapters/mastra.md', 'adapters/claude-agent-sdk.md'];

const GUARD = { name: 'no-deletions', on: 'before_tool', match: { deletes: '/**' }, verdict: 'block', reason: 'it stays' };
const PUSH = { name: 'no-push', on: 'before_tool', match: { runs: { program: 'git', subcommand: 'push' } }, verdict: 'ask', reason: 'it leaves the machine' };

const root = path.resolve(import.meta.dirname, '../..');

/** The programs of a page, in their order. */
function programs(page: string): string[] {
  const text = fs.readFileSync(path.join(root, 'docs', page), 'utf8');
  return [...text.matchAll(/^```typescript\n(.*?)^```$/gms)].map((block) => block[1] ?? '');
}

/** What a program says that it prints. */
function promised(program: string): string[] {
  return [...program.matchAll(/^ *console\.log\(.*\); *\/\/ (.*)$/gm)].map((line) => line[1] ?? '');
}

/** Runs the programs of some pages. The frameworks on them have the model of `model.ts`. */
export async function runPages(t: TestContext, pages: string[]): Promise<void> {
  const daemon = await Daemon.start(t, [GUARD, PUSH]);
  const folder = path.join(root, 'lineside', path.basename(daemon.folder));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.mkdirSync(folder);
  const all = pages.flatMap((page) => programs(page).map((text, at) => ({ name: `${path.basename(page, '.md')}-${at}`, text })));
  for (const { name, text } of all) fs.writeFileSync(path.join(folder, `${name}.ts`), text);
  for (const name of pages === ADAPTER_PAGES ? ['model.ts', 'options.ts', 'anthropic.ts'] : []) fs.copyFileSync(path.join(root, 'lineside/tests', name), path.join(folder, name));
  const options = { rootDir: '.', outDir: 'built', declaration: false, noImplicitReturns: false };
  fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', compilerOptions: options, include: ['.'] }));
  const compiled = await run(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch((error) => error);
  assert.equal(compiled.code, undefined, compiled.stdout);
  const environment = { ...process.env, LINESIDE_SOCKET: daemon.socket };
  for (const { name, text } of all) {
    const file = path.join(folder, 'built', `${name}.js`);
    const { stdout } = await run(process.execPath, [file], { env: environment, timeout: 60_000 });
    assert.deepEqual(stdout.trimEnd().split('\n'), promised(text), name);
  }
  assert.ok(all.length >= pages.length);
}

// A session of a daemon of the test's own, and the hooks that adapters of several frameworks are tested with.

import type { TestContext } from 'node:test';
import type { Session } from 'lineside';
import { Daemon } from './daemon.ts';

/** A session of a daemon whose user has these hooks. */
export async function opened(t: TestContext, hooks: unknown[] = []): Promise<Session> {
  return (await Daemon.start(t, hooks)).client(t).session('s1');
}

/** One in which deletions of a shell are refused, `ls` is amended to `ls -l`, and the output of that is redacted. */
export async function guarded(t: TestContext): Promise<Session> {
  const session = await opened(t, [{ name: 'no-deletions', on: 'before_tool', match: { tool: 'Shell', deletes: '/**' }, verdict: 'block', reason: 'it stays' }]);
  await session.intercept('before_tool', 'amender', { amends: true, match: { tool: 'Shell' } }, ({ payload }) => {
    const { command } = payload.tool_input as { command: string };
    if (command === 'ls') return { amend: { tool_input: { command: 'ls -l' } } };
  });
  await session.intercept('after_tool', 'redactor', { amends: true }, ({ payload }) => {
    if (String(payload.tool_output).includes('-l')) return { amend: { tool_output: 'redacted' } };
  });
  return session;
}

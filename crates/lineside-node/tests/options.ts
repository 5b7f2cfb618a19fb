// The options of Claude Agent SDK for the pages: a model on loopback that calls `Bash`, and answers with what it has back.

import type { Options } from '@anthropic-ai/claude-agent-sdk';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serve } from './anthropic.ts';

const { server, url } = await serve({ 'Tidy up': [{ call: ['Bash', { command: 'rm -rf /' }] }, { told: 'I was told: ' }] });
server.unref();
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-claude-'));
process.on('exit', () => fs.rmSync(home, { recursive: true, force: true }));

export const options: Options = {
  cwd: home,
  env: { PATH: process.env.PATH, HOME: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none', IS_SANDBOX: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  settingSources: [],
  permissionMode: 'bypassPermissions',
  allowDangerouslySkipPermissions: true,
};

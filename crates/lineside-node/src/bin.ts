#!/usr/bin/env node
// `npx lineside`: the command of the package for this platform. Entries of agent programs start that itself, without Node.

import { spawnSync } from 'node:child_process';
import { commandOfPackage } from './daemon.ts';

const { name, command } = commandOfPackage();
if (command === undefined) {
  console.error(`lineside: the package with the command, ${name}, is not installed; run \`npm install ${name}\``);
  process.exitCode = 2;
} else {
  const ended = spawnSync(command, process.argv.slice(2), { stdio: 'inherit' });
  if (ended.error) console.error(`lineside: ${ended.error.message}`);
  if (ended.signal) process.kill(process.pid, ended.signal);
  process.exitCode = ended.status ?? 2;
}

// How long an event takes through the daemon, from Node, beside a line of JSON to a process and back over such a socket.
//
//     LINESIDE_TESTED=target/release/lineside node publish.mjs
//
// Both take turns, in one process of their own each; the figures are medians of a round trip. With `--echo SOCKET` it is the echo.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'lineside';

const ROUNDS = 20;
const TRIPS = 1000;
/** The most that an event may take, in echoes. */
const BOUND = 1.5;
const PAYLOAD = { tool_name: 'Shell', tool_input: { command: 'cargo test --workspace' } };

if (process.argv[2] === '--echo') {
  net.createServer((socket) => socket.on('data', (data) => socket.write(data))).listen(process.argv[3], () => console.log('ready: echo'));
} else {
  await compare();
}

async function compare() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-bench-'));
  const children = [];
  const start = async (command, args) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    for await (const line of createInterface(child.stdout)) if (line.startsWith('ready: ')) return;
  };
  try {
    const [echo, daemon] = [path.join(folder, 'echo.sock'), path.join(folder, 'run/lineside.sock')];
    await start(process.execPath, [import.meta.filename, '--echo', echo]);
    await start(process.env.LINESIDE_TESTED ?? 'lineside', ['serve', '--home', folder, '--socket', daemon, '--state', path.join(folder, 'state')]);
    const client = new Client(daemon);
    const session = await client.session('bench');
    const socket = net.connect(echo);
    let come = () => {};
    let rest = '';
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      rest += text;
      if (!rest.endsWith('\n')) return;
      const line = JSON.parse(rest);
      rest = '';
      come(line);
    });
    const event = { point: 'before_tool', session: 'bench', payload: PAYLOAD };
    const ways = {
      echo: () => new Promise((resolve) => ((come = resolve), socket.write(`${JSON.stringify(event)}\n`))),
      event: () => session.publish('before_tool', PAYLOAD),
    };
    const times = { echo: [], event: [] };
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [name, trip] of Object.entries(ways)) {
        for (let at = 0; at < TRIPS; at++) {
          const began = process.hrtime.bigint();
          await trip();
          // The first round warms both up.
          if (round > 0) times[name].push(Number(process.hrtime.bigint() - began) / 1000);
        }
      }
    }
    const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];
    const [one, other] = [median(times.echo), median(times.event)];
    console.log(`echo   ${one.toFixed(1)} µs`);
    console.log(`event  ${other.toFixed(1)} µs, ${(other / one).toFixed(2)} echoes; at most ${BOUND}`);
    socket.destroy();
    await client.close();
    process.exitCode = other <= one * BOUND ? 0 : 1;
  } finally {
    for (const child of children) child.kill();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

// How long an event takes through the daemon, from Node, beside a line of JSON to a process and back over such a socket, and
// beside the least that a program can do for it: a connection, a frame, and the decision parsed.
//
//     LINESIDE_TESTED=target/release/lineside node publish.mjs
//
// They take turns; the echo and the daemon are processes of their own. The figures are medians of the rounds, each of which has
// its own ratio. With `--echo SOCKET` it is the echo.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'lineside';

const ROUNDS = 60;
const TRIPS = 300;
/** The most that an event may take, in echoes. */
const BOUND = 1.5;
const PAYLOAD = { tool_name: 'Shell', tool_input: { command: 'cargo test --workspace' } };

if (process.argv[2] === '--echo') {
  net.createServer((socket) => socket.on('data', (data) => socket.write(data))).listen(process.argv[3], () => console.log('ready: echo'));
} else {
  await compare();
}

/** Publishes without a client. */
async function least(daemon) {
  let come = () => {};
  let last = 0;
  const headers = { Host: 'lineside', 'Content-Type': 'application/json', Connection: 'Upgrade', Upgrade: 'lineside-events/1' };
  const request = http.request({ socketPath: daemon, agent: false, method: 'POST', path: '/v1/events/connection', headers });
  const socket = await new Promise((resolve, reject) => {
    request.on('upgrade', (_, socket) => resolve(socket));
    request.on('error', reject).end();
  });
  // A decision comes in one piece here.
  socket.on('data', (bytes) => come(JSON.parse(bytes.toString('utf8', bytes.indexOf(10) + 1))));
  return (event) =>
    new Promise((resolve) => {
      come = resolve;
      const text = JSON.stringify(event);
      socket.write(`{"type":"publish","id":${++last},"bytes":${Buffer.byteLength(text)}}\n${text}`);
    });
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
    const publish = await least(daemon);
    const ways = {
      echo: () => new Promise((resolve) => ((come = resolve), socket.write(`${JSON.stringify(event)}\n`))),
      least: () => publish(event),
      event: () => session.publish('before_tool', PAYLOAD),
    };
    const rounds = { echo: [], least: [], event: [] };
    // The first round warms them up.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [name, trip] of Object.entries(ways)) {
        const times = [];
        for (let at = 0; at < TRIPS; at++) {
          const began = process.hrtime.bigint();
          await trip();
          times.push(Number(process.hrtime.bigint() - began) / 1000);
        }
        if (round > 0) rounds[name].push(median(times));
      }
    }
    const ratio = (name) => median(rounds[name].map((time, at) => time / rounds.echo[at]));
    console.log(`echo   ${median(rounds.echo).toFixed(1)} µs`);
    console.log(`least  ${median(rounds.least).toFixed(1)} µs, ${ratio('least').toFixed(2)} echoes`);
    console.log(`event  ${median(rounds.event).toFixed(1)} µs, ${ratio('event').toFixed(2)} echoes; at most ${BOUND}`);
    socket.destroy();
    await client.close();
    process.exitCode = ratio('event') <= BOUND ? 0 : 1;
  } finally {
    for (const child of children) child.kill();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function median(all) {
  return [...all].sort((a, b) => a - b)[all.length >> 1];
}

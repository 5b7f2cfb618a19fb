// Turns functions into warm hooks: one process that answers every event, instead of one for each.
//
//     import { hook, serve } from './lineside-hook.mjs';
//
//     hook((event) => {
//       if ((event.tool_input.command ?? '').includes('rm -rf /'))
//         return { decision: 'deny', reason: 'refuses to delete /' };
//     });
//
//     serve();
//
// A function is given the event and returns what a HOOK.md hook would print: an object, or nothing for no objection.
// It may be asynchronous. Its second argument is the call: `call.hook`, `call.remaining()` in milliseconds,
// `call.environment` for programs that it starts, and `call.signal`, an AbortSignal to be handed to what takes one. Calls run at the same time. An exception is a failure,
// and its stack goes to standard error, where everything goes that is printed.
//
// Started as a plain command, the same file reads one event and prints one answer.
//
// One file, no dependencies, Node 18 or later. The protocol is described in docs/workers.md of lineside.

import fs from 'node:fs';
import { Socket } from 'node:net';
import { inspect } from 'node:util';

const PROTOCOL = 2;
const hooks = new Map();
// What an answer may have, in the formats whose hooks are workers.
const KEYS = [
  ...['decision', 'reason', 'modified_input', 'additional_context', 'log'],
  ...['verdict', 'amend', 'context', 'notice'],
];
const told = new Set();

/** Makes a function a hook: of every hook of this program, or of the one with this name. */
export function hook(name, fn) {
  if (typeof name === 'function') [name, fn] = [undefined, name];
  if (typeof fn !== 'function') throw new TypeError('a hook is a function');
  hooks.set(name, fn);
  return fn;
}

/** Answers calls until there are no more. `concurrency` is how many run at the same time. */
export function serve({ concurrency = 64 } = {}) {
  const input = takeInput();
  output = takeOutput();
  let take = (line) => {
    const frame = read(line);
    if (frame?.type !== 'hello') return (take = once(line));
    const worker = new Worker(frame);
    worker.write({ type: 'hello', protocol: PROTOCOL, concurrency });
    take = (line) => worker.take(line);
  };
  let rest = '';
  input.setEncoding('utf8');
  input.on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) if (line.trim()) take(line);
  });
  input.on('end', () => {
    if (rest.trim()) take(rest);
    take(null);
  });
}

// The descriptor that frames are written to.
let output = 1;

/** Standard input is for frames alone: what the hooks start finds it at its end. */
function takeInput() {
  const own = again(0, fs.constants.O_RDONLY);
  if (own === undefined) return process.stdin;
  fs.closeSync(0);
  fs.openSync('/dev/null', 'r');
  try {
    return new Socket({ fd: own, readable: true, writable: false });
  } catch {
    // A file, or a terminal.
    return fs.createReadStream('', { fd: own });
  }
}

/** Standard output as well: what the hooks print, and what they start prints, is the log. */
function takeOutput() {
  Object.defineProperty(process, 'stdout', { get: () => process.stderr });
  const own = again(1, fs.constants.O_WRONLY | fs.constants.O_APPEND);
  if (own === undefined) return 1;
  fs.closeSync(1);
  // The lowest number that is free is given.
  if (again(2, fs.constants.O_WRONLY | fs.constants.O_APPEND) === undefined) fs.openSync('/dev/null', 'w');
  return own;
}

/** What is open there once more, under a number that no other program inherits; a socket cannot be had so. */
function again(descriptor, flags) {
  for (const folder of ['/proc/self/fd', '/dev/fd']) {
    try {
      return fs.openSync(`${folder}/${descriptor}`, flags);
    } catch {
      // The other one, then.
    }
  }
  return undefined;
}

function put(text) {
  let data = Buffer.from(text);
  while (data.length > 0) {
    try {
      data = data.subarray(fs.writeSync(output, data));
    } catch (error) {
      if (error.code === 'EPIPE') process.exit(0);
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

function read(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function textOf(answer) {
  if (answer === undefined || answer === null) return 'null';
  if (typeof answer !== 'object' || Array.isArray(answer)) throw new TypeError('a hook returns an object or nothing');
  for (const key in answer) if (!KEYS.includes(key) && !told.has(key) && told.size < 100) tell(key);
  return JSON.stringify(answer);
}

/** Warns of a key that looks like another one; an answer without its decision allows. */
function tell(key) {
  told.add(key);
  const near = KEYS.find((known) => distance(key, known) <= known.length / 4);
  if (near) console.error(`warning: an answer has the key '${key}', did you mean '${near}'?`);
}

/** How many letters are to be put in, taken out or changed. */
function distance(one, other) {
  if (Math.abs(one.length - other.length) > 4) return Infinity;
  let row = [...other, ''].map((_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++)
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] !== other[j - 1]));
    row = next;
  }
  return row[other.length];
}

function functionOf(name) {
  const fn = hooks.get(name) ?? hooks.get(undefined);
  if (!fn) throw new Error(`there is no hook ${JSON.stringify(name)} here`);
  return fn;
}

function callOf({ id, hook, event, environment = {}, deadline_ms = 600000 }) {
  const until = performance.now() + deadline_ms;
  let cancelled = false;
  let controller;
  return {
    id,
    hook,
    event,
    // What a program inherits that is started for this event: `env: { ...process.env, ...call.environment }`.
    environment,
    remaining: () => Math.max(0, until - performance.now()),
    cancelled: () => cancelled,
    cancel() {
      cancelled = true;
      controller?.abort();
    },
    // Made for those who ask for it: it costs more than a short hook.
    get signal() {
      controller ??= new AbortController();
      if (cancelled) controller.abort();
      return controller.signal;
    },
  };
}

/** Without a worker: one event, one answer. */
function once(first) {
  let text = first;
  return async (line) => {
    if (line !== null) return void (text += line);
    const event = JSON.parse(text);
    const call = callOf({ event, hook: event?.context?.hook });
    const answer = textOf(await functionOf(call.hook)(event, call));
    if (answer !== 'null') put(answer + '\n');
  };
}

class Worker {
  constructor({ max_frame_bytes = 1 << 20 }) {
    this.largest = max_frame_bytes;
    this.open = new Map();
    const lost = (error) => console.error('outside a call:', error);
    process.on('uncaughtException', lost);
    process.on('unhandledRejection', lost);
  }

  take(line) {
    // Whoever started us has closed our input.
    if (line === null) process.exit(0);
    const frame = read(line);
    switch (frame?.type) {
      case 'call':
        return void this.call(callOf(frame));
      case 'cancel':
        return this.cancel(frame.id);
      case 'ping':
        return this.write({ type: 'pong' });
      case 'shutdown':
        return void this.finish(frame.grace_ms ?? 0);
      case undefined:
        return console.error('not a frame:', line.slice(0, 200));
    }
  }

  async call(call) {
    this.open.set(call.id, call);
    let frame;
    try {
      const answer = functionOf(call.hook)(call.event, call);
      const text = textOf(typeof answer?.then === 'function' ? await answer : answer);
      if (Buffer.byteLength(text) + 100 > this.largest) throw new Error('the answer is larger than a line may be');
      frame = `{"type":"answer","id":${JSON.stringify(call.id)},"answer":${text}}`;
    } catch (error) {
      if (!call.cancelled()) console.error(error);
      const text = (error instanceof Error ? String(error) : inspect(error)).slice(0, 2000);
      frame = JSON.stringify({ type: 'error', id: call.id, error: text });
    }
    this.open.delete(call.id);
    // Of a call that was cancelled, that it is over.
    if (call.cancelled()) frame = JSON.stringify({ type: 'cancelled', id: call.id });
    this.line(frame);
    if (this.open.size === 0) this.idle?.();
  }

  cancel(id) {
    const call = this.open.get(id);
    if (call) call.cancel();
    else this.write({ type: 'cancelled', id });
  }

  /** Lets the calls under way end. */
  async finish(grace) {
    const over = new Promise((resolve) => setTimeout(resolve, grace));
    if (this.open.size > 0) await Promise.race([over, new Promise((resolve) => (this.idle = resolve))]);
    this.write({ type: 'bye' });
    process.exit(0);
  }

  write(frame) {
    this.line(JSON.stringify(frame));
  }

  /** In a line of its own, also behind what somebody wrote to the descriptor itself and did not end. */
  line(text) {
    put(`\n${text}\n`);
  }
}

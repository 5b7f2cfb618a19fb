// What plugins see of the process: their output becomes log frames (OC-61, OC-68), their input has ended, they
// cannot end the process by a call (OC-62), and an error that is nobody's ends nothing (OC-63).

import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable, Writable } from 'node:stream';
import { inspect } from 'node:util';

import { messageOf } from './text.mjs';

const LOG_BYTES = 8192;
const CUT = ' … [cut]';
const LOGS_PER_SECOND = 1000;
// What of it goes with the answer of a call.
const MOST_KEPT = 64;
const LONGEST_KEPT = 1024;

export function sealProcess(wire) {
  const scope = new AsyncLocalStorage();
  const leave = process.reallyExit.bind(process);
  const emit = process.emit.bind(process);
  const log = logger(wire, scope);
  const exits = new WeakSet();

  function refuse() {
    const error = new Error('process.exit is not available to plugins');
    exits.add(error);
    throw error;
  }
  for (const name of ['exit', 'reallyExit', 'abort']) {
    Object.defineProperty(process, name, { value: refuse, writable: true, configurable: false });
  }
  // `process.exitCode` needs no seal: the worker always ends with a code of its own.

  const input = new Readable({ read() {} });
  input.push(null);
  input.fd = 0;
  for (const [name, stream] of [
    ['stdin', input],
    ['stdout', lineStream(1, 'info', scope, log)],
    ['stderr', lineStream(2, 'warn', scope, log)],
  ]) {
    Object.defineProperty(process, name, { get: () => stream, set() {}, configurable: true, enumerable: true });
  }

  keep('uncaughtException', (error) => log('error', `uncaught error: ${told(error)}`));
  keep('unhandledRejection', (reason) => log('error', `unhandled rejection: ${told(reason)}`));

  return {
    log,
    within: (store, run) => scope.run(store, run),
    isExit: (error) => typeof error === 'object' && error !== null && exits.has(error),
    exit: leave,
    // Plugins may have registered something for the end.
    farewell() {
      try {
        emit('exit', 0);
      } catch (error) {
        log('error', `at exit: ${told(error)}`);
      }
    },
  };
}

const told = (error) => (error instanceof Error ? (error.stack ?? messageOf(error)) : messageOf(error));

// Listens for ever: a plugin that removes all listeners does not remove this one.
function keep(name, listener) {
  const add = (event, one) => {
    if (!process.listeners(event).includes(one)) process.on(event, one);
  };
  const arm = () => {
    add(name, listener);
    add('removeListener', again);
  };
  // Later: removing all of them ends with forgetting what was added meanwhile.
  const again = (removed, which) => {
    if (removed === name && which === listener) queueMicrotask(arm);
  };
  arm();
}

// At most so many frames in a second; what is dropped is counted and told in the next one.
function logger(wire, scope) {
  let since = 0;
  let sent = 0;
  let dropped = 0;
  let timer = null;
  const toldDropped = () => {
    timer = null;
    if (dropped === 0) return;
    wire.send('log', { level: 'warn', text: `${dropped} log lines were dropped` });
    dropped = 0;
  };
  return (level, text, fields = scope.getStore()) => {
    const at = scope.getStore();
    if (fields?.kept && at?.lines && at.lines.length < MOST_KEPT) at.lines.push({ level, text: text.slice(0, LONGEST_KEPT) });
    const time = performance.now();
    if (time - since >= 1000) {
      toldDropped();
      since = time;
      sent = 0;
    }
    if (sent >= LOGS_PER_SECOND) {
      dropped += 1;
      timer ??= setTimeout(toldDropped, 1000).unref();
      return;
    }
    sent += 1;
    wire.send('log', { level, plugin: fields?.plugin, call: fields?.call ?? at?.call, text: cut(text) });
  };
}

function cut(text) {
  if (text.length * 3 <= LOG_BYTES) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= LOG_BYTES) return text;
  return bytes.subarray(0, LOG_BYTES).toString('utf8').replace(/\ufffd+$/, '') + CUT;
}

// A stream whose lines are logged, each for the plugin that wrote it.
function lineStream(fd, level, scope, log) {
  const open = new Map();
  let flushing = false;
  const flush = () => {
    flushing = false;
    for (const [key, { text, store }] of open) if (text !== '') log(level, text, store);
    open.clear();
  };
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, encoding, done) {
      const store = scope.getStore();
      const key = store?.plugin;
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      const lines = ((open.get(key)?.text ?? '') + text).split('\n');
      const rest = lines.pop();
      for (const line of lines) log(level, line.replace(/\r$/, ''), store);
      if (rest.length > LOG_BYTES) {
        log(level, rest, store);
        open.delete(key);
      } else {
        open.set(key, { text: rest, store });
      }
      if (rest !== '' && !flushing) {
        flushing = true;
        setImmediate(flush);
      }
      done();
    },
  });
  // It cannot be ended, as upstream's cannot.
  stream.end = function end(chunk, encoding) {
    if (chunk !== undefined && typeof chunk !== 'function') stream.write(chunk, typeof encoding === 'string' ? encoding : undefined);
    return stream;
  };
  stream._destroy = (error, done) => done(error);
  return Object.assign(stream, { fd, isTTY: false, [inspect.custom]: () => `<output ${fd}>` });
}

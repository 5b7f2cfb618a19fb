// Frames: one JSON object per line, written synchronously and whole (OC-70).
//
// The descriptors of the protocol are taken away from numbers 0 and 1 before any plugin runs: a plugin that reads
// descriptor 0 finds an end, and what it or a child of it writes to descriptor 1 comes out of the standard error.
// The token is known to this file only, and stands in no object that code of a plugin could reach.

import { closeSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';

const { parse, stringify } = JSON;
const LINE_FEED = 0x0a;
// So that a frame that the runtime may send is never refused for what stands around it.
const MARGIN = 1024;

export function openWire() {
  const input = takeInput();
  const output = takeOutput();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const { wait } = Atomics;
  const { from } = Buffer;
  const leave = process.reallyExit.bind(process);
  let token = null;
  let limit = Infinity;
  let muted = false;

  function write(line) {
    const bytes = from(line, 'utf8');
    let written = 0;
    while (written < bytes.length) {
      try {
        written += writeSync(output, bytes, written, bytes.length - written);
      } catch (error) {
        if (error.code === 'EAGAIN') wait(nap, 0, 0, 1);
        else leave(0); // Nobody reads any more.
      }
    }
  }

  return {
    begin(given, maxFrameBytes) {
      token = given;
      if (Number.isFinite(maxFrameBytes)) limit = maxFrameBytes;
    },
    // `more` is a member that is JSON already.
    send(type, fields, more) {
      if (token === null || muted) return;
      const body = wellFormed(stringify({ __proto__: null, ...fields })).slice(1, -1);
      const members = [`"type":"${type}","token":${stringify(token)}`, body, more].filter(Boolean).join(',');
      write(`\n{${members}}\n`);
      if (type === 'bye') muted = true;
    },
    listen({ frame, stray, end }) {
      lines(input, limitOf, (line) => {
        if (line === null) return stray('it is larger than a frame may be');
        if (line.length === 0) return;
        let value;
        try {
          const text = decoder.decode(line);
          value = parse(text);
          if (hasDuplicateKeys(text, value)) return stray('it has a duplicate key');
        } catch (error) {
          return stray(error.message);
        }
        const isFrame = value !== null && typeof value === 'object' && typeof value.type === 'string';
        if (!isFrame || Array.isArray(value)) return stray('it is not a frame');
        frame(value);
      });
      input.on('end', end);
      input.on('close', end);
      input.on('error', end);
    },
  };

  function limitOf() {
    return limit;
  }
}

// The input under a number of its own; descriptor 0 becomes an end.
function takeInput() {
  try {
    const own = openSync('/proc/self/fd/0', 'r');
    closeSync(0);
    openSync('/dev/null', 'r');
    return new Socket({ fd: own, readable: true, writable: false });
  } catch {
    return process.stdin;
  }
}

// The output under a number of its own; descriptor 1 becomes the standard error.
function takeOutput() {
  try {
    const own = openSync('/proc/self/fd/1', 'w');
    closeSync(1);
    openSync('/proc/self/fd/2', 'w');
    return own;
  } catch {
    return 1;
  }
}

// Hands over each line; null for one that is longer than the limit.
function lines(input, limitOf, line) {
  let parts = [];
  let length = 0;
  let skipping = false;
  input.on('data', (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      const rest = chunk.subarray(from, at);
      from = at + 1;
      const skipped = skipping || length + rest.length > limitOf() + MARGIN;
      const whole = skipped || parts.length === 0 ? rest : Buffer.concat([...parts, rest]);
      parts = [];
      length = 0;
      skipping = false;
      line(skipped ? null : whole);
    }
    if (from === chunk.length || skipping) return;
    const rest = chunk.subarray(from);
    length += rest.length;
    if (length > limitOf() + MARGIN) {
      parts = [];
      skipping = true;
    } else {
      parts.push(rest);
    }
  });
}

// A lone surrogate is not UTF-8; JSON.stringify writes it as an escape.
export const LONE_SURROGATE = /(\\\\)|\\ud[89a-f][0-9a-f]{2}/g;

export function hasLoneSurrogate(json) {
  if (!json.includes('\\ud')) return false;
  for (const match of json.matchAll(LONE_SURROGATE)) if (!match[1]) return true;
  return false;
}

function wellFormed(json) {
  if (!json.includes('\\ud')) return json;
  return json.replace(LONE_SURROGATE, (whole, backslashes) => (backslashes ? whole : '\\ufffd'));
}

// JSON.parse keeps the last of two equal keys. A text that comes out as long as it went in has none.
function hasDuplicateKeys(text, value) {
  if (stringify(value).length === text.length) return false;
  const scopes = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;
  let key = false;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [part] = match;
    const scope = scopes[scopes.length - 1];
    if (part === '{') scopes.push(new Set());
    else if (part === '[') scopes.push(null);
    else if (part === '}' || part === ']') scopes.pop();
    else if (part[0] === '"' && key && scope) {
      const name = parse(part);
      if (scope.has(name)) return true;
      scope.add(name);
    }
    key = part === '{' || (part === ',' && Boolean(scopes[scopes.length - 1]));
  }
  return false;
}

// The socket of a daemon: requests, connections that become something else, and what can go wrong with either.
//
// Requests are HTTP/1.1 over a Unix socket, each over a connection of its own. A request is sent once: what may have
// arrived is not sent again.

import { lstatSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';

/** A JSON object. */
export type Fields = Record<string, unknown>;

/**
 * Why a request has no result: no daemon answers (`no_daemon`), the connection broke before the answer (`broken`), no
 * answer came in its time (`late`), the daemon refuses (`refused`), or its answer is not the documented one
 * (`unreadable`).
 */
export type RequestFailure = 'no_daemon' | 'broken' | 'late' | 'refused' | 'unreadable';

/** A request without a result. What was to be decided must not happen then, unless the program says otherwise. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** What kind of failure it is. */
  readonly kind: RequestFailure;
  /** The HTTP status, where the daemon refuses. */
  readonly status: number | undefined;
  /** Which problem it is, where the daemon refuses: `urn:lineside:problem:` and a word. */
  readonly problem: string | undefined;
  /** Whether the daemon says that the event must not happen, because no gate has seen it. */
  readonly blocks: boolean;

  constructor(kind: RequestFailure, message: string, more: { cause?: unknown; status?: number; problem?: string; blocks?: boolean } = {}) {
    super(message, { cause: more.cause });
    this.kind = kind;
    this.status = more.status;
    this.problem = more.problem;
    this.blocks = more.blocks ?? false;
  }
}

/** The error of a problem document, with the status of its answer. */
export function refused(status: number | undefined, text: string): RequestError {
  const document = object(parsed(text));
  const { type, detail, verdict } = document ?? {};
  if (typeof type !== 'string' || typeof detail !== 'string')
    return new RequestError('unreadable', `the daemon answered with status ${status ?? 'unknown'} and no problem document; both may be of other versions`);
  const said = typeof document?.status === 'number' ? document.status : 500;
  return new RequestError('refused', detail, { status: status ?? said, problem: type, blocks: verdict === 'block' });
}

/** The error of a connection that broke before the answer. */
export function broken(cause: unknown): RequestError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  return new RequestError('broken', `the connection to the daemon broke before its answer${why}`, { cause });
}

/** Why another user may have put a socket at this path; nothing where none can have, or where nothing is there. */
function foreign(path: string): string | undefined {
  const own = process.geteuid?.();
  if (own === undefined) return undefined;
  const folder = dirname(path);
  for (const [place, what] of [[folder, 'folder'], [path, 'socket']] as const) {
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (!found) return undefined;
    if (what === 'folder' ? !found.isDirectory() : !found.isSocket()) return `${place} is no ${what}`;
    if (found.uid !== own) return `${place} belongs to another user`;
    if (what === 'folder' && found.mode & 0o077) return `${place} is open to other users: \`chmod 700\` it`;
  }
  return undefined;
}

/** A value, where it is an object. */
export function object(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** A text as JSON; nothing where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A text as one segment of a path. */
export function segment(text: string): string {
  return encodeURIComponent(text).replace(/[.!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A connection that has another protocol now. It is given its reader, or a listener for its data, before anything else happens. */
export interface Upgraded {
  socket: Socket;
  /** What was read behind the answer already. */
  begun: Buffer;
  headers: http.IncomingHttpHeaders;
  /** Has a reader of what comes from here on. */
  read: (reader: Reader) => void;
}

/** Is given the bytes that have come, the first ones of a buffer. They are its own until it returns. */
export type Reader = (buffer: Buffer, count: number) => void;

/** What a request may have beside its path. */
export interface Asking {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** How many bytes of a connection are read at once. */
const CHUNK = 64 << 10;

/** The way to one daemon, and the grant that is shown there. */
export class Wire {
  readonly socket: string;
  readonly grant: string | undefined;

  constructor(socket: string, grant?: string) {
    this.socket = socket;
    this.grant = grant;
  }

  /** A request, to the object of its answer. An aborted one closes its connection, which cancels it at the daemon. */
  async call(method: string, path: string, asking: Asking = {}): Promise<Fields> {
    const { body } = await this.fetch(method, path, asking);
    const fields = object(parsed(body.toString('utf8')));
    if (!fields) throw new RequestError('unreadable', `the answer of the daemon to ${method} ${path} is no JSON object`);
    return fields;
  }

  /** The same, to the bytes of its answer. */
  async fetch(method: string, path: string, asking: Asking = {}): Promise<{ headers: http.IncomingHttpHeaders; body: Buffer }> {
    const answer = await this.#ask(method, path, asking);
    const body = await bytesOf(answer);
    const status = answer.statusCode ?? 0;
    if (status < 200 || status > 299) throw refused(status, body.toString('utf8'));
    return { headers: answer.headers, body };
  }

  /** The body of an answer that does not end. Destroying it closes its connection. */
  async stream(path: string, after?: string): Promise<http.IncomingMessage> {
    const answer = await this.#ask('GET', path, after === undefined ? {} : { headers: { 'Last-Event-ID': after } });
    if (answer.statusCode !== 200) throw refused(answer.statusCode, await textOf(answer));
    return answer;
  }

  /** Makes a connection of its own one of another protocol. */
  async upgrade(path: string, protocol: string, headers: Record<string, string> = {}): Promise<Upgraded> {
    this.#refuseForeign();
    const { promise, resolve, reject } = deferred<Upgraded>();
    // What comes is read into one buffer: to make one for each chunk costs more than to parse a decision.
    let reader: Reader | undefined;
    const buffer = Buffer.allocUnsafeSlow(CHUNK);
    const callback = (count: number) => {
      if (reader) reader(buffer, count);
      // Of HTTP still, or for a listener, which may keep it.
      else socket.emit('data', Buffer.from(buffer.subarray(0, count)));
      return true;
    };
    const socket = net.connect({ path: this.socket, onread: { buffer, callback } });
    const read = (all: Reader) => {
      reader = all;
      // Of a runtime that does not know `onread`; Node has none then.
      socket.on('data', (chunk: Buffer) => all(chunk, chunk.length));
    };
    const request = this.#request('POST', path, { ...headers, Connection: 'Upgrade', Upgrade: protocol }, { createConnection: () => socket });
    request.on('upgrade', (answer, _, begun) => resolve({ socket, begun, headers: answer.headers, read }));
    request.on('response', (answer) => textOf(answer).then((text) => reject(refused(answer.statusCode, text)), reject));
    request.on('error', (error) => reject(this.#failed(error)));
    request.end();
    return promise;
  }

  async #ask(method: string, path: string, { body, headers, signal }: Asking): Promise<http.IncomingMessage> {
    this.#refuseForeign();
    const { promise, resolve, reject } = deferred<http.IncomingMessage>();
    const text = body === undefined ? '' : JSON.stringify(body);
    const way = { socketPath: this.socket, agent: false, ...(signal ? { signal } : {}) } as const;
    const request = this.#request(method, path, { ...headers, 'Content-Length': String(Buffer.byteLength(text)) }, way);
    request.on('response', resolve);
    request.on('error', (error) => reject(signal?.aborted ? signal.reason : this.#failed(error)));
    request.end(text);
    return promise;
  }

  #request(method: string, path: string, headers: Record<string, string>, way: http.RequestOptions): http.ClientRequest {
    const all: Record<string, string> = { ...headers, Host: 'lineside', 'Content-Type': 'application/json' };
    if (this.grant !== undefined) all['Lineside-Grant'] = this.grant;
    return http.request({ ...way, method, path, headers: all });
  }

  /** No byte is sent to another user's process. */
  #refuseForeign(): void {
    const why = foreign(this.socket);
    if (why !== undefined) throw new RequestError('no_daemon', `the socket ${this.socket} is not used: ${why}`);
  }

  #failed(error: Error & { code?: string; syscall?: string }): RequestError {
    if (error.syscall !== 'connect') return broken(error);
    const message = `no daemon answers at ${this.socket} (${error.code ?? error.message}); start one with \`lineside serve\`, or use \`Client.connect()\``;
    return new RequestError('no_daemon', message, { cause: error });
  }
}

/** A promise with what settles it. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: unknown) => void } {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

async function textOf(answer: http.IncomingMessage): Promise<string> {
  return (await bytesOf(answer)).toString('utf8');
}

async function bytesOf(answer: http.IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  try {
    for await (const part of answer) parts.push(part as Buffer);
  } catch (error) {
    throw broken(error);
  }
  return Buffer.concat(parts);
}

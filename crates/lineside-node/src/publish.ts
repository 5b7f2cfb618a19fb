// Publishing over connections for events: a few, each with many events under way, and no request for each.
//
// A frame is a line of JSON, its head, and as many bytes behind it as the head says.

import type { Socket } from 'node:net';
import { broken, object, parsed, refused, RequestError } from './wire.ts';
import type { Fields, Upgraded, Wire } from './wire.ts';

/** How many connections there are before events share one: the daemon decides those of different ones beside one another. */
const FEW = 4;
/** How many there are before those that have nothing to do are closed. */
const MOST = 64;
/** How many events of a connection are under way at most, and how many bytes they have together; a longer one goes alone. */
const MOST_EVENTS = 64;
const MOST_BYTES = 64 << 10;
/** The longest head of a frame, in bytes. */
const LONGEST_HEAD = 4096;
/** How long the answer may take beyond the time of its event, in milliseconds, before it is given up here. */
const GRACE = 1000;

/** What an event may have beside its payload. */
export interface Within {
  /** At most this much time for all hooks together, in whole milliseconds. */
  withinMs?: number | undefined;
  /** Cancels the event: its hooks are cancelled, and it stays undecided. */
  signal?: AbortSignal | undefined;
}

/** What the program gets of a decision. An exception is that of its publisher. */
type Reading<T> = (decision: Fields) => T;

/** The connections for events of one client. */
export class Publisher {
  readonly #wire: Wire;
  #pool: Connection[] = [];
  #connecting: Promise<unknown> | undefined;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** Publishes an event, which is JSON, and gives what is read of its decision. A daemon is sent it once. */
  publish<T>(event: string, within: Within, reading: Reading<T>): Promise<T> {
    if (within.signal?.aborted) return Promise.reject(within.signal.reason);
    const length = Buffer.byteLength(event);
    // Where a connection is there, which is nearly always, an event has this one promise.
    const connection = this.#choose(length);
    return connection ? connection.publish(event, length, within, reading) : this.#connectAndPublish(event, length, within, reading);
  }

  /** Closes all connections; what is under way stays undecided. */
  close(): void {
    for (const connection of this.#pool) connection.break(new Error('the client was closed'));
    this.#pool = [];
  }

  async #connectAndPublish<T>(event: string, length: number, within: Within, reading: Reading<T>): Promise<T> {
    for (;;) {
      // Those who wait for a connection share it.
      if (this.#connecting) await this.#connecting.catch(() => {});
      else await this.#connect();
      within.signal?.throwIfAborted();
      const connection = this.#choose(length);
      if (connection) return connection.publish(event, length, within, reading);
    }
  }

  async #connect(): Promise<void> {
    const connecting = this.#wire.upgrade('/v1/events/connection', 'lineside-events/1');
    this.#connecting = connecting;
    try {
      const connection = new Connection(await connecting, this);
      if (this.#pool.length >= MOST)
        this.#pool = this.#pool.filter((one) => one.load > 0 || one.break(new Error('it had nothing to do')));
      this.#pool.push(connection);
    } finally {
      this.#connecting = undefined;
    }
  }

  /** One of the connections that there are: one that has nothing to do, or a shared one where there are a few. */
  #choose(length: number): Connection | undefined {
    let shared: Connection | undefined;
    let isAnyBroken = false;
    for (const connection of this.#pool) {
      if (connection.isBroken) isAnyBroken = true;
      else if (connection.load === 0) return connection;
      else if (connection.hasRoom(length) && connection.load < (shared?.load ?? Infinity)) shared = connection;
    }
    if (isAnyBroken) this.#pool = this.#pool.filter((connection) => !connection.isBroken);
    return this.#pool.length >= FEW ? shared : undefined;
  }
}

interface UnderWay {
  length: number;
  reading: Reading<unknown>;
  /** To what is read of its decision, or to another try where it was not sent. */
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  /** Takes away what would give it up. */
  settle: (() => void) | undefined;
}

/** One connection for events. It keeps the program running while an event is under way. */
class Connection {
  readonly #socket: Socket;
  readonly #publisher: Publisher;
  readonly #underWay = new Map<number, UnderWay>();
  #last = 0;
  #bytes = 0;
  /** What was read and is no whole frame, and how long that has to be before it is looked at again. */
  #rest: Buffer[] = [];
  #have = 0;
  #need = 1;
  isBroken = false;

  constructor({ socket, begun, read }: Upgraded, publisher: Publisher) {
    this.#socket = socket;
    this.#publisher = publisher;
    socket.setTimeout(0);
    read((buffer, count) => this.#read(buffer, count));
    socket.on('error', (error) => this.break(error));
    socket.on('close', () => this.break(new Error('the daemon has closed it')));
    socket.unref();
    if (begun.length > 0) this.#read(begun, begun.length);
  }

  /** How many events are under way. */
  get load(): number {
    return this.#underWay.size;
  }

  /** Whether an event of that length may go beside those that are under way. */
  hasRoom(length: number): boolean {
    return this.load === 0 || (this.load < MOST_EVENTS && this.#bytes + length <= MOST_BYTES);
  }

  /** Sends an event. One that the other end was gone before, so that it cannot have been read there, is published anew. */
  publish<T>(event: string, length: number, within: Within, reading: Reading<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const id = ++this.#last;
      const one: UnderWay = { length, reading, resolve: resolve as (result: unknown) => void, reject, settle: undefined };
      if (this.load === 0) this.#socket.ref();
      this.#underWay.set(id, one);
      this.#bytes += length;
      const { withinMs, signal } = within;
      if (withinMs !== undefined || signal) this.#limit(id, one, withinMs, signal);
      const limit = withinMs === undefined ? '' : `,"within_ms":${Math.max(0, Math.floor(withinMs))}`;
      this.#socket.write(`{"type":"publish","id":${id},"bytes":${length}${limit}}\n${event}`, (error) => {
        if (!error || (error as NodeJS.ErrnoException).code !== 'EPIPE') return;
        const unsent = this.#take(id);
        this.break(error);
        unsent?.resolve(this.#publisher.publish(event, within, reading));
      });
    });
  }

  /** Ends it; what is under way stays undecided. */
  break(why: Error): false {
    if (!this.isBroken) {
      this.isBroken = true;
      this.#socket.destroy();
      for (const id of this.#underWay.keys()) this.#take(id)?.reject(broken(why));
    }
    return false;
  }

  /** Gives an event up when its time is over, or its signal says so. */
  #limit(id: number, one: UnderWay, withinMs: number | undefined, signal: AbortSignal | undefined): void {
    const giveUp = (error: unknown) => {
      if (!this.#take(id)) return;
      this.#socket.write(`{"type":"cancel","id":${id}}\n`);
      one.reject(error);
    };
    const aborted = () => giveUp(signal?.reason);
    const late = () => giveUp(new RequestError('late', `the daemon has not decided the event within ${withinMs} ms; see \`lineside status\``));
    const timer = withinMs === undefined ? undefined : setTimeout(late, withinMs + GRACE);
    signal?.addEventListener('abort', aborted, { once: true });
    one.settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', aborted);
    };
  }

  #take(id: number): UnderWay | undefined {
    const one = this.#underWay.get(id);
    if (!one) return undefined;
    this.#underWay.delete(id);
    this.#bytes -= one.length;
    one.settle?.();
    if (this.load === 0) this.#socket.unref();
    return one;
  }

  #read(buffer: Buffer, count: number): void {
    this.#have += count;
    if (this.#rest.length > 0 || this.#have < this.#need) {
      this.#rest.push(Buffer.from(buffer.subarray(0, count)));
      if (this.#have < this.#need) return;
      [buffer, count] = [Buffer.concat(this.#rest), this.#have];
    }
    try {
      const taken = this.#frames(buffer, count);
      if (taken < count) this.#rest = [Buffer.from(buffer.subarray(taken, count))];
      else if (this.#rest.length > 0) this.#rest = [];
      this.#have = count - taken;
    } catch (error) {
      this.break(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Takes the frames that are whole among the first bytes of a buffer; how long they are together. */
  #frames(buffer: Buffer, count: number): number {
    let at = 0;
    for (;;) {
      const end = at < count ? buffer.indexOf(10, at) : -1;
      if (end < 0 || end >= count) {
        if (count - at > LONGEST_HEAD) throw new Error('a frame of the daemon has no head');
        this.#need = count - at + 1;
        return at;
      }
      if (end === at) {
        at = end + 1;
        continue;
      }
      const head = headOf(buffer, at, end);
      const stop = end + 1 + head.bytes;
      if (stop > count) {
        this.#need = stop - at;
        return at;
      }
      this.#answer(head, buffer.toString('utf8', end + 1, stop));
      at = stop;
    }
  }

  #answer({ type, id }: Head, text: string): void {
    if (type !== 'decision' && type !== 'problem') return;
    if (id === undefined) {
      if (type === 'problem') throw refused(undefined, text);
      return;
    }
    // One that was cancelled may have been on its way.
    const one = this.#take(id);
    if (!one) return;
    if (type === 'problem') return one.reject(refused(undefined, text));
    const decision = object(parsed(text));
    if (!decision) return one.reject(new RequestError('unreadable', 'a decision of the daemon is no JSON object'));
    try {
      one.resolve(one.reading(decision));
    } catch (error) {
      one.reject(error);
    }
  }
}

/** What is asked of the head of a frame. */
interface Head {
  type: unknown;
  id: number | undefined;
  bytes: number;
}

const DECISION = Buffer.from('{"type":"decision","id":');
const BYTES = Buffer.from(',"bytes":');

/** The head that stands in a line. */
function headOf(buffer: Buffer, start: number, end: number): Head {
  // As every daemon has written it; the same as below in a fraction of its time. The end of the line is none of it.
  let at = behind(buffer, start, DECISION);
  if (at > 0) {
    let [id, bytes] = [0, 0];
    for (; isDigit(buffer[at]); at++) id = id * 10 + (buffer[at] as number) - 48;
    at = behind(buffer, at, BYTES);
    if (at > 0) for (; isDigit(buffer[at]); at++) bytes = bytes * 10 + (buffer[at] as number) - 48;
    if (at === end - 1 && buffer[at] === 125) return { type: 'decision', id, bytes };
  }
  const head = object(parsed(buffer.toString('utf8', start, end)));
  if (!head) throw new Error('the head of a frame is no JSON object');
  const { type, id, bytes } = head;
  return { type, id: typeof id === 'number' ? id : undefined, bytes: typeof bytes === 'number' ? bytes : 0 };
}

/** Where a text ends that stands at a place; -1 where another one does. */
function behind(buffer: Buffer, place: number, text: Buffer): number {
  for (let at = 0; at < text.length; at++) if (buffer[place + at] !== text[at]) return -1;
  return place + text.length;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

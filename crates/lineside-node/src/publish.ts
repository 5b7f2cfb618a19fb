// Publishing over connections for events: a few, each with many events under way, and no request for each.
//
// A frame is a line of JSON, its head, and as many bytes behind it as the head says.

import type { Socket } from 'node:net';
import { broken, deferred, object, parsed, refused, RequestError } from './wire.ts';
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

/** The connections for events of one client. */
export class Publisher {
  readonly #wire: Wire;
  #pool: Connection[] = [];
  #connecting: Promise<unknown> | undefined;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** Publishes an event, which is JSON, and gives its decision. A daemon is sent it once. */
  async publish(event: string, within: Within): Promise<Fields> {
    within.signal?.throwIfAborted();
    const length = Buffer.byteLength(event);
    for (;;) {
      const published = this.#overOne(event, length, within);
      if (published) {
        const decision = await published;
        if (decision) return decision;
        // The daemon of before cannot have read it.
        continue;
      }
      // Those who wait for a connection share it.
      if (this.#connecting) await this.#connecting.catch(() => {});
      else await this.#connect();
      within.signal?.throwIfAborted();
    }
  }

  /** Closes all connections; what is under way stays undecided. */
  close(): void {
    for (const connection of this.#pool) connection.break(new Error('the client was closed'));
    this.#pool = [];
  }

  async #connect(): Promise<void> {
    const connecting = this.#wire.upgrade('/v1/events/connection', 'lineside-events/1');
    this.#connecting = connecting;
    try {
      const connection = new Connection(await connecting);
      if (this.#pool.length >= MOST)
        this.#pool = this.#pool.filter((one) => one.load > 0 || one.break(new Error('it had nothing to do')));
      this.#pool.push(connection);
    } finally {
      this.#connecting = undefined;
    }
  }

  /** Sends it over one of the connections that there are: one that has nothing to do, or shared where there are a few. */
  #overOne(event: string, length: number, within: Within): Promise<Fields | undefined> | undefined {
    let shared: Connection | undefined;
    let isAnyBroken = false;
    for (const connection of this.#pool) {
      if (connection.isBroken) isAnyBroken = true;
      else if (connection.load === 0) return connection.publish(event, length, within);
      else if (connection.hasRoom(length) && connection.load < (shared?.load ?? Infinity)) shared = connection;
    }
    if (isAnyBroken) this.#pool = this.#pool.filter((connection) => !connection.isBroken);
    return this.#pool.length >= FEW ? shared?.publish(event, length, within) : undefined;
  }
}

interface UnderWay {
  length: number;
  /** To its decision; to nothing where it was not sent. */
  resolve: (decision: Fields | undefined) => void;
  reject: (error: unknown) => void;
  /** Takes away what would give it up. */
  settle: (() => void) | undefined;
}

/** One connection for events. It keeps the program running while an event is under way. */
class Connection {
  readonly #socket: Socket;
  readonly #underWay = new Map<number, UnderWay>();
  #last = 0;
  #bytes = 0;
  /** What was read and is no whole frame, and how long that has to be before it is looked at again. */
  #rest: Buffer[] = [];
  #have = 0;
  #need = 1;
  isBroken = false;

  constructor({ socket, begun }: Upgraded) {
    this.#socket = socket;
    socket.setTimeout(0);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => this.break(error));
    socket.on('close', () => this.break(new Error('the daemon has closed it')));
    socket.unref();
    if (begun.length > 0) this.#read(begun);
  }

  /** How many events are under way. */
  get load(): number {
    return this.#underWay.size;
  }

  /** Whether an event of that length may go beside those that are under way. */
  hasRoom(length: number): boolean {
    return this.load === 0 || (this.load < MOST_EVENTS && this.#bytes + length <= MOST_BYTES);
  }

  /** Sends an event; there is nothing where the other end was gone before, and no whole event can have been read there. */
  publish(event: string, length: number, { withinMs, signal }: Within): Promise<Fields | undefined> {
    const { promise, resolve, reject } = deferred<Fields | undefined>();
    const id = ++this.#last;
    const one: UnderWay = { length, resolve, reject, settle: undefined };
    if (this.load === 0) this.#socket.ref();
    this.#underWay.set(id, one);
    this.#bytes += length;
    if (withinMs !== undefined || signal) this.#limit(id, one, withinMs, signal);
    const within = withinMs === undefined ? '' : `,"within_ms":${Math.max(0, Math.floor(withinMs))}`;
    this.#socket.write(`{"type":"publish","id":${id},"bytes":${length}${within}}\n${event}`, (error) => {
      if (error && (error as NodeJS.ErrnoException).code === 'EPIPE') {
        this.#take(id)?.resolve(undefined);
        this.break(error);
      }
    });
    return promise;
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

  #read(chunk: Buffer): void {
    this.#have += chunk.length;
    if (this.#rest.length > 0 || this.#have < this.#need) {
      this.#rest.push(chunk);
      if (this.#have < this.#need) return;
      chunk = Buffer.concat(this.#rest);
    }
    try {
      const taken = this.#frames(chunk);
      this.#rest = taken < chunk.length ? [chunk.subarray(taken)] : [];
      this.#have = chunk.length - taken;
    } catch (error) {
      this.break(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Takes the frames that are whole; how long they are together. */
  #frames(bytes: Buffer): number {
    let at = 0;
    for (;;) {
      const end = bytes.indexOf(10, at);
      if (end < 0 || end === at) {
        if (end < 0 && bytes.length - at > LONGEST_HEAD) throw new Error('a frame of the daemon has no head');
        this.#need = bytes.length - at + 1;
        if (end < 0) return at;
        at = end + 1;
        continue;
      }
      const head = object(parsed(bytes.toString('utf8', at, end)));
      if (!head) throw new Error('the head of a frame is no JSON object');
      const length = typeof head.bytes === 'number' ? head.bytes : 0;
      if (end + 1 + length > bytes.length) {
        this.#need = end + 1 + length - at;
        return at;
      }
      this.#answer(head, bytes.toString('utf8', end + 1, end + 1 + length));
      at = end + 1 + length;
    }
  }

  #answer({ type, id }: Fields, text: string): void {
    if (type !== 'decision' && type !== 'problem') return;
    if (typeof id !== 'number') {
      if (type === 'problem') throw refused(undefined, text);
      return;
    }
    // One that was cancelled may have been on its way.
    const one = this.#take(id);
    if (!one) return;
    if (type === 'problem') return one.reject(refused(undefined, text));
    const decision = object(parsed(text));
    if (decision) one.resolve(decision);
    else one.reject(new RequestError('unreadable', 'a decision of the daemon is no JSON object'));
  }
}

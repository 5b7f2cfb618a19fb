// Attaching: one connection over which the daemon asks the hooks of this process, in the line protocol of workers.
//
// It is made by the first hook that is registered, and made again whenever it breaks: with the token that the daemon has
// given, so that the hooks are there again, or anew with everything that was registered, when the daemon is another one. It
// keeps the program running until the client is closed.

import { setTimeout as sleep } from 'node:timers/promises';
import { broken, object, parsed, refused, RequestError, segment } from './wire.ts';
import type { Fields, Upgraded, Wire } from './wire.ts';

/** The version of the protocol that is spoken, and how many calls are answered at the same time. */
const PROTOCOL = 2;
const CONCURRENCY = 64;
/** How long the first wait is before something is tried again, and the longest ones, in milliseconds; each is twice the last. */
const FIRST = 20;
const LONGEST = 1000;
const LONGEST_FOR_HOOKS = 60_000;
/** The longest line that the daemon writes: a frame of 10 MiB, and what stands around an event. */
const LONGEST_LINE = (10 << 20) + 4096;

/** What opened a session, so that it can be opened again. */
export interface Opening {
  id: string;
  fields: Fields;
  above: Opening | undefined;
  /** The digest of the hooks that the session is under, as the daemon has last given it. */
  coverage: string;
}

/** The surroundings of one call of a hook. */
export interface Call {
  /** Aborted when the caller is gone or the time of the hook is over. */
  signal: AbortSignal;
  /** What is left of the time of the hook, in milliseconds. */
  remaining(): number;
  /** The variables of programs that the hook starts for this event. */
  environment: Record<string, string>;
}

/** What a hook runs for a call: its answer, an object or nothing; an exception is a failure of the hook. */
export type Run = (event: Fields, call: Call) => unknown;

interface Hook {
  called: string;
  /** Absent when it was taken away, and the daemon has not confirmed that. */
  run: Run | undefined;
  session: Opening;
  /** What it is registered with, its program apart. */
  fields: Fields;
  /**
   * `registering`: by a call that has an error when the daemon ends. A number: the daemon has it under that. `lost`: the daemon
   * is another one, which has not taken it yet, and `refused`: does not take it. `inherited`: its session is closed, and
   * sessions below that are under it still.
   */
  standing: 'registering' | 'lost' | 'refused' | 'inherited' | number;
}

/** A hook that is registered in the daemon and lives in this process. */
export interface Registration {
  /** Takes the hook away; events under way still see it. `false` when it was gone already. */
  remove(): Promise<boolean>;
}

/** The hooks of one client, and the connection over which they are asked. */
export class Attachment {
  readonly #wire: Wire;
  readonly #hooks = new Map<string, Hook>();
  /** The sessions that this daemon, which is another one, has opened again: one of them that is closed stays so. */
  readonly #reopened = new Set<string>();
  readonly #closing = new AbortController();
  #token: string | undefined;
  /** The daemon is another one, and was not told everything that is registered. */
  #isUnknown = false;
  #last = 0;
  #attached: Promise<void> | undefined;
  #socket: Upgraded['socket'] | undefined;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** Registers a hook on a session, and attaches if that was not done before. */
  async register(session: Opening, fields: Fields, run: Run): Promise<Registration> {
    this.#attached ??= this.#attach();
    try {
      await this.#attached;
    } catch (error) {
      this.#attached = undefined;
      throw error;
    }
    const called = String(++this.#last);
    // It may be asked before the answer to its registration is here.
    const hook: Hook = { called, run, session, fields: { ...fields, called }, standing: 'registering' };
    this.#hooks.set(called, hook);
    try {
      await this.#register(hook);
    } catch (error) {
      this.#hooks.delete(called);
      throw error;
    }
    return { remove: () => this.#remove(called) };
  }

  /** A session is closed: its hooks are not asked again, unless sessions below it are under them still. */
  closed(session: string, isInherited: boolean): void {
    this.#reopened.delete(session);
    for (const hook of this.#hooks.values()) {
      if (hook.session.id !== session) continue;
      if (isInherited) hook.standing = 'inherited';
      else this.#hooks.delete(hook.called);
    }
  }

  /** Ends the connection: each hook of this process has failed from then on. */
  close(): void {
    this.#closing.abort();
    this.#socket?.destroy();
  }

  async #attach(): Promise<void> {
    void this.#keep(await this.#connect());
  }

  async #register(hook: Hook): Promise<void> {
    const path = `/v1/sessions/${segment(hook.session.id)}/hooks`;
    const body = { ...hook.fields, attachment: this.#token };
    const { hook: number, coverage } = await this.#wire.call('POST', path, { body });
    hook.session.coverage = String(coverage);
    await this.#isRegistered(hook.called, path, Number(number));
  }

  /** The daemon has a hook. One that was forgotten meanwhile is taken away there. */
  async #isRegistered(called: string, path: string, number: number): Promise<void> {
    const hook = this.#hooks.get(called);
    if (hook) hook.standing = number;
    else await this.#takeAway(path, number);
  }

  /** Whether it was there, and the coverage since. */
  async #takeAway(path: string, number: number): Promise<string | undefined> {
    const headers: Record<string, string> = this.#token === undefined ? {} : { 'Lineside-Attachment': this.#token };
    try {
      return String((await this.#wire.call('DELETE', `${path}/${number}`, { headers })).coverage);
    } catch (error) {
      if (error instanceof RequestError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Takes a hook away; it is known until the daemon has confirmed that. */
  async #remove(called: string): Promise<boolean> {
    const hook = this.#hooks.get(called);
    if (!hook) return false;
    hook.run = undefined;
    let coverage: string | undefined;
    if (typeof hook.standing === 'number') {
      coverage = await this.#takeAway(`/v1/sessions/${segment(hook.session.id)}/hooks`, hook.standing);
      if (coverage !== undefined) hook.session.coverage = coverage;
    }
    this.#hooks.delete(called);
    return coverage !== undefined;
  }

  /** A connection, with the same token where the daemon knows it still. */
  async #connect(): Promise<Upgraded> {
    const before = this.#token;
    const headers: Record<string, string> = before === undefined ? {} : { 'Lineside-Attachment': before };
    const upgraded = await this.#wire.upgrade('/v1/attach', 'lineside-worker/2', headers);
    const token = upgraded.headers['lineside-attachment'];
    if (typeof token !== 'string') throw new RequestError('unreadable', 'the daemon gave no token for the hooks of this process');
    this.#token = token;
    if (before !== undefined && before !== token) {
      this.#isUnknown = true;
      this.#reopened.clear();
      for (const hook of this.#hooks.values()) {
        // What was to be taken away is gone with the earlier daemon.
        if (!hook.run || hook.standing === 'inherited') this.#hooks.delete(hook.called);
        else if (hook.standing !== 'registering') hook.standing = 'lost';
      }
    }
    return upgraded;
  }

  /** Answers over one connection after another. */
  async #keep(first: Upgraded): Promise<void> {
    let next: Upgraded | undefined = first;
    let wait = FIRST;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const began = performance.now();
      try {
        const connection: Upgraded = next ?? (await this.#connect());
        next = undefined;
        const served = this.#serve(connection);
        const over = new AbortController();
        void this.#beKnown(AbortSignal.any([signal, over.signal]));
        await served;
        over.abort();
        // One that is closed at once, again and again, is not made again without a pause.
        if (performance.now() - began >= FIRST) wait = FIRST;
      } catch {
        // There is no daemon, or another one that is about to be there.
      }
      await sleep(wait, undefined, { signal }).catch(() => {});
      wait = Math.min(wait * 2, LONGEST);
    }
  }

  /** One connection to its end. */
  #serve({ socket, begun }: Upgraded): Promise<void> {
    const calls = new Calls((frame) => socket.write(`${JSON.stringify(frame)}\n`));
    let rest: Buffer[] = [];
    let length = 0;
    const read = (chunk: Buffer) => {
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
        const line = Buffer.concat([...rest, chunk.subarray(0, end)]).toString('utf8');
        [rest, length, chunk] = [[], 0, chunk.subarray(end + 1)];
        const frame = object(parsed(line));
        // Sessions that were under it are over, which this process does not see.
        if (frame?.type === 'released') this.#hooks.delete(String(frame.hook));
        else if (frame) calls.take(frame, (hook) => this.#hooks.get(hook)?.run);
      }
      if (chunk.length > 0) rest.push(chunk);
      length += chunk.length;
      if (length > LONGEST_LINE) socket.destroy();
    };
    this.#socket = socket;
    if (this.#closing.signal.aborted) socket.destroy();
    socket.setTimeout(0);
    socket.on('data', read);
    socket.on('error', () => {});
    if (begun.length > 0) read(begun);
    return new Promise((resolve) =>
      socket.once('close', () => {
        calls.cancelAll();
        resolve();
      }),
    );
  }

  /** Registers everything again with a daemon that knows nothing of this process, if it is one. */
  async #beKnown(signal: AbortSignal): Promise<void> {
    let wait = FIRST;
    while (this.#isUnknown && !signal.aborted) {
      const isDone = await this.#registerAll().catch(() => false);
      if (isDone) this.#isUnknown = false;
      else await sleep(wait, undefined, { signal }).catch(() => {});
      wait = Math.min(wait * 2, LONGEST_FOR_HOOKS);
    }
  }

  /**
   * Opens sessions again where they are not open, those above first, each together with its hooks, so that no event is decided
   * without them. Whether nothing is left that the daemon may take later.
   */
  async #registerAll(): Promise<boolean> {
    const lost = [...this.#hooks.values()].filter((hook) => hook.standing === 'lost');
    const sessions = new Set<Opening>();
    for (const hook of lost) {
      const line: Opening[] = [];
      for (let one: Opening | undefined = hook.session; one; one = one.above) line.unshift(one);
      for (const one of line) if (one === hook.session || !this.#reopened.has(one.id)) sessions.add(one);
    }
    let isDone = true;
    for (const session of sessions) {
      const hooks = lost.filter((hook) => hook.session === session);
      const outcomes = this.#reopened.has(session.id) ? hooks.map((hook) => this.#registerAgain(hook)) : [this.#openAgain(session, hooks)];
      for (const outcome of await Promise.all(outcomes)) isDone &&= outcome;
    }
    return isDone;
  }

  async #openAgain(session: Opening, hooks: Hook[]): Promise<boolean> {
    const brought = hooks.length > 0 ? { attachment: this.#token, hooks: hooks.map((hook) => hook.fields) } : {};
    let isDone = true;
    try {
      const opened = await this.#wire.call('POST', '/v1/sessions', { body: { ...session.fields, ...brought, resume: true } });
      this.#reopened.add(session.id);
      session.coverage = String(opened.coverage);
      for (const outcome of Array.isArray(opened.hooks) ? (opened.hooks as Fields[]) : []) {
        const hook = this.#hooks.get(String(outcome.called));
        const path = `/v1/sessions/${segment(session.id)}/hooks`;
        if (outcome.problem === undefined) await this.#isRegistered(String(outcome.called), path, Number(outcome.hook));
        else if (hook) isDone = this.#isOver(hook, refused(undefined, JSON.stringify(outcome.problem))) && isDone;
      }
    } catch (error) {
      for (const hook of hooks) isDone = this.#isOver(hook, error) && isDone;
    }
    return isDone;
  }

  async #registerAgain(hook: Hook): Promise<boolean> {
    try {
      await this.#register(hook);
      return true;
    } catch (error) {
      const isClosed = error instanceof RequestError && error.problem?.endsWith(':no-such-session');
      if (!isClosed) return this.#isOver(hook, error);
      this.closed(hook.session.id, false);
      return true;
    }
  }

  /** Whether a hook is not tried again with this daemon: it refuses it, now and later. */
  #isOver(hook: Hook, error: unknown): boolean {
    const isRefused = error instanceof RequestError && (error.kind === 'refused' || error.kind === 'unreadable');
    const { status = 400 } = isRefused ? error : {};
    if (!isRefused || status === 404 || status === 409 || status === 429 || status >= 500) return false;
    hook.standing = 'refused';
    process.emitWarning(`a hook of session ${hook.session.id} could not be registered again: ${error.message}`, 'LinesideWarning');
    return true;
  }
}

/** The calls of one connection that are under way. */
class Calls {
  readonly #write: (frame: Fields) => void;
  readonly #underWay = new Map<string, AbortController>();
  #isLeaving = false;

  constructor(write: (frame: Fields) => void) {
    this.#write = write;
  }

  /** Does what a frame asks for; one of a later version is passed over. */
  take(frame: Fields, runOf: (hook: string) => Run | undefined): void {
    const { type, id } = frame;
    if (type === 'hello') this.#write({ type: 'hello', protocol: PROTOCOL, concurrency: CONCURRENCY });
    else if (type === 'ping') this.#write({ type: 'pong' });
    else if (type === 'cancel' && typeof id === 'string') this.#end(id, { type: 'cancelled', id }, true);
    else if (type === 'call' && typeof id === 'string') void this.#call(id, frame, runOf(String(frame.hook)));
    else if (type === 'shutdown') this.#leave(true);
  }

  /** Nothing of them is waited for any more. */
  cancelAll(): void {
    for (const controller of this.#underWay.values()) controller.abort(broken(new Error('the daemon is gone')));
    this.#underWay.clear();
  }

  async #call(id: string, { event, deadline_ms: time, environment }: Fields, run: Run | undefined): Promise<void> {
    const controller = new AbortController();
    const until = performance.now() + Number(time ?? 0);
    this.#underWay.set(id, controller);
    try {
      if (!run) throw new Error('the hook was removed');
      const call: Call = {
        signal: controller.signal,
        remaining: () => Math.max(0, until - performance.now()),
        environment: (object(environment) ?? {}) as Record<string, string>,
      };
      const answer = await run(object(event) ?? {}, call);
      this.#end(id, { type: 'answer', id, answer: answer ?? null });
    } catch (error) {
      this.#end(id, { type: 'error', id, error: String(error).slice(0, 2000) });
    }
  }

  /** A call has this end, if it has none yet. One that goes on here after that was given up. */
  #end(id: string, frame: Fields, isCancelled = false): void {
    const controller = this.#underWay.get(id);
    this.#underWay.delete(id);
    if (isCancelled) controller?.abort(new DOMException('the call was cancelled', 'AbortError'));
    if (controller || isCancelled) this.#write(frame);
    this.#leave(this.#isLeaving);
  }

  #leave(isLeaving: boolean): void {
    this.#isLeaving = isLeaving;
    if (isLeaving && this.#underWay.size === 0) this.#write({ type: 'bye' });
  }
}

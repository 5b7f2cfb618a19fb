// The client of one daemon, and the sessions that it opens.

import type { Readable } from 'node:stream';
import { PrivateDaemon } from './daemon.ts';
import type { Starting } from './daemon.ts';
import { defaultSocket, inheritedGrant, isInherited } from './environment.ts';
import type { Inherited } from './environment.ts';
import { Decision } from './decision.ts';
import type { Gate, Point } from './decision.ts';
import { Attachment } from './attach.ts';
import type { Opening } from './attach.ts';
import { automation, interceptor } from './hooks.ts';
import type { Automate, AutomateSettings, Intercept, InterceptSettings, Registration } from './hooks.ts';
import { observe } from './observe.ts';
import type { Heard, Observation, ObserveSettings } from './observe.ts';
import type { PayloadOf } from './points.ts';
import { Publisher } from './publish.ts';
import type { Within } from './publish.ts';
import { object, RequestError, segment, Wire } from './wire.ts';
import type { Asking, Fields } from './wire.ts';

/** An agent: its id, and its type such as `reviewer`. */
export interface Agent {
  id: string;
  kind?: 'main' | 'subagent';
  type?: string;
}

/** What a session is opened with. */
export interface SessionSettings {
  /** Its agent, or the id of that; `main` for a root, `subagent` below. */
  agent?: Agent | string;
  /** The root of its project. */
  projectRoot?: string;
  /** Its working directory. */
  cwd?: string;
  /** The agent program that publishes. */
  host?: string;
  /** The model that was selected, and the one that runs. */
  model?: { selected?: string; running?: string };
  /** The W3C trace context; a span in that of the parent, or a new trace, without it. */
  traceparent?: string;
  /** Takes the session of that id over if it is open already, with everything that is registered on it. */
  resume?: boolean;
}

/** The client of one daemon. Nothing is connected before the first request. */
export class Client {
  /** @internal */
  readonly wire: Wire;
  /** @internal */
  readonly publisher: Publisher;
  /** @internal */
  readonly attachment: Attachment;
  readonly #end: (() => Promise<void>) | undefined;

  /** A client of the daemon at this socket, with the rights of a grant where there is one. `end` is called by `close`. */
  constructor(socket: string, more: { grant?: string | undefined; end?: (() => Promise<void>) | undefined } = {}) {
    this.wire = new Wire(socket, more.grant);
    this.publisher = new Publisher(this.wire);
    this.attachment = new Attachment(this.wire);
    this.#end = more.end;
  }

  /**
   * A client of the daemon that the environment names, with the rights that it gives: in a process that was started under a
   * session, its sessions are children of that one, and it can reach nothing else.
   */
  static fromEnvironment(): Client {
    return new Client(defaultSocket(), { grant: inheritedGrant() });
  }

  /**
   * As `fromEnvironment`, where a daemon answers; else a client of a daemon of its own, which ends with `close` and with this
   * process. A process that has inherited a daemon or a session starts none: its hooks are there.
   */
  static async connect(starting: Starting = {}): Promise<Client> {
    const client = Client.fromEnvironment();
    try {
      await client.get('/v1/health');
      return client;
    } catch (error) {
      const code = error instanceof RequestError && error.kind === 'no_daemon' ? (error.cause as NodeJS.ErrnoException).code : '';
      if (isInherited() || (code !== 'ENOENT' && code !== 'ECONNREFUSED')) throw error;
    }
    const daemon = await PrivateDaemon.start(starting);
    return new Client(daemon.socket, { end: () => daemon.stop() });
  }

  /** The socket of the daemon. */
  get socket(): string {
    return this.wire.socket;
  }

  /** The same daemon with a grant: sessions are children of the session of the grant, or below it. */
  granted(grant: string): Client {
    return new Client(this.socket, { grant });
  }

  /** Opens a session: a root, or a child of the session whose grant this client has. */
  session(id: string, settings: SessionSettings = {}): Promise<Session> {
    return Session.open(this, id, settings);
  }

  /** `GET`: the object at a path of the API, such as `/v1/status`. */
  get(path: string, asking?: Asking): Promise<Fields> {
    return this.wire.call('GET', path, asking);
  }

  /** `POST` of an object. */
  post(path: string, body: Fields, asking?: Asking): Promise<Fields> {
    return this.wire.call('POST', path, { ...asking, body });
  }

  /** `DELETE`. */
  delete(path: string, asking?: Asking): Promise<Fields> {
    return this.wire.call('DELETE', path, asking);
  }

  /** Closes all connections: what is under way stays undecided, and hooks of this process have failed from then on. */
  async close(): Promise<void> {
    this.publisher.close();
    this.attachment.close();
    await this.#end?.();
  }
}

/** A session of the daemon. */
export class Session {
  /** Its client. */
  readonly client: Client;
  /** Its id. */
  readonly id: string;
  /** The variables of a process that is started under it. They hold a secret, which dies with the session. */
  readonly environment: Inherited;
  /** The W3C trace context of the session. */
  readonly traceparent: string | undefined;
  readonly #path: string;
  readonly #opening: Opening;
  /** What stands between the point and the payload of an event. */
  readonly #named: string;
  #isStated = false;

  private constructor(client: Client, opening: Opening, answer: Fields) {
    this.client = client;
    this.id = opening.id;
    this.environment = (object(answer.environment) ?? {}) as Inherited;
    this.traceparent = this.environment.TRACEPARENT;
    this.#path = `/v1/sessions/${segment(this.id)}`;
    this.#opening = opening;
    this.#named = `,"session":${JSON.stringify(this.id)},"payload":`;
  }

  /** @internal */
  static async open(client: Client, id: string, settings: SessionSettings, above?: Opening): Promise<Session> {
    const { agent, projectRoot, cwd, host, model, traceparent, resume } = settings;
    const kind = above ? 'subagent' : 'main';
    const whole = typeof agent === 'string' ? { id: agent, kind } : agent && { kind, ...agent };
    const all = { id, parent: above?.id, agent: whole, project_root: projectRoot, cwd, host, model, traceparent, resume };
    const fields = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const answer = await client.post('/v1/sessions', fields);
    return new Session(client, { id, fields, above, coverage: String(answer.coverage) }, answer);
  }

  /** The digest of the hooks that it is under, as far as this process knows, in hexadecimal. */
  get coverage(): string {
    return this.#opening.coverage;
  }

  /** Opens a session below this one, under its hooks. */
  subagent(id: string, settings: SessionSettings = {}): Promise<Session> {
    return Session.open(this.client, id, settings, this.#opening);
  }

  /**
   * Publishes an event and waits for the decision. It is never sent twice.
   *
   * Throws where there is no decision: a `RequestError`, or the reason of the signal. What was to happen must not happen then.
   */
  publish<P extends Point>(point: P, payload: PayloadOf<P>, within: Within = {}): Promise<Decision<P>> {
    try {
      const coverage = this.#isStated ? '' : `,"coverage":${JSON.stringify(this.#opening.coverage)}`;
      this.#isStated = true;
      const event = `{"point":"${point}"${this.#named}${JSON.stringify(payload)}${coverage}}`;
      const published = this.client.publisher.publish(event, within, decided<P>);
      return point === 'after_session' ? published.then((decision) => this.#ended(decision)) : published;
    } catch (error) {
      // A payload that is no JSON.
      return Promise.reject(error);
    }
  }

  /**
   * Takes the messages for the agent's context; with `beforeNextModel`, everything that the next call of a model must have:
   * it waits for the hooks that say so. They go back within a minute unless they are accepted.
   */
  async collect(asking: { beforeNextModel?: boolean; signal?: AbortSignal } = {}): Promise<Delivery> {
    const body = asking.beforeNextModel ? { before_next_model: true } : {};
    const taken = await this.client.post(`${this.#path}/context/collect`, body, { signal: asking.signal });
    return new Delivery(this.client, this.#path, taken);
  }

  /** Registers an interceptor of this process; by default everything below inherits it, in whichever process that is. */
  intercept<P extends Gate>(point: P, name: string, settings: InterceptSettings, run: Intercept<P>): Promise<Registration> {
    return this.client.attachment.register(this.#opening, ...interceptor(point, name, settings, run));
  }

  /** Registers an automation of this process, whose jobs are the daemon's; by default everything below inherits it. */
  automate<P extends Point>(point: P, name: string, settings: AutomateSettings, run: Automate<P>): Promise<Registration> {
    return this.client.attachment.register(this.#opening, ...automation(point, name, settings, run));
  }

  /** Hears what is decided in this session and below it from here on. */
  observe<P extends Point>(point: P, settings: ObserveSettings, run: (heard: Heard<P>) => unknown): Promise<Observation> {
    const stream = (path: string, after?: string): Promise<Readable> => this.client.wire.stream(path, after);
    return observe(stream, this.id, point, settings, run);
  }

  /** Ends the session: its background hooks are waited for, each within its own time. */
  async close(): Promise<void> {
    this.#isClosed(await this.client.delete(this.#path));
  }

  #ended<P extends Point>(decision: Decision<P>): Decision<P> {
    this.#isClosed(decision.json);
    return decision;
  }

  #isClosed({ inherited }: Fields): void {
    this.client.attachment.closed(this.id, inherited === true);
  }
}

function decided<P extends Point>(json: Fields): Decision<P> {
  return new Decision<P>(json);
}

/** A message for the agent's context. */
export interface Message {
  id: string;
  hook: string;
  dialect: string;
  point: string;
  event: string;
  session: string;
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
}

/** Messages that were handed over. */
export class Delivery {
  /** The messages, in order. */
  readonly messages: readonly Message[];
  /** The same as one text, each message in an envelope of its own. */
  readonly text: string;
  /** How many messages did not fit and wait for the next delivery. */
  readonly remaining: number;
  readonly #client: Client;
  readonly #path: string | undefined;

  /** @internal */
  constructor(client: Client, session: string, { delivery, messages, text, remaining }: Fields) {
    if (!Array.isArray(messages) || typeof text !== 'string')
      throw new RequestError('unreadable', 'a delivery of the daemon has no messages');
    this.messages = messages as Message[];
    this.text = text;
    this.remaining = typeof remaining === 'number' ? remaining : 0;
    this.#client = client;
    this.#path = typeof delivery === 'string' ? `${session}/context/${segment(delivery)}/accept` : undefined;
  }

  /** They are in the agent's context now; they are not delivered again. */
  async accept(): Promise<void> {
    if (this.#path !== undefined) await this.#client.post(this.#path, {});
  }
}

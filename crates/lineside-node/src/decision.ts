// What a publisher gets back.

import type { GatedPoint, PayloadOf, PointName } from './points.ts';
import { object, RequestError } from './wire.ts';
import type { Fields } from './wire.ts';

/** A point of the catalogue, or one that a vendor has declared. */
export type Point = PointName | `x.${string}.${string}`;

/** A point at which a hook can refuse. */
export type Gate = GatedPoint | `x.${string}.${string}`;

/** What was decided, the weakest first. */
export type Verdict = 'continue' | 'allow' | 'ask' | 'block' | 'stop';

const VERDICTS: readonly string[] = ['continue', 'allow', 'ask', 'block', 'stop'] satisfies Verdict[];

/** What a hook that works in the background has made of an event. */
export interface Acknowledgement {
  hook: string;
  as: 'held' | 'queued' | 'started' | 'cancels' | 'refused' | 'unavailable';
  job?: number;
  durability?: 'memory' | 'process' | 'disk';
  why?: string;
}

/** A decision lets nothing happen: it is a block or a stop, or an `ask` that no person has answered. Thrown by `Decision.obey`. */
export class RefusedEvent extends Error {
  override readonly name = 'RefusedEvent';
  readonly verdict: Verdict;
  /** The name of the hook whose verdict it is. */
  readonly author: string | undefined;

  constructor(verdict: Verdict, reason: string | undefined, author: string | undefined) {
    super(reason ?? `${author ?? 'a hook'} ${verdict === 'ask' ? 'asks a person' : 'refuses it'}`);
    this.verdict = verdict;
    this.author = author;
  }
}

/** The decision about one event. It is about the payload that it holds. A publisher obeys it. */
export class Decision<P extends Point> {
  /** The joined verdict. */
  readonly verdict: Verdict;
  /** The payload that the decision is about: with every amendment. */
  readonly payload: PayloadOf<P>;
  /** Everything that the daemon says of it, as its API describes it. */
  readonly json: Fields;

  /** Reads the decision of a daemon. One that cannot be read is an error and never a permission. */
  constructor(json: Fields) {
    const payload = object(json.payload);
    if (!VERDICTS.includes(json.verdict as string) || !payload) {
      const what = payload ? `the verdict ${JSON.stringify(json.verdict)}, which is not known` : 'no payload';
      throw new RequestError('unreadable', `a decision of the daemon has ${what}; the daemon may be of a later version`);
    }
    this.verdict = json.verdict as Verdict;
    this.payload = payload as unknown as PayloadOf<P>;
    this.json = json;
  }

  /**
   * The payload that may run. Throws `RefusedEvent` where it must not, and for an `ask`, which is no yes: a program that can
   * ask a person looks at `verdict` first.
   */
  obey(): PayloadOf<P> {
    if (this.isRefused || this.verdict === 'ask') throw new RefusedEvent(this.verdict, this.reason, this.author);
    return this.payload;
  }

  /** Whether it must not happen, or its result must not be used: the verdict is a block or a stop. An `ask` is neither, and no yes: see `obey`. */
  get isRefused(): boolean {
    return this.verdict === 'block' || this.verdict === 'stop';
  }

  /** Why. */
  get reason(): string | undefined {
    return text(this.json.reason);
  }

  /** The name of the hook whose verdict it is. */
  get author(): string | undefined {
    return text(this.json.by);
  }

  /** The id of the event; none while hooks are switched off. */
  get id(): string | undefined {
    return text(this.json.id);
  }

  /** The number of the event in its session; none while hooks are switched off. */
  get seq(): number | undefined {
    return typeof this.json.seq === 'number' ? this.json.seq : undefined;
  }

  /** The SHA-256 of the payload's compact JSON, in hexadecimal. */
  get digest(): string | undefined {
    return text(this.json.payload_sha256);
  }

  /** The fields that hooks have amended. */
  get changed(): readonly string[] {
    return Array.isArray(this.json.changed) ? (this.json.changed as string[]) : [];
  }

  /** Whether hooks are switched off, so that none has seen the event. */
  get isOff(): boolean {
    return this.json.off === true;
  }

  /** The hooks that work for the event in the background. */
  get acknowledgements(): readonly Acknowledgement[] {
    return Array.isArray(this.json.accepted) ? (this.json.accepted as Acknowledgement[]) : [];
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

// Observers: what was decided in a session and below it, heard as it happens over the stream of signals.
//
// Nothing waits for an observer, and its losses are reported with the next event that it receives.

import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Point, Verdict } from './decision.ts';
import type { Event, Reach } from './hooks.ts';
import { object, parsed, segment } from './wire.ts';
import type { Fields } from './wire.ts';

/** How long the wait is before the stream is opened again, in milliseconds. */
const AGAIN = 100;

/** An event and its outcome. */
export interface Heard<P extends Point> {
  /** The event, with the payload that was decided about. */
  event: Event<P>;
  verdict: Verdict;
  reason: string | undefined;
  /** How many signals were lost since the last one that was heard; events of other points are among them. */
  lost: number;
  /** The whole receipt, as the API of the daemon describes it. */
  json: Fields;
}

/** What an observer hears. */
export interface ObserveSettings {
  /** Only what this asks for, in the words of `lineside log`. */
  query?: string;
  reach?: Reach;
}

/** An observer that hears until it is ended. It keeps the program running. */
export interface Observation {
  end(): void;
}

/** Hears from here on: everything that is decided after this has returned, one event at a time. */
export async function observe<P extends Point>(
  stream: (path: string, after?: string) => Promise<Readable>,
  session: string,
  point: P,
  settings: ObserveSettings,
  run: (heard: Heard<P>) => unknown,
): Promise<Observation> {
  const { query, reach = 'subtree' } = settings;
  const asked = query === undefined ? '' : `&query=${segment(query)}`;
  const path = `/v1/signals?session=${segment(session)}&below=${reach !== 'self'}&point=${point}${asked}`;
  const ending = new AbortController();
  let body = await stream(path);
  let after: string | undefined;
  let lost = 0;
  const begun = blocks(body);
  // The stream begins with the id after which it begins: nothing is lost from then on.
  after = (await begun.next()).value?.id;
  ending.signal.addEventListener('abort', () => body.destroy());

  const hear = async (found: Fields) => {
    if (found.kind === 'lost') lost += Number(found.lost ?? 0);
    const envelope = object(found.envelope);
    if (found.kind !== 'decided' || !envelope || !object(found.payload)) return;
    if (reach === 'children' && envelope.session === session) return;
    const heard = { ...found, event: { ...envelope, payload: found.payload }, lost, json: found, reason: found.reason };
    lost = 0;
    try {
      await run(heard as unknown as Heard<P>);
    } catch (error) {
      // It has not heard of those, and hears what comes.
      lost += heard.lost + 1;
      process.emitWarning(error instanceof Error ? error : String(error), 'LinesideWarning');
    }
  };
  const keep = async (first: AsyncGenerator<Block>) => {
    let next: AsyncGenerator<Block> | undefined = first;
    while (!ending.signal.aborted) {
      try {
        for await (const { id, data } of next ?? blocks((body = await stream(path, after)))) {
          after = id ?? after;
          if (data) await hear(data);
        }
      } catch {
        // The daemon ends, or is not there.
      }
      next = undefined;
      await sleep(AGAIN, undefined, { signal: ending.signal }).catch(() => {});
    }
  };
  void keep(begun);
  return { end: () => ending.abort() };
}

interface Block {
  id: string | undefined;
  data: Fields | undefined;
}

/** The blocks of a stream of server-sent events. */
async function* blocks(body: Readable): AsyncGenerator<Block> {
  let text = '';
  body.setEncoding('utf8');
  for await (const part of body) {
    text += part as string;
    const whole = text.split('\n\n');
    text = whole.pop() ?? '';
    for (const block of whole) {
      const field = (name: string) => block.split('\n').find((line) => line.startsWith(name))?.slice(name.length).trim();
      yield { id: field('id:'), data: object(parsed(field('data:') ?? '')) };
    }
  }
}

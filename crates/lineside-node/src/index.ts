// The client of lineside's daemon: sessions, events, decisions, context, and hooks that live in this process.

export { Client, Delivery, Session } from './client.ts';
export type { Agent, Message, SessionSettings } from './client.ts';
export { findCommand, PrivateDaemon, StartDaemonError } from './daemon.ts';
export type { Starting } from './daemon.ts';
export { Decision, RefusedEvent } from './decision.ts';
export type { Acknowledgement, Gate, Point, Verdict } from './decision.ts';
export { defaultSocket } from './environment.ts';
export type { Inherited } from './environment.ts';
export type * from './hooks.ts';
export type { Heard, Observation, ObserveSettings } from './observe.ts';
export { AMENDABLE } from './points.ts';
export type * from './points.ts';
export type { Within } from './publish.ts';
export { RequestError } from './wire.ts';
export type { Asking, Fields, RequestFailure } from './wire.ts';

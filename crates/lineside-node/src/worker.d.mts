// The types of the kit for workers, which is one file of JavaScript.

/** One call of a hook. */
export interface Call {
  hook: string | undefined;
  event: Record<string, unknown>;
  /** For programs that the hook starts for this event. */
  environment: Record<string, string>;
  /** What is left of its time, in milliseconds. */
  remaining(): number;
  cancelled(): boolean;
  signal: AbortSignal;
}

/** A hook: its answer, in the words of the format that names it, or nothing for no objection. */
export type Hook = (event: Record<string, any>, call: Call) => object | null | void | Promise<object | null | void>;

/** Makes a function a hook: of every hook of this program, or of the one with this name. */
export function hook<F extends Hook>(fn: F): F;
export function hook<F extends Hook>(name: string, fn: F): F;

/** Answers calls until there are no more. `concurrency` is how many run at the same time; 64. */
export function serve(settings?: { concurrency?: number }): void;

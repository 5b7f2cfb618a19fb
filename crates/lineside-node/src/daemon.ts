// A daemon of this process alone, for programs that are used where none runs: `lineside serve --private`.
//
// It ends when its standard input ends, which is when this process does, however that dies.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The longest time that a daemon may take to be ready, in milliseconds. */
const READY = 30_000;

/** Why no daemon could be started. The message says what to do. */
export class StartDaemonError extends Error {
  override readonly name = 'StartDaemonError';
}

/** How a daemon is started. */
export interface Starting {
  /** The `lineside` command, a path; without it that of the platform package, else of the `PATH`. */
  command?: string;
  /** Further arguments of `lineside serve --private`, such as `--home`. */
  arguments?: string[];
}

/** A daemon that ends with this process. */
export class PrivateDaemon {
  /** The socket. */
  readonly socket: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  private constructor(socket: string, child: ChildProcess, ended: Promise<void>) {
    this.socket = socket;
    this.#child = child;
    this.#ended = ended;
  }

  /** Starts one, and waits until it is ready. */
  static async start(starting: Starting = {}): Promise<PrivateDaemon> {
    const command = starting.command ?? findCommand();
    const child = spawn(command, ['serve', '--private', ...(starting.arguments ?? [])], { stdio: ['pipe', 'pipe', 'pipe'] });
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const socket = await ready(command, child);
    // None of it keeps this process running.
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      (stream as unknown as { unref?: () => void }).unref?.();
      stream.on('error', () => {});
    }
    child.stdout.resume();
    child.stderr.resume();
    return new PrivateDaemon(socket, child, ended);
  }

  /** Ends it, and waits for its end. */
  async stop(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.end();
    await this.#ended;
  }
}

/** The socket that the daemon names when it is ready. */
function ready(command: string, child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let [said, log] = ['', ''];
    const fail = (what: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      const last = log.trim().split('\n').slice(-5).join('\n');
      reject(new StartDaemonError(`could not start a daemon with ${command}: ${what}${last && `; it said:\n${last}`}`));
    };
    const timer = setTimeout(() => fail(`it was not ready within ${READY / 1000} s`), READY);
    child.once('error', (error) => fail(`${error.message}; give the path of the \`lineside\` command as \`command\``));
    child.once('exit', (code, signal) => fail(`it ended with ${signal ?? `exit status ${code}`}`));
    child.stderr?.on('data', (text) => (log = (log + String(text)).slice(-4096)));
    const hear = (text: unknown) => {
      said += String(text);
      const socket = /^ready: (.+)$/m.exec(said)?.[1];
      if (socket === undefined || !said.includes('\n')) return;
      clearTimeout(timer);
      child.removeAllListeners('error').removeAllListeners('exit');
      child.on('error', () => {});
      resolve(socket);
    };
    child.stdout?.on('data', hear);
  });
}

/** The package with the command for this platform, and the command in it where it is installed. */
export function commandOfPackage(): { name: string; command: string | undefined } {
  const name = `@lineside/${process.platform}-${process.arch}`;
  try {
    return { name, command: createRequire(import.meta.url).resolve(`${name}/bin/lineside`) };
  } catch {
    // It is an optional dependency, which is left out where its platform is another one.
    return { name, command: undefined };
  }
}

/** The `lineside` command: of the package for this platform, else of the `PATH`, without what lies in the working directory. */
export function findCommand(): string {
  const { name, command } = commandOfPackage();
  if (command !== undefined) return command;
  const own = process.cwd() + path.sep;
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    const command = path.join(folder, 'lineside');
    if (path.isAbsolute(folder) && !command.startsWith(own) && isExecutable(command)) return command;
  }
  throw new StartDaemonError(
    `no \`lineside\` command was found: ${name} is not installed, and none is on the PATH; ` +
      `run \`npm install ${name}\`, or start a daemon with \`lineside serve\``,
  );
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

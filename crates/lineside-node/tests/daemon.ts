// A daemon of a test alone: a home, a state and a socket that go with it.

import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { Client } from 'lineside';

/** The `lineside` command that is tested. */
export const COMMAND = process.env.LINESIDE_TESTED ?? '';
if (!path.isAbsolute(COMMAND)) throw new Error('LINESIDE_TESTED has to be the path of the `lineside` command');

/** A daemon, which ends with its test. */
export class Daemon {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lineside-node-'));
  readonly socket = path.join(this.folder, 'run/lineside.sock');
  #child: ChildProcess | undefined;
  #isReplaced = false;

  /** Starts one that has these hooks of its user, as lineside's own file has them. */
  static async start(test: TestContext, hooks: unknown[] = []): Promise<Daemon> {
    const daemon = new Daemon();
    test.after(() => daemon.end());
    const config = path.join(daemon.folder, '.config/lineside');
    fs.mkdirSync(config, { recursive: true });
    fs.writeFileSync(path.join(config, 'hooks.yaml'), JSON.stringify({ hooks }));
    await daemon.start();
    return daemon;
  }

  get #daemon(): string[] {
    return ['--socket', this.socket, '--state', path.join(this.folder, 'state')];
  }

  /** Starts it, again after an end. */
  async start(): Promise<void> {
    const child = spawn(COMMAND, ['serve', '--home', this.folder, ...this.#daemon], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let log = '';
    child.stderr.on('data', (text) => (log += String(text)));
    for await (const line of createInterface(child.stdout)) if (line.startsWith('ready: ')) return;
    throw new Error(`the daemon did not start: ${log}`);
  }

  /** Puts another one in its place before this process can hear of it. */
  replace(): void {
    for (const order of [['stop', ...this.#daemon], ['hook', '--start', '--home', this.folder, ...this.#daemon]]) {
      const ended = spawnSync(COMMAND, order, { encoding: 'utf8' });
      if (ended.status !== 0) throw new Error(`\`lineside ${order.join(' ')}\` failed: ${ended.stderr}`);
    }
    this.#isReplaced = true;
  }

  /** Kills it. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const over = once(child, 'exit');
    child.kill('SIGKILL');
    await over;
  }

  /** Ends it and removes what it had. */
  async end(): Promise<void> {
    await this.kill();
    if (this.#isReplaced) spawnSync(COMMAND, ['stop', ...this.#daemon]);
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  /** A client, which is closed with its test. */
  client(test: TestContext, grant?: string): Client {
    const client = new Client(this.socket, { grant });
    test.after(() => client.close());
    return client;
  }
}

/** A promise that something happens, with what makes it happen. */
export function event<T = void>(): { happened: Promise<T>; happens: (value: T) => void } {
  let happens!: (value: T) => void;
  const happened = new Promise<T>((resolve) => (happens = resolve));
  return { happened, happens };
}

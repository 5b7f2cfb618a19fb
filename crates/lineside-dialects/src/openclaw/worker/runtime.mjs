// `api.runtime`, and what plugins keep for a run (OC-23, OC-24): what means something without OpenClaw is there; what
// does not is `undefined`, and each name of it is warned of once.

import { spawn } from 'node:child_process';
import { resolve, join } from 'node:path';
import { homedir } from 'node:os';

const HOST_VERSION = '2026.9.6';

// Events of agents, from the plugins of this worker to each other.
class AgentEvents {
  #listeners = new Set();

  listen(listener) {
    if (typeof listener !== 'function') return () => {};
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(event, log) {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        log(`a listener of agent events failed: ${error?.message ?? error}`);
      }
    }
  }
}

const events = new AgentEvents();

export function makeRuntime({ config, logger, home, warn }) {
  const runtime = {
    version: HOST_VERSION,
    config: { current: () => config, loadConfig: () => config },
    logging: { shouldLogVerbose: () => false, getChildLogger: () => logger },
    state: { resolveStateDir: (environment = process.env) => stateDir(environment, home) },
    events: {
      onAgentEvent: (listener) => events.listen(listener),
      // Nothing here writes transcripts.
      onSessionTranscriptUpdate: () => () => {},
    },
    // There is no gateway: what asks whether it is there is told so.
    gateway: { isAvailable: () => false },
    system: { runCommandWithTimeout },
  };
  return guarded(runtime, 'api.runtime', warn);
}

// What a name that is not there answers: `undefined`, and once a warning.
function guarded(members, path, warn) {
  const inner = new Map();
  return new Proxy(members, {
    get(target, name) {
      if (typeof name !== 'string') return target[name];
      if (Object.hasOwn(target, name)) {
        const value = target[name];
        if (path !== 'api.runtime' || typeof value !== 'object' || name === 'config') return value;
        if (!inner.has(name)) inner.set(name, guarded(value, `${path}.${name}`, warn));
        return inner.get(name);
      }
      if (name === 'then' || name === 'toJSON' || name in Object.prototype) return undefined;
      warn(`${path}.${name}`);
      return undefined;
    },
  });
}

function stateDir(environment, home) {
  const given = environment?.OPENCLAW_STATE_DIR?.trim();
  const own = environment?.OPENCLAW_HOME?.trim() || home || environment?.HOME || homedir();
  if (!given) return join(own, '.openclaw');
  return resolve(given === '~' || given.startsWith('~/') ? join(own, given.slice(1)) : given);
}

// Runs a command as OpenClaw does for its plugins: never rejects for how the command ended.
function runCommandWithTimeout(argv, given) {
  const options = typeof given === 'number' ? { timeoutMs: given } : (given ?? {});
  const [program, ...args] = argv;
  return new Promise((done, failed) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let [stdout, stderr, timedOut] = ['', '', false];
    const late = options.timeoutMs > 0 && setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
    }, options.timeoutMs);
    child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text; });
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text; });
    child.on('error', (error) => {
      clearTimeout(late);
      failed(error);
    });
    child.on('close', (code, signal) => {
      clearTimeout(late);
      const termination = timedOut ? 'timeout' : signal ? 'signal' : 'exit';
      const ended = timedOut ? (code ?? 124) : code;
      done({ pid: child.pid, stdout, stderr, code: ended, signal, killed: child.killed, termination, noOutputTimedOut: false });
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
  });
}

// What a plugin keeps for a run, and the events that it emits for it.
export function makeRuns(plugin, warn) {
  const kept = new Map();
  const space = (runId) => kept.get(runId);
  return {
    setRunContext({ runId, namespace, value, unset } = {}) {
      if (typeof runId !== 'string' || typeof namespace !== 'string') return false;
      if (unset || value === undefined) return space(runId)?.delete(namespace) ?? false;
      // So many runs are remembered.
      if (!kept.has(runId) && kept.size >= 256) kept.delete(kept.keys().next().value);
      if (!kept.has(runId)) kept.set(runId, new Map());
      space(runId).set(namespace, structuredClone(value));
      return true;
    },
    getRunContext: ({ runId, namespace } = {}) => structuredClone(space(runId)?.get(namespace)),
    clearRunContext({ runId, namespace } = {}) {
      if (namespace === undefined) kept.delete(runId);
      else space(runId)?.delete(namespace);
    },
    emitAgentEvent(event) {
      if (typeof event?.runId !== 'string' || typeof event.stream !== 'string') {
        return { emitted: false, reason: 'runId and stream are required' };
      }
      events.emit({ ...event, ts: Date.now(), pluginId: plugin.id }, warn);
      return { emitted: true, stream: event.stream };
    },
    registerAgentEventSubscription({ handle, streams } = {}) {
      if (typeof handle !== 'function') return;
      events.listen((event) => {
        if (!Array.isArray(streams) || streams.includes(event.stream)) handle(event);
      });
    },
  };
}

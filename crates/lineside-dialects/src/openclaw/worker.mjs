// The worker of the dialect `openclaw`: one Node process that holds the plugins of a set and answers calls.
//
// This file is the conversation with the runtime: hello, load, call, cancel, shutdown. The rooms beside it:
// wire (frames), seal (what plugins see of the process), modules (importing a plugin), api and registry (what a
// plugin registers), packs (hook packs), answers (what may be returned), catalogue (the hooks). It runs on Node 20 and newer.
// It keeps no state on disk and knows no event: what an answer does is the runtime's business.

import { openWire } from './worker/wire.mjs';
import { sealProcess } from './worker/seal.mjs';
import { importPlugin, findPlugin, serveSdk } from './worker/modules.mjs';
import { makeApi } from './worker/api.mjs';
import { Registry } from './worker/registry.mjs';
import { registerPack } from './worker/packs.mjs';
import { readAnswer } from './worker/answers.mjs';
import { messageOf } from './worker/text.mjs';

const PROTOCOL = 1; // OC-71
const VERSION_MISMATCH = 2; // OC-72

const wire = openWire();
const seal = sealProcess(wire);
const { log, within } = seal;

const registry = new Registry();
const handlers = new Map();
const calls = new Map();
const loads = new Map();
let settings = null;
let stopping = false;
let idle = null;

const took = (began) => Math.round((performance.now() - began) * 1000) / 1000;

function hello(frame) {
  if (typeof frame.token !== 'string') return log('error', 'the hello of the runtime has no token');
  wire.begin(frame.token, frame.maxFrameBytes);
  const typescript = Boolean(process.features.typescript);
  wire.send('hello', { protocol: PROTOCOL, node: process.versions.node, pid: process.pid, typescript });
  if (frame.protocol !== PROTOCOL) return seal.exit(VERSION_MISMATCH); // OC-72
  settings = {
    home: typeof frame.home === 'string' ? frame.home : '/',
    config: frame.config ?? {},
    cache: typeof frame.cache === 'string' ? frame.cache : null,
    download: frame.download !== false,
    installed: Array.isArray(frame.installed) ? frame.installed : [],
    maxFrameBytes: frame.maxFrameBytes ?? Infinity,
  };
  registry.reserve(frame.reserved ?? {});
  serveSdk(settings);
}

// ---- load: OC-18, OC-20, OC-21, OC-73, OC-74

class Refusal extends Error {
  constructor(phase, message) {
    super(message);
    this.phase = phase;
  }
}

async function load(frame) {
  const plugin = frame.plugin ?? {};
  const state = { cancelled: false };
  loads.set(frame.id, state);
  const began = performance.now();
  let answer;
  try {
    answer = await within({ plugin: plugin.id }, () => loadPlugin(plugin, state, frame.id));
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal('load', failure('load', error));
    answer = {
      plugin: { id: plugin.id },
      error: { phase: refusal.phase, message: refusal.message },
      registrations: [],
      diagnostics: [],
    };
  }
  loads.delete(frame.id);
  if (state.cancelled) return; // OC-78
  wire.send('loaded', { id: frame.id, ...answer, ms: took(began) });
}

const failure = (phase, error) => `plugin failed during ${phase}: ${messageOf(error).replace(/\s+/g, ' ')}`;

async function loadPlugin(plugin, state, id) {
  const warnings = [];
  const module = await importPlugin(plugin, {
    cache: settings.cache,
    download: settings.download,
    installed: settings.installed,
    wait: (ms) => wire.send('waiting', { id, ms }),
    warn: (message) => warnings.push({ severity: 'warning', code: 'loader', message }),
  });
  if (state.cancelled) return null; // OC-78: it registers nothing
  if (plugin.pack) return loadPack(plugin, module, warnings);
  const found = findPlugin(module);
  if (!found) throw new Refusal('validation', 'plugin export missing register/activate');
  const pluginId = identify(plugin, found);
  const record = {
    id: pluginId,
    name: found.name ?? plugin.name ?? pluginId,
    version: found.version ?? plugin.version,
    description: found.description ?? plugin.description,
    source: plugin.entry,
    root: plugin.root,
    config: plugin.config ?? {},
    allowPromptInjection: plugin.allowPromptInjection !== false,
    allowConversationAccess: plugin.allowConversationAccess !== false,
  };
  const desk = registry.open(record);
  const { api, close } = makeApi(record, desk, settings, log);
  try {
    within({ plugin: pluginId }, () => callRegister(found, api));
  } catch (error) {
    desk.withdraw(); // OC-21
    throw error instanceof Refusal ? error : new Refusal('register', failure('register', error));
  } finally {
    close(); // OC-20
  }
  const { registrations, diagnostics } = commit(desk, pluginId);
  const { name, version, description } = record;
  return {
    plugin: { id: pluginId, name, version, description },
    registrations,
    diagnostics: [...warnings, ...diagnostics],
  };
}

function loadPack(plugin, module, warnings) {
  const { id, name, description } = plugin;
  const desk = registry.open({ id, source: plugin.entry });
  try {
    registerPack(plugin.pack, module, desk, settings.config);
  } catch (error) {
    throw new Refusal('register', failure('register', error));
  }
  const { registrations, diagnostics } = commit(desk, id);
  return { plugin: { id, name, description }, registrations, diagnostics: [...warnings, ...diagnostics] };
}

const commit = (desk, pluginId) =>
  desk.commit((hook) => {
    const number = handlers.size + 1;
    handlers.set(number, { ...hook, plugin: pluginId, said: false });
    return number;
  });

// OC-9: a standalone plugin takes the exported id; any other must export the one it is loaded under, or none.
function identify(plugin, found) {
  const exported = found.id;
  if (exported !== undefined && exported !== plugin.id && !plugin.standalone) {
    const message = `plugin id mismatch (config uses "${plugin.id}", export uses "${exported}")`;
    throw new Refusal('validation', message);
  }
  const id = exported ?? plugin.id;
  const kept = registry.plugin(id);
  if (kept) {
    const message = `duplicate plugin id detected: ${id}; ${plugin.entry} is overridden by ${kept.source}`;
    throw new Refusal('validation', message);
  }
  return id;
}

function callRegister(found, api) {
  const returned = found.register.call(found.definition, api);
  if (isThenable(returned)) {
    returned.then(nothing, nothing);
    throw new Refusal('register', 'plugin failed during register: plugin register must be synchronous');
  }
}

// ---- call: OC-37, OC-38, OC-44, OC-75 to OC-78

const isThenable = (value) =>
  value !== null && (typeof value === 'object' || typeof value === 'function') && typeof value.then === 'function';
const nothing = () => {};

function call(frame) {
  const began = performance.now();
  const handler = handlers.get(frame.handler);
  if (!handler || stopping) {
    const message = stopping ? 'the worker is stopping' : 'the handler is gone';
    return wire.send('result', { id: frame.id, ok: false, error: { kind: 'closed', message }, ms: 0 });
  }
  // What the plugin logs meanwhile, for those whose answer is waited for.
  const lines = frame.class === 'void' ? undefined : [];
  const state = { over: false, gone: null, lines };
  calls.set(frame.id, state);
  wire.send('started', { id: frame.id });
  const { class: kind, event, ctx = {} } = frame;
  equip(handler.hook, ctx, state);
  const end = (read) => finish(frame.id, state, read, began);
  const { run } = handler;
  within({ plugin: handler.plugin, call: frame.id, lines }, () => {
    let returned;
    let promised;
    try {
      returned = run(event, ctx);
      promised = isThenable(returned);
    } catch (error) {
      return end(() => thrown(error));
    }
    if (!promised) return end(() => answer(handler, kind, returned));
    if (kind === 'sync') {
      swallow(returned);
      const what = 'handler returned a Promise; this hook is synchronous and the result was ignored';
      return end(() => ({ ok: false, error: { kind: 'output', message: `${handler.hook} ${what}` } })); // OC-44
    }
    Promise.resolve(returned).then(
      (value) => end(() => answer(handler, kind, value)),
      (error) => end(() => thrown(error)),
    );
  });
}

function swallow(promise) {
  try {
    promise.then(nothing, nothing);
  } catch {
    // A `then` that throws is no promise of ours to keep.
  }
}

const thrown = (error) => ({
  ok: false,
  error: { kind: seal.isExit(error) ? 'exit' : 'panic', message: messageOf(error) }, // OC-54, OC-62
});

function answer(handler, kind, returned) {
  if (kind === 'void') return { ok: true };
  const read = readAnswer(handler.hook, returned, settings.maxFrameBytes);
  if (read.approvalCallback && !handler.said) {
    handler.said = true;
    log('warn', 'requireApproval.onResolution is not called'); // OC-50
  }
  if (read.error) return { ok: false, error: { kind: 'output', message: read.error } };
  const { json, unknown } = read;
  return { ok: true, json: unknown?.length > 0 ? beside(json, '$unknown', unknown) : json };
}

function finish(id, state, read, began) {
  if (state.over) return; // OC-78: it was cancelled
  const result = read();
  state.over = true;
  calls.delete(id);
  const { json: answer, ...fields } = result;
  const json = result.ok && state.lines?.length > 0 ? beside(answer, '$log', state.lines) : answer;
  wire.send('result', { id, ...fields, ms: took(began) }, json === undefined ? undefined : `"value":${json}`);
  if (idle && calls.size === 0) idle();
}

// An answer, and something that is not part of it, unless that is too much for a frame.
function beside(json, name, value) {
  const more = `"${name}":${JSON.stringify(value)}`;
  if (Buffer.byteLength(json ?? '') + Buffer.byteLength(more) + 256 > settings.maxFrameBytes) return json;
  return json === undefined || json === '{}' ? `{${more}}` : `{${more},${json.slice(1)}`;
}

// OC-37, OC-38: what JSON cannot carry.
function equip(hook, ctx, state) {
  switch (hook) {
    case 'before_tool_call': {
      const controller = new AbortController();
      state.gone = () => controller.abort();
      ctx.abortSignal = controller.signal;
      ctx.getSessionExtension = () => undefined;
      break;
    }
    case 'after_tool_call':
      ctx.getSessionExtension = () => undefined;
      break;
    case 'before_prompt_build':
      ctx.hookInvocation = {
        assertActive() {
          if (state.over) throw new Error('prompt hook invocation is no longer active');
        },
      };
      break;
    case 'gateway_start':
    case 'gateway_stop':
      ctx.config ??= structuredClone(settings.config);
      ctx.getCron = () => undefined;
      break;
  }
}

function cancel(frame) {
  const state = calls.get(frame.id);
  if (state) {
    state.over = true;
    calls.delete(frame.id);
  }
  const load = loads.get(frame.id);
  if (load) load.cancelled = true;
  wire.send('cancelled', { id: frame.id });
  // After the answer: listeners of the signal are plugin code.
  if (state?.gone && frame.reason === 'gone') state.gone();
  if (idle && calls.size === 0) idle();
}

// ---- the end: OC-69, OC-80

function shutdown(frame) {
  if (stopping) return;
  stopping = true;
  const end = () => {
    seal.farewell();
    wire.send('bye', {});
    seal.exit(0);
  };
  if (calls.size === 0) return end();
  idle = end;
  setTimeout(end, frame.graceMs ?? 0);
}

const answers = { hello, load, call, cancel, shutdown };

wire.listen({
  frame(frame) {
    const known = Object.hasOwn(answers, frame.type) ? answers[frame.type] : null;
    if (!known) return; // OC-70: unknown types are skipped
    if (settings === null && frame.type !== 'hello') return log('warn', `${frame.type} before hello`);
    if (settings !== null && frame.type === 'hello') return;
    known(frame);
  },
  stray(what) {
    log('warn', `a line of the runtime was skipped: ${what}`);
  },
  end() {
    seal.exit(0); // OC-69: the runtime is gone
  },
});

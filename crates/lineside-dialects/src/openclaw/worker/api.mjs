// The object that a plugin's `register` is given (OC-20, OC-23 to OC-31).

import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { format } from 'node:util';

import { makeRuns, makeRuntime } from './runtime.mjs';
import {
  APART, CONVERSATION_ACCESS, PACK_FAMILIES, PROMPT_INJECTION, RECORDED, WITH_MATCHER, isKnown, isPackApart,
  isPackEvent, ownPoint,
} from './catalogue.mjs';
import { packHandler } from './packs.mjs';

export function makeApi(plugin, desk, { home, config }, log) {
  let open = true;
  // A plugin may write into its copy of the configuration.
  const ownConfig = structuredClone(config);
  const store = { plugin: plugin.id };
  const say = (level) => (...words) => log(level, format(...words), { ...store, kept: true });
  const logger = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };

  const whileOpen = (register) => (...given) => {
    if (!open) {
      log('warn', 'registration after register ignored', store);
      return undefined;
    }
    return register(...given);
  };
  const kinds = new Map();
  const recorder = (member) => {
    if (!kinds.has(member)) {
      const kind = kindOf(member);
      kinds.set(member, whileOpen((first) => desk.other(kind, first)));
    }
    return kinds.get(member);
  };

  // Once for each name, while it registers as a finding and afterwards in the log.
  const told = new Set();
  const warn = (name) => {
    if (told.has(name)) return;
    told.add(name);
    const what = `${name} is not provided by lineside and is undefined`;
    if (open) desk.warning('not-provided', what, { name });
    else log('warn', what, store);
  };
  const runs = makeRuns(plugin, (what) => log('warn', what, store));

  const members = {
    id: plugin.id,
    name: plugin.name,
    version: plugin.version,
    description: plugin.description,
    source: plugin.source,
    runtimeSource: plugin.source,
    rootDir: plugin.root,
    registrationMode: 'full',
    config: ownConfig,
    pluginConfig: plugin.config,
    logger,
    runtime: makeRuntime({ config: ownConfig, logger, home, warn }),
    resolvePath: (path) => resolvePath(String(path), home, plugin.root),
    on: whileOpen((hook, handler, options) => on(plugin, desk, hook, handler, options ?? {})),
    registerTool: whileOpen((tool, options) => desk.tool(tool, options)),
    registerGatewayMethod: whileOpen((name) => desk.gatewayMethod(name)),
    registerHttpRoute: whileOpen((route) => desk.httpRoute(route)),
    registerCommand: whileOpen((command) => desk.command(command)),
    registerHook: whileOpen((events, handler, options) => registerHook(plugin, desk, events, handler, options, config)),
    onConversationBindingResolved: () => undefined,
    // Unlike registrations these may be called at any time.
    setRunContext: runs.setRunContext,
    getRunContext: runs.getRunContext,
    clearRunContext: runs.clearRunContext,
    emitAgentEvent: runs.emitAgentEvent,
    enqueueNextTurnInjection: async (injection) => ({ enqueued: false, id: '', sessionKey: injection?.sessionKey }),
    sendSessionAttachment: async () => ({ ok: false, error: 'not wired' }),
    scheduleSessionTurn: async () => undefined,
    unscheduleSessionTurnsByTag: async () => ({ removed: 0, failed: 0 }),
    session: unwired(recorder),
    agent: { events: { registerAgentEventSubscription: subscribe(recorder, runs), emitAgentEvent: runs.emitAgentEvent } },
    lifecycle: lifecycle(recorder),
    runContext: runs,
  };
  const isRecorder = (name) => typeof name === 'string' && /^register./.test(name);
  const api = new Proxy(members, {
    get: (target, name) => (name in target ? target[name] : isRecorder(name) ? recorder(name) : undefined),
    has: (target, name) => name in target || isRecorder(name),
  });
  return {
    api,
    close() {
      open = false;
    },
  };
}

// Recorded like every registration, and heard.
function subscribe(recorder, runs) {
  return (subscription) => {
    runs.registerAgentEventSubscription(subscription);
    return recorder('registerAgentEventSubscription')(subscription);
  };
}

// A plugin lives as long as its worker.
function lifecycle(recorder) {
  const members = { signal: new AbortController().signal, onDispose: () => () => {} };
  const others = unwired(recorder);
  return new Proxy(members, { get: (target, name) => (Object.hasOwn(target, name) ? target[name] : others[name]) });
}

// OC-24: `registerCliBackend` is of the kind `cli backend`.
function kindOf(member) {
  const words = member.slice('register'.length).match(/[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[^A-Za-z0-9]+/g);
  return (words ?? [member]).join(' ').toLowerCase();
}

// OC-24: members at any depth that answer as upstream's do when nothing is wired to them.
function unwired(recorder) {
  const answer = (name) => {
    if (name.startsWith('register')) return recorder(name);
    return new Proxy(() => (name.startsWith('emit') ? { emitted: false } : name.startsWith('set') ? false : undefined), {
      get: (target, inner) => (isMember(inner) ? answer(inner) : undefined),
    });
  };
  return new Proxy({}, { get: (target, name) => (isMember(name) ? answer(name) : undefined) });
}

const isMember = (name) => typeof name === 'string' && name !== 'then' && name !== 'toJSON' && !(name in Object.prototype);

function resolvePath(path, home, root) {
  if (isAbsolute(path)) return path;
  if (path === '~') return home || homedir();
  return path.startsWith('~/') ? join(home || homedir(), path.slice(2)) : resolve(root, path);
}

// OC-25 to OC-28, OC-30
function on(plugin, desk, hook, handler, options) {
  const fields = { hook: typeof hook === 'string' ? hook : String(hook) };
  const name = fields.hook;
  if (typeof hook !== 'string' || !isKnown(hook)) {
    // Which one may have been meant is said by who knows the names of other programs.
    return desk.warning('unknown-hook', `unknown typed hook "${name}" ignored`, fields);
  }
  if (RECORDED.has(hook)) {
    desk.warning('never-fired', neverFired(hook, RECORDED.get(hook)), { ...fields, nearest: RECORDED.get(hook) });
    return desk.record({ kind: 'hook', hook, fires: false });
  }
  if (typeof handler !== 'function') {
    return desk.error('no-handler', `typed hook "${hook}" has no handler function`, fields);
  }
  for (const [blocked, option] of [
    [PROMPT_INJECTION.has(hook) && !plugin.allowPromptInjection, 'allowPromptInjection'],
    [CONVERSATION_ACCESS.has(hook) && !plugin.allowConversationAccess, 'allowConversationAccess'],
  ]) {
    if (blocked) {
      const what = `typed hook "${hook}" blocked by plugins.entries.${plugin.id}.hooks.${option}=false`;
      return desk.warning('not-allowed', what, fields);
    }
  }
  if (APART.has(hook)) {
    const near = APART.get(hook);
    const what = `${neverFired(hook, near)}; a program that has it publishes ${ownPoint(hook)}`;
    desk.warning('never-fired', what, { ...fields, nearest: near ?? undefined });
  }
  if (hook === 'before_prompt_build' && options.requiresToolAuthority === true) {
    const what = 'hook "before_prompt_build" is recorded but never fired: it requires tool authority';
    desk.warning('never-fired', what, fields);
    return desk.record({ kind: 'hook', hook, fires: false });
  }
  desk.hook(
    {
      hook,
      priority: priority(desk, hook, options.priority),
      timeoutMs: timeout(options.timeoutMs),
      matcher: matcher(desk, hook, options.matcher),
      registrationId: typeof options.registrationId === 'string' ? options.registrationId : undefined,
      eligibleTriggers: words(options.eligibleTriggers),
      eligibleDispatchKinds: words(options.eligibleDispatchKinds),
    },
    handler,
  );
}

const neverFired = (hook, near) => `hook "${hook}" is recorded but never fired${near ? `; nearest: ${near}` : ''}`;

function priority(desk, hook, given) {
  if (given === undefined) return 0;
  if (typeof given === 'number' && Number.isFinite(given)) return given;
  desk.warning('invalid-priority', `typed hook "${hook}" has an invalid priority; 0 is used`, { hook });
  return 0;
}

function timeout(given) {
  const usable = typeof given === 'number' && Number.isFinite(given) && given > 0;
  return usable ? Math.max(1, Math.floor(given)) : undefined;
}

function matcher(desk, hook, given) {
  if (given === undefined) return undefined;
  if (!WITH_MATCHER.has(hook)) {
    desk.warning('matcher-ignored', `typed hook "${hook}" ignores tool matcher`, { hook });
    return undefined;
  }
  if (!Array.isArray(given)) throw new TypeError('tool hook matcher must be an array of tool names');
  if (given.length === 0) throw new TypeError('tool hook matcher must contain at least one tool name');
  const names = Array.from(given, (entry) => (typeof entry === 'string' ? entry.trim().toLowerCase() : ''));
  if (names.includes('')) throw new TypeError('tool hook matcher entries must be non-empty strings');
  if (names.includes('*')) throw new TypeError('tool hook matcher wildcard entries are not supported');
  return [...new Set(names)];
}

function words(given) {
  return Array.isArray(given) ? given.filter((word) => typeof word === 'string') : undefined;
}

// OC-31: the events of hook packs.
function registerHook(plugin, desk, events, handler, options, config) {
  const given = options?.name ?? options?.entry?.hook?.name;
  const name = typeof given === 'string' ? given.trim() : '';
  if (name === '') throw new Error('hook registration missing name');
  const list = (Array.isArray(events) ? events : [events]).filter((event) => typeof event === 'string');
  if (!desk.internalHook(name, list)) return;
  for (const event of list.filter(isKnown)) {
    const what =
      `hook event "${event}" is dispatched by the typed hook runner only; api.registerHook registrations ` +
      `for it are not invoked. Use api.on("${event}", ...) instead.`;
    desk.warning('typed-event', what, { name, hook: event });
  }
  const rest = list.filter((event) => !isKnown(event));
  const called = typeof handler === 'function' ? rest.filter(isPackEvent) : [];
  for (const event of called) {
    desk.hook({ hook: event, priority: 0, own: isPackApart(event) || undefined }, packHandler(handler, config, plugin.config));
  }
  if (called.length < rest.length || list.length === 0) {
    return desk.warning('never-fired', `internal hook "${name}" is recorded but never fired`, { name });
  }
  const apart = called.filter(isPackApart);
  if (apart.length > 0 && apart.length === called.length) {
    const points = apart.map((event) => (PACK_FAMILIES.has(event) ? `x.openclaw.on_${event}_…` : ownPoint(event)));
    const what = `internal hook "${name}" is recorded but never fired; a program that has it publishes ${points.join(', ')}`;
    desk.warning('never-fired', what, { name });
  }
}

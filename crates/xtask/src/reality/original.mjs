// Plays events through OpenClaw itself: its loader, its registry and its hook runner, configured as its gateway does.
//
// node original.mjs PACKAGE EVENTS.jsonl
// PACKAGE is an installed `openclaw`; `~/.openclaw/openclaw.json` says which plugins there are. Each line of EVENTS has
// `openclaw: { hook, event, ctx }`. Prints one JSON object: what was loaded, and what came of each event.

import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [root, recorded] = process.argv.slice(2);
const dist = path.join(root, 'dist');

// A bundled file that exports something under its own name, or under a shorter one.
async function bundled(begins, name) {
  for (const file of fs.readdirSync(dist).filter((file) => file.startsWith(begins) && file.endsWith('.mjs'))) {
    const text = fs.readFileSync(path.join(dist, file), 'utf8');
    const exported = new RegExp(`export \\{[^}]*?\\b${name}(?: as (\\w+))?[,\\s}]`).exec(text);
    if (!exported) continue;
    const found = (await import(pathToFileURL(path.join(dist, file)).href))[exported[1] ?? name];
    if (typeof found === 'function') return found;
  }
  throw new Error(`${name} is not in ${begins}*.mjs`);
}

const loadOpenClawPlugins = await bundled('loader-runtime-load-', 'loadOpenClawPlugins');
const createHookRunner = await bundled('hooks-', 'createHookRunner');

const said = [];
const say = (level) => (...words) => said.push(`${level}: ${words.map(String).join(' ')}`);
const logger = { debug() {}, info() {}, warn: say('warn'), error: say('error') };
const config = JSON.parse(fs.readFileSync(path.join(process.env.HOME, '.openclaw/openclaw.json'), 'utf8'));
const registry = loadOpenClawPlugins({
  config,
  activationSourceConfig: config,
  workspaceDir: process.cwd(),
  env: process.env,
  logger,
  cache: false,
  activate: true,
});

// The events of `api.registerHook` that happen at the same moments as hooks of `api.on`.
const INTERNAL = {
  gateway_start: 'gateway:startup', gateway_stop: 'gateway:shutdown', message_received: 'message:received',
  message_sent: 'message:sent', before_compaction: 'session:compact:before', after_compaction: 'session:compact:after',
  // The context of a session is put together when it begins.
  session_start: 'agent:bootstrap',
};

// Calls what plugins have registered for such an event: first for its family, then for itself.
async function internal(hook, sessionKey, context) {
  const key = INTERNAL[hook];
  if (!key) return;
  const [type, ...rest] = key.split(':');
  const registered = registry.legacyInternalHooks ?? [];
  const event = { type, action: rest.join(':'), sessionKey, timestamp: new Date(), context, messages: [] };
  for (const name of [type, key]) {
    for (const { pluginId, handler } of registered.filter((one) => one.event === name)) {
      started.push(`${pluginId}:${name}`);
      try {
        await handler(event);
      } catch (error) {
        said.push(`error: [hooks] ${name} handler from ${pluginId} failed: ${error.message}`);
      }
    }
  }
}

let started = [];
for (const hook of registry.typedHooks) {
  const { handler } = hook;
  hook.handler = function (...given) {
    started.push(`${hook.pluginId}:${hook.hookName}`);
    return handler.apply(this, given);
  };
}

const runner = createHookRunner(registry, {
  logger,
  catchErrors: true,
  failurePolicyByHook: {
    before_agent_run: 'fail-closed', before_install: 'fail-closed', before_tool_call: 'fail-closed',
  },
});

const outcomes = [];
for (const line of fs.readFileSync(recorded, 'utf8').split('\n').filter(Boolean)) {
  const { openclaw } = JSON.parse(line);
  const { hook, event, ctx } = openclaw;
  const run = runner[`run${hook.split('_').map((word) => word[0].toUpperCase() + word.slice(1)).join('')}`];
  started = [];
  const before = said.length;
  const outcome = { hook };
  try {
    const given = [structuredClone(event), { ...structuredClone(ctx), abortSignal: new AbortController().signal }];
    // Nobody waits for a handler that is only told, however long it takes.
    outcome.result = (await Promise.race([run(...given), new Promise((done) => setTimeout(done, 20_000))])) ?? null;
    await internal(hook, ctx.sessionKey ?? '', { ...structuredClone(event), bootstrapFiles: [], workspaceDir: process.cwd() });
  } catch (error) {
    outcome.error = error.message;
  }
  outcome.started = started;
  outcome.failures = said.slice(before).filter((text) => /handler from .* (failed|timed out)|returned a Promise/.test(text));
  outcomes.push(outcome);
}

const answer = {
  plugins: registry.plugins.filter(({ origin }) => origin !== 'bundled').map(({ id, status, error }) => ({ id, status, error })),
  hooks: registry.typedHooks.map(({ pluginId, hookName, priority }) => ({ plugin: pluginId, hook: hookName, priority: priority ?? 0 })),
  diagnostics: registry.diagnostics.map(({ level, pluginId, message }) => ({ level, plugin: pluginId, message })),
  outcomes,
};
fs.writeSync(3, JSON.stringify(answer));
process.exit(0);

// Hook packs: a module whose function is called with an event of OpenClaw, which it may add to.

import { isPackEvent } from './catalogue.mjs';

// Events whose context has the configuration.
const WITH_CONFIG = new Set([
  'command:new', 'command:reset', 'session:auto-reset', 'session:patch', 'agent:bootstrap', 'gateway:startup',
  'message:transcribed', 'message:preprocessed',
]);

// Calls the function as OpenClaw does, and gives what it left in its event. That of a plugin is given its configuration.
export function packHandler(handler, config, pluginConfig) {
  return async (given) => {
    const context = { ...given.context };
    const key = `${given.type}:${given.action}`;
    if (WITH_CONFIG.has(key)) context.cfg ??= structuredClone(config);
    if (key === 'gateway:startup') context.deps ??= {};
    if (pluginConfig !== undefined) context.pluginConfig = pluginConfig;
    const event = { ...given, timestamp: new Date(given.timestamp), context, messages: [] };
    await handler(event);
    const left = {};
    if (Array.isArray(event.messages)) {
      left.messages = event.messages.filter((text) => typeof text === 'string' && text.trim() !== '');
    }
    const files = event.context?.bootstrapFiles;
    if (key === 'agent:bootstrap' && Array.isArray(files)) left.bootstrapFiles = files;
    return left;
  };
}

// Registers the function of a pack's module for the events of its HOOK.md.
export function registerPack({ events, export: name = 'default' }, module, desk, config) {
  const handler = module[name];
  if (typeof handler !== 'function') throw new Error(`handler '${name}' is not a function`);
  for (const event of events) {
    if (isPackEvent(event)) {
      desk.hook({ hook: event, priority: 0 }, packHandler(handler, config));
      continue;
    }
    desk.warning('unknown-event', `event "${event}" is not one of OpenClaw and never happens`, { hook: event });
    desk.record({ kind: 'hook', hook: event, fires: false });
  }
}

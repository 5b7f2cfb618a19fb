// What plugins registered, and which of two registrations that conflict stays (OC-32 to OC-34).

import { CORE_COMMANDS, CORE_GATEWAY_METHODS } from './catalogue.mjs';

export class Registry {
  #plugins = new Map();
  // kind -> key -> owner
  #taken = new Map();
  #routes = [];
  #coreMethods = new Set(CORE_GATEWAY_METHODS);
  #coreCommands = new Set(CORE_COMMANDS);

  // Names added by the configuration; a gateway method that ends in `.` is a prefix.
  reserve({ commands = [], gatewayMethods = [] }) {
    for (const name of commands) this.#coreCommands.add(String(name).toLowerCase());
    for (const name of gatewayMethods) this.#coreMethods.add(String(name));
  }

  plugin(id) {
    return this.#plugins.get(id);
  }

  owner(kind, key) {
    return this.#taken.get(kind)?.get(key);
  }

  take(kind, key, plugin) {
    if (!this.#taken.has(kind)) this.#taken.set(kind, new Map());
    this.#taken.get(kind).set(key, plugin);
  }

  isCoreCommand(name) {
    return this.#coreCommands.has(name);
  }

  isCoreMethod(name) {
    if (this.#coreMethods.has(name)) return true;
    return [...this.#coreMethods].some((core) => core.endsWith('.') && name.startsWith(core));
  }

  get routes() {
    return this.#routes;
  }

  // A desk at which one plugin registers.
  open(plugin) {
    return new Desk(this, plugin);
  }

  keep(plugin) {
    this.#plugins.set(plugin.id, plugin);
  }

  forget(plugin) {
    for (const owners of this.#taken.values()) {
      for (const [key, owner] of owners) if (owner === plugin) owners.delete(key);
    }
    this.#routes = this.#routes.filter((route) => route.plugin !== plugin);
  }
}

const said = (value) => (typeof value === 'string' ? value.trim() : '');

class Desk {
  #registry;
  #plugin;
  #entries = [];
  #diagnostics = [];

  constructor(registry, plugin) {
    this.#registry = registry;
    this.#plugin = plugin;
  }

  error(code, message, fields) {
    this.#diagnostics.push({ severity: 'error', code, message, ...fields });
  }

  warning(code, message, fields) {
    this.#diagnostics.push({ severity: 'warning', code, message, ...fields });
  }

  // A handler that will be called as `run`.
  hook(entry, run) {
    this.#entries.push({ run, entry: { kind: 'hook', ...entry } });
  }

  record(entry) {
    this.#entries.push({ entry });
  }

  // Everything that was registered, with numbers for what can be called; nothing of it changes any more.
  commit(number) {
    this.#registry.keep(this.#plugin);
    const registrations = this.#entries.map(({ entry, run }) => {
      if (!run) return entry;
      const { kind, ...rest } = entry;
      return { kind, handler: number({ hook: entry.hook, run }), ...rest };
    });
    return { registrations, diagnostics: this.#diagnostics };
  }

  withdraw() {
    this.#registry.forget(this.#plugin);
  }

  gatewayMethod(given) {
    const name = said(given);
    if (name === '') return;
    if (this.#registry.isCoreMethod(name) || this.#registry.owner('gatewayMethod', name)) {
      return this.error('gateway-method-taken', `gateway method already registered: ${name}`, { name });
    }
    this.#registry.take('gatewayMethod', name, this.#plugin);
    this.record({ kind: 'gatewayMethod', name });
  }

  command(given) {
    const command = given ?? {};
    const fail = (code, why) => this.error(code, `command registration failed: ${why}`, { name: command.name });
    if (typeof command.handler !== 'function') {
      return fail('command-invalid', 'Command handler must be a function');
    }
    if (said(command.description) === '') {
      return fail('command-invalid', 'Command description cannot be empty');
    }
    const name = said(command.name).toLowerCase();
    if (!/^[a-z][a-z0-9_-]*$/.test(name)) {
      const what = 'Command name must start with a letter and contain only letters, numbers, hyphens, and underscores';
      return fail('command-invalid', what);
    }
    const names = [...new Set([name, ...aliases(command)])];
    for (const taken of names) {
      if (this.#registry.isCoreCommand(taken)) {
        return fail('command-reserved', `Command name "${taken}" is reserved by a built-in command`);
      }
      const owner = this.#registry.owner('command', taken);
      if (owner) {
        return fail('command-taken', `Command "${taken}" already registered by plugin "${owner.id}"`);
      }
    }
    for (const free of names) this.#registry.take('command', free, this.#plugin);
    this.record({ kind: 'command', name, ...(names.length > 1 && { aliases: names.slice(1) }) });
  }

  tool(tool, options) {
    const own = typeof tool === 'function' ? [] : [tool?.name];
    const given = Array.isArray(options?.names) ? options.names : [options?.name];
    const names = new Set([...own, ...given].map(said).filter((name) => name !== ''));
    for (const name of names) {
      if (this.#registry.owner('tool', name)) {
        this.error('tool-taken', `plugin tool name conflict (${this.#plugin.id}): ${name}`, { name });
        continue;
      }
      this.#registry.take('tool', name, this.#plugin);
      this.record({ kind: 'tool', name });
    }
  }

  // OC-31: whether the name was free.
  internalHook(name, events) {
    const owner = this.#registry.owner('internalHook', name);
    if (owner) {
      this.error('hook-taken', `hook already registered: ${name} (${owner.id})`, { name });
      return false;
    }
    this.#registry.take('internalHook', name, this.#plugin);
    this.record({ kind: 'internalHook', name, events });
    return true;
  }

  other(kind, first) {
    const id = idOf(first) ?? idOf(first?.plugin);
    if (id !== undefined) {
      const owner = this.#registry.owner(`other ${kind}`, id);
      if (owner) {
        return this.error('id-taken', `${kind} already registered: ${id} (${owner.id})`, { kind, id });
      }
      this.#registry.take(`other ${kind}`, id, this.#plugin);
    }
    this.record({ kind, id });
  }

  httpRoute(given) {
    const route = given ?? {};
    const written = said(route.path);
    if (written === '') {
      return this.warning('http-route-without-path', 'http route registration missing path');
    }
    const path = written.startsWith('/') ? written : `/${written}`;
    const match = route.match === 'prefix' ? 'prefix' : 'exact';
    const auth = ['gateway', 'plugin'].includes(route.auth) ? route.auth : undefined;
    const mine = { path, match, auth, key: routeKey(path), plugin: this.#plugin };
    if (!auth) {
      const what = `http route registration missing or invalid auth: ${path}`;
      this.warning('http-route-without-auth', what, { path });
    }
    const { routes } = this.#registry;
    const at = routes.findIndex((other) => other.key === mine.key && other.match === match);
    const same = routes[at];
    const replaces = route.replaceExisting === true;
    if (same && !(replaces && same.plugin === this.#plugin)) {
      const owner = `${same.plugin.id} (${same.plugin.source})`;
      const what = replaces
        ? `http route replacement rejected: ${path} (${match}) owned by ${owner}`
        : `http route already registered: ${path} (${match}) by ${owner}`;
      return this.error('http-route-taken', what, { path });
    }
    const other = routes.find(
      (one) => one !== same && one.auth && auth && one.auth !== auth && overlap(one, mine),
    );
    if (other) {
      const owner = `${other.plugin.id} (${other.plugin.source})`;
      const what =
        `http route overlap rejected: ${path} (${match}, ${auth}) overlaps ` +
        `${other.path} (${other.match}, ${other.auth}) owned by ${owner}`;
      return this.error('http-route-overlap', what, { path });
    }
    const entry = { kind: 'httpRoute', path, match, auth };
    if (same) {
      const recorded = this.#entries.find((one) => one.entry === same.entry);
      if (recorded) recorded.entry = entry;
      routes[at] = { ...mine, entry };
    } else {
      this.record(entry);
      routes.push({ ...mine, entry });
    }
  }
}

function idOf(value) {
  if (typeof value !== 'object' || value === null) return undefined;
  const id = said(value.id) || said(value.name);
  return id === '' ? undefined : id;
}

function aliases(command) {
  const native = command.nativeNames;
  const lists = [Array.isArray(native) ? native : Object.values(Object(native ?? {})), command.aliases ?? []];
  return lists.flat().map((name) => said(name).toLowerCase()).filter((name) => name !== '');
}

function routeKey(path) {
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // What cannot be decoded is compared as it is.
  }
  return decoded.replace(/\/+$/, '') || '/';
}

function overlap(one, other) {
  const covers = (a, b) =>
    a.key === b.key || (a.match === 'prefix' && (a.key === '/' || b.key.startsWith(`${a.key}/`)));
  return covers(one, other) || covers(other, one);
}

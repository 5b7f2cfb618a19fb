// Importing the entry of a plugin and finding the plugin in it (OC-8, OC-18, OC-19).

import Module from 'node:module';
import { pathToFileURL } from 'node:url';

import { AS_MODULE, initialize, resolveSdk } from './resolver.mjs';
import { importTypeScript, isForALoader } from './typescript.mjs';

// Serves the SDK to `import` and to `require`.
export function serveSdk({ installed }) {
  initialize({ installed });
  if (typeof Module.registerHooks === 'function') {
    Module.registerHooks({
      resolve(name, context, next) {
        const file = resolveSdk(name, context.parentURL, 'import');
        return file ? { url: pathToFileURL(file).href, shortCircuit: true } : next(name, context);
      },
    });
  } else if (typeof Module.register === 'function') {
    Module.register('./resolver.mjs', { parentURL: import.meta.url, data: { installed } });
  }
  const resolveFilename = Module._resolveFilename;
  Module._resolveFilename = function (name, parent, ...rest) {
    const by = parent?.filename ? pathToFileURL(parent.filename).href : undefined;
    return resolveSdk(name, by, 'require') ?? resolveFilename.call(this, name, parent, ...rest);
  };
}

export async function importPlugin({ loader, entry, root, standalone }, host) {
  const plugin = { entry, root, standalone };
  if (loader === 'typescript') return importTypeScript(plugin, host);
  try {
    return await import(pathToFileURL(entry).href);
  } catch (error) {
    // A newer Node sees by itself that a script is a module.
    if (isModule(error, entry)) return import(pathToFileURL(entry).href + AS_MODULE);
    // What it imports may be TypeScript.
    if (!isForALoader(error)) throw error;
    return importTypeScript(plugin, host);
  }
}

const isModule = (error, entry) =>
  error instanceof SyntaxError && entry.endsWith('.js') &&
  /^(Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside)/.test(error.message);

// OC-18: the first that fits, after unwrapping `default`; null when nothing does.
export function findPlugin(module) {
  const seen = new Set();
  const objects = [];
  let value = module;
  for (;;) {
    value = unwrap(value, seen);
    if (typeof value === 'function') return found(value, undefined, objects);
    if (typeof value !== 'object' || value === null) return null;
    objects.unshift(value);
    if (typeof value.register === 'function') return found(value.register, value, objects);
    if (typeof value.activate === 'function') return found(value.activate, value, objects);
    if (value.module === undefined || value.module === null || seen.has(value.module)) return null;
    value = value.module;
  }
}

function unwrap(value, seen) {
  while (typeof value === 'object' && value !== null && !seen.has(value)) {
    seen.add(value);
    if (value.default === undefined || value.default === null) break;
    value = value.default;
  }
  return value;
}

// The innermost object that says something is believed.
function found(register, definition, objects) {
  const text = (field) => {
    const values = objects.map((object) => object[field]);
    return values.find((value) => typeof value === 'string' && value !== '');
  };
  return {
    register,
    definition,
    id: text('id'),
    name: text('name'),
    version: text('version'),
    description: text('description'),
  };
}

// Importing the entry of a plugin and finding the plugin in it (OC-8, OC-18, OC-19).

import Module from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { importTypeScript, isForALoader } from './typescript.mjs';

const SDK_FILE = fileURLToPath(new URL('./sdk.cjs', import.meta.url));
const SDK_URL = pathToFileURL(SDK_FILE).href;
const SDK_NAMES = ['openclaw/plugin-sdk', 'openclaw/plugin-sdk/core', 'openclaw/plugin-sdk/plugin-entry'];

// Serves the three names to `import` and to `require`, whatever is installed.
export function serveSdk() {
  const served = { url: SDK_URL, format: 'commonjs', shortCircuit: true };
  if (typeof Module.registerHooks === 'function') {
    Module.registerHooks({
      resolve: (name, context, next) => (SDK_NAMES.includes(name) ? served : next(name, context)),
    });
  } else if (typeof Module.register === 'function') {
    const source = `const names = ${JSON.stringify(SDK_NAMES)}; const served = ${JSON.stringify(served)};
export const resolve = (name, context, next) => names.includes(name) ? served : next(name, context);`;
    Module.register(`data:text/javascript,${encodeURIComponent(source)}`);
  }
  const resolveFilename = Module._resolveFilename;
  Module._resolveFilename = function (name, ...rest) {
    return SDK_NAMES.includes(name) ? SDK_FILE : resolveFilename.call(this, name, ...rest);
  };
}

export async function importPlugin({ loader, entry, root, standalone }, host) {
  const names = { alias: Object.fromEntries(SDK_NAMES.map((name) => [name, SDK_FILE])) };
  const plugin = { entry, root, standalone };
  if (loader === 'typescript') return importTypeScript(plugin, { ...host, names });
  try {
    return await import(pathToFileURL(entry).href);
  } catch (error) {
    // What it imports may be TypeScript.
    if (!isForALoader(error)) throw error;
    return importTypeScript(plugin, { ...host, names });
  }
}

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

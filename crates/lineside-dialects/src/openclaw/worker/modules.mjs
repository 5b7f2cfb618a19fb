// Importing the entry of a plugin and finding the plugin in it (OC-8, OC-18, OC-19).

import Module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

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

export async function importPlugin({ loader, entry, root }) {
  const url = pathToFileURL(entry).href;
  if (loader === 'jiti') return importWithJiti(entry, root);
  if (loader === 'tsx') {
    const { tsImport } = await importFrom(root, 'tsx/esm/api');
    return tsImport(url, pathToFileURL(join(root, 'package.json')).href);
  }
  return import(url);
}

async function importWithJiti(entry, root) {
  const jiti = await importFrom(root, 'jiti');
  const alias = Object.fromEntries(SDK_NAMES.map((name) => [name, SDK_FILE]));
  const createJiti = jiti.createJiti ?? jiti.default?.createJiti;
  if (createJiti) return createJiti(entry, { alias }).import(entry);
  // jiti 1 is a function that makes a `require`.
  return (jiti.default ?? jiti)(entry, { alias, interopDefault: false })(entry);
}

// Imports a package as a module in the plugin's directory would.
function importFrom(root, name) {
  const require = createRequire(join(root, 'package.json'));
  return import(pathToFileURL(exported(require, name) ?? require.resolve(name)).href);
}

// `require.resolve` finds what is meant for `require`; what is meant for `import` stands in the package's `exports`.
function exported(require, name) {
  const [packageName, ...path] = name.split('/');
  try {
    const file = require.resolve(`${packageName}/package.json`);
    let target = require(file).exports[['.', ...path].join('/')];
    while (typeof target === 'object' && target !== null) target = target.import ?? target.node ?? target.default;
    return typeof target === 'string' ? join(dirname(file), target) : null;
  } catch {
    return null;
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

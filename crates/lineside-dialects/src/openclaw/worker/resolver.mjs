// Which file an import of `openclaw/plugin-sdk` or of one of its subpaths is (OC-19): that of an OpenClaw beside the
// plugin, or of one that is installed for everybody, if this Node can run it, and otherwise a stand-in, written beside
// this file when it is first asked for.
//
// Node runs this module in the thread of its loaders as well, where it is all there is.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const SDK = /^@?openclaw\/plugin-sdk(?:\/(.+?))?(?:\.js)?$/;
const HERE = dirname(fileURLToPath(import.meta.url));
const { names: PROVIDED } = createRequire(import.meta.url)('./sdk.cjs');

// Where packages are installed for everybody.
let everybody = [];

export function initialize({ installed }) {
  everybody = installed ?? [];
}

// At the end of the address of a script that is a module although no package says so.
export const AS_MODULE = '?module';

// The hook of Node's loaders.
export async function resolve(name, context, next) {
  const file = resolveSdk(name, context.parentURL, 'import');
  if (file) return { url: pathToFileURL(file).href, shortCircuit: true };
  const found = await next(name, context);
  const isMeant = name.endsWith(AS_MODULE) || (/^\.\.?\//.test(name) && context.parentURL?.endsWith(AS_MODULE));
  if (!isMeant || found.format !== 'commonjs' || !/\.js(\?module)?$/.test(found.url)) return found;
  const url = found.url.endsWith(AS_MODULE) ? found.url : found.url + AS_MODULE;
  return { ...found, url, format: 'module' };
}

// The stand-in for a module; null where there is none, or none is needed.
export function resolveSdk(name, parent, how) {
  const match = SDK.exec(name);
  if (!match || looking || (parent && isInstalled(parent))) return null;
  const path = match[1] ?? '';
  const whole = everybody.map((folder) => ofHost(folder, path)).find(Boolean);
  if (whole) return whole;
  return how === 'require' ? common(path) : module(path, namesWanted(name, parent));
}

const installed = new Map();

// Whether OpenClaw is beside the module, and for this Node.
function isInstalled(parent) {
  if (!parent.startsWith('file:')) return false;
  const folder = dirname(fileURLToPath(parent));
  if (!installed.has(folder)) installed.set(folder, look(folder));
  return installed.get(folder);
}

// Looking for a module is asked of Node, which asks here.
let looking = false;

function lookFor(file, name) {
  looking = true;
  try {
    return createRequire(file).resolve(name);
  } finally {
    looking = false;
  }
}

// The file of an OpenClaw in this folder, for a module that it has.
function ofHost(folder, path) {
  try {
    const file = join(folder, 'openclaw/package.json');
    if (!fs.existsSync(file) || !isForThisNode(JSON.parse(fs.readFileSync(file, 'utf8')).engines?.node)) return null;
    return lookFor(file, path === '' ? 'openclaw/plugin-sdk' : `openclaw/plugin-sdk/${path}`);
  } catch {
    return null;
  }
}

function look(folder) {
  try {
    const file = lookFor(join(folder, 'package.json'), 'openclaw/package.json');
    return isForThisNode(JSON.parse(fs.readFileSync(file, 'utf8')).engines?.node);
  } catch {
    return false;
  }
}

// Whether this Node is in a range such as `>=24.16.0 <25 || >=26.1.0`; a range of another form is taken to have it.
export function isForThisNode(range, version = process.versions.node) {
  if (typeof range !== 'string') return true;
  const holds = {
    '>=': (order) => order >= 0,
    '>': (order) => order > 0,
    '<': (order) => order < 0,
    '<=': (order) => order <= 0,
  };
  return range.split('||').some((part) =>
    [...part.matchAll(/([<>]=?)\s*v?([\d.]+)/g)].every(([, sign, bound]) => holds[sign](compared(version, bound))),
  );
}

function compared(one, other) {
  const [a, b] = [one, other].map((version) => version.split('.').map(Number));
  for (let i = 0; i < 3; i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const fileOf = (path, ending) => join(HERE, `sdk-${path.replace(/[^\w-]/g, '_')}${ending}`);

function common(path) {
  return written(fileOf(path, '.cjs'), `module.exports = require('./sdk.cjs').subpath(${JSON.stringify(path)});\n`);
}

// A module has the names that somebody imports from it, because an import of another one does not even begin.
function module(path, wanted) {
  const names = [...new Set([...PROVIDED, ...wanted])].sort();
  const lines = names.map((name) => `export const ${name} = sdk.${name};`);
  const begin = `import all from './sdk.cjs';\nconst sdk = all.subpath(${JSON.stringify(path)});\nexport default sdk;\n`;
  const own = names.length === PROVIDED.length ? '' : `-${wanted.sort().join('-').slice(0, 120)}-${names.length}`;
  return written(fileOf(`${path}${own}`, '.mjs'), `${begin}${lines.join('\n')}\n`);
}

function written(file, text) {
  if (!fs.existsSync(file)) fs.writeFileSync(file, text);
  return file;
}

function canBeDeclared(word) {
  try {
    return Boolean(new Function(`'use strict'; const ${word} = 0;`));
  } catch {
    return false;
  }
}

// The names that a module imports from another one, or hands on.
function namesWanted(name, parent) {
  const names = new Set();
  if (!parent?.startsWith('file:')) return [];
  let text;
  try {
    text = fs.readFileSync(fileURLToPath(parent), 'utf8');
  } catch {
    return [];
  }
  const quoted = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const clause = new RegExp(`(?:import|export)\\s*(?:[\\w$]+\\s*,\\s*)?\\{([^}]*)\\}\\s*from\\s*["']${quoted}["']`, 'g');
  const taken = new RegExp(`\\{([^}]*)\\}\\s*=\\s*await\\s+import\\s*\\(\\s*["']${quoted}["']`, 'g');
  for (const [, list] of [...text.matchAll(clause), ...text.matchAll(taken)]) {
    for (const item of list.split(',')) {
      const [, type, word] = /^\s*(type\s+)?([\w$]+)/.exec(item) ?? [];
      if (word && !type && canBeDeclared(word)) names.add(word);
    }
  }
  return [...names];
}

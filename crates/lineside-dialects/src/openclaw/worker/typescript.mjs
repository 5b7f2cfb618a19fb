// Loading entries in TypeScript (OC-8): through jiti, which is what OpenClaw loads them through, wherever it is found;
// by Node itself, where that strips types and the plugin asks for no more; through tsx; and otherwise through a jiti
// that is taken from the registry once and kept in the cache of the user.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

// The release that OpenClaw depends on, and the digest under which the registry has it.
const VERSION = '2.7.0';
const INTEGRITY = 'sha512-AC/7JofJvZGrrneWNaEnJeOLUx+JlGt7tNa0wZiRPT4MY1wmfKjt2+6O2p2uz2+skll8OZZmJMNqeke7kKbNgQ==';
// How long the registry may take.
const PATIENCE_MS = 60_000;

const EXTENSIONS = ['.ts', '.tsx', '.mts', '.cts', '.mtsx', '.ctsx', '.js', '.mjs', '.cjs', '.json'];

// What Node says before any line of the plugin has run, and a loader that knows more of TypeScript may get over.
const NATIVE_ONLY = new Set([
  'ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX', 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING',
  'ERR_INVALID_TYPESCRIPT_SYNTAX', 'ERR_MODULE_NOT_FOUND', 'ERR_UNSUPPORTED_DIR_IMPORT',
  'ERR_IMPORT_ATTRIBUTE_MISSING', 'ERR_NO_TYPESCRIPT',
]);

// Whether a module that Node does not load by itself is one for a loader.
export const isForALoader = (error) =>
  ['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX', 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING']
    .includes(error?.code);

// `host`: where the cache is, where packages are installed for everybody, whether something may be downloaded, and how
// to ask for more time and to warn.
export async function importTypeScript({ entry, root, standalone }, host) {
  const at = found(root, host);
  if (at) return transformed(at, entry, host);
  const tried = [];
  const bare = process.features.typescript && !wantsMore(standalone ? [entry] : sources(root));
  if (bare) {
    try {
      return await import(pathToFileURL(entry).href);
    } catch (error) {
      if (!(error instanceof SyntaxError) && !NATIVE_ONLY.has(error?.code)) throw error;
      tried.push(`Node ${process.versions.node} does not run it (${firstLine(error)})`);
    }
  } else if (!process.features.typescript) {
    tried.push(`Node ${process.versions.node} does not run TypeScript`);
  }
  const tsx = apiOfTsx(join(root, 'package.json'));
  if (tsx) {
    const module = await import(pathToFileURL(tsx).href);
    const tsImport = module.tsImport ?? module.default.tsImport;
    return tsImport(pathToFileURL(entry).href, pathToFileURL(join(root, 'package.json')).href);
  }
  try {
    return await transformed(await fetched(host), entry, host);
  } catch (error) {
    if (!(error instanceof NotFetched)) throw error;
    // Better some of it than nothing.
    if (!bare && process.features.typescript) return import(pathToFileURL(entry).href);
    tried.push(error.message);
  }
  const [node, ...more] = tried;
  throw new Error(
    `cannot load TypeScript entry ${entry}: ${node}; build it to JavaScript, install jiti or tsx beside the plugin, ` +
      `or use Node 22.18 or newer (${[...more, `npm install jiti in ${root}`].join('; ')})`,
  );
}

// `tsx/esm/api`: the module of it where tsx has that, else what its package says (OC-8).
function apiOfTsx(from) {
  const tsx = resolved(from, 'tsx/package.json');
  const own = tsx && join(dirname(tsx), 'dist/esm/api/index.mjs');
  return own && fs.existsSync(own) ? own : resolved(from, 'tsx/esm/api');
}

// ---- jiti that is there

function found(root, { cache, installed }) {
  const beside = join(root, 'package.json');
  const packages = installed.map((folder) => join(folder, 'package.json'));
  const openclaw = [beside, ...packages].map((from) => resolved(from, 'openclaw/package.json')).filter(Boolean);
  for (const from of [beside, ...openclaw]) {
    const at = resolved(from, 'jiti');
    if (at) return at;
  }
  return (cache && kept(cache)) ?? packages.map((from) => resolved(from, 'jiti')).find(Boolean) ?? null;
}

function kept(cache) {
  const at = join(home(cache), 'package.json');
  try {
    if (process.getuid && fs.statSync(at).uid !== process.getuid()) return null;
  } catch {
    return null;
  }
  return resolved(at, './lib/jiti.cjs');
}

const home = (cache) => join(cache, `jiti-${VERSION}`);

function resolved(from, name) {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return null;
  }
}

async function transformed(at, entry, host) {
  const module = createRequire(at)(at);
  const create = module.createJiti ?? module.default?.createJiti;
  const options = {
    interopDefault: true,
    // Not where it would be by itself, which may be a folder that others can write into.
    fsCache: host.cache ? join(host.cache, 'jiti') : false,
    tryNative: false,
    extensions: EXTENSIONS,
  };
  try {
    if (create) return await create(entry, options).import(entry);
    // jiti 1 is a function that makes a `require`.
    return (module.default ?? module)(entry, { ...options, interopDefault: false, cache: options.fsCache })(entry);
  } catch (error) {
    throw placed(error);
  }
}

// A module that is not there is said with the line that asks for it, and with what helps.
function placed(error) {
  const missing = /^Cannot find module '([^']+)'/.exec(error?.message ?? '');
  const by = /Require stack:\n- (.+)/.exec(error?.message ?? '')?.[1];
  if (!missing || !by) return error;
  const [, name] = missing;
  const file = by.replace(/^file:\/\//, '');
  const remedy = /^[.\/]/.test(name) ? '' : `; install it beside the plugin (npm install ${packageOf(name)})`;
  return new Error(`${file}${lineOf(file, name)}: cannot find module '${name}'${remedy}`);
}

const packageOf = (name) => name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/');

function lineOf(file, name) {
  try {
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    const at = lines.findIndex((line) => line.includes(`'${name}'`) || line.includes(`"${name}"`));
    return at < 0 ? '' : `:${at + 1}`;
  } catch {
    return '';
  }
}

// ---- Node's own

// Whether a plugin uses what a transformed module has and a stripped one lacks; it may do so long after it was loaded.
function wantsMore(files) {
  return files.some((file) => /\brequire\s*\(|\b__(?:dirname|filename)\b/.test(fs.readFileSync(file, 'utf8')));
}

// The files in TypeScript of a plugin, as far as there is an end of them.
function sources(root) {
  const files = [];
  const folders = [root];
  for (const folder of folders) {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const at = join(folder, entry.name);
      if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.')) folders.push(at);
      if (entry.isFile() && /\.[cm]?tsx?$/.test(entry.name) && !/\.d\.[cm]?ts$/.test(entry.name)) files.push(at);
    }
    if (files.length > 500 || folders.length > 200) break;
  }
  return files;
}

const firstLine = (error) => String(error?.message ?? error).split('\n', 1)[0];

// ---- jiti from the registry

class NotFetched extends Error {}

async function fetched(host) {
  if (!host.download) throw new NotFetched('`download` is false');
  if (!host.cache) throw new NotFetched('there is no cache directory to keep a loader in');
  host.wait(PATIENCE_MS);
  const room = fs.mkdtempSync(join(made(host.cache), 'fetching-'));
  try {
    const put = (name, value) => fs.writeFileSync(join(room, name), JSON.stringify(value));
    const root = { name: 'lineside-loader', version: '1.0.0', private: true, dependencies: { jiti: VERSION } };
    put('package.json', root);
    put('package-lock.json', {
      ...root,
      lockfileVersion: 3,
      packages: { '': root, 'node_modules/jiti': { version: VERSION, integrity: INTEGRITY } },
    });
    await npm(room);
    try {
      fs.renameSync(join(room, 'node_modules/jiti'), home(host.cache));
    } catch (error) {
      // Another worker was faster.
      if (!kept(host.cache)) throw new NotFetched(`jiti ${VERSION} cannot be kept: ${firstLine(error)}`);
    }
  } finally {
    fs.rmSync(room, { recursive: true, force: true });
  }
  host.warn(
    `jiti ${VERSION}, which OpenClaw loads TypeScript through, was taken from the npm registry into ` +
      `${home(host.cache)}; this is done once, and \`download: false\` in lineside.json forbids it`,
  );
  return kept(host.cache);
}

function made(cache) {
  try {
    fs.mkdirSync(cache, { recursive: true, mode: 0o700 });
    return cache;
  } catch (error) {
    throw new NotFetched(`nothing can be kept in ${cache}: ${firstLine(error)}`);
  }
}

async function npm(room) {
  try {
    await ci('npm', room);
  } catch (error) {
    const beside = join(dirname(process.execPath), 'npm');
    if (error.cause?.code !== 'ENOENT' || !fs.existsSync(beside)) throw error;
    await ci(beside, room);
  }
}

function ci(program, room) {
  const options = [
    'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error',
    '--fetch-retries=1', '--fetch-timeout=20000',
  ];
  return new Promise((done, failed) => {
    const fail = (why, cause) =>
      failed(new NotFetched(`jiti ${VERSION} cannot be taken from the npm registry: ${why}`, { cause }));
    const child = spawn(program, options, { cwd: room, stdio: ['ignore', 'ignore', 'pipe'] });
    const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS - 5000);
    let said = '';
    child.stderr.on('data', (chunk) => {
      said = (said + chunk).slice(-4096);
    });
    child.on('error', (error) => {
      clearTimeout(late);
      fail(`npm does not start (${error.code ?? error.message})`, error);
    });
    child.on('close', (code, signal) => {
      clearTimeout(late);
      if (code === 0) return done();
      const lines = said.split('\n').map((line) => line.replace(/^npm (error|ERR!)\s*/, '').trim());
      const why = lines.find((line) => line !== '' && !/^(code|errno|syscall|npm warn|A complete log)/.test(line));
      fail(why ?? `npm ended with ${signal ?? code}`);
    });
  });
}

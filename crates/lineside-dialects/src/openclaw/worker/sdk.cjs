// What `openclaw/plugin-sdk` and its subpaths export where OpenClaw itself is not installed beside a plugin (OC-19):
// what plugins with hooks use, and for any other name something that says which one is missing as soon as it is used.
'use strict';

const { tmpdir } = require('node:os');
const { join } = require('node:path');

const DEFAULT_ACCOUNT_ID = 'default';

// ---- entries

function definePluginEntry(definition) {
  return definition;
}

function emptyPluginConfigSchema() {
  return { type: 'object', additionalProperties: false, properties: {} };
}

function defineChannelPluginEntry(definition) {
  const { plugin, setRuntime, registerFull, registerCliMetadata, ...rest } = definition;
  return {
    ...rest,
    channelPlugin: plugin,
    register(api) {
      setRuntime?.(api.runtime);
      registerCliMetadata?.(api);
      api.registerChannel({ plugin });
      registerFull?.(api);
    },
  };
}

function buildChannelConfigSchema(schema) {
  return { schema: typeof schema?.toJSONSchema === 'function' ? schema.toJSONSchema() : schema };
}

// A slot for the runtime that `register` is given, for code outside of it.
function createPluginRuntimeStore(options) {
  let runtime = null;
  const what = typeof options === 'string' ? options : (options?.errorMessage ?? 'the plugin runtime is not set');
  return {
    setRuntime(given) {
      runtime = given;
    },
    clearRuntime() {
      runtime = null;
    },
    tryGetRuntime: () => runtime,
    getRuntime() {
      if (runtime === null) throw new Error(what);
      return runtime;
    },
  };
}

// ---- results and parameters of tools

const textResult = (text, details) => ({ content: [{ type: 'text', text }], details });
const jsonResult = (payload) => textResult(JSON.stringify(payload, null, 2), payload);

function required(value, { required = false, label }, key) {
  if (value === undefined && required) throw new Error(`${label ?? key} required`);
  return value;
}

function readStringParam(params, key, options = {}) {
  const given = params?.[key];
  const text = typeof given === 'string' ? (options.trim === false ? given : given.trim()) : undefined;
  return required(text === '' && !options.allowEmpty ? undefined : text, options, key);
}

function readNumberParam(params, key, options = {}) {
  const given = params?.[key];
  const number = typeof given === 'string' && given.trim() !== '' ? Number(given) : given;
  const finite = typeof number === 'number' && Number.isFinite(number) ? number : undefined;
  return required(finite !== undefined && options.integer ? Math.trunc(finite) : finite, options, key);
}

function readStringArrayParam(params, key, options = {}) {
  const given = params?.[key];
  const list = Array.isArray(given) ? given : typeof given === 'string' ? [given] : [];
  const words = list.filter((word) => typeof word === 'string').map((word) => word.trim()).filter(Boolean);
  return required(words.length === 0 ? undefined : words, options, key);
}

const stringEnum = (values, options = {}) => ({ type: 'string', enum: [...values], ...options });

// ---- names

function normalizeAccountId(value) {
  const id = String(value ?? '').trim().toLowerCase().replace(/[^a-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '');
  return id.slice(0, 64) || DEFAULT_ACCOUNT_ID;
}

const isSubagentSessionKey = (key) => /(^|:)subagent:/i.test(String(key ?? ''));

const provided = {
  DEFAULT_ACCOUNT_ID,
  buildChannelConfigSchema,
  createPluginRuntimeStore,
  defineChannelPluginEntry,
  definePluginEntry,
  emptyPluginConfigSchema,
  isSubagentSessionKey,
  jsonResult,
  normalizeAccountId,
  optionalStringEnum: stringEnum,
  readNumberParam,
  readStringArrayParam,
  readStringParam,
  resolvePreferredOpenClawTmpDir: () => join(tmpdir(), 'openclaw'),
  stringEnum,
  textResult,
};

// ---- what is missing

// Can be imported, handed on and extended; says what is missing when it is called.
function missing(name) {
  const refuse = () => {
    throw new Error(`${name} is not provided by lineside; install openclaw beside the plugin (npm install openclaw)`);
  };
  return new Proxy(function () {}, {
    apply: refuse,
    construct: refuse,
    get: (target, key) =>
      typeof key === 'symbol' || key === 'then' || key in target ? target[key] : missing(`${name}.${key}`),
  });
}

// The module of a subpath; `openclaw/plugin-sdk` itself has the empty one.
exports.subpath = function subpath(path) {
  const module = `openclaw/plugin-sdk${path === '' ? '' : `/${path}`}`;
  const made = new Map();
  return new Proxy(provided, {
    get(target, name) {
      if (typeof name === 'symbol' || name in target || ['then', 'default', '__esModule', 'toJSON'].includes(name)) {
        return target[name];
      }
      if (!made.has(name)) made.set(name, missing(`${name} of ${module}`));
      return made.get(name);
    },
  });
};

exports.names = Object.keys(provided);

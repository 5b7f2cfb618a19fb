// Reading what a handler returned (OC-46): nothing, an answer, or something that cannot be one.
//
// The types are those of OC-47 to OC-53. Merging answers is the runtime's business.

import { hasLoneSurrogate } from './wire.mjs';

const { parse, stringify } = JSON;
const DEEPEST = 64; // OC-68

// What the runtime is told of the fields that are passed over, so that it can remark those that look like others.
const MOST_UNKNOWN = 64;
const LONGEST_UNKNOWN = 100;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value) => typeof value === 'string' || 'a string';
const flag = (value) => typeof value === 'boolean' || 'a boolean';
const number = (value) => typeof value === 'number' || 'a number';
const object = (value) => isObject(value) || 'an object';
const list = (value) => Array.isArray(value) || 'an array';
const texts = (value) =>
  (Array.isArray(value) && value.every((item) => typeof item === 'string')) || 'an array of strings';
const oneOf = (...words) => (value) => words.includes(value) || words.map((word) => `"${word}"`).join(', ');
const shape = (fields) => (value) => {
  if (!isObject(value)) return 'an object';
  const wrong = wrongField(value, fields);
  return wrong ? { inside: wrong } : true;
};
const message = (value) => {
  if (!isObject(value)) return 'an object';
  const { content } = value;
  return typeof content === 'string' || Array.isArray(content) || 'an object with a string or an array as content';
};

const FIELDS = {
  before_agent_start: { systemPrompt: text, prependContext: text },
  before_prompt_build: {
    systemPrompt: text,
    prependContext: text,
    appendContext: text,
    prependSystemContext: text,
    appendSystemContext: text,
    toolsAllow: texts,
  },
  before_tool_call: {
    params: object,
    block: flag,
    blockReason: text,
    requireApproval: shape({ title: text, description: text }),
  },
  message_sending: { content: text, cancel: flag, cancelReason: text, metadata: object },
  before_agent_finalize: {
    action: oneOf('continue', 'revise', 'finalize'),
    reason: text,
    retry: shape({ instruction: text, idempotencyKey: text, maxAttempts: number }),
  },
  tool_result_persist: { message },
  before_model_resolve: { modelOverride: text, providerOverride: text },
  agent_turn_prepare: { prependContext: text, appendContext: text },
  heartbeat_prompt_contribution: { prependContext: text, appendContext: text },
  before_agent_run: { outcome: oneOf('pass', 'block'), reason: text, message: text, category: text, metadata: object },
  before_message_write: { message: object, block: flag },
  reply_payload_sending: { payload: object, cancel: flag, reason: text },
  before_install: { findings: list, block: flag, blockReason: text },
};

// `{}` for no decision, `{ json }` for an answer, `{ error }` for one that cannot be read; beside the first two
// `unknown`, the fields that are passed over.
export function readAnswer(hook, returned, maxFrameBytes) {
  if (!isObject(returned)) return {};
  const fields = FIELDS[hook];
  try {
    const wrong = fields && Object.keys(fields).find((field) => isNoJson(returned[field]));
    if (wrong) return { error: `${hook} handler returned a ${typeof returned[wrong]} as ${wrong}` };
    const approvalCallback =
      hook === 'before_tool_call' && typeof returned.requireApproval?.onResolution === 'function';
    return { ...readObject(hook, fields, returned, maxFrameBytes), approvalCallback };
  } catch (error) {
    return { error: `${hook} handler returned something that is not JSON: ${whyNot(error)}` };
  }
}

const isNoJson = (value) => typeof value === 'function' || typeof value === 'symbol';

function whyNot(error) {
  if (error instanceof RangeError) return 'it is nested too deeply';
  return typeof error?.message === 'string' ? error.message.split('\n')[0] : 'it cannot be written';
}

function readObject(hook, fields, returned, maxFrameBytes) {
  const whole = stringify(returned);
  if (whole === undefined) return {};
  if (hasLoneSurrogate(whole)) throw new Error('it has a lone surrogate');
  if (isDeeperThan(whole, DEEPEST)) throw new Error(`it is nested more than ${DEEPEST} levels deep`);
  // What stands around it in the frame is less than 256 bytes.
  if (Buffer.byteLength(whole) + 256 > maxFrameBytes) throw new Error(`it is larger than ${maxFrameBytes} bytes`);
  const value = parse(whole);
  if (!isObject(value)) return {};
  if (!fields) return { json: whole };
  const wrong = wrongField(value, fields);
  if (wrong) return { error: `${hook} handler returned a wrong type: ${wrong}` };
  const unknown = Object.keys(value).filter((field) => !Object.hasOwn(fields, field));
  const given = Object.keys(fields).filter((field) => Object.hasOwn(value, field) && value[field] !== null);
  const json = given.length > 0 ? stringify(Object.fromEntries(given.map((field) => [field, value[field]]))) : undefined;
  return { json, unknown: unknown.slice(0, MOST_UNKNOWN).map((field) => field.slice(0, LONGEST_UNKNOWN)) };
}

// The first field that is there and is not what it has to be.
function wrongField(value, fields) {
  for (const [field, check] of Object.entries(fields)) {
    if (!Object.hasOwn(value, field) || value[field] === null) continue;
    const outcome = check(value[field]);
    if (outcome === true) continue;
    return outcome.inside ? `${field}.${outcome.inside}` : `${field} must be ${outcome}`;
  }
  return null;
}

function isDeeperThan(json, most) {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    if (quoted) {
      if (code === 0x5c) i += 1;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > most) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

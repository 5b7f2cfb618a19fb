// The hooks: those that fire (OC-35), those that are only recorded (OC-36), and which of them are special.

export const FIRING = new Set([
  'before_agent_start', 'before_prompt_build', 'before_tool_call', 'tool_result_persist', 'before_agent_finalize',
  'message_sending', 'session_start', 'session_end', 'agent_end', 'llm_input', 'llm_output', 'after_tool_call',
  'subagent_spawned', 'subagent_ended', 'before_compaction', 'after_compaction', 'message_received', 'message_sent',
  'gateway_start', 'gateway_stop',
]);

// Name and nearest hook, where there is one.
export const RECORDED = new Map([
  ['before_model_resolve', 'before_prompt_build'],
  ['agent_turn_prepare', 'before_prompt_build'],
  ['before_agent_run', 'before_prompt_build'],
  ['before_agent_reply', 'before_prompt_build'],
  ['heartbeat_prompt_contribution', 'before_prompt_build'],
  ['model_call_started', 'llm_input'],
  ['model_call_ended', 'llm_output'],
  ['reply_payload_sending', 'message_sending'],
  ['inbound_claim', 'message_received'],
  ['before_dispatch', 'message_received'],
  ['reply_dispatch', 'message_received'],
  ['channel_pairing_requested', 'message_received'],
  ['before_message_write', 'tool_result_persist'],
  ['resolve_exec_env', 'before_tool_call'],
  ['subagent_progress', 'subagent_spawned'],
  ['subagent_delivery_target', 'subagent_spawned'],
  ['subagent_spawning', 'subagent_spawned'],
  ['before_reset', 'session_end'],
  ['deactivate', 'gateway_stop'],
  ['before_install', null],
  ['cron_reconciled', null],
  ['cron_changed', null],
  ['skill_proposal_evaluate', null],
  ['skill_proposal_changed', null],
  ['skill_changed', null],
]);

export const isKnown = (hook) => FIRING.has(hook) || RECORDED.has(hook);

// OC-25
export const PROMPT_INJECTION = new Set(['before_agent_start', 'before_prompt_build']);
export const CONVERSATION_ACCESS = new Set([
  'before_agent_start', 'before_prompt_build', 'llm_input', 'llm_output', 'before_agent_finalize', 'agent_end',
]);

// OC-28
export const WITH_MATCHER = new Set(['before_tool_call', 'after_tool_call']);

// The known name with the fewest differences; of equals the first.
export function nearest(name) {
  let best = null;
  let least = Infinity;
  for (const known of [...FIRING, ...RECORDED.keys()]) {
    const distance = editDistance(name.slice(0, 256), known);
    if (distance < least) [best, least] = [known, distance];
  }
  return best;
}

function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

// OC-34
export const CORE_GATEWAY_METHODS = [
  'agent', 'connect', 'health', 'last-heartbeat', 'poll', 'send', 'set-heartbeats', 'status', 'system-event',
  'system-presence', 'wake', 'config.', 'exec.approvals.', 'update.', 'wizard.',
];
export const CORE_COMMANDS = [
  'help', 'commands', 'status', 'diagnostics', 'codex', 'whoami', 'context', 'btw', 'stop', 'restart', 'reset', 'new',
  'compact', 'config', 'debug', 'allowlist', 'activation', 'skill', 'learn', 'loop', 'subagents', 'kill', 'steer',
  'tell', 'model', 'models', 'queue', 'send', 'bash', 'exec', 'think', 'verbose', 'reasoning', 'elevated', 'usage',
];

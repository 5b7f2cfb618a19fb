// The payloads of the points, as the crate `lineside-points` declares them. Made by its example `payloads`; a test keeps it
// current.

/** How a session begins. The program may have a word of its own. */
export type SessionStart = 'startup' | 'resume' | 'clear' | 'compact' | 'fork' | 'subagent' | (string & {});

/** How a context is compacted. The program may have a word of its own. */
export type CompactKind = 'micro' | 'auto' | 'manual' | (string & {});

/** One tool call of a batch. */
export interface ToolCall {
  /** The tool. */
  tool_name: string;
  /** The host's id of the call. */
  tool_call_id?: string;
  /** What the tool was called with. */
  tool_input?: unknown;
  /** What it gave back. */
  tool_output?: unknown;
  /** How it failed. */
  error?: string;
  /** The paths that the host names for it. */
  paths?: string[];
}

/** One file that a batch of tool calls changed. */
export interface ChangedFile {
  /** The file. */
  path: string;
  /** The tool that changed it. */
  tool_name?: string;
  /** Whether it was not there before. */
  is_new?: boolean;
  /** Whether it is gone. */
  is_deleted?: boolean;
  /** The change as a diff. */
  diff?: string;
}

/** Tokens that a model call took. */
export interface Usage {
  /** Tokens read. */
  input_tokens?: number;
  /** Tokens written. */
  output_tokens?: number;
  /** What else the program counts, as it says it. */
  [figure: string]: unknown;
}

/** A session is about to begin. A block keeps it from opening. */
export interface BeforeSession {
  /** How it begins. */
  source: SessionStart;
}

/** A session has ended. */
export interface AfterSession {
  /** Why. */
  reason: string;
  /** Figures of the host, e.g. `duration_ms`. */
  stats?: unknown;
}

/** A prompt of the user is about to be taken in. A block refuses it. */
export interface BeforePrompt {
  /** The prompt. */
  prompt: string;
  /** The messages so far. */
  messages?: unknown[];
}

/** A prompt of the user was taken in. */
export interface OnPrompt {
  /** The prompt. */
  prompt: string;
}

/** The agent is about to take its turn. A block keeps it from doing so. */
export interface BeforeAgent {
  /** The prompt of the turn. */
  prompt?: string;
  /** The system prompt. */
  system_prompt?: string;
  /** The messages so far. */
  messages?: unknown[];
}

/** The agent has taken its turn. A block withholds the result. */
export interface AfterAgent {
  /** Whether it ended well. */
  success: boolean;
  /** How it failed. */
  error?: string;
  /** How long it took, in milliseconds. */
  duration_ms?: number;
  /** What it said last. */
  output?: string;
  /** The messages now. */
  messages?: unknown[];
}

/** A request to a model is about to be sent. A block keeps it back. */
export interface BeforeModel {
  /** The model. */
  model: string;
  /** The system prompt. */
  system_prompt?: string;
  /** The messages. */
  messages?: unknown[];
  /** How many messages there are, where the host does not hand them over. */
  message_count?: number;
  /** The tools that the model is offered. */
  tools?: unknown[];
}

/** A model has answered. A block withholds the answer. */
export interface AfterModel {
  /** The model. */
  model: string;
  /** The answer: text, or the host's own structure. */
  output?: unknown;
  /** The tokens that it took. */
  usage?: Usage;
  /** Why it ended. */
  stop_reason?: string;
  /** How it failed. */
  error?: string;
}

/** A tool is about to run. A block keeps it from running. */
export interface BeforeTool {
  /** The tool. */
  tool_name: string;
  /** What it is called with. */
  tool_input: unknown;
  /** What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`. */
  tool_class?: string;
  /** The host's id of the call. */
  tool_call_id?: string;
  /** The paths that the host names for it. */
  paths?: string[];
  /** How long it may take, in milliseconds. */
  timeout_ms?: number;
}

/** The user is about to be asked for permission. An answer takes the place of the question. */
export interface BeforePermission {
  /** The tool. */
  tool_name: string;
  /** What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`. */
  tool_class?: string;
  /** What it is called with. */
  tool_input?: unknown;
  /** Why permission is needed. */
  reason?: string;
}

/** Permission was refused. */
export interface OnPermissionDenied {
  /** The tool. */
  tool_name: string;
  /** What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`. */
  tool_class?: string;
  /** Why. */
  reason?: string;
}

/** A tool has run. A block withholds its output and puts the reason in its place. */
export interface AfterTool {
  /** The tool. */
  tool_name: string;
  /** What it gave back. */
  tool_output: unknown;
  /** What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`. */
  tool_class?: string;
  /** What it was called with. */
  tool_input?: unknown;
  /** The host's id of the call. */
  tool_call_id?: string;
  /** What it changed, as a diff. */
  diff?: string;
  /** The paths that the host names for it. */
  paths?: string[];
  /** How long it took, in milliseconds. */
  duration_ms?: number;
}

/** A tool has failed. A block withholds the error and puts the reason in its place. */
export interface AfterToolError {
  /** The tool. */
  tool_name: string;
  /** How it failed: text, or the host's own structure. */
  error: unknown;
  /** What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`. */
  tool_class?: string;
  /** What it was called with. */
  tool_input?: unknown;
  /** The host's id of the call. */
  tool_call_id?: string;
  /** The host's word for this kind of failure. */
  error_kind?: string;
  /** The paths that the host names for it. */
  paths?: string[];
}

/** A result is about to go to the context. A block keeps it out and puts the reason in its place. */
export interface BeforeResultAppend {
  /** The tool. */
  tool_name: string;
  /** What goes to the context. */
  tool_output: unknown;
  /** What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`. */
  tool_class?: string;
  /** What it was called with. */
  tool_input?: unknown;
  /** What the user sees. */
  display_output?: unknown;
  /** How the tool failed. */
  error?: string;
  /** The paths that the host names for it. */
  paths?: string[];
}

/** All tool calls of one step have run. */
export interface AfterToolBatch {
  /** The calls. */
  tool_calls: ToolCall[];
  /** The files that they changed. */
  changed_files: ChangedFile[];
}

/** A subagent is about to be started. A block keeps it from starting. */
export interface BeforeSubagent {
  /** The session that it will have. */
  child_session: string;
  /** Its type. */
  agent_type?: string;
  /** What it is to do. */
  task?: string;
  /** The prompt that it gets. */
  prompt?: string;
}

/** A subagent is about to return. A block keeps it working. */
export interface AfterSubagent {
  /** Its session. */
  child_session: string;
  /** Its type. */
  agent_type?: string;
  /** What it brings back. */
  output?: string;
  /** How it failed. */
  error?: string;
  /** Whether a block has kept it working already, where the host says so. */
  stop_active?: boolean;
}

/** The agent is about to end its turn. A block keeps it working, and the reason goes to its context. */
export interface BeforeStop {
  /** Whether an earlier block already kept this turn alive. */
  stop_active: boolean;
  /** What it said last: text, or the host's own structure. */
  output?: unknown;
  /** Why it stops. */
  reason?: string;
}

/** A context is about to be compacted. A block keeps it as it is. */
export interface BeforeCompact {
  /** How. */
  kind: CompactKind;
  /** Why. */
  reason?: string;
  /** How full it is, in the host's figures. */
  usage?: unknown;
  /** The messages. */
  messages?: unknown[];
}

/** A context was compacted. A block withholds the result. */
export interface AfterCompact {
  /** How. */
  kind: CompactKind;
  /** What took the place of the messages. */
  summary?: string;
  /** How full it was. */
  usage_before?: unknown;
  /** How full it is. */
  usage_after?: unknown;
  /** The messages now. */
  messages?: unknown[];
}

/** A message came in. */
export interface OnMessageReceived {
  /** Its content: text, or the host's own structure. */
  content: unknown;
  /** The channel. */
  channel?: string;
  /** Who sent it. */
  from?: string;
}

/** A message is about to go out. A block keeps it back. */
export interface BeforeMessageSend {
  /** Its content: text, or the host's own structure. */
  content: unknown;
  /** The channel. */
  channel?: string;
  /** To whom. */
  to?: string;
}

/** A message went out. */
export interface OnMessageSent {
  /** Its content: text, or the host's own structure. */
  content: unknown;
  /** The channel. */
  channel?: string;
  /** To whom. */
  to?: string;
}

/** A task was put on the list. */
export interface OnTaskCreated {
  /** The task. */
  task_id: string;
  /** What it is. */
  description?: string;
  /** What came of it. */
  result?: unknown;
}

/** A task on the list is done. */
export interface OnTaskCompleted {
  /** The task. */
  task_id: string;
  /** What it was. */
  description?: string;
  /** What came of it. */
  result?: unknown;
}

/** The agent failed to stop properly. */
export interface OnStopFailure {
  /** How. */
  error?: string;
}

/** The user interrupted the agent. */
export interface OnInterrupt {
  /** What was going on. */
  error?: string;
}

/** The agent has nothing to do. */
export interface OnIdle {
}

/** The agent waits for a confirmation. */
export interface OnWaitConfirm {
  /** The tool that needs it. */
  tool_name?: string;
  /** What the tool is called with. */
  tool_input?: unknown;
  /** The message for the user. */
  message?: string;
}

/** The agent waits for an answer. */
export interface OnWaitQuestion {
  /** The question. */
  question: string;
  /** The answers to choose from. */
  options?: unknown[];
}

/** The user receives a notification. */
export interface OnNotification {
  /** What. */
  message: string;
  /** How serious it is, in the host's word. */
  level?: string;
}

/** Something went wrong with the agent. */
export interface OnError {
  /** What. */
  error: string;
  /** The host's word for this kind of failure. */
  error_kind?: string;
}

/** A configuration changed. */
export interface OnConfigChange {
  /** The file. */
  path?: string;
  /** The keys. */
  keys?: string[];
}

/** A service of the host started. */
export interface OnServiceStart {
  /** Why. */
  reason?: string;
  /** Where it listens. */
  port?: number;
}

/** A service of the host stopped. */
export interface OnServiceStop {
  /** Why. */
  reason?: string;
  /** Where it listened. */
  port?: number;
}

/** The payload of each point, by the name of the point. */
export interface Payloads {
  before_session: BeforeSession;
  after_session: AfterSession;
  before_prompt: BeforePrompt;
  on_prompt: OnPrompt;
  before_agent: BeforeAgent;
  after_agent: AfterAgent;
  before_model: BeforeModel;
  after_model: AfterModel;
  before_tool: BeforeTool;
  before_permission: BeforePermission;
  on_permission_denied: OnPermissionDenied;
  after_tool: AfterTool;
  after_tool_error: AfterToolError;
  before_result_append: BeforeResultAppend;
  after_tool_batch: AfterToolBatch;
  before_subagent: BeforeSubagent;
  after_subagent: AfterSubagent;
  before_stop: BeforeStop;
  before_compact: BeforeCompact;
  after_compact: AfterCompact;
  on_message_received: OnMessageReceived;
  before_message_send: BeforeMessageSend;
  on_message_sent: OnMessageSent;
  on_task_created: OnTaskCreated;
  on_task_completed: OnTaskCompleted;
  on_stop_failure: OnStopFailure;
  on_interrupt: OnInterrupt;
  on_idle: OnIdle;
  on_wait_confirm: OnWaitConfirm;
  on_wait_question: OnWaitQuestion;
  on_notification: OnNotification;
  on_error: OnError;
  on_config_change: OnConfigChange;
  on_service_start: OnServiceStart;
  on_service_stop: OnServiceStop;
}

/** The fields of each point that a hook may amend. */
export const AMENDABLE = {
  before_session: [],
  after_session: [],
  before_prompt: ['prompt'],
  on_prompt: [],
  before_agent: ['prompt', 'system_prompt'],
  after_agent: [],
  before_model: ['model', 'system_prompt', 'messages'],
  after_model: ['output'],
  before_tool: ['tool_input'],
  before_permission: ['tool_input'],
  on_permission_denied: [],
  after_tool: ['tool_output'],
  after_tool_error: ['error'],
  before_result_append: ['tool_output', 'display_output'],
  after_tool_batch: [],
  before_subagent: ['prompt'],
  after_subagent: ['output'],
  before_stop: [],
  before_compact: [],
  after_compact: ['summary', 'messages'],
  on_message_received: [],
  before_message_send: ['content'],
  on_message_sent: [],
  on_task_created: [],
  on_task_completed: [],
  on_stop_failure: [],
  on_interrupt: [],
  on_idle: [],
  on_wait_confirm: [],
  on_wait_question: [],
  on_notification: [],
  on_error: [],
  on_config_change: [],
  on_service_start: [],
  on_service_stop: [],
} as const satisfies { [P in keyof Payloads]: readonly (keyof Payloads[P])[] };

/** The name of a point of the catalogue. */
export type PointName = keyof Payloads;

/** The payload of a point; of one that a vendor has declared, `x.<vendor>.<point>`, any object. */
export type PayloadOf<P extends string> = P extends PointName ? Payloads[P] : Record<string, unknown>;

/** What may be amended at a point. */
export type AmendmentOf<P extends string> = P extends PointName
  ? Partial<Pick<Payloads[P], (typeof AMENDABLE)[P][number] & keyof Payloads[P]>>
  : Record<string, unknown>;

/** A point whose events a gate can refuse. */
export type GatedPoint = Exclude<PointName, `on_${string}`>;

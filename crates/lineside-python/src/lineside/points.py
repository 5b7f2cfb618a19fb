"""The payloads of the points, as the crate `lineside-points` declares them.

Made by its example `payloads`; a test keeps it current.
"""

from __future__ import annotations

from typing import Any, Optional, TypedDict, Union

from ._payload import Payload

Json = Union[None, bool, int, float, str, "list[Any]", "dict[str, Any]"]
"""Any JSON. What a program gives as it likes has to be looked at before it is used."""

SessionStart = str
"""How a session begins. `startup`, `resume`, `clear`, `compact`, `fork`, `subagent`, or the program's own word."""

CompactKind = str
"""How a context is compacted. `micro`, `auto`, `manual`, or the program's own word."""


class _ToolCall(TypedDict):
    tool_name: str
    """The tool."""


class ToolCall(_ToolCall, total=False):
    """One tool call of a batch."""

    tool_call_id: str
    """The host's id of the call."""
    tool_input: Json
    """What the tool was called with."""
    tool_output: Json
    """What it gave back."""
    error: str
    """How it failed."""
    paths: list[str]
    """The paths that the host names for it."""


class _ChangedFile(TypedDict):
    path: str
    """The file."""


class ChangedFile(_ChangedFile, total=False):
    """One file that a batch of tool calls changed."""

    tool_name: str
    """The tool that changed it."""
    is_new: bool
    """Whether it was not there before."""
    is_deleted: bool
    """Whether it is gone."""
    diff: str
    """The change as a diff."""


class Usage(TypedDict, total=False):
    """Tokens that a model call took.

    What else the program counts stands beside these.
    """

    input_tokens: int
    """Tokens read."""
    output_tokens: int
    """Tokens written."""


class BeforeSession(Payload):
    """A session is about to begin. A block keeps it from opening."""

    point = "before_session"
    amendable = ()
    fields = ("source",)
    source: SessionStart
    """How it begins."""

    def __init__(self, source: SessionStart) -> None:
        self["source"] = source


class AfterSession(Payload):
    """A session has ended."""

    point = "after_session"
    amendable = ()
    fields = ("reason", "stats")
    reason: str
    """Why."""
    stats: Optional[Json]
    """Figures of the host, e.g. `duration_ms`."""

    def __init__(self, reason: str, *, stats: Optional[Json] = None) -> None:
        self["reason"] = reason
        self._add({"stats": stats})


class BeforePrompt(Payload):
    """A prompt of the user is about to be taken in. A block refuses it."""

    point = "before_prompt"
    amendable = ("prompt",)
    fields = ("prompt", "messages")
    prompt: str
    """The prompt."""
    messages: Optional[list[Json]]
    """The messages so far."""

    def __init__(self, prompt: str, *, messages: Optional[list[Json]] = None) -> None:
        self["prompt"] = prompt
        self._add({"messages": messages})


class OnPrompt(Payload):
    """A prompt of the user was taken in."""

    point = "on_prompt"
    amendable = ()
    fields = ("prompt",)
    prompt: str
    """The prompt."""

    def __init__(self, prompt: str) -> None:
        self["prompt"] = prompt


class BeforeAgent(Payload):
    """The agent is about to take its turn. A block keeps it from doing so."""

    point = "before_agent"
    amendable = ("prompt", "system_prompt")
    fields = ("prompt", "system_prompt", "messages")
    prompt: Optional[str]
    """The prompt of the turn."""
    system_prompt: Optional[str]
    """The system prompt."""
    messages: Optional[list[Json]]
    """The messages so far."""

    def __init__(
        self,
        *,
        prompt: Optional[str] = None,
        system_prompt: Optional[str] = None,
        messages: Optional[list[Json]] = None,
    ) -> None:
        self._add({"prompt": prompt, "system_prompt": system_prompt, "messages": messages})


class AfterAgent(Payload):
    """The agent has taken its turn. A block withholds the result."""

    point = "after_agent"
    amendable = ()
    fields = ("success", "error", "duration_ms", "output", "messages")
    success: bool
    """Whether it ended well."""
    error: Optional[str]
    """How it failed."""
    duration_ms: Optional[int]
    """How long it took, in milliseconds."""
    output: Optional[str]
    """What it said last."""
    messages: Optional[list[Json]]
    """The messages now."""

    def __init__(
        self,
        success: bool,
        *,
        error: Optional[str] = None,
        duration_ms: Optional[int] = None,
        output: Optional[str] = None,
        messages: Optional[list[Json]] = None,
    ) -> None:
        self["success"] = success
        self._add({"error": error, "duration_ms": duration_ms, "output": output, "messages": messages})


class BeforeModel(Payload):
    """A request to a model is about to be sent. A block keeps it back."""

    point = "before_model"
    amendable = ("model", "system_prompt", "messages")
    fields = ("model", "system_prompt", "messages", "message_count", "tools")
    model: str
    """The model."""
    system_prompt: Optional[str]
    """The system prompt."""
    messages: Optional[list[Json]]
    """The messages."""
    message_count: Optional[int]
    """How many messages there are, where the host does not hand them over."""
    tools: Optional[list[Json]]
    """The tools that the model is offered."""

    def __init__(
        self,
        model: str,
        *,
        system_prompt: Optional[str] = None,
        messages: Optional[list[Json]] = None,
        message_count: Optional[int] = None,
        tools: Optional[list[Json]] = None,
    ) -> None:
        self["model"] = model
        self._add({"system_prompt": system_prompt, "messages": messages, "message_count": message_count, "tools": tools})


class AfterModel(Payload):
    """A model has answered. A block withholds the answer."""

    point = "after_model"
    amendable = ("output",)
    fields = ("model", "output", "usage", "stop_reason", "error")
    model: str
    """The model."""
    output: Optional[Json]
    """The answer: text, or the host's own structure."""
    usage: Optional[Usage]
    """The tokens that it took."""
    stop_reason: Optional[str]
    """Why it ended."""
    error: Optional[str]
    """How it failed."""

    def __init__(
        self,
        model: str,
        *,
        output: Optional[Json] = None,
        usage: Optional[Usage] = None,
        stop_reason: Optional[str] = None,
        error: Optional[str] = None,
    ) -> None:
        self["model"] = model
        self._add({"output": output, "usage": usage, "stop_reason": stop_reason, "error": error})


class BeforeTool(Payload):
    """A tool is about to run. A block keeps it from running."""

    point = "before_tool"
    amendable = ("tool_input",)
    fields = ("tool_name", "tool_input", "tool_class", "tool_call_id", "paths", "timeout_ms")
    tool_name: str
    """The tool."""
    tool_input: Json
    """What it is called with."""
    tool_class: Optional[str]
    """What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`."""
    tool_call_id: Optional[str]
    """The host's id of the call."""
    paths: Optional[list[str]]
    """The paths that the host names for it."""
    timeout_ms: Optional[int]
    """How long it may take, in milliseconds."""

    def __init__(
        self,
        tool_name: str,
        tool_input: Json,
        *,
        tool_class: Optional[str] = None,
        tool_call_id: Optional[str] = None,
        paths: Optional[list[str]] = None,
        timeout_ms: Optional[int] = None,
    ) -> None:
        self["tool_name"] = tool_name
        self["tool_input"] = tool_input
        self._add({"tool_class": tool_class, "tool_call_id": tool_call_id, "paths": paths, "timeout_ms": timeout_ms})


class BeforePermission(Payload):
    """The user is about to be asked for permission. An answer takes the place of the question."""

    point = "before_permission"
    amendable = ("tool_input",)
    fields = ("tool_name", "tool_class", "tool_input", "reason")
    tool_name: str
    """The tool."""
    tool_class: Optional[str]
    """What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`."""
    tool_input: Optional[Json]
    """What it is called with."""
    reason: Optional[str]
    """Why permission is needed."""

    def __init__(
        self,
        tool_name: str,
        *,
        tool_class: Optional[str] = None,
        tool_input: Optional[Json] = None,
        reason: Optional[str] = None,
    ) -> None:
        self["tool_name"] = tool_name
        self._add({"tool_class": tool_class, "tool_input": tool_input, "reason": reason})


class OnPermissionDenied(Payload):
    """Permission was refused."""

    point = "on_permission_denied"
    amendable = ()
    fields = ("tool_name", "tool_class", "reason")
    tool_name: str
    """The tool."""
    tool_class: Optional[str]
    """What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`."""
    reason: Optional[str]
    """Why."""

    def __init__(self, tool_name: str, *, tool_class: Optional[str] = None, reason: Optional[str] = None) -> None:
        self["tool_name"] = tool_name
        self._add({"tool_class": tool_class, "reason": reason})


class AfterTool(Payload):
    """A tool has run. A block withholds its output and puts the reason in its place."""

    point = "after_tool"
    amendable = ("tool_output",)
    fields = ("tool_name", "tool_output", "tool_class", "tool_input", "tool_call_id", "diff", "paths", "duration_ms")
    tool_name: str
    """The tool."""
    tool_output: Json
    """What it gave back."""
    tool_class: Optional[str]
    """What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`."""
    tool_input: Optional[Json]
    """What it was called with."""
    tool_call_id: Optional[str]
    """The host's id of the call."""
    diff: Optional[str]
    """What it changed, as a diff."""
    paths: Optional[list[str]]
    """The paths that the host names for it."""
    duration_ms: Optional[int]
    """How long it took, in milliseconds."""

    def __init__(
        self,
        tool_name: str,
        tool_output: Json,
        *,
        tool_class: Optional[str] = None,
        tool_input: Optional[Json] = None,
        tool_call_id: Optional[str] = None,
        diff: Optional[str] = None,
        paths: Optional[list[str]] = None,
        duration_ms: Optional[int] = None,
    ) -> None:
        self["tool_name"] = tool_name
        self["tool_output"] = tool_output
        self._add({"tool_class": tool_class, "tool_input": tool_input, "tool_call_id": tool_call_id, "diff": diff, "paths": paths, "duration_ms": duration_ms})


class AfterToolError(Payload):
    """A tool has failed. A block withholds the error and puts the reason in its place."""

    point = "after_tool_error"
    amendable = ("error",)
    fields = ("tool_name", "error", "tool_class", "tool_input", "tool_call_id", "error_kind", "paths")
    tool_name: str
    """The tool."""
    error: Json
    """How it failed: text, or the host's own structure."""
    tool_class: Optional[str]
    """What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`."""
    tool_input: Optional[Json]
    """What it was called with."""
    tool_call_id: Optional[str]
    """The host's id of the call."""
    error_kind: Optional[str]
    """The host's word for this kind of failure."""
    paths: Optional[list[str]]
    """The paths that the host names for it."""

    def __init__(
        self,
        tool_name: str,
        error: Json,
        *,
        tool_class: Optional[str] = None,
        tool_input: Optional[Json] = None,
        tool_call_id: Optional[str] = None,
        error_kind: Optional[str] = None,
        paths: Optional[list[str]] = None,
    ) -> None:
        self["tool_name"] = tool_name
        self["error"] = error
        self._add({"tool_class": tool_class, "tool_input": tool_input, "tool_call_id": tool_call_id, "error_kind": error_kind, "paths": paths})


class BeforeResultAppend(Payload):
    """A result is about to go to the context. A block keeps it out and puts the reason in its place."""

    point = "before_result_append"
    amendable = ("tool_output", "display_output")
    fields = ("tool_name", "tool_output", "tool_class", "tool_input", "display_output", "error", "paths")
    tool_name: str
    """The tool."""
    tool_output: Json
    """What goes to the context."""
    tool_class: Optional[str]
    """What kind of tool it is, in whatever program: `shell`, `write`, `edit`, `read`, `task` or `mcp`."""
    tool_input: Optional[Json]
    """What it was called with."""
    display_output: Optional[Json]
    """What the user sees."""
    error: Optional[str]
    """How the tool failed."""
    paths: Optional[list[str]]
    """The paths that the host names for it."""

    def __init__(
        self,
        tool_name: str,
        tool_output: Json,
        *,
        tool_class: Optional[str] = None,
        tool_input: Optional[Json] = None,
        display_output: Optional[Json] = None,
        error: Optional[str] = None,
        paths: Optional[list[str]] = None,
    ) -> None:
        self["tool_name"] = tool_name
        self["tool_output"] = tool_output
        self._add({"tool_class": tool_class, "tool_input": tool_input, "display_output": display_output, "error": error, "paths": paths})


class AfterToolBatch(Payload):
    """All tool calls of one step have run."""

    point = "after_tool_batch"
    amendable = ()
    fields = ("tool_calls", "changed_files")
    tool_calls: list[ToolCall]
    """The calls."""
    changed_files: list[ChangedFile]
    """The files that they changed."""

    def __init__(self, tool_calls: list[ToolCall], changed_files: list[ChangedFile]) -> None:
        self["tool_calls"] = tool_calls
        self["changed_files"] = changed_files


class BeforeSubagent(Payload):
    """A subagent is about to be started. A block keeps it from starting."""

    point = "before_subagent"
    amendable = ("prompt",)
    fields = ("child_session", "agent_type", "task", "prompt")
    child_session: str
    """The session that it will have."""
    agent_type: Optional[str]
    """Its type."""
    task: Optional[str]
    """What it is to do."""
    prompt: Optional[str]
    """The prompt that it gets."""

    def __init__(
        self,
        child_session: str,
        *,
        agent_type: Optional[str] = None,
        task: Optional[str] = None,
        prompt: Optional[str] = None,
    ) -> None:
        self["child_session"] = child_session
        self._add({"agent_type": agent_type, "task": task, "prompt": prompt})


class AfterSubagent(Payload):
    """A subagent is about to return. A block keeps it working."""

    point = "after_subagent"
    amendable = ("output",)
    fields = ("child_session", "agent_type", "output", "error", "stop_active")
    child_session: str
    """Its session."""
    agent_type: Optional[str]
    """Its type."""
    output: Optional[str]
    """What it brings back."""
    error: Optional[str]
    """How it failed."""
    stop_active: Optional[bool]
    """Whether a block has kept it working already, where the host says so."""

    def __init__(
        self,
        child_session: str,
        *,
        agent_type: Optional[str] = None,
        output: Optional[str] = None,
        error: Optional[str] = None,
        stop_active: Optional[bool] = None,
    ) -> None:
        self["child_session"] = child_session
        self._add({"agent_type": agent_type, "output": output, "error": error, "stop_active": stop_active})


class BeforeStop(Payload):
    """The agent is about to end its turn. A block keeps it working, and the reason goes to its context."""

    point = "before_stop"
    amendable = ()
    fields = ("stop_active", "output", "reason")
    stop_active: bool
    """Whether an earlier block already kept this turn alive."""
    output: Optional[Json]
    """What it said last: text, or the host's own structure."""
    reason: Optional[str]
    """Why it stops."""

    def __init__(self, stop_active: bool, *, output: Optional[Json] = None, reason: Optional[str] = None) -> None:
        self["stop_active"] = stop_active
        self._add({"output": output, "reason": reason})


class BeforeCompact(Payload):
    """A context is about to be compacted. A block keeps it as it is."""

    point = "before_compact"
    amendable = ()
    fields = ("kind", "reason", "usage", "messages")
    kind: CompactKind
    """How."""
    reason: Optional[str]
    """Why."""
    usage: Optional[Json]
    """How full it is, in the host's figures."""
    messages: Optional[list[Json]]
    """The messages."""

    def __init__(
        self,
        kind: CompactKind,
        *,
        reason: Optional[str] = None,
        usage: Optional[Json] = None,
        messages: Optional[list[Json]] = None,
    ) -> None:
        self["kind"] = kind
        self._add({"reason": reason, "usage": usage, "messages": messages})


class AfterCompact(Payload):
    """A context was compacted. A block withholds the result."""

    point = "after_compact"
    amendable = ("summary", "messages")
    fields = ("kind", "summary", "usage_before", "usage_after", "messages")
    kind: CompactKind
    """How."""
    summary: Optional[str]
    """What took the place of the messages."""
    usage_before: Optional[Json]
    """How full it was."""
    usage_after: Optional[Json]
    """How full it is."""
    messages: Optional[list[Json]]
    """The messages now."""

    def __init__(
        self,
        kind: CompactKind,
        *,
        summary: Optional[str] = None,
        usage_before: Optional[Json] = None,
        usage_after: Optional[Json] = None,
        messages: Optional[list[Json]] = None,
    ) -> None:
        self["kind"] = kind
        self._add({"summary": summary, "usage_before": usage_before, "usage_after": usage_after, "messages": messages})


class OnMessageReceived(Payload):
    """A message came in."""

    point = "on_message_received"
    amendable = ()
    fields = ("content", "channel", "from")
    content: Json
    """Its content: text, or the host's own structure."""
    channel: Optional[str]
    """The channel."""
    from_: Optional[str]
    """Who sent it."""

    def __init__(self, content: Json, *, channel: Optional[str] = None, from_: Optional[str] = None) -> None:
        self["content"] = content
        self._add({"channel": channel, "from": from_})


class BeforeMessageSend(Payload):
    """A message is about to go out. A block keeps it back."""

    point = "before_message_send"
    amendable = ("content",)
    fields = ("content", "channel", "to")
    content: Json
    """Its content: text, or the host's own structure."""
    channel: Optional[str]
    """The channel."""
    to: Optional[str]
    """To whom."""

    def __init__(self, content: Json, *, channel: Optional[str] = None, to: Optional[str] = None) -> None:
        self["content"] = content
        self._add({"channel": channel, "to": to})


class OnMessageSent(Payload):
    """A message went out."""

    point = "on_message_sent"
    amendable = ()
    fields = ("content", "channel", "to")
    content: Json
    """Its content: text, or the host's own structure."""
    channel: Optional[str]
    """The channel."""
    to: Optional[str]
    """To whom."""

    def __init__(self, content: Json, *, channel: Optional[str] = None, to: Optional[str] = None) -> None:
        self["content"] = content
        self._add({"channel": channel, "to": to})


class OnTaskCreated(Payload):
    """A task was put on the list."""

    point = "on_task_created"
    amendable = ()
    fields = ("task_id", "description", "result")
    task_id: str
    """The task."""
    description: Optional[str]
    """What it is."""
    result: Optional[Json]
    """What came of it."""

    def __init__(self, task_id: str, *, description: Optional[str] = None, result: Optional[Json] = None) -> None:
        self["task_id"] = task_id
        self._add({"description": description, "result": result})


class OnTaskCompleted(Payload):
    """A task on the list is done."""

    point = "on_task_completed"
    amendable = ()
    fields = ("task_id", "description", "result")
    task_id: str
    """The task."""
    description: Optional[str]
    """What it was."""
    result: Optional[Json]
    """What came of it."""

    def __init__(self, task_id: str, *, description: Optional[str] = None, result: Optional[Json] = None) -> None:
        self["task_id"] = task_id
        self._add({"description": description, "result": result})


class OnStopFailure(Payload):
    """The agent failed to stop properly."""

    point = "on_stop_failure"
    amendable = ()
    fields = ("error",)
    error: Optional[str]
    """How."""

    def __init__(self, *, error: Optional[str] = None) -> None:
        self._add({"error": error})


class OnInterrupt(Payload):
    """The user interrupted the agent."""

    point = "on_interrupt"
    amendable = ()
    fields = ("error",)
    error: Optional[str]
    """What was going on."""

    def __init__(self, *, error: Optional[str] = None) -> None:
        self._add({"error": error})


class OnIdle(Payload):
    """The agent has nothing to do."""

    point = "on_idle"
    amendable = ()
    fields = ()


class OnWaitConfirm(Payload):
    """The agent waits for a confirmation."""

    point = "on_wait_confirm"
    amendable = ()
    fields = ("tool_name", "tool_input", "message")
    tool_name: Optional[str]
    """The tool that needs it."""
    tool_input: Optional[Json]
    """What the tool is called with."""
    message: Optional[str]
    """The message for the user."""

    def __init__(
        self,
        *,
        tool_name: Optional[str] = None,
        tool_input: Optional[Json] = None,
        message: Optional[str] = None,
    ) -> None:
        self._add({"tool_name": tool_name, "tool_input": tool_input, "message": message})


class OnWaitQuestion(Payload):
    """The agent waits for an answer."""

    point = "on_wait_question"
    amendable = ()
    fields = ("question", "options")
    question: str
    """The question."""
    options: Optional[list[Json]]
    """The answers to choose from."""

    def __init__(self, question: str, *, options: Optional[list[Json]] = None) -> None:
        self["question"] = question
        self._add({"options": options})


class OnNotification(Payload):
    """The user receives a notification."""

    point = "on_notification"
    amendable = ()
    fields = ("message", "level")
    message: str
    """What."""
    level: Optional[str]
    """How serious it is, in the host's word."""

    def __init__(self, message: str, *, level: Optional[str] = None) -> None:
        self["message"] = message
        self._add({"level": level})


class OnError(Payload):
    """Something went wrong with the agent."""

    point = "on_error"
    amendable = ()
    fields = ("error", "error_kind")
    error: str
    """What."""
    error_kind: Optional[str]
    """The host's word for this kind of failure."""

    def __init__(self, error: str, *, error_kind: Optional[str] = None) -> None:
        self["error"] = error
        self._add({"error_kind": error_kind})


class OnConfigChange(Payload):
    """A configuration changed."""

    point = "on_config_change"
    amendable = ()
    fields = ("path", "keys")
    path: Optional[str]
    """The file."""
    keys_: Optional[list[str]]
    """The keys."""

    def __init__(self, *, path: Optional[str] = None, keys_: Optional[list[str]] = None) -> None:
        self._add({"path": path, "keys": keys_})


class OnServiceStart(Payload):
    """A service of the host started."""

    point = "on_service_start"
    amendable = ()
    fields = ("reason", "port")
    reason: Optional[str]
    """Why."""
    port: Optional[int]
    """Where it listens."""

    def __init__(self, *, reason: Optional[str] = None, port: Optional[int] = None) -> None:
        self._add({"reason": reason, "port": port})


class OnServiceStop(Payload):
    """A service of the host stopped."""

    point = "on_service_stop"
    amendable = ()
    fields = ("reason", "port")
    reason: Optional[str]
    """Why."""
    port: Optional[int]
    """Where it listened."""

    def __init__(self, *, reason: Optional[str] = None, port: Optional[int] = None) -> None:
        self._add({"reason": reason, "port": port})


POINTS: dict[str, type[Payload]] = {
    kind.point: kind
    for kind in (
        BeforeSession,
        AfterSession,
        BeforePrompt,
        OnPrompt,
        BeforeAgent,
        AfterAgent,
        BeforeModel,
        AfterModel,
        BeforeTool,
        BeforePermission,
        OnPermissionDenied,
        AfterTool,
        AfterToolError,
        BeforeResultAppend,
        AfterToolBatch,
        BeforeSubagent,
        AfterSubagent,
        BeforeStop,
        BeforeCompact,
        AfterCompact,
        OnMessageReceived,
        BeforeMessageSend,
        OnMessageSent,
        OnTaskCreated,
        OnTaskCompleted,
        OnStopFailure,
        OnInterrupt,
        OnIdle,
        OnWaitConfirm,
        OnWaitQuestion,
        OnNotification,
        OnError,
        OnConfigChange,
        OnServiceStart,
        OnServiceStop,
    )
}
"""The class of each point, by the name of the point."""

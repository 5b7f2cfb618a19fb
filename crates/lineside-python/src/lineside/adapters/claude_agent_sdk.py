"""Claude Agent SDK: hooks in process that put a run of Claude Code, and its subagents, under the hooks of a session.

    async for message in query(prompt="Tidy up.", options=under(session)):
        ...
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, Awaitable, Callable, Optional

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from ..points import AfterSubagent, AfterToolError, BeforeCompact, OnNotification
from ._run import AnySession, Asks, Refused, Run, plain

# How long Claude Code waits for a hook, in seconds: longer than hooks of a session take, for it goes on when this is over.
_PATIENCE = 3600.0


def under(
    session: AnySession, options: Optional[ClaudeAgentOptions] = None, *, asks: Optional[Asks] = None
) -> ClaudeAgentOptions:
    """The options with which an agent is under the hooks of a session, beside the hooks that they have. What its tools start
    inherits the session. `asks` answers what hooks ask a person; without it Claude Code asks."""
    options = options or ClaudeAgentOptions()
    hooks: dict[Any, list[HookMatcher]] = {event: list(found) for event, found in (options.hooks or {}).items()}
    for event, answer in _Claude(Run(session, asks)).answers().items():
        # Before all others: they see what it has amended.
        hooks[event] = [HookMatcher(hooks=[answer], timeout=_PATIENCE), *hooks.get(event, [])]
    return dataclasses.replace(options, hooks=hooks, env={**options.env, **session.environment})


class _Claude:
    def __init__(self, run: Run) -> None:
        self.run = run
        self.below: dict[str, Run] = {}
        self.refused: dict[str, Refused] = {}
        self.opening = asyncio.Lock()

    def answers(self) -> dict[str, Callable[[Any, Optional[str], Any], Awaitable[Any]]]:
        gates = {
            "UserPromptSubmit": self.prompt, "PreToolUse": self.before_tool, "PostToolUse": self.after_tool,
            "PostToolUseFailure": self.tool_failed, "SubagentStart": self.subagent, "SubagentStop": self.subagent_stop,
            "Stop": self.stop, "PreCompact": self.compact, "Notification": self.notification,
        }  # fmt: skip

        def closed(event: str, gate: Callable[[Any], Awaitable[dict[str, Any]]]) -> Any:
            async def answer(input: Any, id: Optional[str], context: Any) -> dict[str, Any]:
                try:
                    return await gate(input)
                except Refused as reason:
                    return _refusal(event, str(reason))
                except Exception as error:
                    # Claude Code goes on after a hook that fails.
                    return _refusal(event, f"lineside could not decide about this: {type(error).__name__}: {error}")

            return answer

        return {event: closed(event, gate) for event, gate in gates.items()}

    async def _of(self, input: Any) -> Run:
        """The run of the agent that an event is of."""
        id = input.get("agent_id")
        if id is None:
            return self.run
        async with self.opening:
            if id in self.refused:
                raise self.refused[id]
            if id not in self.below:
                try:
                    self.below[id] = await self.run.reach(self.run.child(input.get("agent_type"), None))
                except Refused as reason:
                    self.refused[id] = reason
                    raise
            return self.below[id]

    async def _context(self, run: Run, event: str, **more: Any) -> dict[str, Any]:
        text = await run.reach(run.context())
        if text:
            more["additionalContext"] = text
        return {"hookSpecificOutput": {"hookEventName": event, **more}} if more else {}

    async def prompt(self, input: Any) -> dict[str, Any]:
        if await self.run.reach(self.run.prompt(input["prompt"])) != input["prompt"]:
            raise Refused("a hook changes the prompt, which Claude Code cannot")
        return await self._context(self.run, "UserPromptSubmit")

    async def before_tool(self, input: Any) -> dict[str, Any]:
        run, asked = await self._of(input), input["tool_input"]
        decision, input_now = await run.reach(run.tool(input["tool_name"], asked, input.get("tool_use_id")))
        output: dict[str, Any] = {}
        if decision.verdict in ("allow", "ask"):
            output["permissionDecision"] = "allow" if run.asks is not None else decision.verdict
            output["permissionDecisionReason"] = decision.reason or ""
        if input_now != asked:
            # Alone: a change is no approval, and the permissions of Claude Code judge what it has become.
            output["updatedInput"] = input_now
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}} if output else {}

    async def after_tool(self, input: Any) -> dict[str, Any]:
        run, response = await self._of(input), input["tool_response"]
        work = run.after_tool(input["tool_name"], input["tool_input"], input.get("tool_use_id"), response)
        output = await run.reach(work)
        changed = {} if output is response else {"updatedToolOutput": output}
        return await self._context(run, "PostToolUse", **changed)

    async def tool_failed(self, input: Any) -> dict[str, Any]:
        run = await self._of(input)
        payload = AfterToolError(
            input["tool_name"], input["error"], tool_input=plain(input["tool_input"]), tool_call_id=input.get("tool_use_id")
        )
        await run.reach(run.gate(payload))
        return await self._context(run, "PostToolUseFailure")

    async def subagent(self, input: Any) -> dict[str, Any]:
        await self._of(input)
        return {}

    async def subagent_stop(self, input: Any) -> dict[str, Any]:
        run, id = await self._of(input), input["agent_id"]
        payload = AfterSubagent(
            run.session.id, agent_type=input.get("agent_type"), output=input.get("last_assistant_message"),
            stop_active=input.get("stop_hook_active"),
        )  # fmt: skip
        await self.run.reach(self.run.gate(payload))
        self.below.pop(id, None)
        await run.reach(run.session.close())
        return {}

    async def stop(self, input: Any) -> dict[str, Any]:
        self.run.stops = int(bool(input.get("stop_hook_active")))
        reason = await self.run.reach(self.run.before_stop(input.get("last_assistant_message")))
        return {} if reason is None else {"decision": "block", "reason": reason}

    async def compact(self, input: Any) -> dict[str, Any]:
        await self.run.reach(self.run.gate(BeforeCompact(input["trigger"], reason=input.get("custom_instructions"))))
        return {}

    async def notification(self, input: Any) -> dict[str, Any]:
        await self.run.reach(self.run.gate(OnNotification(input["message"], level=input.get("notification_type"))))
        return {}


def _refusal(event: str, reason: str) -> dict[str, Any]:
    if event == "PreToolUse":
        decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        return {"hookSpecificOutput": {"hookEventName": event, **decision}}
    if event in ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop", "PreCompact"):
        return {"decision": "block", "reason": reason}
    return {"systemMessage": reason}

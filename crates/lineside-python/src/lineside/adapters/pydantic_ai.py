"""Pydantic AI: a capability that puts an agent, and the agents that its tools start, under the hooks of a session.

    agent = Agent(model, tools=tools, capabilities=[Lineside(session)])
"""

from __future__ import annotations

import copy
from typing import Any, Optional

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelRetry, SkipModelRequest, ToolFailed
from pydantic_ai.messages import ModelResponse, TextPart

from ._run import AnySession, Asks, Refused, Run, above, plain


class Lineside(AbstractCapability[Any]):
    """An agent under the hooks of a session. Within a tool of another such agent its run has a session below that one's.

    `agent` is the type that hooks see. `asks` answers what hooks ask a person, and gets the decision."""

    def __init__(self, session: AnySession, *, agent: Optional[str] = None, asks: Optional[Asks] = None) -> None:
        self._run, self._agent = Run(session, asks), agent

    async def for_run(self, ctx: Any) -> "Lineside":
        own = copy.copy(self)
        own._run = Run(self._run.given, self._run.asks)
        return own

    async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
        prompt = ctx.prompt if isinstance(ctx.prompt, str) else None
        parent = above()
        if parent is None:
            if prompt is not None and await self._run.reach(self._run.prompt(prompt)) != prompt:
                raise Refused("a hook changes the prompt, which this framework cannot")
            return await handler()
        self._run = child = await parent.reach(parent.child(self._agent, prompt))
        try:
            result = await handler()
        except BaseException:
            await parent.reach(parent.child_is_over(child, self._agent, None))
            raise
        output = plain(result.output)
        text = output if isinstance(output, str) else None
        decided = await parent.reach(parent.child_is_over(child, self._agent, text))
        if text is not None and decided != text:
            result.output = decided
        return result

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        name = getattr(request_context.model, "model_name", type(request_context.model).__name__)
        try:
            text = await self._run.reach(self._run.before_model(str(name), len(request_context.messages)))
        except Refused as reason:
            raise SkipModelRequest(ModelResponse(parts=[TextPart(str(reason))])) from reason
        if text:
            ctx.enqueue(text)
        return request_context

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        run, name, id = self._run, call.tool_name, call.tool_call_id
        try:
            asked = plain(args)
            input = await run.reach(run.before_tool(name, asked, id))
            if input != asked:
                # What was not changed stays what its validation has made of it.
                args = {key: args[key] if key in args and asked[key] == value else value for key, value in input.items()}
            with run.current():
                result = await handler(args)
            return await run.reach(run.after_tool(name, args, id, result))
        except Refused as reason:
            raise ToolFailed(str(reason)) from reason

    async def on_tool_execute_error(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Exception) -> Any:
        if not isinstance(error, Refused):
            run = self._run
            await run.reach(run.tool_failed(call.tool_name, args, call.tool_call_id, error))
        raise error

    async def after_output_process(self, ctx: Any, *, output_context: Any, output: Any) -> Any:
        if not ctx.partial_output:
            reason = await self._run.reach(self._run.before_stop(output))
            if reason is not None:
                raise ModelRetry(reason)
        return output

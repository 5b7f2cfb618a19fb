"""OpenAI Agents SDK: runs of agents, and of the agents that they hand over to or have as tools, under the hooks of a session.

    result = await Lineside(session).run(agent, "Tidy up.")
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any, AsyncIterator, Awaitable, Callable, Optional

from agents import Agent, FunctionTool, Handoff, RunConfig, Runner
from agents.tool import Tool

from ._run import AnySession, Asks, Refused, Run, above

# They run at the provider, and no code here runs for them.
_HOSTED = {"WebSearchTool", "FileSearchTool", "CodeInterpreterTool", "ImageGenerationTool", "HostedMCPTool", "ToolSearchTool"}

# As `Runner.run`.
_Play = Callable[..., Awaitable[Any]]
# How many events wait for their reader.
_WAITING = 64


class Streamed:
    """A run whose events are read as they happen; nothing of it happens before. `final_output` and `result`, that of the last
    turn, are there when they are over."""

    result: Any = None

    def __init__(self, start: Callable[[_Play], Awaitable[Any]]) -> None:
        self._start = start

    @property
    def final_output(self) -> Any:
        return None if self.result is None else self.result.final_output

    async def stream_events(self) -> AsyncIterator[Any]:
        """The events, once. Raises `Refused` as `run` does. A reader that goes away ends the run."""
        events: asyncio.Queue[Any] = asyncio.Queue(_WAITING)

        async def play(agent: Agent[Any], input: Any, **more: Any) -> Any:
            result = Runner.run_streamed(agent, input, **more)
            async for event in result.stream_events():
                await events.put(event)
            return result

        async def run() -> None:
            self.result = await self._start(play)

        task = asyncio.create_task(run())
        try:
            while not (task.done() and events.empty()):
                event = asyncio.ensure_future(events.get())
                await asyncio.wait({event, task}, return_when=asyncio.FIRST_COMPLETED)
                if event.done() or not events.empty():
                    yield await event
                else:
                    event.cancel()
            await task
        finally:
            task.cancel()
            await asyncio.wait({task})


class Lineside:
    """Runs agents under the hooks of a session: `run` stands in the place of `Runner.run`, and `run_streamed` in that of
    `Runner.run_streamed`.

    Within a tool of such a run, another one has a session below it. `asks` answers what hooks ask a person, and gets the
    decision."""

    def __init__(self, session: AnySession, *, asks: Optional[Asks] = None) -> None:
        self._session, self._asks = session, asks

    async def run(self, agent: Agent[Any], input: Any, *, run_config: Optional[RunConfig] = None, **more: Any) -> Any:
        """As `Runner.run`; an agent that may not stop goes on with the reason. Raises `Refused` for a prompt or a model call
        that is refused."""
        return await self._run(Runner.run, agent, input, run_config, more)

    def run_streamed(self, agent: Agent[Any], input: Any, *, run_config: Optional[RunConfig] = None, **more: Any) -> Streamed:
        """As `Runner.run_streamed`, with the events of all turns one after another: those after a stop that is refused as well."""
        return Streamed(lambda play: self._run(play, agent, input, run_config, more))

    async def _run(self, play: _Play, agent: Agent[Any], input: Any, run_config: Optional[RunConfig], more: Any) -> Any:
        parent, text = above(), input if isinstance(input, str) else None
        if parent is None:
            run = Run(self._session, self._asks)
            if text is not None:
                input = await run.reach(run.prompt(text))
            return await self._turns(play, run, agent, input, run_config, more)
        run = await parent.reach(parent.child(agent.name, text))
        try:
            result = await self._turns(play, run, agent, input, run_config, more)
        except BaseException:
            await parent.reach(parent.child_is_over(run, agent.name, None))
            raise
        output = result.final_output if isinstance(result.final_output, str) else None
        decided = await parent.reach(parent.child_is_over(run, agent.name, output))
        if output is not None and decided != output:
            result.final_output = decided
        return result

    def as_tool(self, agent: Agent[Any], tool_name: str, tool_description: str, **more: Any) -> FunctionTool:
        """An agent as a tool of another one, in a session below. The one that `as_tool` of an agent makes is refused by `run`:
        the tools of its agent would be under no hook. `more` is what `run` takes, such as `max_turns`."""

        async def invoke(context: Any, arguments: str) -> Any:
            result = await self.run(agent, str(json.loads(arguments)["input"]), context=context.context, **more)
            return result.final_output

        schema = {
            "type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"], "additionalProperties": False,
        }  # fmt: skip
        return FunctionTool(tool_name, tool_description, schema, invoke)

    async def _turns(
        self, play: _Play, run: Run, agent: Agent[Any], input: Any, run_config: Optional[RunConfig], more: Any
    ) -> Any:
        config = run_config or RunConfig()
        before = config.call_model_input_filter

        async def filtered(data: Any) -> Any:
            found = before(data) if before is not None else data.model_data
            model_data = await found if hasattr(found, "__await__") else found
            text = await run.reach(run.before_model(str(data.agent.model), len(model_data.input)))
            if not text:
                return model_data
            return dataclasses.replace(model_data, input=[*model_data.input, {"role": "user", "content": text}])

        config = dataclasses.replace(config, call_model_input_filter=filtered)
        guarded = _guarded(agent, run, {})
        while True:
            result = await play(guarded, input, run_config=config, **more)
            reason = await run.reach(run.before_stop(result.final_output))
            if reason is None:
                return result
            input = [*result.to_input_list(), {"role": "user", "content": reason}]


def _guarded(agent: Agent[Any], run: Run, known: "dict[int, Agent[Any]]") -> Agent[Any]:
    """The agent with its tools under the hooks, and those that it hands over to."""
    if id(agent) in known:
        return known[id(agent)]
    if agent.mcp_servers:
        raise ValueError(f"the tools of the MCP servers of {agent.name} would be under no hook: give them to it as functions")
    if type(agent).get_all_tools is not Agent.get_all_tools or hasattr(agent, "capabilities"):
        kind = type(agent).__name__
        raise ValueError(f"tools that {agent.name}, a {kind}, adds when it runs would be under no hook: give them to an `Agent`")
    known[id(agent)] = guarded = agent.clone(tools=[_tool(tool, run) for tool in agent.tools])
    guarded.handoffs = [_handoff(one, run, known) for one in agent.handoffs]
    return guarded


def _handoff(one: Any, run: Run, known: "dict[int, Agent[Any]]") -> Any:
    if not isinstance(one, Handoff):
        return _guarded(one, run, known)

    async def invoke(context: Any, arguments: str) -> Any:
        return _guarded(await one.on_invoke_handoff(context, arguments), run, known)

    return dataclasses.replace(one, on_invoke_handoff=invoke)


def _tool(tool: Tool, run: Run) -> Tool:
    if not isinstance(tool, FunctionTool):
        if type(tool).__name__ in _HOSTED:
            return tool
        raise ValueError(f"{type(tool).__name__} runs here and would be under no hook: give it to the agent as a function")
    if tool._is_agent_tool:
        raise ValueError(f"the agent behind the tool {tool.name} would be under no hook: use `as_tool` of `Lineside` for it")
    inner = tool.on_invoke_tool

    async def invoke(context: Any, arguments: str) -> Any:
        try:
            asked = json.loads(arguments or "{}")
            input = await run.reach(run.before_tool(tool.name, asked, context.tool_call_id))
            with run.current():
                try:
                    result = await inner(context, arguments if input == asked else json.dumps(input))
                except Refused:
                    raise
                except Exception as error:
                    await run.reach(run.tool_failed(tool.name, input, context.tool_call_id, error))
                    raise
            return await run.reach(run.after_tool(tool.name, input, context.tool_call_id, result))
        except Refused as reason:
            return str(reason)

    return dataclasses.replace(tool, on_invoke_tool=invoke)

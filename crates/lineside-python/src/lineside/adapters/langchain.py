"""LangChain and LangGraph: a middleware of `create_agent` that puts an agent, and the agents that its tools start, under the
hooks of a session.

    agent = create_agent(model, tools, middleware=[LinesideMiddleware(session)])
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Optional

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from typing_extensions import Annotated, NotRequired

from ._run import AnySession, Asks, Refused, Run, above


class _State(AgentState):  # type: ignore[type-arg]
    lineside_session: NotRequired[Annotated[str, PrivateStateAttr]]


class LinesideMiddleware(AgentMiddleware):  # type: ignore[type-arg]
    """An agent under the hooks of a session. Within a tool of another such agent its run has a session below that one's.

    `invoke` needs a session of `lineside.sync`; `ainvoke` takes either. `agent` is the type that hooks see. `asks` answers
    what hooks ask a person, and gets the decision."""

    state_schema = _State

    def __init__(self, session: AnySession, *, agent: Optional[str] = None, asks: Optional[Asks] = None) -> None:
        super().__init__()
        self._own, self._agent = Run(session, asks), agent
        self._below: dict[str, tuple[Run, Run]] = {}

    def _run(self, state: Any) -> Run:
        below = self._below.get(state.get("lineside_session", ""))
        return below[1] if below is not None else self._own

    async def _begin(self, state: Any) -> dict[str, Any]:
        messages = state["messages"]
        prompt = next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)
        text = prompt.text if prompt is not None else ""
        parent = above()
        try:
            if parent is not None:
                child = await parent.child(self._agent, text)
                self._below[child.session.id] = (parent, child)
                return {"lineside_session": child.session.id}
            taken = await self._own.prompt(text) if prompt is not None else text
        except Refused as reason:
            return {"jump_to": "end", "messages": [AIMessage(str(reason))]}
        if prompt is None or taken == text:
            return {}
        return {"messages": [HumanMessage(taken, id=prompt.id)]}

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> Optional[dict[str, Any]]:
        return (above() or self._own).wait(self._begin(state))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Any) -> Optional[dict[str, Any]]:
        return await (above() or self._own).reach(self._begin(state))

    async def _model(self, request: Any) -> Any:
        run = self._run(request.state)
        text = await run.before_model(_name(request.model), len(request.messages))
        if not text:
            return request
        return request.override(messages=[*request.messages, HumanMessage(text)])

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> Any:
        try:
            return handler(self._run(request.state).wait(self._model(request)))
        except Refused as reason:
            return AIMessage(str(reason))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> Any:
        try:
            return await handler(await self._run(request.state).reach(self._model(request)))
        except Refused as reason:
            return AIMessage(str(reason))

    async def _stop(self, state: Any) -> Optional[dict[str, Any]]:
        last = state["messages"][-1]
        if not isinstance(last, AIMessage) or last.tool_calls:
            return None
        reason = await self._run(state).before_stop(last.text)
        if reason is None:
            return None
        return {"jump_to": "model", "messages": [HumanMessage(reason)]}

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> Optional[dict[str, Any]]:
        return self._run(state).wait(self._stop(state))

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> Optional[dict[str, Any]]:
        return await self._run(state).reach(self._stop(state))

    async def _before(self, run: Run, request: Any) -> Any:
        call = request.tool_call
        input = await run.before_tool(call["name"], call["args"], call["id"])
        return request if input == call["args"] else request.override(tool_call={**call, "args": input})

    async def _after(self, run: Run, call: Any, result: Any) -> Any:
        if not isinstance(result, ToolMessage):
            return result
        output = await run.after_tool(call["name"], call["args"], call["id"], result.content)
        return result if output is result.content else result.model_copy(update={"content": output})

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        run = self._run(request.state)
        try:
            request = run.wait(self._before(run, request))
            with run.current():
                result = handler(request)
            return run.wait(self._after(run, request.tool_call, result))
        except Refused as reason:
            return _refused(request, reason)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        run = self._run(request.state)
        try:
            request = await run.reach(self._before(run, request))
            with run.current():
                result = await handler(request)
            return await run.reach(self._after(run, request.tool_call, result))
        except Refused as reason:
            return _refused(request, reason)

    async def _end(self, state: Any) -> Optional[dict[str, Any]]:
        parent, child = self._below.pop(state.get("lineside_session", ""), (None, None))
        if parent is None or child is None:
            return None
        last = state["messages"][-1]
        try:
            output = await parent.child_is_over(child, self._agent, last.text)
        except Refused as reason:
            output = str(reason)
        return None if output == last.text else {"messages": [AIMessage(output, id=last.id)]}

    def after_agent(self, state: Any, runtime: Any) -> Optional[dict[str, Any]]:
        return self._run(state).wait(self._end(state))

    async def aafter_agent(self, state: Any, runtime: Any) -> Optional[dict[str, Any]]:
        return await self._run(state).reach(self._end(state))


def _name(model: Any) -> str:
    return str(getattr(model, "model_name", None) or getattr(model, "model", None) or type(model).__name__)


def _refused(request: Any, reason: Refused) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(str(reason), name=call["name"], tool_call_id=call["id"], status="error")

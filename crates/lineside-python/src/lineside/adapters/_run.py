"""One run of an agent of a framework: its gates, its context and its subagents, for every adapter.

Where there is no decision, nothing may happen: the reason says why. An `ask` is answered by the program, or refused.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from contextlib import contextmanager
from typing import Any, Awaitable, Callable, Coroutine, Iterator, Optional, TypeVar, Union

from .. import sync
from .._payload import Payload
from ..client import Decision, Session
from ..errors import LinesideError
from ..points import AfterSubagent, AfterTool, AfterToolError, BeforeModel, BeforePrompt, BeforeStop, BeforeSubagent, BeforeTool

T = TypeVar("T")
Asks = Callable[[Decision[Any]], Union[bool, Awaitable[bool]]]
AnySession = Union[Session, sync.Session]

_current: "contextvars.ContextVar[Optional[Run]]" = contextvars.ContextVar("lineside_run", default=None)


class Refused(Exception):
    """What was to happen must not; the text is the reason, for the model."""


class Run:
    """A run of an agent under a session. `asks` answers what hooks ask a person; without it that is refused."""

    def __init__(self, session: AnySession, asks: Optional[Asks] = None) -> None:
        self.given, self.is_sync = session, isinstance(session, sync.Session)
        self.session: Session = session.of_loop if isinstance(session, sync.Session) else session
        self.asks = asks
        self.stops = 0

    async def reach(self, work: Coroutine[Any, Any, T]) -> T:
        """Has the loop of the session do something, from the loop of the framework."""
        if not self.is_sync:
            return await work
        return await asyncio.to_thread(sync.run, work)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a framework without a loop."""
        if not self.is_sync:
            work.close()
            raise TypeError("this agent was run without a loop: give the adapter a session of `lineside.sync`")
        return sync.run(work)

    async def gate(self, payload: Payload) -> Decision[Any]:
        """Publishes, and raises `Refused` unless it may happen."""
        decision = await self.decided(payload)
        if decision.verdict == "ask":
            answer: Any = self.asks(decision) if self.asks is not None else False
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer is not True:
                raise Refused(f"a person has to agree to this, and none has: {decision.reason or decision.by}")
        return decision

    async def decided(self, payload: Payload) -> Decision[Any]:
        """Publishes, and raises `Refused` for a block and a stop, and where there is no decision."""
        try:
            decision = await self.session.publish(payload)
        except LinesideError as error:
            raise Refused(f"no hook has decided about this, so it must not happen: {error}") from error
        if decision.is_refused:
            raise Refused(decision.reason or f"the hook {decision.by} refuses it")
        return decision

    async def prompt(self, text: str) -> str:
        """The prompt of the user as it may be taken in."""
        return str((await self.gate(BeforePrompt(text))).payload.prompt)

    async def before_tool(self, tool: str, input: Any, call_id: Optional[str]) -> Any:
        """What a tool may be called with."""
        return (await self.gate(BeforeTool(tool, plain(input), tool_call_id=call_id))).payload.tool_input

    async def tool(self, tool: str, input: Any, call_id: Optional[str]) -> tuple[Decision[Any], Any]:
        """The same for a framework that asks a person itself, with the decision."""
        payload = BeforeTool(tool, plain(input), tool_call_id=call_id)
        decision = await (self.decided(payload) if self.asks is None else self.gate(payload))
        return decision, decision.payload.tool_input

    async def after_tool(self, tool: str, input: Any, call_id: Optional[str], output: Any) -> Any:
        """What goes to the model of a tool's output: itself where no hook has changed it."""
        shown = plain(output)
        payload = AfterTool(tool, shown, tool_input=plain(input), tool_call_id=call_id)
        decided = (await self.gate(payload)).payload.tool_output
        return output if decided == shown else decided

    async def tool_failed(self, tool: str, input: Any, call_id: Optional[str], error: BaseException) -> None:
        """A tool has raised: a fact that hooks hear."""
        text = f"{type(error).__name__}: {error}"
        await self.gate(AfterToolError(tool, text, tool_input=plain(input), tool_call_id=call_id))

    async def before_model(self, model: str, count: int) -> str:
        """The gate of a model call, to the text that hooks add to the context; it is accepted with this."""
        await self.gate(BeforeModel(model, message_count=count))
        return await self.context()

    async def context(self) -> str:
        """The text that hooks add to the context; it is accepted with this."""
        try:
            delivery = await self.session.collect(before_next_model=True)
            await delivery.accept()
        except LinesideError as error:
            raise Refused(f"what hooks add to the context cannot be had: {error}") from error
        return delivery.text

    async def before_stop(self, output: Any) -> Optional[str]:
        """Why the agent has to go on; `None` when it may stop."""
        try:
            await self.gate(BeforeStop(self.stops > 0, output=plain(output)))
        except Refused as reason:
            self.stops += 1
            return str(reason)
        self.stops = 0
        return None

    @contextmanager
    def current(self) -> Iterator[None]:
        """What starts within this is below this run."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    async def child(self, agent: Optional[str], prompt: Optional[str]) -> "Run":
        """A subagent's run, in a session below."""
        opening = self.session.subagent(agent=agent)
        payload = BeforeSubagent(opening.id, agent_type=agent, prompt=prompt)
        await self.gate(payload)
        return Run(self._same(await opening), self.asks)

    def _same(self, session: Session) -> AnySession:
        return sync.Session(session) if self.is_sync else session

    async def child_is_over(self, child: "Run", agent: Optional[str], output: Optional[str]) -> Optional[str]:
        """The output of a subagent as the agent above may have it; its session ends."""
        try:
            payload = AfterSubagent(child.session.id, agent_type=agent, output=output)
            decided: Optional[str] = (await self.gate(payload)).payload.output
            return decided
        finally:
            await child.session.close()


def above() -> Optional[Run]:
    """The run within which this is called."""
    return _current.get()


def plain(value: Any) -> Any:
    """A value as JSON: models of pydantic by their fields, and anything else that is none by its text."""
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    try:
        json.dumps(value, allow_nan=False)
        return value
    except (TypeError, ValueError):
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return str(value)

"""Hooks that live in this process: functions made into hooks, and the connection over which the daemon asks them.

The connection is made by the first hook that is registered, and made again whenever it breaks: with the token that the
daemon has given, or, with a daemon that was started anew, together with the sessions and everything registered on them. A
hook whose process is gone has failed: `on_failure` speaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import sys
import time
from functools import partial
from typing import Any, Awaitable, Callable, Coroutine, Generic, Mapping, Optional, Sequence, TypeVar, Union

from ._payload import Custom, Payload
from ._wire import Stream, Wire, encode, read, segment
from .errors import BrokenError, LinesideError, RefusedError
from .points import POINTS

P = TypeVar("P", bound=Payload)
T = TypeVar("T")
Point = Union[str, "type[P]"]
log = logging.getLogger("lineside")

CONCURRENCY = 64
# How long the first wait is before a connection is made again, and the longest, in seconds; each is twice the last.
FIRST, LONGEST = 0.02, 1.0
# How long the end of a client waits for what takes back calls that were cancelled, in seconds.
CLOSING = 5.0
# Answers that may be others later: what is above or beside a session is not there yet, or there is too much.
LATER = (404, 409, 429)


class Answer(dict):  # type: ignore[type-arg]
    """What an interceptor says: a verdict, and with `amend`, `append` and `notice` what else."""

    def amend(self, **fields: Any) -> "Answer":
        """Changes fields of the payload. Only a hook with `amends=True` may."""
        self.setdefault("amend", {}).update(fields)
        return self

    def append(
        self, text: str, *, role: str = "system", key: Optional[str] = None, expires: Optional[float] = None
    ) -> "Answer":
        """Adds a message to the agent's context. It takes the place of one with the same key; `expires` is in seconds."""
        message: dict[str, Any] = {"text": text, "role": role}
        if key is not None:
            message["key"] = key
        if expires is not None:
            message["expires_ms"] = max(1, int(expires * 1000))
        self.setdefault("context", []).append(message)
        return self

    def notice(self, text: str) -> "Answer":
        """Adds a message for the user."""
        self["notice"] = f"{self['notice']}\n{text}" if "notice" in self else text
        return self


def go_on() -> Answer:
    """No objection. A hook that returns `None` says the same."""
    return Answer(verdict="continue")


def allow(reason: str = "") -> Answer:
    """It may happen without a question."""
    return Answer(verdict="allow", reason=reason) if reason else Answer(verdict="allow")


def ask(reason: str) -> Answer:
    """A person decides."""
    return Answer(verdict="ask", reason=reason)


def block(reason: str) -> Answer:
    """It must not happen."""
    return Answer(verdict="block", reason=reason)


def stop(reason: str) -> Answer:
    """It must not happen, and the agent ends its turn."""
    return Answer(verdict="stop", reason=reason)


def amend(**fields: Any) -> Answer:
    """It may happen with these fields in the place of its own."""
    return go_on().amend(**fields)


def append(text: str, **more: Any) -> Answer:
    """It may happen, and the agent hears this: see `Answer.append`."""
    return go_on().append(text, **more)


def report(summary: str, body: str = "", *, failed: bool = False) -> dict[str, Any]:
    """What an automation has found: its first line, the rest, and whether something is not in order."""
    return {"summary": summary, "body": body, "found": "failure" if failed else "success"}


class Event(Generic[P]):
    """An event, as a hook is asked about it."""

    __slots__ = ("json", "payload", "environment", "_until")

    def __init__(self, event: dict[str, Any], environment: Mapping[str, str], deadline_ms: float) -> None:
        self.json = event
        """The envelope: `id`, `session`, `point`, `agent`, `cwd` and what else it has, with the payload."""
        self.payload: P = payload_of(event["point"], event.get("payload") or {})  # type: ignore[assignment]
        self.environment = environment
        """What a program inherits that is started for this event."""
        self._until = time.monotonic() + deadline_ms / 1000

    @property
    def session(self) -> str:
        """The session."""
        return str(self.json["session"])

    def remaining(self) -> float:
        """The seconds that are left for the answer."""
        return max(0.0, self._until - time.monotonic())


def payload_of(point: str, fields: Mapping[str, Any]) -> Payload:
    """The payload of a point by its name, of a dictionary."""
    kind = POINTS.get(point)
    return Custom(point, fields) if kind is None else kind.of(fields)


class Heard(Event[P]):
    """An event that was decided, as an observer hears it."""

    __slots__ = ("verdict", "reason", "lost", "receipt")

    def __init__(self, receipt: dict[str, Any], lost: int) -> None:
        super().__init__({**receipt["envelope"], "payload": receipt["payload"]}, {}, 0)
        self.verdict: str = receipt["verdict"]
        self.reason: Optional[str] = receipt.get("reason")
        self.lost, self.receipt = lost, receipt


Function = Callable[[Any], Union[Awaitable[Any], Any]]


class Hook(Generic[P]):
    """A function that is a hook once it is registered. It stays callable."""

    def __init__(self, function: Function, point: str, entry: dict[str, Any], reach: str) -> None:
        self.function, self.point, self.reach = function, point, reach
        self.entry = {"name": getattr(function, "__name__", "hook"), "on": point, **entry}
        self.is_async = inspect.iscoroutinefunction(function)

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    def __call__(self, event: Any) -> Any:
        return self.function(event)


def _hook(point: Point[Any], entry: dict[str, Any], reach: str) -> Callable[[Function], Hook[Any]]:
    name = point if isinstance(point, str) else point.point
    entry = {key: value for key, value in entry.items() if value is not None}
    return lambda function: Hook(function, name, entry, reach)


def intercept(
    point: Point[P], *, name: Optional[str] = None, matching: Optional[Mapping[str, Any]] = None, priority: int = 0,
    timeout: float = 30.0, on_failure: Optional[str] = None, amends: bool = False, reach: str = "subtree",
) -> Callable[[Function], Hook[P]]:  # fmt: skip
    """Makes a function a gate, or with `amends=True` one that may change the payload too. It gets an `Event` and returns an
    `Answer`, or `None` for no objection.

    `matching` has the filters of lineside's own format, such as `{"tool": "Shell"}`. The greater `priority` runs first.
    `timeout` is in seconds. `on_failure` is what it counts as when it cannot answer: `block`, or `continue`, which is usual
    for one that amends. `reach` is `subtree`, `self` or `children`. An `async def` runs in the loop of the client, a plain
    function in a thread."""
    usual = "continue" if amends else "block"
    entry = {
        "name": name, "match": matching and dict(matching), "priority": priority, "timeout": int(timeout * 1000),
        "on_failure": on_failure or usual, "amends": amends,
    }  # fmt: skip
    return _hook(point, entry, reach)


def automate(
    point: Point[P], *, name: Optional[str] = None, matching: Optional[Mapping[str, Any]] = None, priority: int = 0,
    timeout: float = 120.0, reach: str = "subtree", **settings: Any,
) -> Callable[[Function], Hook[P]]:  # fmt: skip
    """Makes a function an automation: background work whose jobs are the daemon's. It returns a `report`; an exception is a
    failure, which is tried again as `retry` says.

    `settings` are those of `automate` in lineside's own format, with times in milliseconds: `debounce`, `concurrency`,
    `on_busy`, `retry`, `join`, `result`, `rate`, `batch`, `at_end` and the others."""
    entry = {
        "name": name, "match": matching and dict(matching), "priority": priority, "timeout": int(timeout * 1000),
        "automate": settings,
    }  # fmt: skip
    return _hook(point, entry, reach)


def observe(point: Point[P], *, name: Optional[str] = None, reach: str = "subtree") -> Callable[[Function], Hook[P]]:
    """Makes a function an observer: it gets what was `Heard`, one event at a time, and has no authority."""
    return _hook(point, {"name": name}, reach)


class Registration:
    """A hook that is registered in the daemon and lives in this process."""

    def __init__(self, attachment: "Attachment", called: str, session: str, hook: Hook[Any]) -> None:
        self._attachment, self.called, self.session, self.hook = attachment, called, session, hook
        self.number: Optional[int] = None
        self.is_lost = False

    @property
    def entry(self) -> dict[str, Any]:
        return {"called": self.called, "reach": self.hook.reach, "hook": self.hook.entry}

    async def remove(self) -> None:
        """Takes the hook away; events under way still see it."""
        await self._attachment.remove(self)


class Attachment:
    """The hooks of one client, and the connection over which they are asked."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.token, self.last = wire, "", 0
        self.hooks: dict[str, Registration] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        """What the sessions were opened with that have hooks, and those above them."""
        self.coverage: dict[str, str] = {}
        self.calls: dict[str, asyncio.Task[None]] = {}
        self.stream: Optional[Stream] = None
        self.keeping: Optional[asyncio.Task[None]] = None
        self.undoing: set[asyncio.Task[None]] = set()
        """What takes back calls that were cancelled."""
        self.connecting = asyncio.Lock()

    async def open(
        self, fields: dict[str, Any], hooks: Sequence[Hook[Any]]
    ) -> tuple[dict[str, Any], list[Registration]]:
        """Opens a session together with hooks."""
        if hooks:
            await self.attach()
        new = [self._new(fields["id"], hook) for hook in hooks]

        async def undo() -> None:
            if fields.get("resume"):
                # It may have been open before, and stays open then.
                await self._remove_all(new)
            else:
                await self.wire.call("DELETE", f"/v1/sessions/{segment(fields['id'])}")

        opened = await self._whole(self._open(fields, new), new, undo)
        self.sessions[fields["id"]] = fields
        return opened, new

    async def _open(self, fields: dict[str, Any], hooks: Sequence[Registration]) -> dict[str, Any]:
        entries = [hook.entry for hook in hooks]
        body = {**fields, "attachment": self.token, "hooks": entries} if entries else fields
        opened: dict[str, Any] = await self.wire.call("POST", "/v1/sessions", body)
        by_name = {hook.called: hook for hook in hooks}
        problems = []
        for outcome in opened.get("hooks") or []:
            hook = by_name[outcome["called"]]
            if outcome.get("problem"):
                problems.append(outcome["problem"])
            else:
                hook.number, hook.is_lost = outcome.get("hook"), False
                _warn(hook.hook.name, outcome)
        if problems:
            raise RefusedError(problems[0].get("status", 0), problems[0])
        return opened

    def _new(self, session: str, hook: Hook[Any]) -> Registration:
        self.last += 1
        registration = Registration(self, str(self.last), session, hook)
        # It may be asked before the answer to its registration is here.
        self.hooks[registration.called] = registration
        return registration

    async def register(self, session: str, hooks: Sequence[Hook[Any]]) -> list[Registration]:
        """Registers all of these hooks, or none of them."""
        await self.attach()
        done: list[Registration] = []
        try:
            for hook in hooks:
                new = self._new(session, hook)
                await self._whole(self._register(new), [new], partial(self._remove_all, [new]))
                done.append(new)
        except asyncio.CancelledError:
            self._undo(self._remove_all(done))
            raise
        except Exception:
            await asyncio.shield(self._undo(self._remove_all(done)))
            raise
        return done

    async def _whole(self, request: Coroutine[Any, Any, T], new: Sequence[Registration], undo: Callable[[], Awaitable[None]]) -> T:
        """A request to its answer. The daemon does also what a cancelled one asks for: its answer is waited for then, and what
        was done is undone. Its hooks answer until that."""
        task = asyncio.get_running_loop().create_task(request)

        async def undone() -> None:
            try:
                await task
                await undo()
            finally:
                for registration in new:
                    self.hooks.pop(registration.called, None)

        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._undo(undone())
            raise
        except Exception:
            await asyncio.shield(self._undo(self._remove_all(new)))
            raise

    def _undo(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        async def quietly() -> None:
            # A daemon that is gone has nothing left to undo.
            with contextlib.suppress(LinesideError):
                await work

        task = asyncio.get_running_loop().create_task(quietly())
        self.undoing.add(task)
        task.add_done_callback(self.undoing.discard)
        return task

    async def _remove_all(self, registrations: Sequence[Registration]) -> None:
        """Takes away what the daemon has of them."""
        for registration in registrations:
            with contextlib.suppress(LinesideError):
                if registration.number is not None:
                    await self.remove(registration)
            self.hooks.pop(registration.called, None)

    async def _register(self, registration: Registration) -> None:
        path = f"/v1/sessions/{segment(registration.session)}/hooks"
        registered = await self.wire.call("POST", path, {**registration.entry, "attachment": self.token})
        registration.number, registration.is_lost = registered["hook"], False
        self.coverage[registration.session] = registered["coverage"]
        _warn(registration.hook.name, registered)

    async def remove(self, registration: Registration) -> None:
        path = f"/v1/sessions/{segment(registration.session)}/hooks/{registration.number}"
        try:
            removed = await self.wire.call("DELETE", path, None, {"lineside-attachment": self.token})
            self.coverage[registration.session] = removed["coverage"]
        except RefusedError as error:
            if error.status != 404:
                raise
        self.hooks.pop(registration.called, None)

    def forget(self, session: str, inherited: bool) -> None:
        """A session is closed; sessions below it may be under its hooks still, which are asked then."""
        self.sessions.pop(session, None)
        self.coverage.pop(session, None)
        if not inherited:
            self.hooks = {called: one for called, one in self.hooks.items() if one.session != session}

    async def attach(self) -> None:
        async with self.connecting:
            if self.keeping is None:
                await self._connect()
                self.keeping = asyncio.get_running_loop().create_task(self._keep())

    async def _connect(self) -> None:
        headers = {"lineside-attachment": self.token} if self.token else {}
        answer = await self.wire.upgrade("/v1/attach", "lineside-worker/2", headers)
        token = answer.headers.get("lineside-attachment", "")
        if self.token and token != self.token:
            for registration in self.hooks.values():
                # One without a number is on its way: its own call has an error.
                registration.is_lost = registration.number is not None
        self.token, self.stream = token, answer.stream

    async def _keep(self) -> None:
        """Answers over one connection after another."""
        wait = FIRST
        while True:
            stream = self.stream
            if stream is not None:
                begun = time.monotonic()
                known = asyncio.create_task(self._be_known())
                over = asyncio.get_running_loop().create_future()
                stream.hears = lambda: self._hear(stream, over)
                stream.hears()
                try:
                    await over
                finally:
                    known.cancel()
                    for call in list(self.calls.values()):
                        call.cancel()
                    stream.close(EOFError("the attachment is over"))
                    self.stream = None
                wait = FIRST if time.monotonic() - begun > FIRST else wait
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST)
            with contextlib.suppress(LinesideError):
                await self._connect()

    async def _be_known(self) -> None:
        """Opens sessions again with a daemon that knows nothing of this process, each together with its hooks."""
        wait = FIRST
        while lost := [one for one in self.hooks.values() if one.is_lost]:
            for session, fields in list(self.sessions.items()):
                hooks = [one for one in lost if one.session == session]
                if not hooks and not any(self._is_above(session, one.session) for one in lost):
                    continue
                try:
                    await self._open({**fields, "resume": True}, hooks)
                except RefusedError as error:
                    if error.status not in LATER and error.status < 500:
                        log.warning("session %s could not be opened again with its hooks: %s", session, error)
                        for one in hooks:
                            one.is_lost = False
                except BrokenError:
                    return
            await asyncio.sleep(wait)
            wait = min(wait * 2, 60.0)

    def _is_above(self, session: str, below: str) -> bool:
        parent = self.sessions.get(below, {}).get("parent")
        return parent is not None and (parent == session or self._is_above(session, parent))

    def _hear(self, stream: Stream, over: "asyncio.Future[None]") -> None:
        while (line := stream.line()) is not None:
            with contextlib.suppress(LinesideError):
                frame = read(line)
                if isinstance(frame, dict):
                    self._frame(stream, frame)
        if stream.broken is not None and not over.done():
            over.set_result(None)

    def _frame(self, stream: Stream, frame: dict[str, Any]) -> None:
        kind = frame.get("type")
        if kind == "call":
            id = frame["id"]
            task = _start(stream.loop, self._answer(stream, id, frame))
            if not task.done():
                self.calls[id] = task
                task.add_done_callback(lambda _: self.calls.pop(id, None))
        elif kind == "hello":
            _say(stream, {"type": "hello", "protocol": 2, "concurrency": CONCURRENCY})
        elif kind == "ping":
            _say(stream, {"type": "pong"})
        elif kind == "cancel":
            call = self.calls.get(frame["id"])
            if call is not None:
                call.cancel()
            else:
                _say(stream, {"type": "cancelled", "id": frame["id"]})
        elif kind == "released":
            # Sessions that were under it are over, which this process does not see.
            self.hooks.pop(str(frame.get("hook")), None)
        elif kind == "shutdown":
            _say(stream, {"type": "bye"})

    async def _answer(self, stream: Stream, id: str, frame: dict[str, Any]) -> None:
        registration = self.hooks.get(str(frame.get("hook")))
        try:
            if registration is None:
                raise LookupError("the hook was removed")
            event: Event[Any] = Event(frame["event"], frame.get("environment") or {}, frame.get("deadline_ms", 0))
            hook = registration.hook
            said = await (hook(event) if hook.is_async else asyncio.to_thread(hook, event))
            if not (said is None or isinstance(said, dict)):
                raise TypeError(f"a hook returns an answer or None, not {type(said).__name__}")
            text = encode({"type": "answer", "id": id, "answer": said})
        except asyncio.CancelledError:
            _say(stream, {"type": "cancelled", "id": id})
            raise
        except Exception as error:
            name = registration.hook.name if registration else frame.get("hook")
            log.exception("the hook %s has failed", name)
            text = encode({"type": "error", "id": id, "error": f"{type(error).__name__}: {error}"[:2000]})
        stream.send(text.encode() + b"\n")

    async def close(self) -> None:
        if self.undoing:
            await asyncio.wait(self.undoing, timeout=CLOSING)
        for task in list(self.undoing):
            task.cancel()
        if self.keeping is not None:
            self.keeping.cancel()
            await asyncio.gather(self.keeping, return_exceptions=True)
            self.keeping = None
        if self.stream is not None:
            self.stream.close(EOFError("the client is closed"))


def _start(loop: asyncio.AbstractEventLoop, work: Any) -> "asyncio.Task[None]":
    """A task that has begun already, where Python has such: most hooks answer without waiting."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)


def _say(stream: Stream, frame: dict[str, Any]) -> None:
    stream.send(encode(frame).encode() + b"\n")


def _warn(name: str, registered: Mapping[str, Any]) -> None:
    for warning in registered.get("warnings") or []:
        log.warning("hook %s: %s", name, warning)

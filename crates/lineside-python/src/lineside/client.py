"""The client of one daemon: sessions are opened, events published, decisions obeyed, context collected.

The verbs are those of the library in Rust. Where a verb raises there is no decision, and what was to happen must not happen.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any, Generator, Generic, Mapping, Optional, Sequence, TypeVar, Union, cast

from ._payload import Custom, Payload
from ._wire import Wire, encode, read, segment
from .daemon import PrivateDaemon, answers, socket_of_environment
from .errors import LinesideError, RefusedEvent, UnreadableError
from .hooks import Attachment, Hook, Registration
from .signals import Observation
from .points import AfterSession

P = TypeVar("P", bound=Payload)

VERDICTS = ("continue", "allow", "ask", "block", "stop")


class Client:
    """A client of one daemon. Nothing is connected before the first verb; use it within one event loop."""

    def __init__(self, socket: str, grant: Optional[str] = None) -> None:
        self._wire = Wire(os.fspath(socket), grant)
        self._attachment = Attachment(self._wire)
        self._private: Optional[PrivateDaemon] = None

    @classmethod
    def from_environment(cls) -> "Client":
        """The client of the daemon that the environment names, with the rights that it gives: a process that was started
        under a session opens sessions below that one."""
        grant = os.environ.get("LINESIDE_GRANT") or None
        if grant is not None and not (grant.isascii() and grant.isprintable() and " " not in grant):
            raise LinesideError(
                "LINESIDE_GRANT does not hold a grant; unset it to be a root session, or start the process again"
            )
        return cls(socket_of_environment(), grant)

    @classmethod
    async def private(cls, *arguments: str) -> "Client":
        """The client of a daemon of this process alone, which ends with the process or with `close`. It has the hooks of
        the user's files; `arguments` are more of `lineside serve`, such as `"--project", "."`."""
        daemon = await PrivateDaemon.start(*arguments)
        client = cls(daemon.socket)
        client._private = daemon
        return client

    @classmethod
    async def open(cls) -> "Client":
        """The client of the daemon that the environment names, and where none answers there that of a private one. Under
        a session, or where `LINESIDE_SOCKET` names the daemon, there is no other one."""
        client = cls.from_environment()
        if answers(client.socket) or client._wire.grant or os.environ.get("LINESIDE_SOCKET"):
            return client
        return await cls.private()

    @property
    def socket(self) -> str:
        """The socket of the daemon."""
        return self._wire.path

    def session(
        self,
        id: Optional[str] = None,
        *,
        agent: Union[str, Mapping[str, str], None] = None,
        cwd: Optional[str] = None,
        project_root: Optional[str] = None,
        host: Optional[str] = None,
        model: Optional[str] = None,
        traceparent: Optional[str] = None,
        resume: bool = False,
        hooks: Sequence[Hook[Any]] = (),
        parent: Optional[str] = None,
    ) -> "Opening":
        """A session about to be opened: `await` it, or use it with `async with`, which closes it at the end.

        It is a root, or a child of the session whose grant this client has. `agent` is its type, or an object with `id`,
        `kind` and `type`. `hooks` are registered with it: no event of it is decided without them."""
        kind = "subagent" if parent is not None or self._wire.grant else "main"
        if isinstance(agent, str):
            agent = {"id": agent, "kind": kind, "type": agent}
        selected = None if model is None else {"selected": model}
        fields = {
            "id": id or f"s-{os.urandom(12).hex()}", "agent": agent, "cwd": cwd, "project_root": project_root, "host": host,
            "model": selected, "traceparent": traceparent, "resume": resume or None, "parent": parent,
        }  # fmt: skip
        return Opening(self, {name: value for name, value in fields.items() if value is not None}, hooks)

    async def get(self, path: str) -> Any:
        """The JSON at a path of the API, such as `/v1/status`."""
        return await self._wire.call("GET", path)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What the API answers to a JSON object."""
        return await self._wire.call("POST", path, dict(body))

    async def close(self) -> None:
        """Ends the connections, the hooks that live in this process, and a private daemon. Sessions stay open."""
        await self._attachment.close()
        self._wire.close()
        if self._private is not None:
            await self._private.end()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Opening:
    """A session about to be opened."""

    def __init__(self, client: Client, fields: dict[str, Any], hooks: Sequence[Hook[Any]]) -> None:
        self._client, self._fields, self._hooks = client, fields, hooks
        self._session: Optional[Session] = None
        self.id: str = fields["id"]
        """The id that the session will have."""

    async def _open(self) -> "Session":
        opened, registered = await self._client._attachment.open(self._fields, self._hooks)
        session = Session(self._client, self.id, opened)
        session.registrations = registered
        return session

    def __await__(self) -> Generator[Any, None, "Session"]:
        return self._open().__await__()

    async def __aenter__(self) -> "Session":
        self._session = await self._open()
        return self._session

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None and not self._session.is_closed:
            await self._session.close()


class Session:
    """A session of a daemon. Dropping it closes nothing."""

    def __init__(self, client: Client, id: str, opened: Mapping[str, Any]) -> None:
        self.client, self.id, self._path = client, id, f"/v1/sessions/{segment(id)}"
        self.environment: dict[str, str] = dict(opened.get("environment") or {})
        """The variables of a process that is started under this session: what it opens stands below. They hold a secret,
        which dies with the session."""
        self.is_closed = False
        self.registrations: list[Registration] = []
        """The hooks that it was opened with."""
        self._opened = opened
        client._attachment.coverage[id] = str(opened.get("coverage", ""))
        self._states = True

    @property
    def coverage(self) -> str:
        """The digest of the hooks that it is under, as the daemon has last said it to this client."""
        return self.client._attachment.coverage.get(self.id, "")

    @property
    def traceparent(self) -> Optional[str]:
        """The W3C trace context of the session."""
        return self.environment.get("TRACEPARENT")

    def subagent(self, id: Optional[str] = None, **fields: Any) -> Opening:
        """A session below this one, under its hooks; the fields are those of `Client.session`."""
        return self.client.session(id, parent=self.id, **fields)

    async def publish(self, payload: P, *, within: Optional[float] = None, **envelope: Any) -> "Decision[P]":
        """Publishes an event, and waits for the decision: at most `within` seconds for all hooks together.

        It is sent once. Cancelling the call has the hooks cancelled that run, and leaves the event undecided. `envelope`
        has more fields of the event, such as `turn`, `cause` and `traceparent`."""
        event: dict[str, Any] = {"point": payload.point, "session": self.id, "payload": payload}
        if envelope:
            event.update((name, value) for name, value in envelope.items() if value is not None)
        if self._states:
            self._states = False
            event["coverage"] = self.coverage
        within_ms = None if within is None else int(within * 1000)
        try:
            data = encode(event).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"the payload of {payload.point} is no JSON: {error}") from error
        wire = self.client._wire
        events, number = wire.over_one(data, within_ms) or await wire.begin(data, within_ms)
        try:
            answer = await events.under_way[number][0]
        except asyncio.CancelledError:
            events.over(number, cancelled=True)
            raise
        finally:
            events.over(number)
        decision: Decision[P] = Decision(type(payload), read(answer))
        if payload.point == AfterSession.point:
            self._is_over(decision.json.get("inherited"))
        return decision

    def collect(self, *, before_next_model: bool = False, **bounds: int) -> "Collecting":
        """The messages for the agent's context: `await` it, and `accept` what is in the context then. With
        `before_next_model` it waits for the hooks that say so. Bounds are `messages`, `bytes` and `tokens`."""
        return Collecting(self, {"before_next_model": before_next_model, **bounds})

    async def register(self, *hooks: Hook[Any]) -> list[Registration]:
        """Registers hooks of this process on this session; they are inherited by everything below. All of them are registered,
        or none: a call that fails or is cancelled leaves no hook."""
        return await self.client._attachment.register(self.id, hooks)

    async def observe(self, hook: Hook[Any]) -> Observation:
        """Has a function hear what is decided in this session and below it from here on, until the `Observation` ends."""
        return await Observation.start(self.client._wire, self.id, hook)

    async def close(self) -> None:
        """Ends the session: its background hooks are waited for, each within its own time."""
        closed = await self.client._wire.call("DELETE", self._path)
        self._is_over(closed.get("inherited"))

    def _is_over(self, inherited: Any) -> None:
        self.is_closed = True
        self.client._attachment.forget(self.id, bool(inherited))


class Decision(Generic[P]):
    """What was decided about an event. The publisher obeys it: the bus acts on nothing itself."""

    __slots__ = ("json", "verdict", "payload")

    def __init__(self, kind: type[Payload], json: Any) -> None:
        if not isinstance(json, dict) or json.get("verdict") not in VERDICTS:
            raise UnreadableError("no known verdict")
        if not isinstance(json.get("payload"), dict):
            raise UnreadableError("no payload")
        self.json: dict[str, Any] = json
        """Everything that the daemon says of it, as its API describes it."""
        self.verdict: str = json["verdict"]
        """`continue`, `allow`, `ask`, `block` or `stop`."""
        point = json.get("point", "")
        payload = Custom(point, json["payload"]) if issubclass(kind, Custom) else kind.of(json["payload"])
        self.payload = cast(P, payload)
        """The payload that the decision is about: with every amendment."""

    @property
    def is_refused(self) -> bool:
        """Whether it must not happen, or its result must not be used: the verdict is a block or a stop."""
        return self.verdict in ("block", "stop")

    @property
    def reason(self) -> Optional[str]:
        """Why."""
        return self.json.get("reason")

    @property
    def by(self) -> Optional[str]:
        """The hook whose verdict it is."""
        return self.json.get("by")

    @property
    def changed(self) -> list[str]:
        """The fields that were amended."""
        return self.json.get("changed") or []

    def obey(self) -> P:
        """The payload that may run. Raises `RefusedEvent` when it must not happen, and for an `ask`, which a person has to
        answer: look at `verdict` first where one can."""
        if self.is_refused or self.verdict == "ask":
            raise RefusedEvent(str(self.json.get("point")), self.verdict, self.reason, self.by)
        return self.payload

    def __repr__(self) -> str:
        return f"Decision({self.verdict}, reason={self.reason!r}, by={self.by!r})"


class Collecting:
    """A collection about to be made. With `async with`, what was delivered is accepted when the block ends without an
    exception, and goes back within a minute otherwise."""

    def __init__(self, session: Session, fields: dict[str, Any]) -> None:
        self._session, self._fields = session, fields

    async def _take(self) -> "Delivery":
        taken = await self._session.client._wire.call("POST", f"{self._session._path}/context/collect", self._fields)
        self._delivery = Delivery(self._session, taken)
        return self._delivery

    def __await__(self) -> Generator[Any, None, "Delivery"]:
        return self._take().__await__()

    async def __aenter__(self) -> "Delivery":
        return await self._take()

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is None:
            await self._delivery.accept()


class Delivery:
    """Messages handed over. They go back to their mailbox when they are not accepted within a minute."""

    def __init__(self, session: Session, taken: Mapping[str, Any]) -> None:
        self._session, self._name = session, taken.get("delivery")
        self.messages: list[dict[str, Any]] = list(taken["messages"])
        """The messages, in order: `text`, `role`, `hook`, `event` and `id`."""
        self.text: str = taken["text"]
        """The messages as one text, each in an envelope of its own, out of which nothing can break."""
        self.remaining: int = taken["remaining"]
        """How many messages did not fit and wait for the next delivery."""
        self.missing: list[dict[str, Any]] = list(taken.get("missing") or [])
        """What the agent does not get: `hook`, `why`, `messages`."""

    async def accept(self) -> list[dict[str, Any]]:
        """They are in the agent's context now; they are not delivered again."""
        if self._name is not None:
            path = f"{self._session._path}/context/{segment(self._name)}/accept"
            self._name = None
            await self._session.client._wire.call("POST", path, {})
        return self.messages

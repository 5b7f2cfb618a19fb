"""The same verbs without `await`: a face over one loop in a thread of its own.

Hooks of a client run in that thread, or plain functions in threads of their own, whatever the program does meanwhile. Each
verb blocks its caller until there is a result.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from typing import Any, Coroutine, Optional, TypeVar

from . import client as _client
from ._payload import Payload
from .hooks import Hook

T = TypeVar("T")
P = TypeVar("P", bound=Payload)

_lock = threading.Lock()
_loop: Optional[asyncio.AbstractEventLoop] = None


def run(work: Coroutine[Any, Any, T]) -> T:
    """Has the loop of this face do something, and waits for its result."""
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="lineside", daemon=True).start()
            atexit.register(_loop.call_soon_threadsafe, _loop.stop)
    waits = asyncio.run_coroutine_threadsafe(work, _loop)
    try:
        return waits.result()
    except BaseException:
        # An interrupted caller gives up what it waits for.
        waits.cancel()
        raise


async def _awaited(what: Any) -> Any:
    return await what


class Client:
    """A client of one daemon, for code without a loop: see `lineside.Client`."""

    def __init__(self, socket: str, grant: Optional[str] = None) -> None:
        self.of_loop = _client.Client(socket, grant)

    @classmethod
    def _over(cls, of_loop: _client.Client) -> "Client":
        self = cls.__new__(cls)
        self.of_loop = of_loop
        return self

    @classmethod
    def from_environment(cls) -> "Client":
        """The client of the daemon that the environment names."""
        return cls._over(_client.Client.from_environment())

    @classmethod
    def private(cls, *arguments: str) -> "Client":
        """The client of a daemon of this process alone."""
        return cls._over(run(_client.Client.private(*arguments)))

    @classmethod
    def open(cls) -> "Client":
        """The client of the daemon that the environment names, and where none answers that of a private one."""
        return cls._over(run(_client.Client.open()))

    @property
    def socket(self) -> str:
        """The socket of the daemon."""
        return self.of_loop.socket

    def session(self, id: Optional[str] = None, **fields: Any) -> "Session":
        """Opens a session. `with` closes it at the end."""
        return Session(run(_awaited(self.of_loop.session(id, **fields))))

    def get(self, path: str) -> Any:
        """The JSON at a path of the API."""
        return run(self.of_loop.get(path))

    def close(self) -> None:
        """Ends the connections, the hooks that live in this process, and a private daemon."""
        run(self.of_loop.close())

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session:
    """A session of a daemon: see `lineside.Session`."""

    def __init__(self, of_loop: _client.Session) -> None:
        self.of_loop, self.id, self.environment = of_loop, of_loop.id, of_loop.environment

    def subagent(self, id: Optional[str] = None, **fields: Any) -> "Session":
        """Opens a session below this one."""
        return Session(run(_awaited(self.of_loop.subagent(id, **fields))))

    def publish(self, payload: P, *, within: Optional[float] = None, **envelope: Any) -> "_client.Decision[P]":
        """Publishes an event, and waits for the decision."""
        return run(self.of_loop.publish(payload, within=within, **envelope))

    def collect(self, *, before_next_model: bool = False, **bounds: int) -> "Delivery":
        """The messages for the agent's context."""
        return Delivery(run(_awaited(self.of_loop.collect(before_next_model=before_next_model, **bounds))))

    def register(self, *hooks: Hook[Any]) -> None:
        """Registers hooks of this process on this session."""
        run(self.of_loop.register(*hooks))

    def observe(self, hook: Hook[Any]) -> None:
        """Has a function hear what is decided in this session and below it, as long as this process lives."""
        run(self.of_loop.observe(hook))

    def close(self) -> None:
        """Ends the session."""
        run(self.of_loop.close())

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.of_loop.is_closed:
            self.close()


class Delivery:
    """Messages handed over: see `lineside.Delivery`."""

    def __init__(self, of_loop: _client.Delivery) -> None:
        self.of_loop = of_loop
        self.messages, self.text, self.remaining = of_loop.messages, of_loop.text, of_loop.remaining

    def accept(self) -> "list[dict[str, Any]]":
        """They are in the agent's context now."""
        return run(self.of_loop.accept())

"""The client of lineside, a hook bus for AI agents.

    import asyncio
    from lineside import BeforeTool, Client

    async def main():
        async with await Client.open() as client, client.session("s1") as session:
            decision = await session.publish(BeforeTool("Shell", {"command": "ls"}))
            if decision.is_refused:
                print(decision.reason)

    asyncio.run(main())

The sync face has the same verbs: `lineside.sync.Client`. Payloads are in `lineside.points`, adapters of frameworks in
`lineside.adapters`, and the kit of workers is `lineside.worker`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._payload import (
        Custom as Custom,
        Payload as Payload,
    )
    from .client import (
        Client as Client,
        Decision as Decision,
        Delivery as Delivery,
        Session as Session,
    )
    from .errors import (
        BrokenError as BrokenError,
        LinesideError as LinesideError,
        NoCommandError as NoCommandError,
        NoDaemonError as NoDaemonError,
        RefusedError as RefusedError,
        RefusedEvent as RefusedEvent,
        UnreadableError as UnreadableError,
    )
    from .hooks import (
        Answer as Answer,
        Event as Event,
        Heard as Heard,
        Hook as Hook,
        allow as allow,
        amend as amend,
        append as append,
        ask as ask,
        automate as automate,
        block as block,
        go_on as go_on,
        intercept as intercept,
        observe as observe,
        report as report,
        stop as stop,
    )
    from .points import *  # noqa: F403

# What a program does not name is not loaded: the loop of Python alone takes longer to load than all of this.
_NAMES = {
    "_payload": "Custom Payload",
    "client": "Client Decision Delivery Session",
    "errors": "BrokenError LinesideError NoCommandError NoDaemonError RefusedError RefusedEvent UnreadableError",
    "hooks": "Answer Event Heard Hook allow amend append ask automate block go_on intercept observe report stop",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__all__":
        return __dir__()
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(import_module(f".{_MODULES.get(name, 'points')}", __name__), name, None)
    if found is None:
        raise AttributeError(f"lineside has no {name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from . import points

    return [*_MODULES, *(name for name in dir(points) if name[0].isupper())]

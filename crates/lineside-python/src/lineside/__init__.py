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

from . import errors, points
from ._payload import Custom, Payload
from .client import Client, Decision, Delivery, Session
from .errors import (
    BrokenError,
    LinesideError,
    NoCommandError,
    NoDaemonError,
    RefusedError,
    RefusedEvent,
    UnreadableError,
)
from .hooks import (
    Answer,
    Event,
    Heard,
    Hook,
    allow,
    amend,
    append,
    ask,
    automate,
    block,
    go_on,
    intercept,
    observe,
    report,
    stop,
)
from .points import *  # noqa: F403

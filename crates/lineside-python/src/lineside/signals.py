"""Observers: what was decided in a session and below it, heard as it happens over the stream of signals.

Nothing waits for an observer, and what it has lost is told with the next event that it hears.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Optional

from ._wire import Wire, segment
from .errors import BrokenError, LinesideError, RefusedError
from .hooks import Heard, Hook, log


class Observation:
    """An observer that hears, until it ends."""

    def __init__(self, wire: Wire, path: str, session: str, hook: Hook[Any]) -> None:
        self._wire, self._path, self._session, self._hook = wire, path, session, hook
        self._lost, self._last = 0, ""
        self._task: Optional[asyncio.Task[None]] = None

    @classmethod
    async def start(cls, wire: Wire, session: str, hook: Hook[Any]) -> "Observation":
        below = "false" if hook.reach == "self" else "true"
        path = f"/v1/signals?session={segment(session)}&below={below}&point={hook.point}"
        self = cls(wire, path, session, hook)
        answer = await self._ask()
        # The stream begins with an id: everything after it is heard.
        first = await answer.chunk()
        self._task = asyncio.get_running_loop().create_task(self._keep(answer, first))
        return self

    async def _ask(self) -> Any:
        answer = await self._wire.ask("GET", self._path, None, {"last-event-id": self._last} if self._last else None)
        if answer.status >= 300:
            document = await answer.document()
            answer.stream.close(EOFError("it was refused"))
            raise RefusedError(answer.status, document)
        return answer

    async def _keep(self, answer: Any, text: bytes) -> None:
        while True:
            try:
                while True:
                    *blocks, text = text.split(b"\n\n")
                    for block in blocks:
                        await self._block(block.decode())
                    more = await answer.chunk()
                    if not more:
                        break
                    text += more
            except BrokenError:
                pass
            finally:
                answer.stream.close(EOFError("it is over"))
            text = b""
            while True:
                await asyncio.sleep(0.1)
                try:
                    answer = await self._ask()
                    break
                except LinesideError as error:
                    log.debug("signals are not heard: %s", error)

    async def _block(self, block: str) -> None:
        fields = dict(line.partition(": ")[::2] for line in block.splitlines())
        self._last = fields.get("id", self._last)
        if "data" not in fields:
            return
        signal = json.loads(fields["data"])
        if signal.get("kind") == "lost":
            self._lost += signal.get("lost", 0)
        if signal.get("kind") != "decided":
            return
        own = signal["envelope"].get("session") == self._session
        if own and self._hook.reach == "children":
            return
        heard: Heard[Any] = Heard(signal, self._lost)
        self._lost = 0
        try:
            await (self._hook(heard) if self._hook.is_async else asyncio.to_thread(self._hook, heard))
        except Exception:
            self._lost = heard.lost + 1
            log.exception("the observer %s has failed", self._hook.name)

    async def end(self) -> None:
        """It hears nothing from here on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

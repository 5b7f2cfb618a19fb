"""What can go wrong, each with what to do about it.

Where a verb that publishes raises one of these there is no decision, and what was to happen must not happen.
"""

from __future__ import annotations

from typing import Any, Optional


class LinesideError(Exception):
    """A request has no result."""


class NoDaemonError(LinesideError):
    """No daemon answers at the socket."""

    def __init__(self, socket: str, why: object) -> None:
        super().__init__(
            f"no daemon answers at {socket} ({why}); start one with `lineside serve --detached`, "
            "or use Client.private() for one of this process"
        )
        self.socket = socket


class BrokenError(LinesideError):
    """The connection broke before the answer: whether the daemon has met the request is not known."""

    def __init__(self, why: object) -> None:
        super().__init__(
            f"the connection to the daemon broke before its answer ({why}); nothing is sent twice, "
            "so treat the event as refused"
        )


class RefusedError(LinesideError):
    """The daemon does not meet the request."""

    def __init__(self, status: int, problem: Any) -> None:
        problem = problem if isinstance(problem, dict) else {}
        super().__init__(str(problem.get("detail") or f"the daemon answered with status {status}"))
        self.status = status
        self.kind = str(problem.get("type", ""))
        """Which problem it is: `urn:lineside:problem:` and a word."""
        self.blocks = problem.get("verdict") == "block"
        """Whether an event that was to be published must not happen, because no gate has seen it."""


class UnreadableError(LinesideError):
    """The answer is not the documented one; the daemon may be of another version."""

    def __init__(self, what: object) -> None:
        super().__init__(f"the answer of the daemon cannot be read: {what}; `lineside --version` shows which one it is")


class NoCommandError(LinesideError):
    """The command `lineside`, which has the daemon, is not there or does not start."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; install it (`pip install lineside` brings it along), or name it in LINESIDE_COMMAND")


class RefusedEvent(Exception):
    """A decision refuses what was to happen. Raised by `Decision.obey`."""

    def __init__(self, point: str, verdict: str, reason: Optional[str], by: Optional[str]) -> None:
        super().__init__(reason or f"{by or 'a hook'} refuses it")
        self.point, self.verdict, self.reason, self.by = point, verdict, reason, by

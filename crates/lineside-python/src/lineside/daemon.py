"""Where the daemon of an environment is, and a daemon of one process: the command `lineside serve --private`."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from ._wire import connect
from .errors import NoCommandError, NoDaemonError

if TYPE_CHECKING:
    import subprocess


def socket_of_environment() -> str:
    """The socket of the daemon that the environment names: `LINESIDE_SOCKET`, else the place in `XDG_RUNTIME_DIR`, else that
    in the state folder of `XDG_STATE_HOME` or `HOME`, else the account's. What is no absolute path counts as not set."""

    def path(name: str) -> Optional[str]:
        value = os.environ.get(name, "")
        return value if os.path.isabs(value) else None

    if named := path("LINESIDE_SOCKET"):
        return named
    if runtime := path("XDG_RUNTIME_DIR"):
        return f"{runtime}/lineside/lineside.sock"
    import pwd

    uid = os.geteuid()
    try:
        account: Optional[str] = pwd.getpwuid(uid).pw_dir
    except KeyError:
        account = None
    home = path("HOME") or account
    if home is None:
        raise NoDaemonError("an unknown place", "the system knows no home of this user; set HOME or LINESIDE_SOCKET")
    of_state = path("XDG_STATE_HOME")
    state = f"{of_state}/lineside" if of_state else f"{home}/.local/state/lineside"
    if account is not None and Path(state) == Path(account, ".local/state/lineside") and _is_private(f"/run/user/{uid}"):
        return f"/run/user/{uid}/lineside/lineside.sock"
    return f"{state}/lineside.sock"


def _is_private(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def answers(path: str) -> bool:
    """Whether a daemon of this user listens at a socket."""
    try:
        connect(path).close()
    except NoDaemonError:
        return False
    return True


def command() -> str:
    """The command `lineside`: `LINESIDE_COMMAND`, that of this installation, or that of the path."""
    import shutil
    import sysconfig

    named = os.environ.get("LINESIDE_COMMAND")
    if named:
        return named
    own = shutil.which("lineside", path=sysconfig.get_path("scripts"))
    found = own or shutil.which("lineside")
    if found is None:
        raise NoCommandError("the command `lineside` was not found beside this Python, nor on the path")
    return found


class PrivateDaemon:
    """A daemon of this process. It ends when its standard input does, so it outlives this process by no way of ending."""

    def __init__(self, process: subprocess.Popen[bytes], socket: str) -> None:
        self._process, self.socket = process, socket

    @classmethod
    async def start(cls, *arguments: str) -> "PrivateDaemon":
        import subprocess

        program = command()
        line = [program, "serve", "--private", *arguments]
        try:
            process = subprocess.Popen(
                line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise NoCommandError(f"could not start {program}: {error.strerror or error}") from error
        assert process.stdout is not None
        ready = (await asyncio.to_thread(process.stdout.readline)).decode(errors="replace").strip()
        if not ready.startswith("ready: "):
            status = await asyncio.to_thread(process.wait)
            raise NoCommandError(
                f"`{' '.join(line)}` ended with status {status} before it was ready; what it says stands on standard error"
            )
        return cls(process, ready[len("ready: ") :].split(" and http://")[0])

    async def end(self) -> None:
        """Has it end: what is under way comes to its end first."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        await asyncio.to_thread(self._process.wait)
        self._process.stdout.close()

"""Connections to the socket of a daemon, in asyncio: requests, connections for events, and those that become something else.

Everything that is read is read by a callback of the loop; no event has a task of its own. A request and an event are sent
once: what may have arrived is not sent again.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import stat
import struct
from collections import deque
from functools import partial
from typing import Any, Callable, Optional

from .errors import BrokenError, NoDaemonError, RefusedError, UnreadableError

def _encoder() -> Callable[[Any], str]:
    """An encoder that is made once: `json` makes one for each text, which takes longer than most texts. It looks for no circles,
    which are a `RecursionError`."""
    usual = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
    made, quoted = (getattr(json.encoder, name, None) for name in ("c_make_encoder", "encode_basestring"))
    if made is None or quoted is None:
        return usual.encode
    parts = made(None, usual.default, quoted, None, ":", ",", False, False, False)
    return lambda value: "".join(parts(value, 0))


encode = _encoder()
_decoder = json.JSONDecoder()
decode = _decoder.decode

CHUNK = 64 * 1024
# The daemon takes no more events of a connection at once, nor more bytes of them together; a longer one goes alone.
MOST, MOST_BYTES = 64, 64 * 1024
# The head of a decision, as every daemon has written it.
DECISION = re.compile(rb'\{"type":"decision","id":([0-9]+),"bytes":([0-9]+)\}\n').match
NEWLINE = 10
# How many connections for events there are before events share one, and before those without an event are closed.
FEW, MANY = 4, 64


def segment(text: str) -> str:
    """A text as one segment of a path."""
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 or byte in b"-_~" else f"%{byte:02X}" for byte in text.encode())


def is_foreign(path: str) -> Optional[str]:
    """Why another user may have put a socket at this path; `None` when none can have."""
    for place, wanted, what in ((os.path.dirname(path), stat.S_ISDIR, "folder"), (path, stat.S_ISSOCK, "socket")):
        found = os.lstat(place)
        if not wanted(found.st_mode):
            return f"{place} is no {what}"
        if found.st_uid != os.geteuid():
            return f"{place} belongs to another user"
        if what == "folder" and found.st_mode & 0o077:
            return f"{place} is open to other users: `chmod 700` it"
    return None


def connect(path: str) -> socket.socket:
    """A connection to the socket of this user; no byte is sent to another user's process."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        why = is_foreign(path)
        if why is not None:
            raise PermissionError(why)
        sock.connect(path)
        if hasattr(socket, "SO_PEERCRED"):
            peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            if struct.unpack("3i", peer)[1] != os.geteuid():
                raise PermissionError("another user listens there")
        sock.setblocking(False)
        return sock
    except OSError as error:
        sock.close()
        raise NoDaemonError(path, error.strerror or error) from error


class Stream:
    """A connection whose bytes are read as they come, by a callback of the loop."""

    def __init__(self, sock: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        self.sock, self.loop, self.fd = sock, loop, sock.fileno()
        self.incoming = bytearray()
        self.outgoing: deque[bytes] = deque()
        self.broken: Optional[BaseException] = None
        self.hears: Callable[[], None] = lambda: None
        self.takes: Callable[[bytes], bool] = lambda data: False
        """Takes bytes that are whole as they have come, without the buffer; whether it has."""
        loop.add_reader(self.fd, self._readable)

    def _readable(self) -> None:
        try:
            data = self.sock.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            return self.close(error)
        if not data:
            return self.close(EOFError("the daemon has closed it"))
        if self.incoming or not self.takes(data):
            self.incoming += data
            self.hears()

    def send(self, data: bytes) -> bool:
        """Sends bytes behind those that were not taken yet. `False` when none of them can arrive."""
        if self.broken is not None:
            return False
        if self.outgoing:
            self.outgoing.append(data)
            return True
        try:
            count = self.sock.send(data)
        except (BlockingIOError, InterruptedError):
            count = 0
        except OSError as error:
            self.close(error)
            return False
        if count < len(data):
            self.outgoing.append(data[count:])
            self.loop.add_writer(self.fd, self._writable)
        return True

    def _writable(self) -> None:
        try:
            while self.outgoing:
                count = self.sock.send(self.outgoing[0])
                if count < len(self.outgoing[0]):
                    self.outgoing[0] = self.outgoing[0][count:]
                    return
                self.outgoing.popleft()
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            return self.close(error)
        self.loop.remove_writer(self.fd)

    def close(self, why: BaseException) -> None:
        if self.broken is None:
            self.broken = why
            if not self.loop.is_closed():
                self.loop.remove_reader(self.fd)
                self.loop.remove_writer(self.fd)
            self.sock.close()
            self.hears()

    async def until(self, ready: Callable[[], Any]) -> Any:
        """What `ready` finds in the bytes that have come, as soon as it is not `None`."""
        while (found := ready()) is None:
            if self.broken is not None:
                raise BrokenError(self.broken)
            more = self.loop.create_future()
            self.hears = partial(_wake, more)
            await more
        return found

    def take(self, count: int) -> Optional[bytes]:
        if len(self.incoming) < count:
            return None
        data = bytes(self.incoming[:count])
        del self.incoming[:count]
        return data

    def line(self) -> Optional[bytes]:
        end = self.incoming.find(b"\n")
        return None if end < 0 else self.take(end + 1)


def _wake(waits: "asyncio.Future[None]") -> None:
    if not waits.done():
        waits.set_result(None)


class Reply:
    """The head of an answer, and what reads its body."""

    def __init__(self, stream: Stream, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.stream, self.status = stream, int(first.split(" ", 2)[1])
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.is_chunked = "chunked" in self.headers.get("transfer-encoding", "")

    async def chunk(self) -> bytes:
        """The next part of a body in chunks; empty at its end."""
        line = await self.stream.until(self.stream.line)
        length = int(line.split(b";")[0], 16)
        data = await self.stream.until(lambda: self.stream.take(length + 2))
        return bytes(data[:-2])

    async def body(self) -> bytes:
        if not self.is_chunked:
            length = int(self.headers.get("content-length", 0))
            return bytes(await self.stream.until(lambda: self.stream.take(length)))
        parts = []
        while part := await self.chunk():
            parts.append(part)
        return b"".join(parts)

    async def document(self) -> Any:
        return read(await self.body())


def read(text: bytes) -> Any:
    try:
        whole = text.decode()
        value, end = _decoder.raw_decode(whole)
        # Nearly nothing has spaces around it.
        return value if end == len(whole) else decode(whole)
    except ValueError as error:
        raise UnreadableError(error) from error


Sent = tuple["Events", int]


class Wire:
    """The connections to one daemon, and the grant that is shown there."""

    def __init__(self, path: str, grant: Optional[str] = None) -> None:
        self.path, self.grant = path, grant
        self.pool: list[Events] = []
        self.lock: Optional[tuple[asyncio.AbstractEventLoop, asyncio.Lock]] = None

    async def ask(self, method: str, path: str, body: Any = None, headers: Optional[dict[str, str]] = None) -> Reply:
        """A request over a connection of its own, to the head of its answer."""
        stream = Stream(connect(self.path), asyncio.get_running_loop())
        data = b"" if body is None else encode(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "host: lineside", "content-type: application/json"]
        lines.append(f"content-length: {len(data)}")
        more = dict(headers or {})
        if self.grant:
            more["lineside-grant"] = self.grant
        lines.extend(f"{name}: {value}" for name, value in more.items())
        try:
            stream.send("\r\n".join((*lines, "", "")).encode("latin-1") + data)

            def head() -> Optional[bytes]:
                end = stream.incoming.find(b"\r\n\r\n")
                return None if end < 0 else stream.take(end + 4)

            return Reply(stream, (await stream.until(head))[:-4])
        except BaseException as error:
            # The end of its connection cancels a request at the daemon.
            stream.close(error)
            raise

    async def call(self, method: str, path: str, body: Any = None, headers: Optional[dict[str, str]] = None) -> Any:
        """A request to the JSON of its answer."""
        answer = await self.ask(method, path, body, headers)
        try:
            document = await answer.document()
        finally:
            answer.stream.close(EOFError("it was answered"))
        if answer.status >= 300:
            raise RefusedError(answer.status, document)
        return document

    async def upgrade(self, path: str, protocol: str, headers: Optional[dict[str, str]] = None) -> Reply:
        """A connection that becomes one of another protocol."""
        answer = await self.ask("POST", path, None, {"connection": "upgrade", "upgrade": protocol, **(headers or {})})
        if answer.status != 101:
            try:
                document = await answer.document()
            finally:
                answer.stream.close(EOFError("it was refused"))
            raise RefusedError(answer.status, document)
        return answer

    async def begin(self, event: bytes, within_ms: Optional[int]) -> "Sent":
        """Sends an event once, where no connection was ready for it."""
        sent = self.over_one(event, within_ms)
        if sent is None:
            # Those who wait for a connection meanwhile share it.
            async with self._connecting():
                sent = self.over_one(event, within_ms)
                if sent is None:
                    events = await self._another()
                    number = events.publish(event, within_ms)
                    if number is None:
                        raise BrokenError("it was closed before it took anything")
                    sent = (events, number)
        return sent

    def over_one(self, event: bytes, within_ms: Optional[int]) -> "Optional[Sent]":
        """Sends it over one of the connections that there are: one without an event, or a shared one where there are a few."""
        loop = asyncio.get_running_loop()
        if self.pool:
            last = self.pool[-1]
            if not last.under_way and last.stream.loop is loop:
                number = last.publish(event, within_ms)
                if number is not None:
                    return last, number
        self.pool = pool = [one for one in self.pool if one.stream.broken is None and one.stream.loop is loop]
        idle = [one for one in pool if not one.under_way]
        shared = pool if len(pool) >= FEW else []
        for one in (*idle, *(one for one in shared if one.under_way and one.has_room(len(event)))):
            number = one.publish(event, within_ms)
            if number is not None:
                return one, number
        return None

    def _connecting(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self.lock is None or self.lock[0] is not loop:
            self.lock = (loop, asyncio.Lock())
        return self.lock[1]

    async def _another(self) -> "Events":
        answer = await self.upgrade("/v1/events/connection", "lineside-events/1")
        if len(self.pool) >= MANY:
            for idle in [one for one in self.pool if not one.under_way]:
                self.pool.remove(idle)
                idle.stream.close(EOFError("it is one too many"))
        events = Events(answer.stream)
        self.pool.append(events)
        return events

    def close(self) -> None:
        for events in self.pool:
            events.stream.close(EOFError("the client is closed"))
        self.pool.clear()


def _head(line: bytes) -> tuple[Any, Any, int]:
    """The kind, the number and the length of a frame."""
    head = decode(line.decode())
    return head.get("type"), head.get("id"), head.get("bytes", 0)


class Events:
    """One connection for events: frames of a line, its head, and as many bytes behind it as the head says."""

    def __init__(self, stream: Stream) -> None:
        self.stream, self.last, self.bytes = stream, 0, 0
        self.under_way: dict[int, tuple[asyncio.Future[bytes], int]] = {}
        stream.hears, stream.takes = self._hear, self._decisions
        self._hear()

    def has_room(self, length: int) -> bool:
        return not self.under_way or (len(self.under_way) < MOST and self.bytes + length <= MOST_BYTES)

    def publish(self, event: bytes, within_ms: Optional[int]) -> Optional[int]:
        """The number of an event that was sent; `None` when the connection has taken nothing of it."""
        self.last = number = self.last + 1
        length = len(event)
        if within_ms is None:
            head = b'{"type":"publish","id":%d,"bytes":%d}\n' % (number, length)
        else:
            head = b'{"type":"publish","id":%d,"bytes":%d,"within_ms":%d}\n' % (number, length, within_ms)
        if not self.stream.send(head + event):
            return None
        self.under_way[number] = (self.stream.loop.create_future(), length)
        self.bytes += length
        return number

    def over(self, number: int, cancelled: bool = False) -> None:
        """An event was answered, or is given up."""
        waits = self.under_way.pop(number, None)
        if waits is not None:
            self.bytes -= waits[1]
            if cancelled:
                self.stream.send(b'{"type":"cancel","id":%d}\n' % number)

    def _decisions(self, data: bytes) -> bool:
        """Takes bytes that are whole decisions, as they nearly always come; whether they are."""
        at, bodies = 0, []
        while at < len(data):
            if data[at] == NEWLINE:
                at += 1
                continue
            found = DECISION(data, at)
            if found is None:
                return False
            start = found.end()
            at = start + int(found[2])
            if at > len(data):
                return False
            bodies.append((int(found[1]), data[start:at]))
        for number, body in bodies:
            self._take("decision", number, body)
        return True

    def _hear(self) -> None:
        incoming = self.stream.incoming
        start = 0
        while (end := incoming.find(b"\n", start)) >= 0:
            if end == start:
                start = end + 1
                continue
            found = DECISION(incoming, start)
            if found is not None:
                kind, number, length = "decision", int(found[1]), int(found[2])
            else:
                try:
                    kind, number, length = _head(bytes(incoming[start:end]))
                except (ValueError, AttributeError, TypeError) as error:
                    self.stream.close(error)
                    break
            stop = end + 1 + length
            if len(incoming) < stop:
                break
            self._take(kind, number, bytes(incoming[end + 1 : stop]))
            start = stop
        del incoming[:start]
        if self.stream.broken is not None:
            for future, _ in self.under_way.values():
                if not future.done():
                    future.set_exception(BrokenError(self.stream.broken))

    def _take(self, kind: Any, number: Any, body: bytes) -> None:
        if kind == "problem" and number is None:
            return self.stream.close(EOFError(body.decode(errors="replace")))
        waits = self.under_way.get(number)
        # One that was cancelled may have been on its way; a kind that is not known is of a later version.
        if waits is None or waits[0].done():
            return
        if kind == "decision":
            waits[0].set_result(body)
        elif kind == "problem":
            try:
                problem = read(body)
                waits[0].set_exception(RefusedError(problem.get("status", 0), problem))
            except (UnreadableError, AttributeError) as error:
                waits[0].set_exception(error)

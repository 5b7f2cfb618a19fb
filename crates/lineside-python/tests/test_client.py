"""The client: what is published is decided, what is refused says so, and what has no decision raises."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from house import SOURCES, House
from lineside import (
    AfterSession,
    BeforeTool,
    BrokenError,
    Client,
    Custom,
    LinesideError,
    NoCommandError,
    NoDaemonError,
    OnConfigChange,
    OnIdle,
    RefusedError,
    RefusedEvent,
    block,
    intercept,
)
from lineside import sync
from lineside._wire import Events, Stream
from lineside.daemon import socket_of_environment

HOOKS = """
hooks:
  - name: no-deletions
    on: before_tool
    match: {runs: rm}
    verdict: block
    reason: nothing is deleted here
  - name: says
    on: before_tool
    match: {tool: Shell, argument: {command: "^ls"}}
    context: there are many files
  - name: quiet
    on: before_tool
    match: {tool: Shell, argument: {command: "^cat"}}
    amend: {tool_input.command: cat -s}
  - name: person
    on: before_tool
    match: {runs: git}
    verdict: ask
    reason: git is asked about
"""


def shell(command: str) -> BeforeTool:
    return BeforeTool("Shell", {"command": command})


class Publishing(House):
    HOOKS = HOOKS

    async def test_a_decision_is_obeyed_amended_or_asked(self) -> None:
        async with self.client.session("s1") as session:
            refused = await session.publish(shell("rm -rf /"))
            self.assertTrue(refused.is_refused)
            self.assertEqual(("block", "no-deletions"), (refused.verdict, refused.by))
            self.assertIn("nothing is deleted here", refused.reason or "")
            with self.assertRaises(RefusedEvent):
                refused.obey()
            amended = await session.publish(shell("cat x"))
            self.assertEqual({"command": "cat -s"}, amended.obey().tool_input)
            self.assertEqual(["tool_input"], amended.changed)
            with self.assertRaisesRegex(RefusedEvent, "git is asked about"):
                (await session.publish(shell("git push"))).obey()

    async def test_context_is_delivered_until_it_is_accepted(self) -> None:
        async with self.client.session("s1") as session:
            await session.publish(shell("ls"))
            first = await session.collect()
            self.assertEqual(["there are many files"], [message["text"] for message in first.messages])
            self.assertIn('hook="says"', first.text)
            await first.accept()
            await first.accept()
            self.assertEqual([], (await session.collect()).messages)
            await session.publish(shell("ls"))
            with self.assertRaises(ZeroDivisionError):
                async with session.collect(before_next_model=True):
                    raise ZeroDivisionError
            # It is out for a minute, in which nobody else gets it, and no acceptance has settled it.
            self.assertEqual([], (await session.collect()).messages)

    async def test_many_events_at_once_share_few_connections_and_each_has_its_own_decision(self) -> None:
        async with self.client.session("s1") as session:
            commands = [f"{'rm' if number % 3 == 0 else 'echo'} {number}" for number in range(200)]
            decisions = await asyncio.gather(*(session.publish(shell(command)) for command in commands))
            for number, decision in enumerate(decisions):
                self.assertEqual(number % 3 == 0, decision.is_refused)
                self.assertEqual({"command": commands[number]}, decision.payload.tool_input)
            self.assertLess(len(self.client._wire.pool), 8)
            long = shell("echo " + "x" * 3_000_000)
            self.assertEqual(long, (await session.publish(long)).payload)

    async def test_what_is_no_request_is_refused_with_what_would_be_right(self) -> None:
        async with self.client.session("s1") as session:
            with self.assertRaisesRegex(RefusedError, "open already") as taken:
                await self.client.session("s1")
            self.assertEqual(409, taken.exception.status)
            with self.assertRaises(RefusedError) as wrong:
                await session.publish(BeforeTool("Shell", None) if False else Custom("before_toll", {}))
            self.assertTrue(wrong.exception.blocks, "no gate has seen it")
            with self.assertRaisesRegex(TypeError, "before_tool is no JSON"):
                await session.publish(BeforeTool("Shell", {"command": object()}))  # type: ignore[dict-item]
            circle: "dict[str, object]" = {}
            circle["command"] = circle
            for wrong in (circle, {"command": float("nan")}, {(1, 2): "a pair"}):
                with self.assertRaisesRegex(TypeError, "before_tool is no JSON"):
                    await session.publish(BeforeTool("Shell", wrong))  # type: ignore[arg-type]
            odd = {"é\n\"\u2028😀": [1.5, None, True, {"1": [], "": {}}], "\x00\x7f": 10**20}
            self.assertEqual(odd, (await session.publish(BeforeTool("Shell", odd))).payload.tool_input)
        with self.assertRaises(RefusedError):
            await session.publish(OnIdle())

    async def test_a_session_ends_with_its_last_event(self) -> None:
        async with self.client.session("s1") as session:
            await session.publish(AfterSession("done"))
            self.assertTrue(session.is_closed)
        async with self.client.session("s1"):
            pass

    async def test_a_child_in_another_process_is_below_the_session_that_it_inherits(self) -> None:
        @intercept(BeforeTool)
        async def parental(event: object) -> object:
            return block("said by the parent")

        child = """
import asyncio
from lineside import BeforeTool, Client
async def main():
    async with Client.from_environment() as client, client.session("below", agent="reviewer") as session:
        decision = await session.publish(BeforeTool("Read", {"path": "x"}))
        print(decision.verdict, decision.reason, (await client.get("/v1/sessions/below"))["parent"])
asyncio.run(main())
"""
        async with self.client.session("s1", hooks=[parental]) as session:
            printed = await self.script(child, session.environment)
            self.assertEqual("block said by the parent s1\n", printed)

    async def test_the_end_of_a_daemon_leaves_events_undecided_and_a_later_one_is_another_daemon(self) -> None:
        waits = asyncio.Event()

        @intercept(BeforeTool)
        async def slow(event: object) -> None:
            waits.set()
            await asyncio.sleep(60)

        session = await self.client.session("s1", hooks=[slow])
        publishing = asyncio.create_task(session.publish(shell("ls")))
        await waits.wait()
        assert self.client._private is not None
        os.kill(self.client._private._process.pid, signal.SIGKILL)
        with self.assertRaisesRegex(BrokenError, "treat the event as refused"):
            await publishing
        await asyncio.to_thread(self.client._private._process.wait)
        with self.assertRaisesRegex(NoDaemonError, "lineside serve"):
            await session.publish(shell("ls"))

    async def test_a_publisher_that_gives_up_has_its_hooks_cancelled(self) -> None:
        began, ended = asyncio.Event(), asyncio.Event()

        @intercept(BeforeTool)
        async def slow(event: object) -> None:
            began.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

        async with self.client.session("s1", hooks=[slow]) as session:
            publishing = asyncio.create_task(session.publish(shell("ls")))
            await began.wait()
            publishing.cancel()
            await asyncio.wait_for(ended.wait(), 10)
            refused = await session.publish(shell("ls"), within=0.05)
            self.assertTrue(refused.is_refused, "out of time")


class Frames(unittest.IsolatedAsyncioTestCase):
    async def test_decisions_are_read_in_whatever_pieces_and_behind_whatever_heads_they_come(self) -> None:
        own, other = socket.socketpair()
        own.setblocking(False)
        events = Events(Stream(own, asyncio.get_running_loop()))
        later = b'\n{"type":"later","bytes":9}\n{"id":1}\n\n'
        heads = (
            b'{"type":"decision","id":%d,"bytes":%d}\n',
            later + b'{"type":"decision","id":%d,"bytes":%d,"later":1}\n',
            b'{"id": %d, "bytes": %d, "type": "decision"}\n',
            b'\n\n{"type":"decision","id":%d,"bytes":%d}\n',
        )
        with other:
            for head in heads:
                for piece in (10_000, 1, 7, 38, 39, 40, 200):
                    sent = {number: b"x\n" * (number % 50) for number in (events.publish(b"", None) for _ in range(3)) if number}
                    waiting = {number: events.under_way[number][0] for number in sent}
                    data = b"".join(head % (number, len(body)) + body for number, body in sent.items())
                    for at in range(0, len(data), piece):
                        other.sendall(data[at : at + piece])
                        await asyncio.sleep(0)
                    self.assertEqual(sent, {number: await future for number, future in waiting.items()})
                    for number in sent:
                        events.over(number)
            self.assertEqual(0, events.bytes)
            events.stream.close(EOFError("it is over"))


class Payloads(unittest.TestCase):
    def test_a_payload_is_json_with_attributes(self) -> None:
        payload = BeforeTool("Shell", {"command": "ls"}, tool_class="shell")
        self.assertEqual({"tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_class": "shell"}, payload)
        self.assertEqual(("shell", None), (payload.tool_class, payload.paths))
        with self.assertRaisesRegex(AttributeError, "before_tool has no field `tool`; it has: tool_name"):
            payload.tool  # noqa: B018
        self.assertEqual({"keys": ["a"]}, OnConfigChange(keys_=["a"]))
        self.assertEqual(["a"], OnConfigChange(keys_=["a"]).keys_)


class Places(unittest.IsolatedAsyncioTestCase):
    def test_the_socket_is_where_the_command_has_it(self) -> None:
        for variables in ({"LINESIDE_SOCKET": "/a/s"}, {"XDG_RUNTIME_DIR": "/r"}, {"XDG_STATE_HOME": "/st"}, {"HOME": "/h"}):
            environment = {"PATH": os.environ["PATH"], **variables}
            command = [os.environ["LINESIDE_COMMAND"], "status", "--json"]
            said = subprocess.run(command, env=environment, capture_output=True, text=True)
            code = "from lineside.daemon import socket_of_environment as s; print(s())"
            own = subprocess.run(
                [sys.executable, "-c", code], env={**environment, "PYTHONPATH": SOURCES}, capture_output=True, text=True
            )
            self.assertIn(own.stdout.strip(), said.stdout + said.stderr, variables)

    async def test_nothing_is_sent_to_a_socket_that_others_can_reach(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/s"
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                listener.setblocking(False)
                os.chmod(folder, 0o755)
                with self.assertRaisesRegex(NoDaemonError, "chmod 700"):
                    await Client(path).session("s1")
                with self.assertRaises(BlockingIOError):
                    listener.accept()

    async def test_a_grant_that_is_none_and_a_command_that_is_absent_say_what_to_do(self) -> None:
        kept = dict(os.environ)
        try:
            os.environ["LINESIDE_GRANT"] = "not\na grant"
            with self.assertRaisesRegex(LinesideError, "unset it"):
                Client.from_environment()
            del os.environ["LINESIDE_GRANT"]
            os.environ["LINESIDE_COMMAND"] = "/nowhere/lineside"
            with self.assertRaisesRegex(NoCommandError, "pip install lineside"):
                await Client.private()
        finally:
            os.environ.clear()
            os.environ.update(kept)

    async def test_a_private_daemon_ends_with_its_process_however_that_ends(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            code = (
                "import asyncio, os, signal\nfrom lineside import Client\n"
                "async def main():\n    client = await Client.open()\n"
                "    print(client._private._process.pid, client.socket, flush=True)\n"
                "    os.kill(os.getpid(), signal.SIGKILL)\nasyncio.run(main())"
            )
            names = ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "LINESIDE_SOCKET", "LINESIDE_GRANT")
            variables = {key: value for key, value in os.environ.items() if key not in names}
            variables.update(PYTHONPATH=SOURCES, HOME=home)
            with subprocess.Popen([sys.executable, "-c", code], env=variables, stdout=subprocess.PIPE, text=True) as dead:
                assert dead.stdout is not None
                pid, path = dead.stdout.readline().split()
            with socket.socket(socket.AF_UNIX) as peer:
                peer.settimeout(10)
                try:
                    peer.connect(path)
                    # It is there until it has ended, and says nothing before that.
                    self.assertEqual(b"", peer.recv(1))
                except OSError:
                    pass
            self.assertFalse(Path(path).exists() and _is_running(int(pid)) and not _ends(int(pid)))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _ends(pid: int) -> bool:
    """Whether a process that is no child of this one ends within a while."""
    import select

    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 30)[0])
    finally:
        os.close(handle)


class Sync(unittest.TestCase):
    def test_the_sync_face_has_the_same_verbs(self) -> None:
        @intercept(BeforeTool, matching={"tool": "Shell"})
        def gate(event: object) -> object:
            return block("not now")

        with tempfile.TemporaryDirectory() as home, sync.Client.private("--home", home) as client:
            with client.session("s1", agent="main") as session:
                session.register(gate)
                self.assertEqual("not now", session.publish(shell("ls")).reason)
                with session.subagent(agent="reviewer") as child:
                    self.assertTrue(child.publish(shell("ls")).is_refused)
                self.assertEqual([], session.collect(before_next_model=True).accept())
                self.assertEqual("s1", client.get("/v1/sessions/s1")["id"])


if __name__ == "__main__":
    unittest.main()

"""Hooks that live in this process: they are asked, they fail as they declare, and they come back."""

import asyncio
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from house import House
from lineside import (
    AfterTool,
    AfterToolBatch,
    BeforeTool,
    Client,
    OnIdle,
    RefusedError,
    allow,
    amend,
    append,
    automate,
    block,
    intercept,
    observe,
    report,
)


def shell(command: str) -> BeforeTool:
    return BeforeTool("Shell", {"command": command})


class Answers:
    """Has each answer to a `POST` of a client wait here, once the daemon has given it."""

    def __init__(self, client: Client) -> None:
        self.call, self.here, self.goes_on = client._wire.call, asyncio.Event(), asyncio.Event()
        client._wire.call = self._call  # type: ignore[method-assign]

    async def _call(self, method: str, *rest: Any) -> Any:
        answer = await self.call(method, *rest)
        if method == "POST":
            goes_on = self.goes_on
            self.here.set()
            await goes_on.wait()
        return answer

    async def arrived(self) -> None:
        """Waits until one is here."""
        await self.here.wait()
        self.here.clear()

    def release(self) -> None:
        """Lets it go on."""
        self.goes_on.set()
        self.goes_on = asyncio.Event()


class Intercepting(House):
    async def test_gates_amend_block_and_add_context(self) -> None:
        @intercept(BeforeTool, matching={"tool": "Shell"}, amends=True, priority=5)
        async def quieter(event: Any) -> Any:
            self.assertEqual("s1", event.session)
            self.assertGreater(event.remaining(), 1)
            return amend(tool_input={"command": f"{event.payload.tool_input['command']} -q"}).append("be quiet", key="k")

        @intercept("before_tool")
        def gate(event: Any) -> Any:
            if "secret" in str(event.payload.tool_input):
                return block("it is secret").notice("somebody looks for secrets")
            return allow()

        async with self.client.session("s1", hooks=[quieter, gate]) as session:
            first = await session.publish(shell("ls"))
            self.assertEqual(("allow", {"command": "ls -q"}), (first.verdict, first.payload.tool_input))
            second = await session.publish(shell("cat secret"))
            self.assertEqual(("block", "it is secret", "gate"), (second.verdict, second.reason, second.by))
            self.assertEqual("somebody looks for secrets", second.json["notices"][0]["text"])
            async with session.collect() as delivery:
                self.assertEqual(["be quiet"], [message["text"] for message in delivery.messages])
            await session.registrations[1].remove()
            self.assertFalse((await session.publish(shell("cat secret"))).is_refused)

    async def test_an_inherited_hook_is_let_go_of_when_the_last_session_below_is_over(self) -> None:
        @intercept(BeforeTool)
        async def gate(event: Any) -> Any:
            return block("it is held")

        async with self.client.session("s1", hooks=[gate]) as session:
            child = await session.subagent(agent="reviewer")
        self.assertEqual("it is held", (await child.publish(shell("ls"))).reason)
        await child.close()
        for _ in range(3_000):
            if not self.client._attachment.hooks:
                break
            await asyncio.sleep(0.01)
        self.assertEqual({}, self.client._attachment.hooks)

    async def test_a_failure_is_what_it_declares(self) -> None:
        @intercept(BeforeTool, matching={"tool": "A"})
        async def fails(event: Any) -> Any:
            raise ValueError("out of order")

        @intercept(BeforeTool, matching={"tool": "B"}, on_failure="continue")
        def passes(event: Any) -> Any:
            return "no answer"

        @intercept(BeforeTool, matching={"tool": "C"}, timeout=0.1)
        async def hangs(event: Any) -> Any:
            await asyncio.Event().wait()

        async with self.client.session("s1", hooks=[fails, passes, hangs]) as session:
            with self.assertLogs("lineside", "ERROR"):
                failed = await session.publish(BeforeTool("A", {}))
                passed = await session.publish(BeforeTool("B", {}))
            self.assertIn("ValueError: out of order", failed.reason or "")
            self.assertEqual("continue", passed.verdict)
            self.assertIn("a hook returns an answer", str(passed.json["failed"]))
            late = await session.publish(BeforeTool("C", {}))
            self.assertEqual("timeout", late.json["failed"][0]["kind"])

    async def test_an_entry_that_cannot_be_meant_is_refused_and_leaves_nothing(self) -> None:
        @intercept(BeforeTool, matching={"tol": "A"})
        async def wrong(event: Any) -> Any:
            return block("never")

        async with self.client.session("s1") as session:
            with self.assertRaisesRegex(RefusedError, "tol"):
                await session.register(wrong)
            with self.assertRaises(RefusedError):
                await self.client.session("s2", hooks=[wrong])
            self.assertEqual({}, self.client._attachment.hooks)

    async def test_a_call_that_registers_and_is_cancelled_leaves_no_hook(self) -> None:
        @intercept(BeforeTool)
        async def gate(event: Any) -> Any:
            return block("never")

        other = intercept(BeforeTool, name="other")(gate.function)
        client = self.client
        async with client.session("s1") as session, client.session("s2", parent="s1") as below:
            waiting = Answers(client)
            for before, call in (
                (0, lambda: session.register(gate)),
                (1, lambda: session.register(gate, other)),
                (0, lambda: self.opened("s1", gate, resume=True)),
                (0, lambda: self.opened("s3", gate, parent="s1")),
                (0, lambda: self.opened("s3", parent="s1")),
            ):
                calling = asyncio.create_task(call())
                for _ in range(before):
                    await waiting.arrived()
                    waiting.release()
                await waiting.arrived()
                calling.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await calling
                waiting.release()
                await asyncio.gather(*client._attachment.undoing)
                self.assertEqual([], (await client.get("/v1/sessions/s1/hooks"))["hooks"])
                self.assertEqual({}, client._attachment.hooks)
                self.assertEqual("continue", (await below.publish(shell("ls"))).verdict)
                self.assertEqual({"s1", "s2"}, {one["id"] for one in (await client.get("/v1/sessions"))["sessions"]})

    async def opened(self, id: str, *hooks: Any, **fields: Any) -> Any:
        return await self.client.session(id, hooks=hooks, **fields)

    async def test_the_end_of_a_client_waits_for_what_takes_a_hook_away(self) -> None:
        @intercept(BeforeTool)
        async def gate(event: Any) -> Any:
            return block("never")

        async with self.client.session("s1") as session:
            other = Client(self.client.socket)
            mine = await other.session("s1", resume=True)
            waiting = Answers(other)
            calling = asyncio.create_task(mine.register(gate))
            await waiting.arrived()
            calling.cancel()
            await asyncio.wait({calling})
            closing = asyncio.create_task(other.close())
            await asyncio.sleep(0)
            self.assertFalse(closing.done())
            waiting.release()
            await closing
            self.assertEqual("continue", (await session.publish(shell("ls"))).verdict)

    async def test_hooks_are_registered_together_or_not_at_all(self) -> None:
        @intercept(BeforeTool)
        async def gate(event: Any) -> Any:
            return block("never")

        @intercept(BeforeTool, matching={"tol": "A"})
        async def wrong(event: Any) -> Any:
            return block("never")

        async with self.client.session("s1") as session:
            with self.assertRaisesRegex(RefusedError, "tol"):
                await session.register(gate, wrong)
            self.assertEqual("continue", (await session.publish(shell("ls"))).verdict)
            with self.assertRaisesRegex(RefusedError, "tol"):
                await self.opened("s1", wrong, gate, resume=True)
            self.assertEqual("continue", (await session.publish(shell("ls"))).verdict)
            self.assertEqual({}, self.client._attachment.hooks)

    async def test_observers_hear_and_lose_nothing(self) -> None:
        heard: "asyncio.Queue[Any]" = asyncio.Queue()

        @observe(BeforeTool)
        async def hears(event: Any) -> None:
            await heard.put(event)

        async with self.client.session("s1") as session, session.subagent("s2") as child:
            observation = await session.observe(hears)
            for number in range(50):
                await child.publish(shell(f"echo {number}"))
            for number in range(50):
                event = await asyncio.wait_for(heard.get(), 30)
                self.assertEqual(({"command": f"echo {number}"}, "s2"), (event.payload.tool_input, event.session))
                self.assertEqual(("continue", 0), (event.verdict, event.lost))
            await observation.end()

    async def test_automations_join_the_next_model_call(self) -> None:
        @automate(AfterToolBatch, debounce={"quiet": 10}, join="before_next_model")
        async def lint(event: Any) -> Any:
            return report("2 errors", "in a.py", failed=True)

        async with self.client.session("s1", hooks=[lint]) as session:
            decision = await session.publish(AfterToolBatch([{"tool_name": "Edit"}], [{"path": "a.py"}]))
            self.assertEqual("lint", decision.json["accepted"][0]["hook"])
            async with session.collect(before_next_model=True) as delivery:
                self.assertIn("2 errors", delivery.text)

    async def test_a_hook_whose_process_is_gone_has_failed(self) -> None:
        @intercept(BeforeTool)
        async def gate(event: Any) -> Any:
            return None

        async with self.client.session("s1") as session:
            other = Client(self.client.socket)
            mine = await other.session("s2", hooks=[gate], parent="s1")
            self.assertFalse((await mine.publish(shell("ls"))).is_refused)
            await other.close()
            lost = await self.client.session("s3", parent="s2")
            self.assertTrue((await lost.publish(shell("ls"))).is_refused)
            await session.publish(OnIdle())


class Again(unittest.IsolatedAsyncioTestCase):
    async def test_hooks_are_there_again_with_a_daemon_that_was_started_anew(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            socket = f"{folder}/s"
            arguments = ["serve", "--socket", socket, "--state", f"{folder}/state", "--home", folder]

            async def start() -> subprocess.Popen[bytes]:
                daemon = subprocess.Popen([os.environ["LINESIDE_COMMAND"], *arguments], stdout=subprocess.PIPE)
                assert daemon.stdout is not None
                ready = await asyncio.to_thread(daemon.stdout.readline)
                self.assertTrue(ready.startswith(b"ready"), ready)
                return daemon

            asked = asyncio.Event()

            @intercept(BeforeTool)
            async def gate(event: Any) -> Any:
                asked.set()
                return block("still here")

            daemon = await start()
            try:
                async with Client(socket) as client:
                    root = await client.session("root")
                    session = await root.subagent("s1", hooks=[gate])
                    self.assertEqual("still here", (await session.publish(shell("ls"))).reason)
                    daemon.send_signal(signal.SIGKILL)
                    daemon.communicate()
                    asked.clear()
                    daemon = await start()
                    decision = None
                    while decision is None:
                        try:
                            decision = await session.publish(shell("ls"))
                        except RefusedError as error:
                            # Its session is opened again together with the hook, and is unknown until then.
                            self.assertTrue(error.blocks)
                            await asyncio.sleep(0)
                    self.assertEqual("still here", decision.reason)
                    self.assertTrue(asked.is_set())
            finally:
                daemon.kill()
                daemon.communicate()


if __name__ == "__main__":
    unittest.main()

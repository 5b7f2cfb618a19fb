"""Claude Agent SDK under hooks: the real program, with a scripted model on loopback."""

import dataclasses
import unittest
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, ToolResultBlock, UserMessage, query
from house import House
from lineside.adapters.claude_agent_sdk import under
from scripted_anthropic import Scripted

HOOKS = """
hooks:
  - {name: no-secrets, on: before_tool, match: {argument: {command: secret}}, verdict: block, reason: it is secret}
  - {name: louder, on: before_tool, match: {argument: {command: quiet}}, amend: {tool_input.command: echo LOUD}}
  - {name: elsewhere, on: before_tool, match: {argument: {command: touch asked}}, amend: {tool_input.command: touch made}}
  - {name: redacts, on: after_tool, match: {tool: Shell}, amend: {tool_output: {redact: "key-[0-9]+", with: "[key]"}}}
  - {name: told, on: after_tool, match: {argument: {command: hello}}, context: look at the tests}
  - {name: not-yet, on: before_stop, match: {text: too early}, verdict: block, reason: run the tests first}
"""


def bash(command: str) -> Any:
    return ["Bash", {"command": command, "description": "d"}]


SCRIPTS = {
    "main": [bash("echo secret"), bash("echo quiet"), bash("echo hello key-17"), "too early", "all is done"],
    "touches": [bash("touch asked"), "done"],
    "outer": [["Task", {"description": "d", "prompt": "PLAY:inner please", "subagent_type": "general-purpose"}], "done"],
    "inner": [bash("echo secret"), "reviewed"],
}


class ClaudeAgentSdk(House):
    HOOKS = HOOKS

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.model = Scripted(SCRIPTS)
        self.addCleanup(self.model.close)
        project = self.home / "project"
        project.mkdir()
        environment = {
            "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "none", "HOME": str(self.home), "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
        }  # fmt: skip
        self.options = ClaudeAgentOptions(
            cwd=str(project), env=environment, permission_mode="bypassPermissions", allowed_tools=["Bash", "Task"]
        )

    async def play(self, script: str, options: ClaudeAgentOptions) -> "tuple[list[str], Any]":
        results, last = [], None
        async for message in query(prompt=f"PLAY:{script} go", options=options):
            if isinstance(message, UserMessage) and isinstance(message.content, list):
                results.extend(str(block.content) for block in message.content if isinstance(block, ToolResultBlock))
            if isinstance(message, ResultMessage):
                last = message.result
        return results, last

    async def test_tools_are_gated_and_amended_context_is_added_and_a_stop_is_refused(self) -> None:
        async with self.client.session("s1") as session:
            results, last = await self.play("main", under(session, self.options))
        self.assertIn("it is secret", results[0])
        self.assertIn("LOUD", results[1])
        self.assertEqual("all is done", last)
        by_turn = {turn: text for script, turn, text in self.model.asked if script == "main"}
        self.assertIn("hello [key]", by_turn[3])
        self.assertIn("look at the tests", by_turn[3])
        self.assertIn("run the tests first", by_turn[4])

    async def test_a_change_of_the_input_is_no_approval(self) -> None:
        options = dataclasses.replace(self.options, permission_mode="default", allowed_tools=[])
        async with self.client.session("s1") as session:
            results, _ = await self.play("touches", under(session, options))
            self.assertEqual(1, len(results), results)
            self.assertFalse((self.home / "project/made").exists(), results)
            allowed = dataclasses.replace(options, allowed_tools=["Bash(touch made)"])
            await self.play("touches", under(session, allowed))
        self.assertTrue((self.home / "project/made").exists(), "the permissions of the program are for what is run")

    async def test_a_subagent_has_a_session_below(self) -> None:
        async with self.client.session("s1") as session:
            await self.play("outer", under(session, self.options))
            receipts = (await self.client.get("/v1/receipts"))["receipts"]
            refused = next(receipt for receipt in receipts if receipt["verdict"] == "block")
            self.assertEqual(("s1", 1), (refused["envelope"]["parent_session"], refused["envelope"]["depth"]))
            self.assertEqual("general-purpose", refused["envelope"]["agent"]["type"])
            sessions = (await self.client.get("/v1/sessions"))["sessions"]
            self.assertEqual(["s1"], [one["id"] for one in sessions], "the session below has ended")

    async def test_without_a_session_nothing_runs(self) -> None:
        session = await self.client.session("s1")
        options = under(session, self.options)
        await session.close()
        results, last = await self.play("main", options)
        self.assertEqual([], results, "not even the prompt is taken in")

    async def test_the_program_of_the_claude_agent_sdk_runs(self) -> None:
        names = await self.page(options=self.options, prompt="PLAY:inner go")
        self.assertEqual("reviewed", names["result"])


if __name__ == "__main__":
    unittest.main()

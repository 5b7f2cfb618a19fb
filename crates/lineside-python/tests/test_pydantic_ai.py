"""Pydantic AI under hooks, with a scripted model."""

import unittest
from typing import Any

from house import House
from lineside.adapters.pydantic_ai import Lineside
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

HOOKS = """
hooks:
  - {name: no-secrets, on: before_tool, match: {argument: {word: secret}}, verdict: block, reason: it is secret}
  - {name: louder, on: before_tool, match: {argument: {word: quiet}}, amend: {tool_input.word: LOUD}}
  - {name: redacts, on: after_tool, amend: {tool_output: {redact: "key-[0-9]+", with: "[key]"}}}
  - {name: told, on: after_tool, match: {argument: {word: hello}}, context: look at the tests}
  - {name: not-yet, on: before_stop, match: {text: too early}, verdict: block, reason: run the tests first}
  - {name: no-work, on: before_prompt, match: {text: forbidden}, verdict: block, reason: not here}
"""


class Script:
    """A model that says what stands in a script, and remembers what it was asked."""

    def __init__(self, *parts: Any) -> None:
        self.parts, self.asked = list(parts), []
        self.model = FunctionModel(self.answer)

    def answer(self, messages: Any, info: Any) -> ModelResponse:
        self.asked.append(repr(messages))
        return ModelResponse(parts=[self.parts.pop(0)])


def calls(word: str, name: str = "echo") -> ToolCallPart:
    return ToolCallPart(name, {"word": word}, tool_call_id=f"call-{word}")


def echo(word: str) -> str:
    """Says a word."""
    return f"{word} key-17"


def results(result: Any) -> "list[str]":
    parts = [part for message in result.all_messages() for part in message.parts]
    return [str(part.content) for part in parts if part.part_kind == "tool-return"]


class PydanticAi(House):
    HOOKS = HOOKS

    async def test_tools_are_gated_and_amended_and_context_comes_before_the_next_model_call(self) -> None:
        script = Script(calls("secret"), calls("quiet"), calls("hello"), TextPart("done"))
        async with self.client.session("s1") as session:
            agent = Agent(script.model, tools=[echo], capabilities=[Lineside(session)])
            result = await agent.run("go")
        said = results(result)
        self.assertIn("it is secret", said[0])
        self.assertEqual(["LOUD [key]", "hello [key]"], said[1:])
        self.assertEqual("done", result.output)
        self.assertNotIn("look at the tests", script.asked[2])
        self.assertEqual(1, script.asked[3].count("look at the tests"))

    async def test_a_stop_is_refused_with_its_reason_and_a_prompt_is_refused(self) -> None:
        script = Script(TextPart("too early"), TextPart("all tests pass"))
        async with self.client.session("s1") as session:
            agent = Agent(script.model, capabilities=[Lineside(session)], retries=3)
            self.assertEqual("all tests pass", (await agent.run("go")).output)
            self.assertIn("run the tests first", script.asked[1])
            with self.assertRaisesRegex(Exception, "not here"):
                await agent.run("something forbidden")

    async def test_an_agent_within_a_tool_has_a_session_below(self) -> None:
        async with self.client.session("s1") as session:
            below = Script(calls("secret"), TextPart("reviewed"))
            inner = Agent(below.model, tools=[echo], capabilities=[Lineside(session, agent="reviewer")])

            async def delegate(word: str) -> str:
                """Asks another agent."""
                return (await inner.run(word)).output

            script = Script(calls("review", "delegate"), TextPart("done"))
            outer = Agent(script.model, tools=[delegate], capabilities=[Lineside(session)])
            self.assertEqual(["reviewed"], results(await outer.run("go")))
            receipts = (await self.client.get("/v1/receipts"))["receipts"]
            refused = next(receipt for receipt in receipts if receipt["verdict"] == "block")
            self.assertEqual(("s1", 1), (refused["envelope"]["parent_session"], refused["envelope"]["depth"]))
            self.assertEqual("reviewer", refused["envelope"]["agent"]["type"])
            sessions = (await self.client.get("/v1/sessions"))["sessions"]
            self.assertEqual(["s1"], [one["id"] for one in sessions], "the session below has ended")

    async def test_the_program_of_pydantic_ai_runs(self) -> None:
        names = await self.page(model=Script(calls("secret"), TextPart("done")).model, tools=[echo])
        self.assertIn("it is secret", results(names["result"])[0])


if __name__ == "__main__":
    unittest.main()

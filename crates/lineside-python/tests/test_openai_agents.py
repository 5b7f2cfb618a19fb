"""OpenAI Agents SDK under hooks, with a scripted model."""

import json
import unittest
from typing import Any

from agents import Agent, LocalShellTool, Model, ModelResponse, Usage, function_tool, handoff, set_tracing_disabled
from agents.sandbox import SandboxAgent
from house import House
from lineside.adapters._run import Refused
from lineside.adapters.openai_agents import Lineside
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

HOOKS = """
hooks:
  - {name: no-secrets, on: before_tool, match: {argument: {word: secret}}, verdict: block, reason: it is secret}
  - {name: louder, on: before_tool, match: {argument: {word: quiet}}, amend: {tool_input.word: LOUD}}
  - {name: redacts, on: after_tool, amend: {tool_output: {redact: "key-[0-9]+", with: "[key]"}}}
  - {name: told, on: after_tool, match: {argument: {word: hello}}, context: look at the tests}
  - {name: not-yet, on: before_stop, match: {text: too early}, verdict: block, reason: run the tests first}
  - {name: no-work, on: before_prompt, match: {text: forbidden}, verdict: block, reason: not here}
"""

set_tracing_disabled(True)


class Script(Model):
    """A model that says what stands in a script, and remembers what it was asked."""

    def __init__(self, *items: Any) -> None:
        self.items, self.asked = list(items), []

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> ModelResponse:
        self.asked.append(json.dumps(input, default=str))
        return ModelResponse(output=[self.items.pop(0)], usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:
        self.asked.append(json.dumps(input, default=str))
        response = Response(
            id="1", created_at=0, model="script", object="response", output=[self.items.pop(0)], tool_choice="auto", tools=[],
            parallel_tool_calls=False,
        )  # fmt: skip
        yield ResponseCompletedEvent(response=response, sequence_number=0, type="response.completed")


def calls(name: str = "echo", **arguments: str) -> ResponseFunctionToolCall:
    text = json.dumps(arguments)
    return ResponseFunctionToolCall(call_id=f"call-{text}", name=name, arguments=text, type="function_call")


def says(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="1", role="assistant", status="completed", type="message", content=[part])


@function_tool
def echo(word: str) -> str:
    """Says a word."""
    return f"{word} key-17"


def results(result: Any) -> "list[str]":
    return [item["output"] for item in result.to_input_list() if item.get("type") == "function_call_output"]


class OpenAiAgents(House):
    HOOKS = HOOKS

    async def test_tools_are_gated_and_amended_and_context_comes_before_the_next_model_call(self) -> None:
        script = Script(calls(word="secret"), calls(word="quiet"), calls(word="hello"), says("done"))
        async with self.client.session("s1") as session:
            result = await Lineside(session).run(Agent("main", model=script, tools=[echo]), "go")
        self.assertIn("it is secret", results(result)[0])
        self.assertEqual(["LOUD [key]", "hello [key]"], results(result)[1:])
        self.assertEqual("done", result.final_output)
        self.assertNotIn("look at the tests", script.asked[2])
        self.assertIn("look at the tests", script.asked[3])

    async def test_a_stop_is_refused_with_its_reason_and_a_prompt_is_refused(self) -> None:
        script = Script(says("too early"), says("all tests pass"))
        async with self.client.session("s1") as session:
            agent = Agent("main", model=script)
            self.assertEqual("all tests pass", (await Lineside(session).run(agent, "go")).final_output)
            self.assertIn("run the tests first", script.asked[1])
            with self.assertRaisesRegex(Refused, "not here"):
                await Lineside(session).run(agent, "something forbidden")

    async def test_agents_as_tools_and_after_a_handoff_are_under_the_same_hooks(self) -> None:
        async with self.client.session("s1") as session:
            lineside = Lineside(session)
            inner = Agent("reviewer", model=Script(calls(word="secret"), says("reviewed")), tools=[echo])
            last = Agent("last", model=Script(calls(word="secret"), says("done")), tools=[echo])
            script = Script(calls("review", input="look"), calls("transfer_to_last"))
            outer = Agent("main", model=script, tools=[lineside.as_tool(inner, "review", "Reviews.")], handoffs=[last])
            result = await lineside.run(outer, "go")
            self.assertEqual("done", result.final_output)
            self.assertEqual("reviewed", results(result)[0])
            self.assertIn("it is secret", results(result)[-1])
            receipts = (await self.client.get("/v1/receipts"))["receipts"]
            refused = [receipt["envelope"] for receipt in receipts if receipt["verdict"] == "block"]
            self.assertEqual([0, 1], sorted(envelope["depth"] for envelope in refused))
            below = next(envelope for envelope in refused if envelope["depth"] == 1)
            self.assertEqual(("s1", "reviewer"), (below["parent_session"], below["agent"]["type"]))

    async def test_a_streamed_run_is_under_the_same_hooks_and_goes_on_after_a_refused_stop(self) -> None:
        script = Script(calls(word="secret"), calls(word="quiet"), says("too early"), says("all tests pass"))
        async with self.client.session("s1") as session:
            lineside = Lineside(session)
            streamed = lineside.run_streamed(Agent("main", model=script, tools=[echo]), "go")
            self.assertEqual([], script.asked)
            events = [event async for event in streamed.stream_events()]
            items = [event.name for event in events if event.type == "run_item_stream_event"]
            called = ["tool_called", "tool_output"]
            self.assertEqual([*called, *called, "message_output_created", "message_output_created"], items)
            self.assertEqual("all tests pass", streamed.final_output)
            self.assertIn("it is secret", results(streamed.result)[0])
            self.assertEqual("LOUD [key]", results(streamed.result)[1])
            self.assertIn("run the tests first", script.asked[3])
            refused = lineside.run_streamed(Agent("main", model=script), "something forbidden")
            with self.assertRaisesRegex(Refused, "not here"):
                async for _ in refused.stream_events():
                    self.fail("it was refused")

    async def test_a_reader_that_goes_away_ends_a_streamed_run(self) -> None:
        script = Script(calls(word="hello"), calls(word="hello"), says("done"))
        async with self.client.session("s1") as session:
            streamed = Lineside(session).run_streamed(Agent("main", model=script, tools=[echo]), "go")
            events = streamed.stream_events()
            await events.__anext__()
            await events.aclose()
            self.assertIsNone(streamed.final_output)
            self.assertLess(len(script.asked), 3)

    async def test_what_would_be_under_no_hook_is_not_run(self) -> None:
        async with self.client.session("s1") as session:
            agent = Agent("main", model=Script(), tools=[LocalShellTool(executor=lambda request: "")])
            with self.assertRaisesRegex(ValueError, "under no hook"):
                await Lineside(session).run(agent, "go")

    async def test_an_agent_that_the_framework_makes_a_tool_is_not_run_without_hooks(self) -> None:
        inner = Agent("reviewer", model=Script(calls(word="secret"), says("reviewed")), tools=[echo])
        tool = inner.as_tool("review", "Reviews.")
        last = Agent("last", model=Script(), tools=[tool])
        for agent in (
            Agent("main", model=Script(calls("review", input="look"), says("done")), tools=[tool]),
            Agent("main", model=Script(calls("transfer_to_last")), handoffs=[last]),
            Agent("main", model=Script(calls("transfer_to_last")), handoffs=[handoff(last)]),
        ):
            async with self.client.session("s1") as session:
                with self.assertRaisesRegex(ValueError, "behind the tool review would be under no hook: use `as_tool` of `Lineside`"):
                    await Lineside(session).run(agent, "go")
        self.assertEqual([], inner.model.asked)

    async def test_an_agent_that_adds_tools_when_it_runs_is_not_run(self) -> None:
        class Adds(Agent[Any]):
            async def get_all_tools(self, run_context: Any) -> Any:
                return [echo]

        async with self.client.session("s1") as session:
            for agent in (Adds("main", model=Script()), SandboxAgent("main", model=Script())):
                with self.assertRaisesRegex(ValueError, "adds when it runs would be under no hook"):
                    await Lineside(session).run(agent, "go")

    async def test_the_program_of_openai_agents_runs(self) -> None:
        names = await self.page(model=Script(calls(word="secret"), says("done")), tools=[echo])
        self.assertIn("it is secret", results(names["result"])[0])


if __name__ == "__main__":
    unittest.main()

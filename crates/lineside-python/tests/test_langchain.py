"""LangChain and LangGraph under hooks, with a scripted model."""

import tempfile
import unittest
from typing import Any

from house import House
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from lineside import sync
from lineside.adapters.langchain import LinesideMiddleware

HOOKS = """
hooks:
  - {name: no-secrets, on: before_tool, match: {argument: {word: secret}}, verdict: block, reason: it is secret}
  - {name: louder, on: before_tool, match: {argument: {word: quiet}}, amend: {tool_input.word: LOUD}}
  - {name: redacts, on: after_tool, amend: {tool_output: {redact: "key-[0-9]+", with: "[key]"}}}
  - {name: asks, on: before_tool, match: {argument: {word: push}}, verdict: ask, reason: pushing is asked about}
  - {name: told, on: after_tool, match: {argument: {word: hello}}, context: look at the tests}
  - {name: not-yet, on: before_stop, match: {text: too early}, verdict: block, reason: run the tests first}
  - {name: no-work, on: before_prompt, match: {text: forbidden}, verdict: block, reason: not here}
"""


class Scripted(GenericFakeChatModel):
    """A model that says what stands in a script, and remembers what it was asked."""

    asked: list[Any] = []

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: Any, *rest: Any, **more: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *rest, **more)


def calls(word: str, name: str = "echo") -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"word": word}, "id": f"call-{word}"}])


def scripted(*messages: AIMessage) -> Scripted:
    return Scripted(messages=iter(messages), asked=[])


@tool
def echo(word: str) -> str:
    """Says a word."""
    return f"{word} key-17"


def asked(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


class LangChain(House):
    HOOKS = HOOKS

    async def test_tools_are_gated_and_amended_and_context_comes_before_the_next_model_call(self) -> None:
        model = scripted(calls("secret"), calls("quiet"), calls("hello"), calls("push"), AIMessage("done"))
        async with self.client.session("s1") as session:
            agent = create_agent(model, [echo], middleware=[LinesideMiddleware(session)])
            said = [message.text for message in (await agent.ainvoke(asked("go")))["messages"]]
            receipts = await self.client.get("/v1/receipts?session=s1")
        self.assertIn("it is secret", said[2])
        self.assertEqual("LOUD [key]", said[4])
        self.assertEqual("hello [key]", said[6])
        self.assertIn("pushing is asked about", said[8])
        self.assertEqual("done", said[-1])
        self.assertIn("look at the tests", model.asked[3][-1].text)
        self.assertNotIn("look at the tests", str(model.asked[4]), "it comes once")
        points = [receipt["point"] for receipt in receipts["receipts"]]
        self.assertEqual(1, points.count("before_stop"))

    async def test_a_stop_is_refused_with_its_reason(self) -> None:
        model = scripted(AIMessage("too early"), AIMessage("all tests pass"))
        async with self.client.session("s1") as session:
            agent = create_agent(model, [echo], middleware=[LinesideMiddleware(session)])
            said = (await agent.ainvoke(asked("go")))["messages"]
        self.assertEqual("all tests pass", said[-1].text)
        self.assertIn("run the tests first", said[-2].text)

    async def test_a_prompt_is_refused_and_a_person_agrees(self) -> None:
        async with self.client.session("s1") as session:
            middleware = LinesideMiddleware(session, asks=lambda decision: decision.by == "asks")
            agent = create_agent(scripted(calls("push"), AIMessage("done")), [echo], middleware=[middleware])
            refused = await agent.ainvoke(asked("something forbidden"))
            self.assertIn("not here", refused["messages"][-1].text)
            agreed = await agent.ainvoke(asked("go"))
            self.assertEqual("push [key]", agreed["messages"][2].text)

    async def test_an_agent_within_a_tool_has_a_session_below(self) -> None:
        inner: Any = None

        @tool
        async def delegate(word: str) -> str:
            """Asks another agent."""
            return str((await inner.ainvoke(asked(word)))["messages"][-1].text)

        async with self.client.session("s1") as session:
            below = LinesideMiddleware(session, agent="reviewer")
            inner = create_agent(scripted(calls("secret"), AIMessage("reviewed")), [echo], middleware=[below])
            model = scripted(calls("review", "delegate"), AIMessage("done"))
            outer = create_agent(model, [delegate], middleware=[LinesideMiddleware(session)])
            said = (await outer.ainvoke(asked("go")))["messages"]
            self.assertEqual("reviewed", said[2].text)
            receipts = (await self.client.get("/v1/receipts"))["receipts"]
            refused = next(receipt for receipt in receipts if receipt["verdict"] == "block")
            self.assertEqual(("s1", 1), (refused["envelope"]["parent_session"], refused["envelope"]["depth"]))
            self.assertEqual("reviewer", refused["envelope"]["agent"]["type"])
            tree = await self.client.get("/v1/sessions")
            self.assertEqual(["s1"], [one["id"] for one in tree["sessions"]], "the session below has ended")


    async def test_the_program_of_langchain_runs(self) -> None:
        names = await self.page(model=scripted(calls("secret"), AIMessage("done")), tools=[echo])
        self.assertIn("it is secret", names["result"]["messages"][2].text)


class WithoutALoop(unittest.TestCase):
    def test_invoke_goes_with_a_session_of_the_sync_face(self) -> None:
        from pathlib import Path

        with tempfile.TemporaryDirectory() as home:
            file = Path(home, ".config/lineside/hooks.yaml")
            file.parent.mkdir(parents=True)
            file.write_text(HOOKS)
            with sync.Client.private("--home", home) as client, client.session("s1") as session:
                agent = create_agent(
                    scripted(calls("secret"), AIMessage("done")), [echo], middleware=[LinesideMiddleware(session)]
                )
                self.assertIn("it is secret", agent.invoke(asked("go"))["messages"][2].text)


if __name__ == "__main__":
    unittest.main()

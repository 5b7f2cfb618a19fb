"""The client as one file, as the command prints it: it does what the package does, and needs nothing beside it."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from house import House
from lineside.daemon import command

PROGRAM = """
import asyncio, sys
from lineside_client import BeforeTool, Client, amend, block, intercept

assert "lineside" not in sys.modules

@intercept(BeforeTool, matching={"tool": "Shell"}, amends=True)
async def quieter(event):
    if "secret" in event.payload.tool_input["command"]:
        return block("it is secret")
    return amend(tool_input={"command": event.payload.tool_input["command"] + " -q"})

async def main():
    async with await Client.open() as client, client.session("one", hooks=[quieter]) as session:
        for word in ("ls", "cat secret"):
            decision = await session.publish(BeforeTool("Shell", {"command": word}))
            print(decision.verdict, decision.payload.tool_input["command"], decision.reason)

asyncio.run(main())
"""


class OneFile(House):
    async def test_it_does_what_the_package_does(self) -> None:
        found = command()
        printed = subprocess.run([found, "kit", "python", "--client"], capture_output=True, text=True, timeout=60)
        self.assertEqual(0, printed.returncode, printed.stderr)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "lineside_client.py").write_text(printed.stdout)
            environment = {"PYTHONPATH": folder, "LINESIDE_SOCKET": self.client.socket}
            said = await self.script(PROGRAM, environment)
        self.assertEqual("continue ls -q None\nblock cat secret it is secret\n", said)


if __name__ == "__main__":
    unittest.main()

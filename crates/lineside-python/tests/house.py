"""What the tests stand on: a daemon of their own with an empty home, and scripts that run in another process."""

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

SOURCES = str(Path(__file__).parent.parent / "src")

from lineside import Client  # noqa: E402


class House(unittest.IsolatedAsyncioTestCase):
    """Tests with a private daemon each, whose user has these hooks."""

    HOOKS = ""

    async def asyncSetUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        if self.HOOKS:
            file = self.home / ".config/lineside/hooks.yaml"
            file.parent.mkdir(parents=True)
            file.write_text(self.HOOKS)
        self.client = await Client.private("--home", folder.name)
        self.addAsyncCleanup(self.client.close)

    async def script(self, text: str, environment: "dict[str, str]") -> str:
        """What a program of another process prints."""
        variables = {**os.environ, "PYTHONPATH": SOURCES, "HOME": str(self.home), **environment}
        run = subprocess.run
        ended = await asyncio.to_thread(
            run, [sys.executable, "-c", text], env=variables, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    async def page(self, **names: Any) -> "dict[str, Any]":
        """Runs the program of the page of adapters that names the test which calls this, with these names besides its own;
        the names that it has at its end."""
        test = self.id().rsplit(".", 1)[-1]
        text = (Path(__file__).parents[3] / "docs/adapters.md").read_text()
        found = re.search(rf"<!-- snippet: test {test} -->\n```python\n(.*?)```", text, re.DOTALL)
        assert found is not None, f"the page names no {test}"
        program = compile(found[1], "adapters.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with mock.patch.dict(os.environ, {"LINESIDE_SOCKET": self.client.socket}):
            running = eval(program, names)
            if inspect.isawaitable(running):
                await running
        return names

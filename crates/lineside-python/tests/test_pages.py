"""The programs of the pages run as they stand there."""

import asyncio
import os
import re
import unittest
from pathlib import Path

from house import House

DOCS = Path(__file__).parents[3] / "docs"
SNIPPET = re.compile(r"<!-- snippet: test (test_the_programs_of_the_pages_run) -->\n```python\n(.*?)```", re.DOTALL)


class Pages(House):
    HOOKS = """
hooks:
  - name: no-deletions
    on: before_tool
    match: {runs: rm}
    verdict: block
    reason: nothing is deleted here
  - name: says
    on: after_tool
    context: it was looked at
"""

    async def test_the_programs_of_the_pages_run(self) -> None:
        programs = SNIPPET.findall((DOCS / "python.md").read_text())
        self.assertGreaterEqual(len(programs), 3)
        printed = [await self.script(program, {"LINESIDE_SOCKET": self.client.socket}) for _, program in programs]
        self.assertEqual(
            [
                "for the model: Shell has run with {'command': 'ls'}",
                "for the model: nothing is deleted here",
                "for the context: it was looked at",
                "it stops",
            ],
            [re.sub(r" \(.*\)$", "", line) for line in printed[0].splitlines()],
        )
        self.assertEqual("continue\n", printed[1])
        self.assertIn("block", printed[2])


if __name__ == "__main__":
    unittest.main()

"""The package is typed, in the strict sense of a checker."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

PACKAGE = Path(__file__).parent.parent


class Types(unittest.TestCase):
    def test_the_package_is_typed(self) -> None:
        cache = os.environ.get("MYPY_CACHE_DIR", os.devnull)
        checker = [sys.executable, "-m", "mypy", "--cache-dir", cache]
        ended = subprocess.run(checker, cwd=PACKAGE, capture_output=True, text=True)
        self.assertEqual(0, ended.returncode, ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main()

"""A test that hangs is ended, and its stack is printed: the time limit that support/time_limit.py sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PLUGINS = [word for name in ("xdist", "pytest_timeout", "conftest") for word in ("-p", name)]

HANGS = {
    "an event loop that never gets a turn": """
        async def main():
            while True:  # without a call: the stack of a thread that runs is printed while it may change
                pass
        asyncio.run(main())
    """,
    "a call that keeps the lock of the interpreter": "re.match('(a+)+$', 'a' * 60 + 'b')",
}


@pytest.mark.process
@pytest.mark.parametrize(
    ("hangs", "options"),
    [*zip(HANGS, [["--numprocesses", "1", "--max-worker-restart", "0"], []], strict=True)],
    ids=["xdist", "one process"],
)
def test_a_test_that_hangs_is_ended_and_its_stack_is_printed(tmp_path: Path, hangs: str, options: list[str]):
    file = tmp_path / "test_hangs.py"
    file.write_text(f"import asyncio, re\n\ndef test_this_one_hangs():\n    if True:\n        {HANGS[hangs]}\n")
    # The second is that of the function alone: a machine that stands still for so long before it has not ended it.
    limit = ["--timeout", "1", "-o", "timeout_func_only=true"]
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), *limit, *PLUGINS]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *options, str(file)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Timeout (0:00:01)!" in done.stderr
    assert "in test_this_one_hangs" in done.stderr

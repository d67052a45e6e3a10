"""Output of a command in an encoding that lacks some of its characters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tooltrue.testing.state import LIMIT


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_no_encoding_of_the_output_makes_a_command_fail(encoding: str) -> None:
    code = "from tooltrue.cli.main import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "serve", "--lang", "zh", "没有.py"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"},
        timeout=LIMIT,
        check=False,
    )
    assert ended.returncode == 2
    assert b"TT" in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.process
def test_a_pipe_of_windows_carries_utf8_whatever_its_encoding() -> None:
    """The encoding of a pipe there is that of the region, such as Windows-1252, which has no Chinese."""
    code = "import support.without_posix; from tooltrue.cli.main import main; main()"
    tests = str(Path(__file__).parents[2])
    ended = subprocess.run(
        [sys.executable, "-c", code, "--lang", "zh", "--help"],
        capture_output=True,
        env={
            **os.environ,
            "PYTHONIOENCODING": "cp1252",
            "PYTHONPATH": tests,
            "TOOLTRUE_TESTS_SYSTEM": "windows",
        },
        timeout=LIMIT,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "选项" in ended.stdout.decode()

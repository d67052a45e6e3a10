"""The tests beside this one, in a process that has no call of POSIX: the ways of Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAM = "import support.without_posix, pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
STORES = ("state/test_files.py", "client/auth/test_credentials.py")


@pytest.mark.process
@pytest.mark.skipif("TOOLTRUE_TESTS_SYSTEM" in os.environ, reason="this process has no call of POSIX either")
def test_files_and_folders_by_the_way_of_windows(tmp_path: Path) -> None:
    tests = sorted(path for path in HERE.glob("test_*.py") if path.name != Path(__file__).name)
    stores = [HERE.parent / name for name in STORES]
    environment = {**os.environ, "TOOLTRUE_TESTS_SYSTEM": "windows", "PYTHONPATH": str(HERE.parents[1])}
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", f"--basetemp={tmp_path / 'temporary'}"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *options, *map(str, [*tests, *stores])],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""Locks between processes, by the way of this system."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tooltrue._internal.platform.file_locks import folder_lock, lock_within, try_lock
from tooltrue._internal.platform.private_files import open_private_file
from tooltrue.contract.files import alone
from tooltrue.errors import ConfigurationError

# The module first, for a process of another system than this one.
HOLDER = """
import sys
if sys.argv[2] == "hidden":
    import support.without_posix
from tooltrue._internal.platform.file_locks import folder_lock
with folder_lock(sys.argv[1], 0) as is_held:
    print(is_held, flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """A process that holds the lock of ``folder`` until its input ends."""
    hidden = "hidden" if os.environ.get("TOOLTRUE_TESTS_SYSTEM") else "plain"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), hidden], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def is_free(folder: Path) -> bool:
    with folder_lock(folder, 0) as is_held:
        return is_held


@pytest.mark.process
def test_a_folder_is_locked_by_one_process_at_a_time(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert not is_free(tmp_path)
        with pytest.raises(ConfigurationError) as caught, alone(tmp_path / "file", seconds=0.1):
            raise AssertionError("two at once")
        assert caught.value.code == "TT9009"
        process.communicate("")
    assert is_free(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert not is_free(tmp_path)
        process.kill()
        process.wait()
        assert is_free(tmp_path)


def test_a_waiting_thread_gets_the_lock_when_it_is_released(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with folder_lock(tmp_path, 60) as is_held:
            order.append(f"second {is_held}")

    waiting = threading.Thread(target=second)
    with folder_lock(tmp_path, 0):
        waiting.start()
        order.append("first")
    waiting.join()
    assert order == ["first", "second True"]


def test_a_folder_without_a_lock_holds_up_no_work(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"), folder_lock(tmp_path / "missing", 0):
        raise AssertionError("locked nothing")
    with alone(tmp_path / "missing" / "file"):
        pass


def test_a_lock_on_a_file_belongs_to_what_has_opened_it(tmp_path: Path) -> None:
    one, two = (open_private_file(tmp_path / "lock") for _ in range(2))
    assert [try_lock(one), try_lock(two), lock_within(two, 0.02)] == [True, False, False]
    os.close(one)
    assert lock_within(two, 60)
    os.close(two)

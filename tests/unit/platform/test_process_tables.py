"""What psutil tells of processes on a system without /proc is what /proc tells on Linux."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.testing.state import LIMIT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="the two are compared where both can be had"),
]

if not HAS_POSIX:
    pytest.skip("the tables are of POSIX", allow_module_level=True)

from tooltrue._internal.platform import posix_processes, proc_table, psutil_table  # noqa: E402 - there on POSIX alone

TABLES = pytest.mark.parametrize("table", [proc_table, psutil_table])

FAMILY = "sleep 600 & (sleep 600 & echo; wait) & wait"


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A shell with two children and a grandchild, with a mark in their environment."""
    with subprocess.Popen(
        ["sh", "-c", FAMILY], stdout=subprocess.PIPE, env={**os.environ, "M": "mark-of-a-test"}, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        yield parent
        posix_processes.kill_tree(parent.pid)


@TABLES
def test_children_and_grandchildren_are_found_alive_and_by_their_environment(table, family: subprocess.Popen[bytes]):
    found = table.descendants(family.pid)
    assert len(found) == 3
    assert all(map(table.is_alive, found))
    assert {family.pid, *found} <= set(table.marked("mark-of-a-test"))
    assert all(map(table.began, found))
    assert len({table.began(family.pid), table.began(os.getpid())}) == 2
    assert table.figures(family.pid)["threads"] == 1
    assert table.figures(family.pid)["descriptors"] >= 3


@TABLES
def test_what_has_ended_is_gone(table, family: subprocess.Popen[bytes]):
    found = table.descendants(family.pid)
    wait = table.watch(found)
    wait(0.0)
    assert any(map(table.is_alive, found))
    wait = table.watch(found)
    posix_processes.kill_tree(family.pid)
    wait(LIMIT)
    family.wait(LIMIT)
    assert not any(map(table.is_alive, (family.pid, *found)))
    assert table.descendants(family.pid) == set()
    assert table.began(family.pid) == b""
    assert table.figures(family.pid) == {"descriptors": 0, "threads": 0}


MACOS = """
import support.without_posix, subprocess
from tooltrue._internal.platform import posix_processes, processes
assert posix_processes.table.__name__.endswith("psutil_table"), posix_processes.table
one = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 600 & echo; while :; do wait; done"], stdout=subprocess.PIPE)
one.stdout.readline()
family = processes.descendants()
assert len(family) == 2, family
processes.end_children()
print(*family)
"""


def test_the_children_of_a_server_are_gone_where_there_is_no_proc():
    tests = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    done = subprocess.run(
        [sys.executable, "-c", MACOS],
        env={**os.environ, "TOOLTRUE_TESTS_SYSTEM": "macos", "PYTHONPATH": tests},
        stdout=subprocess.PIPE,
        timeout=LIMIT,
        check=True,
    )
    assert not any(map(proc_table.is_alive, map(int, done.stdout.split())))

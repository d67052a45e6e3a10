"""Children of a server that ends."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import textwrap

import pytest

from support.serving import left_of
from tooltrue._internal.platform import processes
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

FAMILY = textwrap.dedent(
    """
    import subprocess, sys
    from tooltrue._internal.platform import processes

    processes.adopt_orphans()
    stubborn = "trap '' TERM INT HUP; echo; while :; do sleep 1; done"
    for script in ("sleep 600 & echo; exec sleep 600", stubborn):
        started = subprocess.Popen(["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE)
        started.stdout.readline()
    gone = subprocess.Popen(["sh", "-c", "(setsid sleep 600 &) ; exit 0"])
    gone.wait()
    print("ready", flush=True)
    sys.stdin.readline()
    processes.end_children()
    print("ended", flush=True)
    sys.stdin.readline()
    """
)


def descendants(parent: int) -> list[int]:
    listing = f"/proc/{parent}/task/{parent}/children"
    with open(listing) as file:
        children = list(map(int, file.read().split()))
    return children + [grandchild for child in children for grandchild in descendants(child)]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is promised")
def test_children_grandchildren_and_orphans_are_gone_stubborn_ones_too():
    command = [sys.executable, "-W", "error::DeprecationWarning", "-c", FAMILY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        output = parent.stdout

        def hear() -> str:
            ready, _, _ = select.select([output], [], [], LIMIT)
            assert ready
            return output.readline().strip()

        assert hear() == "ready"
        family = descendants(parent.pid)
        assert len(family) >= 4, "with the orphan, which was adopted"
        print(file=parent.stdin, flush=True)
        assert hear() == "ended"
        assert left_of(family) == []
        print(file=parent.stdin, flush=True)
        assert parent.wait(LIMIT) == 0


def test_without_children_there_is_nothing_to_wait_for():
    """No process is looked up or waited for: neither of the calls that do it is made."""
    code = "import os, select; os.pidfd_open = select.poll = None; "
    code += "from tooltrue._internal.platform import processes as p; p.end_children()"
    assert subprocess.run([sys.executable, "-c", code], timeout=LIMIT, env=dict(os.environ)).returncode == 0


@pytest.mark.needs("proc")
def test_a_process_that_ends_during_the_listing_of_descendants_is_not_an_error():
    comings_and_goings = "while :; do for each in 1 2 3 4 5 6; do (:) & done; wait; done"
    with subprocess.Popen(["sh", "-c", comings_and_goings]) as parent:
        try:
            seen = set[int]()
            while len(seen) < 50:  # however long it takes; any of them may end between its listing and its reading
                seen.update(processes.descendants(parent.pid))
        finally:
            parent.kill()


THREADS = """
import queue, subprocess, threading
from tooltrue._internal.platform.processes import descendants

def start(started, end):
    started.put(subprocess.Popen(["sleep", "600"]))
    end.wait()

for _ in range(100):
    started, end = queue.Queue(), threading.Event()
    thread = threading.Thread(target=start, args=(started, end))
    thread.start()
    with started.get() as child:
        end.set()
        found = [child.pid in descendants() for _ in range(30)]
        child.kill()
    thread.join()
    assert all(found)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is promised")
def test_a_child_is_found_while_the_thread_that_started_it_ends():
    # In a process of its own: this one may have hundreds of threads, which take long to look through.
    subprocess.run([sys.executable, "-c", THREADS], check=True, timeout=LIMIT)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is promised")
def test_where_no_file_can_be_opened_nothing_is_found_and_nothing_raised():
    no_more = (
        "import resource; from tooltrue._internal.platform import posix_processes as processes; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); "
        "processes.kill_descendants(); processes.kill_strays('nobody', {1: b'0'}); processes.kill_tree(1 << 22)"
    )
    subprocess.run([sys.executable, "-c", no_more], check=True, timeout=LIMIT)

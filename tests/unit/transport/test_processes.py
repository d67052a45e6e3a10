"""Children of a server that ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.platforms import this_system
from support.serving import is_alive, left_of, started
from tooltrue._internal.platform import processes
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

# Each process of the family prints its id.
FAMILY = """
import signal, subprocess, sys
from tooltrue._internal.platform import processes

SLEEP = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
DEAF = "import signal; [signal.signal(each, signal.SIG_IGN) for each in {numbers}]; " + SLEEP
PARENT = "import subprocess, sys; started = subprocess.Popen([sys.executable, '-c', sys.argv[1]]); " + SLEEP
GONE = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True)"

def start(code):
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", code, SLEEP], start_new_session=True)

names = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")
numbers = [int(getattr(signal, name)) for name in names if hasattr(signal, name)]
processes.adopt_orphans()
started = [start(PARENT), start(DEAF.format(numbers=numbers))]
start(GONE).wait()
sys.stdin.readline()
processes.end_children()
print('"ended"', flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(this_system() == "macOS", reason="no process adopts orphans there")
def test_children_grandchildren_and_orphans_are_gone_stubborn_ones_too():
    with started([sys.executable, "-W", "error::DeprecationWarning", "-c", FAMILY]) as parent:
        family = [parent.read() for _ in range(4)]
        assert all(map(is_alive, family))
        parent.raw(b"\n")
        assert parent.read() == "ended"
        assert left_of(family) == []
        parent.raw(b"\n")
        assert parent.ended() == 0


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


@pytest.mark.needs("proc")
def test_a_child_is_found_while_the_thread_that_started_it_ends():
    # In a process of its own: this one may have hundreds of threads, which take long to look through.
    subprocess.run([sys.executable, "-c", THREADS], check=True, timeout=LIMIT)


@pytest.mark.needs("limits", "proc")
def test_where_no_file_can_be_opened_nothing_is_found_and_nothing_raised():
    no_more = (
        "import resource; from tooltrue._internal.platform import posix_processes as processes; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); "
        "processes.kill_descendants(); processes.kill_strays('nobody', {1: b'0'}); processes.kill_tree(1 << 22)"
    )
    subprocess.run([sys.executable, "-c", no_more], check=True, timeout=LIMIT)

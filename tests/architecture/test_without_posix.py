"""The harness that hides Linux: what a process of it misses, what it still has, and the calls of Windows in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

MISSING = {
    "windows": (
        "import fcntl",
        "import resource, termios",
        "import uvloop",
        "from os import fork",
        "os.killpg, os.geteuid",
        "os.O_NOFOLLOW",
        "os.open('.', os.O_RDONLY)",
        "os.stat('x', dir_fd=3)",
        "os.listdir(0)",
        "signal.SIGKILL",
        "signal.signal(1000, print)",
        "select.poll()",
        "select.select([0], [], [], 0)",
        "socket.AF_UNIX",
        "file = tempfile.NamedTemporaryFile(); os.replace(file.name, file.name + 'x')",
        "file = tempfile.NamedTemporaryFile(); pathlib.Path(file.name).unlink()",
        "ctypes.CDLL(None)",
        "ctypes.WinDLL('kernel32').NoSuchFunction",
        "open('/proc/self/status')",
        "os.stat('/proc/self')",
        "pathlib.Path('/proc').iterdir().__next__()",
        "os.listdir('/dev/fd')",
        "importlib.import_module('fcntl')",
        "subprocess.run(['true'], preexec_fn=print)",
        "subprocess.run(['true'], pass_fds=[0])",
        "multiprocessing.get_context('fork')",
        "asyncio.run(watched(lambda loop: loop.add_reader(0, print)))",
        "asyncio.run(watched(lambda loop: loop.add_signal_handler(2, print)))",
    ),
    "macos": (
        "os.pidfd_open",
        "os.O_PATH",
        "select.epoll",
        "socket.SOCK_CLOEXEC",
        "ctypes.CDLL(None).prctl",
        "open('/proc/self/status')",
        "os.stat('/proc/self')",
    ),
}

THERE = {
    "windows": (
        "tempfile.TemporaryDirectory().cleanup()",
        "real = os.fsync; os.fsync = print; os.fsync = len; del os.fsync; del os.fsync; assert os.fsync is real",
        "tempfile.NamedTemporaryFile().close()",
        "fd, name = tempfile.mkstemp(); os.close(fd); os.replace(name, name + 'x'); os.remove(name + 'x')",
        "assert subprocess.run(['echo', 'here'], capture_output=True, text=True).stdout == 'here\\n'",
        "process = subprocess.Popen(['sleep', '60']); process.terminate(); assert process.wait() == 1",
        "process = subprocess.Popen(['sleep', '60'], creationflags=subprocess.CREATE_NEW_PROCESS_GROUP);"
        "os.kill(process.pid, signal.CTRL_BREAK_EVENT); assert process.wait() == 0xC000013A",
        "process = subprocess.Popen(['sleep', '60']); os.kill(process.pid, 15); assert process.wait() == 1",
        "asyncio.run(run('echo')); asyncio.run(watched(lambda loop: None))",
        "assert 'signal' in dir(signal) and 'SIGKILL' not in dir(signal)",
        "import msvcrt; assert msvcrt.get_osfhandle(0) == 0",
        "assert ctypes.WinError(2).winerror == 2",
        "assert not pathlib.Path('/proc').exists() and not os.access('/proc', 0) and pathlib.Path('/tmp').exists()",
    ),
    "macos": (
        "import fcntl, resource",
        "os.fork",
        "os.O_NOFOLLOW",
        "socket.AF_UNIX",
        "select.poll()",
        "os.open('.', 0)",
        "assert sys.platform == 'darwin' and importlib.import_module('sys').platform == 'darwin'",
        "assert multiprocessing.get_start_method() == 'spawn'",
        "assert resource.getrusage(0).ru_maxrss > 1 << 22; resource.setrlimit(resource.RLIMIT_AS, (1, 1))",
        "folder = tempfile.mkdtemp(); os.mkdir(folder + '/a'); os.symlink('a', folder + '/b')\n"
        "os.open(folder + '/a', os.O_RDONLY | os.O_NOFOLLOW_ANY)\n"
        "try: os.open(folder + '/b/.', os.O_RDONLY | os.O_NOFOLLOW_ANY)\n"
        "except OSError as error: assert error.errno == errno.ELOOP\n"
        "else: raise AssertionError",
        "folder = tempfile.mkdtemp().encode(); os.mkdir(folder + b'/a'); os.mkdir(folder + b'/b')\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "assert libc.renameatx_np(0, folder + b'/a', 0, folder + b'/b', 4) == -1\n"
        "assert ctypes.get_errno() == errno.EEXIST\n"
        "assert libc.renameatx_np(0, folder + b'/a', 0, folder + b'/c', 4) == 0",
        "reader, writer = os.pipe(); os.write(writer, b'1'); queue = select.kqueue()\n"
        "end = select.kevent(reader, select.KQ_FILTER_READ, select.KQ_EV_ADD, fflags=select.KQ_NOTE_LOWAT)\n"
        "assert queue.control([end], 1, 0) == []\n"
        "os.close(writer); assert queue.control([], 1)[0].flags & select.KQ_EV_EOF",
    ),
}

PROGRAM = """
import support.without_posix
import asyncio, ctypes, errno, importlib, multiprocessing, os, pathlib, select, signal, socket, subprocess, sys
import tempfile
try:
    import resource
except ImportError:
    pass

async def watched(act): act(asyncio.get_running_loop())
async def run(word): await (await asyncio.create_subprocess_exec(word, stdout=subprocess.PIPE)).communicate()

for code in sys.stdin.read().split("\\0"):
    try:
        exec(code)
        print("there")
    except (AttributeError, ImportError, OSError, TypeError, ValueError, NotImplementedError):
        print("missing")
"""


def run(system: str, *lines: str) -> list[str]:
    """What a process of ``system`` says to each line of code: ``there`` or ``missing``."""
    environment = {**os.environ, "TOOLTRUE_TESTS_SYSTEM": system, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input="\0".join(lines), env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("system", MISSING)
def test_what_a_system_lacks_is_missing(system: str) -> None:
    assert dict(zip(MISSING[system], run(system, *MISSING[system]), strict=True)) == dict.fromkeys(
        MISSING[system], "missing"
    )


@pytest.mark.parametrize("system", THERE)
def test_what_a_system_has_is_there(system: str) -> None:
    assert dict(zip(THERE[system], run(system, *THERE[system]), strict=True)) == dict.fromkeys(THERE[system], "there")


LOCKS = """
import support.without_posix, msvcrt, os, sys

def locked(fd):
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    return True

one, two = (os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_BINARY) for _ in range(2))
print(locked(one), locked(two))
os.lseek(one, 0, os.SEEK_SET)
msvcrt.locking(one, msvcrt.LK_UNLCK, 1)
print(locked(two), locked(one))
os.close(two)
print(locked(one))
"""


def test_a_lock_on_bytes_belongs_to_the_handle(tmp_path: Path) -> None:
    environment = {**os.environ, "TOOLTRUE_TESTS_SYSTEM": "windows", "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", LOCKS, str(tmp_path / "lock")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["True", "False", "True", "False", "True"], "")

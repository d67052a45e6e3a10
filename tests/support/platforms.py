"""Which part of tooltrue works on which system: the tables of ``docs/platforms.md``, and what follows from them.

``make without-posix`` runs the tests of the parts that work on a system; a test that needs what a system lacks has the
mark ``needs`` with the name of a feature. ``docs/generate.py`` writes the tables.

    python -m support.platforms windows     prints the folders and files of the tests
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["FEATURES", "PARTS", "SYSTEMS", "Feature", "Part", "folders", "this_system"]

SYSTEMS = ("Linux", "macOS", "Windows")
_POSIX = ("Linux", "macOS")


@dataclass(frozen=True)
class Feature:
    """What a system offers to a program, or does not offer; and whether this process has it."""

    title: str
    systems: tuple[str, ...]
    instead: str
    """What tooltrue does where it is missing."""
    is_there: Callable[[], bool]


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


FEATURES: dict[str, Feature] = {
    "attributes": Feature(
        "extended attributes of files that Python reads and sets (`setxattr`)",
        ("Linux",),
        "permissions alone, or an access list, are kept",
        lambda: hasattr(os, "setxattr"),
    ),
    "accepting loops": Feature(
        "event loops of several processes that accept from one socket",
        _POSIX,
        "a thread of each process accepts",
        lambda: not hasattr(socket, "fromshare"),
    ),
    "confinement": Feature(
        "Landlock, seccomp and namespaces, which confine a program",
        ("Linux",),
        "`command` refuses to start, unless with `--confinement available`",
        lambda: hasattr(os, "O_PATH"),
    ),
    "descriptors": Feature(
        "opening a file beneath an open folder (`openat`)",
        _POSIX,
        "handles that follow no link",
        lambda: os.open in os.supports_dir_fd,
    ),
    "fifos": Feature("pipes among the files (`mkfifo`)", _POSIX, "no file is a pipe", lambda: hasattr(os, "mkfifo")),
    "fork": Feature("a copy of a process (`fork`)", _POSIX, "a process that starts anew", lambda: hasattr(os, "fork")),
    "limits": Feature(
        "limits of the resources of a process (`setrlimit`)", _POSIX, "a job object", lambda: _has("resource")
    ),
    "local sockets": Feature(
        "sockets among the files (`AF_UNIX`)",
        _POSIX,
        "a named pipe of the user, between the processes of a gateway",
        lambda: hasattr(socket, "AF_UNIX"),
    ),
    "modes": Feature(
        "owners and permission bits of files", _POSIX, "an access list of the user", lambda: hasattr(os, "geteuid")
    ),
    "names": Feature(
        "names of files with a colon, an asterisk or a backslash, or with a dot or space at the end",
        _POSIX,
        "such a name is refused",
        lambda: hasattr(os, "geteuid"),
    ),
    "pipes": Feature("pipes in the event loop", _POSIX, "threads that read and write them", lambda: _has("fcntl")),
    "proc": Feature(
        "files of the system about a process (`/proc`)",
        ("Linux",),
        "the calls of the system, or no figure",
        lambda: os.path.exists("/proc/self/status"),
    ),
    "replacement": Feature(
        "replacing a file that a program has open",
        _POSIX,
        "the file is replaced once the program has closed it",
        lambda: hasattr(os, "geteuid"),
    ),
    "signals": Feature(
        "signals from another process that a program can handle",
        _POSIX,
        "the end of the input, or Ctrl-Break",
        lambda: hasattr(signal, "SIGKILL"),
    ),
    "terminals": Feature(
        "terminals that a program makes (`openpty`)",
        _POSIX,
        "the console, which has a stand-in in the tests",
        lambda: hasattr(os, "openpty") or bool(_hidden()),
    ),
    "uvloop": Feature("the event loop uvloop", _POSIX, "winloop, or the loop of Python", lambda: _has("uvloop")),
}
"""By the name that the mark ``needs`` takes."""


@dataclass(frozen=True)
class Part:
    """A part of tooltrue, its state on macOS and Windows (on Linux every part works), and the tests that show it."""

    title: str
    tests: tuple[str, ...]
    verbs: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    macos: str = "yes"
    windows: str = "yes"

    def on(self, system: str) -> str:
        """``yes``, perhaps with a difference; ``limited``; or ``no``; each with its reason."""
        return {"Linux": "yes", "macOS": self.macos, "Windows": self.windows}[system]


def _toolbox(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/toolbox/{name}" for name in names)


_UNTRIED = "no; not tried yet"
_UNCONFINED = "limited: only with `--confinement available`, because programs are not confined"

PARTS = (
    Part(
        "a server over stdio",
        ("tests/wire", "tests/unit/jsonrpc", "tests/unit/protocol", "tests/unit/server", "tests/unit/tools"),
        verbs=("serve",),
        windows="yes; threads read and write the pipes",
    ),
    Part(
        "a server over HTTP",
        ("tests/unit/server", "tests/unit/transport"),
        verbs=("serve", "keys"),
        windows="yes; Ctrl-C and Ctrl-Break end it in order, the end of its process ends it at once",
    ),
    Part(
        "several workers",
        ("tests/unit/server", "tests/unit/transport"),
        verbs=("serve",),
        windows="yes; they accept from one listening socket",
    ),
    Part(
        "policy, approvals and audit logs",
        ("tests/unit/policy", "tests/unit/state"),
        verbs=("approvals", "audit", "policy"),
        windows="yes; an access list keeps files private",
    ),
    Part("tasks", ("tests/unit/tasks",), verbs=("tasks",)),
    Part('tools with `isolation="process"`', ("tests/unit/tools",), windows="yes; without a warm process to copy"),
    Part(
        "a client over stdio and HTTP",
        ("tests/unit/client",),
        verbs=("call", "inspect", "list", "login", "logout"),
        windows="yes; a job object holds a server and all that it starts",
    ),
    Part(
        "a host",
        ("tests/unit/host",),
        verbs=("chat", "connect", "eval", "inventory", "pins", "trust"),
    ),
    Part(
        "a gateway",
        ("tests/unit/gateway", "tests/unit/platform/test_private_sockets.py"),
        verbs=("gateway", "grants", "wrap"),
        windows="yes; several workers share programs by a named pipe",
    ),
    Part("contracts", ("tests/unit/contract", "tests/unit/testing"), verbs=("diff", "lock", "test")),
    Part("check", ("tests/unit/check",), verbs=("check", "doctor", "find")),
    Part("the console", ("tests/unit/console",), verbs=("console",), macos=_UNTRIED, windows=_UNTRIED),
    Part("the command", ("tests/journeys", "tests/unit/cli"), verbs=("new",)),
    Part("reloading", ("tests/journeys/test_dev.py", "tests/unit/cli"), verbs=("dev",)),
    Part(
        "files",
        _toolbox("test_confined.py", "test_encodings.py", "test_entry_changes.py", "test_files.py", "test_search.py"),
        families=("files",),
    ),
    Part(
        "commands",
        _toolbox("test_command.py"),
        families=("command",),
        macos=_UNCONFINED,
        windows=_UNCONFINED,
    ),
    Part("databases", _toolbox("sql"), families=("sql",)),
    Part("tables and workbooks", _toolbox("test_tables.py", "test_workbooks.py"), families=("tables",)),
    Part(
        "tools of an HTTP API",
        (
            *_toolbox(
                "test_openapi_description.py",
                "test_openapi_plan.py",
                "test_openapi_requests.py",
                "test_openapi_export.py",
            ),
            "tests/services",
        ),
        families=("openapi",),
        verbs=("openapi",),
    ),
    Part("services of the web", ("tests/services",), families=("github", "language", "web")),
    Part(
        "small families",
        _toolbox("test_catalog.py", "test_mail.py", "test_math.py", "test_settings.py"),
        families=("catalog", "mail", "math", "settings"),
    ),
)


def folders(system: str) -> list[str]:
    """The tests of all parts that work on ``system``, without those that are inside of another."""
    return outermost(test for part in PARTS if not part.on(system).startswith("no") for test in part.tests)


def outermost(paths: Iterable[str]) -> list[str]:
    every = set(paths)
    return sorted(path for path in every if not any(path.startswith(f"{other}/") for other in every))


def _hidden() -> list[str]:
    """The system whose lack ``without_posix.py`` has given to this process, if any."""
    harness = sys.modules.get("support.without_posix")
    return [] if harness is None else harness.installed


def this_system() -> str:
    """The system of this process, or the one whose lack ``without_posix.py`` has given to it."""
    if hidden := _hidden():
        return {"windows": "Windows", "macos": "macOS"}[hidden[0]]
    return {"win32": "Windows", "darwin": "macOS"}.get(sys.platform, "Linux")


if __name__ == "__main__":
    _system = {name.casefold(): name for name in SYSTEMS}[sys.argv[1]]
    print(*folders(_system))

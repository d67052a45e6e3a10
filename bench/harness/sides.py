"""The servers that are compared: how each is started. The peers get environments of their own, made here."""

import compileall
import functools
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.process import Command
from harness.warm_up import NODE_SECONDS
from harness.wire import LEGACY, MODERN

ROOT = Path(__file__).parents[2]
_SERVERS = ROOT / "bench" / "servers"
_HOME = ROOT / ".bench"


@dataclass(frozen=True, slots=True)
class Side:
    """One of them. ``runner`` and the name of a server under `bench/servers` are the command over stdio; with a port
    behind it, over HTTP. ``era`` is the revision that it is asked in: the newest one that it speaks. ``warm_up`` is
    the least number of seconds before its rate may be called steady.
    """

    key: str
    name: str
    runner: Command
    era: str = MODERN
    environment: Mapping[str, str] = field(default_factory=dict)
    tooltrue: Command = ()
    warm_up: float = 0.0

    def script(self, server: str) -> Command:
        """`python server.py`, or the equivalent command of this side."""
        first, last = self.runner[:-1], self.runner[-1]
        return (*first, f"{last}/{server}.py") if not last.endswith(".mjs") else (*self.runner, server)

    def cli(self, server: str) -> Command:
        """`tooltrue serve FILE`; the peers have no such start and run their script."""
        return (*self.tooltrue, self.script(server)[-1]) if self.tooltrue else self.script(server)

    def http(self, server: str, port: int, workers: int = 1) -> Command:
        if not self.tooltrue:
            return (*self.script(server), str(port))
        return (*self.cli(server), "--http", f"127.0.0.1:{port}", "--workers", str(workers))

    def client(self) -> Command:
        """The program that measures this side's client; its arguments are the seconds and the target."""
        return (self.runner[0], str(ROOT / "bench" / "clients" / f"{self.key}.py"))


def ours() -> Side:
    """tooltrue, in the environment this process runs in."""
    here = (sys.executable, str(_SERVERS / "ours"))
    return Side("ours", "tooltrue", here, tooltrue=(str(Path(sys.prefix) / "bin" / "tooltrue"), "serve"))


def unaudited() -> Side:
    """tooltrue, but no call is recorded."""
    return replace(ours(), key="unaudited", name="tooltrue, no records", environment={"BENCH_AUDIT": "off"})


def unguarded() -> Side:
    """tooltrue with validation and no other layer of the guard; it has the call rows only."""
    side = ours()
    return replace(side, key="unguarded", name="validation only", runner=(sys.executable, str(_SERVERS / "unguarded")))


def limit() -> Side:
    """The least Python that decodes, dispatches and encodes the same answers; over HTTP, on the same server."""
    return Side("limit", "limit", (sys.executable, str(_SERVERS / "limit")))


# -- peers -------------------------------------------------------------------------------------------------------------

BASE = "mcp2"

_PYTHON = {
    "mcp2": ("mcp 2.3.0", ("mcp==2.3.0",), MODERN),
    "mcp2-uvloop": ("mcp 2.3.0 + uvloop", ("mcp==2.3.0", "uvloop>=0.22", "httptools>=0.7"), MODERN),
    "mcp1": ("mcp 1.30.0", ("mcp==1.30.0",), LEGACY),
    "fastmcp": ("FastMCP 4.1.2", ("fastmcp==4.1.2",), MODERN),
}
_NODE = {"ts1": ("TypeScript 1.32", LEGACY), "ts2": ("TypeScript 2.4", MODERN)}

PEERS = (*_PYTHON, *_NODE)


class NotHere(Exception):
    """A peer that cannot run on this machine."""


def peer(key: str) -> Side:
    """One of `PEERS`, installed if necessary. Raises NotHere if the peer needs Node and Node is missing."""
    if key in _NODE:
        name, era = _NODE[key]
        return Side(key, name, (node(), str(node_packages("node") / f"{key}.mjs")), era, warm_up=NODE_SECONDS)
    name, requirements, era = _PYTHON[key]
    return Side(key, name, (str(environment(key, requirements)), str(_SERVERS / key.partition("-")[0])), era)


@functools.cache
def environment(key: str, requirements: tuple[str, ...]) -> Path:
    """The interpreter of an environment with just these, made anew where the pins or this Python have changed."""
    home = _HOME / key
    python, pins = home / "bin" / "python", "\n".join([sys.version, "with byte code", *requirements])
    if not _is_made(home, pins):
        uv = _uv()
        _say(f"installing {', '.join(requirements)}")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, home], check=True)
        install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
        subprocess.run([*install, *requirements], check=True)
        _stamp(home).write_text(pins)
    return python


def compile_ours() -> None:
    """Compile the byte code of tooltrue and of all packages of this environment, as that of the peers is."""
    _say("compiling byte code")
    for folder in (*(ROOT / "packages").glob("*/src"), *site.getsitepackages()):
        compileall.compile_dir(folder, quiet=2, workers=0)


@functools.cache
def node_packages(name: str) -> Path:
    """The folder with the packages of `servers/NAME/package.json`, where its servers lie beside them."""
    home, source = _HOME / name, _SERVERS / name
    npm = shutil.which("npm")
    if npm is None:
        raise NotHere("npm is not on the path")
    pins = (source / "package.json").read_text()
    if not _is_made(home, pins):
        _say(f"installing the packages of {name}")
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / "package.json", home)
        quiet = [npm, "install", "--silent", "--no-audit", "--no-fund"]
        subprocess.run(quiet, cwd=home, check=True, stdout=subprocess.DEVNULL)
        _stamp(home).write_text(pins)
    for file in (*source.glob("*.mjs"), _SERVERS / "prose.txt", _SERVERS / "raw_tools.json"):
        shutil.copy(file, home)  # Node looks for packages beside the script
    return home


def node() -> str:
    found = shutil.which("node")
    if found is None:
        raise NotHere("node is not on the path")
    return found


def _stamp(home: Path) -> Path:
    return home / "bench-pins.txt"


def _is_made(home: Path, pins: str) -> bool:
    return _stamp(home).exists() and _stamp(home).read_text() == pins


def _uv() -> str:
    """The uv of ``UV`` or on PATH, of the repository's tools, or of this environment."""
    here = (os.environ.get("UV"), shutil.which("uv"), ROOT / ".tools" / "bin" / "uv", Path(sys.prefix) / "bin" / "uv")
    for candidate in here:
        if candidate is not None and Path(candidate).exists():
            return str(candidate)
    raise SystemExit("the peers are installed with uv, and there is none on PATH, in .tools/bin or in the environment")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

"""The two servers that are compared: how each is started. The peer gets an environment of its own, made here."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from harness.process import Command

ROOT = Path(__file__).parents[2]
_SERVERS = ROOT / "bench" / "servers"
_ENVIRONMENT = ROOT / ".bench" / "peer"
_PINS = _ENVIRONMENT / "bench-pins.txt"

PEER_VERSION = "2.3.0"
# uvloop and httptools are not the peer's own dependencies. uvicorn is much quicker with them and toolwright's
# environment holds both, so without them the HTTP rows would measure a parser, not a library.
_REQUIREMENTS = (f"mcp=={PEER_VERSION}", "uvloop>=0.22", "httptools>=0.7")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two. `file` is the name of a server in its folder under `bench/servers`."""

    name: str
    folder: str
    python: Path
    toolwright: Path | None

    def script(self, file: str) -> Command:
        return (str(self.python), str(_SERVERS / self.folder / file))

    def cli(self, file: str) -> Command:
        """`toolwright serve FILE`; the peer has no such start and runs its script."""
        if self.toolwright is None:
            return self.script(file)
        return (str(self.toolwright), "serve", str(_SERVERS / self.folder / file))

    def http(self, file: str, port: int) -> Command:
        if self.toolwright is None:
            return (*self.script(file), str(port))
        return (*self.cli(file), "--http", f"127.0.0.1:{port}")

    def limit(self) -> Command:
        """The floor under both in place of toolwright; the peer runs its usual script."""
        if self.toolwright is None:
            return self.script("calls.py")
        return (str(self.python), str(_SERVERS / "limit.py"))


def ours() -> Side:
    """toolwright, in the environment this process runs in."""
    return Side("toolwright", "ours", Path(sys.executable), Path(sys.prefix) / "bin" / "toolwright")


def unguarded() -> Side:
    """toolwright with validation and no other layer of the guard; it has the call rows only."""
    return replace(ours(), name="validation only", folder="unguarded")


def peer(name: str = f"mcp {PEER_VERSION}") -> Side:
    """The official Python SDK, installed if it is not yet."""
    _install()
    return Side(name, "peer", _ENVIRONMENT / "bin" / "python", None)


def _install() -> None:
    """Makes the peer's environment, unless the one that is there has the same pins and the same Python."""
    pins = "\n".join([sys.version, *_REQUIREMENTS])
    if _PINS.exists() and _PINS.read_text() == pins:
        return
    uv = _uv()
    print(f"installing mcp {PEER_VERSION} into {_ENVIRONMENT.relative_to(ROOT)}", file=sys.stderr, flush=True)
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, _ENVIRONMENT], check=True)
    python = _ENVIRONMENT / "bin" / "python"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *_REQUIREMENTS], check=True)
    _PINS.write_text(pins)


def _uv() -> str:
    """The uv on PATH, of the repository's tools, or of this environment."""
    for candidate in (shutil.which("uv"), ROOT / ".tools" / "bin" / "uv", Path(sys.prefix) / "bin" / "uv"):
        if candidate is not None and Path(candidate).exists():
            return str(candidate)
    raise SystemExit("the peer is installed with uv, and there is none on PATH, in .tools/bin or in the environment")

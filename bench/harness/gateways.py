"""The gateways that are compared: how each is started before an upstream server."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.process import Command
from harness.sides import environment, node, node_packages
from harness.warm_up import NODE_SECONDS
from harness.wire import LEGACY, MODERN

__all__ = ["GATEWAYS", "Gateway", "gateway", "our_files", "ours"]

_SERVERS = Path(__file__).parents[1] / "servers"
_TOOLTRUE = str(Path(sys.prefix) / "bin" / "tooltrue")
_SETTINGS = """
[servers.up]
prefix = false

[effects]
read = ["*"]

# The limit is there and is paid for; a figure of calls a second must not be that of a limit.
[rate]
tool = { per_second = 1000000, burst = 1000000 }
caller = { per_second = 1000000, burst = 1000000 }
server = { per_second = 1000000, burst = 1000000 }
"""

Start = Callable[[Sequence[str], int, Path], Command]
"""The command for an upstream, which is a command or one URL; a port; and a folder for files."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """``era`` is the newest revision that its clients may speak. ``takes_urls``: upstreams may be remote, too."""

    key: str
    name: str
    start: Start
    era: str = MODERN
    takes_urls: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    warm_up: float = 0.0


def our_files(
    servers: Mapping[str, Sequence[str] | Mapping[str, object]], folder: Path, settings: str = ""
) -> tuple[Path, Path]:
    """The list of servers and the operator's file of our gateway, in ``folder``, with all commands approved."""
    file, operator = folder / "servers.json", folder / "tooltrue.toml"
    entries = {name: _entry(target) for name, target in servers.items()}
    file.write_text(json.dumps({"mcpServers": entries}))
    operator.write_text(settings)
    command = [_TOOLTRUE, "trust", str(file), "--yes"]
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=quiet, stderr=quiet, env=os.environ | _state(folder))
    return file, operator


def _entry(target: Sequence[str] | Mapping[str, object]) -> Mapping[str, object]:
    if isinstance(target, Mapping):
        return target
    if target[0].startswith("http"):
        return {"url": target[0]}
    return {"command": target[0], "args": list(target[1:])}


def _state(folder: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(folder)}


def ours(folder: Path, more: Sequence[str] = ()) -> Gateway:
    """tooltrue, with every layer on."""

    def start(target: Sequence[str], port: int, into: Path) -> Command:
        file, operator = our_files({"up": target}, into, _SETTINGS)
        serving = ("--config", str(operator), "--http", f"127.0.0.1:{port}", *more)
        return (_TOOLTRUE, "gateway", str(file), *serving)

    return Gateway("ours", "tooltrue", start, environment=_state(folder))


def _fastmcp() -> Gateway:
    python = str(environment("fastmcp", ("fastmcp==4.1.2",)))
    script = str(_SERVERS / "fastmcp" / "proxy.py")
    return Gateway("fastmcp", "FastMCP 4.1.2", lambda target, port, folder: (python, script, str(port), *target))


def _mcp_proxy() -> Gateway:
    """Between stdio and HTTP only."""
    program = environment("mcp-proxy", ("mcp-proxy==0.13.0",)).with_name("mcp-proxy")

    def start(target: Sequence[str], port: int, folder: Path) -> Command:
        return (str(program), "--port", str(port), "--log-level", "WARNING", "--", *target)

    return Gateway("mcp-proxy", "mcp-proxy 0.13 (PyPI)", start, LEGACY, takes_urls=False)


def _mcp_proxy_node() -> Gateway:
    program = str(node_packages("gateways") / "node_modules" / "mcp-proxy" / "dist" / "bin" / "mcp-proxy.mjs")

    def start(target: Sequence[str], port: int, folder: Path) -> Command:
        options = ("--host", "127.0.0.1", "--port", str(port), "--server", "stream", "--no-eventStore")
        return (node(), program, *options, "--", *target)

    name = "mcp-proxy 6.7 (npm)"
    return Gateway("mcp-proxy-node", name, start, MODERN, takes_urls=False, warm_up=NODE_SECONDS)


def _supergateway() -> Gateway:
    program = str(node_packages("gateways") / "node_modules" / "supergateway" / "dist" / "index.js")

    def start(target: Sequence[str], port: int, folder: Path) -> Command:
        options = ("--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none", "--port", str(port))
        return (node(), program, "--stdio", " ".join(target), *options)

    return Gateway("supergateway", "supergateway 4.0 (npm)", start, LEGACY, takes_urls=False, warm_up=NODE_SECONDS)


GATEWAYS: Mapping[str, Callable[[], Gateway]] = {
    "fastmcp": _fastmcp,
    "mcp-proxy": _mcp_proxy,
    "mcp-proxy-node": _mcp_proxy_node,
    "supergateway": _supergateway,
}


def gateway(key: str) -> Gateway:
    """One of `GATEWAYS`, installed if necessary. Raises NotHere if it needs Node and Node is missing."""
    return GATEWAYS[key]()

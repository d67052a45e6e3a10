"""The official clients, with the environment of each and the revision it must negotiate with us."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

from environments import HERE, NODE_HOME, node, python_for

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
PACKAGES: dict[str, str] = json.loads((HERE / "node" / "package.json").read_text())["dependencies"]


@dataclass(frozen=True, slots=True)
class Official:
    """A client by another author. `command` creates its environment and returns its command line.

    With `tasks` it calls the tools of `task_server.py` as tasks. `command` raises Failure if the environment cannot be
    created, NoNode if it needs Node and Node is missing.
    """

    name: str
    package: str
    revision: str
    needs_node: bool
    command: Callable[[], list[str]]
    tasks: bool = False


def _python(name: str, script: str, version: str, revision: str) -> Official:
    def command() -> list[str]:
        return [python_for(name, f"mcp=={version}"), str(HERE / script)]

    return Official(name, f"mcp {version}", revision, False, command)


def _typescript(name: str, script: str, package: str, revision: str, *, tasks: bool = False) -> Official:
    def command() -> list[str]:
        return [node(), str(NODE_HOME / script)]

    return Official(name, _label(package), revision, True, command, tasks)


def _inspector(era: str, revision: str) -> Official:
    def command() -> list[str]:
        program = NODE_HOME / "node_modules" / ".bin" / "mcp-inspector"
        return [sys.executable, str(HERE / "inspector.py"), node(), str(program), era]

    return Official(f"inspector-{era}", _label("inspector"), revision, True, command)


def _label(package: str) -> str:
    return f"{package} {PACKAGES[f'@modelcontextprotocol/{package}']}"


CLIENTS = (
    _python("python-2", "python_sdk_v2.py", "2.3.0", MODERN),
    _python("python-1", "python_sdk_v1.py", "1.30.0", LEGACY),
    _typescript("typescript-2", "typescript_v2.mjs", "client", MODERN),
    _typescript("typescript-1", "typescript_v1.mjs", "sdk", LEGACY),
    _typescript("typescript-1-tasks", "typescript_v1_tasks.mjs", "sdk", LEGACY, tasks=True),
    _inspector("modern", MODERN),
    _inspector("legacy", LEGACY),
)

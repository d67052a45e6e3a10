"""Nine servers by other people, as a client has them in its file: four of npm, four of PyPI and one of FastMCP.

Their environments are made under `.interop/` and kept (`../interop/environments.py`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "interop"))

from environments import NODE_HOME, node, python_for

HERE = Path(__file__).resolve().parent
RELEASES = ("mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24", "mcp-server-time==2026.10.19")
EVERYTHING = "server-everything"


def prepared(folder: Path) -> dict[str, dict[str, Any]]:
    """The entry of each server by its label, with the files that it uses in ``folder``. Raises ``NoNode`` or
    ``Failure`` where a server cannot be installed."""
    (folder / "root").mkdir()
    (folder / "root" / "hello.txt").write_text("hello\n")
    repository = str(folder / "repository")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-C", repository]
    subprocess.run(["git", "init", "--quiet", repository], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "First"], check=True)
    return _servers(folder)


def _servers(folder: Path) -> dict[str, dict[str, Any]]:
    modules = NODE_HOME / "node_modules" / "@modelcontextprotocol"

    def of_npm(name: str, *arguments: str, **env: str) -> dict[str, Any]:
        return {"command": node(), "args": [str(modules / name / "dist" / "index.js"), *arguments], "env": env}

    def of_pypi(python: str, module: str, *arguments: str) -> dict[str, Any]:
        return {"command": python, "args": ["-m", module, *arguments]}

    official = python_for("servers", *RELEASES)
    sqlite = python_for("server-sqlite", "mcp-server-sqlite==2025.4.25", "mcp==1.30.0")  # it fails with mcp 2
    fastmcp = python_for("fastmcp-4", "fastmcp==4.1.2")
    return {
        "everything": of_npm(EVERYTHING),
        "files": of_npm("server-filesystem", str(folder / "root")),
        "memory": of_npm("server-memory", MEMORY_FILE_PATH=str(folder / "memory.jsonl")),
        "thinking": of_npm("server-sequential-thinking"),
        "git": of_pypi(official, "mcp_server_git", "--repository", str(folder / "repository")),
        "time": of_pypi(official, "mcp_server_time", "--local-timezone", "UTC"),
        "fetch": of_pypi(official, "mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips"),
        # It has a script, and no module to run.
        "sqlite": {
            "command": str(Path(sqlite).with_name("mcp-server-sqlite")),
            "args": ["--db-path", str(folder / "data.db")],
        },
        "fastmcp": {"command": fastmcp, "args": [str(HERE / "fastmcp_stdio_server.py")]},
    }

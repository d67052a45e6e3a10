"""Calls of the tables tools, as a client sees them, over a folder of the test."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from tooltrue import Client, Server
from tooltrue.client.call_results import Result
from tooltrue_toolbox.rooted_paths import PathRules
from tooltrue_toolbox.tables.layout import TableLimits
from tooltrue_toolbox.tables.table_tools import toolset


def result_of(
    root: Path, tool: str, limits: TableLimits | None = None, rules: PathRules | None = None, **arguments: Any
) -> Result[Any]:
    """One call of a server over ``root``."""

    async def once() -> Result[Any]:
        async with Client(Server("tables", toolsets=[toolset([root], limits=limits, rules=rules)])) as client:
            called: Result[Any] = await client.call_tool(tool, arguments)
            return called

    return asyncio.run(once())


def ask(root: Path, tool: str, limits: TableLimits | None = None, **arguments: Any) -> Any:
    """The value of a call that has to succeed."""
    return result_of(root, tool, limits, **arguments).value


def code_of(root: Path, tool: str, limits: TableLimits | None = None, **arguments: Any) -> str:
    """The code of a call that must fail, after a check that its message does not contain the root path."""
    result = result_of(root, tool, limits, **arguments)
    assert result.is_error, result.text
    assert str(root) not in result.text
    found = re.search(r"\[(TT\d+)\]$", result.text)
    assert found, result.text
    return found[1]

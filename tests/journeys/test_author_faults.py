"""Mistakes of a tool's author in a real server process: a tool that blocks, and one that crashes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from support.serving import http
from tooltrue import Client
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

BLOCKING = """
import logging, threading
from tooltrue import Limits, Server

heard, lines = threading.Event(), []


class Ear(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())
        heard.set()


logging.getLogger("tooltrue").addHandler(Ear())
server = Server("t", limits=Limits(blocked_seconds=0.05))


@server.tool
async def blocks() -> str:
    heard.wait(30)
    return lines[0]


if __name__ == "__main__":
    server.run()
"""
LINE = BLOCKING[: BLOCKING.index("    heard.wait")].count("\n") + 1


@pytest.fixture
def blocking(tmp_path: Path) -> str:
    file = tmp_path / "watched.py"
    file.write_text(BLOCKING)
    return str(file)


async def asked(target: Any, tool: str) -> str:
    async with asyncio.timeout(LIMIT), Client(target) as client:
        return (await client.call_tool(tool)).text


def is_named(report: str) -> bool:
    return "the tool blocks" in report and f"watched.py, line {LINE}, in blocks" in report and "TT4104" in report


def test_a_blocking_tool_is_named_with_its_line_over_stdio(blocking: str) -> None:
    assert is_named(asyncio.run(asked(f"{sys.executable} {blocking}", "blocks")))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_blocking_tool_is_named_with_its_line_over_http(blocking: str, workers: str) -> None:
    with http("--workers", workers, target=blocking) as (url, _):
        assert is_named(asyncio.run(asked(url, "blocks")))

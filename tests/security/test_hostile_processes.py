"""A hostile server in a process of its own, or over HTTP, behind a host: misuse of its process, pipes and streams does
not affect other servers, and leaves no process behind."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from security.test_hostile import FLOODS, beside, check_harmless
from support.serving import left_of
from tooltrue import Host
from tooltrue.testing.hostile import TRICKS, Hostile, serving_http

pytestmark = pytest.mark.process

BY_HTTP = [trick.name for trick in TRICKS.values() if trick.http is not None]
NEVER_DONE = ("endless-line", "mute-on-call", *BY_HTTP, *FLOODS)
"""Tricks whose calls may last until a limit ends them."""


def limits(name: str) -> dict[str, float]:
    """A short limit for an answer that never comes. An answer that has to come has longer."""
    return {"seconds": 0.2} if name in NEVER_DONE else {}


def command(*names: str) -> list[str]:
    return [sys.executable, "-m", "tooltrue.testing.hostile", *names]


async def judge(host: Host, name: str) -> Any:
    """The result of the trick, which is harmless; meanwhile the other server has answered."""
    call = asyncio.ensure_future(host.call_tool(f"evil_{name}"))
    assert "\ntrue\n" in (await host.call_tool("good_truth")).text
    result = await call
    check_harmless(result)
    return result


@pytest.mark.parametrize("name", ["dies", "shouts", "endless-line", "says-much", "garbage", *FLOODS])
def test_misused_pipes_of_one_server_do_not_affect_the_others(name: str, tmp_path: Path) -> None:
    beside(command(name), lambda host: judge(host, name), tmp_path, **limits(name))


def test_a_child_that_a_server_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    async def test(host: Host) -> int:
        result = await judge(host, "child")
        return int(result.text.splitlines()[2])

    child = beside(command("child"), test, tmp_path)
    assert left_of([child]) == []


@pytest.mark.parametrize("name", [*BY_HTTP, *FLOODS, "says-much", "mute-on-call", "says-order"])
def test_misused_streams_of_one_server_do_not_affect_the_others(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with serving_http(Hostile(name)) as url:
            # The host has a loop of its own.
            await asyncio.to_thread(beside, url, lambda host: judge(host, name), tmp_path, **limits(name))

    asyncio.run(main())

"""The lifecycle of servers behind a host: each is independent of failures of the others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support.hosting import OPEN
from support.serving import command, http, started
from tooltrue import TooltrueError
from tooltrue.host.host import Announcement, Host
from tooltrue.host.launches import Launches, LaunchRequest
from tooltrue.host.pins import Pins
from tooltrue.host.servers import Patience
from tooltrue.protocol import versions
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = str(Path(__file__).parent / "hosted.py")
GOOD: dict[str, Any] = {"command": sys.executable, "args": [SERVER]}
HANGING: dict[str, Any] = {"command": "sleep", "args": ["600"]}
SOON = Patience(again=0.01)


def hosted(folder: Path, servers: dict[str, Any], test: Callable[[Host], Awaitable[Any]], **settings: Any) -> Any:
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))

    async def main() -> Any:
        given: dict[str, Any] = {"approve_launch": lambda request: True, "launches": Launches(folder / "state")}
        host = Host.from_config(file, **{**given, **OPEN, "audit": False, "patience": SOON, **settings})
        async with asyncio.timeout(LIMIT), host:
            return await test(host)

    return asyncio.run(main())


async def until(host: Host, **wanted: Any) -> Announcement:
    """The next announcement of this kind."""
    async for one in host.changes():
        if all(getattr(one, name) == value for name, value in wanted.items()):
            return one
    raise AssertionError


def states(host: Host) -> dict[str, str]:
    return {one.name: one.state for one in host.servers}


def test_a_server_that_fails_to_start_does_not_keep_others_from_starting(tmp_path: Path) -> None:
    servers = {"good": GOOD, "gone": {"command": "no-such-program"}, "dies": {"command": "false"}}

    async def test(host: Host) -> None:
        assert states(host) == {"good": "ready", "gone": "unavailable", "dies": "unavailable"}
        reasons = {one.name: one.reason.code for one in host.servers if one.reason is not None}
        assert reasons == {"gone": "TT5003", "dies": "TT5004"}
        assert (await host.call_tool("good_pid")).value > 0

    hosted(tmp_path, servers, test, patience=Patience())


def test_a_server_that_hangs_does_not_delay_the_others(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        await until(host, server="good", state="ready")
        assert states(host) == {"good": "ready", "hangs": "starting"}
        assert (await host.call_tool("good_pid")).value > 0

    servers = {"good": GOOD, "hangs": HANGING}
    hosted(tmp_path, servers, test, patience=Patience(ready=0.01))


def test_a_server_that_is_not_ready_in_time_is_unavailable_and_its_process_gone(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        (status,) = host.servers
        assert (status.state, status.reason and status.reason.code) == ("unavailable", "TT9230")

    hosted(tmp_path, {"hangs": HANGING}, test, patience=Patience(start=0.2))


def test_a_call_of_a_server_that_dies_fails_at_once_and_the_server_is_started_anew(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        before = (await host.call_tool("good_pid")).value
        listed = await host.tools()
        ready = asyncio.ensure_future(until(host, server="good", state="ready"))
        await asyncio.sleep(0)
        result = await host.call_tool("good_die")
        assert result.is_error
        assert "good_die has no answer" in result.text
        assert "TT9251" in result.text
        assert "may have happened" in result.text
        await ready
        assert (await host.call_tool("good_pid")).value != before
        assert await host.tools() is listed
        assert host.servers[0].starts == 2

    hosted(tmp_path, {"good": GOOD}, test)


@pytest.mark.requirement("STDIO-12", "SUB-08")
def test_a_server_that_is_started_anew_is_asked_again_to_tell_of_changes(tmp_path: Path) -> None:
    """A stateless server tells of changes to those alone that have sent it ``subscriptions/listen``."""

    async def test(host: Host) -> str:
        ready = asyncio.ensure_future(until(host, server="good", state="ready"))
        await asyncio.sleep(0)
        assert (await host.call_tool("good_die")).is_error
        await ready
        assert (host.servers[0].revision, host.servers[0].starts) == (versions.LATEST, 2)
        found = asyncio.ensure_future(until(host, kind="found"))
        await asyncio.sleep(0)
        await host.call_tool("good_become", name="fresh")
        assert (await found).names == ("good_fresh",)
        return (await host.call_tool("good_fresh")).text

    assert hosted(tmp_path, {"good": GOOD}, test, pins=False) == "fresh"


def test_a_server_that_is_tried_again_stays_unavailable_with_its_reason(tmp_path: Path) -> None:
    told: list[str | None] = []

    async def test(host: Host) -> None:
        async for one in host.changes():
            told.append(one.state)
            if len(told) == 5:
                return

    hosted(tmp_path, {"gone": {"command": "no-such-program"}}, test)
    assert told == ["unavailable"] * 5


def test_tools_of_a_server_that_is_away_stay_and_say_so(tmp_path: Path) -> None:
    returns = asyncio.Event()

    async def test(host: Host) -> None:
        names = [one.name for one in await host.list_tools()]
        lost = asyncio.ensure_future(until(host, server="good", state="unavailable"))
        await asyncio.sleep(0)
        os.kill((await host.call_tool("good_pid")).value, signal.SIGKILL)
        await lost
        assert [one.name for one in await host.list_tools()] == names
        assert not any(row.is_available for row in host.rows)
        result = await host.call_tool("good_pid")
        assert result.is_error
        assert "TT9250" in result.text
        ready = asyncio.ensure_future(until(host, server="good", state="ready"))
        await asyncio.sleep(0)
        returns.set()
        await ready
        assert all(row.is_available for row in host.rows)

    async def sleep(seconds: float) -> None:
        await returns.wait()

    hosted(tmp_path, {"good": GOOD}, test, patience=Patience(sleep=sleep))


def test_an_unreachable_server_is_retried_at_growing_intervals(tmp_path: Path) -> None:
    pauses: list[float] = []
    enough = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 6:
            enough.set()
            await asyncio.Event().wait()

    async def test(host: Host) -> None:
        await enough.wait()

    patience = Patience(again=1, longest=10, sleep=sleep)
    hosted(tmp_path, {"gone": {"command": "no-such-program"}}, test, patience=patience)
    assert pauses == [1, 2, 4, 8, 10, 10]


def test_every_process_is_gone_when_the_host_is(tmp_path: Path) -> None:
    async def test(host: Host) -> int:
        call = asyncio.ensure_future(host.call_tool("good_hang"))
        while not (tmp_path / "marker").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        pid = (await host.call_tool("good_pid")).value
        call.cancel()
        return pid

    servers = {"good": {**GOOD, "args": [SERVER, str(tmp_path / "marker")]}}
    pid = hosted(tmp_path, servers, test)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_tool_that_appears_is_held_back_until_somebody_accepts_it(tmp_path: Path) -> None:
    async def test(host: Host) -> str:
        held = asyncio.ensure_future(until(host, kind="held"))
        found = asyncio.ensure_future(until(host, kind="found"))
        await asyncio.sleep(0)
        await host.call_tool("good_become", name="fresh")
        assert (await held).names == ("fresh",)
        (review,) = host.reviews
        assert any("$.tools.fresh" in line for line in review.lines())
        host.accept(review, ["fresh"])
        assert (await found).names == ("good_fresh",)
        assert host.reviews == ()
        return (await host.call_tool("good_fresh")).text

    assert hosted(tmp_path, {"good": GOOD}, test, pins=Pins(tmp_path / "pins")) == "fresh"


def test_without_pins_a_tool_that_appears_can_be_called(tmp_path: Path) -> None:
    async def test(host: Host) -> str:
        found = asyncio.ensure_future(until(host, kind="found"))
        await asyncio.sleep(0)
        await host.call_tool("good_become", name="fresh")
        assert (await found).names == ("good_fresh",)
        return (await host.call_tool("good_fresh")).text

    assert hosted(tmp_path, {"good": GOOD}, test, pins=False) == "fresh"


@pytest.mark.requirement("SEC-02", "SEC-22")
def test_an_unapproved_server_does_not_start(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    servers = {"evil": {"command": "sh", "args": ["-c", f"touch {ran}"]}, "good": GOOD}
    asked: list[LaunchRequest] = []

    def approve(request: LaunchRequest) -> bool:
        asked.append(request)
        return request.server == "good"

    async def test(host: Host) -> None:
        assert states(host) == {"evil": "refused", "good": "ready"}

    for _ in range(2):
        hosted(tmp_path, servers, test, approve_launch=approve)
    assert [request.server for request in asked] == ["evil", "good", "evil"]
    assert f"touch {ran}" in asked[0].text
    assert not ran.exists()


def test_the_time_that_a_person_takes_is_not_counted(tmp_path: Path) -> None:
    answered = asyncio.Event()

    async def approve(request: LaunchRequest) -> bool:
        asyncio.get_running_loop().call_later(0.2, answered.set)
        await answered.wait()
        return True

    async def test(host: Host) -> None:
        assert answered.is_set()

    hosted(tmp_path, {"good": GOOD}, test, approve_launch=approve, patience=Patience(ready=0.01))


def test_without_anybody_to_ask_the_way_to_approve_is_told(tmp_path: Path) -> None:
    async def test(host: Host) -> TooltrueError | None:
        return host.servers[0].reason

    reason = hosted(tmp_path, {"good": GOOD}, test, approve_launch=None)
    assert reason.code == "TT9240"
    assert f"tooltrue trust {tmp_path}/servers.json" in str(reason)


def test_a_server_over_http_that_cannot_be_reached_is_unavailable(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        assert states(host) == {"web": "unavailable", "good": "ready"}

    hosted(tmp_path, {"web": {"url": "http://127.0.0.1:9/mcp"}, "good": GOOD}, test, patience=Patience())


def test_a_server_that_is_switched_off_is_not_started(tmp_path: Path) -> None:
    async def test(host: Host) -> None:
        assert states(host) == {"off": "disabled"}
        assert host.rows == ()

    hosted(tmp_path, {"off": {**GOOD, "disabled": True}}, test)


def test_a_server_over_http_that_is_gone_is_noticed_by_the_next_call_and_found_again(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        url, process = stack.enter_context(http(target=SERVER))
        port = url.split(":")[2].split("/")[0]

        async def test(host: Host) -> None:
            assert (await host.call_tool("web_pid")).value > 0
            process.popen.kill()
            process.popen.wait()
            lost = asyncio.ensure_future(until(host, server="web", state="unavailable"))
            await asyncio.sleep(0)
            assert (await host.call_tool("web_pid")).is_error
            await lost
            again = asyncio.ensure_future(until(host, server="web", state="ready"))
            await asyncio.sleep(0)
            arguments = command("serve", SERVER, "--http", f"127.0.0.1:{port}")
            stack.enter_context(started(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
            await again
            assert (await host.call_tool("web_pid")).value > 0

        hosted(tmp_path, {"web": {"url": url}}, test, patience=Patience(again=0.05, longest=0.2))

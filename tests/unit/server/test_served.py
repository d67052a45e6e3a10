"""The parts shared by both handlers: capabilities, pagination, and the request channel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tooltrue.protocol.types import Implementation
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.service import LISTINGS, LOG_RATE, PROGRESS_RATE, RequestChannel, ServedProvider, page_of
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.library import LocalLibrary
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext


class Told:
    """The exchange of a request, remembered."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []

    def notify(self, method: str, params: Any) -> None:
        self.said.append((method, params))


def served(provider: Any = None, **settings: Any) -> ServedProvider:
    info = Implementation(name="x", version="1")
    return ServedProvider(info, provider or LocalToolset(), Sealer((new_key(),)), MemoryFacts(), **settings)


def channel(test: Callable[[RequestChannel, Told], Any], token: Any = "t", level: str | None = "debug", **more: Any):
    async def main() -> list[tuple[str, Any]]:
        told = Told()
        made = RequestChannel(told, token, level, **more)
        result = test(made, told)
        if asyncio.iscoroutine(result):
            await result
        for _ in range(3):
            await asyncio.sleep(0)
        return told.said

    return asyncio.run(main())


@pytest.mark.requirement("LOG-01")
def test_only_offered_capabilities_are_advertised():
    always = {"tools": {"listChanged": True}, "logging": {}}  # any tool may log
    assert served().capabilities() == always
    library = LocalLibrary()
    library.add_prompt(lambda: "", name="p")
    assert served(library).capabilities() == {**always, "prompts": {"listChanged": True}}
    library.add_resource("a:b", lambda: "")
    library.remove_resource("a:b")
    assert served(library).capabilities()["resources"] == {"subscribe": True, "listChanged": True}


def test_a_list_that_fits_is_one_page_and_the_same_tuple():
    toolset = LocalToolset()
    toolset.add_raw("a", {"type": "object"}, lambda arguments: None)
    here = served(toolset)
    tools = asyncio.run(here.provider.list_tools(RequestContext(LOCAL, SILENT)))
    page = page_of(here, LISTINGS[0], tools, None, LOCAL)
    assert page.items is tools
    assert page.next_cursor is None


def test_a_progress_notification_has_only_the_fields_that_are_set():
    said = channel(lambda c, told: (c.progress(0, None, None), c.progress(1, 2, "half")))
    assert said == [
        ("notifications/progress", {"progressToken": "t", "progress": 0}),
        ("notifications/progress", {"progressToken": "t", "progress": 1, "total": 2, "message": "half"}),
    ]


@pytest.mark.requirement("PROG-03")
def test_progress_that_does_not_increase_is_dropped():
    numbers = [0.5, 0.5, 0.2, float("nan"), float("inf"), float("-inf"), 0.6]
    said = channel(lambda c, told: [c.progress(number, None, None) for number in numbers])
    assert [params["progress"] for _, params in said] == [0.5, 0.6]


def test_a_revision_without_messages_is_told_none():
    [(_, params)] = channel(lambda c, told: c.progress(1, None, "x"), with_message=False)
    assert "message" not in params


@pytest.mark.requirement("LOG-02", "PROG-05")
def test_a_request_without_progress_token_and_log_level_gets_no_notifications():
    assert channel(lambda c, told: (c.progress(1, None, None), c.log("error", "x", None)), None, None) == []


@pytest.mark.parametrize(("level", "heard"), [("debug", 3), ("warning", 2), ("emergency", 0)])
def test_a_log_message_below_the_level_asked_for_is_not_sent(level: str, heard: int):
    said = channel(lambda c, told: [c.log(name, 1, "me") for name in ("info", "warning", "error")], None, level)
    assert len(said) == heard


class Clock:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.requirement("PROG-07")
def test_progress_notifications_are_rate_limited_and_the_completing_one_is_always_sent():
    clock = Clock()

    def test(c: RequestChannel, told: Told) -> None:
        for number in range(50):
            c.progress(number, 50, None)
        c.progress(50, 50, "done")
        c.progress(51, 50, "done again")
        clock.now = 1.0
        c.progress(60, None, None)

    numbers = [params["progress"] for _, params in channel(test, clock=clock)]
    assert numbers == [*range(PROGRESS_RATE), 50, 60]


def test_of_a_flood_of_progress_the_newest_is_told_when_the_second_is_over():
    async def main() -> None:
        clock, told = Clock(), Told()
        c = RequestChannel(told, "t", None, clock=clock)
        for number in range(10_000):
            c.progress(number, None, None)
        assert len(told.said) == PROGRESS_RATE
        clock.now = 1.0
        for _ in range(100):
            await asyncio.sleep(0)
        assert [params["progress"] for _, params in told.said[PROGRESS_RATE:]] == [9_999]
        c.close()

    asyncio.run(main())


def test_log_messages_over_the_rate_limit_are_dropped_and_the_drop_is_reported():
    clock = Clock()

    def test(c: RequestChannel, told: Told) -> None:
        for number in range(3 * LOG_RATE):
            c.log("debug", number, "me")  # below the requested level: it does not count
            c.log("error", number, "me")
        clock.now = 1.0
        c.log("error", "later", "me")

    said = [params for _, params in channel(test, None, "error", clock=clock)]
    assert [params["data"] for params in said[:LOG_RATE]] == [*range(LOG_RATE)]
    assert [params["logger"] for params in said[LOG_RATE:]] == ["tooltrue", "me"]
    assert "left out" in said[LOG_RATE]["data"]
    assert said[-1] == {"level": "error", "data": "later", "logger": "me"}


@pytest.mark.requirement("PROG-05", "PROG-06", "PROG-08")
def test_after_the_answer_nothing_is_said():
    def test(c: RequestChannel, told: Told) -> None:
        c.close()
        c.progress(1, None, None)
        c.log("error", "x", None)

    assert channel(test) == []


def test_a_thread_may_tell_and_is_told_of_on_the_loop():
    async def test(c: RequestChannel, told: Told) -> None:
        where: list[int] = []
        told.notify = lambda method, params: where.append(threading.get_ident())
        thread = threading.Thread(target=c.progress, args=(1, None, None))
        thread.start()
        await asyncio.to_thread(thread.join)
        await asyncio.sleep(0)
        assert where == [threading.get_ident()]

    channel(test)

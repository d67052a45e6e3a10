"""The handler that ends open streams under somebody else's HTTP server."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tooltrue import Server
from tooltrue.testing.state import LIMIT
from tooltrue.transport.signals import ends_on_signal


class Heard:
    """A server's own handler."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def __call__(self, number: int, frame: Any) -> None:
        self.numbers.append(number)


@pytest.fixture(name="before")
def of_the_server() -> Iterator[Heard]:
    heard, kept = Heard(), {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, heard)
    yield heard
    for number, handler in kept.items():
        signal.signal(number, handler)


async def heard_soon(event: asyncio.Event) -> None:
    async with asyncio.timeout(LIMIT):
        await event.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_streams_of_every_application_and_the_servers_handler_runs_once(number: int, before: Heard):
    async def main() -> None:
        one, two = asyncio.Event(), asyncio.Event()
        with ends_on_signal(one.set), ends_on_signal(two.set):
            signal.raise_signal(number)
            await heard_soon(one)
            await heard_soon(two)
        assert before.numbers == [number]
        assert signal.getsignal(number) is before

    asyncio.run(main())


def test_the_application_that_ends_first_leaves_the_handler_to_the_other(before: Heard):
    async def main() -> None:
        one, two = asyncio.Event(), asyncio.Event()
        with ends_on_signal(two.set):
            with ends_on_signal(one.set):
                pass
            signal.raise_signal(signal.SIGTERM)
            await heard_soon(two)
        assert (one.is_set(), before.numbers) == (False, [signal.SIGTERM])

    asyncio.run(main())


def test_a_handler_that_the_server_has_changed_meanwhile_stays(before: Heard):
    async def main() -> None:
        later = Heard()
        with ends_on_signal(lambda: None):
            signal.signal(signal.SIGTERM, later)
        assert signal.getsignal(signal.SIGTERM) is later
        assert signal.getsignal(signal.SIGINT) is before

    asyncio.run(main())


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_signal_without_a_handler_of_the_server_gets_none(handler: signal.Handlers, before: Heard):
    async def main() -> None:
        signal.signal(signal.SIGTERM, handler)
        with ends_on_signal(lambda: None):
            assert signal.getsignal(signal.SIGTERM) is handler

    asyncio.run(main())


def test_signal_handlers_are_not_installed_outside_the_main_thread(before: Heard):
    seen: list[Any] = []

    async def main() -> None:
        with ends_on_signal(lambda: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    thread.join(LIMIT)
    assert seen == [before]


@pytest.mark.parametrize("signals", [True, False])
def test_an_application_may_leave_the_handlers_alone(signals: bool, before: Heard):
    async def main() -> None:
        app = Server("s", audit=False).http_app(signals=signals)
        async with app.serving():
            assert (signal.getsignal(signal.SIGTERM) is before) is not signals
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert app.ready is not signals
        assert signal.getsignal(signal.SIGTERM) is before

    asyncio.run(main())

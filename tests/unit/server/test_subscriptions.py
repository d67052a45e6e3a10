"""The hub: changes are told once a turn, from any thread, and never to who has left."""

from __future__ import annotations

import asyncio
import threading

from toolwright.server.subscriptions import Hub
from toolwright.testing.state import LIMIT
from toolwright.tools.toolset import Change

TOOLS = Change("tools")


async def turns() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_changes_of_one_turn_are_told_once():
    async def main() -> None:
        hub, told = Hub(), []
        hub.listen(lambda _: told.append(1))
        for _ in range(5):
            hub.changed(TOOLS)
        await turns()
        assert told == [1]
        hub.changed(TOOLS)
        await turns()
        assert told == [1, 1]

    asyncio.run(main())


def test_every_listener_is_told_and_who_has_left_is_not():
    async def main() -> None:
        hub, told = Hub(), []
        hub.listen(lambda _: told.append("stays"))
        end = hub.listen(lambda _: told.append("leaves"))
        hub.changed(TOOLS)
        end()  # between the change and the telling
        end()
        await turns()
        assert told == ["stays"]

    asyncio.run(main())


def test_a_change_on_another_thread_is_told_on_the_listeners_loop():
    async def main() -> None:
        hub, told = Hub(), asyncio.Event()
        hub.listen(lambda _: told.set())
        thread = threading.Thread(target=hub.changed, args=(TOOLS,))
        thread.start()
        async with asyncio.timeout(LIMIT):
            await told.wait()
        thread.join()

    asyncio.run(main())


def test_a_listener_whose_loop_has_ended_hurts_nobody():
    hub, told = Hub(), []

    async def listen() -> None:
        hub.listen(lambda _: told.append("ended"))

    async def change() -> None:
        hub.listen(lambda _: told.append("lives"))
        hub.changed(TOOLS)
        await turns()

    asyncio.run(listen())
    asyncio.run(change())
    assert told == ["lives"]


def test_closing_wakes_who_listens_on_any_loop():
    hub, told = Hub(), []

    async def main() -> None:
        hub.listen(told.append)
        hub.close()
        await turns()

    asyncio.run(main())
    assert told == [frozenset()]
    assert hub.closed

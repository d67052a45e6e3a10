"""Parts of pages that renew themselves: one look for all viewers, and no event without a change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.clock import skip
from support.console import PATIENCE, House
from tooltrue.state.log import timestamp
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_log
from tooltrue_console.live import SharedView, SharedViews


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def call(number: int, **more: Any) -> dict[str, Any]:
    members = {"at": timestamp(1_700_000_000 + number), "kind": "call", "outcome": "ok", "who": "ab"[number % 2]}
    return {**members, "subject": f"tool{number}", **more}


async def write(url: str, *numbers: int) -> None:
    async with open_log(url) as log:
        for number in numbers:
            log.note(call(number))
        await log.head()


# --- one look for all -------------------------------------------------------------------------------------------------


class Looks:
    """A state that is looked at."""

    def __init__(self) -> None:
        self.count = 0
        self.value = "first"

    async def __call__(self) -> str:
        self.count += 1
        return self.value


async def following(view: SharedView[str]) -> Callable[[], Awaitable[str | None]]:
    values: AsyncGenerator[str | None] = view.values()
    return lambda: asyncio.wait_for(anext(values), PATIENCE)


def test_ten_viewers_of_the_same_part_cost_one_look():
    async def scenario() -> tuple[list[str | None], int]:
        looks, views = Looks(), SharedViews[str]()
        viewers = [await following(views.of("part", looks)) for _ in range(10)]
        return [await viewer() for viewer in viewers], looks.count

    assert asyncio.run(scenario()) == (["first"] * 10, 1)


def test_viewers_of_other_parts_have_looks_of_their_own():
    async def scenario() -> list[int]:
        looks, views = [Looks(), Looks()], SharedViews[str]()
        for key, one in enumerate(looks):
            await (await following(views.of(key, one)))()
        return [one.count for one in looks]

    assert asyncio.run(scenario()) == [1, 1]


def test_after_a_change_the_next_look_is_later_and_after_the_first_value_it_is_not():
    async def scenario() -> list[int]:
        looks = Looks()
        viewer = await following(SharedView(looks, every=1, rest=5))
        await viewer()
        counts: list[int] = []
        for seconds in (2, 2, 4, 2):
            looks.value = "another"
            skip(seconds)
            for _ in range(3):
                await asyncio.sleep(0)
            counts.append(looks.count)
        return counts

    assert asyncio.run(scenario()) == [2, 2, 3, 4]


# --- calls ------------------------------------------------------------------------------------------------------------


async def renewed(house: House, path: str, *steps: Callable[[], Awaitable[None]]) -> list[tuple[str, str]]:
    """The events at an address: the first one, and one after each step."""
    async with AsyncExitStack() as stack:
        visitor = await stack.enter_async_context(house.visitor("reader"))
        stream = await stack.enter_async_context(house.stream(visitor, path))
        events = [await stream.next()]
        for step in steps:
            await step()
            skip(6)
            events.append(await stream.next())
        return events


@given(
    written=st.lists(st.integers(1, 70), min_size=1, max_size=3),
    who=st.sampled_from(("", "a", "b", "nobody")),
    before=st.integers(0, 120),
)
@settings(max_examples=12, deadline=None)
def test_a_table_that_renews_itself_is_the_one_that_a_reload_shows(
    written: list[int], who: str, before: int, tmp_path_factory: pytest.TempPathFactory
):
    folder = tmp_path_factory.mktemp("log")
    url = sqlite_url(folder / "attic.db")

    async def scenario(house: House) -> tuple[str, str]:
        await write(url, *range(before))
        path = f"log=attic&who={who}"
        ends = [before]
        steps: list[Callable[[], Awaitable[None]]] = []
        for count in written:
            numbers = range(ends[-1], ends[-1] + count)
            ends.append(numbers.stop)

            async def step(numbers: range = numbers) -> None:
                await write(url, *numbers)

            steps.append(step)
        if who == "nobody":
            steps = steps[:0]
        events = await renewed(house, f"/calls/events?{path}", *steps)
        async with house.visitor("reader") as visitor:
            page = (await visitor.get(f"/calls?{path}")).text
        return events[-1][1], page

    live, page = House(folder, logs={"attic": url}).visited(scenario)
    table = page[page.index('<div id="records">') : page.index("</main>")]
    assert live.strip() == table.strip()


def test_a_log_that_goes_away_is_told_and_comes_back(tmp_path: Path):
    path, away = tmp_path / "attic.db", tmp_path / "away.db"
    url = sqlite_url(path)

    async def scenario(house: House) -> list[tuple[str, str]]:
        await write(url, 1)

        async def leave() -> None:
            path.rename(away)

        async def come_back() -> None:
            away.rename(path)

        return await renewed(house, "/calls/events?log=attic", leave, come_back)

    first, gone, back = House(tmp_path, logs={"attic": url}).visited(scenario)
    assert [name for name, _ in (first, gone, back)] == ["changed", "problem", "changed"]
    assert "TT9418" in gone[1]
    assert back == first

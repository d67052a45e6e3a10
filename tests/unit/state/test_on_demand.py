"""A store that is opened when it is needed, and where a user's files lie."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tooltrue.errors import StateError
from tooltrue.state.facts import MemoryFacts, Values
from tooltrue.state.on_demand import OnDemand
from tooltrue.state.places import state_folder
from tooltrue.state.urls import open_facts
from tooltrue.testing.state import LIMIT


def test_an_on_demand_store_is_created_at_its_first_use_and_keeps_its_values(tmp_path: Path):
    path = tmp_path / "state" / "a.db"

    async def main() -> list[object]:
        seen: list[object] = []
        for _ in range(2):
            async with OnDemand(lambda: open_facts(f"sqlite://{path}"), MemoryFacts()) as values:
                seen.append(path.exists())
                seen.append(await values.put_if_absent("a", b"1", 60))
                await asyncio.gather(*(values.put("b", b"2", 60) for _ in range(5)))
                seen.append(await values.get("b"))
        return seen

    assert asyncio.run(main()) == [False, True, b"2", True, False, b"2"]
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_an_on_demand_store_uses_its_substitute_outside_of_serving():
    async def main() -> tuple[bytes | None, bytes | None]:
        otherwise = MemoryFacts()
        values = OnDemand(MemoryFacts, otherwise)
        await values.put("a", b"1", 60)
        async with values:
            inside = await values.remove("a")
        return inside, await otherwise.get("a")

    assert asyncio.run(main()) == (None, b"1")


def test_of_two_within_the_last_closes_it():
    async def main() -> list[bytes | None]:
        values = OnDemand(MemoryFacts, MemoryFacts())
        await values.__aenter__()
        await values.put("a", b"1", 60)
        await values.__aenter__()
        seen = [await values.get("a")]
        for _ in range(2):
            await values.__aexit__(None, None, None)
            seen.append(await values.get("a"))
        return seen

    assert asyncio.run(main()) == [b"1", b"1", None]


def test_a_store_that_opens_while_its_last_user_leaves_is_closed():
    async def main() -> tuple[list[str], bytes | None]:
        seen: list[str] = []
        opening, may_open = asyncio.Event(), asyncio.Event()

        @asynccontextmanager
        async def slow() -> AsyncGenerator[Values]:
            opening.set()
            await may_open.wait()
            seen.append("opened")
            yield MemoryFacts()
            seen.append("closed")

        values = OnDemand(slow, MemoryFacts())
        async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as tasks:
            await values.__aenter__()
            tasks.create_task(values.put("a", b"1", 60))
            await opening.wait()
            tasks.create_task(values.__aexit__(None, None, None))
            late = tasks.create_task(values.get("a"))
            await asyncio.sleep(0)  # they have come so far as they can
            may_open.set()
        return seen, late.result()

    assert asyncio.run(main()) == (["opened", "closed"], None)


def test_a_user_that_enters_while_the_last_one_leaves_keeps_the_store_open():
    async def main() -> bytes | None:
        opening, may_open = asyncio.Event(), asyncio.Event()

        @asynccontextmanager
        async def slow() -> AsyncGenerator[Values]:
            opening.set()
            await may_open.wait()
            yield MemoryFacts()

        values = OnDemand(slow, MemoryFacts())
        async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as tasks:
            await values.__aenter__()
            tasks.create_task(values.put("a", b"1", 60))
            await opening.wait()
            tasks.create_task(values.__aexit__(None, None, None))
            await asyncio.sleep(0)
            await values.__aenter__()
            may_open.set()
        return await values.get("a")

    assert asyncio.run(main()) == b"1"


def test_one_after_the_other_event_loops_may_open_it(tmp_path: Path):
    values = OnDemand(lambda: open_facts(f"sqlite://{tmp_path}/a.db"), MemoryFacts())

    async def main() -> list[bytes | None]:
        async with values:
            return await asyncio.gather(*(values.get("a") for _ in range(3)))

    assert [asyncio.run(main()) for _ in range(2)] == [[None] * 3] * 2


def test_a_store_that_cannot_be_opened_raises_an_error_at_each_use(tmp_path: Path):
    (tmp_path / "file").write_text("")

    async def main() -> None:
        async with OnDemand(lambda: open_facts(f"sqlite://{tmp_path}/file/a.db"), MemoryFacts()) as values:
            for _ in range(2):
                with pytest.raises(StateError, match="cannot be opened"):
                    await values.get("a")

    asyncio.run(main())


def test_the_users_folder_is_in_the_one_of_all_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "tooltrue"

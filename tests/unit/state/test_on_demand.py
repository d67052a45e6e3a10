"""A store that is opened when it is needed, and where a user's files lie."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from toolwright.errors import StateError
from toolwright.state.facts import MemoryFacts
from toolwright.state.on_demand import OnDemand
from toolwright.state.places import state_folder
from toolwright.state.urls import open_facts


def test_nothing_is_made_before_it_is_needed_and_what_was_put_stays(tmp_path: Path):
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


def test_outside_of_serving_it_is_what_it_was_given_instead():
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


def test_what_cannot_be_opened_is_an_error_each_time_it_is_needed(tmp_path: Path):
    (tmp_path / "file").write_text("")

    async def main() -> None:
        async with OnDemand(lambda: open_facts(f"sqlite://{tmp_path}/file/a.db"), MemoryFacts()) as values:
            for _ in range(2):
                with pytest.raises(StateError, match="cannot be opened"):
                    await values.get("a")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("named", "folder"),
    [("/var/x", "/var/x/toolwright"), ("", "/h/.local/state/toolwright"), ("relative", "/h/.local/state/toolwright")],
)
def test_the_users_folder_is_where_the_base_directories_say(monkeypatch: pytest.MonkeyPatch, named: str, folder: str):
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("XDG_STATE_HOME", named)
    assert state_folder() == Path(folder)

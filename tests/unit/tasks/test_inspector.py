"""Tasks from outside of the process that runs them: found, answered and cancelled."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import pickle
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from support.task_worker import Scripted
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.places import sqlite_url
from tooltrue.tasks.dbos_engine import DbosEngine
from tooltrue.tasks.engine import DamagedTask, TaskInspector
from tooltrue.tasks.opening import inspecting
from tooltrue.testing.state import LIMIT


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


@asynccontextmanager
async def serving(
    url: str, name: str = "s", say: Callable[[list[str]], None] = lambda said: None
) -> AsyncGenerator[DbosEngine]:
    engine = DbosEngine(url, instance=name)
    await engine.open(Scripted("s", say))
    try:
        yield engine
    finally:
        await engine.close()


async def ids(inspector: TaskInspector) -> list[str]:
    return [task.id async for task in inspector.newest()]


async def ended(engine: DbosEngine, task: str) -> str:
    """The outcome of a task, or its status."""
    async with asyncio.timeout(LIMIT):
        while not await engine.ended(task, LIMIT):
            pass
    state = await engine.look_up(task)
    assert state is not None
    return state.outcome or state.status


@on_a_loop
async def test_tasks_are_found_by_the_beginning_of_their_id(url: str) -> None:
    async with serving(url) as engine:
        for task, owner in (("aa01", "o1"), ("aa02", "o2"), ("bb01", "o1")):
            await engine.start(task, "ask:a", owner=owner, expires=4e9)
            assert await ended(engine, task) == "asks"
        async with inspecting(url, instance="s") as inspector:
            assert sorted(await ids(inspector)) == ["aa01", "aa02", "bb01"]
            assert len(await inspector.starting("aa")) == 2
            assert await inspector.starting("c") == ()
            [found] = await inspector.starting("bb")
            assert (found.id, found.state, found.rounds) == ("bb01", await engine.look_up("bb01"), 1)
            assert found.expires == pytest.approx(4e9, abs=1)


@on_a_loop
async def test_all_tasks_are_listed_however_many_there_are(url: str) -> None:
    tasks = [f"{number:04x}" for number in range(60)]
    async with serving(url) as engine:
        for task in tasks:
            await engine.start(task, "", owner="o", expires=None)
            assert await ended(engine, task) == "ended"
        async with inspecting(url, instance="s") as inspector:
            found = [
                (task.id, task.state.status) async for task in inspector.newest() if not isinstance(task, DamagedTask)
            ]
    assert sorted(found) == [(task, "ended") for task in tasks]


@on_a_loop
async def test_an_answer_from_outside_begins_the_next_round_in_the_server(url: str) -> None:
    said = list[list[str]]()
    async with serving(url, say=said.append) as engine:
        await engine.start("aa01", "ask:a,b step", owner="o", expires=4e9)
        assert await ended(engine, "aa01") == "asks"
        async with inspecting(url, instance="s") as inspector:
            await inspector.answer("aa01", {"a": "1"})
            [task] = await inspector.starting("aa01")
            assert (task.state.status, task.state.open_keys) == ("asks", {"b"})
            await inspector.answer("aa01", {"a": "again", "b": "2"})
        assert await ended(engine, "aa01") == "asked a=1 b=2 step-by-s"
    assert said == [["makes", "step"]]


@on_a_loop
async def test_an_answer_waits_for_a_server_that_does_not_run(url: str) -> None:
    async with serving(url) as engine:
        await engine.start("aa01", "ask:a step", owner="o", expires=None)
        assert await ended(engine, "aa01") == "asks"
    async with inspecting(url, instance="s") as inspector:
        await inspector.answer("aa01", {"a": "1"})
        [task] = await inspector.starting("aa01")
        assert (task.state.status, task.rounds) == ("working", 2)
    async with serving(url) as engine:
        assert await ended(engine, "aa01") == "asked a=1 step-by-s"


@on_a_loop
async def test_a_task_that_asks_is_cancelled_from_outside(url: str) -> None:
    async with serving(url) as engine:
        await engine.start("aa01", "ask:a", owner="o", expires=None)
        assert await ended(engine, "aa01") == "asks"
        async with inspecting(url, instance="s") as inspector:
            await inspector.cancel("aa01")
            await inspector.answer("aa01", {"a": "1"})
            [task] = await inspector.starting("aa01")
            assert (task.state.status, task.rounds) == ("cancelled", 1)
        assert await ended(engine, "aa01") == "cancelled"


@on_a_loop
async def test_the_round_of_a_task_that_is_cancelled_from_outside_ends(url: str) -> None:
    said = asyncio.Queue[list[str]]()
    async with asyncio.timeout(LIMIT), serving(url, say=said.put_nowait) as engine:
        await engine.start("aa01", "step*", owner="o", expires=None)
        assert await said.get() == ["makes", "step"]
        async with inspecting(url, instance="s") as inspector:
            await inspector.cancel("aa01")
            assert await said.get() == ["cancelled", "aa01"]
            [task] = await inspector.starting("aa01")
            assert task.state.status == "cancelled"


@on_a_loop
async def test_the_only_server_of_a_database_needs_no_name(url: str) -> None:
    async with serving(url, "one") as engine:
        async with inspecting(url) as inspector:
            assert await ids(inspector) == []
        await engine.start("aa01", "ask:a", owner="o", expires=None)
        assert await ended(engine, "aa01") == "asks"
        async with inspecting(url) as inspector:
            assert await ids(inspector) == ["aa01"]
            await inspector.answer("aa01", {"a": "1"})
        assert await ended(engine, "aa01") == "asked a=1"
    async with serving(url, "two") as engine:
        await engine.start("bb01", "", owner="o", expires=None)
        assert await ended(engine, "bb01") == "ended"
    with pytest.raises(ConfigurationError) as refused:
        async with inspecting(url):
            pass
    assert refused.value.code == "TT4840"
    async with inspecting(url, instance="two") as inspector:
        assert await ids(inspector) == ["bb01"]
        assert await inspector.starting("aa") == ()


async def opened(path: Path) -> None:
    async with inspecting(sqlite_url(path)):
        pass


def test_a_database_that_is_not_there_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        asyncio.run(opened(tmp_path / "none.db"))
    assert refused.value.code == "TT5611"
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_tasks_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database")
    with pytest.raises(ConfigurationError) as refused:
        asyncio.run(opened(path))
    assert refused.value.code == "TT5611"
    assert path.read_text() == "no database"


class Harmful:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_pickle_in_the_database_is_not_loaded(tmp_path: Path) -> None:
    url, harm = sqlite_url(tmp_path / "tasks.db"), tmp_path / "harm"

    async def begin() -> None:
        async with serving(url) as engine:
            await engine.start("aa01", "", owner="o", expires=None)
            assert await ended(engine, "aa01") == "ended"

    async def look() -> None:
        async with inspecting(url) as inspector:
            with contextlib.suppress(StateError):
                await ids(inspector)

    asyncio.run(begin())
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db")) as db, db:
        db.execute("UPDATE workflow_status SET serialization = 'py_pickle' WHERE workflow_uuid = 'aa01/0'")
        text = base64.b64encode(pickle.dumps(Harmful(harm))).decode()
        db.execute("UPDATE workflow_input SET inputs = ? WHERE workflow_uuid = 'aa01/0'", (text,))
    asyncio.run(look())
    assert not harm.exists()

"""The contract of the durable engine, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import base64
import os
import pickle
import stat
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg.sql import SQL, Identifier

from support.growth import grows_in_proportion
from support.postgres import database
from support.task_worker import LEASE, Scripted
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.places import sqlite_url
from tooltrue.tasks.dbos_engine import DbosEngine
from tooltrue.tasks.engine import RoundEnd, RoundOutcome, TaskRound, TaskState
from tooltrue.tasks.opening import new_engine
from tooltrue.testing.state import LIMIT

HOUR = 3600.0


class Opened:
    """An open engine whose tasks follow scripts."""

    def __init__(self, engine: DbosEngine, said: list[list[str]], script: Scripted) -> None:
        self.engine = engine
        self.said = said
        self.go = script.go

    async def begin(self, task: str, record: str, owner: str = "owner", expires: float | None = None) -> None:
        await self.engine.start(task, record, owner=owner, expires=expires)

    async def state(self, task: str) -> TaskState:
        state = await self.engine.look_up(task)
        assert state is not None
        return state

    async def end(self, task: str) -> TaskState:
        assert await self.engine.ended(task, LIMIT)
        return await self.state(task)

    async def said_soon(self, words: list[str]) -> None:
        await soon(lambda: words in self.said)


@asynccontextmanager
async def opened(
    url: str, name: str = "here", patience: float = LIMIT, clock: Callable[[], float] = time.time
) -> AsyncGenerator[Opened]:
    said = list[list[str]]()
    script = Scripted(name, said.append)
    engine = DbosEngine(url, lease=LEASE, patience=patience, clock=clock)
    await engine.open(script)
    try:
        yield Opened(engine, said, script)
    finally:
        await engine.close()


async def soon(happened: Callable[[], Any], seconds: float = LIMIT) -> None:
    """Wait until this is true. It is looked at again and again: no event tells of a change in the database."""
    async with asyncio.timeout(seconds):
        while not happened():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def statement(url: str, text: str, **values: Any) -> list[Any]:
    """Run a statement; the tables of DBOS are in ``{schema}``."""
    is_file = url.startswith("sqlite")
    place = url.replace("sqlite://", "sqlite:///") if is_file else url.replace("postgresql", "postgresql+psycopg", 1)
    engine = sqlalchemy.create_engine(place)
    try:
        with engine.begin() as db:
            done = db.execute(sqlalchemy.text(text.replace("{schema}", "" if is_file else "dbos.")), values)
            return list(done) if done.returns_rows else []
    finally:
        engine.dispose()


async def open_tasks(engine: DbosEngine, owner: str) -> int:
    """How many tasks of an owner have not ended."""
    number = 0
    while not await engine.has_room(owner, number + 1):
        number += 1
    return number


def test_a_task_is_found_at_once_and_ends_with_its_outcome(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("t", "one* two")
            state = await here.state("t")
            assert (state.status, state.record, state.outcome) == ("working", "one* two", "")
            assert not await here.engine.ended("t", 0.0)
            here.go.set()
            state = await here.end("t")
            assert (state.status, state.outcome) == ("ended", "one-by-here two-by-here")
            assert abs(state.began - time.time()) < LIMIT
            assert await here.engine.look_up("another") is None
            assert await here.engine.look_up("t/0") is None

    asyncio.run(scenario())


def test_a_round_begins_when_all_questions_are_answered_and_the_first_answer_counts(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("t", "ask:a,b end")
            state = await here.end("t")
            assert (state.status, state.questions, state.open_keys) == ("asks", "questions about a,b", {"a", "b"})
            await here.engine.answer("t", {"b": "2", "unknown": "3"})
            assert (await here.state("t")).open_keys == {"a"}
            await here.engine.answer("t", {"b": "again"})
            assert (await here.state("t")).open_keys == {"a"}
            await here.engine.answer("t", {"a": "1", "b": "third"})
            assert (await here.end("t")).outcome == "asked a=1 b=2 end-by-here"
            await here.engine.answer("t", {"a": "late"})
            assert (await here.state("t")).outcome == "asked a=1 b=2 end-by-here"

    asyncio.run(scenario())


def test_answers_side_by_side_begin_one_round(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("t", "ask:a,b one")
            await here.end("t")
            await asyncio.gather(*(here.engine.answer("t", {key: str(n)}) for n in range(3) for key in "ab"))
            assert (await here.end("t")).status == "ended"
            assert here.said == [["makes", "one"]]

    asyncio.run(scenario())


def test_a_round_whose_begin_was_lost_begins_when_the_task_is_looked_up(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("t", "ask:a one")
            await here.end("t")
            await here.engine.answer("t", {"a": "1"})
            await here.end("t")
            for table in ("workflow_status", "workflow_input", "workflow_output"):
                statement(url, f"DELETE FROM {{schema}}{table} WHERE workflow_uuid = 't/1'")
            assert (await here.state("t")).status == "working"
            assert (await here.end("t")).outcome == "asked a=1 one-by-here"

    asyncio.run(scenario())


def test_a_waiting_task_outlives_its_engine(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, "first") as first:
            await first.begin("t", "ask:a end")
            await first.end("t")
        async with opened(url, "second") as second:
            assert (await second.state("t")).open_keys == {"a"}
            await second.engine.answer("t", {"a": "1"})
            assert (await second.end("t")).outcome == "asked a=1 end-by-second"

    asyncio.run(scenario())


def test_a_round_that_a_close_has_ended_goes_on_from_its_checkpoints(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, "first") as first:
            await first.begin("again", "one two*?")
            await first.begin("once", "three four*")
            await first.said_soon(["makes", "two"])
            await first.said_soon(["makes", "four"])
        assert sorted(words for words in first.said if words[0] == "cancelled") == [
            ["cancelled", "again"],
            ["cancelled", "once"],
        ]
        async with opened(url, "second") as second:
            second.go.set()
            assert (await second.end("again")).outcome == "one-by-first two-by-second"
            assert (await second.end("once")).outcome == "interrupted: four"

    asyncio.run(scenario())


def test_a_step_that_runs_at_a_close_reaches_its_checkpoint_and_no_other_begins(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, "first") as first:
            await first.begin("t", "one* two")
            await first.said_soon(["makes", "one"])
            closing = asyncio.ensure_future(first.engine.close(LIMIT))
            await asyncio.sleep(0)
            first.go.set()
            await closing
        assert ["makes", "two"] not in first.said
        async with opened(url, "second") as second:
            assert (await second.end("t")).outcome == "one-by-first two-by-second"

    asyncio.run(scenario())


def test_a_step_that_outlasts_the_time_of_a_close_is_cut(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, "first") as first:
            await first.begin("t", "one*?")
            await first.said_soon(["makes", "one"])
            await first.engine.close(0.05)
        assert ["cancelled", "t"] in first.said
        async with opened(url, "second") as second:
            second.go.set()
            assert (await second.end("t")).outcome == "one-by-second"

    asyncio.run(scenario())


def test_checkpoints_belong_to_keys_whatever_their_order(url: str) -> None:
    made = list[str]()

    def runs(keys: list[str], last: asyncio.Event) -> Callable[[TaskRound], Any]:
        async def run(round: TaskRound) -> RoundEnd:
            async def step(key: str) -> str:
                async def make() -> str:
                    made.append(key)
                    return f"value of {key}"

                return await round.checkpoints.once(key, make, retry=False)

            values = await asyncio.gather(*(step(key) for key in keys), *(step(key) for key in keys))
            await last.wait()
            return RoundOutcome(" ".join(sorted(set(values))))

        return run

    keys = [f"key{n}" for n in range(10)]

    async def scenario() -> None:
        engine = DbosEngine(url, lease=LEASE)
        await engine.open(runs(keys, asyncio.Event()))
        await engine.start("t", "", owner="owner", expires=None)
        query = "SELECT key FROM {schema}workflow_events WHERE key LIKE '=%'"
        await soon(lambda: len(statement(url, query)) == 10)
        await engine.close()
        over = asyncio.Event()
        over.set()
        await engine.open(runs(keys[::-1], over))
        assert await engine.ended("t", LIMIT)
        state = await engine.look_up("t")
        assert state is not None
        assert state.outcome == " ".join(sorted(f"value of {key}" for key in keys))
        await engine.close()
        assert sorted(made) == sorted(keys)

    asyncio.run(scenario())


def test_an_error_of_a_step_comes_through_and_is_not_stored(url: str) -> None:
    async def run(round: TaskRound) -> RoundEnd:
        async def fails() -> str:
            raise KeyError("of the function")

        async def succeeds() -> str:
            return "second try"

        with pytest.raises(KeyError, match="of the function"):
            await round.checkpoints.once("step", fails, retry=False)
        return RoundOutcome(await round.checkpoints.once("step", succeeds, retry=False))

    async def scenario() -> None:
        engine = DbosEngine(url)
        await engine.open(run)
        await engine.start("t", "", owner="owner", expires=None)
        assert await engine.ended("t", LIMIT)
        state = await engine.look_up("t")
        assert state is not None
        assert state.outcome == "second try"
        await engine.close()

    asyncio.run(scenario())


def test_a_round_that_raises_fails_its_task_alone(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("bad", "fail")
            await here.begin("good", "one")
            assert (await here.end("bad")).status == "failed"
            assert (await here.end("good")).status == "ended"

    asyncio.run(scenario())


def test_a_cancelled_task_stays_cancelled(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("runs", "one*")
            await here.begin("asks", "ask:a one")
            await here.begin("over", "two")
            await here.said_soon(["makes", "one"])
            await here.end("asks")
            await here.end("over")
            for task in ("runs", "asks", "over", "unknown"):
                await here.engine.cancel(task)
            assert [(await here.state(task)).status for task in ("runs", "asks", "over")] == [
                "cancelled",
                "cancelled",
                "ended",
            ]
            await here.said_soon(["cancelled", "runs"])
            await here.engine.answer("asks", {"a": "1"})
            assert (await here.state("asks")).status == "cancelled"
            assert ["makes", "one"] in here.said
            assert here.said.count(["makes", "one"]) == 1

    asyncio.run(scenario())


def test_tasks_that_have_not_ended_are_counted_by_owner(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            for task, record in (("works", "one*"), ("asks", "ask:a"), ("over", "two"), ("cancelled", "ask:a")):
                await here.begin(task, record)
            await here.begin("other", "one*", owner="other")
            for task in ("asks", "over", "cancelled"):
                await here.end(task)
            await here.engine.cancel("cancelled")
            assert [await open_tasks(here.engine, owner) for owner in ("owner", "other", "nobody")] == [2, 1, 0]
            await here.engine.answer("asks", {"a": "1"})
            await here.end("asks")
            here.go.set()
            await here.end("works")
            assert await open_tasks(here.engine, "owner") == 0

    asyncio.run(scenario())


def test_a_task_that_went_on_after_its_questions_counts_once(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("t", "ask:a one*")
            await here.end("t")
            await here.engine.answer("t", {"a": "1"})
            await here.said_soon(["makes", "one"])
            assert await open_tasks(here.engine, "owner") == 1

    asyncio.run(scenario())


def test_the_open_tasks_of_an_owner_make_no_begin_slower(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "tasks.db")

    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("t", "ask:a")
            await here.end("t")
            queries = here.engine._queries  # pyright: ignore[reportPrivateUsage] - on this thread, which is measured

            def owner_of(tasks: int) -> str:
                for table in ("workflow_status", "workflow_output"):
                    names = [name for _, name, *_ in statement(url, f"PRAGMA table_info({table})")]
                    values = {name: name for name in names} | {"workflow_uuid": f"'{tasks}-' || value || '/0'"}
                    values |= {"authenticated_user": f"'owner of {tasks}'"} if "authenticated_user" in names else {}
                    statement(
                        url,
                        f"INSERT INTO {table} ({', '.join(names)}) WITH RECURSIVE many(value) AS "
                        f"(SELECT 1 UNION ALL SELECT value + 1 FROM many WHERE value < {tasks}) "
                        f"SELECT {', '.join(values[name] for name in names)} FROM {table}, many "
                        "WHERE workflow_uuid = 't/0'",
                    )
                return f"owner of {tasks}"

            def begin_all(owner: str) -> None:
                for _ in range(int(owner.split()[-1])):
                    assert queries.open_rounds(owner, 10) == 10

            assert grows_in_proportion(begin_all, owner_of, 60)
            assert queries.open_tasks("owner of 60", 100) == 60

    asyncio.run(scenario())


def test_a_sweep_removes_every_row_of_expired_tasks_and_no_other(url: str) -> None:
    now = time.time()

    async def scenario() -> None:
        async with opened(url, clock=lambda: now) as here:
            await here.begin("asks", "ask:a,b", expires=now + HOUR)
            await here.begin("went-on", "ask:a one", expires=now + HOUR)
            await here.begin("works", "two*", expires=now + HOUR)
            await here.begin("later", "three", expires=now + 3 * HOUR)
            await here.begin("never", "four")
            for task in ("asks", "went-on", "later", "never"):
                await here.end(task)
            await here.engine.answer("asks", {"a": "1"})
            await here.engine.answer("went-on", {"a": "1"})
            await here.end("went-on")
            assert await here.engine.sweep() == 0
        async with opened(url, clock=lambda: now + 2 * HOUR) as here:
            assert await here.engine.sweep() == 3
            assert [await here.engine.look_up(task) for task in ("asks", "went-on", "works")] == [None] * 3
            assert (await here.state("later")).status == (await here.state("never")).status == "ended"
            assert await here.engine.sweep() == 0
        tables = ("workflow_status", "workflow_input", "workflow_output", "operation_outputs", "workflow_events")
        left = {id for table in tables for (id,) in statement(url, f"SELECT workflow_uuid FROM {{schema}}{table}")}
        assert {id for id in left if not id.startswith("tooltrue.worker/")} == {"later/0", "never/0"}

    asyncio.run(scenario())


def test_an_expired_round_is_cancelled(url: str) -> None:
    async def scenario() -> None:
        async with opened(url) as here:
            await here.begin("t", "one*", expires=time.time() - 1)
            assert await here.engine.ended("t", LIMIT)
            assert (await here.state("t")).status == "cancelled"

    asyncio.run(scenario())


class Harmful:
    """A pickle that no process may load: it creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.path),))


def test_pickle_in_the_database_is_not_loaded(url: str, tmp_path: Path) -> None:
    harm = base64.b64encode(pickle.dumps(Harmful(tmp_path / "harm"))).decode()

    async def scenario() -> None:
        async with opened(url) as here:
            for task, record in (("input", "one"), ("output", "one"), ("event", "one*"), ("runs", "one")):
                await here.begin(task, record)
                if task != "event":
                    await here.end(task)
            await here.said_soon(["makes", "one"])
        for task in ("input", "output", "runs"):
            statement(
                url,
                "UPDATE {schema}workflow_status SET serialization = 'py_pickle' WHERE workflow_uuid = :id",
                id=f"{task}/0",
            )
        for table, column, task in (
            ("input", "inputs", "input"),
            ("output", "output", "output"),
            ("input", "inputs", "runs"),
        ):
            statement(
                url,
                f"UPDATE {{schema}}workflow_{table} SET {column} = :harm WHERE workflow_uuid = :id",
                harm=harm,
                id=f"{task}/0",
            )
        statement(
            url,
            "UPDATE {schema}workflow_status SET status = 'PENDING', executor_id = 'gone'"
            " WHERE workflow_uuid = 'runs/0'",
        )
        statement(url, "UPDATE {schema}workflow_events SET value = :harm, serialization = 'py_pickle'", harm=harm)
        async with opened(url) as here:
            for task in ("input", "output"):
                with pytest.raises(StateError):
                    await here.engine.look_up(task)
            here.go.set()
            query = (
                "SELECT 1 FROM {schema}workflow_status"
                " WHERE name = 'tooltrue.round' AND status IN ('PENDING', 'ENQUEUED')"
            )
            await soon(lambda: not statement(url, query))
        assert not (tmp_path / "harm").exists()

    asyncio.run(scenario())
    pickle.loads(base64.b64decode(harm))
    assert (tmp_path / "harm").exists()  # it would have been seen


@contextmanager
def locked(url: str) -> Generator[None]:
    """The table that every write needs is locked by another program."""
    is_file = url.startswith("sqlite")
    place = url.replace("sqlite://", "sqlite:///") if is_file else url.replace("postgresql", "postgresql+psycopg", 1)
    engine = sqlalchemy.create_engine(place)
    with engine.connect() as db:
        if is_file:
            db.execute(sqlalchemy.text("BEGIN IMMEDIATE"))
        else:
            db.execute(sqlalchemy.text("LOCK TABLE dbos.workflow_status"))
        yield
    engine.dispose()


def test_an_unusable_database_is_reported_soon_and_blocks_neither_the_loop_nor_a_round(url: str) -> None:
    async def scenario() -> None:
        # Within this time even a busy machine finds that the database answers; what begins then cannot be written.
        async with opened(url, patience=3.0) as here:
            await here.begin("runs", "one* two")
            await here.said_soon(["makes", "one"])
            turns = 0

            async def turn() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0.01)

            turning = asyncio.create_task(turn())
            with locked(url):
                with pytest.raises(StateError):
                    await here.begin("late", "ask:a three")
                assert turns > 5
                here.go.set()
                await asyncio.sleep(0)
            turning.cancel()
            assert (await here.end("runs")).outcome == "one-by-here two-by-here"
            # It begins when the database can be used again, and is cancelled: while its first round runs, or while it
            # waits for an answer. DBOS waits longer before each attempt.
            async with asyncio.timeout(180.0):
                while (late := await here.engine.look_up("late")) is None or late.status != "cancelled":  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    asyncio.run(scenario())


@contextmanager
def unreachable(url: str) -> Generator[None]:
    """PostgreSQL ends all connections to this database, and admits no other."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as db:
        admits = SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        db.execute(admits.format(Identifier(name), SQL("false")))
        try:
            db.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s", (name,))
            yield
        finally:
            db.execute(admits.format(Identifier(name), SQL("true")))


def test_a_database_that_is_gone_for_a_while_ends_no_task() -> None:
    async def scenario(url: str) -> None:
        async with opened(url) as here:
            await here.begin("runs", "one* two")
            await here.begin("asks", "ask:a three")
            await here.said_soon(["makes", "one"])
            await here.end("asks")
            with unreachable(url):
                here.go.set()
                for request in (
                    here.engine.look_up("runs"),
                    here.engine.answer("asks", {"a": "1"}),
                    here.begin("new", "four"),
                    here.engine.has_room("owner", 1),
                    here.engine.sweep(),
                    here.engine.cancel("asks"),
                ):
                    with pytest.raises(StateError):
                        await request
            assert (await here.end("runs")).outcome == "one-by-here two-by-here"
            await here.engine.answer("asks", {"a": "1"})
            assert (await here.end("asks")).outcome == "asked a=1 three-by-here"

    with database() as url:
        asyncio.run(scenario(url))


def test_changes_are_reported_with_the_id_of_their_task(url: str) -> None:
    async def scenario() -> None:
        changes: asyncio.Queue[str] = asyncio.Queue()
        engine = DbosEngine(url)
        await engine.open(Scripted("here", lambda _: None), changes.put_nowait)

        async def changed(task: str) -> str:
            async with asyncio.timeout(LIMIT):
                while await changes.get() != task:
                    pass
            state = await engine.look_up(task)
            assert state is not None
            return state.status

        await engine.start("t", "ask:a,b one", owner="owner", expires=None)
        assert await changed("t") == "asks"
        await engine.answer("t", {"a": "1"})
        assert await changed("t") == "asks"
        await engine.answer("t", {"b": "1"})
        while await changed("t") != "ended":
            pass
        await engine.start("u", "ask:a", owner="owner", expires=None)
        assert await changed("u") == "asks"
        await engine.cancel("u")
        assert await changed("u") == "cancelled"
        await engine.close()

    asyncio.run(scenario())


def test_a_process_has_one_engine_open(url: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        other = DbosEngine(sqlite_url(tmp_path / "other.db"))
        async with opened(url) as here:
            with pytest.raises(ConfigurationError) as caught:
                await other.open(Scripted("other", print))
            assert caught.value.code == "TT5614"
            await here.begin("t", "one")
            assert (await here.end("t")).status == "ended"
        with pytest.raises(StateError):
            await here.engine.look_up("t")
        await other.open(Scripted("other", print))
        assert await other.look_up("t") is None
        await other.close()

    asyncio.run(scenario())


def test_instances_do_not_share_tasks(url: str) -> None:
    async def scenario() -> None:
        async with opened(url, "first") as first:
            await first.begin("t", "one*?")
            await first.said_soon(["makes", "one"])
        said = list[list[str]]()
        other, script = DbosEngine(url, instance="other", lease=LEASE), Scripted("other", said.append)
        await other.open(script)
        await other.start("u", "two", owner="owner", expires=None)
        assert await other.ended("u", LIMIT)
        assert await other.has_room("owner", 1)
        assert said == [["makes", "two"]]
        await other.close()

    asyncio.run(scenario())


@pytest.mark.needs("modes")
def test_the_files_of_sqlite_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"

    async def scenario() -> None:
        async with opened(sqlite_url(folder / "tasks.db")) as here:
            await here.begin("t", "one")
            await here.end("t")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
            assert modes == dict.fromkeys(("tasks.db", "tasks.db-wal", "tasks.db-shm"), 0o600)
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    asyncio.run(scenario())


def test_an_unusable_url_is_reported_without_its_password(tmp_path: Path) -> None:
    async def scenario() -> None:
        for url in ("redis://localhost/0", "sqlite:", "sqlite://host/a.db"):
            with pytest.raises(ConfigurationError) as caught:
                await new_engine(url)
            assert caught.value.code == "TT5617"
        engine = await new_engine("postgresql://somebody:hunter2@127.0.0.1:1/nowhere")
        with pytest.raises(ConfigurationError) as caught:
            await engine.open(Scripted("here", print))
        assert caught.value.code == "TT5611"
        assert "hunter2" not in str(caught.value)
        (tmp_path / "no.db").write_bytes(b"no database" * 1000)
        engine = await new_engine(sqlite_url(tmp_path / "no.db"))
        with pytest.raises(ConfigurationError) as caught:
            await engine.open(Scripted("here", print))
        assert caught.value.code == "TT5611"

    asyncio.run(scenario())

"""The console over Redis and PostgreSQL: the same pages, and a store that goes away and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.console import House
from support.postgres import database
from support.redis_server import OwnRedis, own_redis
from tooltrue.state.log import timestamp
from tooltrue.state.urls import open_log


@pytest.fixture
def redis() -> Iterator[OwnRedis]:
    with own_redis() as server:
        yield server


@pytest.fixture
def postgresql() -> Iterator[str]:
    with database() as url:
        yield url


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_tickets_in_redis_are_decided_and_calls_in_postgresql_are_read(
    tmp_path: Path, redis: OwnRedis, postgresql: str
):
    async def scenario(house: House) -> tuple[str, list[str]]:
        async with open_log(postgresql) as log:
            for number in range(3):
                log.note({"at": timestamp(1_700_000_000 + number), "kind": "call", "subject": f"tool{number}"})
            await log.head()
        ticket = await house.ticket()
        async with house.visitor("bob") as bob:
            fields = await bob.form("/approvals")
            assert (await bob.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})).status_code == 200
            paths = ("/now", "/calls?log=attic", "/calls/attic/2", "/log/verify?log=attic", "/doctor?log=attic&since=")
            return await house.state_of(), [await bob.text(path) for path in paths]

    house = House(tmp_path, approvals=redis.url, acts=postgresql, logs={"attic": postgresql})
    state, (now, calls, one, verdict, doctor) = house.visited(scenario)
    assert state == "once"
    assert "attic" in now
    assert all(f"tool{number}" in calls for number in range(3))
    assert "tool1" in one
    assert "records" in verdict
    assert "TT" not in doctor


def test_a_redis_that_goes_away_and_comes_back_costs_the_requests_in_between(tmp_path: Path, redis: OwnRedis):
    async def scenario(house: House) -> list[tuple[int, bool]]:
        async with house.visitor("operator") as visitor:
            answers = [await visitor.get("/approvals")]
            redis.stop()
            answers.append(await visitor.get("/approvals"))
            redis.start()  # it has kept nothing, so that the session is over
            answers.append(await visitor.get("/approvals"))
        async with house.visitor("operator") as visitor:
            answers.append(await visitor.get("/approvals"))
        return [(answer.status_code, "[TT7" in answer.text) for answer in answers]

    answers = House(tmp_path, approvals=redis.url).visited(scenario)
    assert answers == [(200, False), (503, True), (303, False), (200, False)]

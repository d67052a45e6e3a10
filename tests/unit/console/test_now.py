"""*Now*: what is counted over the last hour, what is shown of it, and that no view reads an hour of a log."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from browser.payloads import PAYLOADS
from support.clock import skip
from support.console import PATIENCE, House
from tooltrue import Client, Server, ToolError
from tooltrue.observe.meter import Meter, Sample
from tooltrue.policy.layers.abuse import Abuse
from tooltrue.state.log import DraftRecord, timestamp
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_log
from tooltrue.tools.bounds import Rate
from tooltrue_console.activity import Activity, LogHour, MinuteCounts
from tooltrue_console.beside import desk_of
from tooltrue_console.charts import HEIGHT, WIDTH, chart
from tooltrue_console.desk import Desk
from tooltrue_console.health import health_of
from tooltrue_console.logs import Logs

NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def call(ago: float, outcome: str = "ok", **more: Any) -> dict[str, Any]:
    record = {"at": timestamp(NOW - ago), "kind": "call", "subject": "find", "instance": "attic", "who": "ann", "ms": 2}
    return {**record, "outcome": outcome, **more}


async def write(url: str, records: Iterable[Mapping[str, Any] | DraftRecord]) -> None:
    async with open_log(url) as log:
        for record in records:
            log.note(record)
        await log.head()


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


class Watched:
    """The activity of one log, with a clock of its own."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.url, self.clock = sqlite_url(folder / "attic.db"), Clock()
        self.activity = Activity(Logs(lambda: {"attic": self.url}), clock=self.clock, patience=PATIENCE, **settings)

    async def hour(self) -> LogHour:
        self.clock.now += 2  # later than the counts are fresh
        (hour,) = await self.activity.hours()
        return hour


def total(hour: LogHour) -> tuple[int, int, int]:
    whole = MinuteCounts()
    for server in hour.servers:
        whole += server.total
    return whole.calls, whole.refusals, whole.errors


def page(
    tmp_path: Path, records: Sequence[Mapping[str, Any]], path: str = "/now", status: int = 200
) -> tuple[str, str]:
    """The page over a log with these records: its text, and its HTML."""
    url = sqlite_url(tmp_path / "attic.db")

    async def scenario(house: House) -> tuple[str, str]:
        await write(url, records)
        async with house.visitor("reader") as visitor:
            html = await visitor.get(path)
            assert html.status_code == status
            return await visitor.text(path), html.text

    return House(tmp_path, logs={"attic": url}, clock=Clock()).visited(scenario)


# --- what is counted --------------------------------------------------------------------------------------------------


def test_calls_refusals_and_errors_of_the_hour_are_counted(tmp_path: Path):
    records = [
        call(4000),
        call(3000),
        call(200, "error"),
        call(100, "abandoned"),
        call(90, "refused"),
        {"at": timestamp(NOW - 80), "kind": "refusals", "count": 40, "codes": {"TT2404": 40}, "instance": "attic"},
        {"at": timestamp(NOW - 70), "kind": "intent", "subject": "burn", "instance": "attic"},
        {"at": timestamp(NOW - 60), "kind": "read", "outcome": "ok", "instance": "attic"},
    ]
    watched = Watched(tmp_path)
    asyncio.run(write(watched.url, records))
    hour = asyncio.run(watched.hour())
    assert total(hour) == (44, 41, 2)
    assert hour.servers[0].total.mean_milliseconds == 2.0


@given(
    parts=st.lists(
        st.lists(st.tuples(st.integers(0, 5000), st.sampled_from(("ok", "error", "refused")), st.sampled_from("ab"))),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=25, deadline=None)
def test_counts_that_are_kept_are_those_of_a_log_that_is_read_at_once(
    parts: list[list[tuple[int, str, str]]], tmp_path_factory: pytest.TempPathFactory
):
    watched = Watched(tmp_path_factory.mktemp("log"))

    async def scenario() -> tuple[LogHour, LogHour]:
        hour = LogHour("", (), (), "")
        for part in sorted(parts, key=lambda part: -max((ago for ago, _, _ in part), default=0)):
            times = sorted(part, reverse=True)
            await write(watched.url, [call(ago, outcome, instance=server) for ago, outcome, server in times])
            hour = await watched.hour()
        anew = Watched(Path(watched.url.removeprefix("sqlite:")).parent)
        anew.clock.now = watched.clock.now - 2
        return hour, await anew.hour()

    kept, anew = asyncio.run(scenario())
    counts = [Counter({one.server: one.total.calls for one in hour.servers}) for hour in (kept, anew)]
    assert +counts[0] == +counts[1]
    assert total(kept) == total(anew)


class Draft(DraftRecord):
    """A record as a server notes it: the log knows its time."""

    def __init__(self, ago: float, record: Mapping[str, Any]) -> None:
        self.at, self.record = NOW - ago, {**record, "at": timestamp(NOW - ago)}

    def text(self) -> str:
        return json.dumps(self.record, sort_keys=True, separators=(",", ":"))

    @classmethod
    def times(cls, records: Sequence[Draft]) -> Sequence[float]:
        return [record.at for record in records]


COMMON: dict[str, Any] = {
    "instance": st.sampled_from(("attic", "cellar")),
    "ms": st.sampled_from((3, 0.5, -1, 1e12)),
    "outcome": st.sampled_from(("ok", "error", "refused")),
    "arguments": st.just({"kind": "call", "ms": 9, "outcome": "error", "paused": 5}),
}
ORDINARY = st.fixed_dictionaries({"kind": st.sampled_from(("call", "read", "intent"))}, optional=COMMON)
OTHERS = st.fixed_dictionaries(
    {"kind": st.sampled_from(("call", "refusals", "own"))},
    optional={
        **COMMON,
        "ms": st.just("long"),
        "outcome": st.just("other"),
        "count": st.integers(0, 9),
        "paused": st.sampled_from((30, 0)),
        "who": st.just("ann"),
    },
)


@pytest.mark.parametrize("records", [ORDINARY, st.one_of(ORDINARY, OTHERS)])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_records_that_were_written_together_count_as_each_of_them_does(
    records: st.SearchStrategy[dict[str, Any]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    drawn = data.draw(st.lists(st.tuples(st.sampled_from((100, 101, 170)), records), min_size=2, max_size=8))
    written = [Draft(ago, record) for ago, record in drawn]
    together, apart = (Watched(tmp_path_factory.mktemp("log")) for _ in range(2))

    async def scenario() -> list[LogHour]:
        for watched in (together, apart):
            await write(watched.url, [call(4000)])
            await watched.hour()  # all later looks read what was written since
        await write(together.url, written)
        async with open_log(apart.url) as log:
            for draft in written:
                await log.append(draft)
        return [await together.hour(), await apart.hour()]

    first, second = (
        (
            {one.server: [(each.calls, each.refusals, each.errors) for each in one.minutes] for one in hour.servers},
            {one.server: pytest.approx(one.total.milliseconds) for one in hour.servers},
            {(one.server, one.caller, one.until) for one in hour.paused},
            hour.last,
        )
        for hour in asyncio.run(scenario())
    )
    assert first == second


@pytest.mark.parametrize("is_first_look", [True, False])
def test_what_the_writer_of_a_batch_has_counted_is_what_its_records_say(is_first_look: bool, tmp_path: Path):
    """The same log is looked at with and without the counts of its batches. The calls are more than a look reads at
    once."""
    counted, uncounted = Watched(tmp_path / "with"), Watched(tmp_path / "without")

    async def scenario() -> tuple[LogHour, LogHour]:
        for watched in (counted, uncounted):
            watched.clock.now = time.time()
            await write(watched.url, [{"kind": "own", "at": timestamp(watched.clock.now)}])
            if not is_first_look:
                await watched.hour()
        await call_an_attic(counted.url)
        shutil.copy(counted.url.removeprefix("sqlite:"), uncounted.url.removeprefix("sqlite:"))
        with closing(sqlite3.connect(counted.url.removeprefix("sqlite:"))) as db:
            assert db.execute("SELECT count(*) FROM log WHERE counts <> ''").fetchone()[0] > 2
        with closing(sqlite3.connect(uncounted.url.removeprefix("sqlite:"), isolation_level=None)) as db:
            db.execute("UPDATE log SET counts = NULL")
        # By then, the counts of the first look are not fresh any more.
        counted.clock.now = uncounted.clock.now = time.time() + 10
        return await counted.hour(), await uncounted.hour()

    first, second = asyncio.run(scenario())
    assert [one.server for one in first.servers] == [one.server for one in second.servers]
    for one, other in zip(first.servers, second.servers, strict=True):
        of_one, of_other = (
            [(minute.calls, minute.refusals, minute.errors) for minute in each.minutes] for each in (one, other)
        )
        assert of_one == of_other
        # Each record has whole microseconds.
        assert one.total.milliseconds == pytest.approx(other.total.milliseconds, abs=1e-3 * (other.total.calls + 1))
    assert total(first) == total(second)
    assert min(total(first)) > 0
    assert [one.caller for one in first.paused] == [one.caller for one in second.paused] == ["local"]
    assert first.last == second.last


async def call_an_attic(url: str) -> None:
    """Calls, errors, refusals, resources, and at last so many invalid calls that the caller is paused."""
    server = Server("attic", audit=url, rate=Rate(1e6, 1_000_000), abuse=Abuse(pause=300))

    @server.tool(effect="read")
    async def find(word: str) -> str:
        if word.endswith("7"):
            raise ToolError("no such word")
        return word

    @server.tool(effect="destructive")
    async def burn(word: str) -> str:
        return word

    @server.resource("attic://box")
    async def box() -> str:
        return "a box"

    async with server.serving(), Client(server) as client:
        for number in range(1200):
            await client.call_tool("find", {"word": f"{number}"})
            if number % 100 == 0:
                await client.read_resource("attic://box")
            if number % 300 == 1:
                await client.call_tool("burn", {"word": "all"})
                await server.audit_log.head()  # what was written until now is a batch
        for _ in range(30):
            await client.call_tool("find", {"wort": "the same again"})


def test_a_view_reads_only_what_was_written_since_the_last_one(tmp_path: Path):
    """The counts outlive the records that they come from."""
    watched = Watched(tmp_path)

    async def scenario() -> list[tuple[int, int, int]]:
        await write(watched.url, [call(300), call(200), call(100)])
        seen = [total(await watched.hour())]
        with sqlite3.connect(tmp_path / "attic.db") as db:
            (table,) = db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%record%'"
            ).fetchone()
            db.execute(f"DELETE FROM {table} WHERE rowid < (SELECT max(rowid) FROM {table})")
        db.close()
        await write(watched.url, [call(0)])
        return [*seen, total(await watched.hour())]

    assert asyncio.run(scenario()) == [(3, 0, 0), (4, 0, 0)]


def test_the_first_look_is_bounded_and_says_from_when_on_it_has_counted(tmp_path: Path):
    watched = Watched(tmp_path, most=1000)
    asyncio.run(write(watched.url, [call(3000 - number) for number in range(3000)]))
    hour = asyncio.run(watched.hour())
    assert total(hour)[0] == 1000
    assert hour.counted_since > timestamp(NOW - 1000)[:16]
    text, _ = page(tmp_path, [])
    assert "too many records" not in text  # within the limit of the page


def test_a_minute_leaves_after_an_hour(tmp_path: Path):
    watched = Watched(tmp_path)

    async def scenario() -> list[int]:
        await write(watched.url, [call(0)])
        seen = [total(await watched.hour())[0]]
        watched.clock.now += 3700
        await write(watched.url, [call(-3700)])
        return [*seen, total(await watched.hour())[0]]

    assert asyncio.run(scenario()) == [1, 1]


def test_another_log_at_the_same_place_is_counted_anew(tmp_path: Path):
    watched = Watched(tmp_path)

    async def scenario() -> list[int]:
        await write(watched.url, [call(300), call(200)])
        seen = [total(await watched.hour())[0]]
        for ending in ("", "-wal", "-shm"):
            (tmp_path / f"attic.db{ending}").unlink(missing_ok=True)
        await write(watched.url, [call(100)])
        return [*seen, total(await watched.hour())[0]]

    assert asyncio.run(scenario()) == [2, 1]


def test_a_log_that_cannot_be_read_is_told_and_the_others_are_shown(tmp_path: Path):
    good, bad = sqlite_url(tmp_path / "attic.db"), tmp_path / "cellar.db"
    bad.write_text("no database at all, and longer than a header of one has to be" * 20)

    async def scenario(house: House) -> str:
        await write(good, [call(10)])
        async with house.visitor("reader") as visitor:
            return await visitor.text("/now")

    text = House(tmp_path, logs={"attic": good, "cellar": sqlite_url(bad)}, clock=Clock()).visited(scenario)
    assert re.search(r"cellar: .*\[TT\d{4}\]", text)
    assert re.search(r"attic\s*2027-01-15 07:59:50", text)


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "refusals", "count": "many"},
        {"kind": "refusals", "count": -3},
        {"kind": "call", "outcome": "ok", "ms": 1e300},
        {"kind": "call", "outcome": "ok", "ms": "long", "paused": [1]},
        {"kind": "call", "outcome": {"a": 1}, "instance": ["x"], "who": None},
        {"kind": "call", "outcome": "ok", "at": "yesterday", "paused": 10},
        {"kind": ["call"], "at": 7},
    ],
)
def test_a_record_of_another_shape_costs_no_page(tmp_path: Path, record: Mapping[str, Any]):
    text, html = page(tmp_path, [{"at": timestamp(NOW - 5), **record}, call(4)])
    assert "TT9415" not in text
    assert "attic" in text
    assert not re.search(r"\b(nan|inf)\b", html)


@pytest.mark.parametrize("counts", ["[", "{}", '[["attic","call"]]', '[["attic","call","ok",-5,1e308]]', "[[1]]"])
def test_counts_that_no_writer_makes_cost_no_page(counts: str, tmp_path: Path):
    watched = Watched(tmp_path)

    async def scenario() -> LogHour:
        await write(watched.url, [Draft(ago, call(ago)) for ago in (5, 4)])
        with closing(sqlite3.connect(tmp_path / "attic.db", isolation_level=None)) as db:
            db.execute("UPDATE log SET counts = ?", (counts,))
        return await watched.hour()

    hour = asyncio.run(scenario())
    assert total(hour) == ((0, 0, 0) if "-5" in counts else (2, 0, 0))
    assert hour.servers[0].total.milliseconds in (0, 4)


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_a_paused_caller_is_shown_until_the_pause_is_over(tmp_path: Path):
    records = [
        call(200, "refused", who="key:old", paused=20, rule="abuse: unknown"),
        call(10, "refused", who="key:agent", paused=40, rule="abuse: repeated"),
    ]
    text, _ = page(tmp_path, records)
    assert re.search(r"key:agent\s*attic\s*2027-01-15 08:00:30 UTC\s*repeated", text)
    assert "key:old" not in text


def test_pending_approvals_are_counted_and_linked(tmp_path: Path):
    async def scenario(house: House) -> tuple[str, str]:
        ticket = await house.ticket()
        async with house.visitor("reader") as visitor:
            return ticket.id, (await visitor.get("/now")).text

    id, html = House(tmp_path).visited(scenario)
    assert f'href="/console/approvals/{id}">burn</a>, <bdi>ann</bdi>' in html


def test_the_page_is_the_first_one_and_one_log_has_an_address(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor("reader") as visitor:
            return (await visitor.get("/")).headers["location"]

    assert House(tmp_path).visited(scenario) == "/console/now"
    text, _ = page(tmp_path, [call(1)], "/now?log=attic")
    assert "attic" in text
    other, _ = page(tmp_path, [], "/now?log=nowhere", 400)
    assert "TT9418" in other


def test_hostile_text_is_shown_and_never_markup(tmp_path: Path):
    records = [call(10, "refused", instance=text, who=text, rule=text, subject=text, paused=500) for text in PAYLOADS]
    _, html = page(tmp_path, records)
    body = html.partition("<main")[2]
    allowed = r"</?(?:main|h[123]|p|div|form|label|select|option|button|bdi|table|thead|tbody|tr|t[hd]|a|figure|"
    allowed += r"figcaption|span|strong|svg|path|ul|li|dl|dt|dd|html|body)[\s>]"
    assert [tag for tag in re.findall(r"<[^>]*", body) if not re.match(allowed, f"{tag}>")] == []
    assert not re.search(r"[\u202a-\u202e\u2066\u2067\u200b]", body)
    assert len(re.findall(r"<tr>\s*<td", body)) == 2 * len(PAYLOADS)


def test_the_health_of_the_servers_behind_a_gateway_is_that_of_its_metrics():
    meter = Meter()
    meter.gauges["tooltrue_audit_failing"] = lambda: 1
    states = [
        Sample("", {"server": "mail", "state": state}, state == "unavailable") for state in ("ready", "unavailable")
    ]
    meter.sources.append(
        lambda: {
            "tooltrue_upstream_state": states,
            "tooltrue_upstream_breakers_open": [Sample("", {"server": "mail"}, 2)],
            "tooltrue_upstream_starts_total": [Sample("", {"server": "mail"}, 3)],
        }
    )
    health = health_of("gateway", meter)
    assert (health.is_failing, health.is_well) == (True, False)
    (mail,) = health.upstreams
    assert (mail.name, mail.state, mail.starts, mail.breakers, mail.is_well) == ("mail", "unavailable", 3, 2, False)


def test_the_server_beside_the_console_is_shown():
    present = asyncio.run(desk_of(Server("attic", audit=False)).now())
    (health,) = present.health
    assert (health.name, health.is_well, health.upstreams) == ("attic", True, ())


# --- live -------------------------------------------------------------------------------------------------------------


def test_an_open_page_is_renewed_by_what_is_written_and_by_a_ticket(tmp_path: Path):
    url, clock = sqlite_url(tmp_path / "attic.db"), Clock()

    async def scenario(house: House) -> list[str]:
        await write(url, [call(10)])
        async with house.visitor("reader") as visitor, house.stream(visitor, "/now/events") as stream:
            parts = [(await stream.next())[1]]
            for step in (partial(write, url, [call(5, "error")]), house.ticket):
                await step()
                clock.now += 2
                skip(6)
                parts.append((await stream.next())[1])
            return parts

    parts = House(tmp_path, logs={"attic": url}, clock=clock).visited(scenario)
    assert [("<strong>2</strong>" in part, ">burn</a>" in part) for part in parts] == [
        (False, False),
        (True, False),
        (True, True),
    ]


@given(values=st.lists(st.floats(0, 1e12, allow_nan=False), max_size=60))
def test_bars_stay_within_their_picture(values: list[float]):
    drawn = chart("calls_hour", values, sum(values))
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH + 0.01 for bar in drawn.bars)
    assert all(bar.y >= 0 and 0 < bar.height <= HEIGHT and bar.y + bar.height <= HEIGHT + 0.01 for bar in drawn.bars)
    assert len(drawn.bars) == sum(value > 0 for value in values)


def test_a_desk_alone_has_no_server_beside_it(tmp_path: Path):
    assert asyncio.run(Desk(House(tmp_path).settings).now()).health == []

"""The pages on audit logs: calls, one record, search, verification, and export."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.console import House
from tooltrue import Client, Server
from tooltrue.state.log import timestamp
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_log


def record(number: int, **more: Any) -> dict[str, Any]:
    members = {
        "at": timestamp(1_700_000_000 + number),
        "kind": "call",
        "subject": f"tool{number % 3}",
        "who": "ann" if number % 2 else "bob",
        "outcome": "ok",
        "ms": 1.5,
        "arguments": {"number": number},
    }
    return {**members, **more}


class Records:
    """A console over one audit log of this many records."""

    def __init__(self, folder: Path, count: int) -> None:
        self.path = folder / "attic.db"
        self.house = House(folder, logs={"attic": sqlite_url(self.path)})
        self.count = count

    async def write(self, *more: dict[str, Any]) -> None:
        async with open_log(sqlite_url(self.path)) as log:
            for number in range(self.count):
                log.note(record(number))
            for one in more:
                log.note(one)
            await log.head()

    def pages(self, *paths: str, more: tuple[dict[str, Any], ...] = ()) -> list[str]:
        async def scenario(house: House) -> list[str]:
            await self.write(*more)
            async with house.visitor("operator") as visitor:
                return [(await visitor.get(path)).text for path in paths]

        return self.house.visited(scenario)


def positions(page: str) -> list[int]:
    return [int(position) for position in re.findall(r'/calls/attic/(\d+)"', page)]


def older(page: str) -> str | None:
    match = re.search(r'href="/console(/calls\?[^"]*)" rel="next"', page)
    return None if match is None else match[1].replace("&amp;", "&")


def test_the_newest_calls_come_first_and_all_are_reached_page_by_page(tmp_path: Path):
    records = Records(tmp_path, 230)

    async def scenario(house: House) -> list[int]:
        await records.write()
        seen: list[int] = []
        path: str | None = "/calls?log=attic"
        async with house.visitor("operator") as visitor:
            while path is not None:
                page = (await visitor.get(path)).text
                seen += positions(page)
                path = older(page)
        return seen

    assert records.house.visited(scenario) == [*range(230, 0, -1)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("who=ann", lambda number: number % 2),
        ("subject=tool2", lambda number: number % 3 == 2),
        ("who=a*&subject=tool?", lambda number: number % 2),
        ("who=nobody", lambda number: False),
        (f"since={timestamp(1_700_000_020)}", lambda number: number >= 20),
    ],
)
def test_calls_are_filtered(tmp_path: Path, query: str, expected: Any):
    (page,) = Records(tmp_path, 40).pages(f"/calls?log=attic&{query}")
    assert positions(page) == [number + 1 for number in range(39, -1, -1) if expected(number)]


def test_one_record_is_shown_with_everything_that_it_holds(tmp_path: Path):
    odd = record(7, rule="night", code="TT2001", trace="ab" * 16, masked=["/key"], extra={"new": 1}, outcome="refused")
    (page,) = Records(tmp_path, 0).pages("/calls/attic/1", more=(odd,))
    for text in ("night", "TT2001", "ab" * 16, "/key", "refused", "{&#34;new&#34;: 1}", "&#34;number&#34;: 7"):
        assert text in page


def test_a_traced_call_has_its_steps_and_every_call_the_times_that_it_waited(tmp_path: Path):
    traced = record(1, ms=9.5, queue_ms=2.0, question_ms=3.5, steps=[["audit", 0.25], ["tool", 3.75]], trace="ab" * 16)
    pages = Records(tmp_path, 0).pages("/calls/attic/1", "/calls/attic/2", more=(traced, record(2)))
    texts = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)) for page in pages]
    assert "Waiting for a slot 2.0 ms" in texts[0]
    assert "Waiting for a person 3.5 ms" in texts[0]
    assert "Layers and tool 4.0 ms" in texts[0]
    assert "audit 0.25 ms tool 3.75 ms" in texts[0]
    assert "Layers and tool 1.5 ms" in texts[1]
    assert "not traced" in texts[1]


@pytest.mark.parametrize("steps", ["x", [1], [["a"]], [["a", "b"]], [[["a"], True]], {"a": 1}, [["<b>", 1]]])
def test_steps_of_another_shape_cost_no_page(tmp_path: Path, steps: Any):
    (page,) = Records(tmp_path, 0).pages("/calls/attic/1", more=(record(1, steps=steps, ms="long", queue_ms=[]),))
    assert "TT9415" not in page
    assert "<b>" not in page


def test_beside_a_server_a_call_has_the_plan_of_its_tool(tmp_path: Path):
    log = sqlite_url(tmp_path / "attic.db")
    server = Server("attic", audit=log)

    @server.tool(effect="read")
    async def find(text: str) -> str:
        """Find a box."""
        return text

    async def scenario(house: House) -> str:
        async with server.serving(), Client(server) as client:
            await client.call_tool("find", {"text": "a"})
            await server.audit_log.head()
            async with house.visitor("operator") as visitor:
                return await visitor.text("/calls/attic/1")

    text = House(tmp_path, logs={"attic": log}, server=server).visited(scenario)
    assert re.search(r"has at present .*audit.*validate.*tool", text, re.DOTALL)


def test_a_record_and_a_log_that_are_not_there_are_told_in_a_sentence(tmp_path: Path):
    pages = Records(tmp_path, 3).pages(
        "/calls/attic/4", "/calls/attic/0", "/calls?log=none-of-this-name", "/log/verify?log=x/../y"
    )
    assert ["TT9419" in page or "TT9418" in page for page in pages] == [True] * 4


def test_a_log_that_is_damaged_in_the_middle_is_shown_and_found_by_its_verification(tmp_path: Path):
    import sqlite3  # noqa: PLC0415 - the hand of a stranger

    records = Records(tmp_path, 0)

    async def scenario(house: House) -> list[str]:
        await records.write()
        async with open_log(sqlite_url(records.path)) as log:
            for number in range(3):
                await log.append(record(number))
        with sqlite3.connect(records.path) as db:
            (table,) = [
                name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if name != "x"
            ][:1]
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            column = next(name for name in columns if name in ("text", "record", "body"))
            db.execute(f"UPDATE {table} SET {column} = replace({column}, 'tool1', '{{tool')")
        db.close()
        async with house.visitor("operator") as visitor:
            return [(await visitor.get(path)).text for path in ("/log?log=attic", "/log/verify?log=attic")]

    page, verdict = records.house.visited(scenario)
    assert len(positions(page)) == 3
    assert "TT70" in verdict or "Not proven" in verdict


def test_a_chain_without_a_fault_is_verified_and_exported(tmp_path: Path):
    verdict, export = Records(tmp_path, 12).pages("/log/verify?log=attic", "/log/export?log=attic")
    assert "12 records" in verdict
    assert [json.loads(line)["record"]["arguments"]["number"] for line in export.splitlines()] == [*range(12)]


def break_in_the_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40_000] = b"\xaa" * 40_000
    path.write_bytes(content)


def break_whole(path: Path) -> None:
    path.write_bytes(b"no database " * 1_000)


def remove(path: Path) -> None:
    path.unlink()


PAGES = ("/now", "/calls?log=attic&who=ann", "/calls/attic/2500", "/log?log=attic", "/log/verify?log=attic")
"""Pages that read the log."""


@pytest.mark.parametrize(
    ("fault", "code"), [(break_in_the_middle, "TT7003"), (break_whole, "TT7002"), (remove, "TT9418")]
)
def test_a_log_that_breaks_is_told_in_a_sentence_and_the_pages_go_on(tmp_path: Path, fault: Any, code: str):
    records = Records(tmp_path, 5_000)

    async def scenario(house: House) -> tuple[list[str], list[int]]:
        await records.write()
        intact = records.path.read_bytes()
        async with house.visitor("operator") as visitor:
            fault(records.path)
            pages = [(await visitor.get(path)).text for path in (*PAGES, "/doctor?log=attic&since=")]
            for ending in ("-wal", "-shm"):
                records.path.with_name(f"{records.path.name}{ending}").unlink(missing_ok=True)
            records.path.write_bytes(intact)
            return pages, [(await visitor.get(path)).status_code for path in PAGES]

    pages, afterwards = records.house.visited(scenario)
    assert [page for page in pages if "TT9415" in page] == []
    assert code in "".join(pages)
    assert code in pages[-1]
    assert afterwards == [200] * len(PAGES)


def test_the_names_of_logs_that_are_there_are_told_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # servers of other tests have logs, too
    records = Records(tmp_path, 1)

    async def scenario(house: House) -> str:
        async with house.visitor("operator") as visitor:
            return await visitor.text("/log?log=attic")

    assert "no audit log attic; there are: (none)" in records.house.visited(scenario)


def test_an_export_that_breaks_off_says_so_in_its_last_line(tmp_path: Path):
    records = Records(tmp_path, 5_000)

    async def scenario(house: House) -> tuple[list[str], str, int]:
        await records.write()
        async with house.visitor("operator") as visitor:
            break_in_the_middle(records.path)
            lines = (await visitor.get("/log/export?log=attic")).text.splitlines()
            break_whole(records.path)
            refused = await visitor.get("/log/export?log=attic")
            return lines, refused.text, refused.status_code

    (*exported, last), refused, status = records.house.visited(scenario)
    assert [json.loads(line)["position"] for line in exported] == [*range(1, len(exported) + 1)]
    assert 0 < len(exported) < 5_000
    assert "TT7003" in json.loads(last)["problem"]
    assert ("TT7002" in refused, status) == (True, 400)


def test_an_empty_log_is_an_empty_export(tmp_path: Path):
    assert Records(tmp_path, 0).pages("/log/export?log=attic") == [""]


def test_without_a_log_the_page_says_how_there_will_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    async def scenario(house: House) -> list[str]:
        async with house.visitor("operator") as visitor:
            return [await visitor.text(path) for path in ("/calls", "/log")]

    assert ["tooltrue serve" in text for text in House(tmp_path).visited(scenario)] == [True, True]

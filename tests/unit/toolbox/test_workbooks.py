"""Workbooks of Excel as tables, made by openpyxl as a person's program makes them, and by hand as an attacker does."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from support.descriptors import open_descriptors
from support.toolbox.tabling import ask, code_of, result_of
from tooltrue.errors import ToolError
from tooltrue_toolbox.tables import workbooks
from tooltrue_toolbox.tables.decompression import UnpackingBounds
from tooltrue_toolbox.tables.layout import TableLimits

SALES: list[list[Any]] = [
    ["city", "day", "amount", "paid", "at", "code"],
    ["Oslo", date(2024, 5, 1), 12.5, True, datetime(2024, 5, 1, 10, 30), "007"],
    ["Köln\nNord", datetime(2024, 5, 2), 7, False, time(10, 30), '"x", y'],
    [None, None, None, None, None, None],
    ["北京", None, -0.1, None, None, "=1+1"],
]


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.worksheets[0])
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def test_a_sheet_is_a_table(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", Sales=SALES, Other=[["a"], [1]])
    with_text = openpyxl.load_workbook(path)
    with_text["Sales"]["F5"].data_type = "s"
    with_text.save(path)
    found = ask(tmp_path, "query_csv", path="t.xlsx")
    assert found["read_as"] == {"format": "xlsx", "sheet": "Sales", "sheets": ["Sales", "Other"], "header": True}
    assert found["columns"] == SALES[0]
    assert found["rows"] == [
        ["Oslo", "2024-05-01", "12.5", "true", "2024-05-01T10:30:00", "007"],
        ["Köln\nNord", "2024-05-02", "7", "false", "10:30:00", '"x", y'],
        ["北京", None, "-0.1", None, None, "=1+1"],
    ]
    columns = {each["name"]: each["type"] for each in ask(tmp_path, "describe_csv", path="t.xlsx")["columns"]}
    assert columns == {
        "city": "text", "day": "date", "amount": "decimal", "paid": "boolean", "at": "text", "code": "text",
    }  # fmt: skip
    sums = ask(tmp_path, "analyze_csv", path="t.xlsx", operations=["sum"], filter="amount > -1")
    assert sums["groups"][0]["values"] == {"amount": {"sum": 19.4}}


def test_another_sheet_is_chosen_by_its_name(tmp_path: Path) -> None:
    book(tmp_path / "t.xlsx", First=[["a"], [1]], **{"Größe 2": [["b"], [2], ["x"]]})
    found = ask(tmp_path, "query_csv", path="t.xlsx", read_as={"sheet": "Größe 2"})
    assert (found["columns"], found["rows"]) == (["b"], [["2"], ["x"]])
    result = result_of(tmp_path, "query_csv", path="t.xlsx", read_as={"sheet": "Third"})
    assert "First, Größe 2" in result.text
    assert result.text.endswith("[TT6341]")
    assert ask(tmp_path, "query_csv", path="t.xlsx", read_as={"header": False})["rows"] == [["a"], ["1"]]


def test_a_hidden_sheet_is_not_the_first_and_is_read_when_named(tmp_path: Path) -> None:
    made = openpyxl.load_workbook(book(tmp_path / "t.xlsx", Setup=[["x"], [1]], Data=[["y"], [2]]))
    made["Setup"].sheet_state = "hidden"
    made.save(tmp_path / "t.xlsx")
    assert ask(tmp_path, "query_csv", path="t.xlsx")["columns"] == ["y"]
    assert ask(tmp_path, "query_csv", path="t.xlsx", read_as={"sheet": "Setup"})["columns"] == ["x"]


def test_a_formula_is_the_value_that_was_stored_with_it(tmp_path: Path) -> None:
    book(tmp_path / "t.xlsx", Data=[["a", "b"], [1, "=A2+1"], [2, "=A3+1"]])
    rewritten(tmp_path / "t.xlsx", "xl/worksheets/sheet1.xml", lambda xml: xml.replace("<v />", "<v>5</v>", 1))
    assert ask(tmp_path, "query_csv", path="t.xlsx")["rows"] == [["1", "5"], ["2", None]]


def test_texts_that_cells_share_are_read(tmp_path: Path) -> None:
    """As Excel writes them; openpyxl writes each text into its cell."""
    path = book(tmp_path / "t.xlsx", Data=[["a", "b"], ["x", "y"]])
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    rewritten(path, "[Content_Types].xml", lambda xml: xml.replace("</Types>", part))
    for number, text in enumerate("abxy"):
        old, new = f't="inlineStr"><is><t>{text}</t></is>', f't="s"><v>{number}</v>'
        rewritten(path, SHEET, lambda xml, old=old, new=new: xml.replace(old, new))
    texts = "".join(f"<si><t>shared {text}</t></si>" for text in "abxy")
    with zipfile.ZipFile(path, "a") as archive:
        namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{namespace}">{texts}</sst>')
    found = ask(tmp_path, "query_csv", path="t.xlsx")
    assert (found["columns"], found["rows"]) == (["shared a", "shared b"], [["shared x", "shared y"]])


def test_a_sheet_larger_than_the_beginning_is_read_to_its_end(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["n", "text"], *([n, f"row {n} of a sheet" * 15] for n in range(6_000))]
    book(tmp_path / "t.xlsx", Data=rows)
    found = ask(tmp_path, "analyze_csv", path="t.xlsx", operations=["sum", "count"], columns=["n"])
    assert found["groups"][0]["values"]["n"] == {"sum": sum(range(6_000)), "count": 6_000}
    before = open_descriptors()
    assert len(ask(tmp_path, "query_csv", path="t.xlsx", limit=3)["rows"]) == 3
    assert open_descriptors() <= before + 1


def test_rows_wider_than_the_header_are_kept(tmp_path: Path) -> None:
    book(tmp_path / "t.xlsx", Data=[[None], [None, "a"], [1, 2, 3]])
    found = ask(tmp_path, "query_csv", path="t.xlsx")
    assert (found["columns"], found["rows"]) == (["column_1", "a", "column_3"], [["1", "2", "3"]])


def test_numbers_that_the_workbook_types_are_never_ambiguous(tmp_path: Path) -> None:
    book(tmp_path / "t.xlsx", Data=[["a", "b"], [1.234, "1.234,5 €"], [2.345, "2 €"]])
    found = ask(tmp_path, "analyze_csv", path="t.xlsx", operations=["sum"])
    assert found["groups"][0]["values"] == {"a": {"sum": 3.579}, "b": {"sum": 1236.5}}
    assert found["read_as"]["numbers"] == [{"columns": ["b"], "decimal": ",", "unit": "EUR"}]


def test_each_file_that_is_not_a_workbook_has_its_own_error(tmp_path: Path) -> None:
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    (tmp_path / "t.csv").write_text("a\n1\n")
    book(tmp_path / "empty.xlsx", Data=[], More=[["a"]])
    whole = book(tmp_path / "t.xlsx", Data=SALES).read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "other.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    codes = {
        name: code_of(tmp_path, "describe_csv", path=name)
        for name in ("old.xls", "empty.xlsx", "cut.xlsx", "other.docx")
    }
    assert codes == {"old.xls": "TT6342", "empty.xlsx": "TT6344", "cut.xlsx": "TT6343", "other.docx": "TT6310"}
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    for name in ("t.csv", "t.parquet"):
        assert code_of(tmp_path, "describe_csv", path=name, read_as={"sheet": "Data"}) == "TT6341"


def test_without_its_packages_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path / "t.xlsx", Data=SALES)
    find = importlib.util.find_spec
    monkeypatch.setattr(workbooks, "find_spec", lambda name: None if name == "openpyxl" else find(name))
    file = os.open(path, os.O_RDONLY)
    try:
        with pytest.raises(ToolError) as error, workbooks.sheet_of(file, None, "t.xlsx", UnpackingBounds(), 256):
            pass
    finally:
        os.close(file)
    assert error.value.code == "TT6302"
    assert "xlsx" in str(error.value)


# G08: bombs


def rewritten(path: Path, part: str, change: Callable[[str], str | bytes]) -> None:
    """One part of an archive, changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            changed = change(content.decode()) if name == part else content
            archive.writestr(name, changed)


ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]>"
)
SHEET = "xl/worksheets/sheet1.xml"


def declared(xml: str) -> str:
    head, _, rest = xml.rpartition("?>")
    return f"{head}?>{ENTITIES}{rest}" if head else f"{ENTITIES}{rest}"


BOMBS: dict[str, tuple[str, Callable[[str], str], set[str]]] = {
    "entities in a cell": (SHEET, lambda x: declared(x).replace("<v>1</v>", "<v>&j;</v>"), {"TT6343"}),
    "entities in styles": ("xl/styles.xml", declared, {"TT6343"}),
    "a file named by an entity": (
        SHEET,
        lambda x: x.replace("<worksheet", '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><worksheet').replace(
            "<v>1</v>", "<v>&f;</v>"
        ),
        {"TT6343"},
    ),
    "a sheet that unpacks to hundreds of times its size": (
        SHEET, lambda x: x.replace("</sheetData>", "<row/>" * 20_000_000 + "</sheetData>"), {"TT6312"},
    ),
    "a row far below all others": (
        SHEET, lambda x: x.replace('<row r="2"', '<row r="2000000000"').replace('r="A2"', ""), {"TT6343", "TT6344"},
    ),
    "a text that is not there": (
        SHEET, lambda x: x.replace('t="inlineStr"><is><t>a</t></is>', 't="s"><v>99</v>'), {"TT6343"},
    ),
    "no end": (SHEET, lambda x: x[: len(x) // 2], {"TT6343"}),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_g08_a_workbook_that_is_a_bomb_is_stopped(tmp_path: Path, name: str) -> None:
    part, change, codes = BOMBS[name]
    path = book(tmp_path / "t.xlsx", Data=[["a"], [1]])
    rewritten(path, part, change)
    assert code_of(tmp_path, "describe_csv", path="t.xlsx") in codes


def test_g08_an_archive_of_very_many_parts_is_stopped(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", Data=[["a"], [1]])
    with zipfile.ZipFile(path, "a") as archive:
        for n in range(10_001):
            archive.writestr(f"x/{n}", b"")
    assert code_of(tmp_path, "describe_csv", path="t.xlsx") == "TT6312"


def test_g08_empty_rows_by_the_million_take_bounded_memory(tmp_path: Path) -> None:
    """Within the size that an archive may have; the tree of XML would take more memory than the process may."""
    path = book(tmp_path / "t.xlsx", Data=[["a"], [1]])
    rewritten(path, SHEET, lambda xml: xml.replace("</sheetData>", "<row/>" * 2_000_000 + "</sheetData>"))
    assert code_of(tmp_path, "describe_csv", TableLimits(memory_mib=64), path="t.xlsx") == "TT6343"


def test_g08_twin_a_workbook_of_a_wrong_size_is_read(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", Data=[["a"], [1]])
    rewritten(path, SHEET, lambda xml: xml.replace('<dimension ref="A1:A2"', '<dimension ref="A1:XFD1048576"'))
    found = ask(tmp_path, "query_csv", path="t.xlsx")
    assert (found["columns"], found["rows"]) == (["a"], [["1"]])

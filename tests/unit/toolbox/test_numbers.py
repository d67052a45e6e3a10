"""Numbers as people write them: found for a column as a whole, told, and never guessed in silence."""

from __future__ import annotations

import csv
from collections.abc import Generator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.toolbox.tabling import ask
from tooltrue_toolbox.tables import notation
from tooltrue_toolbox.tables.notation import Notation


def total(root: Path, *cells: str, delimiter: str = "\t", **arguments: Any) -> tuple[object, Any]:
    """The sum of a column, and its report: the number format, and the cells that are no numbers."""
    with (root / "t.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([["a", "k"], *([cell, "x"] for cell in cells)])
    found = ask(root, "analyze_csv", path="t.csv", operations=["sum"], columns=["a"], **arguments)
    told = {key: value for each in found["read_as"].get("numbers", []) for key, value in each.items()}
    missed = [(each["cells"], each["example"]) for each in found.get("not_numbers", [])]
    return found["groups"][0]["values"]["a"]["sum"], told | ({"missed": missed} if missed else {})


COMMA, POINT = {"columns": ["a"], "decimal": ","}, {"columns": ["a"], "decimal": "."}


@pytest.mark.parametrize(
    ("cells", "sum", "told"),
    [
        (["1.234,56", "7", "-0,5"], 1241.06, COMMA),
        (["1 234,56", "7", "1\u00a0000", "1\u202f000"], 3241.56, COMMA),
        (["1'234.56", "7", "1\u2019000"], 2241.56, POINT),
        (["$1,200.50", "-$0.50", "($200)", "$ (1.00)", "3"], 1002, {**POINT, "unit": "$"}),
        (["1.200,50 €", "EUR 1,00", "0,50€", "2,00- €"], 1200, {**COMMA, "unit": "EUR"}),
        (["CHF 12", "12.50 CHF", "Fr. 1.00"], 25.5, {**POINT, "unit": "CHF"}),
        (["¥1,200.5", "￥300"], 1500.5, {**POINT, "unit": "¥"}),
        (["1,200.00元", "3 元"], 1203, {**POINT, "unit": "CNY"}),
        (["12 %", "0.5%", "(2%)"], 10.5, {**POINT, "unit": "%"}),
        (["(1,234.50)", "1,000.25", "5-", "\u22125"], -244.25, POINT),
        (["₹12,34,567.89", "₹1,00,000.00"], 1334567.89, {**POINT, "unit": "INR"}),
        (["1.234.567", "2.000"], 1236567, COMMA),
        (["1,234,567", "2,000"], 1236567, POINT),
        (["  12.50", "  7.00 "], 19.5, POINT),
        (["1,5E+03", "2,5"], 1502.5, COMMA),
        # Plain numbers are read as they are, without an entry in the report.
        (["12.50", "7", "-1e2", "+3"], -77.5, {}),
        (["1.2345", "1.234"], 2.4685, {}),
    ],
)
def test_a_column_is_summed_as_it_is_written(tmp_path: Path, cells: list[str], sum: object, told: Any) -> None:
    found, read = total(tmp_path, *cells)
    assert (found, read) == (sum, told)


@pytest.mark.parametrize(
    ("cells", "sum", "told"),
    [
        (["$5.00", "$6.00", "€7.00"], 11, {**POINT, "unit": "$", "missed": [(1, "€7.00")]}),
        (["12%", "13%", "0.14"], 25, {**POINT, "unit": "%", "missed": [(1, "0.14")]}),
        (["0.12", "0.13", "0.14", "15%"], 0.39, {"missed": [(1, "15%")]}),
        (["1,5", "2,5", "3.5"], 4, {**COMMA, "missed": [(1, "3.5")]}),
        (["1.5", "2.5", "3,5"], 4, {**POINT, "missed": [(1, "3,5")]}),
        (["1,234.5", "12,34", "007", "-"], 1234.5, {**POINT, "missed": [(3, "-")]}),
        (["SKU 12", "SKU 13", "4"], 4, {"missed": [(2, "SKU 12")]}),
        (["01.02.2024", "02.02.2024", "3"], 3, {"missed": [(2, "01.02.2024")]}),
        (["10.0.0.1", "10.0.0.2", "3"], 3, {"missed": [(2, "10.0.0.1")]}),
        (["１２", "1,5", "(-5)", "--5", "5 5", "2"], 2, {"missed": [(5, "(-5)")]}),
    ],
)
def test_cells_in_another_number_format_than_their_column_are_counted(
    tmp_path: Path, cells: list[str], sum: object, told: Any
) -> None:
    found, read = total(tmp_path, *cells)
    assert (found, read) == (sum, told)


# Numbers that may be a thousand times more


@pytest.mark.parametrize(
    ("cells", "delimiter", "sum", "told"),
    [
        (["1,234", "2,345"], ",", 3579, {**POINT, "ambiguous": True}),
        (["1,234", "2,345"], "\t", 3579, {**POINT, "ambiguous": True}),
        (["1,234", "2,345"], ";", 3.579, {**COMMA, "ambiguous": True}),
        (["1.234", "2.345"], ";", 3.579, {**POINT, "ambiguous": True}),
        (["€1,234", "€12"], ",", 1246, {**POINT, "unit": "EUR", "ambiguous": True}),
        # One cell that can be read in one way decides for all.
        (["1,234", "2,345", "3,4"], ",", 6.979, COMMA),
        (["1,234", "2,345", "3,456.5"], ";", 7035.5, POINT),
        (["1.234", "2.345", "3,4"], ";", 3582.4, COMMA),
        (["1.234", "0.345"], ";", 1.579, {}),
    ],
)
def test_a_number_format_that_the_file_does_not_determine_is_reported_as_ambiguous(
    tmp_path: Path, cells: list[str], delimiter: str, sum: object, told: Any
) -> None:
    assert total(tmp_path, *cells, delimiter=delimiter) == (sum, told)


@pytest.mark.parametrize(("other", "sum", "decimal"), [("2,5", 1.234, ","), ("2.5", 1234, "."), ("2", 1234, None)])
def test_an_ambiguous_column_goes_by_the_others(tmp_path: Path, other: str, sum: object, decimal: str | None) -> None:
    (tmp_path / "t.tsv").write_text(f"a\tb\n1,234\t{other}\n")
    found = ask(tmp_path, "analyze_csv", path="t.tsv", operations=["sum"], columns=["a"])
    assert found["groups"][0]["values"]["a"]["sum"] == sum
    [told] = [each for each in found["read_as"]["numbers"] if "a" in each["columns"]]
    assert told == ({**POINT, "ambiguous": True} if decimal is None else {**told, "decimal": decimal})
    assert told.get("ambiguous", False) is (decimal is None)


def test_columns_that_disagree_decide_for_themselves_alone(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tb\tc\n1,234\t2,5\t2.5\n")
    numbers = ask(tmp_path, "describe_csv", path="t.tsv")["read_as"]["numbers"]
    assert numbers == [{**POINT, "ambiguous": True}, {"columns": ["b"], "decimal": ","}]


@pytest.mark.parametrize(("said", "sum"), [(",", 3.579), (".", 3579)])
def test_the_caller_may_set_an_ambiguous_decimal_separator(tmp_path: Path, said: str, sum: object) -> None:
    for delimiter in ",;":
        found = total(tmp_path, "1,234", "2,345", delimiter=delimiter, read_as={"decimal": said})
        assert found == (sum, {**POINT, "decimal": said})


def test_a_wrong_word_of_the_caller_is_seen(tmp_path: Path) -> None:
    found = total(tmp_path, "12.50", "1,5", "7.25", read_as={"decimal": ","})
    assert found == (1.5, {**COMMA, "missed": [(2, "12.50")]})


@pytest.mark.parametrize(
    ("tail", "told"),
    [
        (["1.234"], {**POINT, "ambiguous": True}),
        (["1.234", "0.5555"], {}),
        (["1.2345"], {}),
        (["1,234"], {"missed": [(1, "1,234")]}),
    ],
)
def test_an_ambiguous_number_far_down_is_told_as_well(tmp_path: Path, tail: list[str], told: Any) -> None:
    assert total(tmp_path, *(["12"] * 3000), *tail)[1] == told


def test_integers_of_a_file_with_commas_may_have_points_further_down(tmp_path: Path) -> None:
    rows = [f"{n % 900},5;{n % 900}" for n in range(1, 3000)]
    (tmp_path / "t.csv").write_text("\n".join(["price;pieces", *rows, "1,5;1.234"]))
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["max"], columns=["pieces"])
    assert found["groups"][0]["values"] == {"pieces": {"max": 1234}}
    assert "not_numbers" not in found


# Everything that asks for a number gets it


def test_a_european_file_is_filtered_sorted_described_and_summed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(
        "Ort;Umsatz;Anteil\nKöln;1.234,56 €;12,5 %\nUlm;-99,10 €;0,5 %\nBonn;10.000,00 €;87 %\n".encode("windows-1252")
    )
    assert [row[0] for row in ask(tmp_path, "query_csv", path="t.csv", filter="Umsatz > 1000")["rows"]] == [
        "Köln", "Bonn",
    ]  # fmt: skip
    rows = ask(tmp_path, "query_csv", path="t.csv", order_by="Umsatz", descending=True)
    assert [row[1] for row in rows["rows"]] == ["10.000,00 €", "1.234,56 €", "-99,10 €"]
    assert "formulas" not in rows
    columns = {each["name"]: each for each in ask(tmp_path, "describe_csv", path="t.csv")["columns"]}
    assert {name: (each["type"], each["min"], each["max"]) for name, each in columns.items()} == {
        "Ort": ("text", "Bonn", "Ulm"),
        "Umsatz": ("decimal", -99.1, 10000),
        "Anteil": ("decimal", 0.5, 87),
    }
    assert "formulas" not in columns["Umsatz"]
    found = ask(tmp_path, "analyze_csv", path="t.csv", operations=["sum", "average", "median"])
    assert found["groups"][0]["values"] == {
        "Umsatz": {"sum": 11135.46, "average": 3711.82, "median": 1234.56},
        "Anteil": {"sum": 100, "average": 33.333333333333336, "median": 12.5},
    }


def test_a_number_that_json_types_itself_is_never_ambiguous(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": 1.234, "b": "1.234,5"}\n{"a": 2.345, "b": "7,25"}\n')
    found = ask(tmp_path, "analyze_csv", path="t.jsonl", operations=["sum"])
    assert found["groups"][0]["values"] == {"a": {"sum": 3.579}, "b": {"sum": 1241.75}}
    assert found["read_as"]["numbers"] == [{"columns": ["b"], "decimal": ","}]


def test_exact_sums_stay_exact(tmp_path: Path) -> None:
    cells = ["1.234.567.890.123.456.789.012.345.678,10"] * 3
    found, told = total(tmp_path, *cells)
    assert (found, told) == ("3703703670370370367037037034.3", COMMA)


# Two readers of one pattern

SIGNS = "0123456789.,'\u2019 \u00a0\u202f-+\u2212()%€$EURe5;x\n"
UNITS = ("", "%", "EUR", "$")


@pytest.fixture(scope="module")
def engine() -> Generator[duckdb.DuckDBPyConnection]:
    """An engine without tables, for queries without side effects."""
    with duckdb.connect() as connection:
        yield connection


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(SIGNS, max_size=12), min_size=1, max_size=60), st.sampled_from(".,"), st.sampled_from(UNITS))
def test_the_engine_reads_a_cell_as_we_do(
    engine: duckdb.DuckDBPyConnection, cells: list[str], decimal: Any, unit: str
) -> None:
    written = Notation(decimal, unit)
    sql = f"SELECT {written.sql('c')} FROM (SELECT unnest(?::VARCHAR[]) AS c)"
    assert engine.execute(sql, [cells]).fetchall() == [(written.plain(cell),) for cell in cells]


@settings(deadline=None, max_examples=300)
@given(
    st.decimals(min_value=-(10**12), max_value=10**12, places=2),
    st.sampled_from([(".", ","), (".", " "), (".", "'"), (",", "."), (",", "\u00a0"), (",", "")]),
    st.sampled_from(["{}", "({})", "-{}", "{}-", "€{}", "{} €", "-€{}", "€ -{}", "({} €)", "EUR {}", "  {}  "]),
)
def test_a_number_written_in_any_way_is_read_back(number: Decimal, signs: tuple[Any, str], form: str) -> None:
    decimal, group = signs
    if number.is_signed() and form in ("{}", "€{}", "{} €", "EUR {}", "  {}  "):
        number = -number
    text = f"{abs(number):,.2f}".replace(".", "!").replace(",", group).replace("!", decimal)
    read = Notation(decimal, "EUR").plain(form.format(text))
    assert read is not None
    assert Decimal(read) == (-abs(number) if "-" in form or "(" in form else abs(number))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(SIGNS, max_size=12), max_size=30))
def test_a_column_of_anything_is_looked_at_without_harm(cells: list[str]) -> None:
    found = notation.notations_of([notation.Cells("a", cells)], ".", None)
    assert set(found.by_column) <= {"a"}
    for each in found.by_column.values():
        assert any(each.plain(cell) is not None for cell in cells)

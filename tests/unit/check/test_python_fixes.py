"""Literals of a Python file that define published values, and edits of one that leave the code around it alone."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue_check.python_fixes import ValueEdit, put

DEFAULT = ("inputSchema", "properties", "n", "default")
LEAST = ("inputSchema", "properties", "n", "minimum")


def at(path: tuple[str | int, ...], value: Any, line: int = 1, tool: str = "t") -> ValueEdit:
    return ValueEdit(tool, line, path, value)


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("def t(n: int = 5.0): ...", at(DEFAULT, 5), "def t(n: int = 5): ..."),
        ("async def t(a, /, n=-5.0, *, m=1): ...", at(DEFAULT, -5), "async def t(a, /, n=-5, *, m=1): ..."),
        ("def t(*, 名='é', n=1_000.0): ...", at(DEFAULT, 1000), "def t(*, 名='é', n=1000): ..."),
        ("@tool\ndef t(n: int = 5.0): ...", at(DEFAULT, 5), "@tool\ndef t(n: int = 5): ..."),
        ("def t(n: int = Field(5.0)): ...", at(DEFAULT, 5), "def t(n: int = Field(5)): ..."),
        ("def t(n: int = p.Field(default=5.0)): ...", at(DEFAULT, 5), "def t(n: int = p.Field(default=5)): ..."),
        ("def t(n: A[int, F(ge=0.0)] = 0.0): ...", at(LEAST, 0), "def t(n: A[int, F(ge=0)] = 0.0): ..."),
        (
            "class M:\n    n: A[int, F(ge=0.0)]\n    m: A[int, F(ge=0.0)]\n",
            at(("outputSchema", "$defs", "M", "properties", "m", "minimum"), 0, 0),
            "class M:\n    n: A[int, F(ge=0.0)]\n    m: A[int, F(ge=0)]\n",
        ),
        (
            "s.add_raw_tool('t', {'properties': {'n': [{'x': 1}, {'const': 2.0}]}}, f)",
            at(("inputSchema", "properties", "n", 1, "const"), 2, 0),
            "s.add_raw_tool('t', {'properties': {'n': [{'x': 1}, {'const': 2}]}}, f)",
        ),
        (
            "add_raw(input_schema={}, name='t', output_schema={'enum': [1.0,\n  1, 2, 1]})",
            at(("outputSchema", "enum"), [1.0, 2], 0),
            "add_raw(input_schema={}, name='t', output_schema={'enum': [1.0, 2]})",
        ),
    ],
)
def test_a_literal_that_declares_it_is_changed(text: str, wanted: ValueEdit, expected: str):
    assert put(text, [wanted]) == expected


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def t(n: int = FIVE): ...", at(DEFAULT, 5)),
        ("def t(n: int = 2.5 * 2): ...", at(DEFAULT, 5)),
        ("def t(n: int = 5): ...", at(DEFAULT, 5)),
        ("def t(n: int = 6.0): ...", at(DEFAULT, 5)),
        ("def t(n: int = 5.0): ...", at(DEFAULT, "5")),
        ("def t(n: int = '5.0'): ...", at(DEFAULT, 5)),
        ("def t(m: int = 5.0): ...", at(DEFAULT, 5)),
        ("\ndef t(n: int = 5.0): ...", at(DEFAULT, 5)),
        ("def t(n: A[int, F(default=5.0)] = 5.0): ...", at(DEFAULT, 5)),  # ambiguous: two defaults
        ("def t(n: A[int, F(gt=0.0)]): ...", at(LEAST, 0)),
        ("class M:\n    n = 5.0\n", at(("inputSchema", "$defs", "M", "properties", "n", "default"), 5)),
        (
            "class M:\n    n: int = 5.0\nclass M:\n    n: int = 5.0\n",
            at(("inputSchema", "$defs", "M", "properties", "n", "default"), 5),
        ),
        ("def t(n: int = 5.0): ...", at(("annotations",), {"destructiveHint": True})),
        ("add_raw('t', SCHEMA, f)", at(DEFAULT, 5)),
        ("add_raw('t', {**SCHEMA}, f)", at(DEFAULT, 5)),
        ("add_raw('t', {'properties': {'n': 5.0}}, f)", at(DEFAULT, 5)),
        ("add_raw('other', {'properties': {'n': {'default': 5.0}}}, f)", at(DEFAULT, 5, 0)),
        ("add_raw('t', {'enum': [1,  # one\n  1]}, f)", at(("inputSchema", "enum"), [1], 0)),
        ("add_raw('t', {'enum': [1, (1)]}, f)", at(("inputSchema", "enum"), [1], 0)),
        ("f(2)(3)[1]; {1: 2}", at(DEFAULT, 5, 0)),
    ],
)
def test_a_computed_referenced_or_ambiguous_value_is_left_unchanged(text: str, wanted: ValueEdit):
    assert put(text, [wanted]) == text


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_all_are_put_there_at_once_wherever_they_stand(numbers: list[int], end: str):
    lines = [f"class 类{n}:{end}    n: int = {float(number)!r}  # ü {end}" for n, number in enumerate(numbers)]
    paths = [("inputSchema", "$defs", f"类{n}", "properties", "n", "default") for n in range(len(numbers))]
    after = put("".join(lines), [at(path, number) for path, number in zip(paths, numbers, strict=True)])
    assert after == "".join(lines).replace(".0  #", "  #")
    ast.parse(after)

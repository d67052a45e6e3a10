"""The spans of values in a JSON text, and edits of one value that leave the surrounding text unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.contract.contract import Path
from tooltrue_check.json_fixes import put
from tooltrue_check.positions import Positions

TEXT = """\
{
  "tools": [
    {"name": "a,b: {\\"", "inputSchema": {}},
    {
      "name": "c",
      "annotations": {
        "title": "C"
      }
    }
  ]
}
"""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def paths(value: Any, at: Path = ()) -> list[Path]:
    found = [at]
    if isinstance(value, dict):
        found += [path for key, inner in value.items() for path in paths(inner, (*at, key))]
    if isinstance(value, list):
        found += [path for place, inner in enumerate(value) for path in paths(inner, (*at, place))]
    return found


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_the_span_at_a_path_holds_its_value(value: Any, indent: int | None, is_ascii: bool):
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    spans = Positions(text).spans
    assert sorted(map(repr, spans)) == sorted(map(repr, paths(value)))
    for path, (start, end) in spans.items():
        assert json.loads(text[start:end]) == at(value, path)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("tools", 0, "name"), 3),
        (("tools", 1), 4),
        (("tools", 1, "annotations", "title"), 7),
        (("tools", 1, "description"), 4),
        (("tools", 7, "name"), 2),
    ],
)
def test_the_line_of_a_path_is_that_of_its_value_or_of_the_enclosing_value(path: Path, line: int):
    assert Positions(TEXT).line(path) == line


@pytest.mark.parametrize(
    ("path", "value", "was", "becomes"),
    [
        (("tools", 1, "name"), "d", '"name": "c"', '"name": "d"'),
        (("tools", 0, "inputSchema", "type"), "object", "{}", '{"type": "object"}'),
        (("tools", 0, "annotations", "readOnlyHint"), True, "{}}", '{}, "annotations": {"readOnlyHint": true}}'),
        (
            ("tools", 1, "annotations", "readOnlyHint"),
            False,
            '"title": "C"\n',
            '"title": "C",\n        "readOnlyHint": false\n',
        ),
    ],
)
def test_a_value_comes_to_its_place_and_nothing_else_changes(path: Path, value: Any, was: str, becomes: str):
    text, count = put(TEXT, [(path, value)])
    assert (text, count) == (TEXT.replace(was, becomes), 1)
    assert put(text, [(path, value)]) == (text, 1)


LIST = '{"enum": [\r\n    "a\\u202e\\u4e2d" ,\r\n    "b",\r\n    "a\\u202e\\u4e2d",\r\n    1.0, 1\r\n  ]\r\n}'


@pytest.mark.parametrize(
    ("text", "path", "value", "was", "becomes"),
    [
        (LIST, ("enum",), ["a\u202e中", "b", 1.0, 1], ',\r\n    "a\\u202e\\u4e2d",\r\n    1.0', ",\r\n    1.0"),
        (LIST, ("enum",), ["a\u202e中", "b", "a\u202e中", 1.0], "1.0, 1", "1.0"),
        (LIST, ("enum",), ["b", "a\u202e中", 1.0, 1], '"a\\u202e\\u4e2d" ,\r\n    "b"', '"b"'),
        (LIST, (), {}, LIST, "{\r\n}"),
        (TEXT, ("tools", 1, "annotations"), {"title": "D"}, '"C"', '"D"'),
        (TEXT, ("tools", 1, "annotations"), {"title": "C", "x": []}, '"C"', '"C",\n        "x": []'),
        (TEXT, ("tools", 1, "annotations"), {"x": "\u202e"}, '"title": "C"', '"x": "\\u202e"'),
        (TEXT, ("tools", 1), {"annotations": {"title": "C"}}, '"name": "c",\n      ', ""),
        (TEXT, ("tools", 1, "annotations"), {}, '\n        "title": "C"', ""),
    ],
)
def test_an_unchanged_part_of_an_object_or_a_list_keeps_its_formatting(
    text: str, path: Path, value: Any, was: str, becomes: str
):
    assert text.count(was) == 1
    assert put(text, [(path, value)]) == (text.replace(was, becomes), 1)


@given(VALUES, VALUES, st.data(), st.sampled_from([None, 2]))
def test_any_replacement_of_a_value_gives_the_wanted_value(old: Any, new: Any, data: st.DataObject, indent: int | None):
    parts = data.draw(st.permutations(paths(old)))
    if parts[0] and isinstance(around := at(old, parts[0][:-1]), dict):
        new = {key: one for key, one in around.items() if key != parts[0][-1]} | {"more": new}
        parts = [parts[0][:-1]]
    text, count = put(json.dumps(old, indent=indent), [(parts[0], new)])
    assert (at(json.loads(text), parts[0]), count) == (new, 1)


@pytest.mark.parametrize("path", [("tools", 5), ("tools", 5, "name"), ("tools", 0, "name", "x"), ("tools", "x")])
def test_an_edit_at_an_absent_path_is_left_out(path: Path):
    assert put(TEXT, [(path, 1)]) == (TEXT, 0)


def test_of_two_values_that_touch_each_other_the_first_is_put():
    inner, outer = (("tools", 1, "annotations", "title"), "D"), (("tools", 1, "annotations"), {})
    assert put(TEXT, [inner, outer]) == (TEXT.replace('"C"', '"D"'), 1)

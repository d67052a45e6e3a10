"""Where values stand in a JSON text, and how one is put there without touching what is beside it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.check.fixing import put
from toolwright.check.positions import Positions
from toolwright.contract.contract import Path

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
def test_what_stands_at_a_path_is_its_value(value: Any, indent: int | None, is_ascii: bool):
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
def test_a_path_has_the_line_of_its_value_or_of_what_is_around_it(path: Path, line: int):
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


def test_what_stood_on_several_lines_does_so_again():
    text, _ = put(TEXT, [(("tools", 1, "annotations"), {"title": "D", "tags": ["x"]})])
    assert json.loads(text)["tools"][1]["annotations"] == {"title": "D", "tags": ["x"]}
    assert '      "annotations": {\n        "title": "D",\n        "tags": [\n' in text
    assert text.endswith("      }\n    }\n  ]\n}\n")


@pytest.mark.parametrize("path", [("tools", 5), ("tools", 5, "name"), ("tools", 0, "name", "x"), ("tools", "x")])
def test_what_has_no_place_is_left_out(path: Path):
    assert put(TEXT, [(path, 1)]) == (TEXT, 0)


def test_of_two_values_that_touch_each_other_the_first_is_put():
    inner, outer = (("tools", 1, "annotations", "title"), "D"), (("tools", 1, "annotations"), {})
    assert put(TEXT, [inner, outer]) == (TEXT.replace('"C"', '"D"'), 1)

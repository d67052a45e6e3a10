"""Edits of JSON with comments: one member changes, every other character stays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.host.client_files.json_edit import EditRefused, JsonNode, parse, same, with_member, without_member

NOTES = {"command": "/bin/notes", "args": ["serve", "a.py"]}


def added(text: str) -> str:
    return with_member(text, ("mcpServers", "notes"), NOTES)


def test_a_member_is_added_in_the_layout_of_its_neighbours() -> None:
    text = (
        "{\n"
        "\t// servers\n"
        '\t"mcpServers": {\n'
        '\t\t"a": {"command": "x", "args": ["1", "2"]}, // the first\n'
        '\t\t"b": {\n'
        '\t\t\t"command": "y",\n'
        '\t\t\t"args": ["3"]\n'
        "\t\t} /* the last */ // of all\n"
        "\t\t// the end\n"
        "\t}\n"
        "}\n"
    )
    assert added(text) == text.replace(
        "\t\t} /* the last */ // of all\n",
        "\t\t}, /* the last */ // of all\n"
        '\t\t"notes": {\n'
        '\t\t\t"command": "/bin/notes",\n'
        '\t\t\t"args": ["serve", "a.py"]\n'
        "\t\t}\n",
    )


def test_a_trailing_comma_stays_the_habit_of_the_file() -> None:
    text = '{\r\n  "mcpServers": {\r\n    "a": {"command": "x"}, // first\r\n  },\r\n}'
    entry = (
        '\r\n    "notes": {\r\n      "command": "/bin/notes",\r\n      "args": [\r\n        "serve",\r\n'
        '        "a.py"\r\n      ]\r\n    },'
    )
    assert added(text) == text.replace("// first", "// first" + entry)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1}', '{"a":1,"mcpServers":{"notes":{"command":"/bin/notes","args":["serve","a.py"]}}}'),
        (
            '{"a": 1, "mcpServers": {"b": {}}}',
            '{"a": 1, "mcpServers": {"b": {}, "notes": {"command": "/bin/notes", "args": ["serve", "a.py"]}}}',
        ),
        ("", json.dumps({"mcpServers": {"notes": NOTES}}, indent=2) + "\n"),
        ("\ufeff", "\ufeff" + json.dumps({"mcpServers": {"notes": NOTES}}, indent=2) + "\n"),
        ("{}", json.dumps({"mcpServers": {"notes": NOTES}}, indent=2)),
        ('{\n  "mcpServers": {}\n}\n', json.dumps({"mcpServers": {"notes": NOTES}}, indent=2) + "\n"),
        ('{\n    "a": [1]\n}', json.dumps({"a": 1, "mcpServers": {"notes": NOTES}}, indent=4)),
    ],
)
def test_missing_objects_are_made(text: str, expected: str) -> None:
    if '"a": [1]' in text:  # arrays of this file stand on one line
        expected = re.sub(r'"args": \[\s+"serve",\s+"a.py"\s+\]', '"args": ["serve", "a.py"]', expected)
        expected = expected.replace('"a": 1', '"a": [1]')
    assert added(text) == expected


def test_a_member_is_replaced_where_it_stands() -> None:
    text = '{\n  "mcpServers": {\n    "notes": {"command": "old"}, // mine\n    "z": {}\n  }\n}\n'
    result = added(text)
    assert list(parse(result).plain()["mcpServers"]) == ["notes", "z"]
    assert "// mine" in result
    assert added(result) == result  # nothing to change


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"s": {"a": 1, "b": 2}}', '{"s": {"b": 2}}'),
        ('{"s": {"b": 2, "a": 1}}', '{"s": {"b": 2}}'),
        ('{"s": {"a": 1}}', '{"s": {}}'),
        ('{"s": {\n  "a": 1,\n  "b": 2\n}}', '{"s": {\n  "b": 2\n}}'),
        ('{"s": {\n  "b": 2,\n  "a": 1\n}}', '{"s": {\n  "b": 2\n}}'),
        ('{"s": {\n  "b": 2, // two\n  // one\n  "a": 1\n}}', '{"s": {\n  "b": 2 // two\n  // one\n}}'),
        ('{"s": {\n  "b": 2,\n  "a": 1,\n}}', '{"s": {\n  "b": 2,\n}}'),
        ('{"s": {\n  "a": 1 // one\n}}', '{"s": {\n   // one\n}}'),
        ('{"s": {"b": 2}}', '{"s": {"b": 2}}'),
        ("{}", "{}"),
    ],
)
def test_a_member_is_removed_with_its_comma(text: str, expected: str) -> None:
    assert without_member(text, ("s", "a")) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a": 1, "a": 2}', "TT4651"),
        ('{"x": [{"k": 1, "\\u006b": 2}]}', "TT4651"),
        ('{"mcpServers": []}', "TT4652"),
        ('{"mcpServers": null}', "TT4652"),
        ("[]", "TT4652"),
        ('{"a": 01}', "TT4653"),
        ("{'a': 1}", "TT4653"),
        ('{"a": 1} x', "TT4653"),
        ('{"a": 1 "b": 2}', "TT4653"),
        ('{,"a": 1}', "TT4653"),
        ('{"a": "\t"}', "TT4653"),
        ('{"a": 1', "TT4654"),
        ("// nothing", "TT4654"),
        ('{"a": 1 /* never', "TT4653"),
        ("[" * 200, "TT"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(text: str, code: str) -> None:
    with pytest.raises(EditRefused) as raised:
        added(text)
    assert raised.value.problem.code.startswith(code)


# --- any text ---------------------------------------------------------------------------------------------------------

KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["s", "a", "b"])
PLAIN = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8) | st.floats(-1e9, 1e9)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A random object as JSON with comments, in a random layout, below ``s`` at times."""
    line = draw(st.sampled_from(["\n", "\r\n"]))
    gaps = st.sampled_from(
        ["", " ", "\t", line, line + "  ", f" // c{{}}{line}", "/* } , */", f"{line}\t/* a{line} b */ ", "  "]
    )

    def gap() -> str:
        return draw(gaps)

    def rendered(value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{gap()}{text(key)}{gap()}:{gap()}{rendered(one)}{gap()}" for key, one in value.items()]
            return "{" + ",".join(parts) + ("," if parts and draw(st.booleans()) else "") + gap() + "}"
        if isinstance(value, list):
            parts = [f"{gap()}{rendered(one)}{gap()}" for one in value]
            return "[" + ",".join(parts) + ("," if parts and draw(st.booleans()) else "") + gap() + "]"
        return text(value)

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    document = draw(OBJECTS)
    if draw(st.booleans()):
        document["s"] = draw(OBJECTS)
    else:
        document.pop("s", None)
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return mark + gap() + rendered(document) + gap()


COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|(//[^\n]*|/\*.*?\*/)', re.DOTALL)


def comments(text: str) -> list[str]:
    return [match[1].rstrip("\r") for match in COMMENT.finditer(text) if match[1]]


def is_within(small: str, large: str) -> bool:
    """Whether ``small`` is what remains of ``large`` when some characters are taken out."""
    rest = iter(large)
    return all(sign in rest for sign in small)


def dense(text: str) -> str:
    return re.sub(r"[ \t\r\n]", "", text)


@given(texts(), KEYS, VALUES)
def test_an_added_member_changes_nothing_else(text: str, key: str, value: Any) -> None:
    before = parse(text).plain()
    after = with_member(text, ("s", key), value)
    assert same(parse(after).plain(), {**before, "s": {**before.get("s", {}), key: value}})
    if key in before.get("s", {}):
        return
    assert comments(after) == comments(text)
    assert is_within(dense(text), dense(after))
    if before.get("s") or ("s" not in before and before):  # an empty object has no layout to keep
        assert is_within(text, after)
    if "\r\n" in text and not re.search(r"(?<!\r)\n", text):
        assert not re.search(r"(?<!\r)\n", after)


@given(texts(), st.data())
def test_a_removed_member_takes_nothing_else_with_it(text: str, data: st.DataObject) -> None:
    before = parse(text).plain()
    keys = list(before.get("s", {}))
    key = data.draw(st.sampled_from(keys)) if keys else "gone"
    after = without_member(text, ("s", key))
    expected = {**before, "s": {name: one for name, one in before["s"].items() if name != key}} if keys else before
    assert same(parse(after).plain(), expected)
    assert is_within(after, text)
    assert set(comments(after)) <= set(comments(text))


@given(texts(), KEYS, VALUES)
def test_a_member_that_was_added_can_be_removed_again(text: str, key: str, value: Any) -> None:
    before = parse(text).plain()
    if key in before.get("s", {}) or "s" not in before:
        return
    after = without_member(with_member(text, ("s", key), value), ("s", key))
    assert same(parse(after).plain(), before)
    assert comments(after) == comments(text)


@given(texts(), st.data())
def test_a_key_that_stands_twice_is_refused(text: str, data: st.DataObject) -> None:
    objects = [node for node in every(parse(text)) if node.members]
    if not objects:
        return
    node = data.draw(st.sampled_from(objects))
    key = data.draw(st.sampled_from([member.key for member in node.members or ()]))
    place = node.start + 1
    with pytest.raises(EditRefused):
        with_member(f"{text[:place]}{json.dumps(key)}: 0,{text[place:]}", ("s", "x"), 1)


def every(node: JsonNode) -> Iterator[JsonNode]:
    yield node
    for inner in [*(member.value for member in node.members or ()), *(node.elements or ())]:
        yield from every(inner)

"""Malformed definitions: for a wrong value in any place, no rule raises, and its text can be printed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue_check.findings import RuleFinding, rules
from tooltrue_check.subject import Shelf, Subject

ODD: Final[list[Any]] = [None, True, 7, "", "{id}", "use get_it", "参数：id", "!", [], [None], ["id", 1], {"": {}}]
WHOLE: Final[dict[str, Any]] = {
    "name": "delete_file",
    "title": "Delete",
    "description": "Delete a file. Use list_files to find it.",
    "inputSchema": {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": ["string", "null"], "description": "Its id", "enum": ["list", "create"], "examples": ["a"]},
            "action": {"enum": ["list", "create"], "description": "What to do", "anyOf": [{"type": "string"}]},
            "timeout": {"type": "number"},
            "filter": {"type": "array", "items": {"type": "object", "properties": {"q": {"properties": {"x": {}}}}}},
        },
        "allOf": [{"properties": {"y": {"$ref": "#/$defs/y"}}}],
    },
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": False},
}


def places(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = node.items() if is_object(node) else enumerate(node) if is_array(node) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from places(inner, (*path, key))


def with_something_odd() -> Iterator[dict[str, Any]]:
    for path in places(WHOLE):
        for odd in ODD:
            definition = copy.deepcopy(WHOLE)
            node: Any = definition
            for step in path[:-1]:
                node = node[step]
            node[path[-1]] = odd
            yield definition


def test_no_rule_raises_on_an_unusual_definition():
    shelf = Shelf()
    shelf.subjects.extend(Subject("server", one, shelf) for one in (WHOLE, *with_something_odd()))
    told: set[tuple[str, str]] = set()
    for subject in shelf.subjects:
        for card, problems in rules():
            for problem in problems(subject):
                finding = RuleFinding("server", subject.name, card, problem)
                told |= {(finding.say(language), finding.instead(language)) for language in ("en", "zh")}
                assert finding.place.startswith("$")
    assert all(says and instead for says, instead in told)

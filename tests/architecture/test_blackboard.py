"""The fields by which layers hand facts to one another: the tables in the vocabulary name their writers."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Set

import pytest

from support.sources import FILES
from tooltrue.tools.vocabulary import CallRecord, ToolCall

NOTE = "note"  # the method that appends to ``notes``


def table(document: str) -> dict[str, set[str]]:
    """Field → the modules that write it, from the table in a docstring."""
    rows: dict[str, set[str]] = {}
    start, end = (match.start() for match in list(re.finditer(r"^ *=+  (=+)", document, re.MULTILINE))[1:])
    lines = document[start:end].splitlines()[1:]
    second, third = (match.start() for match in list(re.finditer(r"=+", document[start:].splitlines()[0]))[1:])
    field = ""
    for line in lines:
        field = line[:second].strip().strip("`") or field
        rows.setdefault(field, set()).update(re.findall(r"\w+", re.sub(r"\(.*?\)", "", line[second:third])))
    return rows


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in FILES.values():
        if path.parent.name != "evaluation":  # calls there are answers of a model, which no layer sees
            yield path.stem, ast.parse(path.read_text("utf-8"))


def is_trail(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "trail") or (
        isinstance(node, ast.Attribute) and node.attr == "trail"
    )


def writers_of_the_record() -> Mapping[str, Set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for module, tree in modules():
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets):
                    for target in targets:
                        for leaf in ast.walk(target):
                            if isinstance(leaf, ast.Attribute) and is_trail(leaf.value):
                                found[leaf.attr].add(module)
                case ast.AugAssign(target=ast.Attribute(value=value, attr=attr)) if is_trail(value):
                    found[attr].add(module)
                case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr == NOTE and is_trail(value):
                    found["notes"].add(module)
    return found


def is_call(node: ast.expr, module: str) -> bool:
    """Whether ``node`` is the call that the steps of a plan share, or, in its own module, the object itself."""
    return isinstance(node, ast.Name) and node.id == ("self" if module == "vocabulary" else "call")


def changes_calls(module: str, tree: ast.Module) -> bool:
    """Whether a module has steps of a plan, which change their call in place."""
    imports = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    return module in ("plan", "vocabulary") or "tooltrue.policy.plan" in imports


def writers_of_a_call() -> Mapping[str, Set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for module, tree in modules():
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets) if changes_calls(module, tree):
                    for target in targets:
                        for leaf in ast.walk(target):
                            if isinstance(leaf, ast.Attribute) and is_call(leaf.value, module):
                                found[leaf.attr].add(module)
                    continue
                case ast.Call(func=ast.Name(id="replaced"), args=[ast.Name(id="call")], keywords=keywords):
                    pass
                case ast.Call(func=ast.Name(id="ToolCall"), keywords=keywords):
                    pass
                case _:
                    continue
            for keyword in keywords:
                found[keyword.arg or ""].add(module)
    return found


@pytest.mark.parametrize(
    ("kind", "written"), [(CallRecord, writers_of_the_record), (ToolCall, writers_of_a_call)], ids=["record", "call"]
)
def test_the_table_names_the_writers_of_each_field(kind: type, written: Callable[[], Mapping[str, Set[str]]]):
    rows, found = table(kind.__doc__ or ""), written()
    fields = [name for name in kind.__annotations__ if name not in ("name", "arguments", "context")]
    assert sorted(rows) == sorted(fields)
    assert {field: rows[field] for field in fields} == {field: found[field] for field in fields}

"""Fixes put into the Python file of a server: what a rule is sure of changes, and not a character beside it.

Only what stands there as a literal is found, and only where it declares something: the default of a parameter or of a
model's field, a bound in ``Field(…)``, a value in the schema of ``add_raw_tool`` or in ``json_schema_extra``. What is
computed, has a name, or is said twice is left to its author.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, TypeAlias

from toolwright.contract.contract import Path, canonical
from toolwright.jsonrpc.messages import Json, is_array

__all__ = ["Wanted", "put"]


class Wanted(NamedTuple):
    """``value`` at ``path`` in the definition of ``tool``, whose function begins at ``line``; 0 where it is none of
    this file."""

    tool: str
    line: int
    path: Path
    value: Json


_Edit: TypeAlias = tuple[int, int, bytes]
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_SAID_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "default": ("default",),
    "minimum": ("minimum", "ge"),
    "maximum": ("maximum", "le"),
    "const": ("const",),
    "enum": ("enum",),
}
"""Keyword of a schema → what the argument of a call, or the key of a dictionary, is called that says it."""


def put(text: str, wanted: Iterable[Wanted]) -> str:
    """``text``, which is Python, with these values where one literal says each."""
    file = _File(text)
    edits = {edit for one in wanted for edit in file.edits(one)}
    data = text.encode()
    for start, end, said in sorted(edits, reverse=True):
        data = data[:start] + said + data[end:]
    return data.decode()


class _File:
    def __init__(self, text: str) -> None:
        self._nodes = [*ast.walk(ast.parse(text))]
        self._data = text.encode()
        self._starts = [0, *accumulate(map(len, self._data.splitlines(keepends=True)))]

    def edits(self, wanted: Wanted) -> list[_Edit]:
        found = [edits for node in self._literals(wanted) if (edits := self._becomes(node, wanted.value))]
        return found[0] if len(found) == 1 else []

    def _literals(self, wanted: Wanted) -> Iterator[ast.expr]:
        """Those that may say what stands at the path."""
        field, *steps = wanted.path
        if schemas := [*self._raw(wanted.tool, str(field))]:
            yield from (node for schema in schemas for node in _at(schema, steps))
            return
        match steps:
            case ["$defs", str(model), "properties", str(name), *_, str(keyword)]:
                yield from _said(self._field(model, name), keyword)
            case ["properties", str(name), *_, str(keyword)] if field == "inputSchema":
                yield from _said(self._parameter(wanted.line, name), keyword)
            case _:
                return

    def _raw(self, tool: str, field: str) -> Iterator[ast.expr]:
        """The schema that ``add_raw_tool`` is given for that tool."""
        for node in self._nodes:
            if not isinstance(node, ast.Call) or _name(node.func) not in ("add_raw_tool", "add_raw"):
                continue
            given = {one.arg: one.value for one in node.keywords if one.arg}
            given |= dict(zip(("name", "input_schema"), node.args, strict=False))
            if "name" in given and _value(given["name"]) == tool:
                yield given.get({"inputSchema": "input_schema"}.get(field, "output_schema"), node)

    def _parameter(self, line: int, name: str) -> list[ast.expr | None]:
        """What declares a parameter of the function that begins there: its default, and its annotation."""
        for node in self._nodes:
            if isinstance(node, _Function) and line == min([node.lineno, *(one.lineno for one in node.decorator_list)]):
                return _declared(node.args).get(name, [])
        return []

    def _field(self, model: str, name: str) -> list[ast.expr | None]:
        """What declares a field of the class of that name, of which there is one."""
        classes = [node for node in self._nodes if isinstance(node, ast.ClassDef) and node.name == model]
        body = classes[0].body if len(classes) == 1 else []
        fields = [node for node in body if isinstance(node, ast.AnnAssign) and _name(node.target) == name]
        return [fields[0].value, fields[0].annotation] if len(fields) == 1 else []

    def _becomes(self, node: ast.expr, value: Json) -> list[_Edit]:
        """What has to be changed so that it says ``value``; nothing where it says something else than is meant."""
        said = _value(node)
        if isinstance(said, float) and isinstance(value, int) and said.is_integer() and int(said) == value:
            return [(*self._span(node), str(value).encode())]
        if isinstance(node, ast.List) and is_array(said) and is_array(value) and self._is_plain(node.elts):
            return [*self._without_repeated(node.elts, said)]
        return []

    def _is_plain(self, items: list[ast.expr]) -> bool:
        """Whether only commas stand between them: a comment or a bracket would have to go, or stay, with one of two."""
        gaps = (self._data[self._span(before)[1] : self._span(item)[0]] for before, item in pairwise(items))
        return all(gap.strip() == b"," for gap in gaps)

    def _without_repeated(self, items: list[ast.expr], values: list[Json]) -> Iterator[_Edit]:
        met = {canonical(value) for value in values[:1]}
        for (before, item), value in zip(pairwise(items), values[1:], strict=True):
            if (known := canonical(value)) in met:
                yield self._span(before)[1], self._span(item)[1], b""
            met.add(known)

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset


def _at(schema: ast.expr, steps: Iterable[str | int]) -> Iterator[ast.expr]:
    """What stands at a path of a literal; nothing where it is none on the way."""
    for step in steps:
        if isinstance(schema, ast.Dict):
            inner = [
                value for key, value in zip(schema.keys, schema.values, strict=True) if key and _value(key) == step
            ]
        elif isinstance(schema, ast.List) and isinstance(step, int):
            inner = schema.elts[step : step + 1]
        else:
            return
        if len(inner) != 1:
            return
        schema = inner[0]
    yield schema


def _said(declared: list[ast.expr | None], keyword: str) -> Iterator[ast.expr]:
    """What says a keyword in a default and an annotation."""
    if keyword not in _SAID_BY:
        return
    if keyword == "default" and declared and declared[0] is not None:
        yield declared[0]
    names = _SAID_BY[keyword]
    for node in (node for one in declared if one is not None for node in ast.walk(one)):
        match node:
            case ast.Call(func, args, keywords):
                yield from (one.value for one in keywords if one.arg in names)
                if keyword == "default" and _name(func) == "Field":
                    yield from args[:1]
            case ast.Dict(keys, values):
                yield from (value for key, value in zip(keys, values, strict=True) if key and _value(key) in names)
            case _:
                pass


def _declared(arguments: ast.arguments) -> dict[str, list[ast.expr | None]]:
    """Parameter → its default and its annotation."""
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(placed) - len(arguments.defaults)) + arguments.defaults
    pairs = [*zip(placed, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return {one.arg: [default, one.annotation] for one, default in pairs}


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(_, name):
            return name
        case _:
            return ""


_NONE: Final = object()


def _value(node: ast.expr) -> object:
    """What a literal says."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NONE

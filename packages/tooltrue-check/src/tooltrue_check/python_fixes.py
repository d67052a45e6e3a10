"""Fixes in the Python file of a server, which change only the fixed values.

Only literals in declarations are changed: the default of a parameter or of a model's field, a bound in ``Field(…)``, a
value in the schema of ``add_raw_tool`` or in ``json_schema_extra``. Values that are computed, named, or declared twice
are left to their author.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, TypeAlias

from tooltrue.contract.contract import Path
from tooltrue.contract.digests import canonical
from tooltrue.jsonrpc.messages import Json, is_array

__all__ = ["ValueEdit", "put"]


class ValueEdit(NamedTuple):
    """A wanted value: ``value`` at ``path`` in the definition of ``tool``, whose function begins at ``line``, or 0 if
    the function is not in this file."""

    tool: str
    line: int
    path: Path
    value: Json


_Edit: TypeAlias = tuple[int, int, bytes]
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_NAMES_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "default": ("default",),
    "minimum": ("minimum", "ge"),
    "maximum": ("maximum", "le"),
    "const": ("const",),
    "enum": ("enum",),
}
"""Keyword of a schema → the arguments of a call, or keys of a dictionary, that set it."""


def put(text: str, values: Iterable[ValueEdit]) -> str:
    """Set these values in a Python text, each if exactly one literal declares it."""
    file = _File(text)
    edits = {edit for one in values for edit in file.edits(one)}
    data = text.encode()
    for start, end, replacement in sorted(edits, reverse=True):
        data = data[:start] + replacement + data[end:]
    return data.decode()


class _File:
    def __init__(self, text: str) -> None:
        self._nodes = [*ast.walk(ast.parse(text))]
        self._data = text.encode()
        self._starts = [0, *accumulate(map(len, self._data.splitlines(keepends=True)))]

    def edits(self, target: ValueEdit) -> list[_Edit]:
        candidates = [edits for node in self._literals(target) if (edits := self._becomes(node, target.value))]
        return candidates[0] if len(candidates) == 1 else []

    def _literals(self, target: ValueEdit) -> Iterator[ast.expr]:
        """The literals that may declare the value at the path."""
        field, *steps = target.path
        if schemas := [*self._raw(target.tool, str(field))]:
            yield from (node for schema in schemas for node in _at(schema, steps))
            return
        match steps:
            case ["$defs", str(model), "properties", str(name), *_, str(keyword)]:
                yield from _setting_expressions(self._field(model, name), keyword)
            case ["properties", str(name), *_, str(keyword)] if field == "inputSchema":
                yield from _setting_expressions(self._parameter(target.line, name), keyword)
            case _:
                return

    def _raw(self, tool: str, field: str) -> Iterator[ast.expr]:
        """The schema passed to ``add_raw_tool`` for that tool."""
        for node in self._nodes:
            if not isinstance(node, ast.Call) or _name(node.func) not in ("add_raw_tool", "add_raw"):
                continue
            arguments = {one.arg: one.value for one in node.keywords if one.arg}
            arguments |= dict(zip(("name", "input_schema"), node.args, strict=False))
            if "name" in arguments and _value(arguments["name"]) == tool:
                yield arguments.get({"inputSchema": "input_schema"}.get(field, "output_schema"), node)

    def _parameter(self, line: int, name: str) -> list[ast.expr | None]:
        """The default and the annotation of a parameter of the function that begins at this line."""
        for node in self._nodes:
            if isinstance(node, _Function) and line == min([node.lineno, *(one.lineno for one in node.decorator_list)]):
                return _declared(node.args).get(name, [])
        return []

    def _field(self, model: str, name: str) -> list[ast.expr | None]:
        """The value and the annotation of a field of the class of that name, if there is exactly one such class."""
        classes = [node for node in self._nodes if isinstance(node, ast.ClassDef) and node.name == model]
        body = classes[0].body if len(classes) == 1 else []
        fields = [node for node in body if isinstance(node, ast.AnnAssign) and _name(node.target) == name]
        return [fields[0].value, fields[0].annotation] if len(fields) == 1 else []

    def _becomes(self, node: ast.expr, value: Json) -> list[_Edit]:
        """The edits that turn a literal into ``value``; empty if the literal declares a different value."""
        current = _value(node)
        if isinstance(current, float) and isinstance(value, int) and current.is_integer() and int(current) == value:
            return [(*self._span(node), str(value).encode())]
        if isinstance(node, ast.List) and is_array(current) and is_array(value) and self._is_plain(node.elts):
            return [*self._without_repeated(node.elts, current)]
        return []

    def _is_plain(self, items: list[ast.expr]) -> bool:
        """Whether only commas stand between the items: a comment or a bracket could not be kept for one of two
        items."""
        gaps = (self._data[self._span(before)[1] : self._span(item)[0]] for before, item in pairwise(items))
        return all(gap.strip() == b"," for gap in gaps)

    def _without_repeated(self, items: list[ast.expr], values: list[Json]) -> Iterator[_Edit]:
        unique = {canonical(value) for value in values[:1]}
        for (before, item), value in zip(pairwise(items), values[1:], strict=True):
            if (key := canonical(value)) in unique:
                yield self._span(before)[1], self._span(item)[1], b""
            unique.add(key)

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset


def _at(schema: ast.expr, steps: Iterable[str | int]) -> Iterator[ast.expr]:
    """The expression at a path within a literal; empty if a step is not a literal container."""
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


def _setting_expressions(declared: list[ast.expr | None], keyword: str) -> Iterator[ast.expr]:
    """The expressions in a default and an annotation that set a keyword."""
    if keyword not in _NAMES_OF:
        return
    if keyword == "default" and declared and declared[0] is not None:
        yield declared[0]
    names = _NAMES_OF[keyword]
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
    """The value of a literal, or ``_NONE`` if the expression is not one."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NONE

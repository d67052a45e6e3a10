"""A tool as the rules see it: its definition, parsed once, and its neighbours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar, overload

from tooltrue.caching import cache_short_texts
from tooltrue.contract.contract import Contract, Path
from tooltrue.contract.digests import Definition
from tooltrue.contract.finding import ScanFinding as Suspicion
from tooltrue.contract.neighbours import Neighbours
from tooltrue.contract.scan import scan
from tooltrue.errors import SchemaError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema import compile_schema
from tooltrue.protocol.schema.dialects import APPLICATORS, subschemas
from tooltrue.protocol.types import Value
from tooltrue_check.language import language, sentences, words
from tooltrue_check.plain import Node, is_plain

__all__ = ["DEEPEST", "Shelf", "Subject", "ToolParameter", "ToolText", "lazy", "subjects"]

DEEPEST: Final = 12
"""Levels of a schema that are examined; deeper nesting is a problem of its own."""


_Value = TypeVar("_Value")


class lazy(Generic[_Value]):
    """A property that is computed on first access. ``functools.cached_property`` takes a lock until Python 3.12, which
    costs more than most of these computations; no two threads share a subject."""

    def __init__(self, find_out: Callable[[Any], _Value]) -> None:
        self._find_out = find_out
        self._name = find_out.__name__
        self.__doc__ = find_out.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> lazy[_Value]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> _Value: ...
    def __get__(self, owner: object | None, kind: type) -> lazy[_Value] | _Value:
        if owner is None:
            return self
        value = owner.__dict__[self._name] = self._find_out(owner)
        return value


class ToolText:
    """A text of a definition. Derived values are computed once."""

    def __init__(self, raw: str) -> None:
        self.raw = raw

    def __bool__(self) -> bool:
        return bool(self.raw.strip())

    @lazy
    def plain(self) -> str:
        """The text in lower case, for a search of phrases."""
        return self.raw.casefold()

    @lazy
    def words(self) -> tuple[str, ...]:
        return words(self.raw)

    @lazy
    def word_set(self) -> frozenset[str]:
        return frozenset(self.words)

    @lazy
    def language(self) -> str:
        """``en``, ``zh``, or empty if it is neither, so that phrases cannot be searched for."""
        return language(self.raw, self.word_set)

    @lazy
    def spaced_words(self) -> str:
        """The words with a space around each, for a search of phrases."""
        return f" {' '.join(self.words)} "

    @lazy
    def sentences(self) -> tuple[str, ...]:
        return sentences(self.raw)


class ToolParameter(Value, frozen=True, dict=True):
    """A property of a schema. ``path`` leads to its schema from the definition, ``depth`` is 1 for an argument."""

    name: str
    schema: Mapping[str, Json]
    path: Path
    required: bool
    depth: int

    @lazy
    def name_words(self) -> tuple[str, ...]:
        return _name_words(self.name)

    @lazy
    def text(self) -> ToolText:
        description = self.schema.get("description")
        return ToolText(description if isinstance(description, str) else "")

    @lazy
    def kinds(self) -> frozenset[str]:
        """The types it may have, declared directly or in alternatives."""
        return frozenset(_kinds(self.schema))


# Many tools have a `path` and a `limit`.
_name_words = cache_short_texts(4096)(words)


def _kinds(schema: Mapping[str, Json]) -> Iterator[str]:
    types = schema.get("type")
    yield from (kind for kind in (types if is_array(types) else [types]) if isinstance(kind, str))
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        for branch in branches if is_array(branches) else ():
            if is_object(branch):
                yield from _kinds(branch)


_SECTION: Final = re.compile(
    r"(?:^[ \t#*]*(?:args|arguments|parameters|params|inputs?|参数|输入参数|入参|参数说明)[ \t*]*[:：]|:param |@param )"
    r".*?(?=^[ \t#*:]*(?:returns?|raises|throws|notes?|examples?|yields?|output|返回值?|异常|注意|示例|说明)\b|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_SIGNS: Final = ("args:", "arguments:", "parameters:", "params:", "input", "param ", "参数")


@dataclass(frozen=True, eq=False)
class Shelf:
    """All tools that a model would see at once: those of one server, or all that were given."""

    subjects: list[Subject] = field(default_factory=list["Subject"])
    _cache: dict[Callable[[Shelf], Any], Any] = field(default_factory=dict[Callable[["Shelf"], Any], Any], repr=False)

    def once(self, find_out: Callable[[Shelf], _Value]) -> _Value:
        """Compute a value about all tools together, and cache it."""
        if find_out not in self._cache:
            self._cache[find_out] = find_out(self)
        return self._cache[find_out]

    @lazy
    def by_name(self) -> Mapping[str, list[Subject]]:
        tools: dict[str, list[Subject]] = {}
        for one in self.subjects:
            tools.setdefault(one.name, []).append(one)
        return tools

    @lazy
    def servers(self) -> Mapping[str, frozenset[str]]:
        """Server → the names of its tools."""
        tool_names: dict[str, set[str]] = {}
        for one in self.subjects:
            tool_names.setdefault(one.server, set()).add(one.name)
        return {server: frozenset(names) for server, names in tool_names.items()}

    @lazy
    def neighbours(self) -> Neighbours:
        return Neighbours(self.servers if len(self.servers) > 1 else {})

    @lazy
    def by_server(self) -> Mapping[str, list[Subject]]:
        tools: dict[str, list[Subject]] = {}
        for one in self.subjects:
            tools.setdefault(one.server, []).append(one)
        return tools


@dataclass(frozen=True, eq=False)
class Subject:
    """One tool. ``server`` is the name of its server, ``shelf`` contains the tool and its neighbours; ``key`` is its
    key in the contract: its name, unless another tool has the same."""

    server: str
    definition: Definition
    shelf: Shelf = field(default_factory=Shelf, repr=False)
    key: str = ""

    @lazy
    def name(self) -> str:
        value = self.definition.get("name")
        return value if isinstance(value, str) else ""

    @lazy
    def name_words(self) -> tuple[str, ...]:
        return words(self.name)

    @lazy
    def text(self) -> ToolText:
        """The description."""
        description = self.definition.get("description")
        return ToolText(description if isinstance(description, str) else "")

    @lazy
    def section(self) -> re.Match[str] | None:
        """The section on parameters in the description, from a heading such as ``Args:`` to the next heading."""
        has_sign = any(sign in self.text.plain for sign in _SIGNS)
        return _SECTION.search(self.text.raw) if has_sign else None

    @lazy
    def summary(self) -> ToolText:
        """The description without that section."""
        if self.section is None:
            return self.text
        raw, (start, end) = self.text.raw, self.section.span()
        return ToolText(f"{raw[:start]}\n{raw[end:]}")

    @lazy
    def annotations(self) -> Mapping[str, Json]:
        value = self.definition.get("annotations")
        return value if is_object(value) else {}

    @lazy
    def input(self) -> Mapping[str, Json]:
        schema = self.definition.get("inputSchema")
        return schema if is_object(schema) else {}

    @lazy
    def output(self) -> Mapping[str, Json] | None:
        schema = self.definition.get("outputSchema")
        return schema if is_object(schema) else None

    @lazy
    def parameters(self) -> tuple[ToolParameter, ...]:
        """Each property of the input schema, nested ones included, in document order."""
        return tuple(_parameters(self.input, ("inputSchema",), 1))

    @lazy
    def arguments(self) -> tuple[ToolParameter, ...]:
        """The top-level properties: the arguments of a call."""
        return tuple(one for one in self.parameters if one.depth == 1)

    @lazy
    def described(self) -> tuple[ToolParameter, ...]:
        """The parameters with a description."""
        return tuple(one for one in self.parameters if one.text.raw)

    @lazy
    def nodes(self) -> tuple[Node, ...]:
        """All schemas of arguments and results, including definitions without references to them."""
        return tuple(_nodes(self.definition))

    @lazy
    def having(self) -> Mapping[str, list[Node]]:
        """Keyword → the schemas that have it."""
        by_keyword: dict[str, list[Node]] = {}
        for node in self.nodes:
            for keyword in node.schema:
                by_keyword.setdefault(keyword, []).append(node)
        return by_keyword

    @lazy
    def suspicions(self) -> tuple[Suspicion, ...]:
        """The findings for which a host would block a tool or warn a person."""
        beside = self.shelf.neighbours.besides(self.server)
        return scan(self.definition, beside, self.shelf.servers.get(self.server, frozenset()))

    @lazy
    def refusals(self) -> tuple[tuple[str, SchemaError], ...]:
        """The errors of the validator of calls: the field of each refused schema, and the reason."""
        return () if is_plain(self.nodes) else tuple(_refusals(self.definition))

    @property
    def is_read_only(self) -> bool:
        return self.annotations.get("readOnlyHint") is True


_FIELDS: Final = ("inputSchema", "outputSchema")


def _nodes(definition: Definition) -> Iterator[Node]:
    for name in _FIELDS:
        schema = definition.get(name)
        waiting = [Node((name,), schema)] if is_object(schema) else []
        while waiting:
            node = waiting.pop()
            yield node
            # most have only a type and a description
            if len(node.path) < _LONGEST and not APPLICATORS.isdisjoint(node.schema):
                waiting += reversed(list(_inner(node)))


_LONGEST: Final = 4 * DEEPEST


def _inner(node: Node) -> Iterator[Node]:
    for keyword, value in node.schema.items():
        if keyword in APPLICATORS and (is_object(value) or is_array(value)):
            for steps, schema in subschemas(keyword, value):
                if is_object(schema):
                    yield Node((*node.path, *steps), schema)


def _refusals(definition: Definition) -> Iterator[tuple[str, SchemaError]]:
    for name in _FIELDS:
        schema = definition.get(name)
        try:
            if is_object(schema):
                compile_schema(schema)
        except SchemaError as error:
            yield name, error


def _parameters(schema: Mapping[str, Json], path: Path, depth: int) -> Iterator[ToolParameter]:
    if depth > DEEPEST:
        return
    properties, required = schema.get("properties"), schema.get("required")
    needed = frozenset(name for name in required if isinstance(name, str)) if is_array(required) else frozenset[str]()
    for name, inner in properties.items() if is_object(properties) else ():
        at = (*path, "properties", name)
        if is_object(inner):
            yield ToolParameter(name, inner, at, name in needed, depth)
            yield from _parameters(inner, at, depth + 1)
    items = schema.get("items")
    if is_object(items):
        yield from _parameters(items, (*path, "items"), depth)
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        for index, branch in enumerate(branches if is_array(branches) else ()):
            if is_object(branch):
                yield from _parameters(branch, (*path, keyword, index), depth)


def subjects(contracts: Iterable[tuple[str, Contract]]) -> list[Subject]:
    """The tools of the named servers, which share one :class:`Shelf`."""
    shelf = Shelf()
    for server, contract in contracts:
        shelf.subjects.extend(Subject(server, contract.tools[name], shelf, name) for name in contract.tools)
    return shelf.subjects

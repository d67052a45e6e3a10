"""Bounded JSON Schema: compiled once, asked often, explained when it refuses.

A schema may come from a stranger, so it is surveyed before it is compiled: depth, size, references, patterns, and what
one value could cost. Nothing is ever fetched. ``jsonschema_rs``, which only this module imports, alone accepts or
refuses; the explanation asks it again, piece by piece, and decides nothing itself.

Two dialects: 2020-12, also when none is declared, and draft-07. Formats are asserted: a declared format is a promise.
In reading order: bounds, the survey, compiling, ``Schema``, the search for what is wrong, the words for it.
"""

from __future__ import annotations

import difflib
import heapq
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple, NoReturn, cast
from urllib.parse import quote, unquote, urljoin

import jsonschema_rs

from toolwright.errors import SchemaError

__all__ = ["FOREIGN", "OWN", "Bounds", "Problem", "Schema", "SchemaError", "compile_schema", "explain"]

Path = tuple[str | int, ...]
Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a schema may cost. Above any of these it is refused, never cut."""

    depth: int = 64
    """JSON levels of the schema itself."""
    nodes: int = 20_000
    """JSON values in it."""
    refs: int = 4_000
    chain: int = 200
    """Subschemas on one way down, references followed."""
    expansion: int = 100_000
    """Subschemas that one way down through a value can be judged by. About 10 ns each."""
    patterns: int = 1_000
    pattern_chars: int = 4_000
    pattern_bytes: int = 10_000_000
    """Size of one compiled pattern: a matching engine is linear in the text times this."""
    backtracks: int = 0
    """Steps that a pattern with lookaround or backreferences may take on one text; 0 refuses such patterns."""


OWN: Final = Bounds(backtracks=10_000)
"""For schemas that the author of the program wrote."""

FOREIGN: Final = Bounds(
    nodes=10_000, refs=1_000, expansion=20_000, patterns=50, pattern_chars=1_000, pattern_bytes=500_000
)
"""For schemas that came over a wire."""


# -- dialects --------------------------------------------------------------------------------------------------------

_HERE: Final = "here"  # judged against the value itself
_THERE: Final = "there"  # judged against a part of it
_ASIDE: Final = "aside"  # judged only where something refers to it

_SHARED: Final = {
    "allOf": _HERE,
    "anyOf": _HERE,
    "oneOf": _HERE,
    "not": _HERE,
    "if": _HERE,
    "then": _HERE,
    "else": _HERE,
    "properties": _THERE,
    "patternProperties": _THERE,
    "additionalProperties": _THERE,
    "propertyNames": _THERE,
    "items": _THERE,
    "contains": _THERE,
    "definitions": _ASIDE,
    "$defs": _ASIDE,
}
_MAPS: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "definitions", "$defs"}
)
# Their subschemas meet different parts of the value, so a way down passes through one of them only.
_APART: Final = frozenset({"properties", "prefixItems"})


@dataclass(frozen=True, slots=True)
class _Dialect:
    name: str
    judge: type[jsonschema_rs.Validator]
    number: int
    applicators: Mapping[str, str]
    references: frozenset[str]
    # draft-07 §8.3: what stands beside a $ref is ignored.
    ref_stands_alone: bool


_DRAFT_2020_12: Final = _Dialect(
    "2020-12",
    jsonschema_rs.Draft202012Validator,
    jsonschema_rs.Draft202012,
    _SHARED
    | {
        "dependentSchemas": _HERE,
        "prefixItems": _THERE,
        "unevaluatedItems": _THERE,
        "unevaluatedProperties": _THERE,
        "contentSchema": _ASIDE,
    },
    frozenset({"$ref", "$dynamicRef"}),
    ref_stands_alone=False,
)
_DRAFT_07: Final = _Dialect(
    "draft-07",
    jsonschema_rs.Draft7Validator,
    jsonschema_rs.Draft7,
    _SHARED | {"dependencies": _HERE, "additionalItems": _THERE},
    frozenset({"$ref"}),
    ref_stands_alone=True,
)
_DIALECTS: Final = {
    "json-schema.org/draft/2020-12/schema": _DRAFT_2020_12,
    "json-schema.org/draft-07/schema": _DRAFT_07,
}
_SUPPORTED: Final = "https://json-schema.org/draft/2020-12/schema, http://json-schema.org/draft-07/schema#"


def _dialect_of(declared: Any) -> _Dialect:
    """The dialect that ``$schema`` names; http or https, with or without the empty fragment."""
    if declared is None:
        return _DRAFT_2020_12
    text = declared if isinstance(declared, str) else _kind(declared)
    found = _DIALECTS.get(re.sub(r"^https?://|#$", "", text))
    if found is None:
        _refuse("TW3103", dialect=_printable(text), supported=_SUPPORTED)
    return found


def _refuse(code: str, **facts: Any) -> NoReturn:
    raise SchemaError.of(code, **facts)


# -- the survey ------------------------------------------------------------------------------------------------------


def _private_copy(definition: Any, bounds: Bounds) -> Node:
    """The schema as plain JSON, every object one of our own; refuses what is too deep, too large or not JSON."""
    if not isinstance(definition, Mapping):
        _refuse("TW3101", kind=_kind(definition))
    left = bounds.nodes

    def copy(value: Any, path: Path) -> Any:
        kind = cast("type[Any]", type(value))
        if kind is str or kind is bool or kind is int or value is None:
            return value
        if isinstance(value, Mapping):
            check(path, len(cast("Mapping[str, Any]", value)))
            return {name(key, path): copy(item, (*path, key)) for key, item in cast("Mapping[str, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            check(path, len(cast("Sequence[Any]", value)))
            return [copy(item, (*path, index)) for index, item in enumerate(cast("Sequence[Any]", value))]
        return _plain_scalar(value, path)

    def check(path: Path, size: int) -> None:
        nonlocal left
        left -= size
        if len(path) > bounds.depth:
            _refuse("TW3108", limit=bounds.depth)
        if left < 0:
            _refuse("TW3109", limit=bounds.nodes)

    def name(key: Any, path: Path) -> str:
        if not isinstance(key, str):
            _refuse("TW3102", path=_json_path(path), kind=f"a key of type {type(key).__name__}")
        return str(key)

    return cast("Node", copy(definition, ()))


def _plain_scalar(value: Any, path: Path) -> Any:
    """Floats that JSON has, and the plain value of enumeration members and other subclasses."""
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    return _refuse("TW3102", path=_json_path(path), kind=_kind(value))


class _Place(NamedTuple):
    """A subschema and where it stands in the document."""

    path: Path
    node: Any


@dataclass(frozen=True, slots=True)
class _Resource:
    """The document, or a part of it with an ``$id`` of its own: what ``#/…`` and ``#name`` are relative to."""

    base: str
    root: _Place


class _Reference(NamedTuple):
    place: _Place
    resource: _Resource
    keyword: str
    text: str


_BASE: Final = "https://toolwright.invalid/schema"


class _Survey:
    """Reads a schema once: finds its references and patterns, and what one value could cost.

    ``targets`` maps the ``id()`` of a subschema to the places its references lead to.
    """

    def __init__(self, root: Node, dialect: _Dialect, bounds: Bounds) -> None:
        self.dialect = dialect
        self.bounds = bounds
        self.targets: dict[int, list[_Place]] = {}
        self.references: list[_Reference] = []
        self.patterns = 0
        self.resources: dict[str, _Resource] = {}
        self.anchors: dict[tuple[str, str], _Place] = {}
        self.dynamic: dict[str, list[_Place]] = {}
        self.seen: set[int] = set()
        self.weights: dict[int, int] = {}
        self.root = _Place((), root)

    def run(self) -> dict[int, list[_Place]]:
        """Where the references lead. Raises SchemaError for one that leads out, nowhere, in circles or to too much."""
        document = _Resource(_BASE, self.root)
        self.resources[""] = self.resources[_BASE] = document
        self.read(self.root, document)
        if self.references:
            self.resolve_all()
            done: set[int] = set()
            for reference in self.references:
                self.refuse_circles(reference, reference.place.node, [], done)
            self.weigh(self.root.node, 0)
        return self.targets

    def read(self, place: _Place, resource: _Resource) -> None:
        """Collects what stands at ``place`` and below; cheap, since every schema at start passes here."""
        path, node = place
        self.seen.add(id(node))
        if "$id" in node or "$anchor" in node or "$dynamicAnchor" in node:
            resource = self.identify(place, resource)
        applicators = self.dialect.applicators
        references = self.dialect.references
        for keyword, value in node.items():
            if keyword in applicators:
                if keyword == "patternProperties" and isinstance(value, dict):
                    for pattern in cast("Node", value):
                        self.count_pattern(pattern, path)
                for step, child in _subschemas(keyword, value):
                    if child.__class__ is dict:
                        self.read(_Place((*path, *step), child), resource)
            elif keyword == "pattern":
                self.count_pattern(value, path)
            elif keyword in references and isinstance(value, str):
                self.count_reference(_Reference(place, resource, keyword, value))
            elif keyword == "$schema" and path and _dialect_of(value) is not self.dialect:
                _refuse("TW3115", path=_json_path(path), dialect=_printable(str(value)), outer=self.dialect.name)

    def count_pattern(self, pattern: Any, path: Path) -> None:
        self.patterns += 1
        if self.patterns > self.bounds.patterns:
            _refuse("TW3112", limit=self.bounds.patterns)
        if isinstance(pattern, str) and len(pattern) > self.bounds.pattern_chars:
            _refuse("TW3113", path=_json_path(path), limit=self.bounds.pattern_chars)

    def count_reference(self, reference: _Reference) -> None:
        self.references.append(reference)
        if len(self.references) > self.bounds.refs:
            _refuse("TW3110", limit=self.bounds.refs)

    def identify(self, place: _Place, resource: _Resource) -> _Resource:
        """Notes the names that ``place`` has; the resource that it and its subschemas belong to."""
        node = cast("Node", place.node)
        name = node.get("$id")
        if isinstance(name, str) and not (self.dialect.ref_stands_alone and "$ref" in node):
            if name.startswith("#"):  # draft-07 §8.2.3: an $id that is a fragment is what 2020-12 calls an anchor
                self.anchors[resource.base, name[1:]] = place
            else:
                resource = _Resource(_absolute(resource.base, name).removesuffix("#"), place)
                self.resources[resource.base] = resource
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = node.get(keyword)
            if isinstance(anchor, str) and not self.dialect.ref_stands_alone:
                self.anchors[resource.base, anchor] = place
                if keyword == "$dynamicAnchor":
                    self.dynamic.setdefault(anchor, []).append(place)
        return resource

    def resolve_all(self) -> None:
        # By index: a target in an unknown keyword is read on arrival and may bring further references.
        for index in range(self.bounds.refs + 1):
            if index == len(self.references):
                return
            reference = self.references[index]
            found = self.targets.setdefault(id(reference.place.node), [])
            found.append(self.resolve(reference))
            if reference.keyword == "$dynamicRef":
                name = reference.text.partition("#")[2]
                found.extend(place for place in self.dynamic.get(name, ()) if place not in found)

    def resolve(self, reference: _Reference) -> _Place:
        """The place that a reference names, in this document; SchemaError otherwise."""
        where, _, fragment = _absolute(reference.resource.base, reference.text).partition("#")
        resource = self.resources.get(where)
        if resource is None:
            _refuse("TW3105", ref=_printable(reference.text), path=_json_path(reference.place.path))
        if fragment and not fragment.startswith("/"):
            found = self.anchors.get((resource.base, unquote(fragment)))
        else:
            found = _point(resource.root, unquote(fragment))
        if found is None or found.node.__class__ not in (dict, bool):
            _refuse("TW3106", ref=_printable(reference.text), path=_json_path(reference.place.path))
        if found.node.__class__ is dict and id(found.node) not in self.seen:
            self.read(found, resource)
        return found

    def applied(self, node: Node, where: frozenset[str]) -> Iterator[tuple[str, list[Any]]]:
        """The subschemas that ``node`` applies, by keyword; those of its references under ``$ref``."""
        targets = self.targets.get(id(node))
        if targets:
            yield "$ref", [place.node for place in targets]
            if self.dialect.ref_stands_alone:
                return
        for keyword, value in node.items():
            if self.dialect.applicators.get(keyword) in where:
                yield keyword, [child for _, child in _subschemas(keyword, value)]

    def refuse_circles(self, start: _Reference, node: Any, active: list[int], done: set[int]) -> None:
        """Follows what judges the same value as the reference ``start``: coming back would never end."""
        if isinstance(node, bool) or id(node) in done:
            return
        if id(node) in active:
            _refuse("TW3107", ref=_printable(start.text), path=_json_path(start.place.path))
        if len(active) > self.bounds.chain:
            _refuse("TW3111", limit=self.bounds.chain)
        active.append(id(node))
        for _, children in self.applied(node, _IN_PLACE):
            for child in children:
                self.refuse_circles(start, child, active, done)
        active.pop()
        done.add(id(node))

    def weigh(self, node: Any, chain: int) -> int:
        """How many subschemas judge the parts along one way down through a value, at the most.

        A schema that contains itself counts once: ``jsonschema_rs`` remembers what it judged on such a circle, so its
        cost grows with the value only.
        """
        if isinstance(node, bool):
            return 1
        known = self.weights.get(id(node))
        if known is not None:
            return known
        if chain > self.bounds.chain:
            _refuse("TW3111", limit=self.bounds.chain)
        self.weights[id(node)] = 0
        total = 1
        for keyword, children in self.applied(node, _ANYWHERE):
            costs = [self.weigh(child, chain + 1) for child in children]
            total += max(costs, default=0) if keyword in _APART else sum(costs)
        if total > self.bounds.expansion:
            _refuse("TW3114", limit=self.bounds.expansion)
        self.weights[id(node)] = total
        return total


_IN_PLACE: Final = frozenset({_HERE})
_ANYWHERE: Final = frozenset({_HERE, _THERE})


def _subschemas(keyword: str, value: Any) -> Iterator[tuple[Path, Any]]:
    """The subschemas in a keyword's value, with the steps to them. What is no schema is left to the meta-schema."""
    if keyword in _MAPS:
        for name, child in cast("Node", value).items() if isinstance(value, dict) else ():
            if isinstance(child, (dict, bool)):
                yield (keyword, name), child
    elif isinstance(value, list):
        for index, child in enumerate(cast("list[Any]", value)):
            if isinstance(child, (dict, bool)):
                yield (keyword, index), child
    elif isinstance(value, (dict, bool)):
        yield (keyword,), value


def _absolute(base: str, reference: str) -> str:
    """``urljoin``, which also knows that a fragment alone stays in its document, whatever the scheme."""
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:  # a broken address, such as "http://["
        return reference


def _point(start: _Place, pointer: str) -> _Place | None:
    """What a JSON pointer leads to from ``start``; None when it leads nowhere."""
    path, node = start
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and step in node:
            path, node = (*path, step), cast("Node", node)[step]
        elif isinstance(node, list) and step.isdecimal() and int(step) < len(cast("list[Any]", node)):
            path, node = (*path, int(step)), cast("list[Any]", node)[int(step)]
        else:
            return None
    return _Place(path, node)


# -- compiling -------------------------------------------------------------------------------------------------------


def compile_schema(definition: Mapping[str, Any], *, bounds: Bounds = FOREIGN, assert_formats: bool = True) -> Schema:
    """The schema, ready to judge. Raises SchemaError, which says what is wrong and where, and nothing else.

    Fetches nothing. ``bounds`` is ``FOREIGN`` unless the author of the program wrote the schema (``OWN``).
    """
    root = _private_copy(definition, bounds)
    dialect = _dialect_of(root.get("$schema"))
    targets = _Survey(root, dialect, bounds).run()
    settings: dict[str, Any] = {
        "validate_formats": assert_formats,
        "offline": True,
        "pattern_options": jsonschema_rs.RegexOptions(size_limit=bounds.pattern_bytes),
    }
    judge = _compile(root, dialect, settings, bounds)
    return Schema(root, dialect.name, judge.is_valid, _Atlas(root, dialect, settings, targets, {(): judge.is_valid}))


def _compile(root: Node, dialect: _Dialect, settings: dict[str, Any], bounds: Bounds) -> jsonschema_rs.Validator:
    """Compiles with the linear engine; for patterns beyond it, with the bounded one where the bounds allow."""
    try:
        return dialect.judge(root, **settings)
    except jsonschema_rs.ValidationError as error:
        if not (bounds.backtracks and _is_about_a_pattern(error)):
            _refuse_as(error, dialect)
    except ValueError as error:  # lone surrogates, numbers beyond all limits
        _refuse("TW3116", problem=_printable(str(error)))
    settings["pattern_options"] = jsonschema_rs.FancyRegexOptions(
        backtrack_limit=bounds.backtracks, size_limit=bounds.pattern_bytes
    )
    try:
        return dialect.judge(root, **settings)
    except jsonschema_rs.ValidationError as error:
        _refuse_as(error, dialect)


def _is_about_a_pattern(error: jsonschema_rs.ValidationError) -> bool:
    match error.kind:
        case jsonschema_rs.ValidationErrorKind.Format(format="regex"):
            return True
        case jsonschema_rs.ValidationErrorKind.Pattern():
            return True
        case _:
            return False


def _refuse_as(error: jsonschema_rs.ValidationError, dialect: _Dialect) -> NoReturn:
    path = tuple(error.instance_path)
    if _is_about_a_pattern(error):
        _refuse("TW3117", path=_json_path(path))
    _refuse("TW3104", dialect=dialect.name, path=_json_path(path), problem=_mistake(error, path))


_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


def _mistake(error: jsonschema_rs.ValidationError, path: Path) -> str:
    """What the meta-schema has against the schema, in one line."""
    if path[-1:] == ("type",):
        return f"type is one of {', '.join(_TYPES)}, or a list of them"
    return _printable(error.message.partition("\n")[0])


# -- the schema ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Atlas:
    """What the search for problems needs: the document, its references, and a judge for each place, made on demand."""

    root: Node
    dialect: _Dialect
    settings: dict[str, Any]
    targets: dict[int, list[_Place]]
    judges: dict[Path, Callable[[Any], bool] | None]
    lots: dict[Path, Callable[[Any], bool] | None] = field(default_factory=dict[Path, Callable[[Any], bool] | None])
    registry: jsonschema_rs.Registry | None = None

    def fits(self, place: _Place, value: Any) -> bool:
        """Whether ``value`` fits the subschema at ``place``; also True when the judge cannot say."""
        if isinstance(place.node, bool):
            return place.node
        if place.path not in self.judges:
            self.judges[place.path] = self.judge_of(place.path)
        judge = self.judges[place.path]
        try:
            return judge is None or judge(value)
        except ValueError:  # not JSON
            return False

    def all_fit(self, place: _Place, values: list[Any]) -> bool:
        """Whether each of ``values`` fits the subschema at ``place``; False when the judge cannot say."""
        if place.path not in self.lots:
            self.lots[place.path] = self.judge_of(place.path, lambda reference: {"items": reference})
        judge = self.lots[place.path]
        return judge is not None and judge(values)

    def judge_of(self, path: Path, around: Callable[[Node], Node] = lambda node: node) -> Callable[[Any], bool] | None:
        name = self.root.get("$id")
        base = _absolute(_BASE, name).removesuffix("#") if isinstance(name, str) else _BASE
        try:
            if self.registry is None:
                self.registry = jsonschema_rs.Registry([(base, self.root)], draft=self.dialect.number)
            rule = around({"$ref": f"{base}#{_pointer(path)}"})
            return self.dialect.judge(rule, registry=self.registry, **self.settings).is_valid
        except (ValueError, jsonschema_rs.ReferencingError):
            return None  # across a nested $id the pointer may not resolve: then the outer problem is named

    def reach(self, node: Any) -> int:
        """How many JSON values a judge for ``node`` is made of, references included."""
        seen: set[int] = set()
        count, rest = 0, [node]
        while rest:
            node = rest.pop()
            count += 1
            if isinstance(node, (dict, list)) and id(cast("object", node)) not in seen:
                seen.add(id(cast("object", node)))
                rest.extend(cast("Node", node).values() if isinstance(node, dict) else cast("list[Any]", node))
                rest.extend(place.node for place in self.targets.get(id(cast("object", node)), ()))
        return count

    def matcher(self, patterns: Iterable[str]) -> Callable[[str], bool]:
        """Whether a property name matches one of ``patterns``."""
        rule = {"patternProperties": dict.fromkeys(patterns, False)}
        judge = self.dialect.judge(rule, **self.settings)
        return lambda name: not judge.is_valid({name: None})

    def refuses(self, rule: Node, value: Any) -> bool:
        """Whether a few keywords alone refuse ``value``."""
        try:
            return not self.dialect.judge(rule, **self.settings).is_valid(value)
        except ValueError:
            return False


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A compiled schema. ``definition`` is what is published; it is not to be changed.

    Values nested deeper than about 100 levels must not come here, since the judge recurses natively: the decoder that
    made the value guards that.
    """

    definition: dict[str, Any]
    dialect: str
    _is_valid: Callable[[Any], bool] = field(repr=False)
    _atlas: _Atlas = field(repr=False)

    def accepts(self, value: Any) -> bool:
        """Whether ``value`` fits. What is not JSON (bytes, sets, lone surrogates) fits nothing."""
        try:
            return self._is_valid(value)
        except ValueError:
            return False

    def problems(self, value: Any, limit: int = 8) -> tuple[Problem, ...]:
        """Why ``value`` does not fit: at least one problem, at most ``limit``; none when it fits.

        Takes bounded work. Says nothing of the strings in ``value``; its property names appear in paths, cut and clean.
        """
        try:
            if self._is_valid(value):
                return ()
        except ValueError:
            return (Problem("$", "json", "must be JSON"),)
        search = _Search(self._atlas)
        found = search.below(_Place((), self.definition), value, ())
        return tuple(islice(_distinct(found), max(1, limit)))


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a value was refused, in words for a model that has to correct itself.

    ``path`` is a JSON path (``$.a[0].b``), ``rule`` the keyword that refused, ``expected`` completes "the value …".
    ``allowed`` and ``nearest`` are JSON texts or, for property names, the names; all come from the schema.
    """

    path: str
    rule: str
    expected: str
    got: str = ""
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    hint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For structured use: the parts that say something."""
        parts = {
            "path": self.path,
            "rule": self.rule,
            "expected": self.expected,
            "got": self.got,
            "allowed": list(self.allowed[:100]),
            "nearest": self.nearest,
            "hint": self.hint,
        }
        return {name: part for name, part in parts.items() if part}

    def __str__(self) -> str:
        got = f", not {self.got}" if self.got else ""
        allowed = f" {_list(self.allowed)}" if self.allowed else ""
        nearest = f"; nearest: {self.nearest}" if self.nearest is not None else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.path} {self.expected}{allowed}{got}{nearest}{hint}"


def explain(problems: Sequence[Problem], limit_chars: int = 2_000) -> str:
    """The problems as lines, at most ``limit_chars`` long; whole problems are left out, and it says how many."""
    lines = [f"- {problem}" for problem in problems]
    for kept in range(len(lines), -1, -1):
        rest = len(lines) - kept
        text = "\n".join([*lines[:kept], *([f"- and {rest} more"] if rest else [])])
        if len(text) <= limit_chars:
            return text
    return ""


# -- the search for what is wrong ------------------------------------------------------------------------------------

_WORK: Final = 100_000
_A_PLACE: Final = 40  # about what a visit costs, counted in single verdicts
_PER_BRANCH: Final = 8
_LOT: Final = 1_000
_DEEPEST: Final = 60  # subschemas within each other; each takes about five frames of the interpreter's stack


def _distinct(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Each once: allOf and references often say the same twice."""
    seen: set[Problem] = set()
    for problem in problems:
        if problem not in seen:
            seen.add(problem)
            yield problem


class _Search:
    """Walks down where the judge refuses, for as long as ``work`` lasts.

    Not ``iter_errors``: that collects every error before it yields the first, and for nested ``anyOf`` there are
    exponentially many.
    """

    def __init__(self, atlas: _Atlas, work: int = _WORK) -> None:
        self.atlas = atlas
        self.work = work
        self.depth = 0
        self.floor: int = sys.maxsize  # parts of the value below this level are not looked into

    def below(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        """What is wrong with ``value``, which ``place`` refuses: at least one problem, if only a plain one."""
        self.work -= _A_PLACE
        if isinstance(place.node, bool):
            yield Problem(_json_path(at), "false", "is not allowed here")
            return
        found = False
        self.depth += 1
        try:
            for problem in self.keywords(place, value, at) if self.may_descend(at) else ():
                found = True
                yield problem
        finally:
            self.depth -= 1
        if not found:
            yield Problem(_json_path(at), "schema", "does not fit the schema", _got(value))

    def fits(self, place: _Place, value: Any) -> bool:
        """Whether ``value`` fits ``place``; also True, and not to be relied on, when the work is spent."""
        self.pay_for_judge(self.atlas.judges, place)
        return self.work <= 0 or self.atlas.fits(place, value)

    def all_fit(self, place: _Place, values: list[Any]) -> bool:
        self.pay_for_judge(self.atlas.lots, place)
        return self.work <= 0 or self.atlas.all_fit(place, values)

    def pay_for_judge(self, judges: Mapping[Path, object], place: _Place) -> None:
        """A judge that has to be made first costs as much as the subschema is large."""
        self.work -= 1 if place.path in judges else self.atlas.reach(place.node)

    def may_descend(self, at: Path) -> bool:
        return self.work > 0 and self.depth < _DEEPEST and len(at) <= self.floor

    def into(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        """What is wrong with ``value`` if ``place`` refuses it."""
        if not self.fits(place, value):
            yield from self.below(place, value, at)

    def keywords(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        node = cast("Node", place.node)
        targets = self.atlas.targets.get(id(node), ())
        for target in targets:
            yield from self.into(target, value, at)
        if targets and self.atlas.dialect.ref_stands_alone:
            return
        for rule, words in _ASSERTIONS.items():
            if rule in node and self.atlas.refuses({rule: node[rule]}, value):
                yield self.checked(place, words(rule, node, value, _json_path(at)), value)
                if rule in _DECISIVE:
                    return
        for rule, search in _SEARCHES.items():
            if rule in node:
                yield from search(self, place, value, at)

    def checked(self, place: _Place, draft: _Draft, value: Any) -> Problem:
        """The problem, naming its nearest value only when the judge accepts that."""
        if draft.nearest is not _NONE and self.fits(place, draft.nearest) and self.work > 0:
            return replace(draft.problem, nearest=_json(draft.nearest))
        return draft.problem

    def branches(self, place: _Place, rule: str) -> list[_Place]:
        return [_Place((*place.path, *step), child) for step, child in _subschemas(rule, place.node[rule])]

    def all_of(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        for branch in self.branches(place, "allOf"):
            yield from self.into(branch, value, at)

    def any_of(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        branches = self.branches(place, "anyOf")
        if not any(self.fits(branch, value) for branch in branches):
            yield from self.closest(branches, value, at)

    def one_of(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        branches = self.branches(place, "oneOf")
        fitting = sum(self.fits(branch, value) for branch in branches)
        if fitting == 0:
            yield from self.closest(branches, value, at)
        elif fitting > 1 and self.work > 0:
            yield Problem(
                _json_path(at), "oneOf", f"must fit exactly one of {len(branches)} forms", f"{fitting} at the same time"
            )

    def closest(self, branches: list[_Place], value: Any, at: Path) -> Iterator[Problem]:
        """The problems of the branch that the value was most likely meant for."""
        each = self.glance(branches, value, at)
        common = _one_choice(each)
        if common is not None:
            yield common
            return
        here = _json_path(at)
        best = min(range(len(each)), key=lambda index: _distance(each[index], here))
        first, *others = islice(self.below(branches[best], value, at), _PER_BRANCH)
        yield first if first.hint else replace(first, hint=f"closest of {len(branches)} forms")
        yield from others

    def glance(self, branches: list[_Place], value: Any, at: Path) -> list[list[Problem]]:
        """The problems of each branch with the value and its parts, no deeper: recursive forms would multiply."""
        floor = self.floor
        self.floor = min(floor, len(at) + 1)
        try:
            return [list(islice(self.below(branch, value, at), _PER_BRANCH)) for branch in branches]
        finally:
            self.floor = floor

    def excluded(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        inner = _Place((*place.path, "not"), place.node["not"])
        if self.fits(inner, value) and self.work > 0:
            yield Problem(_json_path(at), "not", f"must not be {_described(inner.node) or 'of the excluded form'}")

    def conditional(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        rule = "then" if self.fits(_Place((*place.path, "if"), place.node["if"]), value) else "else"
        if rule in place.node:
            yield from self.into(_Place((*place.path, rule), place.node[rule]), value, at)

    def required(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        for name in _missing(place.node["required"], value):
            yield self.absent(place, name, at, "")

    def dependent(self, rule: str, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        """Properties that the presence of another one asks for: names, or a schema."""
        for trigger, needs in _items(place.node[rule]):
            if not isinstance(value, dict) or trigger not in value:
                continue
            if isinstance(needs, list):
                for name in _missing(needs, cast("Node", value)):
                    yield self.absent(place, name, at, f"because {_printable(trigger, 40)} is given")
            elif isinstance(needs, (dict, bool)):
                yield from self.into(_Place((*place.path, rule, trigger), needs), cast("Node", value), at)

    def absent(self, place: _Place, name: str, at: Path, why: str) -> Problem:
        node = self.atlas_node(place.node.get("properties"), name)
        kind = _described(node)
        words = " ".join(text for text in ("is required", why) if text) + (f": {kind}" if kind else "")
        purpose = _first_words(node)
        return Problem(_json_path((*at, name)), "required", words, hint=f"it means: {purpose}" if purpose else "")

    def atlas_node(self, properties: Any, name: str) -> Any:
        """The subschema of a property, references followed as far as they say nothing themselves."""
        node = cast("Node", properties).get(name) if isinstance(properties, dict) else None
        for _ in range(8):
            targets = self.atlas.targets.get(id(node))
            if not targets or _described(node):
                break
            own = cast("Node", node)
            node = targets[0].node
            if "description" in own and isinstance(node, dict):
                return cast("Node", node) | {"description": own["description"]}
        return node

    def properties(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        if isinstance(value, dict):
            for name, child in _items(place.node["properties"]):
                if name in value:
                    part = cast("Node", value)[name]
                    yield from self.into(_Place((*place.path, "properties", name), child), part, (*at, name))

    def pattern_properties(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        for pattern, child in _items(place.node["patternProperties"]):
            matches = self.atlas.matcher([pattern])
            branch = _Place((*place.path, "patternProperties", pattern), child)
            for name, part in self.parts(value):
                if matches(name):
                    yield from self.into(branch, part, (*at, name))

    def parts(self, value: Any) -> Iterator[tuple[str, Any]]:
        """The properties of ``value``, as long as the work lasts."""
        for name, part in _items(value):
            self.work -= 1
            if self.work <= 0:
                return
            yield name, part

    def additional_properties(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        yield from self.unknown("additionalProperties", _names(place.node), place, value, at)

    def unevaluated_properties(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        known = list(dict.fromkeys(self.names_in(place.node, 8)))
        yield from self.unknown("unevaluatedProperties", known, place, value, at)

    def names_in(self, node: Any, depth: int) -> Iterator[str]:
        """The property names that ``node`` and what it applies in place know of."""
        if not isinstance(node, dict) or depth == 0 or self.work <= 0:
            return
        self.work -= 1
        node = cast("Node", node)
        yield from _names(node)
        for target in self.atlas.targets.get(id(node), ()):
            yield from self.names_in(target.node, depth - 1)
        for rule, value in node.items():
            if self.atlas.dialect.applicators.get(rule) == _HERE and rule != "not":
                for _, child in _subschemas(rule, value):
                    yield from self.names_in(child, depth - 1)

    def unknown(self, rule: str, known: list[str], place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        """The properties of ``value`` that are left to ``rule``: forbidden, or of a form."""
        matches = self.atlas.matcher(name for name, _ in _items(place.node.get("patternProperties")))
        child = _Place((*place.path, rule), place.node[rule])
        names = frozenset(known)
        for name, part in self.parts(value):
            if name in names or matches(name):
                continue
            if child.node is False:
                yield _unknown_property(rule, name, known, at)
            else:
                yield from self.into(child, part, (*at, name))

    def property_names(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        child = _Place((*place.path, "propertyNames"), place.node["propertyNames"])
        for name, _ in self.parts(value):
            for problem in self.into(child, name, (*at, name)):
                yield replace(problem, rule="propertyNames", expected=f"has a name that {problem.expected}")

    def items(self, rule: str, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        """The items of an array: one schema for each position, or one for all the rest."""
        if not isinstance(value, list):
            return
        children = self.branches(place, rule)
        if isinstance(place.node[rule], list):
            for index, (child, part) in enumerate(zip(children, cast("list[Any]", value), strict=False)):
                yield from self.into(child, part, (*at, index))
        else:
            yield from self.rest(children[0], cast("list[Any]", value), _listed_before(place.node, rule), at)

    def rest(self, place: _Place, value: list[Any], start: int, at: Path) -> Iterator[Problem]:
        """The items from ``start`` on, which share a schema; judged in lots, so the one bad row of many is found."""
        for begin in range(start, len(value), _LOT):
            lot = value[begin : begin + _LOT]
            self.work -= _A_PLACE
            if self.work <= 0:
                return
            if not self.all_fit(place, lot):
                for index, part in enumerate(lot, begin):
                    yield from self.into(place, part, (*at, index))

    def contains(self, place: _Place, value: Any, at: Path) -> Iterator[Problem]:
        """Too few or too many items of a form."""
        if not isinstance(value, list):
            return
        self.work -= len(cast("list[Any]", value))
        if self.work <= 0:
            return
        form = _Place((*place.path, "contains"), place.node["contains"])
        matching = sum(self.fits(form, part) for part in cast("list[Any]", value))
        least, most = place.node.get("minContains", 1), place.node.get("maxContains", math.inf)
        if self.work > 0 and not least <= matching <= most:
            words, count = ("at least", least) if matching < least else ("at most", most)
            items = f"{words} {_number(count)} {'item' if count == 1 else 'items'}"
            kind = _described(form.node)
            expected = f"must hold {items} of {f'this kind: {kind}' if kind else 'the required form'}"
            yield Problem(_json_path(at), "contains", expected, str(matching))


_Finder = Callable[[_Search, _Place, Any, Path], Iterator[Problem]]


def _ruled(method: Callable[[_Search, str, _Place, Any, Path], Iterator[Problem]], rule: str) -> _Finder:
    return lambda search, place, value, at: method(search, rule, place, value, at)


_SEARCHES: Final[dict[str, _Finder]] = {
    "required": _Search.required,
    "additionalProperties": _Search.additional_properties,
    "properties": _Search.properties,
    "patternProperties": _Search.pattern_properties,
    "propertyNames": _Search.property_names,
    "dependentRequired": _ruled(_Search.dependent, "dependentRequired"),
    "dependentSchemas": _ruled(_Search.dependent, "dependentSchemas"),
    "dependencies": _ruled(_Search.dependent, "dependencies"),
    "prefixItems": _ruled(_Search.items, "prefixItems"),
    "items": _ruled(_Search.items, "items"),
    "additionalItems": _ruled(_Search.items, "additionalItems"),
    "contains": _Search.contains,
    "allOf": _Search.all_of,
    "anyOf": _Search.any_of,
    "oneOf": _Search.one_of,
    "if": _Search.conditional,
    "not": _Search.excluded,
    "unevaluatedProperties": _Search.unevaluated_properties,
}


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    return cast("Node", value).items() if isinstance(value, dict) else ()


def _names(node: Node) -> list[str]:
    return [name for name, _ in _items(node.get("properties"))]


def _missing(names: Any, value: Any) -> list[str]:
    if not isinstance(value, dict) or not isinstance(names, list):
        return []
    return [name for name in cast("list[str]", names) if name not in value]


def _listed_before(node: Node, rule: str) -> int:
    """How many items other keywords judge one by one before ``rule`` takes the rest."""
    before = node.get("items" if rule == "additionalItems" else "prefixItems")
    return len(cast("list[Any]", before)) if isinstance(before, list) else 0


def _unknown_property(rule: str, name: str, known: list[str], at: Path) -> Problem:
    near = _nearest_text(name, known)
    return Problem(
        _json_path((*at, name)),
        rule,
        "is an unknown property" + ("; known:" if known else ""),
        allowed=tuple(_printable(each, 40) for each in known),
        nearest=None if near is None else _printable(near, 40),
    )


def _one_choice(branches: list[list[Problem]]) -> Problem | None:
    """All branches as one sentence, where they want different types, or different values of the same part."""
    firsts = [problems[0] for problems in branches if len(problems) == 1]
    same_part = len(firsts) == len(branches) and len({problem.path for problem in firsts}) == 1
    if same_part and all(problem.rule == "type" for problem in firsts):
        kinds = dict.fromkeys(problem.expected.removeprefix("must be ") for problem in firsts)
        return replace(firsts[0], expected=f"must be {' or '.join(kinds)}")
    choices = [{problem.path: problem for problem in problems if problem.rule in _CHOICES} for problems in branches]
    shared = [path for path in choices[0] if all(path in choice for choice in choices)]
    return _merged([choice[shared[0]] for choice in choices]) if shared else None


def _merged(choices: list[Problem]) -> Problem:
    """Several enum or const of one part as a single enum: a form's tag, mostly."""
    allowed = tuple(dict.fromkeys(value for problem in choices for value in problem.allowed))
    near = next((problem.nearest for problem in choices if problem.nearest is not None), None)
    return replace(choices[0], rule="enum", expected="must be one of", allowed=allowed, nearest=near)


_CHOICES: Final = frozenset({"enum", "const"})


def _distance(problems: list[Problem], here: str) -> int:
    """How far a value is from a branch: the wrong type at once is far, a wrong discriminator further than a slip."""
    return sum(_FAR.get(problem.rule, 1) * (10 if problem.path == here else 1) for problem in problems)


_FAR: Final = {"type": 10, "const": 20, "enum": 5, "false": 20}


# -- the words -------------------------------------------------------------------------------------------------------


class _Draft(NamedTuple):
    problem: Problem
    nearest: Any


_NONE: Final = object()
_Words = Callable[[str, Node, Any, str], _Draft]


def _type(rule: str, node: Node, value: Any, path: str) -> _Draft:
    kinds = cast("list[str]", node[rule] if isinstance(node[rule], list) else [node[rule]])
    expected = "must be " + " or ".join(_ARTICLE.get(kind, kind) for kind in kinds)
    nearest = round(value) if "integer" in kinds and _is_modest(value) else _NONE
    return _Draft(Problem(path, rule, expected, _got(value), hint=_repair(kinds, value)), nearest)


def _choice(rule: str, node: Node, value: Any, path: str) -> _Draft:
    options = cast("list[Any]", node[rule] if rule == "enum" else [node[rule]])
    expected = "must be one of" if len(options) > 1 else "must be"
    allowed = tuple(_json(option) for option in options)
    return _Draft(Problem(path, rule, expected, allowed=allowed), _nearest_option(value, options))


def _bound(words: str, step: int) -> _Words:
    """For limits of numbers: ``step`` is what an integer has to keep from the limit."""

    def draft(rule: str, node: Node, value: Any, path: str) -> _Draft:
        limit = node[rule]
        whole = node.get("type") == "integer"
        nearest = (limit + step if limit == int(limit) else _rounded(rule, limit)) if whole else limit
        return _Draft(Problem(path, rule, f"must be {words} {_number(limit)}", _number(value)), nearest)

    return draft


def _rounded(rule: str, limit: Any) -> int:
    return math.ceil(limit) if "inimum" in rule else math.floor(limit)


def _multiple(rule: str, node: Node, value: Any, path: str) -> _Draft:
    factor = node[rule]
    whole = isinstance(factor, int) and _is_modest(factor) and _is_modest(value)
    nearest = round(value / factor) * factor if whole else _NONE
    return _Draft(Problem(path, rule, f"must be a multiple of {_number(factor)}", _number(value)), nearest)


def _size(words: str, unit: str) -> _Words:
    def draft(rule: str, node: Node, value: Any, path: str) -> _Draft:
        limit = node[rule]
        expected = f"must have {words} {_number(limit)} {unit if limit != 1 else _SINGULAR[unit]}"
        return _Draft(Problem(path, rule, expected, str(len(value))), _NONE)

    return draft


def _fixed(expected: str) -> _Words:
    return lambda rule, node, value, path: _Draft(Problem(path, rule, expected), _NONE)


def _matching(rule: str, node: Node, value: Any, path: str) -> _Draft:
    return _Draft(Problem(path, rule, f"must match the pattern {_printable(node[rule], 120)}"), _NONE)


def _formatted(rule: str, node: Node, value: Any, path: str) -> _Draft:
    name = _printable(node[rule], 40)
    example = _EXAMPLES.get(name)
    return _Draft(
        Problem(path, rule, f"must be in the format {name}", hint=f"for example {example}" if example else ""), _NONE
    )


_ASSERTIONS: Final[dict[str, _Words]] = {
    "type": _type,
    "const": _choice,
    "enum": _choice,
    "minimum": _bound("at least", 0),
    "maximum": _bound("at most", 0),
    "exclusiveMinimum": _bound("more than", 1),
    "exclusiveMaximum": _bound("less than", -1),
    "multipleOf": _multiple,
    "minLength": _size("at least", "characters"),
    "maxLength": _size("at most", "characters"),
    "pattern": _matching,
    "format": _formatted,
    "minItems": _size("at least", "items"),
    "maxItems": _size("at most", "items"),
    "uniqueItems": _fixed("must not hold the same item twice"),
    "minProperties": _size("at least", "properties"),
    "maxProperties": _size("at most", "properties"),
}
# What fails these is something else altogether: further complaints would mislead.
_DECISIVE: Final = frozenset({"type", "const", "enum"})
_SINGULAR: Final = {"characters": "character", "items": "item", "properties": "property"}
_ARTICLE: Final = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_EXAMPLES: Final = {
    "date": "2026-07-28",
    "date-time": "2026-07-28T09:30:00Z",
    "duration": "PT1H30M",
    "email": "name@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "09:30:00Z",
    "uri": "https://example.org/a",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_modest(value: Any) -> bool:
    """A number that floats hold exactly enough to calculate with."""
    return _is_number(value) and abs(value) < 2**53


def _kind(value: Any) -> str:
    """The JSON type of a value; the Python type's name for what JSON does not have."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number" if math.isfinite(value) else str(value)
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case dict():
            return "object"
        case _:
            return type(value).__name__


def _got(value: Any) -> str:
    kind = _kind(value)
    return _ARTICLE.get(kind, kind)


def _number(value: Any) -> str:
    """A number as text, as long as it is short."""
    if not _is_number(value):
        return _got(value)
    return str(value) if abs(value) < 10**20 else "a huge number"


def _json(value: Any) -> str:
    """A value of the schema as JSON text, cut when long."""
    try:
        return _printable(json.dumps(value, ensure_ascii=False), 80)
    except ValueError:  # numbers with thousands of digits
        return "a huge number"


def _repair(kinds: list[str], value: Any) -> str:
    """What a value of the wrong type was probably meant to be, without repeating it."""
    if isinstance(value, str):
        meant = _meant_by(value)
        if meant in kinds or (meant == "integer" and "number" in kinds):
            return _UNQUOTE[meant]
    if "array" in kinds and not isinstance(value, (list, dict)):
        return "put a single value into an array: [value]"
    if "string" in kinds and _is_number(value):
        return "put it in quotes"
    return ""


_UNQUOTE: Final = {
    "integer": "send the number without quotes",
    "number": "send the number without quotes",
    "boolean": "send true or false without quotes",
    "null": "send null without quotes",
    "array": "send the array itself, not a string that holds JSON",
    "object": "send the object itself, not a string that holds JSON",
}


def _meant_by(text: str) -> str:
    """The JSON type that a short string holds as text; ``string`` when none."""
    first, last = text[:1], text[-1:]
    if (first, last) in (("[", "]"), ("{", "}")):
        return "array" if first == "[" else "object"
    if re.fullmatch(r"-?\d{1,30}(\.\d{1,30})?", text):
        return "number" if "." in text else "integer"
    return {"true": "boolean", "false": "boolean", "null": "null"}.get(text.lower() if len(text) < 6 else "", "string")


def _nearest_option(value: Any, options: list[Any]) -> Any:
    """The option that a value was probably meant to be; ``_NONE`` when none is close."""
    if isinstance(value, str):
        texts = {option if isinstance(option, str) else _json(option): option for option in options[:500]}
        found = _nearest_text(value, list(texts))
        return _NONE if found is None else texts[found]
    numbers = [option for option in options if _is_modest(option)]
    if _is_modest(value) and numbers:
        return min(numbers, key=lambda option: abs(option - value))
    texts = {option for option in options if isinstance(option, str)}
    return str(value) if _is_modest(value) and str(value) in texts else _NONE


def _nearest_text(text: str, options: Sequence[str]) -> str | None:
    """The closest of ``options``, whatever the case; None when none is close. Long texts are not compared."""
    if len(text) > 64:
        return None
    folded = {option[:64].casefold(): option for option in reversed(options[:500])}
    wanted = text.casefold().strip()
    pairs = _pairs(wanted)
    # difflib is exact and slow: it sees the few that share most pairs of letters.
    likely = heapq.nlargest(8, folded, key=lambda option: len(pairs & _pairs(option)) / (len(option) + 1))
    found = difflib.get_close_matches(wanted, likely, n=1, cutoff=0.6)
    return folded[found[0]] if found else None


def _pairs(text: str) -> set[str]:
    """The letters and the pairs of neighbours, with the ends: what a slip mostly leaves as it was."""
    padded = f" {text} "
    return {*padded, *map("".join, pairwise(padded))}


def _described(node: Any) -> str:
    """What a subschema asks for, in a few words; empty when it does not say."""
    if not isinstance(node, dict):
        return ""
    node = cast("Node", node)
    for rule in ("enum", "const"):
        if rule in node:
            options = cast("list[Any]", node[rule] if rule == "enum" else [node[rule]])
            return ("one of " if len(options) > 1 else "") + _list(tuple(_json(option) for option in options[:50]))
    kinds: Any = node.get("type")
    names = cast("list[str]", kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else [])
    return " or ".join(_ARTICLE.get(kind, kind) for kind in names)


def _first_words(node: Any) -> str:
    """The beginning of a subschema's description: its first sentence, where that can be told, of its first line."""
    text = cast("Node", node).get("description") if isinstance(node, dict) else None
    if not isinstance(text, str):
        return ""
    # A sentence ends before a capital letter; "e.g. x" does not.
    return _printable(re.split(r"\.(?=\s+[A-Z]|$)|\n|。", text.strip(), maxsplit=1)[0], 80)


def _list(values: Sequence[str], most: int = 20) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more


def _printable(text: str, most: int = 160) -> str:
    """``text`` on one line without control characters, cut at ``most`` characters."""
    clean = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def _json_path(path: Sequence[str | int]) -> str:
    """``$.a[0]["b c"]``, at most a few hundred characters: the middle of a long path is left out."""
    steps = [_step(step) for step in path]
    if len(steps) > 16:
        steps = [*steps[:8], "…", *steps[-8:]]
    return "$" + "".join(steps)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    text = _printable(step, 40)
    return f".{text}" if re.fullmatch(r"[\w$-]+…?", text) else f"[{json.dumps(text, ensure_ascii=False)}]"


def _pointer(path: Path) -> str:
    """The path as a JSON pointer in a URI fragment."""
    return "".join("/" + quote(str(step).replace("~", "~0").replace("/", "~1"), safe="") for step in path)

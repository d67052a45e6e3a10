"""The survey: examines a schema before compilation, and refuses it if it exceeds its bounds or refers outside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote, urljoin

from tooltrue.protocol.schema.dialects import HERE, THERE, Dialect, dialect_of, refuse, subschemas
from tooltrue.protocol.schema.words import Node, Path, json_path, kind, printable
from tooltrue.protocol.types import Value
from tooltrue.protocol.wording import (
    LABEL_KEY_OF_TYPE,
    SCHEMA_EXTERNAL_REFERENCE,
    SCHEMA_MIXED_DIALECTS,
    SCHEMA_NESTED_TOO_DEEPLY,
    SCHEMA_NOT_OBJECT,
    SCHEMA_PATTERN_TOO_LONG,
    SCHEMA_REFERENCE_CHAIN_TOO_LONG,
    SCHEMA_REFERENCE_CYCLE,
    SCHEMA_REFERENCE_UNRESOLVED,
    SCHEMA_TOO_MANY_PATTERNS,
    SCHEMA_TOO_MANY_REFERENCES,
    SCHEMA_TOO_MANY_VALUES,
    SCHEMA_VALIDATION_TOO_COSTLY,
    SCHEMA_VALUE_NOT_JSON,
)
from tooltrue.wording import Worded


class SchemaBounds(Value, frozen=True):
    """Limits on the cost of a schema. A schema above any of them is refused, never truncated."""

    depth: int = 64
    """JSON nesting levels of the schema itself."""
    nodes: int = 20_000
    """JSON values in the schema."""
    refs: int = 4_000
    chain: int = 200
    """Subschemas on one path downward, with references followed."""
    expansion: int = 100_000
    """Subschemas that may apply to the parts on one path downward through a value. About 10 ns each."""
    patterns: int = 1_000
    pattern_chars: int = 4_000
    pattern_bytes: int = 10_000_000
    """Size of one compiled pattern: matching time is linear in the text times this."""
    backtracks: int = 0
    """Backtracking steps of a pattern with lookaround or backreferences on one text; 0 refuses such patterns."""


OWN: Final = SchemaBounds(backtracks=10_000)
"""For schemas written by the author of the program."""

FOREIGN: Final = SchemaBounds(
    nodes=10_000, refs=1_000, expansion=20_000, patterns=50, pattern_chars=1_000, pattern_bytes=500_000
)
"""For schemas received over the wire."""


def private_copy(definition: Any, bounds: SchemaBounds) -> Node:
    """A copy of the schema as plain JSON in our own objects. Refuses schemas that are too deep, too large or not
    JSON."""
    if not isinstance(definition, Mapping):
        refuse(SCHEMA_NOT_OBJECT, kind=kind(definition))
    remaining = bounds.nodes

    def copy(value: Any, path: Path) -> Any:
        own = cast("type[Any]", type(value))
        if own is str or own is bool or own is int or value is None:
            return value
        if isinstance(value, Mapping):
            pairs = cast("Mapping[str, Any]", value)
            check(path, len(pairs))
            return {_plain_name(key, path): copy(item, (*path, key)) for key, item in pairs.items()}
        if isinstance(value, (list, tuple)):
            items = cast("Sequence[Any]", value)
            check(path, len(items))
            return [copy(item, (*path, index)) for index, item in enumerate(items)]
        return _plain_scalar(value, path)

    def check(path: Path, size: int) -> None:
        nonlocal remaining
        remaining -= size
        if len(path) > bounds.depth:
            refuse(SCHEMA_NESTED_TOO_DEEPLY, limit=bounds.depth)
        if remaining < 0:
            refuse(SCHEMA_TOO_MANY_VALUES, limit=bounds.nodes)

    return copy(definition, ())


def _plain_name(key: Any, path: Path) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return refuse(
        SCHEMA_VALUE_NOT_JSON, path=json_path(path), kind=Worded(LABEL_KEY_OF_TYPE, {"type": type(key).__name__})
    )


def _plain_scalar(value: Any, path: Path) -> Any:
    """A finite float, or the plain value of an enumeration member or another subclass."""
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    return refuse(SCHEMA_VALUE_NOT_JSON, path=json_path(path), kind=kind(value))


class SchemaPlace(NamedTuple):
    """A subschema and its location in the document."""

    path: Path
    node: Any


Targets = dict[int, list[SchemaPlace]]
"""The ``id()`` of a subschema → the targets of its references."""


def survey(root: Node, dialect: Dialect, bounds: SchemaBounds) -> Targets:
    """Resolve the references. SchemaError for one that leads outside, to no target, into a cycle or to too much."""
    collected = _Survey(dialect, bounds)
    start = SchemaPlace((), root)
    document = _SchemaResource(BASE, start)
    collected.resources[""] = collected.resources[BASE] = document
    collected.read(start, document)
    if collected.references:
        for reference in collected.references:  # grows: a target in an unknown keyword is read on arrival
            collected.follow(reference)
        done: set[int] = set()
        for reference in collected.references:
            collected.refuse_circles(reference, reference.place.node, [], done)
        collected.weigh(root, 0)
    return collected.targets


BASE: Final = "https://tooltrue.invalid/schema"


class _SchemaResource(Value, frozen=True):
    """The document, or a part of it with its own ``$id``: the base of ``#/…`` and ``#name``."""

    base: str
    root: SchemaPlace


class _Reference(Value, frozen=True):
    place: SchemaPlace
    resource: _SchemaResource
    keyword: str
    text: str


_REFERENCES: Final = frozenset({"$ref", "$dynamicRef"})
_IN_PLACE: Final = frozenset({HERE})
_ANYWHERE: Final = frozenset({HERE, THERE})
# Their subschemas apply to different parts of the value, so a path downward passes through only one of them.
_APART: Final = frozenset({"properties", "prefixItems"})


class _Survey:
    """Reads a schema once: collects its references and patterns, and computes the cost of one value."""

    def __init__(self, dialect: Dialect, bounds: SchemaBounds) -> None:
        self.dialect = dialect
        self.bounds = bounds
        self.targets: Targets = {}
        self.references: list[_Reference] = []
        self.patterns = 0
        self.resources: dict[str, _SchemaResource] = {}
        self.anchors: dict[tuple[str, str], SchemaPlace] = {}
        self.dynamic: dict[str, list[SchemaPlace]] = {}
        self.visited: set[int] = set()
        self.weights: dict[int, int] = {}

    def read(self, place: SchemaPlace, resource: _SchemaResource) -> None:
        """Collect the content at ``place`` and below. Cheap, because every schema passes here at start."""
        path, node = place
        self.visited.add(id(node))
        if "$id" in node or "$anchor" in node or "$dynamicAnchor" in node:
            resource = self.identify(place, resource)
        applicators = self.dialect.applicators
        for keyword, value in node.items():
            if keyword in applicators:
                if keyword == "patternProperties" and isinstance(value, dict):
                    for pattern in cast("Node", value):
                        self.count_pattern(pattern, path)
                for step, child in subschemas(keyword, value):
                    if child.__class__ is dict:
                        self.read(SchemaPlace((*path, *step), child), resource)
            elif keyword == "pattern":
                self.count_pattern(value, path)
            elif keyword in _REFERENCES and keyword not in self.dialect.ignored and isinstance(value, str):
                self.count_reference(_Reference(place, resource, keyword, value))
            elif keyword == "$schema" and path and dialect_of(value) is not self.dialect:
                refuse(
                    SCHEMA_MIXED_DIALECTS, path=json_path(path), dialect=printable(str(value)), outer=self.dialect.name
                )

    def count_pattern(self, pattern: Any, path: Path) -> None:
        self.patterns += 1
        if self.patterns > self.bounds.patterns:
            refuse(SCHEMA_TOO_MANY_PATTERNS, limit=self.bounds.patterns)
        if isinstance(pattern, str) and len(pattern) > self.bounds.pattern_chars:
            refuse(SCHEMA_PATTERN_TOO_LONG, path=json_path(path), limit=self.bounds.pattern_chars)

    def count_reference(self, reference: _Reference) -> None:
        self.references.append(reference)
        if len(self.references) > self.bounds.refs:
            refuse(SCHEMA_TOO_MANY_REFERENCES, limit=self.bounds.refs)

    def identify(self, place: SchemaPlace, resource: _SchemaResource) -> _SchemaResource:
        """Record the identifiers of ``place``; return the resource that it and its subschemas belong to."""
        node = cast("Node", place.node)
        name = node.get("$id")
        if isinstance(name, str) and not (self.dialect.ref_stands_alone and "$ref" in node):
            if name.startswith("#"):  # draft-07 §8.2.3: an $id that is a fragment corresponds to an anchor of 2020-12
                self.anchors[resource.base, name[1:]] = place
            else:
                resource = _SchemaResource(absolute(resource.base, name).removesuffix("#"), place)
                self.resources[resource.base] = resource
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = node.get(keyword)
            if isinstance(anchor, str) and not self.dialect.ref_stands_alone:
                self.anchors[resource.base, anchor] = place
                if keyword == "$dynamicAnchor":
                    self.dynamic.setdefault(anchor, []).append(place)
        return resource

    def follow(self, reference: _Reference) -> None:
        targets = self.targets.setdefault(id(reference.place.node), [])
        targets.append(self.resolve(reference))
        if reference.keyword == "$dynamicRef":
            name = reference.text.partition("#")[2]
            targets.extend(place for place in self.dynamic.get(name, ()) if place not in targets)

    def resolve(self, reference: _Reference) -> SchemaPlace:
        """The target of a reference within this document. Raises SchemaError if there is no such target."""
        where, _, fragment = absolute(reference.resource.base, reference.text).partition("#")
        resource = self.resources.get(where)
        if resource is None:
            refuse(SCHEMA_EXTERNAL_REFERENCE, ref=printable(reference.text), path=json_path(reference.place.path))
        if fragment and not fragment.startswith("/"):
            target = self.anchors.get((resource.base, unquote(fragment)))
        else:
            target = _point(resource.root, unquote(fragment))
        if target is None or target.node.__class__ not in (dict, bool):
            refuse(SCHEMA_REFERENCE_UNRESOLVED, ref=printable(reference.text), path=json_path(reference.place.path))
        if target.node.__class__ is dict and id(target.node) not in self.visited:
            self.read(target, resource)
        return target

    def applied(self, node: Node, where: frozenset[str]) -> Iterator[tuple[str, list[Any]]]:
        """The subschemas that ``node`` applies, by keyword; those of its references are under ``$ref``."""
        targets = self.targets.get(id(node))
        if targets:
            yield "$ref", [place.node for place in targets]
            if self.dialect.ref_stands_alone:
                return
        for keyword, value in node.items():
            if self.dialect.applicators.get(keyword) in where:
                yield keyword, [child for _, child in subschemas(keyword, value)]

    def refuse_circles(self, start: _Reference, node: Any, active: list[int], done: set[int]) -> None:
        """Follow the subschemas that apply to the same value as the reference ``start``; refuse an endless cycle."""
        if isinstance(node, bool) or id(node) in done:
            return
        if id(node) in active:
            refuse(SCHEMA_REFERENCE_CYCLE, ref=printable(start.text), path=json_path(start.place.path))
        self.bound_chain(len(active))
        active.append(id(node))
        for _, children in self.applied(node, _IN_PLACE):
            for child in children:
                self.refuse_circles(start, child, active, done)
        active.pop()
        done.add(id(node))

    def weigh(self, node: Any, chain: int) -> int:
        """The maximum number of subschemas that apply to the parts on one path downward through a value.

        A recursive schema counts once: ``jsonschema_rs`` remembers its verdicts on such a cycle, so the cost grows only
        with the value.
        """
        if isinstance(node, bool):
            return 1
        weight = self.weights.get(id(node))
        if weight is not None:
            return weight
        self.bound_chain(chain)
        self.weights[id(node)] = 0
        total = 1
        for keyword, children in self.applied(node, _ANYWHERE):
            costs = [self.weigh(child, chain + 1) for child in children]
            total += max(costs, default=0) if keyword in _APART else sum(costs)
        if total > self.bounds.expansion:
            refuse(SCHEMA_VALIDATION_TOO_COSTLY, limit=self.bounds.expansion)
        self.weights[id(node)] = total
        return total

    def bound_chain(self, length: int) -> None:
        if length > self.bounds.chain:
            refuse(SCHEMA_REFERENCE_CHAIN_TOO_LONG, limit=self.bounds.chain)


def absolute(base: str, reference: str) -> str:
    """``urljoin``, except that a fragment alone always stays in its document, whichever the scheme."""
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:  # a broken address, such as "http://["
        return reference


def _point(start: SchemaPlace, pointer: str) -> SchemaPlace | None:
    """The place that a JSON pointer addresses from ``start``, or None if it does not resolve."""
    path, node = start
    for text in pointer.split("/")[1:]:
        step: Any = text.replace("~1", "/").replace("~0", "~")
        try:
            if isinstance(node, list):
                step = int(step) if step.isdecimal() else None
            node = cast("Any", node)[step]
        except (LookupError, TypeError, ValueError):  # also an index of thousands of digits
            return None
        path = (*path, step)
    return SchemaPlace(path, node)

"""Comparison of two JSON schemas by the values they accept: values that became valid, and values that no longer are.

Every keyword is a condition of its own, except for the groups that are read together here: properties with additional
properties, items, bounds, values. If every changed condition became weaker, the new schema accepts all values that the
old one did. A change that cannot be classified is ``UNCLEAR`` and counts as the worst: a changed pattern, alternatives
of which exactly one may hold, an unresolvable reference.

A name that is neither declared nor allowed by a keyword (``additionalProperties``) is not part of the contract of an
input: a parameter may be added under it. If a keyword allows the name, callers may already send it, with a value of any
type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final
from urllib.parse import unquote

from tooltrue.contract.contract import Path
from tooltrue.contract.digests import canonical
from tooltrue.contract.wording import (
    CHANGE_KEYWORD_EQUIVALENT,
    CHANGE_KEYWORD_NARROWED,
    CHANGE_KEYWORD_TEXT,
    CHANGE_KEYWORD_UNCLEAR,
    CHANGE_KEYWORD_WIDENED,
    CHANGE_PROPERTY_ADDED,
    CHANGE_PROPERTY_NOW_OPTIONAL,
    CHANGE_PROPERTY_NOW_REQUIRED,
    CHANGE_PROPERTY_REMOVED,
    CHANGE_TYPES_ADDED,
    CHANGE_TYPES_REMOVED,
    CHANGE_VALUES_ADDED,
    CHANGE_VALUES_REMOVED,
)
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema.dialects import subschemas

__all__ = ["ABSENT", "Effect", "SchemaChange", "compare", "same_words"]


class Effect(Enum):
    """The effect of a change on the set of accepted values."""

    COSMETIC = "cosmetic"
    TEXT = "text"
    MORE = "more"
    LESS = "less"
    UNCLEAR = "unclear"


class _Absent(Enum):
    ABSENT = "absent"


ABSENT: Final = _Absent.ABSENT
"""Marks a missing value."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One difference: its path in the schema, its effect, and the message as ``code`` with ``facts``."""

    path: Path
    effect: Effect
    code: str
    facts: Mapping[str, Any]
    before: Json = ABSENT
    after: Json = ABSENT


_TEXTS: Final = frozenset({"title", "description", "$comment", "examples", "deprecated"})
_ASIDE: Final = frozenset({"$defs", "definitions"})
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies", *_ASIDE})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_SCHEMAS: Final = frozenset(
    {"additionalProperties", "additionalItems", "items", "contains", "propertyNames", "not", "if", "then", "else"}
    | {"unevaluatedProperties", "unevaluatedItems", "contentSchema"}
)
_UNEVALUATED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_DYNAMIC: Final = frozenset({"$dynamicRef", "$recursiveRef"})
_REFERENCES: Final = frozenset({"$ref", *_DYNAMIC})
_IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies", *_REFERENCES})
_OBJECT: Final = frozenset({"properties", "patternProperties", "additionalProperties"})
_MAX_DEPTH: Final = 200


def compare(old: Json, new: Json, *, gives: bool = False) -> tuple[SchemaChange, ...]:
    """Return the differences between two schemas. Set ``gives`` for the schema of a result: a result may always have
    contained names that were not declared."""
    if _same(old, new):
        return ()
    return tuple(_Comparison(old, new, gives).run())


def same_words(old: Any, new: Any) -> bool:
    """Whether two texts differ in white space only."""
    return isinstance(old, str) and isinstance(new, str) and old.split() == new.split()


def _same(old: Json, new: Json) -> bool:
    if old is ABSENT or new is ABSENT:
        return old is new
    return canonical(old) == canonical(new)


def _bare(schema: Json) -> Json:
    """A schema without its annotations."""
    if not is_object(schema):
        return schema
    return {keyword: _bare_keyword(keyword, value) for keyword, value in schema.items() if keyword not in _TEXTS}


def _bare_keyword(keyword: str, value: Json) -> Json:
    """Strip annotations only inside known subschemas: elsewhere ``title`` may be a property name or arbitrary data."""
    if keyword in _MAPS and is_object(value):
        return {name: _bare(inner) for name, inner in value.items()}
    if keyword in _LISTS and is_array(value):
        return [_bare(inner) for inner in value]
    return _bare(value) if keyword in _SCHEMAS else value


def _strings(node: Json, path: Path = ()) -> Iterator[tuple[str, Path]]:
    """Every text in a schema, names included, with its path. White space is normalized."""
    if isinstance(node, str):
        yield " ".join(node.split()), path
    elif is_object(node):
        for name, value in node.items():
            yield " ".join(name.split()), (*path, name)
            yield from _strings(value, (*path, name))
    elif is_array(node):
        for index, value in enumerate(node):
            yield from _strings(value, (*path, index))


def _references(schema: Json) -> Iterator[str]:
    """All references in a schema, at any depth. Some of the results may not be references."""
    if is_object(schema):
        for keyword, value in schema.items():
            if keyword in _REFERENCES and isinstance(value, str):
                yield value
            yield from _references(value)
    elif is_array(schema):
        for inner in schema:
            yield from _references(inner)


def _pointer(reference: str) -> Path | None:
    """The steps of a JSON pointer within its own document."""
    if reference == "#":
        return ()
    if not reference.startswith("#/"):
        return None
    return tuple(unquote(step).replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/"))


def _at(root: Json, reference: str) -> Json:
    """Resolve a reference; ABSENT if it leaves the document or its target is not a schema."""
    steps = _pointer(reference)
    node: Json = ABSENT if steps is None else root
    for step in steps or ():
        if is_object(node):
            node = node.get(str(step), ABSENT)
        elif is_array(node) and str(step).isdecimal() and int(step) < len(node):
            node = node[int(step)]
        else:
            return ABSENT
    return node if is_object(node) or isinstance(node, bool) else ABSENT


def _same_but_for_words(old: Json, new: Json) -> bool:
    """Whether two documents differ in annotations only, in places that are not referred to as a schema."""
    if not _same(_bare(old), _bare(new)):
        return False
    ends = ((_at(old, one), _at(new, one)) for one in (*_references(old), *_references(new)))
    distinct = {(id(before), id(after)): (before, after) for before, after in ends}
    return all(_same(_bare(before), _bare(after)) for before, after in distinct.values())


def _addressed(node: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Subschemas with an ``$id`` of their own that contain references: these resolve from there, not from the root."""
    if is_object(node):
        address = node.get("$id")
        if path and isinstance(address, str) and not address.startswith("#") and any(_references(node)):
            yield path, node
        for name, value in node.items():
            yield from _addressed(value, (*path, name))
    elif is_array(node):
        for index, value in enumerate(node):
            yield from _addressed(value, (*path, index))


@dataclass(slots=True)
class _Comparison:
    old_root: Json
    new_root: Json
    gives: bool
    changes: list[SchemaChange] = field(default_factory=list[SchemaChange])
    visited_pairs: set[tuple[int, int, bool]] = field(default_factory=set[tuple[int, int, bool]])
    reached: set[Path] = field(default_factory=set[Path])
    aside: list[tuple[Path, Json, Json]] = field(default_factory=list[tuple[Path, Json, Json]])
    means_the_same: bool = False
    depth: int = 0

    def run(self) -> Iterator[SchemaChange]:
        before, after = dict(_addressed(self.old_root)), dict(_addressed(self.new_root))
        for path in sorted(before.keys() | after.keys(), key=str):
            if not _same_but_for_words(before.get(path, ABSENT), after.get(path, ABSENT)):
                self.unclear((*path, "$id"), ABSENT, ABSENT)
        self.means_the_same = not self.changes and _same_but_for_words(self.old_root, self.new_root)
        self.node(self.old_root, self.new_root, (), alone=True)
        for path, old, new in self.aside:
            # A definition that is never referenced judges no value, but a model reads it all the same.
            if not any(one[: len(path)] == path for one in self.reached):
                self.note(path, Effect.TEXT, CHANGE_KEYWORD_TEXT, old, new, keyword=str(path[-1]))
        if all(one.effect is Effect.COSMETIC for one in self.changes):
            self.passed_over()
        if not self.changes:
            self.changes.append(SchemaChange((), Effect.UNCLEAR, CHANGE_KEYWORD_UNCLEAR, {"keyword": "schema"}))
        yield from self.changes

    def passed_over(self) -> None:
        """Note changed texts that no known keyword has noted: outside of schemas, a text is only a text."""
        noted = {text for one in self.changes for side in (one.before, one.after) for text, _ in _strings(side)}
        noted |= {" ".join(str(step).split()) for one in self.changes for step in one.path}
        before, after = dict(_strings(self.old_root)), dict(_strings(self.new_root))
        for text, path in (*before.items(), *after.items()):
            if (text in before) != (text in after) and text not in noted:
                self.note(path, Effect.TEXT, CHANGE_KEYWORD_TEXT, keyword=str(path[-1]) if path else "schema")

    def note(
        self, path: Path, effect: Effect, code: str, before: Json = ABSENT, after: Json = ABSENT, /, **facts: Any
    ) -> None:
        if not self.means_the_same or effect in (Effect.TEXT, Effect.COSMETIC):
            self.changes.append(SchemaChange(path, effect, code, facts, before, after))

    def weaker(self, path: Path, before: Json, after: Json) -> None:
        self.note(path, Effect.MORE, CHANGE_KEYWORD_WIDENED, before, after, keyword=str(path[-1]))

    def stricter(self, path: Path, before: Json, after: Json) -> None:
        self.note(path, Effect.LESS, CHANGE_KEYWORD_NARROWED, before, after, keyword=str(path[-1]))

    def unclear(self, path: Path, before: Json, after: Json) -> None:
        self.note(
            path, Effect.UNCLEAR, CHANGE_KEYWORD_UNCLEAR, before, after, keyword=str(path[-1]) if path else "schema"
        )

    # -- one schema and its successor ----------------------------------------------------------------------------------

    def node(self, old: Json, new: Json, path: Path, *, alone: bool) -> None:
        """Compare two schemas. ``alone``: no other schema judges the same value, so a name undeclared here is
        undeclared."""
        pair = (id(old), id(new), alone)
        if pair in self.visited_pairs:
            return
        self.visited_pairs.add(pair)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.unclear(path, ABSENT, ABSENT)
        else:
            self.resolved(self.follow(self.old_root, old), self.follow(self.new_root, new), path, alone)
        self.depth -= 1

    def follow(self, root: Json, node: Json) -> Json:
        """Replace a schema that is only a reference by its target, overlaid with the annotations beside the
        reference."""
        followed: set[str] = set()
        while is_object(node) and isinstance(reference := node.get("$ref"), str) and reference not in followed:
            beside = {keyword: value for keyword, value in node.items() if keyword != "$ref"}
            words = {keyword: value for keyword, value in beside.items() if keyword in _TEXTS or keyword == "default"}
            stands_alone = is_object(root) and "draft-07" in str(root.get("$schema"))
            if beside.keys() - words.keys() - _ASIDE and not stands_alone:
                break
            target = self.target(root, reference)
            if target is ABSENT:
                break
            followed.add(reference)
            node = {**target, **words} if is_object(target) else words if target is True else target
        return node

    def target(self, root: Json, reference: str) -> Json:
        if (steps := _pointer(reference)) is not None:
            self.reached.add(steps)
        return _at(root, reference)

    def resolved(self, old: Json, new: Json, path: Path, alone: bool) -> None:
        if not is_object(old) or not is_object(new):
            return self.whole(old, new, path)
        self.texts(old, new, path)
        if _UNEVALUATED & (old.keys() | new.keys()) and not self.unchanged(old, new):
            return self.unclear(path, ABSENT, ABSENT)  # which values it covers depends on every keyword beside it
        for group, compare_group in _GROUPS.items():
            if group & (old.keys() | new.keys()):
                compare_group(self, old, new, path, alone)
        for keyword in sorted((old.keys() | new.keys()) - _GROUPED):
            self.other(keyword, old.get(keyword, ABSENT), new.get(keyword, ABSENT), (*path, keyword))
        return None

    def whole(self, old: Json, new: Json, path: Path) -> None:
        """Compare schemas of which at least one is a boolean or not a schema."""
        self.texts(old if is_object(old) else {}, new if is_object(new) else {}, path)
        before, after = (_bare({} if schema is True else schema) for schema in (old, new))
        if before == after and type(before) is type(after):
            return
        if after == {} or before is False:
            self.note(path, Effect.MORE, CHANGE_KEYWORD_WIDENED, old, new, keyword=str(path[-1]) if path else "schema")
        elif before == {} or after is False:
            self.note(path, Effect.LESS, CHANGE_KEYWORD_NARROWED, old, new, keyword=str(path[-1]) if path else "schema")
        else:
            self.unclear(path, old, new)

    def unchanged(self, old: Json, new: Json) -> bool:
        """Whether two schemas certainly accept the same values: they and their reference targets are equal but for
        annotations."""
        done: set[str] = set()
        pairs = [(old, new)]
        while pairs:
            before, after = pairs.pop()
            if not _same(_bare(before), _bare(after)):
                return False
            for reference in set(_references(before)) - done:
                done.add(reference)
                targets = self.target(self.old_root, reference), self.target(self.new_root, reference)
                if ABSENT in targets:
                    return False
                pairs.append(targets)
        return True

    # -- words ---------------------------------------------------------------------------------------------------------

    def texts(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path) -> None:
        for keyword in sorted(_TEXTS & (old.keys() | new.keys())):
            before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
            if not _same(before, after):
                effect = Effect.COSMETIC if _is_cosmetic(keyword, before, after) else Effect.TEXT
                self.note((*path, keyword), effect, CHANGE_KEYWORD_TEXT, before, after, keyword=keyword)

    def other(self, keyword: str, before: Json, after: Json, path: Path) -> None:
        """Compare a keyword that does not constrain values, or that is unknown."""
        if keyword in _ASIDE:
            definitions = [one if is_object(one) else {} for one in (before, after)]
            for name in sorted(definitions[0].keys() | definitions[1].keys()):
                one, other = (each.get(name, ABSENT) for each in definitions)
                if not _same(one, other):
                    self.aside.append(((*path, name), one, other))
        elif not _same(before, after):
            if keyword == "default" and before is ABSENT:
                self.note(path, Effect.TEXT, CHANGE_KEYWORD_TEXT, before, after, keyword=keyword)
            elif keyword == "$schema" and (before, after) in ((ABSENT, _NEWEST), (_NEWEST, ABSENT)):
                self.note(path, Effect.COSMETIC, CHANGE_KEYWORD_EQUIVALENT, before, after, keyword=keyword)
            else:
                self.unclear(path, before, after)

    # -- values --------------------------------------------------------------------------------------------------------

    def kinds(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        before, after = old.get("type", ABSENT), new.get("type", ABSENT)
        if _same(before, after):
            return None
        path = (*path, "type")
        one, other = _kinds(before), _kinds(after)
        if one is None or other is None:
            return self.unclear(path, before, after)
        if lost_kinds := [kind for kind in one if not _covers(other, kind)]:
            self.note(path, Effect.LESS, CHANGE_TYPES_REMOVED, before, after, kinds=", ".join(lost_kinds))
        if gained := [kind for kind in other if not _covers(one, kind)]:
            self.note(path, Effect.MORE, CHANGE_TYPES_ADDED, before, after, kinds=", ".join(gained))
        if not lost_kinds and not gained:
            self.note(path, Effect.COSMETIC, CHANGE_KEYWORD_EQUIVALENT, before, after, keyword="type")
        return None

    def values(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        keywords = [{name: one[name] for name in ("enum", "const") if name in one} for one in (old, new)]
        if _same(*keywords):
            return None
        before, after = map(_allowed_values, keywords)
        keyword = (*path, "const" if "const" in new and "enum" not in old else "enum")
        was, now = (next(iter(one.values()), ABSENT) if len(one) < 2 else one for one in keywords)
        if before is None or after is None:
            return self.unclear(keyword, was, now)
        if not keywords[0] or not keywords[1]:
            return self.stricter(keyword, was, now) if keywords[1] else self.weaker(keyword, was, now)
        old_only, new_only = (
            [one[key] for key in one.keys() - two.keys()] for one, two in ((before, after), (after, before))
        )
        if old_only:
            self.note(keyword, Effect.LESS, CHANGE_VALUES_REMOVED, was, now, values=_value_list(old_only))
        if new_only:
            self.note(keyword, Effect.MORE, CHANGE_VALUES_ADDED, was, now, values=_value_list(new_only))
        if not old_only and not new_only:
            self.note(keyword, Effect.COSMETIC, CHANGE_KEYWORD_EQUIVALENT, was, now, keyword=str(keyword[-1]))
        return None

    def bounds(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        """Compare minimum and maximum, each with its exclusive form."""
        for plain, exclusive, sign in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
            limits = [{name: one[name] for name in (plain, exclusive) if name in one} for one in (old, new)]
            if _same(*limits):
                continue
            keyword = (*path, plain if plain in limits[0].keys() | limits[1].keys() else exclusive)
            was, now = (next(iter(one.values())) if len(one) == 1 else one or ABSENT for one in limits)
            ends = [_end(one, plain, exclusive, sign) for one in limits]
            if ends[0] is None or ends[1] is None:
                self.unclear(keyword, was, now)
            elif ends[0] == ends[1]:
                self.note(keyword, Effect.COSMETIC, CHANGE_KEYWORD_EQUIVALENT, was, now, keyword=str(keyword[-1]))
            else:
                (self.stricter if ends[1] > ends[0] else self.weaker)(keyword, was, now)

    def counts(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        for keyword, sign in _COUNTS.items():
            before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
            if _same(before, after):
                continue
            one, other = (_count(value, sign) for value in (before, after))
            at = (*path, keyword)
            if one is None or other is None:
                self.unclear(at, before, after)
            elif one == other:
                self.note(at, Effect.COSMETIC, CHANGE_KEYWORD_EQUIVALENT, before, after, keyword=keyword)
            else:
                (self.stricter if other > one else self.weaker)(at, before, after)

    def conditions(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        """Compare keywords for which only presence or absence can be classified (and ``multipleOf`` by
        divisibility)."""
        for keyword in _CONDITIONS:
            before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
            at = (*path, keyword)
            if _same(before, after):
                continue
            without = [value is ABSENT or (keyword == "uniqueItems" and value is False) for value in (before, after)]
            if all(without):
                self.note(at, Effect.COSMETIC, CHANGE_KEYWORD_EQUIVALENT, before, after, keyword=keyword)
            elif without[0]:
                self.stricter(at, before, after)
            elif without[1] or (keyword == "multipleOf" and _divides(after, before)):
                self.weaker(at, before, after)
            else:
                self.unclear(at, before, after)

    # -- objects -------------------------------------------------------------------------------------------------------

    def required(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        before, after = old.get("required", ABSENT), new.get("required", ABSENT)
        if _same(before, after):
            return None
        path = (*path, "required")
        one, other = _names(before), _names(after)
        if one is None or other is None:
            return self.unclear(path, before, after)
        for name in sorted(other - one):
            self.note(path, Effect.LESS, CHANGE_PROPERTY_NOW_REQUIRED, before, after, name=name)
        for name in sorted(one - other):
            self.note(path, Effect.MORE, CHANGE_PROPERTY_NOW_OPTIONAL, before, after, name=name)
        if one == other:
            self.note(path, Effect.COSMETIC, CHANGE_KEYWORD_EQUIVALENT, before, after, keyword="required")
        return None

    def objects(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        before, after = _members(old, "properties"), _members(new, "properties")
        patterns, new_patterns = _members(old, "patternProperties"), _members(new, "patternProperties")
        if before is None or after is None or patterns is None or new_patterns is None:
            return self.unclear((*path, "properties"), old.get("properties", ABSENT), new.get("properties", ABSENT))
        alone = alone and not patterns and not new_patterns and not _IN_PLACE & (old.keys() | new.keys())
        if patterns.keys() != new_patterns.keys():
            self.unclear((*path, "patternProperties"), patterns, new_patterns)
        for pattern in sorted(patterns.keys() & new_patterns.keys()):
            at = (*path, "patternProperties", pattern)
            self.node(patterns[pattern], new_patterns[pattern], at, alone=False)
        others = old.get("additionalProperties", ABSENT)
        is_named = alone and ("properties" in old or not path)  # a nested schema without properties takes any name
        for name in sorted(before.keys() | after.keys()):
            at = (*path, "properties", name)
            if name not in after:
                self.note(at, Effect.UNCLEAR, CHANGE_PROPERTY_REMOVED, before[name], name=name)
            elif name in before:
                self.node(before[name], after[name], at, alone=alone)
            else:
                effect = Effect.UNCLEAR if patterns or new_patterns else self.added(others, after[name], is_named)
                self.note(at, effect, CHANGE_PROPERTY_ADDED, ABSENT, after[name], name=name)
        rest = new.get("additionalProperties", ABSENT)
        if (others is ABSENT and rest is True) or (others is True and rest is ABSENT):
            self.note(
                (*path, "additionalProperties"),
                Effect.COSMETIC,
                CHANGE_KEYWORD_EQUIVALENT,
                others,
                rest,
                keyword="additionalProperties",
            )
        else:
            was, now = (True if one is ABSENT else one for one in (others, rest))
            self.node(was, now, (*path, "additionalProperties"), alone=alone)
        return None

    def added(self, others: Json, added: Json, is_named: bool) -> Effect:
        """The effect of a new property, given ``others``, the ``additionalProperties`` that applied to its name
        before."""
        harmless = Effect.LESS if self.gives else Effect.MORE
        if others is False:
            return Effect.MORE
        if others is ABSENT and is_named and not self.gives:
            return Effect.MORE
        if self.unchanged(True if others is ABSENT else others, added) or _bare(added) in ({}, True):
            return harmless
        return Effect.LESS if others in (ABSENT, True) else Effect.UNCLEAR

    def dependent(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        for keyword in ("dependentSchemas", "dependentRequired"):
            before, after = old.get(keyword, {}), new.get(keyword, {})
            if not is_object(before) or not is_object(after):
                self.unclear((*path, keyword), before, after)
                continue
            for name in sorted(before.keys() | after.keys()):
                at = (*path, keyword, name)
                one, other = before.get(name, ABSENT), after.get(name, ABSENT)
                if one is ABSENT:
                    self.stricter(at, one, other)
                elif other is ABSENT:
                    self.weaker(at, one, other)
                elif keyword == "dependentSchemas":
                    self.node(one, other, at, alone=False)
                elif not _same(one, other):
                    self.unclear(at, one, other)
        self.frozen("dependencies", old, new, path)

    def frozen(self, keyword: str, old: Mapping[str, Json], new: Mapping[str, Json], path: Path) -> None:
        """Compare a keyword whose inner changes cannot be classified: any change but to annotations is unclear."""
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        path = (*path, keyword)
        if before is ABSENT and after is ABSENT:
            return None
        if before is ABSENT:
            return self.stricter(path, before, after)
        if after is ABSENT:
            return self.weaker(path, before, after)
        if not self.unchanged(before, after):
            return self.unclear(path, before, after)
        inner = (sorted(subschemas(keyword, one), key=lambda item: str(item[0])) for one in (before, after))
        for (steps, one), (_, other) in zip(*inner, strict=True):
            self.node(one, other, (*path, *steps[1:]), alone=False)
        return None

    def single(self, keyword: str, old: Mapping[str, Json], new: Mapping[str, Json], path: Path) -> None:
        """Compare a keyword that holds one schema, which must hold as well."""
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        path = (*path, keyword)
        if before is ABSENT and after is ABSENT:
            return
        if before is ABSENT:
            self.stricter(path, before, after)
        elif after is ABSENT:
            self.weaker(path, before, after)
        else:
            self.node(before, after, path, alone=False)

    def names(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        self.single("propertyNames", old, new, path)

    # -- arrays --------------------------------------------------------------------------------------------------------

    def items(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        alone = alone and not (_IN_PLACE | {"contains"}) & (old.keys() | new.keys())
        first, rest = "prefixItems", "items"
        if is_array(old.get("items")) or is_array(new.get("items")):
            first, rest = "items", "additionalItems"
        elif not _same(old.get("additionalItems", ABSENT), new.get("additionalItems", ABSENT)):
            self.unclear((*path, "additionalItems"), ABSENT, ABSENT)
        before, after = old.get(first, []), new.get(first, [])
        if not is_array(before) or not is_array(after) or len(before) != len(after):
            return self.unclear((*path, first), before, after)
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            self.node(one, other, (*path, first, index), alone=alone)
        return self.node(old.get(rest, True), new.get(rest, True), (*path, rest), alone=alone)

    def contains(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        if "contains" not in old or "contains" not in new:
            if "contains" in old or "contains" in new:
                self.single("contains", old, new, path)
            else:
                self.pieces_differ(("minContains", "maxContains"), old, new, path)
        elif "maxContains" in old or "maxContains" in new:
            self.frozen("contains", old, new, path)
            self.pieces_differ(("minContains", "maxContains"), old, new, path)
        else:
            self.single("contains", old, new, path)
            least = [_count(one.get("minContains", 1), 1) for one in (old, new)]
            if least[0] is None or least[1] is None:
                self.pieces_differ(("minContains",), old, new, path)
            elif least[0] != least[1]:
                change = self.stricter if least[1] > least[0] else self.weaker
                change((*path, "minContains"), old.get("minContains", ABSENT), new.get("minContains", ABSENT))

    def pieces_differ(
        self, keywords: Sequence[str], old: Mapping[str, Json], new: Mapping[str, Json], path: Path
    ) -> None:
        for keyword in keywords:
            before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
            if not _same(before, after):
                self.unclear((*path, keyword), before, after)

    # -- combinations --------------------------------------------------------------------------------------------------

    def all_of(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        self.branches("allOf", old, new, path, alone=False, weaker_without=True)

    def any_of(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        keywords = old.keys() | new.keys()
        if "anyOf" not in old or "anyOf" not in new:
            return self.single("anyOf", old, new, path)
        alone = alone and not _OBJECT & keywords and not (_IN_PLACE - {"anyOf"}) & keywords
        return self.branches("anyOf", old, new, path, alone=alone, weaker_without=False)

    def branches(
        self,
        keyword: str,
        old: Mapping[str, Json],
        new: Mapping[str, Json],
        path: Path,
        *,
        alone: bool,
        weaker_without: bool,
    ) -> None:
        """Match equal branches with each other and the remaining ones in order; branches left over were added or
        removed."""
        before, after = old.get(keyword, []), new.get(keyword, [])
        path = (*path, keyword)
        if not is_array(before) or not is_array(after):
            return self.unclear(path, before, after)
        rest = dict(enumerate(after))
        unmatched: list[Json] = []
        waiting: dict[bytes, list[int]] = {}
        for index in reversed(rest):
            waiting.setdefault(canonical(_bare(rest[index])), []).append(index)
        for one in before:
            if indices := waiting.get(canonical(_bare(one))):
                index = indices.pop()
                self.node(one, rest.pop(index), (*path, index), alone=alone)
            else:
                unmatched.append(one)
        for index, one in zip(list(rest), list(unmatched), strict=False):
            unmatched.remove(one)
            self.node(one, rest.pop(index), (*path, index), alone=alone)
        for one in unmatched:
            (self.weaker if weaker_without else self.stricter)(path, one, ABSENT)
        for one in rest.values():
            (self.stricter if weaker_without else self.weaker)(path, ABSENT, one)
        return None

    def one_of(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        self.frozen("oneOf", old, new, path)

    def negated(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        self.frozen("not", old, new, path)

    def choice(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        if "if" in old or "if" in new:
            self.frozen("if", old, new, path)
        if "if" in old and "if" in new:
            self.single("then", old, new, path)
            self.single("else", old, new, path)
        else:
            self.pieces_differ(("then", "else"), old, new, path)

    def reference(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        """Compare a reference beside other conditions, or one that cannot be followed."""
        if "$ref" not in old or "$ref" not in new:
            return self.single("$ref", old, new, path)
        ends = [self.target(root, str(one["$ref"])) for root, one in ((self.old_root, old), (self.new_root, new))]
        if ABSENT in ends:
            return self.unclear((*path, "$ref"), old["$ref"], new["$ref"])
        return self.node(ends[0], ends[1], (*path, "$ref"), alone=False)

    def dynamic(self, old: Mapping[str, Json], new: Mapping[str, Json], path: Path, alone: bool) -> None:
        """Compare references whose target depends on the path taken to them: any change of their targets is unclear."""
        for keyword in sorted(_DYNAMIC & (old.keys() | new.keys())):
            references = ({keyword: one[keyword]} if keyword in one else {} for one in (old, new))
            if not self.unchanged(*references):
                self.unclear((*path, keyword), old.get(keyword, ABSENT), new.get(keyword, ABSENT))


_NEWEST: Final = "https://json-schema.org/draft/2020-12/schema"
_COUNTS: Final = {
    **dict.fromkeys(("minLength", "minItems", "minProperties"), 1),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), -1),
}
_CONDITIONS: Final = ("multipleOf", "pattern", "format", "uniqueItems")

_GROUPS: Final = {
    frozenset({"type"}): _Comparison.kinds,
    frozenset({"enum", "const"}): _Comparison.values,
    frozenset({"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}): _Comparison.bounds,
    frozenset(_COUNTS): _Comparison.counts,
    frozenset(_CONDITIONS): _Comparison.conditions,
    frozenset({"required"}): _Comparison.required,
    _OBJECT: _Comparison.objects,
    frozenset({"dependentSchemas", "dependentRequired", "dependencies"}): _Comparison.dependent,
    frozenset({"propertyNames"}): _Comparison.names,
    frozenset({"items", "prefixItems", "additionalItems"}): _Comparison.items,
    frozenset({"contains", "minContains", "maxContains"}): _Comparison.contains,
    frozenset({"allOf"}): _Comparison.all_of,
    frozenset({"anyOf"}): _Comparison.any_of,
    frozenset({"oneOf"}): _Comparison.one_of,
    frozenset({"not"}): _Comparison.negated,
    frozenset({"if", "then", "else"}): _Comparison.choice,
    frozenset({"$ref"}): _Comparison.reference,
    _DYNAMIC: _Comparison.dynamic,
}
"""Keywords that are read together, and the method that compares them."""

_GROUPED: Final = frozenset[str]().union(*_GROUPS) | _TEXTS | _UNEVALUATED


def _is_cosmetic(keyword: str, before: Json, after: Json) -> bool:
    if keyword == "title" and isinstance(before, str) and isinstance(after, str):
        return same_words(before.casefold(), after.casefold())
    return same_words(before, after)


_KINDS: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


def _kinds(types: Json) -> Sequence[str] | None:
    if types is ABSENT:
        return [kind for kind in _KINDS if kind != "integer"]
    names = [types] if isinstance(types, str) else types
    return [str(kind) for kind in names] if is_array(names) and all(kind in _KINDS for kind in names) else None


def _covers(kinds: Sequence[str], kind: str) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _allowed_values(keywords: Mapping[str, Json]) -> dict[bytes, Json] | None:
    """The values allowed by ``enum`` or ``const``, by canonical form; None if they cannot be listed."""
    if len(keywords) > 1:
        return None
    values = [keywords["const"]] if "const" in keywords else keywords.get("enum", [])
    return {canonical(value): value for value in values} if is_array(values) else None


def _value_list(values: Sequence[Json]) -> str:
    texts = sorted(canonical(value).decode()[:40] for value in values)
    return ", ".join(texts[:5]) + (", …" if len(texts) > 5 else "")


def _end(bounds: Mapping[str, Json], plain: str, exclusive: str, sign: int) -> tuple[float, bool] | None:
    """The end of a range, signed so that the stricter one is the larger; None if a bound is not a number."""
    if not all(_is_number(value) for value in bounds.values()):
        return None
    ends = [(sign * bounds[name], name == exclusive) for name in (plain, exclusive) if name in bounds]
    return max(ends, default=(float("-inf"), False))


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Json, sign: int) -> float | None:
    if value is ABSENT:
        return 0 if sign > 0 else float("-inf")
    return sign * value if _is_number(value) and value >= 0 else None


def _divides(part: Json, whole: Json) -> bool:
    return all(isinstance(one, int) and 0 < one < 2**53 for one in (part, whole)) and whole % part == 0


def _names(value: Json) -> set[str] | None:
    if value is ABSENT:
        return set()
    return set(map(str, value)) if is_array(value) and all(isinstance(name, str) for name in value) else None


def _members(schema: Mapping[str, Json], keyword: str) -> dict[str, Json] | None:
    """The schemas under ``keyword``: empty if it is absent, None if it is not an object."""
    value = schema.get(keyword, {})
    return value if is_object(value) else None

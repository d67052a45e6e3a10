"""Proposes values that may break each rule of a JSON Schema, one at a time. The compiled schema decides whether they
do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias, cast

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.testing.valid_values import (
    DEEP,
    FORMATS,
    MOST_FORMS,
    MOST_ITEMS,
    MOST_LETTERS,
    TRIES,
    Beyond,
    Maker,
    Node,
    Path,
    kinds_of,
)

__all__ = ["BREAKS_IN_WAYS", "attempts"]

_Attempt: TypeAlias = tuple[str, Path, Json]


def attempts(maker: Maker, node: Any, value: Json, path: Path) -> Iterator[_Attempt]:
    """Candidates that may break each rule of a subschema and of those inside, each with the path of the part to
    replace."""
    for form in islice(maker.forms(node), MOST_FORMS):
        for rule, breaks in _BREAKS.items():
            if rule in form:
                for wrong in breaks(maker, form[rule], value, form):
                    yield rule, path, wrong
        for rule in form.keys() & _UNBROKEN:
            yield rule, path, value  # breaks no rule, and so is listed as missing
        if len(path) < DEEP:
            for step, child in _inside(form, value):
                yield from attempts(maker, child, value[step], (*path, step))


def _inside(form: Node, value: Json) -> Iterator[tuple[str | int, Any]]:
    if is_object(value):
        properties = form.get("properties", {})
        for name in value:
            yield name, properties.get(name, form.get("additionalProperties", True))
    elif is_array(value):
        first = form.get("prefixItems", [])
        for index in range(min(len(value), len(first) + 1)):
            yield index, first[index] if index < len(first) else form.get("items", True)


# A value of each type, for rules that want another.
_OTHERS: Mapping[str, Json] = {
    "null": None,
    "boolean": True,
    "string": "text",
    "array": [],
    "object": {},
    "number": 7.5,
    "integer": 7,
}
_STRANGE = "no_such_option"
_UNBROKEN = frozenset(
    {"not", "propertyNames", "patternProperties", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems"}
)


def _wrong_types(maker: Maker, constraint: Any, value: Json, form: Node) -> Iterator[Json]:
    kinds = kinds_of(form)
    for kind, other in _OTHERS.items():
        if kind not in kinds and not (kind == "integer" and "number" in kinds):
            yield other


def _wrong_options(maker: Maker, options: list[Any], value: Json, form: Node) -> Iterator[Json]:
    if isinstance(value, str):
        yield value + "_" + _STRANGE
    if isinstance(value, (int, float)):
        yield max((option for option in options if isinstance(option, (int, float))), default=0) + 1
    yield _STRANGE


def _without(value: Json, names: list[str]) -> Iterator[Json]:
    for name in names:
        if is_object(value) and name in value:
            yield {key: item for key, item in value.items() if key != name}


def _stranger(maker: Maker, constraint: Any, value: Json, form: Node) -> Iterator[Json]:
    if constraint is False and is_object(value):
        yield {**value, "no_such_property": 1}


def _longer(maker: Maker, most: int, value: Json, form: Node) -> Iterator[Json]:
    if isinstance(value, str) and most < MOST_LETTERS:
        last = value[-1:] or "x"
        yield value + last * (most + 1 - len(value))
        yield value + "x" * (most + 1 - len(value))


def _more_items(maker: Maker, most: int, value: Json, form: Node) -> Iterator[Json]:
    if is_array(value) and most < MOST_ITEMS:
        long = {**form, "minItems": most + 1, "maxItems": most + 1}
        for _ in range(TRIES):
            with contextlib.suppress(Beyond):
                yield maker.make(long, ("items",))


def _more_properties(maker: Maker, most: int, value: Json, form: Node) -> Iterator[Json]:
    if is_object(value) and most < MOST_ITEMS:
        fill = next(iter(value.values()), 1)
        yield {**value, **{f"more{number}": fill for number in range(most + 1 - len(value))}}


def _unmatched(maker: Maker, pattern: str, value: Json, form: Node) -> Iterator[Json]:
    if isinstance(value, str):
        yield from ("~" * len(value), "", "!", "x", "0", " ", f"{value}!", f"!{value}", value.swapcase(), "~" * 64)


def _unformatted(maker: Maker, constraint: str, value: Json, form: Node) -> Iterator[Json]:
    if isinstance(value, str) and constraint in FORMATS:
        yield from ("not so", "[", "%", "~" * max(1, len(value)), "http://[", "a b")


def _if_number(make: Callable[[Any], Any]) -> _Breaks:
    def attempts(maker: Maker, constraint: Any, value: Json, form: Node) -> Iterator[Json]:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield make(constraint)

    return attempts


def _fewer(least: int, value: Json) -> Iterator[Json]:
    if least and isinstance(value, (str, list)):
        yield cast("str | list[Json]", value)[: least - 1]
    elif least and is_object(value):
        yield dict(list(value.items())[: least - 1])


def _twice(constraint: Any, value: Json) -> Iterator[Json]:
    if constraint is True and is_array(value) and value:
        yield [*value, value[0]]
        yield [value[0], *value[:-1], value[0]][: max(2, len(value))]


def _emptied(value: Json) -> Iterator[Json]:
    if is_array(value):
        yield []


def _uneven(step: Any) -> Any:
    return step + step // 2 if step == int(step) and step % 2 == 0 else step * 1.5


def _needed(names: Mapping[str, list[str]]) -> list[str]:
    return [name for needed in names.values() for name in needed]


BREAKS_IN_WAYS = frozenset({"required", "dependentRequired"})
"""Rules that can be broken in several ways at one place."""

_Breaks: TypeAlias = Callable[[Maker, Any, Json, Node], Iterator[Json]]

_BREAKS: Mapping[str, _Breaks] = {
    "type": _wrong_types,
    "enum": _wrong_options,
    "const": lambda maker, constraint, value, form: _wrong_options(maker, [constraint], value, form),
    "required": lambda maker, names, value, form: _without(value, names),
    "dependentRequired": lambda maker, names, value, form: _without(value, _needed(names)),
    "additionalProperties": _stranger,
    "unevaluatedProperties": _stranger,
    "minimum": _if_number(lambda least: least - 1),
    "maximum": _if_number(lambda most: most + 1),
    "exclusiveMinimum": _if_number(lambda bound: bound),
    "exclusiveMaximum": _if_number(lambda bound: bound),
    "multipleOf": _if_number(_uneven),
    "minLength": lambda maker, least, value, form: _fewer(least, value),
    "maxLength": _longer,
    "pattern": _unmatched,
    "format": _unformatted,
    "minItems": lambda maker, least, value, form: _fewer(least, value),
    "maxItems": _more_items,
    "uniqueItems": lambda maker, constraint, value, form: _twice(constraint, value),
    "contains": lambda maker, constraint, value, form: _emptied(value),
    "minProperties": lambda maker, least, value, form: _fewer(least, value),
    "maxProperties": _more_properties,
}

"""Values from a JSON Schema: valid ones, and invalid ones that each break one rule, the same for the same seed.

Every value is verified against the compiled schema, which servers use as well. A valid one was accepted; an invalid one
was refused with exactly one problem, which names it. Rules without a value are listed, so that they do not pass for
tested. ``examples`` and ``default`` in the schema come first.

There is no third-party dependency: a generator that is always installed is worth more than one that knows every
keyword, and the compiled schema corrects this one where it does not understand a keyword.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from random import Random
from types import MappingProxyType
from typing import Any, Final, Literal

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema import OWN, Schema, compile_schema
from tooltrue.testing.invalid_values import BREAKS_IN_WAYS, attempts
from tooltrue.testing.valid_values import TRIES, Beyond, Maker, Node, Path, json_path, named_values, text_of

__all__ = ["Invalid", "Missing", "Samples", "Valid", "samples", "samples_of", "valid_samples"]


@dataclass(frozen=True, slots=True)
class Valid:
    """A value that the schema accepts, and its origin."""

    value: Json
    origin: Literal["example", "default", "generated"]


@dataclass(frozen=True, slots=True)
class Invalid:
    """A value that breaks one rule: the keyword ``rule``, at ``path`` (``$.a[0]``)."""

    value: Json
    rule: str
    path: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A rule without a value: ``rule`` at ``path``. The rule ``valid`` stands for valid values."""

    rule: str
    path: str


@dataclass(frozen=True, slots=True)
class Samples:
    """The values for a schema. ``bad_examples`` are examples in the schema that it does not accept itself."""

    valid: tuple[Valid, ...]
    invalid: tuple[Invalid, ...]
    missing: tuple[Missing, ...]
    bad_examples: tuple[Json, ...] = ()


_BASES = 4


def samples(schema: Schema, *, seed: int = 0, count: int = 20) -> Samples:
    """Up to ``count`` valid values of a schema, and an invalid one for each rule at each place.

    Fewer if there are no more distinct ones. The same for the same schema, seed and count.
    """
    maker, named_samples = Maker(schema.definition, Random(seed)), _named(schema)
    valid = _valid(schema, maker, named_samples, count)
    invalid, missing = _invalid_samples(schema, maker, [sample.value for sample in valid])
    missing = [*missing, *_never_there(schema.definition, valid)] if valid else [Missing("valid", "$")]
    given_up = [Missing(rule, path) for rule, path in maker.given_up]
    bad = tuple(
        sample.value for sample in named_samples if sample.origin == "example" and not schema.accepts(sample.value)
    )
    return Samples(tuple(valid), tuple(invalid), tuple(dict.fromkeys((*given_up, *missing))), bad)


def valid_samples(schema: Schema, *, seed: int = 0, count: int = 20) -> tuple[Valid, ...]:
    """The ``valid`` values of :func:`samples`, without the work for the others."""
    return tuple(_valid(schema, Maker(schema.definition, Random(seed)), _named(schema), count))


def samples_of(definition: Mapping[str, Any], *, seed: int = 0, count: int = 20) -> Samples:
    """:func:`samples` for an uncompiled schema. Raises ``SchemaError`` for an invalid one."""
    return samples(compile_schema(definition, bounds=OWN), seed=seed, count=count)


def _named(schema: Schema) -> list[Valid]:
    return [Valid(value, origin) for origin, value in named_values(schema.definition)]


def _valid(schema: Schema, maker: Maker, named_samples: list[Valid], count: int) -> list[Valid]:
    declared = [sample for sample in named_samples if schema.accepts(sample.value)]
    least, generated = _parted(_generated(schema, maker, count))
    edges = [*least, *islice(_edges(schema, [*declared, *least, *generated]), count // 2)]
    usual = _different([*declared, *generated])[: max(count - len(edges), len(declared), 1)]
    return _different([*usual, *edges])[: max(count, len(declared))]


def _parted(candidates: Iterator[Valid]) -> tuple[list[Valid], list[Valid]]:
    """The first value, which is the smallest, and the others."""
    return [*islice(candidates, 1)], [*candidates]


def _generated(schema: Schema, maker: Maker, count: int) -> Iterator[Valid]:
    count_made = 0
    for turn in range(count * TRIES):
        # First the smallest valid value, then the fullest, then a random mix.
        maker.fullness = (0.0, 1.0)[turn] if turn < 2 else 0.5
        try:
            value = maker.make(maker.root, ())
        except Beyond:
            continue
        if schema.accepts(value):
            yield Valid(value, "generated")
            count_made += 1
        if count_made == 2 * count:  # some are duplicates
            return


def _edges(schema: Schema, valid: list[Valid]) -> Iterator[Valid]:
    """The fullest valid value with its members emptied, a case at which many programs fail: all members at once, then
    one place after the other."""
    base: Json = max((sample.value for sample in valid), key=lambda value: len(text_of(value)), default=None)
    each = [(path, empty) for path, empty in _emptied(base) if schema.accepts(_with(base, path, empty))]
    whole = base
    for path, empty in each:
        whole = _with(whole, path, empty) if len(path) == 1 else whole
    for value in (whole, *(_with(base, path, empty) for path, empty in each)):
        if schema.accepts(value):
            yield Valid(value, "generated")


_EMPTY: Final[Mapping[type, Json]] = MappingProxyType({list: [], dict: {}, str: "", int: 0, float: 0.0})


def _emptied(value: Json) -> Iterator[tuple[Path, Json]]:
    """The path of each value that is not empty, and the empty value of its type; the outer ones first."""
    waiting: list[tuple[Path, Json]] = [((), value)]
    for path, one in waiting:
        if path and one and type(one) in _EMPTY:
            yield path, _EMPTY[type(one)]
        if is_object(one) or is_array(one):
            waiting += (((*path, step), inner) for step, inner in (one.items() if is_object(one) else enumerate(one)))


def _different(values: list[Valid]) -> list[Valid]:
    first: dict[str, Valid] = {}
    for sample in values:
        first.setdefault(text_of(sample.value), sample)
    return [*first.values()]


def _never_there(node: Node, valid: list[Valid]) -> list[Missing]:
    """Properties that no valid value has: their effect is not tested."""
    properties = node.get("properties")
    names = properties if is_object(properties) else {}
    there = {name for sample in valid if is_object(sample.value) for name in sample.value}
    return [Missing("valid", json_path((name,))) for name in names if name not in there and names[name] is not False]


def _invalid_samples(schema: Schema, maker: Maker, valid: list[Json]) -> tuple[list[Invalid], list[Missing]]:
    """One invalid value for each way of breaking each rule, ordered so that every rule comes early."""
    by_way: dict[tuple[str, ...], Invalid] = {}
    successes: dict[Missing, bool] = {}
    maker.fullness = 1.0
    for base in sorted(valid, key=lambda value: -len(text_of(value)))[:_BASES]:
        for rule, path, wrong in attempts(maker, maker.root, base, ()):
            attempt = Missing(rule, json_path(path))
            way = (rule, attempt.path, type(wrong).__name__ if rule == "type" else "")
            if way in by_way and rule not in BREAKS_IN_WAYS:
                continue
            successes.setdefault(attempt, False)
            value = _with(base, path, wrong)
            problem = _only_problem(schema, value)
            if problem is not None:
                successes[attempt] = True
                by_way.setdefault((*way, *problem) if rule in BREAKS_IN_WAYS else way, Invalid(value, *problem))
    return _rules_first(list(by_way.values())), [attempt for attempt, succeeded in successes.items() if not succeeded]


def _only_problem(schema: Schema, value: Json) -> tuple[str, str] | None:
    if schema.accepts(value):
        return None
    problems = schema.problems(value, 2)
    return (problems[0].rule, problems[0].path) if len(problems) == 1 else None


def _rules_first(invalid: list[Invalid]) -> list[Invalid]:
    turns: dict[str, int] = {}
    ordered: list[tuple[int, Invalid]] = []
    for sample in invalid:
        turns[sample.rule] = turns.get(sample.rule, 0) + 1
        ordered.append((turns[sample.rule], sample))
    return [sample for _, sample in sorted(ordered, key=lambda pair: pair[0])]


def _with(value: Json, path: Path, part: Json) -> Json:
    """A copy of ``value`` that has ``part`` at ``path``."""
    if not path:
        return part
    step, *rest = path
    outer: Any = dict(value) if is_object(value) else list(value)
    outer[step] = _with(outer[step], tuple(rest), part)
    return outer

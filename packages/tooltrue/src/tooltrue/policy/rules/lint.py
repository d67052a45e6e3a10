"""Lint of rules that can be read: those that can never match, or match no entry that the server has.

Every finding is true, but not every problem is found: two earlier rules that only together cover a later one are not
detected, and a ``*`` alone may match no entry. A rule that may well be meant gets a note, which refuses no file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.policy.rules.rule import Rule, Rules, uris_of
from tooltrue.policy.wording import (
    RULE_ARGUMENT_UNKNOWN,
    RULE_EFFECT_MATCHES_NO_TOOL,
    RULE_MATCHES_ABSENT_ARGUMENT,
    RULE_PATTERN_MATCHES_NO_NAME,
    RULE_UNREACHABLE,
)
from tooltrue.protocol.schema.dialects import HERE, dialect_of, subschemas
from tooltrue.protocol.types import Value
from tooltrue.spelling import closest
from tooltrue.tools.stored_results import SCHEME
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import RequestContext, Tool

__all__ = [
    "Inventory",
    "constrained_arguments",
    "inventory",
    "lenient",
    "together",
    "unknown_references",
    "unmatched",
    "unreachable_rules",
]

Place: TypeAlias = Callable[[tuple[str | int, ...]], str]
"""Returns ``FILE:LINE`` of the value at a path."""


# -- rules that an earlier one makes useless ---------------------------------------------------------------------------


def unreachable_rules(rules: Sequence[Rule], place: Place) -> Iterator[ConfigurationError]:
    """Yield an error for each rule that can never match, with the earlier rule that covers it."""
    for later, rule in enumerate(rules):
        for earlier in rules[:later]:
            if _takes_all(earlier, rule):
                at, before = place(("rules", rule.number)), place(("rules", earlier.number))
                yield ConfigurationError.of(
                    RULE_UNREACHABLE, place=at, name=rule.name, earlier=earlier.name, before=before
                )
                break


def _takes_all(one: Rule, other: Rule) -> bool:
    """Return whether ``one`` matches wherever ``other`` does."""
    subjects = _subjects(one)
    return (
        all(kind in subjects and subjects[kind].cover(names.patterns) for kind, names in _subjects(other).items())
        and (one.effect is None or (other.effect is not None and other.effect <= one.effect))
        and _is_weaker(one.server, other.server)
        and _is_weaker(one.view, other.view)
        and _is_weaker(one.principal, other.principal)
        and one.scopes <= other.scopes
        and (one.arguments is None or _same(one, other))
    )


_ALL = globs("*")


def _subjects(rule: Rule) -> Mapping[str, Globs]:
    if not rule.is_for_all:
        return {kind: names for kind, names in rule.named.items() if names is not None}
    return {"tools": _ALL} if rule.effect is not None or rule.arguments is not None else dict.fromkeys(rule.named, _ALL)


def _is_weaker(one: Globs | None, other: Globs | None) -> bool:
    return one is None or (other is not None and one.cover(other.patterns))


def _same(one: Rule, other: Rule) -> bool:
    return (
        one.arguments is not None
        and other.arguments is not None
        and one.arguments.definition == other.arguments.definition
    )


# -- rules that match no entry -----------------------------------------------------------------------------------------


class Inventory(Value, frozen=True):
    """All that a server has, for any caller."""

    tools: tuple[Tool, ...]
    resources: tuple[str, ...]
    templates: tuple[str, ...]
    prompts: tuple[str, ...]


async def inventory(provider: Provider, context: RequestContext) -> Inventory:
    return Inventory(
        await provider.list_tools(context),
        tuple(resource.uri for resource in await provider.list_resources(context)),
        tuple(template.uriTemplate for template in await provider.list_templates(context)),
        tuple(prompt.name for prompt in await provider.list_prompts(context)),
    )


def together(inventories: Sequence[Inventory]) -> Inventory:
    """Return all that several servers have."""
    return Inventory(
        tuple(tool for one in inventories for tool in one.tools),
        tuple(uri for one in inventories for uri in one.resources),
        tuple(uri for one in inventories for uri in one.templates),
        tuple(name for one in inventories for name in one.prompts),
    )


def unknown_references(rules: Rules, there: Inventory, place: Place) -> Iterator[ConfigurationError]:
    """Yield an error for each name, effect and argument in ``rules`` that no entry of the server has."""
    for rule in rules.here():
        unmatched = [*_unmatched(rule, there, place)]
        yield from unmatched or _mismatched(rule, there.tools, place)


def _unmatched(rule: Rule, there: Inventory, place: Place) -> Iterator[ConfigurationError]:
    existing = {
        "tools": [name for tool in there.tools for name in tool.names],
        "resources": [*there.resources, *map(uris_of, there.templates), f"{SCHEME}*"],
        "prompts": there.prompts,
    }
    return unmatched(rule, existing, place)


def unmatched(rule: Rule, existing: Mapping[str, Collection[str]], place: Place) -> Iterator[ConfigurationError]:
    """Yield an error for each pattern of the rule that matches none of the ``existing`` names of its kind."""
    for key in existing:
        names = rule.named[key]
        for pattern in names.patterns if names else ():
            if pattern != "*" and not any(globs([pattern]).meet(name) for name in existing[key]):
                at = place(("rules", rule.number, key))
                nearest = closest(pattern, existing[key])
                yield ConfigurationError.of(
                    RULE_PATTERN_MATCHES_NO_NAME, place=at, key=key, pattern=pattern, nearest=nearest
                )


def _mismatched(rule: Rule, tools: Sequence[Tool], place: Place) -> Iterator[ConfigurationError]:
    if rule.tools is not None and rule.effect is not None and "*" not in rule.tools.patterns:
        has = sorted({tool.effect for tool in tools if any(map(rule.tools.match, tool.names))})
        if rule.effect.isdisjoint(has):
            at = place(("rules", rule.number, "effect"))
            yield ConfigurationError.of(
                RULE_EFFECT_MATCHES_NO_TOOL, place=at, effect=", ".join(sorted(rule.effect)), has=", ".join(has)
            )
            return
    if rule.arguments is None:
        return
    properties = [_properties(tool) for tool in tools if not rule.stop_at(tool)]
    if not properties or None in properties:
        return  # a tool may accept arguments that it does not name
    arguments = {name for one in properties for name in one or ()}
    for name in constrained_arguments(rule.arguments.definition):
        if name not in arguments:
            at = place(("rules", rule.number, "arguments"))
            yield ConfigurationError.of(
                RULE_ARGUMENT_UNKNOWN, place=at, argument=name, nearest=closest(name, arguments)
            )


def _properties(tool: Tool) -> Collection[str] | None:
    """Return the arguments that a tool accepts; ``None`` if it may accept others."""
    schema = tool.definition.inputSchema
    properties = schema.get("properties")
    return properties if schema.get("additionalProperties") is False and is_object(properties) else None


_APPLICATORS = dialect_of(None).applicators


def constrained_arguments(schema: Any) -> Iterator[str]:
    """Yield the arguments that a schema constrains."""
    if not is_object(schema):
        return
    properties, required = schema.get("properties"), schema.get("required")
    yield from properties if is_object(properties) else ()
    yield from (name for name in required if isinstance(name, str)) if is_array(required) else ()
    for keyword, value in schema.items():
        if _APPLICATORS.get(keyword) == HERE:
            for _, inner in subschemas(keyword, value):
                yield from constrained_arguments(inner)


# -- rules that a call without the argument passes ---------------------------------------------------------------------


def lenient(rules: Iterable[Rule], tools: Sequence[Tool] | None, place: Place) -> Iterator[ConfigurationError]:
    """Yield notes on ``rules`` that constrain an argument without requiring it: calls without it match as well.

    ``tools`` are those of the server, if it is known: an argument that all tools of a rule require or fill in is never
    missing.
    """
    for rule in rules:
        there = None if tools is None else [tool for tool in tools if not rule.stop_at(tool)]
        schema = rule.arguments.definition if rule.arguments is not None else None
        reported: set[str] = set()
        for path in _missed(schema, frozenset()):
            name = str(path[-1])
            if name not in reported and not (there and all(_is_given(tool, name) for tool in there)):
                reported.add(name)
                at = place(("rules", rule.number, "arguments", *path))
                yield ConfigurationError.of(
                    RULE_MATCHES_ABSENT_ARGUMENT, place=at, name=rule.name, argument=name, then=rule.then
                )


def _missed(schema: Any, required: frozenset[str]) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of properties that are constrained, but that a value may leave out. Skips ``not`` and ``if``,
    where it is unknown which of both cases is meant."""
    if not is_object(schema):
        return
    required |= _required(schema)
    properties = schema.get("properties")
    for name, inner in properties.items() if is_object(properties) else ():
        if name not in required and inner not in (True, False, {}):
            yield ("properties", name)
    for keyword in ("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"):
        if keyword in schema:
            for path, inner in subschemas(keyword, schema[keyword]):
                present = _present_properties(schema, keyword, path)
                yield from ((*path, *rest) for rest in _missed(inner, required | present))


def _present_properties(schema: Mapping[str, Any], keyword: str, path: tuple[str | int, ...]) -> frozenset[str]:
    """Return the properties that a value has where that keyword of the schema applies to it."""
    if keyword == "dependentSchemas":
        return frozenset({str(path[-1])})
    return _required(schema.get("if")) if keyword == "then" else frozenset()


def _required(schema: Any) -> frozenset[str]:
    """Return the properties that every valid value has."""
    if not is_object(schema):
        return frozenset()
    names, parts = schema.get("required"), schema.get("allOf")
    own = frozenset(name for name in names if isinstance(name, str)) if is_array(names) else frozenset[str]()
    return own.union(*map(_required, parts)) if is_array(parts) else own


def _is_given(tool: Tool, name: str) -> bool:
    schema = tool.definition.inputSchema
    properties = schema.get("properties")
    filled_in = is_object(properties) and is_object(one := properties.get(name)) and "default" in one
    return filled_in or name in _required(schema)

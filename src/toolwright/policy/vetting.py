"""What is wrong with rules that can be read: they can never match, or match nothing that the server has.

Whatever is found is true; not everything is found: two earlier rules that take all of a later one only together are
not seen, and a ``*`` alone may match nothing.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from toolwright.errors import ConfigurationError
from toolwright.jsonrpc.messages import is_array, is_object
from toolwright.policy.globs import Globs, globs
from toolwright.policy.rules import Rule, Rules, uris_of
from toolwright.protocol.schema.dialects import HERE, dialect_of, subschemas
from toolwright.protocol.types import Value
from toolwright.tools.keeping import SCHEME
from toolwright.tools.toolset import Provider, RequestContext, Tool

__all__ = ["Inventory", "astray", "closest", "dead", "inventory", "judged"]

Place: TypeAlias = Callable[[tuple[str | int, ...]], str]
"""``FILE:LINE`` of what stands there."""


# -- rules that an earlier one makes useless ---------------------------------------------------------------------------


def dead(rules: Sequence[Rule], place: Place) -> Iterator[ConfigurationError]:
    """The rules that can never match, each with the rule that takes all that it would."""
    for later, rule in enumerate(rules):
        for earlier in rules[:later]:
            if _takes_all(earlier, rule):
                at, before = place(("rules", rule.number)), place(("rules", earlier.number))
                yield ConfigurationError.of("TW4303", place=at, name=rule.name, earlier=earlier.name, before=before)
                break


def _takes_all(one: Rule, other: Rule) -> bool:
    """Whether ``one`` matches wherever ``other`` does."""
    subjects = _subjects(one)
    return (
        all(kind in subjects and subjects[kind].cover(names.patterns) for kind, names in _subjects(other).items())
        and (one.effect is None or (other.effect is not None and other.effect <= one.effect))
        and _is_weaker(one.server, other.server)
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


# -- rules that match nothing there is ---------------------------------------------------------------------------------


class Inventory(Value, frozen=True):
    """What a server has, for whomever."""

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


def astray(rules: Rules, there: Inventory, place: Place) -> Iterator[ConfigurationError]:
    """The names, effects and arguments in ``rules`` that nothing on the server has."""
    for rule in rules.here():
        unmatched = [*_unmatched(rule, there, place)]
        yield from unmatched or _mismatched(rule, there.tools, place)


def _unmatched(rule: Rule, there: Inventory, place: Place) -> Iterator[ConfigurationError]:
    known = {
        "tools": [tool.name for tool in there.tools],
        "resources": [*there.resources, *map(uris_of, there.templates), f"{SCHEME}*"],
        "prompts": there.prompts,
    }
    for key, names in rule.named.items():
        for pattern in names.patterns if names else ():
            if pattern != "*" and not any(globs([pattern]).meet(name) for name in known[key]):
                at = place(("rules", rule.number, key))
                nearest = closest(pattern, known[key])
                yield ConfigurationError.of("TW4304", place=at, key=key, pattern=pattern, nearest=nearest)


def _mismatched(rule: Rule, tools: Sequence[Tool], place: Place) -> Iterator[ConfigurationError]:
    if rule.tools is not None and rule.effect is not None and "*" not in rule.tools.patterns:
        has = sorted({tool.effect for tool in tools if rule.tools.match(tool.name)})
        if rule.effect.isdisjoint(has):
            at = place(("rules", rule.number, "effect"))
            yield ConfigurationError.of("TW4305", place=at, effect=", ".join(sorted(rule.effect)), has=", ".join(has))
            return
    if rule.arguments is None:
        return
    properties = [_properties(tool) for tool in tools if not rule.stop_at(tool)]
    if not properties or None in properties:
        return  # whatever it is called: there may be a tool that takes it
    known = {name for one in properties for name in one or ()}
    for name in judged(rule.arguments.definition):
        if name not in known:
            at = place(("rules", rule.number, "arguments"))
            yield ConfigurationError.of("TW4306", place=at, argument=name, nearest=closest(name, known))


def _properties(tool: Tool) -> Collection[str] | None:
    """The arguments that a tool takes; ``None`` where it may take others."""
    schema = tool.definition.inputSchema
    properties = schema.get("properties")
    return properties if schema.get("additionalProperties") is False and is_object(properties) else None


_APPLICATORS = dialect_of(None).applicators


def judged(schema: Any) -> Iterator[str]:
    """The arguments that a schema says something about."""
    if not is_object(schema):
        return
    properties, required = schema.get("properties"), schema.get("required")
    yield from properties if is_object(properties) else ()
    yield from (name for name in required if isinstance(name, str)) if is_array(required) else ()
    for keyword, value in schema.items():
        if _APPLICATORS.get(keyword) == HERE:
            for _, inner in subschemas(keyword, value):
                yield from judged(inner)


def closest(word: str, options: Collection[str], count: int = 5) -> str:
    """What may have been meant, for a sentence: the likeliest first; without any that is like it, the first ones."""
    likely = difflib.get_close_matches(word, sorted(options)[:2000], n=count, cutoff=0.6)
    shown = likely or sorted(options)[:count]
    rest = "" if likely or len(options) <= count else ", …"
    return ", ".join(shown) + rest if shown else "-"

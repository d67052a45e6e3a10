"""Several tools in one, selected by an argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.jsonrpc.messages import is_array
from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.language import words
from tooltrue_check.lexicon.verbs import READS, VERBS
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_SWITCHES: Final = frozenset(word_list("switches"))


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.arguments:
        if _SWITCHES.isdisjoint(one.name_words[-1:]):
            continue
        actions = _actions(one)
        others = [other for other in tool.arguments if other is not one and not other.required]
        if len(actions) < 2 or len(others) < 2:
            continue
        facts = {"name": one.name, "actions": ", ".join(actions)}
        if any(_speaks_of(other, actions) for other in others):
            yield Problem((*one.path, "enum"), facts)
        elif _reads_and_writes(actions):
            yield Problem((*one.path, "enum"), facts, Level.HINT)


def _reads_and_writes(actions: list[str]) -> bool:
    first = {words(action)[0] for action in actions}
    return not READS.isdisjoint(first) and not first <= READS


def _actions(one: ToolParameter) -> list[str]:
    """The values of the switch that are verbs, if most of them are."""
    options = one.schema.get("enum")
    values = [value for value in options if isinstance(value, str)] if is_array(options) else []
    verbs = [value for value in values if (value_words := words(value)) and value_words[0] in VERBS]
    return verbs if 2 * len(verbs) > len(values) else []


def _speaks_of(other: ToolParameter, actions: list[str]) -> bool:
    """Whether a parameter declares that it belongs to some of the actions only."""
    text = other.text.plain
    return any(f"{sign}{action.casefold()}{sign}" in text for action in actions for sign in ("'", '"', "`")) or any(
        f"{before}{action.casefold()}" in text
        for action in actions
        for before in ("for ", "when ", "only ", "=", "仅", "用于")
    )

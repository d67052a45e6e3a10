"""Rule cards: the texts of a rule in both languages, its evidence, its exceptions and examples.

A card is a file beside the rule, ``rules/NAME.toml``; the pages on the rules are generated from the cards.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from tooltrue.jsonrpc.messages import Json, decode, is_array

__all__ = ["RULES", "Card", "Evidence", "Example", "Level", "Words", "cards"]

RULES: Final = Path(__file__).with_name("rules")


class Level(Enum):
    ERROR = "error"
    """Certainly wrong: a client or a model will refuse or misread it."""
    WARNING = "warning"
    """Nearly always a fault."""
    HINT = "hint"
    """Possibly worth a thought."""

    rank: int
    """Higher is worse."""

    def __init__(self, word: str) -> None:
        self.rank = ("hint", "warning", "error").index(word)

    __hash__ = object.__hash__  # each member exists once, and findings are counted by it


@dataclass(frozen=True, slots=True)
class Evidence:
    """A measured effect. ``confidence``: ``measured`` (by us), ``read`` (the whole paper), ``abstract``, ``vendor``
    (with something to sell), ``secondhand``, or ``protocol`` (required by the specification)."""

    effect: Mapping[str, str]
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Words:
    """The texts in one language. ``says`` and ``instead`` are templates: the facts of a problem fill the braces."""

    title: str
    says: str
    why: str
    instead: str
    not_when: str


@dataclass(frozen=True, slots=True)
class Example:
    """Tools that a model sees together, of which the first is judged, and the name of the server of each.

    ``bad``: the rule reports a problem.
    """

    language: str
    bad: bool
    tools: tuple[Mapping[str, Json], ...]
    servers: tuple[str, ...]

    @property
    def server(self) -> str:
        """The server of the tool that is judged."""
        return self.servers[0]


@dataclass(frozen=True, slots=True)
class Card:
    """The card of a rule. ``also``: codes of sentences owned by the runtime, for findings that this rule only passes
    on."""

    name: str
    code: str
    also: tuple[str, ...]
    level: Level
    group: str
    words: Mapping[str, Words]
    evidence: tuple[Evidence, ...]
    examples: tuple[Example, ...]


@functools.cache
def cards() -> Mapping[str, Card]:
    """The card of each rule, by the name of the rule, in the order of their codes."""
    unsorted = (_card(path) for path in RULES.glob("*.toml"))
    return {card.name: card for card in sorted(unsorted, key=lambda card: card.code)}


def _card(path: Path) -> Card:
    fields = tomllib.loads(path.read_text("utf-8"))
    return Card(
        name=path.stem,
        code=fields["code"],
        also=tuple(fields.get("also", ())),
        level=Level(fields["level"]),
        group=fields["group"],
        words={language: Words(**fields[language]) for language in ("en", "zh")},
        evidence=tuple(_evidence(row) for row in fields["evidence"]),
        examples=tuple(_example(row) for row in fields["example"]),
    )


def _evidence(row: Mapping[str, Any]) -> Evidence:
    return Evidence({"en": row["en"], "zh": row["zh"]}, row["source"], row["confidence"])


def _example(row: Mapping[str, Any]) -> Example:
    definitions = decode(row["tools"].encode())
    tools = tuple(definitions) if is_array(definitions) else (definitions,)
    servers = row.get("servers") or [row.get("server", "server")] * len(tools)
    return Example(row["language"], row["bad"], tools, tuple(servers))

"""What a rule says of itself: its words in both languages, what it rests on, when it does not apply, and examples.

A card is a file beside the rule, ``rules/NAME.toml``; the pages on the rules are made of them.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from toolwright.jsonrpc.messages import Json, decode, is_array

__all__ = ["RULES", "Card", "Evidence", "Example", "Level", "Words", "cards"]

RULES: Final = Path(__file__).with_name("rules")


class Level(Enum):
    ERROR = "error"
    """It is wrong, for certain: somebody will refuse or misread it."""
    WARNING = "warning"
    """It is a fault, nearly always."""
    HINT = "hint"
    """It may be worth a thought."""

    rank: int
    """More is worse."""

    def __init__(self, word: str) -> None:
        self.rank = ("hint", "warning", "error").index(word)

    __hash__ = object.__hash__  # each is there once, and findings are counted by it


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured. ``confidence``: ``measured`` (by us), ``read`` (the whole paper), ``abstract``, ``vendor`` (it
    sells something), ``secondhand``, or ``protocol`` (the specification says so)."""

    effect: Mapping[str, str]
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Words:
    """In one language: ``says`` of a problem and ``instead``, with the facts of the problem in braces."""

    title: str
    says: str
    why: str
    instead: str
    not_when: str


@dataclass(frozen=True, slots=True)
class Example:
    """Tools that stand on one shelf, of which the first is judged, and what the server of each is called.

    ``bad``: the rule finds something.
    """

    language: str
    bad: bool
    tools: tuple[Mapping[str, Json], ...]
    servers: tuple[str, ...]

    @property
    def server(self) -> str:
        """That of the tool that is judged."""
        return self.servers[0]


@dataclass(frozen=True, slots=True)
class Card:
    """``also``: codes of sentences that others own, for what the runtime finds and this rule only passes on."""

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
    found = (_card(path) for path in RULES.glob("*.toml"))
    return {card.name: card for card in sorted(found, key=lambda card: card.code)}


def _card(path: Path) -> Card:
    said = tomllib.loads(path.read_text("utf-8"))
    return Card(
        name=path.stem,
        code=said["code"],
        also=tuple(said.get("also", ())),
        level=Level(said["level"]),
        group=said["group"],
        words={language: Words(**said[language]) for language in ("en", "zh")},
        evidence=tuple(_evidence(row) for row in said["evidence"]),
        examples=tuple(_example(row) for row in said["example"]),
    )


def _evidence(row: Mapping[str, Any]) -> Evidence:
    return Evidence({"en": row["en"], "zh": row["zh"]}, row["source"], row["confidence"])


def _example(row: Mapping[str, Any]) -> Example:
    said = decode(row["tools"].encode())
    tools = tuple(said) if is_array(said) else (said,)
    servers = row.get("servers") or [row.get("server", "server")] * len(tools)
    return Example(row["language"], row["bad"], tools, tuple(servers))

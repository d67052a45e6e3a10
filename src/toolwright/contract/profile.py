"""What clients and providers accept of a definition: facts as data, one file each in ``profiles/``.

A fact has a source and a date: when that was written, or else when it was looked up. ``verified`` says that it was read
there; otherwise it is only believed. A setting that no fact speaks of is the one that restricts nothing.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from toolwright.errors import ConfigurationError

__all__ = ["Fact", "Profile", "known", "profile"]

_FOLDER = Path(__file__).with_name("profiles")


@dataclass(frozen=True, slots=True)
class Fact:
    """Where something is known from. ``of`` names the settings that it is about."""

    of: tuple[str, ...]
    says: str
    source: str
    date: date
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What one client or provider accepts."""

    name: str
    title: str
    kind: str
    facts: tuple[Fact, ...]

    name_characters: str
    """What a name may hold, as a class of a pattern without its brackets."""
    name_first: str = ""
    """What it may begin with, where that is less."""
    name_length: int
    name_template: str = ""
    """How a client makes a name of a server and a tool."""
    name_is_mended: bool = False
    """A client writes ``_`` for other characters itself."""
    name_is_left_out: bool = False
    """A tool whose name is too long is left out, and the others are there."""

    description_length: int | None = None
    description_is_cut: bool = False
    """It is cut there, rather than refused."""

    tools: int | None = None
    """How many there may be at once."""
    definition_tokens: int | None = None
    """From how many tokens of definitions on a model does not get them all at once."""
    result_tokens: int | None = None

    refused: frozenset[str] = frozenset()
    """Keywords of a schema that make it refuse the whole."""
    references: bool = True
    type_lists: bool = True
    const: bool = True
    text_enums: bool = False
    """Values of an enum have to be strings."""
    items_needed: bool = False
    """An array has to say what it is made of."""
    types_needed: bool = False
    """Every schema has to have a type, or alternatives that have one."""
    type_beside_alternatives: bool = True
    top_level_alternatives: bool = True
    """A schema may have anyOf and the like at its top."""

    @property
    def is_client(self) -> bool:
        """Whether it speaks to servers itself, and to a model for them; otherwise it is what a client speaks to."""
        return self.kind == "client"

    def knows(self, *settings: str) -> bool:
        """Whether each fact about these settings was read at its source."""
        return all(one.verified for one in self.facts if not {*settings}.isdisjoint(one.of))

    @property
    def is_verified(self) -> bool:
        """Whether each of its facts was read at its source."""
        return all(one.verified for one in self.facts)


@functools.cache
def known() -> tuple[str, ...]:
    """The names of the profiles there are."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@functools.cache
def profile(name: str) -> Profile:
    """The profile of that name. ``ConfigurationError`` says which there are."""
    if name not in known():
        raise ConfigurationError.of("TW9008", name=name, known=", ".join(known()))
    said = tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))
    facts = tuple(map(_fact, said.pop("fact", ())))
    refused = frozenset(said.pop("refused", ()))
    return Profile(name=name, facts=facts, refused=refused, **said)


def _fact(row: Mapping[str, Any]) -> Fact:
    return Fact(tuple(row["of"]), row["says"], row["source"], row["date"], row["verified"])


SETTINGS = frozenset(one.name for one in fields(Profile)) - {"name", "title", "kind", "facts"}
"""What a fact can be about."""

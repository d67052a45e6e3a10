"""The limits of clients and providers on definitions: facts as data, one file each in ``profiles/``.

A fact has a source and the date on which that was written or else looked up. ``verified`` means that the fact was read
there; otherwise it is only believed. A setting without a fact is unrestricted.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from tooltrue.contract.wording import UNKNOWN_CLIENT_PROFILE
from tooltrue.errors import ConfigurationError

__all__ = ["Fact", "Profile", "profile", "profile_names"]

_FOLDER = Path(__file__).with_name("profiles")


@dataclass(frozen=True, slots=True)
class Fact:
    """The source of a piece of knowledge. ``of`` names the settings that it concerns."""

    of: tuple[str, ...]
    says: str
    source: str
    date: date
    verified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The limits of one client or provider."""

    name: str
    title: str
    kind: str
    facts: tuple[Fact, ...]

    name_characters: str
    """Allowed characters of a name, as a regex character class without its brackets."""
    name_first: str = ""
    """Allowed first characters, if there are fewer."""
    name_length: int
    name_template: str = ""
    """Format by which a client builds a name from a server and a tool."""
    name_is_mended: bool = False
    """Whether the client itself replaces other characters by ``_``."""
    name_is_left_out: bool = False
    """Whether a tool with too long a name is left out and the others are kept."""

    description_length: int | None = None
    description_is_cut: bool = False
    """Whether a long description is cut rather than refused."""

    tools: int | None = None
    """Maximum number of tools at once."""
    definition_tokens: int | None = None
    """Number of tokens of definitions from which a model no longer gets all of them at once."""
    result_tokens: int | None = None

    refused: frozenset[str] = frozenset()
    """Keywords that make the provider refuse the whole schema."""
    references: bool = True
    type_lists: bool = True
    const: bool = True
    text_enums: bool = False
    """Whether enum values have to be strings."""
    items_needed: bool = False
    """Whether an array has to declare its items."""
    types_needed: bool = False
    """Whether every schema needs a type, or alternatives that have one."""
    type_beside_alternatives: bool = True
    top_level_alternatives: bool = True
    """Whether a schema may have ``anyOf`` and the like at its top level."""

    @property
    def is_client(self) -> bool:
        """Whether this is a client, which speaks to servers itself and to a model for them; otherwise it is a provider,
        to which clients speak."""
        return self.kind == "client"

    def knows(self, *settings: str) -> bool:
        """Whether every fact about these settings was read at its source."""
        return all(one.verified for one in self.facts if not {*settings}.isdisjoint(one.of))

    @property
    def is_verified(self) -> bool:
        """Whether every fact was read at its source."""
        return all(one.verified for one in self.facts)


@functools.cache
def profile_names() -> tuple[str, ...]:
    """The names of the available profiles."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@functools.cache
def profile(name: str) -> Profile:
    """Load the profile of this name. ``ConfigurationError`` with the known names if there is no such profile."""
    if name not in profile_names():
        raise ConfigurationError.of(UNKNOWN_CLIENT_PROFILE, name=name, known=", ".join(profile_names()))
    data = tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))
    facts = tuple(map(_fact, data.pop("fact", ())))
    refused = frozenset(data.pop("refused", ()))
    return Profile(name=name, facts=facts, refused=refused, **data)


def _fact(row: Mapping[str, Any]) -> Fact:
    return Fact(tuple(row["of"]), row["says"], row["source"], row["date"], row["verified"])


SETTINGS = frozenset(one.name for one in fields(Profile)) - {"name", "title", "kind", "facts"}
"""The settings that a fact can concern."""

"""Everything that a server publishes, and its digest: hosts compare a server with what was approved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self, TypeAlias

from tooltrue.caching import cache_short_texts
from tooltrue.contract.digests import Definition, definition_of, digest, fields
from tooltrue.contract.wording import DEFINITION_WITHOUT_NAME, DUPLICATE_DEFINITION_NAME
from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import Prompt, ResourceDefinition, ResourceTemplate, ToolDefinition, Value, field

__all__ = ["Contract", "Path", "place"]

Path: TypeAlias = tuple[str | int, ...]


def _as_json(
    definition: ToolDefinition | ResourceDefinition | ResourceTemplate | Prompt | Definition,
) -> dict[str, Json]:
    return definition if isinstance(definition, dict) else definition_of(definition)


def place(path: Path) -> str:
    """Format a path as a complete JSON path, ``$.tools.add["a b"][0]``, with invisible characters escaped."""
    return "$" + "".join([f"[{step}]" if isinstance(step, int) else _step(step) for step in path])


@cache_short_texts(4096)  # most paths are of the same few keywords and names
def _step(step: str) -> str:
    return f".{step}" if re.fullmatch(r"[A-Za-z0-9_$-]+", step) else f"[{json.dumps(step)}]"


class Contract(Value, frozen=True):
    """Everything a server publishes: its instructions, and each definition in full, by its name or URI."""

    tools: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    instructions: str | None = None
    prompts: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    resources: Mapping[str, Definition] = field(default_factory=dict[str, Definition])

    @classmethod
    def of(
        cls,
        tools: Iterable[ToolDefinition | Definition],
        instructions: str | None = None,
        *,
        prompts: Iterable[Prompt | Definition] = (),
        resources: Iterable[ResourceDefinition | ResourceTemplate | Definition] = (),
    ) -> Self:
        """Build the contract from a server's lists. ``DefinitionError`` if a name occurs twice or is missing."""
        return cls(
            _by_name(map(definition_of, tools)),
            instructions,
            _by_name(map(definition_of, prompts)),
            _by_name(map(definition_of, resources), _ADDRESSES),
        )

    @classmethod
    def as_listed(
        cls,
        tools: Iterable[ToolDefinition | Definition],
        instructions: str | None = None,
        *,
        prompts: Iterable[Prompt | Definition] = (),
        resources: Iterable[ResourceDefinition | ResourceTemplate | Definition] = (),
    ) -> Self:
        """Build the contract from lists that are to be judged as they are: the second definition of a name is stored
        under ``name#2``, and the fifth definition of the list, if it has no name, under ``#5``. Definitions that are
        plain JSON already are not copied."""
        return cls(
            _by_number(map(_as_json, tools)),
            instructions,
            _by_number(map(_as_json, prompts)),
            _by_number(map(_as_json, resources), _ADDRESSES),
        )

    def sections(self) -> tuple[tuple[str, Mapping[str, Definition]], ...]:
        """The definitions by section: ``tools``, ``prompts``, ``resources``."""
        return (("tools", self.tools), ("prompts", self.prompts), ("resources", self.resources))

    def data(self) -> dict[str, Json]:
        """The contract as JSON. ``tools`` is always present, other sections only if they are not empty."""
        data: dict[str, Json] = {"tools": {name: dict(self.tools[name]) for name in sorted(self.tools)}}
        for section, entries in (("prompts", self.prompts), ("resources", self.resources)):
            if entries:
                data[section] = {name: dict(entries[name]) for name in sorted(entries)}
        return data if self.instructions is None else {"instructions": self.instructions, **data}

    def hashes(self) -> dict[str, str]:
        """The digest of each field, by its JSON path, such as ``$.tools.add.description``."""
        data = self.data()
        digests = {place((name,)): digest(value) for name, value in data.items() if name == "instructions"}
        for section in ("tools", "prompts", "resources"):
            for name, definition in data.get(section, {}).items():
                digests |= {
                    place((section, name, one)): field_digest for one, field_digest in fields(definition).items()
                }
        return digests

    @property
    def pin(self) -> str:
        """The digest of the contract as a whole."""
        return digest(self.hashes())


_NAMES: Final = ("name",)
_ADDRESSES: Final = ("uri", "uriTemplate", "name")


def _by_name(definitions: Iterable[dict[str, Json]], name_keys: Sequence[str] = _NAMES) -> dict[str, Definition]:
    by_name: dict[str, Definition] = {}
    for number, definition in enumerate(definitions, 1):
        name = _name(definition, name_keys)
        if name is None:
            raise DefinitionError.of(DEFINITION_WITHOUT_NAME, number=number)
        if name in by_name:
            raise DefinitionError.of(
                DUPLICATE_DEFINITION_NAME, name=name, first=[*by_name].index(name) + 1, second=number
            )
        by_name[name] = definition
    return by_name


def _by_number(definitions: Iterable[dict[str, Json]], name_keys: Sequence[str] = _NAMES) -> dict[str, Definition]:
    by_key: dict[str, Definition] = {}
    last: dict[str, int] = {}
    for number, definition in enumerate(definitions, 1):
        key = name = _name(definition, name_keys) or f"#{number}"
        while key in by_key:
            last[name] = last.get(name, 1) + 1
            key = f"{name}#{last[name]}"
        by_key[key] = definition
    return by_key


def _name(definition: Definition, name_keys: Sequence[str]) -> str | None:
    name = next((value for key in name_keys if (value := definition.get(key))), None)
    return name if isinstance(name, str) else None

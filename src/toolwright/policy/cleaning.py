"""A walk through what leaves: every string of it without what hides, and with masks for secrets.

What is clean comes back itself. Keys are never rewritten, for they are what programs read by: a key that would have to
be is refused, and so is what it stands in.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from toolwright.errors import InvalidResult
from toolwright.jsonrpc.messages import is_array, is_object
from toolwright.policy.scan import Suspicion
from toolwright.policy.secrets import masked
from toolwright.protocol.characters import cleaned
from toolwright.protocol.types import AudioContent, BlobResource, ImageContent, Part, is_part, replaced

__all__ = ["CLEANED", "Sweep"]

CLEANED = "toolwright/cleaned"
"""The key of ``_meta`` under which a result says what was cleaned."""

PartT = TypeVar("PartT", bound=Part)

# base64 has nothing that hides, and what it holds is no text
_DIGITS: dict[type, str] = {ImageContent: "data", AudioContent: "data", BlobResource: "blob"}


@dataclass
class Sweep:
    """One walk, and what it found: characters by kind, masks, and what was left out."""

    suspicion: Suspicion
    hidden: dict[str, int] = field(default_factory=dict[str, int])
    secrets: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])

    def text(self, text: str) -> str:
        clean = cleaned(text, self.hidden) if self.suspicion.hidden else text
        clean = masked(clean, self.suspicion.shapes, self.secrets)
        return text if clean == text else clean

    def value(self, value: Any) -> Any:
        """A JSON value, or a part of the protocol. ``InvalidResult`` for a key that is not clean."""
        if isinstance(value, str):
            return self.text(value)
        if is_object(value):
            clean = {self._key(key): self.value(inner) for key, inner in value.items()}
            return value if all(map(operator.is_, value.values(), clean.values())) else clean
        if is_array(value):
            items = list(map(self.value, value))
            return value if all(map(operator.is_, value, items)) else items
        return self.part(value) if is_part(value) else value

    def _key(self, key: str) -> str:
        if self.text(key) is not key:
            raise InvalidResult(f"a key that hides something, or holds a secret: {ascii(key)[:80]}")
        return key

    def part(self, part: PartT) -> PartT:
        """A part of the protocol: a block, a message, a link."""
        fields = {name: getattr(part, name) for name in part.__struct_fields__ if name != _DIGITS.get(type(part))}
        clean = self.value(fields)
        return part if clean is fields else replaced(part, **clean)

    def note(self, meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """``_meta`` with a word on what was cleaned; itself where nothing was."""
        said = {**self.hidden, "secrets": self.secrets, "left out": self.left_out}
        said = {name: value for name, value in said.items() if value}
        return {**(meta or {}), CLEANED: said} if said else None if meta is None else dict(meta)

    def said(self) -> str:
        """What was found, in words."""
        kinds = [f"hidden characters ({', '.join(sorted(self.hidden))})"] if self.hidden else []
        return " and ".join([*kinds, *(["secrets"] if self.secrets else [])])

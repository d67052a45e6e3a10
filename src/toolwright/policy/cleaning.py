"""A walk through what leaves: every string of it without what hides, and with masks for secrets.

What is clean comes back itself. Keys are never rewritten, for they are what programs read by: a key that would have to
be is refused, and so is what it stands in.
"""

from __future__ import annotations

import base64
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard, TypeVar

from toolwright.errors import InvalidResult, RpcError
from toolwright.jsonrpc.messages import decode, encode
from toolwright.policy import personal
from toolwright.policy.blobs import encoded_text
from toolwright.policy.scan import Suspicion, suspected
from toolwright.policy.secrets import masked, masked_member
from toolwright.protocol.characters import cleaned
from toolwright.protocol.types import UNSET, AudioContent, BlobResource, ImageContent, Part, is_part, replaced

__all__ = ["CLEANED", "Sweep"]

CLEANED = "toolwright/cleaned"
"""The key of ``_meta`` under which a result says what was cleaned."""

PartT = TypeVar("PartT", bound=Part)

# base64 has nothing that hides; what a blob holds may be text all the same
_DIGITS: dict[type, str] = {ImageContent: "data", AudioContent: "data", BlobResource: "blob"}


@dataclass
class Sweep:
    """One walk, and what it found: characters by kind, masks, and what was left out."""

    suspicion: Suspicion
    hidden: dict[str, int] = field(default_factory=dict[str, int])
    secrets: list[str] = field(default_factory=list[str])
    personal: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])
    slices: dict[str, str] = field(default_factory=dict[str, str])
    """Texts that hold a part of a secret, each with what stands in its place."""

    def text(self, text: str) -> str:
        shapes, clean = self.suspicion.shapes, self.slices.get(text, text)
        if self.suspicion.hidden and (clean := cleaned(clean, self.hidden)) != text and self.suspicion.masks:
            shapes = suspected(clean.encode(errors="replace"))  # what stood apart stands together now
        clean = masked(clean, shapes, self.secrets)
        if self.suspicion.personal:
            clean = personal.masked(clean, self.personal)
        return text if clean == text else clean

    def value(self, value: Any) -> Any:
        """What is written as JSON, or a part of the protocol. ``InvalidResult`` for a key that is not clean."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or value is UNSET or isinstance(value, bool | int | float):
            return value
        if _is_object(value):
            clean = {self._key(key): self._member(key, inner) for key, inner in value.items()}
            return value if all(map(operator.is_, value.values(), clean.values())) else clean
        if _is_row(value):
            items = list(map(self.value, value))
            return value if all(map(operator.is_, value, items)) else items
        return self.part(value) if is_part(value) else self._encoded(value)

    def _member(self, name: str, value: Any) -> Any:
        clean = self.value(value)
        return masked_member(name, clean, self.suspicion.shapes, self.secrets) if isinstance(clean, str) else clean

    def _encoded(self, value: Any) -> Any:
        """What becomes JSON only where it is encoded: a set, a dataclass, a date."""
        try:
            plain = decode(encode(value))
        except RpcError as error:
            raise InvalidResult(f"the result is not JSON: {error}") from None
        clean = self.value(plain)
        return value if clean is plain else clean

    def _key(self, key: str) -> str:
        if (clean := self.text(key)) is not key:
            raise InvalidResult(f"a key that hides something, or holds a secret: {ascii(clean)[:80]}")
        return key

    def part(self, part: PartT) -> PartT:
        """A part of the protocol: a block, a message, a link."""
        fields = {name: getattr(part, name) for name in part.__struct_fields__ if name != _DIGITS.get(type(part))}
        clean = self.value(fields)
        if isinstance(part, BlobResource) and (blob := self._blob(part.blob)) != part.blob:
            clean = {**clean, "blob": blob}
        return part if clean is fields else replaced(part, **clean)

    def _blob(self, digits: str) -> str:
        """Text in base64 with masks in it. What hides in it stays: bytes are a file's own."""
        if (found := encoded_text(digits)) is None:
            return digits
        text, encoding = found
        clean = masked(text, self.suspicion.shapes, self.secrets)
        return digits if clean == text else base64.b64encode(clean.encode(encoding)).decode()

    def note(self, meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """``_meta`` with a word on what was cleaned; itself where nothing was."""
        said = {**self.hidden, "secrets": self.secrets, "personal": self.personal, "left out": self.left_out}
        said = {name: value for name, value in said.items() if value}
        return {**(meta or {}), CLEANED: said} if said else None if meta is None else dict(meta)

    def said(self) -> str:
        """What was found, in words."""
        kinds = [f"hidden characters ({', '.join(sorted(self.hidden))})"] if self.hidden else []
        kinds += ["secrets"] if self.secrets else []
        return " and ".join([*kinds, *(["personal data"] if self.personal else [])])


def _is_row(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)  # pyright: ignore[reportUnknownVariableType]

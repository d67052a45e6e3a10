"""Output cleaning: removes hidden characters from every string of a value, and masks secrets.

A clean value is returned as the same object. Keys are never rewritten, because programs read by them: a key that would
need it is refused, together with the value that contains it.
"""

from __future__ import annotations

import base64
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

from tooltrue.errors import InvalidResult, RpcError
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.policy.sanitize import personal_data
from tooltrue.policy.sanitize.blobs import encoded_text
from tooltrue.policy.sanitize.prescan import PrescanResult, suspected
from tooltrue.policy.sanitize.secrets import mask_member, mask_secrets
from tooltrue.protocol.characters import cleaned
from tooltrue.protocol.types import (
    UNSET,
    AudioContent,
    BlobResource,
    ImageContent,
    Mutable,
    Part,
    field,
    is_part,
    replaced,
)
from tooltrue.tools.vocabulary import CLEANED

__all__ = ["Redactor"]

PartT = TypeVar("PartT", bound=Part)

# base64 hides no characters; but a blob may contain text
_DIGITS: dict[type, str] = {ImageContent: "data", AudioContent: "data", BlobResource: "blob"}


class Redactor(Mutable, eq=False):
    """One walk through a value, and its findings: characters by kind, masks, and parts that were left out."""

    suspicion: PrescanResult
    hidden: dict[str, int] = field(default_factory=dict[str, int])
    secrets: list[str] = field(default_factory=list[str])
    personal: list[str] = field(default_factory=list[str])
    left_out: list[str] = field(default_factory=list[str])
    slices: dict[str, str] = field(default_factory=dict[str, str])
    """Texts that hold a part of a secret, each with its replacement."""

    def text(self, text: str) -> str:
        patterns, clean = self.suspicion.patterns, self.slices.get(text, text)
        if self.suspicion.hidden and (clean := cleaned(clean, self.hidden)) != text and self.suspicion.masks:
            patterns = suspected(clean.encode(errors="replace"))  # removing hidden characters may have joined a secret
        clean = mask_secrets(clean, patterns, self.secrets)
        if self.suspicion.personal:
            clean = personal_data.mask_personal(clean, self.personal)
        return text if clean == text else clean

    def value(self, value: Any) -> Any:
        """Clean a JSON value, or a part of the protocol. ``InvalidResult`` for a key that is not clean."""
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
        return mask_member(name, clean, self.suspicion.patterns, self.secrets) if isinstance(clean, str) else clean

    def _encoded(self, value: Any) -> Any:
        """Clean a value that becomes JSON only when it is encoded: a set, a dataclass, a date."""
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
        """Clean a part of the protocol: a block, a message, a link."""
        fields = {name: getattr(part, name) for name in part.__struct_fields__ if name != _DIGITS.get(type(part))}
        clean = self.value(fields)
        if isinstance(part, BlobResource) and (blob := self._blob(part.blob)) != part.blob:
            clean = {**clean, "blob": blob}
        return part if clean is fields else replaced(part, **clean)

    def _blob(self, digits: str) -> str:
        """Mask secrets in text in base64. Hidden characters stay: bytes are a file's own."""
        if (decoded := encoded_text(digits)) is None:
            return digits
        text, encoding = decoded
        clean = mask_secrets(text, self.suspicion.patterns, self.secrets)
        return digits if clean == text else base64.b64encode(clean.encode(encoding)).decode()

    def note(self, meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return ``_meta`` with a summary of the cleaning, or an equal copy if there were no findings."""
        findings = {**self.hidden, "secrets": self.secrets, "personal": self.personal, "left out": self.left_out}
        findings = {name: value for name, value in findings.items() if value}
        return {**(meta or {}), CLEANED: findings} if findings else None if meta is None else dict(meta)

    def summary(self) -> str:
        """Describe the findings in words."""
        kinds = [f"hidden characters ({', '.join(sorted(self.hidden))})"] if self.hidden else []
        kinds += ["secrets"] if self.secrets else []
        return " and ".join([*kinds, *(["personal data"] if self.personal else [])])


def _is_row(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)  # pyright: ignore[reportUnknownVariableType]

"""Stored results: text or bytes that a tool hands out by reference, stored for the caller, for a while, behind a URI.

A result that is too large for one answer becomes a link; the caller reads it, in parts, as a resource. To all other
callers the URI does not exist.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.types import ResourceLink, Value

__all__ = ["CHUNK_BYTES", "SCHEME", "Chunk", "ReadStored", "StoredContent", "StoredResult", "chunks_of"]

SCHEME = "kept:"
CHUNK_BYTES = 524_288
"""The size of one part in bytes: as JSON it stays below the limit of a result."""


class StoredResult(Value, frozen=True):
    """One stored result. ``is_text``: its bytes are UTF-8."""

    link: ResourceLink
    data: bytes
    is_text: bool
    seconds: float

    @classmethod
    def of(
        cls, value: object, name: str, mime_type: str | None, description: str | None, seconds: float
    ) -> StoredResult:
        """Store text as text, bytes as bytes, and any other value, which has to be plain, as JSON."""
        match value:
            case str():
                data, default = value.encode(errors="replace"), "text/plain"
            case bytes():
                data, default = value, "application/octet-stream"
            case _:
                data, default = encode(value), "application/json"
        uri = SCHEME + secrets.token_urlsafe(16)
        link = ResourceLink(uri, name, None, description, mime_type or default, len(data))
        return cls(link, data, not isinstance(value, bytes), seconds)

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> StoredResult:
        """Return one that another process of ours has encoded as JSON."""
        link = packed["link"]
        made = ResourceLink(link["uri"], link["name"], mimeType=link.get("mimeType"), size=link.get("size"))
        return cls(made, base64.b64decode(packed["data"]), packed["is_text"], packed["seconds"])


class Chunk(Value, frozen=True):
    """The contents of one URI of a stored result. ``next_uri`` is that of the following part, if there is one."""

    uri: str
    name: str
    mime_type: str
    data: bytes
    is_text: bool
    number: int
    count: int
    size: int

    @property
    def next_uri(self) -> str | None:
        return None if self.number == self.count else _uri(self.uri.partition("/")[0], self.number + 1)


class StoredContent(Value, frozen=True):
    """The whole of a stored result, as its caller reads it."""

    name: str
    mime_type: str
    data: bytes


ReadStored: TypeAlias = Callable[[str], Awaitable[StoredContent | None]]
"""Reads a stored result of one caller by its URI; ``None`` for one that this caller does not have."""


def chunks_of(stored: StoredResult) -> tuple[Chunk, ...]:
    """Return the parts in their order. Text is split after a line if possible, and never within a character."""
    pieces = tuple(_pieces(stored.data, is_text=stored.is_text))
    link, mime_type = stored.link, stored.link.mimeType or ""
    return tuple(
        Chunk(_uri(link.uri, number), link.name, mime_type, data, stored.is_text, number, len(pieces), len(stored.data))
        for number, data in enumerate(pieces, 1)
    )


def _uri(whole: str, number: int) -> str:
    return whole if number == 1 else f"{whole}/{number}"


def _pieces(data: bytes, *, is_text: bool) -> Iterator[bytes]:
    begin = 0
    while True:
        end = _end(data, begin) if is_text else begin + CHUNK_BYTES
        yield data[begin:end]
        if end >= len(data):
            return
        begin = end


def _end(data: bytes, begin: int) -> int:
    end = begin + CHUNK_BYTES
    if end >= len(data):
        return end
    line = data.rfind(b"\n", begin + CHUNK_BYTES // 2, end)
    if line >= 0:
        return line + 1
    while data[end] & 0xC0 == 0x80:  # within a character
        end -= 1
    return end

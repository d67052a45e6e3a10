"""The parts of a result as bytes: to be looked at, and counted."""

from __future__ import annotations

from collections.abc import Iterable

from toolwright.errors import InvalidResult
from toolwright.jsonrpc.messages import encode
from toolwright.protocol.types import (
    AudioContent,
    BlobResource,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
    replaced,
)

__all__ = ["Pieces", "is_text_copy", "pieces", "utf8"]


def utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidResult("the result is not JSON: a lone surrogate") from error


def is_text_copy(result: CallToolResult) -> bool:
    """Whether the content is what the structured value is as text."""
    if result.encoded is None or len(result.content) != 1:
        return False
    block = result.content[0]
    return type(block) is TextContent and block.text == result.encoded.decode()


class Pieces:
    """Bytes to look at, and the size of all. Of text, the text alone counts; of all others, the whole as JSON."""

    __slots__ = ("seen", "size")

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        self.size = 0


def pieces(parts: Iterable[object]) -> Pieces:
    made = Pieces()
    for part in parts:
        if type(part) is TextContent:
            seen, digits = utf8(part.text), 0
            if part.meta or part.annotations:
                made.seen.append(encode((part.meta, part.annotations)))
        else:
            seen, digits = _without_digits(part)
        made.seen.append(seen)
        made.size += len(seen) + digits
    return made


def _without_digits(part: object) -> tuple[bytes, int]:
    """Base64 is neither read nor copied; how many digits there are is enough."""
    match part:
        case ImageContent() | AudioContent():
            return encode(replaced(part, data="")), len(part.data)
        case BlobResource():
            return encode(replaced(part, blob="")), len(part.blob)
        case EmbeddedResource(resource=BlobResource() as blob):
            return encode(replaced(part, resource=replaced(blob, blob=""))), len(blob.blob)
        case _:
            return encode(part), 0

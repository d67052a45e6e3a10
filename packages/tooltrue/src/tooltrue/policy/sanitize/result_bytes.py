"""The bytes of a result: those to scan, and their size."""

from __future__ import annotations

from collections.abc import Sequence

from tooltrue.errors import InvalidResult
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.sanitize.blobs import encoded_text
from tooltrue.protocol.types import (
    AudioContent,
    BlobResource,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    TextContent,
    replaced,
)

__all__ = ["all_text", "is_text_copy", "result_bytes", "scannable_bytes"]


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidResult("the result is not JSON: a lone surrogate") from error


def all_text(content: Sequence[object]) -> bool:
    if len(content) == 1:
        return type(content[0]) is TextContent
    return all(type(block) is TextContent for block in content)


def is_text_copy(result: CallToolResult) -> bool:
    """Return whether the content is the structured value as text."""
    if result.encoded is None or len(result.content) != 1:
        return False
    block = result.content[0]
    return type(block) is TextContent and block.text == result.encoded.decode()


def scannable_bytes(result: CallToolResult) -> tuple[bytes, int]:
    """Return the bytes of a result to scan, and its size. A value that is repeated as text is scanned and counted
    once."""
    content, encoded = result.content, result.encoded
    if encoded is None or not is_text_copy(result):
        data, size = result_bytes(content)
        if encoded is not None:
            data, size = data + b"\n" + encoded, max(size, len(encoded))
    else:
        data, size = encoded, len(encoded)
    return (data + encode(result.meta) if result.meta else data), size


def result_bytes(parts: Sequence[object]) -> tuple[bytes, int]:
    """Return the same for parts. Of text, the text alone counts; of all others, the whole as JSON."""
    if len(parts) == 1:
        return _piece(parts[0])
    made = list(map(_piece, parts))
    return b"\n".join(data for data, _ in made), sum(size for _, size in made)


def _text_of(digits: str) -> bytes:
    decoded = encoded_text(digits)
    return b"\n" + decoded[0].encode(errors="replace") if decoded else b""


def _piece(part: object) -> tuple[bytes, int]:
    if type(part) is TextContent:
        text = _utf8(part.text)
        more = encode((part.meta, part.annotations)) if part.meta or part.annotations else b""
        return (text + more if more else text), len(text)
    data, digits, text = _without_digits(part)
    return data + text, len(data) + digits


def _without_digits(part: object) -> tuple[bytes, int, bytes]:
    """Return a part without its base64, the length of that, and its text: pictures and sounds are neither read nor
    copied, but bytes that are text are scanned as text."""
    match part:
        case ImageContent() | AudioContent():
            return encode(replaced(part, data="")), len(part.data), b""
        case BlobResource():
            return encode(replaced(part, blob="")), len(part.blob), _text_of(part.blob)
        case EmbeddedResource(resource=BlobResource() as blob):
            return encode(replaced(part, resource=replaced(blob, blob=""))), len(blob.blob), _text_of(blob.blob)
        case _:
            return encode(part), 0, b""

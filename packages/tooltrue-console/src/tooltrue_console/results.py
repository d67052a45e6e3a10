"""The result of a tool, as a page shows it: text, tables and pictures.

All of it is text of strangers. A picture is shown only if its bytes begin as its type says, and the type is one that
runs nothing; SVG is none of them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tooltrue.client.call_results import Result
from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.protocol.types import (
    UNSET,
    AudioContent,
    BlobResource,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResource,
)

__all__ = ["ResultBlock", "ResultTable", "ShownResult", "picture", "shown_result", "table_of"]

_MOST_ROWS: Final = 200
_MOST_COLUMNS: Final = 30
_MOST_CELL: Final = 1_000
_MOST_TEXT: Final = 100_000
_MOST_BLOCKS: Final = 100
_MOST_PICTURE: Final = 5_000_000
_MAGIC: Final[Mapping[str, Sequence[bytes]]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
}


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """One part of a result. ``kind`` is ``text``, ``picture``, with the address of its data in ``text``, or ``other``,
    with a description."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Rows of texts. ``left_out`` rows are not shown. Without ``columns``, the first cell of each row is its name."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ShownResult:
    """``value`` is the structured value as JSON, if there is one that no table shows."""

    is_error: bool
    blocks: Sequence[ResultBlock]
    table: ResultTable | None
    value: str


def shown_result(result: Result[Any]) -> ShownResult:
    """Return what a page shows of a result."""
    blocks = [_block(one) for one in result.content[:_MOST_BLOCKS]]
    if len(result.content) > _MOST_BLOCKS:
        blocks.append(ResultBlock("other", f"+ {len(result.content) - _MOST_BLOCKS}"))
    if result.structured is UNSET:
        return ShownResult(result.is_error, blocks, None, "")
    table = table_of(result.structured)
    value = "" if table is not None else _cut(json.dumps(result.structured, ensure_ascii=False, indent=2), _MOST_TEXT)
    return ShownResult(result.is_error, blocks, table, value)


def _block(block: object) -> ResultBlock:
    match block:
        case TextContent(text=text) | EmbeddedResource(resource=TextResource(text=text)):
            return ResultBlock("text", _cut(text, _MOST_TEXT))
        case ImageContent(data=data, mimeType=kind):
            address = picture(data, kind)
            return (
                ResultBlock("other", _binary("image", kind, data))
                if address is None
                else ResultBlock("picture", address)
            )
        case AudioContent(data=data, mimeType=kind):
            return ResultBlock("other", _binary("audio", kind, data))
        case EmbeddedResource(resource=BlobResource(blob=blob, mimeType=kind, uri=uri)):
            address = picture(blob, kind or "")
            return (
                ResultBlock("other", _binary(uri, kind or "", blob))
                if address is None
                else ResultBlock("picture", address)
            )
        case ResourceLink(uri=uri, name=name):
            return ResultBlock("other", _cut(f"{name}: {uri}", _MOST_CELL))
        case EmbeddedResource(resource=resource):
            members = resource if is_object(resource) else {}
            return _block_of_resource(members)
        case _:
            return ResultBlock("other", type(block).__name__)


def _block_of_resource(members: Mapping[str, Any]) -> ResultBlock:
    uri, kind, blob, text = (members.get(name) for name in ("uri", "mimeType", "blob", "text"))
    if isinstance(text, str):
        return ResultBlock("text", _cut(text, _MOST_TEXT))
    if isinstance(blob, str):
        address = picture(blob, kind if isinstance(kind, str) else "")
        return (
            ResultBlock("other", _binary(str(uri), str(kind), blob))
            if address is None
            else ResultBlock("picture", address)
        )
    return ResultBlock("other", _cut(str(uri), _MOST_CELL))


def _binary(name: str, kind: str, data: str) -> str:
    return _cut(f"{name} {kind}, {len(data) * 3 // 4} B", _MOST_CELL)


def picture(data: str, kind: str) -> str | None:
    """Return the address of a picture that may be shown, given its base64; ``None`` if it may not."""
    if len(data) > _MOST_PICTURE * 4 // 3:
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    is_webp = kind == "image/webp" and content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    if not (is_webp or content.startswith(tuple(_MAGIC.get(kind, ())))) or (not is_webp and kind not in _MAGIC):
        return None
    # Encoded anew, so that it is base64 and no other text.
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def table_of(value: Any) -> ResultTable | None:
    """Return a table of a list of objects, or of the members of one object; ``None`` for any other value."""
    inner = next(iter(value.values())) if is_object(value) and len(value) == 1 else value
    if objects := _rows(inner):
        names = dict.fromkeys(name for row in objects[:_MOST_ROWS] for name in row)
        columns = list(names)[:_MOST_COLUMNS]
        rows = [[_cell(row[name]) if name in row else "" for name in columns] for row in objects[:_MOST_ROWS]]
        return ResultTable(columns, rows, max(0, len(objects) - _MOST_ROWS))
    if is_object(value) and value:
        members = list(value.items())
        shown = [[name, _cell(one)] for name, one in members[:_MOST_ROWS]]
        return ResultTable((), shown, max(0, len(members) - _MOST_ROWS))
    return None


def _rows(value: Any) -> Sequence[Mapping[str, Any]]:
    """The objects of a list of nothing but objects."""
    rows = [row for row in value if is_object(row)] if is_array(value) else []
    return rows if is_array(value) and len(rows) == len(value) else []


def _cell(value: Any) -> str:
    return _cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _MOST_CELL)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"

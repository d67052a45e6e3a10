"""Truncation of a result that is too large, with a link to the whole, which is stored for the caller."""

from __future__ import annotations

import binascii
from typing import Any

from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.sanitize.result_bytes import is_text_copy, scannable_bytes
from tooltrue.policy.sanitize.truncate import Truncation, cut_text, cuts
from tooltrue.policy.wording import RESULT_CUT_AND_STORED, RESULT_STORED_WITHOUT_EXCERPT
from tooltrue.protocol.types import (
    UNSET,
    AudioContent,
    CallToolResult,
    ImageContent,
    ResourceLink,
    TextContent,
    replaced,
)
from tooltrue.tools.content import encoded_value, failed
from tooltrue.tools.vocabulary import RequestContext, Tool
from tooltrue.wording import sentence

__all__ = ["CUT", "LEAST", "MAX_BLOCKS", "fit"]

CUT = "tooltrue/cut"
"""The key of ``_meta`` under which a result says that it is incomplete, and where the whole is."""

MAX_BLOCKS = 1000
LEAST = 1000
"""A smaller limit leaves no room to say that there is more."""

_CUTS = 8  # the most cuts of one value
_SAYING = 800  # bytes for the sentence and the link


def fit(tool: Tool, result: CallToolResult, limit: int, context: RequestContext, language: str) -> CallToolResult:
    """Return the part of a result that fits into ``limit``. It is valid against the output schema; if no smaller value
    is, the result is an error."""
    link = _store_whole(tool, result, context)
    part, note = _part(tool, result, limit - _SAYING)
    facts = {"tool": tool.name, "size": link.size, "limit": limit, "uri": link.uri, "shown": note}
    if part is None:
        error = failed(sentence(RESULT_STORED_WITHOUT_EXCERPT, language, facts))
        return replaced(error, content=[*error.content, link], meta={**(result.meta or {}), CUT: {"uri": link.uri}})
    content = [*part.content, TextContent(text=sentence(RESULT_CUT_AND_STORED, language, facts)), link]
    meta = {**(part.meta or {}), CUT: {"uri": link.uri, "size": link.size, "shown": note}}
    return replaced(part, content=content, meta=meta)


def _store_whole(tool: Tool, result: CallToolResult, context: RequestContext) -> ResourceLink:
    """Store the whole, and return a link to it: the value, the text, the bytes, or else all blocks as JSON."""
    name = f"{tool.name} (whole result)"
    content = result.content
    if result.structuredContent is not UNSET:
        return context.keep(result.structuredContent, name)
    if all(type(block) is TextContent for block in content):
        return context.keep("\n\n".join(block.text for block in content), name)
    if len(content) == 1 and isinstance(block := content[0], ImageContent | AudioContent):
        return context.keep(binascii.a2b_base64(block.data), name, mime_type=block.mimeType)
    return context.keep(content, name)


def _part(tool: Tool, result: CallToolResult, room: int) -> tuple[CallToolResult | None, str]:
    if result.structuredContent is UNSET:
        return _blocks(result, room)
    value, notes = result.structuredContent, list[str]()
    for _ in range(_CUTS):
        cut = _smaller(tool, result, value, room)
        if cut is None:
            break
        value, notes = cut.value, [*notes, cut.note]
        part = _with_value(result, value)
        if scannable_bytes(part)[1] <= room:
            return part, "; ".join(notes)
    return None, ""


def _smaller(tool: Tool, result: CallToolResult, value: Any, room: int) -> Truncation | None:
    """Return the first valid cut that is small enough, or else the smallest valid one."""
    schema = None if tool.output is None else tool.definition.outputSchema
    best: tuple[int, Truncation] | None = None
    for cut in cuts(value, schema, room):
        size = len(encode(cut.value))
        is_valid = result.isError or tool.output is None or tool.output.accepts(cut.value)
        if is_valid and (best is None or size < best[0]):
            best = size, cut
        if is_valid and size <= room:
            return cut
    return best and best[1]


def _with_value(result: CallToolResult, value: Any) -> CallToolResult:
    encoded = encoded_value(value)
    begins = replaced(result, content=result.content[:1])  # notes may follow the copy
    content = [TextContent(text=encoded.decode()), *result.content[1:]] if is_text_copy(begins) else result.content
    return replaced(result, structuredContent=value, encoded=encoded, content=content)


def _blocks(result: CallToolResult, room: int) -> tuple[CallToolResult | None, str]:
    """Return as many blocks as fit; text is cut, bytes never are."""
    blocks: list[Any] = []
    for block in result.content[: MAX_BLOCKS - 2]:
        size = len(block.text.encode()) if type(block) is TextContent else len(encode(block))
        if size <= room:
            blocks.append(block)
            room -= size
            continue
        if type(block) is TextContent and (text := cut_text(block.text, room)):
            blocks.append(replaced(block, text=text))
        break
    if not blocks:
        return None, ""
    length = sum(len(block.text) for block in blocks if type(block) is TextContent)
    whole = sum(len(block.text) for block in result.content if type(block) is TextContent)
    note = (
        f"{length} of {whole} characters"
        if len(result.content) == 1
        else f"{len(blocks)} of {len(result.content)} blocks"
    )
    return replaced(result, content=blocks), note

"""Turns a Python value into the contents of a resource, or into the messages of a prompt.

Text is text, bytes are base64, ready parts are themselves, and any other value is JSON. Binary data has to be valid
base64, even if the author encoded it (server/resources, server/prompts "Security").
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.errors import InvalidResult
from tooltrue.protocol.types import (
    AudioContent,
    BlobResource,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    PromptMessage,
    PromptOutcome,
    PromptResult,
    ReadOutcome,
    ReadResourceResult,
    TextContent,
    TextResource,
    replaced,
)
from tooltrue.tools.content import BLOCKS, check_metas
from tooltrue.tools.wording import PROMPT_RETURN_NOT_ACCEPTED

__all__ = ["prompt_result", "resource_result"]

_PARTS = (TextResource, BlobResource)
_MIME_TYPE = LazyPattern(r"[A-Za-z0-9!#$&^_.+\-]+/[A-Za-z0-9!#$&^_.+\-]+(?:\s*;.*)?")


def resource_result(value: Any, uri: str, mime_type: str | None) -> ReadOutcome | None:
    """Return the contents of ``uri``; ``None`` if it does not exist. Raises ``InvalidResult`` for a value without such
    a form.
    """
    if isinstance(value, InputRequiredResult):
        return value
    if isinstance(value, ReadResourceResult):
        result = value
    elif value is None:
        return None
    elif isinstance(value, list | tuple) and value and all(isinstance(part, _PARTS) for part in value):  # pyright: ignore[reportUnknownVariableType]
        result = ReadResourceResult(list(value))  # pyright: ignore[reportUnknownArgumentType]
    else:
        result = ReadResourceResult([_part(value, uri, mime_type)])
    check_metas(result, *result.contents)
    for part in result.contents:
        _check_part(part)
    return result if result.contents else None


def _part(value: Any, uri: str, mime_type: str | None) -> TextResource | BlobResource:
    if isinstance(value, _PARTS):
        return value
    if isinstance(value, str):
        return TextResource(uri=uri, text=value, mimeType=mime_type or "text/plain")
    if isinstance(value, bytes):
        return BlobResource.of(uri, value, mime_type or "application/octet-stream")
    from tooltrue.tools.binding.return_values import json_text  # noqa: PLC0415 - most resources are text

    return TextResource(uri=uri, text=json_text(value), mimeType=mime_type or "application/json")


def _check_part(part: object) -> None:
    if isinstance(part, BlobResource):
        _check_base64(part.blob)
    elif not isinstance(part, TextResource):
        raise InvalidResult(f"{type(part).__name__} is neither TextResource nor BlobResource")


def prompt_result(value: Any, description: str | None) -> PromptOutcome:
    """Return the messages for ``value``. Raises ``InvalidResult`` for a value that is not a message."""
    if isinstance(value, InputRequiredResult):
        return value
    if isinstance(value, PromptResult):
        check_metas(value)
        messages = list(map(_message, value.messages))
        return replaced(value, messages=messages, description=value.description or description)
    parts: list[Any] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
    return PromptResult(list(map(_message, parts)), description)


def _message(value: Any) -> PromptMessage:
    message = value if isinstance(value, PromptMessage) else PromptMessage("user", value)
    content = TextContent(text=message.content) if isinstance(message.content, str) else message.content
    if message.role not in ("user", "assistant") or not isinstance(content, BLOCKS):
        raise InvalidResult.of(PROMPT_RETURN_NOT_ACCEPTED, type=type(message.content).__name__)
    check_metas(content)
    _check_block(content)
    return PromptMessage(message.role, content)


def _check_block(block: ContentBlock) -> None:
    match block:
        case ImageContent() | AudioContent():
            _check_base64(block.data)
            if _MIME_TYPE.compiled.fullmatch(block.mimeType) is None:
                raise InvalidResult(f"{block.mimeType!r} is not a MIME type")
        case EmbeddedResource():
            _check_part(block.resource)
        case _:
            pass


def _check_base64(data: str) -> None:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise InvalidResult("what should be base64 is not") from None

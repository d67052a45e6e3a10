"""Checks of the blocks of a result: one that a client should not get is replaced by a sentence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tooltrue.policy.wording import LABEL_CONTENT_OMITTED
from tooltrue.protocol.types import (
    AudioContent,
    BlobResource,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResource,
)
from tooltrue.wording import sentence

__all__ = ["check_blocks"]

Serves = Callable[[str], Awaitable[bool]]


async def check_blocks(blocks: list[Any], serves: Serves, language: str, left_out: list[str]) -> list[Any]:
    """Return the blocks, with a sentence in place of each that must not leave; ``left_out`` gets the reasons.
    ``serves`` tells whether this server serves a URI."""
    made = list(blocks)
    for place, block in enumerate(blocks):
        if type(block) is TextContent:
            continue
        what, why = await _problem(block, serves)
        if why:
            left_out.append(f"{what}: {why}")
            made[place] = TextContent(text=sentence(LABEL_CONTENT_OMITTED, language, {"what": what, "why": why}))
    return made


async def _problem(block: Any, serves: Serves) -> tuple[str, str | None]:
    from tooltrue.policy.sanitize.media import bytes_problem, link_problem  # noqa: PLC0415 - most results are text

    match block:
        case ImageContent():
            return "an image", bytes_problem(block.mimeType, block.data)
        case AudioContent():
            return "a sound", bytes_problem(block.mimeType, block.data)
        case ResourceLink():
            why = link_problem(block.uri)
            return "a link", why if why and not await serves(block.uri) else None
        case EmbeddedResource(resource=BlobResource() as blob):
            return "a resource", bytes_problem(blob.mimeType or "", blob.blob)
        case EmbeddedResource():
            is_text = isinstance(block.resource, TextResource)
            return "a resource", None if is_text else "it is neither text nor bytes"
        case _:
            return "a block", f"{type(block).__name__} is no kind of content"

"""Calls in an answer, made so that they can be replied to and said again: ids that are there and differ, arguments that
are an object."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence

from toolwright.errors import ParseError
from toolwright.host.models.model import Message, ModelMessage, ToolUse
from toolwright.jsonrpc.messages import Json, decode, encode, is_finite, is_object
from toolwright.protocol.types import replaced

__all__ = ["as_object", "as_written", "identified", "joined"]

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 64


def identified(uses: Iterable[ToolUse], messages: Sequence[Message]) -> tuple[ToolUse, ...]:
    """The calls with ids of our own where there are none, or one stands twice, in the answer or in what was said before
    it. A name is made into one that can be sent back; if that is a tool's, the model meant it."""
    taken = {use.id for message in messages if isinstance(message, ModelMessage) for use in message.uses}
    read: list[ToolUse] = []
    for use in uses:
        id = use.id if use.id and use.id not in taken else f"call_{secrets.token_hex(8)}"
        taken.add(id)
        read.append(replaced(use, id=id, name=_ILLEGAL.sub("_", use.name)[:_MAX_NAME] or "_"))
    return tuple(read)


def joined(text: str) -> str:
    """Text that came in pieces: a character that was cut into two halves is one again, and a half alone is marked."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_written(use: ToolUse) -> bytes:
    """The arguments for ``decode`` to judge. ``UnicodeError`` where they are no text."""
    if isinstance(use.arguments, str):
        return use.arguments.strip().encode(errors="surrogatepass") or b"{}"  # so some say that there are none
    return encode(use.arguments) if is_finite(use.arguments) else b"NaN"


def as_object(use: ToolUse) -> dict[str, Json]:
    """The arguments, or none where they are no object: the reply says what was wrong with them."""
    if not isinstance(use.arguments, str):
        return use.arguments
    try:
        arguments = decode(use.arguments.encode(errors="surrogatepass"))
    except ParseError:
        return {}
    return arguments if is_object(arguments) else {}

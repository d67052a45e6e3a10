"""Normalizes calls in an answer so that they can be replied to and sent back: unique ids, valid names, and arguments
that are an object."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence

from tooltrue.errors import ParseError
from tooltrue.host.models.model import Message, ModelMessage, ToolUse
from tooltrue.jsonrpc.messages import Json, decode, encode, is_finite, is_object
from tooltrue.protocol.types import replaced

__all__ = ["as_object", "as_written", "identified", "joined"]

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 64


def identified(uses: Iterable[ToolUse], messages: Sequence[Message]) -> tuple[ToolUse, ...]:
    """The calls with generated ids where one is missing, or is used twice in the answer or the messages before it. A
    name is changed to a valid one that can be sent back; if that is the name of a tool, the model meant it."""
    ids = {use.id for message in messages if isinstance(message, ModelMessage) for use in message.uses}
    valid: list[ToolUse] = []
    for use in uses:
        id = use.id if use.id and use.id not in ids else f"call_{secrets.token_hex(8)}"
        ids.add(id)
        valid.append(replaced(use, id=id, name=_ILLEGAL.sub("_", use.name)[:_MAX_NAME] or "_"))
    return tuple(valid)


def joined(text: str) -> str:
    """Text from pieces: the two halves of a split surrogate pair are joined, and a lone half is replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_written(use: ToolUse) -> bytes:
    """The arguments for ``decode`` to judge. ``UnicodeError`` if they are not valid text."""
    if isinstance(use.arguments, str):
        return use.arguments.strip().encode(errors="surrogatepass") or b"{}"  # empty text means no arguments
    return encode(use.arguments) if is_finite(use.arguments) else b"NaN"


def as_object(use: ToolUse) -> dict[str, Json]:
    """The arguments, or an empty object if they are not one: the reply explains the mistake."""
    if not isinstance(use.arguments, str):
        return use.arguments
    try:
        arguments = decode(use.arguments.encode(errors="surrogatepass"))
    except ParseError:
        return {}
    return arguments if is_object(arguments) else {}

"""Texts of a description for a model and for names: without markup, invisible characters and excess."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final

from tooltrue.caching import cache_short_texts
from tooltrue.contract.orders import orders
from tooltrue.protocol.characters import cleaned

__all__ = ["free_name", "has_orders", "identifier", "plain_text", "shortened", "without_orders"]

_COMMENT: Final = re.compile(r"<!--.{0,10000}?-->|<(script|style)\b[^<>]{0,1000}>.{0,10000}?</\1\s*>", re.DOTALL | re.I)
_ELEMENT: Final = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]{0,40}(?:\s[^<>]{0,2000})?/?>")
_PICTURE: Final = re.compile(r"!\[([^\[\]]{0,500})\]\([^()]{0,1000}\)")
_LINK: Final = re.compile(r"\[([^\[\]]{0,500})\]\([^()]{0,1000}\)")
_BLANKS: Final = re.compile(r"\s+")
_BEFORE_STOP: Final = re.compile(r" (?=[.,;:!?](?:\s|$))")
_LONGEST: Final = 20_000
_SENTENCE: Final = re.compile(r"[.!?。！？](?=\s|$)")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD: Final = re.compile(r"[^A-Za-z0-9]+")


@cache_short_texts(8192, longest=1000)
def plain_text(text: str) -> str:
    """``text`` as one paragraph: HTML, the addresses of links and pictures, and hidden characters are removed."""
    bare = _COMMENT.sub(" ", html.unescape(text[:_LONGEST]))
    bare = _LINK.sub(r"\1", _PICTURE.sub(r"\1", _ELEMENT.sub(" ", bare)))
    return _BEFORE_STOP.sub("", _BLANKS.sub(" ", cleaned(bare, {}))).strip()


def shortened(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``, which end with a sentence where that keeps half of them."""
    if len(text) <= limit:
        return text
    part = text[: limit - 1]
    ends = [match.end() for match in _SENTENCE.finditer(part)]
    if ends and ends[-1] >= limit // 2:
        return part[: ends[-1]]
    return f"{part.rpartition(' ')[0] or part}…"


def has_orders(text: str) -> bool:
    """Whether a model could take a part of ``text`` for an order."""
    return next(orders(text), None) is not None


def without_orders(text: str) -> str:
    """``text`` without the sentences that a model could take for orders: a description describes."""
    if not has_orders(text):
        return text
    ends = [0, *(match.end() for match in _SENTENCE.finditer(text)), len(text)]
    sentences = [text[start:end].strip() for start, end in pairwise(ends)]
    harmless = " ".join(one for one in sentences if one and not has_orders(one))
    return "" if has_orders(harmless) else harmless


def identifier(text: str, limit: int) -> str:
    """``text`` in snake case, with ASCII letters, digits and underscores alone; empty if it has none such. A longer one
    ends with a digest of the whole."""
    name = _NO_WORD.sub("_", _HUMP.sub("_", text)).strip("_").lower()
    if len(name) <= limit:
        return name
    return f"{name[: limit - 7].rstrip('_')}_{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def free_name(name: str, used_names: Collection[str]) -> str:
    """``name``, with a number if it is among ``used_names``."""
    if name not in used_names:
        return name
    number = next(number for number in range(2, len(used_names) + 3) if f"{name}_{number}" not in used_names)
    return f"{name}_{number}"

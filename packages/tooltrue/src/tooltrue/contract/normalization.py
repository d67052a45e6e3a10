"""Text normalization for word searches: one form for each letter, and no hidden characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from tooltrue.contract.names import latin
from tooltrue.protocol.characters import cleaned, may_hide

__all__ = ["PART", "folded", "lowered", "parts", "plain"]

PART: Final = 8_192
"""Characters searched at once: a longer search would block all other threads."""


def parts(text: str) -> Iterator[str]:
    return (text[start : start + PART] for start in range(0, len(text), PART))


def _without_marks(text: str) -> str:
    """Remove combining marks: ``ígnore`` is read as ``ignore``."""
    apart = unicodedata.normalize("NFD", text)
    marks = {ord(one) for one in set(apart) if unicodedata.combining(one)}
    return apart.translate(dict.fromkeys(marks)) if marks else apart


def _visible_text(text: str) -> str:
    return latin(_without_marks(cleaned(text, {}) if may_hide(text) else text))


_TYPOGRAPHY: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})


def plain(text: str) -> str:
    """Normalize a text as a person reads it: hidden characters removed, one form for each letter, runs of blanks
    collapsed."""
    if not text.isascii():
        text = "".join(map(_visible_text, parts(text))).translate(_TYPOGRAPHY)
    if text.isprintable() and "  " not in text:
        return text  # the common case, in a tenth of the time
    text = _BLANK.sub(" ", text)
    return _END_OF_LINE.sub("\n", text) if "\n" in text else text


_BLANK: Final = re.compile(r"[ \t\r\f\v]{2,200}|[\t\r\f\v]")
_END_OF_LINE: Final = re.compile(r" ?\n[ \n]{0,200}")


def folded(text: str) -> str:
    """The plain text in lower case, in which words are compared."""
    return lowered(plain(text))


def lowered(plainly: str) -> str:
    """Lower the case of a text that is plain already; then map look-alikes again, as a small letter may look Latin
    although its capital does not."""
    return latin(plainly.casefold())

"""A text as a person takes it, for whoever looks for words in it: one form for each letter, and nothing hidden."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolwright.contract.names import latin
from toolwright.protocol.characters import cleaned, may_hide

__all__ = ["PART", "folded", "lowered", "parts", "plain"]

PART: Final = 8_192
"""What is looked at in one go: a longer search lets no other thread run."""


def parts(text: str) -> Iterator[str]:
    return (text[start : start + PART] for start in range(0, len(text), PART))


def _without_marks(text: str) -> str:
    """Letters without the marks on them: ``ígnore`` is read as ``ignore``."""
    apart = unicodedata.normalize("NFD", text)
    marks = {ord(one) for one in set(apart) if unicodedata.combining(one)}
    return apart.translate(dict.fromkeys(marks)) if marks else apart


def _seen(text: str) -> str:
    return latin(_without_marks(cleaned(text, {}) if may_hide(text) else text))


_TYPOGRAPHY: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})


def plain(text: str) -> str:
    """A text as a reader would take it: nothing hidden in it, one form for each letter, blanks that are one."""
    if not text.isascii():
        text = "".join(map(_seen, parts(text))).translate(_TYPOGRAPHY)
    if text.isprintable() and "  " not in text:
        return text  # most are so, and this is a tenth of the time
    text = _BLANK.sub(" ", text)
    return _END_OF_LINE.sub("\n", text) if "\n" in text else text


_BLANK: Final = re.compile(r"[ \t\r\f\v]{2,200}|[\t\r\f\v]")
_END_OF_LINE: Final = re.compile(r" ?\n[ \n]{0,200}")


def folded(text: str) -> str:
    """The same in lower case: what words are compared in."""
    return lowered(plain(text))


def lowered(plainly: str) -> str:
    """A text that is plain already in lower case, whose letters may look like Latin ones where the capitals do not."""
    return latin(plainly.casefold())

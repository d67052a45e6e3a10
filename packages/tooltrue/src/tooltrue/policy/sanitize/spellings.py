"""Text with characters that are written in another way, as its recipient would read it.

These are escapes, entities, URL quoting, and the wide and decorated letters of Unicode. A reading knows the source of
each of its characters, so that a secret in it can be masked in place.
"""

from __future__ import annotations

import bisect
import functools
import re
from typing import NamedTuple

__all__ = ["Reading", "may_be_respelled", "read_spellings", "read_word_spellings"]

# As `html.entities.html5`, which has 2,231 of them, with plain hyphens.
_ENTITIES = {
    "lowbar": "_",
    "UnderBar": "_",
    "hyphen": "-",
    "dash": "-",
    "period": ".",
    "colon": ":",
    "equals": "=",
    "commat": "@",
    "sol": "/",
    "plus": "+",
    "quot": '"',
    "num": "#",
}
# One for each first character: a text is searched for a known first character many times faster.
_RESPELLED = (
    r"\\\\{0,3}(?:(?:x|u00|U000000)(?P<hex>[0-9A-Fa-f]{2})|[ux]\{0{0,4}(?P<braced>[0-9A-Fa-f]{2})\}|(?P<octal>[01][0-7]{2}))",
    r"&(?:#0{0,5}(?P<decimal>[0-9]{2,3})(?:;|(?![0-9]))|#[xX]0{0,5}(?P<entity>[0-9A-Fa-f]{2})(?:;|(?![0-9A-Fa-f]))"
    r"|(?P<name>" + "|".join(_ENTITIES) + r");)",
    r"%(?:25){0,3}(?:u00)?(?P<quoted>[0-9A-Fa-f]{2})",
)
_BASES = {"hex": 16, "braced": 16, "octal": 8, "decimal": 10, "entity": 16, "quoted": 16}
_SIGNS = frozenset({9, 10, 13, *range(32, 127)})
# U+FF0D–FF5A, mathematical and circled letters and digits, as UTF-8
_OTHER_LETTERS = rb"\xef\xbc[\x8d-\xbf]|\xef\xbd[\x81-\x9a]|\xf0\x9d[\x90-\x9f]|\xe2\x92[\xb6-\xbf]|\xe2\x93[\x80-\xa9]"


@functools.cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _RESPELLED))


def _signs(text: str) -> list[re.Match[str]]:
    """Return the characters that are written in another way, in order."""
    matches = [match for pattern in _patterns() for match in pattern.finditer(text)]
    return sorted(matches, key=lambda match: match.start())


@functools.cache
def _other_letters() -> re.Pattern[bytes]:
    return re.compile(rb"(?:" + _OTHER_LETTERS + rb").{0,8}?(?:" + _OTHER_LETTERS + rb"|[A-Za-z0-9_])", re.DOTALL)


@functools.cache
def _plain_letters() -> dict[int, str]:
    """Map each wide or decorated letter to one plain character, so that places stay as they are."""
    table = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    table.update((0x24B6 + at, chr(ord("A") + at)) for at in range(26))
    table.update((0x24D0 + at, chr(ord("a") + at)) for at in range(26))
    for start in range(0x1D400, 0x1D6A4, 52):
        table.update((start + at, chr(ord("A") + at)) for at in range(26))
        table.update((start + 26 + at, chr(ord("a") + at)) for at in range(26))
    table.update((0x1D7CE + at, chr(ord("0") + at % 10)) for at in range(50))
    return table


def may_be_respelled(text: str, classes: str, data: bytes) -> bool:
    """Return whether ``data`` has characters that are written in another way; ``text`` is ``data`` with each byte as a
    character."""
    if "%" in classes and _patterns()[-1].search(text):
        return True
    if "\\" in classes and _patterns()[0].search(text):
        return True
    if "&" in classes and _patterns()[1].search(text):
        return True
    return "!" in classes and any(map(text.__contains__, _LEADS)) and _other_letters().search(data) is not None


_LEADS = ("\xef\xbc", "\xef\xbd", "\xf0\x9d", "\xe2\x92", "\xe2\x93")


@functools.cache
def _other() -> re.Pattern[str]:
    return re.compile("[\uff0d-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9]")


def _plain(text: str) -> str:
    """Replace wide and decorated letters by plain ones; without any, return the same object."""
    return text if text.isascii() or not _other().search(text) else text.translate(_plain_letters())


class Reading(NamedTuple):
    """A text as it reads. ``places`` are the starts of its pieces there, and ``sources`` their starts in the source."""

    text: str
    places: list[int]
    sources: list[int]

    def source(self, place: int) -> int:
        piece = bisect.bisect_right(self.places, place) - 1
        return self.sources[piece] + place - self.places[piece]


def read_spellings(text: str) -> Reading:
    """Return ``text`` as it reads."""
    text = _plain(text)
    pieces, places, sources = list[str](), [0], [0]
    at = length = 0
    for match in _signs(text):
        if sign := _sign(match):
            pieces += (text[at : match.start()], sign)
            length += match.start() - at
            places += (length, length + 1)
            sources += (match.start(), match.end())
            at, length = match.end(), length + 1
    return Reading("".join((*pieces, text[at:])), places, sources)


def _sign(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    if kind == "name":
        return _ENTITIES[match[kind]]
    code = int(match[kind], _BASES[kind])
    return chr(code) if code in _SIGNS else ""


_APART = " \n\t\r\"'<>"
_BEFORE, _BEHIND = 40, 80
"""How much of the line beside such a word is read: a name may stand before it, and a value behind it."""
_LONGEST_WORD = 300


def read_word_spellings(text: str) -> str:
    """Return the words with characters that are written in another way, as they read, with the text beside them."""
    if (plain := _plain(text)) is not text:
        return read_spellings(plain).text
    words, done = list[str](), 0
    for match in _signs(text):
        if match.start() >= done:
            least = max(done, match.start() - _LONGEST_WORD)
            start = max(least, *(text.rfind(sign, least, match.start()) + 1 - _BEFORE for sign in _APART))
            stop = text.find(" ", match.end(), match.end() + _LONGEST_WORD)
            done = (stop if stop >= 0 else min(match.end() + _LONGEST_WORD, len(text))) + _BEHIND
            words.append(text[start:done])
    return read_spellings(" ".join(words)).text

"""Makes texts for regular expressions of the plain kind used in schemas: literals, classes, groups, repetition.

Other constructs (lookaround, backreferences, Unicode classes) raise ``ValueError``, and so do invalid patterns. The
texts are proposals; the schema decides whether they match.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from random import Random
from typing import TypeAlias

__all__ = ["text_maker"]

TextMaker: TypeAlias = Callable[[Random], str]

_MOST_REPEATS = 3
_PRINTABLE = string.ascii_letters + string.digits + " -_.,:;/+@#!?"
_WORD = string.ascii_letters + string.digits + "_"
_CLASSES = {"d": string.digits, "w": _WORD, "s": " ", "D": "xyz-", "W": "-. ", "S": "xyz0"}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_HEX_DIGITS = {"x": 2, "u": 4}


def text_maker(pattern: str) -> TextMaker:
    """A function that makes texts matching the whole of ``pattern``. ``ValueError`` for an unsupported pattern."""
    reader = _PatternReader(pattern)
    maker = reader.either()
    if reader.rest():
        raise ValueError(f"unbalanced: {pattern!r}")
    return maker


class _PatternReader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def rest(self) -> str:
        return self._pattern[self._at :]

    def _next(self) -> str:
        if self._at >= len(self._pattern):
            raise ValueError(f"cut short: {self._pattern!r}")
        self._at += 1
        return self._pattern[self._at - 1]

    def _takes(self, text: str) -> bool:
        matches = self._pattern.startswith(text, self._at)
        self._at += len(text) if matches else 0
        return matches

    def either(self) -> TextMaker:
        branches = [self._sequence()]
        while self._takes("|"):
            branches.append(self._sequence())
        return lambda random: random.choice(branches)(random)

    def _sequence(self) -> TextMaker:
        parts: list[TextMaker] = []
        while self.rest() and self.rest()[0] not in "|)":
            parts.append(self._repeated(self._atom()))
        return lambda random: "".join(part(random) for part in parts)

    def _repeated(self, part: TextMaker) -> TextMaker:
        least, most = self._quantity()
        self._takes("?")  # whether it is lazy makes no difference to the matches
        return lambda random: "".join(part(random) for _ in range(random.randint(least, most)))

    def _quantity(self) -> tuple[int, int]:
        for mark, quantity in (("*", (0, _MOST_REPEATS)), ("+", (1, _MOST_REPEATS)), ("?", (0, 1))):
            if self._takes(mark):
                return quantity
        if not self._takes("{"):
            return 1, 1
        bounds, brace, _ = self.rest().partition("}")
        low, comma, high = bounds.partition(",")
        if not brace or not low.isdigit() or not (high.isdigit() or not high):
            raise ValueError(f"not a quantity: {self._pattern!r}")
        self._at += len(bounds) + 1
        least = int(low)
        return least, min(int(high), least + _MOST_REPEATS) if high else least + (_MOST_REPEATS if comma else 0)

    def _atom(self) -> TextMaker:
        char = self._next()
        match char:
            case "(":
                return self._group()
            case "[":
                return _one_of(self._class())
            case ".":
                return _one_of(_PRINTABLE)
            case "^" | "$":
                return _nothing
            case "\\" if self._takes("b"):
                return _nothing
            case "\\":
                return _one_of(self._escaped())
            case "*" | "+" | "?" | "{":
                raise ValueError(f"nothing to repeat: {self._pattern!r}")
            case _:
                return _one_of(char)

    def _group(self) -> TextMaker:
        if self._takes("?") and not self._takes(":"):
            if not (self._takes("P<") or self._takes("<")) or self.rest()[:1] in ("=", "!"):
                raise ValueError(f"lookaround or a setting: {self._pattern!r}")
            while self._next() != ">":
                pass
        inside = self.either()
        if not self._takes(")"):
            raise ValueError(f"unbalanced: {self._pattern!r}")
        return inside

    def _class(self) -> str:
        negated, chars = self._takes("^"), ""
        while not self._takes("]"):
            first = self._class_part()
            if len(first) == 1 and self.rest()[:1] == "-" and self.rest()[1:2] != "]":
                self._next()
                last = self._class_part()
                chars += "".join(map(chr, range(ord(first), min(ord(last), ord(first) + 200) + 1)))
            else:
                chars += first
        members = "".join(char for char in _PRINTABLE if char not in chars) if negated else chars
        if not members:
            raise ValueError(f"a class of nothing: {self._pattern!r}")
        return members

    def _class_part(self) -> str:
        char = self._next()
        return self._escaped() if char == "\\" else char

    def _escaped(self) -> str:
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in _HEX_DIGITS:
            digits = "".join(self._next() for _ in range(_HEX_DIGITS[char]))
            return chr(int(digits, 16))
        if char.isalnum() and char not in _CONTROLS:
            raise ValueError(f"\\{char}: {self._pattern!r}")
        return _CONTROLS.get(char, char)


def _one_of(chars: str) -> TextMaker:
    return lambda random: random.choice(chars)


def _nothing(random: Random) -> str:
    return ""

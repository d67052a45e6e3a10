"""How secrets begin, and the long runs of token characters in which they may.

The runs of a text are taken out of it once. Most are hashes, ids and names of programs: those of hexadecimal digits
alone are left at once, and the others by their first two signs.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

from toolwright.policy.classes import RUN
from toolwright.policy.shapes import LONGEST_GLUE, SHAPES, Shape

__all__ = ["FLAT", "PAIRS", "Begun", "Runs", "beside", "is_hex", "long_runs"]

_HEX_DIGITS = b"0123456789abcdefABCDEF-"  # with the hyphens of ids

_TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
FLAT = bytes(ord("a") if byte in _TOKEN else ord(" ") for byte in range(256))
_START = " " + RUN
_DIGITS = b"0123456789"
_GLUED = LONGEST_GLUE + 20  # with the longest beginning
_HEX_TOKEN = 32
_LONGEST_WORD = 64
_LONGEST_TOKEN = 100
_BEFORE, _NEAR = 16, 600
"""So much of the text tells whether there is a secret where one begins."""

Runs = list[tuple[int, bytes]]
"""Where runs are, and what they are."""


class _Begin(NamedTuple):
    text: bytes
    shape: Shape
    is_whole: bool
    is_sure: bool
    """Whether little else begins so."""


def _by_begin() -> dict[bytes, list[_Begin]]:
    table: dict[bytes, list[_Begin]] = {}
    for shape in SHAPES:
        is_whole = shape.is_whole
        for begin in shape.begins:
            row = _Begin(begin.encode(), shape, is_whole, is_whole or shape.kind in _UNBOUNDED)
            table.setdefault(row.text[:2], []).append(row)
    return table


_UNBOUNDED = frozenset({"jwt"})  # longer than what is looked at


_BEGINS = _by_begin()
PAIRS = frozenset(_BEGINS)
"""The first two signs of all."""
_DOTTED = tuple((begin.encode(), shape) for shape in SHAPES for begin in shape.begins if begin.endswith("."))
_DOTTED_BEGINS = tuple(begin for begin, _ in _DOTTED)


@functools.cache
def _behind_sign() -> re.Pattern[bytes]:
    return re.compile(b"[_-](?=" + _tree(tuple(begin.text for row in _BEGINS.values() for begin in row)) + b")")


@functools.cache
def _whole_begins() -> re.Pattern[bytes]:
    tree = _tree(tuple(begin.text for row in _BEGINS.values() for begin in row if begin.is_whole))
    return re.compile(b"(?=(" + tree + b"))")


def _tree(begins: tuple[bytes, ...], depth: int = 3) -> bytes:
    """The longest of these, by their first signs: most places are left at the first."""
    if depth == 0 or len(set(begins)) == 1:
        return b"|".join(map(re.escape, sorted(set(begins), key=len, reverse=True)))
    rows: dict[bytes, list[bytes]] = {}
    for begin in begins:
        rows.setdefault(begin[:1], []).append(begin[1:])
    branches = [
        re.escape(first) + b"(?:" + _tree(tuple(rest), depth - 1) + b")" for first, rest in rows.items() if first
    ]
    return b"|".join([*branches, b""] if b"" in rows else branches)


def long_runs(data: bytes) -> Runs:
    """Where there are 20 characters of a token in a row and more, and what stands there."""
    flat = f" {data.translate(FLAT).decode('ascii')} "  # where a blank is found in it, there a run starts in ``data``
    find, found = flat.find, Runs()
    at = find(_START)
    while at >= 0:
        end = find(" ", at + 20) - 1
        found.append((at, data[at:end]))
        at = find(_START, end)
    return found


def is_hex(digits: bytes) -> bool:
    """Whether there are digits of hexadecimal alone, and the hyphens of ids."""
    return not digits.translate(None, _HEX_DIGITS)


def beside(data: bytes, runs: Runs) -> bytes:
    """What stands beside these runs: all of ``data`` where there are many."""
    if len(runs) * (3 * _LONGEST_TOKEN) > len(data):
        return data
    return b" ".join([data[max(0, at - _LONGEST_TOKEN) : at + len(run) + _LONGEST_TOKEN] for at, run in runs])


class Begun:
    """The shapes of which a secret may begin in ``data``. ``holds`` looks at a near place for one that begins like
    much else."""

    def __init__(self, data: bytes, holds: Callable[[Shape, bytes], bool]) -> None:
        self.data = data
        self.holds = holds
        self.shapes = set[Shape]()

    def behind_dots(self, runs: Runs) -> None:
        """Before a full stop that stands before one of these runs."""
        for at, _ in runs:
            if self.data[at - 1 : at] == b".":
                self.behind_dot(at)

    def in_runs(self, runs: Runs) -> None:
        """Anywhere in these runs."""
        data, words = self.data, Runs()
        for at, run in runs:
            if run.strip(_HEX_DIGITS):
                before = data[at - 1 : at]
                if run[:2] in PAIRS:
                    self.at(at)
                if before == b"\\":  # the letter of an escape (\n) is no part of what follows it
                    self.at(at + 1)
                if not run.isalnum():
                    words.append((at, run))
                if (
                    before not in _MIDDLE
                    and (not run.islower() or len(run) > _HEX_TOKEN)
                    and len(run.translate(None, _DIGITS)) < len(run) - 1
                ):
                    self.glued(run[1:_GLUED])
        self.behind_signs(words)

    def at(self, at: int) -> None:
        """At this place."""
        if begins := _BEGINS.get(self.data[at : at + 2]):
            for begin in begins:
                if self.data.startswith(begin.text, at) and (
                    begin.is_sure or self.holds(begin.shape, self.data[max(0, at - _BEFORE) : at + _NEAR])
                ):
                    self.shapes.add(begin.shape)

    def behind_signs(self, runs: Runs) -> None:
        """Behind ``_`` or ``-`` in these runs."""
        ends = list[int]()
        for sign in _behind_sign().finditer(b" ".join([run for _, run in runs])):
            ends = ends or list(itertools.accumulate([len(run) + 1 for _, run in runs]))
            which = bisect.bisect_right(ends, sign.start())
            self.at(runs[which][0] + sign.end() - (ends[which - 1] if which else 0))

    def behind_dot(self, at: int) -> None:
        """Before a full stop that ends here, or with it."""
        word = self.data[max(0, at - _LONGEST_WORD) : at]
        if word.endswith(_DOTTED_BEGINS):
            self.shapes.update(shape for begin, shape in _DOTTED if word.endswith(begin))
        length = len(word) - len(word.rstrip(_WORD))
        if word[len(word) - length :][:2] in PAIRS:
            self.at(at - length)
        if word.find(b"_") >= 0 or word.find(b"-") >= 0:
            self.behind_signs([(at - length, word[len(word) - length :])])

    def glued(self, run: bytes) -> None:
        """In a run, behind other letters."""
        for text in _whole_begins().findall(run):
            self.shapes.update(
                begin.shape for begin in _BEGINS[text[:2]] if begin.is_whole and text.startswith(begin.text)
            )


_MIDDLE = (b"+", b"/")
"""What follows them is the middle of something."""
_WORD = _TOKEN + b"."

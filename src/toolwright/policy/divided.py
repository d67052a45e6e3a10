"""Tokens that the ends of lines divide: text with its lines put together, and what stands in it then.

A program that wraps its lines divides tokens, and so does whoever wants to get one past a mask. What stands around the
end of a line goes with it: indentation, a backslash or an equals sign before it, and it may be the ``\\n`` of JSON.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolwright.policy.shapes import Shape, without_edges

__all__ = ["Token", "can_be_divided", "put_together", "tokens"]

_FREE = frozenset({"private-key", "connection-password", "encoded-secret"})  # of several lines themselves; any words
_HALF = 1_000  # twice as much of lines put together is looked at at once, and so much of that again with what follows
_CONTEXT = 40


def can_be_divided(shape: Shape) -> bool:
    return shape.kind not in _FREE


def put_together(data: bytes) -> bytes:
    """``data`` without the ends of its lines."""
    if b"\\n" in data:
        data = data.replace(b"\\r\\n", b"\n").replace(b"\\n", b"\n")
    return b"".join([line.strip(b" \t\r=\\") for line in data.split(b"\n")])


# --- in text ----------------------------------------------------------------------------------------------------------

_SIGNS = "[A-Za-z0-9_+/=.-]"
_BREAK = r"[ \t]{0,40}+[\\=]?(?:\r?\n|(?:\\r)?\\n)[ \t]{0,40}+"


class Token(NamedTuple):
    """From where to where it stands, and what it is."""

    start: int
    end: int
    secret: str


class _Piece(NamedTuple):
    """A part of a line, and where it stands once lines are put together."""

    start: int
    end: int
    at: int


@functools.cache
def _chain() -> re.Pattern[str]:
    return re.compile(f"(?<!{_SIGNS}){_SIGNS}++(?:{_BREAK}{_SIGNS}++)+")


@functools.cache
def _break() -> re.Pattern[str]:
    return re.compile(f"{_BREAK}(?={_SIGNS})")


@functools.cache
def _bare(shape: Shape) -> re.Pattern[str]:
    return re.compile(without_edges(shape.pattern))


def tokens(text: str, shapes: Sequence[Shape]) -> Iterator[tuple[Shape, Token]]:
    """Those of these shapes that stand on several lines, in their order."""
    done = 0
    for chain in _chain().finditer(text):
        for pieces in _windows(text, chain.start(), chain.end()):
            found = [(shape, token) for shape in shapes for token in _tokens(text, pieces, shape)]
            for shape, token in sorted(found, key=lambda one: one[1]):
                if token.start >= done:
                    done = token.end
                    yield shape, token


def _windows(text: str, start: int, end: int) -> Iterator[list[_Piece]]:
    """The pieces of lines that are looked at together; of a long one, its end with those behind it, and its begin with
    those before it."""
    pieces: list[_Piece] = []
    at, begin = 0, max(0, start - _CONTEXT)
    for stop, behind in itertools.chain((found.span() for found in _break().finditer(text, start, end)), [(end, end)]):
        is_long = stop - begin > _HALF
        pieces.append(_Piece(begin, begin + _HALF if is_long else stop, at))
        at += pieces[-1].end - begin
        begin, before = behind, begin
        if is_long or at >= 2 * _HALF:
            yield pieces
            last = _Piece(max(before, stop - _HALF), stop, 0)
            half = [] if is_long else [piece for piece in pieces[:-1] if piece.at >= at - _HALF]
            pieces = [piece._replace(at=piece.at - half[0].at) for piece in half]
            at = sum(piece.end - piece.start for piece in pieces)
            pieces.append(last._replace(at=at))
            at += last.end - last.start
    yield pieces


def _tokens(text: str, pieces: list[_Piece], shape: Shape) -> Iterator[Token]:
    whole, pattern = "".join([text[piece.start : piece.end] for piece in pieces]), _bare(shape)
    group = "secret" if "secret" in pattern.groupindex else 0
    starts = [piece.at for piece in pieces]
    for found in pattern.finditer(whole):
        first = bisect.bisect(starts, found.start(group)) - 1
        begin = pieces[first].start + found.start(group) - starts[first]
        if shape.begins and text[begin - 1 : begin].isalnum() and begin != pieces[first].start:
            continue
        for piece in pieces[first + 1 :]:  # as few as will do: what follows may be other words
            shorter = pattern.match(whole, found.start(), piece.at + piece.end - piece.start)
            if shorter is not None and shorter.end(group) > piece.at:
                yield Token(begin, piece.start + shorter.end(group) - piece.at, shorter[group])
                break
            if shorter is not None:
                break

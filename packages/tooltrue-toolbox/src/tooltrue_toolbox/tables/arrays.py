"""A JSON file that is one array of objects, or an object that contains one such array, as a stream of objects.

The array is never held as a whole: each element is cut out of the stream, and no element may be larger than a row.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.wording import JSON_ARRAY_ELEMENT_INVALID, JSON_MULTIPLE_ARRAYS, TABLE_ENCODING_MISMATCH

__all__ = ["Array", "Elements", "array_of", "lines_of"]

_SPACE = re.compile(r"\s*")
_OBJECTS = re.compile(r"\[\s*\{")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)  # Python refuses to make an integer of a million digits


@dataclass(frozen=True, slots=True)
class Array:
    """The index in the file at which the first element is expected, in characters, and the key of the array."""

    start: int
    key: str | None = None


def array_of(text: str, whole: bool, display_path: str) -> Array | None:
    """The array of objects in a file that begins with ``text``; ``None`` where each line is an object. ``ToolError``
    for an object with several arrays of objects."""
    at = _after_space(text, 0)
    if _OBJECTS.match(text, at):
        return Array(at + 1)
    if not text.startswith("{", at) or _is_lines(text, at, whole, display_path):
        return None
    arrays = [Array(start, key) for key, start in _arrays(text, at + 1)]
    if len(arrays) > 1:
        raise _several(display_path, *(array.key or "" for array in arrays))
    return arrays[0] if arrays else None


def _is_lines(text: str, at: int, whole: bool, display_path: str) -> bool:
    """Whether the object that begins at ``at`` is a row. One on a line of its own is, unless it is the whole file."""
    end = _end(text, at)
    if end is None or "\n" in text[at:end]:
        return False
    return not whole or bool(text[end:].strip()) or re.search(r"\.(jsonl|ndjson)\b", display_path.lower()) is not None


def _several(display_path: str, *keys: str) -> ToolError:
    return ToolError.of(JSON_MULTIPLE_ARRAYS, path=display_path, keys=", ".join(key[:60] for key in keys[:10]))


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _end(text: str, at: int) -> int | None:
    """The end of the value that begins at ``at``; ``None`` where it is cut off, or invalid."""
    try:
        return _DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None


def _arrays(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The keys with arrays of objects in the object whose members begin at ``at``, and the index of their first
    elements."""
    while text.startswith('"', at := _after_space(text, at)):
        behind = _end(text, at)
        if behind is None or not text.startswith(":", colon := _after_space(text, behind)):
            return
        value = _after_space(text, colon + 1)
        if _OBJECTS.match(text, value):
            yield json.loads(text[at:behind]), value + 1
        end = _end(text, value)
        if end is None or not text.startswith(",", at := _after_space(text, end)):
            return
        at += 1


class Elements:
    """Cuts an array into its elements, as its text comes in."""

    def __init__(self, array: Array, display_path: str, limit: int) -> None:
        self._array = array
        self._display_path = display_path
        self._limit = limit
        self._skip = array.start
        self._text = ""
        """Text that has come in and was not cut yet: the beginning of an element, or the rest after the array."""
        self._position = 0
        self._number = 1
        self._is_over = False

    def feed(self, text: str) -> Iterator[str]:
        """The elements that are complete by now, one line each. ``ToolError`` for one that is no object or is too
        long."""
        skipped = min(self._skip, len(text))
        self._skip -= skipped
        self._text, self._position = self._text[self._position :] + text[skipped:], 0
        while not self._is_over and (span := self._next()) is not None:
            yield self._text[span].replace("\n", " ").replace("\r", " ")
            self._number += 1
        if len(self._text) - self._position > self._limit:
            raise self._unfit()

    def _next(self) -> slice | None:
        """The span of the next element; ``None`` where it is incomplete, or the array ends."""
        at = _after_space(self._text, self._position)
        if self._text.startswith("]", at):
            self._is_over, self._position = True, at + 1
            return None
        if self._number > 1 and at < len(self._text):
            if self._text[at] != ",":
                raise self._unfit()
            at = _after_space(self._text, at + 1)
        if at == len(self._text):
            return None
        if self._text[at] != "{":
            raise self._unfit()
        end = _end(self._text, at)
        if end is None:
            return None
        if end - at > self._limit:
            raise self._unfit()
        self._position = end
        return slice(at, end)

    def finish(self) -> None:
        """``ToolError`` when the array, or the object around it, does not end, or contains another one."""
        rest = self._text[self._position :]
        if not self._is_over or (self._array.key is None and rest.strip()):
            raise self._unfit()
        if self._array.key is None:
            return
        if others := [key for key, _ in _arrays(rest, _after_space(rest, 0) + 1)]:
            raise _several(self._display_path, self._array.key, *others)
        if _end('{"":0' + rest, 0) is None:
            raise self._unfit()

    def _unfit(self) -> ToolError:
        return ToolError.of(JSON_ARRAY_ELEMENT_INVALID, path=self._display_path, number=self._number, limit=self._limit)


def lines_of(parts: Iterator[bytes], array: Array, display_path: str, limit: int) -> Iterator[bytes]:
    """An array in UTF-8 as JSON Lines."""
    elements = Elements(array, display_path, limit)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        for part in parts:
            yield "".join(f"{each}\n" for each in elements.feed(decoder.decode(part))).encode()
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise ToolError.of(TABLE_ENCODING_MISMATCH, path=display_path, encoding="utf-8") from error
    elements.finish()

"""Runs of base64 and of hexadecimal digits, wrapped or not, and the text that they encode."""

from __future__ import annotations

import base64
import binascii
import functools
import re
import sys
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.policy.sanitize.prefixes import Runs

__all__ = [
    "DigitRun",
    "digits_at",
    "is_text",
    "likely_runs",
    "may_be_pairs",
    "pairs_in",
    "run_at",
    "runs_in",
    "text_in",
]

_SHORTEST = 24
_FAR = 4096
_NEAR = 64
_LARGEST = 1 << 18
"""The most bytes that are decompressed."""

# The end of a line within digits, with the characters around it: quotes, and marks of quoting and of concatenation.
_BREAK = (
    r"[ \t]{0,8}+(?:\\?[\"'])?[ \t]{0,4}+[+.,&]?[ \t]{0,4}+(?:\\?\r?\n|(?:\\r)?\\n|\r|\u2028|\u2029)"
    r"[ \t>|#*]{0,40}+(?:[+.&] {0,4}+)?(?:\\?[\"'])?"
)
_BASE64 = rf"[A-Za-z0-9+/_-]{{16,}}+(?:{_BREAK}[A-Za-z0-9+/_-]++)*+={{0,2}}"
_PAIR = r"(?:0[xX])?(?:[0-9A-Fa-f]{2}){1,4}"
_PAIRS = (
    rf"(?=[02-7])(?<![0-9A-Za-z])(?:{_PAIR}(?:[ \t:,;.]{{1,3}}+(?:\r?\n[ \t]{{0,40}}+)?"
    rf"|(?:\r?\n|\\n)[ \t]{{0,40}}+)){{7,}}+(?:{_PAIR}(?![0-9A-Za-z]))?"
)
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_LINE_END = LazyPattern("\n|\r|\u2028|\u2029|\\\\[nr]")
_AROUND_LINES = " \t\"'.,&\\>|#*"
_URLSAFE = bytes.maketrans(b"-_", b"+/")
_NOT_BASE64 = bytes(set(range(256)) - set(_ALPHABET.encode()))
_NOT_HEX = bytes(set(range(256)) - set(b"0123456789abcdefABCDEF"))
_HEX = (
    r"(?:(?<![0-9A-Za-z-])|(?<=\\[nrt]))(?:0[xX])?(?:[0-9A-Fa-f]{2}-?){8,}+(?![0-9A-Za-z])"
    rf"(?:{_BREAK}(?:0[xX])?(?:[0-9A-Fa-f]{{2}}-?)++(?![0-9A-Za-z]))*+"
)
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_CONTROLS = bytes({*range(32)} - {9, 10, 13})


class DigitRun(NamedTuple):
    """The span of a run of digits, and the bytes that it encodes."""

    start: int
    end: int
    data: bytes


@functools.cache
def _base64() -> re.Pattern[str]:
    return re.compile(_BASE64)


@functools.cache
def _hex() -> re.Pattern[str]:
    return re.compile(_HEX)


@functools.cache
def _marks() -> re.Pattern[str]:
    return re.compile(f"{_BREAK}|[/_+-]")


@functools.cache
def _pairs() -> re.Pattern[str]:
    return re.compile(_PAIRS)


def _marks_of(characters: str) -> bytes:
    return bytes(ord("h" if chr(byte) in characters else " ") for byte in range(256))


def may_be_pairs(data: bytes) -> bool:
    """Return whether ``data`` may hold hexadecimal digits in groups."""
    # A sample of every fourth character rules out most texts: in a secret, ten in a row are digits, or separate groups.
    return _IN_A_ROW in data[::4].translate(_SAMPLED).decode("ascii")


def pairs_in(data: bytes, byte_classes: str) -> list[tuple[int, int]]:
    """Return the spans that may hold hexadecimal digits in groups."""
    sample, spans = data[::4], list[tuple[int, int]]()
    kinds = sample.translate(_SAMPLED).decode("ascii")
    at = kinds.find(_IN_A_ROW)
    while at >= 0:
        end = kinds.find(" ", at)
        end = len(kinds) if end < 0 else end
        if not sample[at:end].isalnum() and _ALL_PAIRS in data[4 * at : 4 * end].translate(_IN_PAIRS).decode("ascii"):
            near = byte_classes[4 * at : 4 * end]
            if near.count(" ") > 3 and any(map(near.__contains__, _GROUPED)):
                spans.append((max(0, 4 * at - _AROUND), 4 * end + _AROUND))
        at = kinds.find(_IN_A_ROW, end)
    return spans


_GROUPED = ("aa aa aa aa aa aa aa aa", "aa  aa  aa  aa  aa  aa", "aaaa aaaa aaaa aaaa aaaa", "aaaa  aaaa  aaaa  aaaa",
            "aaaaaaaa aaaaaaaa aaaaaaaa")  # fmt: skip
_AROUND = 300
_IN_A_ROW = "h" * 10
_SAMPLED = _marks_of("0123456789abcdefABCDEFxX \t:,;.\r\n\\")
_IN_PAIRS = _marks_of("0123456789abcdefABCDEFxX \t:,;.\r\n\\n")  # with the letter of an escape (\n)
_ALL_PAIRS = "h" * min(map(len, _GROUPED))


def likely_runs(data: bytes, runs: Runs, digits: bytes, *, is_mixed: bool) -> list[int]:
    """Return the positions of the runs of ``data`` that may encode text or compressed data; all runs if one may be
    text.

    ``digits`` are all runs joined, ``is_mixed`` tells that they are not only hexadecimal digits.
    """
    if is_mixed and data.find(b"\\") >= 0:  # the letter of an escape (\n) is not a digit
        runs = Runs((at + 1, run[1:]) if data[at - 1 : at] == b"\\" else (at, run) for at, run in runs)
        digits = b"".join([run for _, run in runs])
    if len(digits) >= _SHORTEST_HEX and _is_any(digits.translate(None, b"-_"), _HALVES, 2, _of_hex()):
        return [at for at, _ in runs]
    if not is_mixed:
        return [at for at, run in runs if run[:4] in _PACKED_HEX]
    if _is_any(digits, _LEADS, 4, _of_base64()):
        return [at for at, _ in runs]
    return [
        at
        for at, run in runs
        if run[:3] in _PACKED
        or run[:4] in _PACKED_HEX
        or (data[at - 1 : at] in (b"+", b"/") and _is_packed(data[max(0, at - _NEAR) : at]))
    ]


def _is_any(digits: bytes, kinds: tuple[bytes, str], width: int, pattern: re.Pattern[bytes]) -> bool:
    """Return whether ``pattern`` matches at a row of digits of which every ``width``-th has the given class."""
    byte_classes, row = kinds
    mapped = digits.translate(byte_classes).decode("ascii")
    for first in range(width):
        rows = mapped[first::width]
        at = rows.find(row)
        while at >= 0:
            end = rows.find(" ", at)
            end = len(rows) if end < 0 else end
            if pattern.match(digits, first + width * at, first + width * (end + 1)):
                return True
            at = rows.find(row, end)
    return False


# Classes of the first of the four digits of three ASCII bytes, and of the first half of a byte. A secret has 17 bytes
# or more, with the text that it is known by. NULs may stand between them.
_LEADS = (_marks_of("ACDIJKLMNOPQRSTUVWXYZabcdef"), "h" * 5)
_HALVES = (_marks_of("0234567"), "h" * 17)
_SHORTEST_HEX = 2 * 17
_HEADS = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")  # of gzip and zlib
_PACKED_HEX = frozenset(write(head.hex()).encode() for head in _HEADS for write in (str.lower, str.upper))
_PACKED = frozenset(base64.b64encode(head + bytes((more,)))[:3] for head in _HEADS for more in (0, 0x40, 0x80, 0xC0))


@functools.cache
def _of_base64() -> re.Pattern[bytes]:
    ascii_digits = b"[ACDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589]."
    return re.compile(rb"(?:.{4})*?(?:" + ascii_digits + rb"){5}")


@functools.cache
def _of_hex() -> re.Pattern[bytes]:
    sign = rb"[2-7][0-9A-Fa-f]"
    return re.compile(rb"(?:..)*?(?:(?:%b|0[9aAdD]){17}|(?:%b00){10}|(?:00%b){10})" % (sign, sign, sign))


def _is_packed(before: bytes) -> bool:
    """Return whether digits of compressed data begin before a run of token characters, which follows + or /."""
    start = len(before.rstrip(_ALPHABET.encode()))
    start += before[start - 1 : start] == b"\\"  # the letter of an escape
    return before[start : start + 3] in _PACKED


def run_at(text: str, at: int) -> tuple[int, int]:
    """Return the span of the digits at ``at``, including those before a preceding + or /."""
    if text[at - 1 : at] in ("+", "/"):
        before = text[max(0, at - _FAR) : at]
        at -= len(before) - len(before.rstrip(_ALPHABET))
    match = _base64().match(text, at)
    return (at, match.end()) if match is not None else (at, at)


def runs_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of base64 digits."""
    return (match.span() for match in _base64().finditer(text))


def digits_at(text: str, start: int, end: int) -> Iterator[DigitRun]:
    """Yield the readings of these digits, as hexadecimal and as base64: all lines together, from each place where they
    may begin, and then each line by itself, since a line beside it may be a word or a hash."""
    if end - start < _SHORTEST:
        return
    for match in _hex().finditer(text, start, end):
        yield DigitRun(*match.span(), _unhexed(match[0]))
        for line, stop, digits in _lines(text, *match.span()):
            if _of_hex().match(digits.translate(None, b"-")):
                yield DigitRun(line, stop, _unhexed(text[line:stop]))
        if match.span() == (start, end):
            return
    run = text[start:end]
    for offset in _offsets(run, text[start - 1 : start] == "\\"):
        if len(run) - offset >= _SHORTEST:
            yield DigitRun(start + offset, end, _unpacked(_decode(run[offset:])))
    for line, stop, digits in _lines(text, start, end):
        if (is_packed := digits[:3] in _PACKED) or _of_base64().match(digits):
            stop = end if is_packed else stop
            yield DigitRun(line, stop, _unpacked(_decode(text[line:stop])))


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the span and the digits of each line, if there are several lines."""
    line, ends = start, [match.span() for match in _LINE_END.compiled.finditer(text, start, end)]
    for stop, following in (*ends, (end, end)) if ends else ():
        digits = text[line:stop]
        at = line + len(digits) - len(digits.lstrip(_AROUND_LINES))
        digits = digits.strip(_AROUND_LINES)
        if len(digits) >= _SHORTEST:
            yield at, at + len(digits), digits.encode("ascii", "replace")
        line = following


def text_in(text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[DigitRun]:
    """Yield the bytes that groups of digits encode: `67 68`, `67:68`, `0x67, 0x68`."""
    for match in _pairs().finditer(text, start, end):
        yield DigitRun(*match.span(), _unhexed(match[0]))


def _offsets(run: str, is_escaped: bool) -> Iterator[int]:
    """Yield an offset for each of the four ways in which groups of four digits can lie."""
    done = {0}
    yield 0
    if is_escaped:  # the letter of \n is not a digit
        done.add(1)
        yield 1
    between = 0
    for match in _marks().finditer(run):
        between += len(match[0]) if len(match[0]) > 1 or match[0].isspace() else 0  # the end of a line is no digit
        if (place := (match.end() - between) % 4) not in done:
            done.add(place)
            yield match.end()
        if len(done) == 4 or match.end() > 4096:
            return


def _decode(run: str) -> bytes:
    if "\\" in run:
        run = run.replace("\\r", "").replace("\\n", "")
    digits = run.encode("ascii", "replace").translate(_URLSAFE, _NOT_BASE64)
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


def _unhexed(run: str) -> bytes:
    run = run.replace("\\n", "").replace("0x", "").replace("0X", "")
    digits = run.encode("ascii", "replace").translate(None, _NOT_HEX)
    return _unpacked(binascii.unhexlify(digits[: len(digits) & ~1]))


def _unpacked(data: bytes) -> bytes:
    """Decompress gzip or zlib, and reduce the two or four bytes of UTF-16 and UTF-32 to one."""
    if data[:2] == b"\x1f\x8b" or (data[:1] == b"\x78" and int.from_bytes(data[:2], "big") % 31 == 0):
        try:
            data = zlib.decompressobj(wbits=47).decompress(data, _LARGEST)
        except zlib.error:
            return data
    return data.translate(None, b"\0").strip(b"\xff\xfe") if data.count(0) * 3 > len(data) else data


def is_text(data: bytes) -> bool:
    """Return whether the bytes are UTF-8 without control characters."""
    if len(data.translate(None, _CONTROLS)) != len(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

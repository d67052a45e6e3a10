"""Runs of base64 and of hexadecimal digits, wrapped or not, and the text that they are."""

from __future__ import annotations

import binascii
import functools
import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Run", "digits_at", "is_text", "may_be_pairs", "run_at", "runs", "text_in"]

_SHORTEST = 24
_LARGEST = 1 << 18
"""Bytes that are unpacked of what is packed."""

# The end of a line within digits, with what programs put around it: quotes, and signs of quotation and addition.
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
_URLSAFE = bytes.maketrans(b"-_", b"+/")
_NOT_BASE64 = bytes(set(range(256)) - set(_ALPHABET.encode()))
_NOT_HEX = bytes(set(range(256)) - set(b"0123456789abcdefABCDEF"))
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}-?)+")
_MARK = re.compile("[/_+-]")
_CONTROLS = bytes({*range(32)} - {9, 10, 13})


class Run(NamedTuple):
    """From where to where digits stand, and what they are."""

    start: int
    end: int
    data: bytes


@functools.cache
def _base64() -> re.Pattern[str]:
    return re.compile(_BASE64)


@functools.cache
def _pairs() -> re.Pattern[str]:
    return re.compile(_PAIRS)


def may_be_pairs(data: bytes) -> bool:
    """Whether digits of hexadecimal may stand in it in groups."""
    # Every fourth sign tells that most texts have none: of a secret, ten in a row are digits, or stand between groups.
    if _IN_A_ROW not in data[::4].translate(_SAMPLED).decode("ascii"):
        return False
    if sum(map(data.count, (b"3", b"4", b"5", b"6", b"7"))) < _SHORTEST_TEXT:
        return False
    groups = data.translate(_GROUPS).decode("ascii")
    return any(group in groups for group in _GROUPED)


_GROUPS = bytes(
    ord("h" if chr(byte) in "0123456789abcdefABCDEFxX" else " " if chr(byte) in " \t:,;." else "!")
    for byte in range(256)
)
_GROUPED = ("hh hh hh hh hh hh hh hh", "hh  hh  hh  hh  hh  hh", "hhhh hhhh hhhh hhhh hhhh", "hhhh  hhhh  hhhh  hhhh",
            "hhhhhhhh hhhhhhhh hhhhhhhh")  # fmt: skip
_SHORTEST_TEXT = 20
_IN_A_ROW = "h" * 10
_SAMPLED = bytes(ord("h" if chr(byte) in "0123456789abcdefABCDEFxX \t:,;.\r\n\\" else "!") for byte in range(256))


def run_at(text: str, at: int) -> tuple[int, int]:
    """From where to where the digits go that stand at ``at``; + and / may be before it."""
    if text[at - 1 : at] in ("+", "/"):
        before = text[max(0, at - 4096) : at]
        at -= len(before) - len(before.rstrip(_ALPHABET))
    found = _base64().match(text, at)
    return (at, found.end()) if found is not None else (at, at)


def runs(text: str) -> Iterator[tuple[int, int]]:
    """From where to where there are digits of base64."""
    return (found.span() for found in _base64().finditer(text))


def digits_at(text: str, start: int, end: int) -> Iterator[Run]:
    """What these digits may be: in hexadecimal, and in base64 from each place where it may begin."""
    if end - start < _SHORTEST:
        return
    run = text[start:end]
    if _HEX.fullmatch(run, 2 * run.startswith(("0x", "0X"))):
        yield Run(start, end, _unhexed(run.replace("0x", "").replace("0X", "")))
        return
    for offset in _offsets(run, text[start - 1 : start] == "\\"):
        if len(run) - offset >= _SHORTEST:
            yield Run(start + offset, end, _unpacked(_decoded(run[offset:])))


def text_in(text: str) -> Iterator[Run]:
    """What digits in groups are: `67 68`, `67:68`, `0x67, 0x68`."""
    for found in _pairs().finditer(text):
        yield Run(*found.span(), _unhexed(found[0].replace("0x", "").replace("0X", "")))


def _offsets(run: str, is_escaped: bool) -> Iterator[int]:
    """One place for each of the four ways in which groups of four digits can lie."""
    done = {0}
    yield 0
    if is_escaped:  # the letter of \n is no digit
        done.add(1)
        yield 1
    for found in _MARK.finditer(run):
        if found.end() % 4 not in done:
            done.add(found.end() % 4)
            yield found.end()
        if len(done) == 4 or found.end() > 4096:
            return


def _decoded(run: str) -> bytes:
    if "\\" in run:
        run = run.replace("\\r", "").replace("\\n", "")
    digits = run.encode("ascii", "replace").translate(_URLSAFE, _NOT_BASE64)
    digits = digits[: len(digits) - (len(digits) % 4 == 1)]
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


def _unhexed(run: str) -> bytes:
    if "\\" in run:
        run = run.replace("\\n", "")
    digits = run.encode("ascii", "replace").translate(None, _NOT_HEX)
    return _unpacked(binascii.unhexlify(digits[: len(digits) & ~1]))


def _unpacked(data: bytes) -> bytes:
    """Without gzip or zlib around it, and in one byte where UTF-16 and UTF-32 have two or four."""
    if data[:2] == b"\x1f\x8b" or (data[:1] == b"\x78" and int.from_bytes(data[:2], "big") % 31 == 0):
        try:
            data = zlib.decompressobj(wbits=47).decompress(data, _LARGEST)
        except zlib.error:
            return data
    return data.translate(None, b"\0").strip(b"\xff\xfe") if data.count(0) * 3 > len(data) else data


def is_text(data: bytes) -> bool:
    """Whether it is UTF-8 without controls."""
    if len(data.translate(None, _CONTROLS)) != len(data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

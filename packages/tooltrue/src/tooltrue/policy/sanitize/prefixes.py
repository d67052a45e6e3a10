"""The prefixes of secrets, and the long runs of token characters in which they are searched.

The runs of a text are extracted once. Most are hashes, ids and identifiers of programs: those of hexadecimal digits
alone are skipped at once, and the others by their first two characters.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

from tooltrue.policy.sanitize.byte_classes import RUN
from tooltrue.policy.sanitize.secret_patterns import LONGEST_GLUE, SECRET_PATTERNS, SecretPattern

__all__ = ["FLAT", "PAIRS", "PrefixSearch", "Runs", "beside", "is_hex", "long_runs"]

_HEX_DIGITS = b"0123456789abcdefABCDEF-"  # with the hyphens of ids

_TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
FLAT = bytes(ord("a") if byte in _TOKEN else ord(" ") for byte in range(256))
_DIGITS = b"0123456789"
_GLUED = LONGEST_GLUE + 20  # with the longest prefix
_HEX_TOKEN = 32
_LONGEST_WORD = 64
_LONGEST_TOKEN = 100
_BEFORE, _NEAR = 16, 600
"""How much of the text around a prefix is searched for a secret."""

Runs = list[tuple[int, bytes]]
"""The index of each run, and the run."""


class _Prefix(NamedTuple):
    text: bytes
    secret_pattern: SecretPattern
    is_whole: bool
    is_sure: bool
    """Whether little other text has this prefix."""


def _by_pair() -> dict[bytes, list[_Prefix]]:
    table: dict[bytes, list[_Prefix]] = {}
    for secret_pattern in SECRET_PATTERNS:
        is_whole = secret_pattern.is_whole
        for prefix in secret_pattern.prefixes:
            row = _Prefix(prefix.encode(), secret_pattern, is_whole, is_whole or secret_pattern.kind in _UNBOUNDED)
            table.setdefault(row.text[:2], []).append(row)
    return table


_UNBOUNDED = frozenset({"jwt"})  # longer than the text that is searched


_PREFIXES = _by_pair()
PAIRS = frozenset(_PREFIXES)
"""The first two characters of all prefixes."""
_DOTTED = tuple(
    (prefix.encode(), secret_pattern)
    for secret_pattern in SECRET_PATTERNS
    for prefix in secret_pattern.prefixes
    if prefix.endswith(".")
)
_DOTTED_PREFIXES = tuple(prefix for prefix, _ in _DOTTED)


@functools.cache
def _behind_sign() -> re.Pattern[bytes]:
    return re.compile(b"[_-](?=" + _tree(tuple(prefix.text for row in _PREFIXES.values() for prefix in row)) + b")")


@functools.cache
def _whole_prefixes() -> re.Pattern[bytes]:
    tree = _tree(tuple(prefix.text for row in _PREFIXES.values() for prefix in row if prefix.is_whole))
    return re.compile(b"(?=(" + tree + b"))")


def _tree(prefixes: tuple[bytes, ...], depth: int = 3) -> bytes:
    """Build an expression for the longest of these prefixes, as a tree of their first characters: most places fail at
    the first."""
    if depth == 0 or len(set(prefixes)) == 1:
        return b"|".join(map(re.escape, sorted(set(prefixes), key=len, reverse=True)))
    rows: dict[bytes, list[bytes]] = {}
    for prefix in prefixes:
        rows.setdefault(prefix[:1], []).append(prefix[1:])
    branches = [
        re.escape(first) + b"(?:" + _tree(tuple(rest), depth - 1) + b")" for first, rest in rows.items() if first
    ]
    return b"|".join([*branches, b""] if b"" in rows else branches)


def long_runs(data: bytes, byte_classes: str) -> Runs:
    """Return the runs of 20 or more token characters, with their positions. ``byte_classes`` has an ``a`` for each
    token character of ``data``."""
    return [(at, data[at:end]) for at, end in map(re.Match[str].span, _long_run().finditer(byte_classes))]


@functools.cache
def _long_run() -> re.Pattern[str]:
    return re.compile(RUN + "a*")


def is_hex(digits: bytes) -> bool:
    """Return whether there are only hexadecimal digits and the hyphens of ids."""
    return not digits.translate(None, _HEX_DIGITS)


def beside(data: bytes, runs: Runs) -> bytes:
    """Return the text beside these runs: all of ``data`` where there are many."""
    if len(runs) * (3 * _LONGEST_TOKEN) > len(data):
        return data
    return b" ".join([data[max(0, at - _LONGEST_TOKEN) : at + len(run) + _LONGEST_TOKEN] for at, run in runs])


class PrefixSearch:
    """A search for places in ``data`` where a secret may begin; ``patterns`` are the patterns found so far. ``holds``
    examines the text near a prefix that much other text has too."""

    def __init__(self, data: bytes, holds: Callable[[SecretPattern, bytes], bool]) -> None:
        self.data = data
        self.holds = holds
        self.patterns = set[SecretPattern]()

    def behind_dots(self, runs: Runs) -> None:
        """Search before a full stop that stands before one of these runs."""
        for at, _ in runs:
            if self.data[at - 1 : at] == b".":
                self.behind_dot(at)

    def in_runs(self, runs: Runs) -> None:
        """Search anywhere in these runs."""
        data, words = self.data, Runs()
        for at, run in runs:
            if run.strip(_HEX_DIGITS):
                before = data[at - 1 : at]
                if run[:2] in PAIRS:
                    self.at(at)
                if before == b"\\":  # the letter of an escape (\n) is not part of the text after it
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
        """Search at this place."""
        if prefixes := _PREFIXES.get(self.data[at : at + 2]):
            for prefix in prefixes:
                if self.data.startswith(prefix.text, at) and (
                    prefix.is_sure or self.holds(prefix.secret_pattern, self.data[max(0, at - _BEFORE) : at + _NEAR])
                ):
                    self.patterns.add(prefix.secret_pattern)

    def behind_signs(self, runs: Runs) -> None:
        """Search behind ``_`` or ``-`` in these runs."""
        ends = list[int]()
        for sign in _behind_sign().finditer(b" ".join([run for _, run in runs])):
            ends = ends or list(itertools.accumulate([len(run) + 1 for _, run in runs]))
            which = bisect.bisect_right(ends, sign.start())
            self.at(runs[which][0] + sign.end() - (ends[which - 1] if which else 0))

    def behind_dot(self, at: int) -> None:
        """Search for a prefix that ends with the full stop before ``at``, or that begins the word before it."""
        word = self.data[max(0, at - _LONGEST_WORD) : at]
        if word.endswith(_DOTTED_PREFIXES):
            self.patterns.update(secret_pattern for prefix, secret_pattern in _DOTTED if word.endswith(prefix))
        length = len(word) - len(word.rstrip(_WORD))
        if word[len(word) - length :][:2] in PAIRS:
            self.at(at - length)
        if word.find(b"_") >= 0 or word.find(b"-") >= 0:
            self.behind_signs([(at - length, word[len(word) - length :])])

    def glued(self, run: bytes) -> None:
        """Search in a run, behind other letters."""
        for text in _whole_prefixes().findall(run):
            self.patterns.update(
                prefix.secret_pattern
                for prefix in _PREFIXES[text[:2]]
                if prefix.is_whole and text.startswith(prefix.text)
            )


_MIDDLE = (b"+", b"/")
"""Characters that stand before the middle of a value."""
_WORD = _TOKEN + b"."

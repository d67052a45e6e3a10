"""Secrets that are divided: text with its pieces joined, and the tokens in it then.

A program that wraps its lines divides tokens, and an attacker divides them to get past a mask. The characters around
the end of a line are removed with it: indentation, a backslash or an equals sign before it, and the number of the next
line; the end may also be the ``\\n`` of JSON. A tab divides tokens too, and so do other line ends of Unicode, `<wbr>`,
and the quotes of strings that a program joins.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tooltrue.policy.sanitize.byte_classes import RUN, classes_of
from tooltrue.policy.sanitize.prefixes import FLAT, PAIRS, PrefixSearch, long_runs
from tooltrue.policy.sanitize.secret_patterns import SECRET_PATTERNS, SecretPattern, without_edges

__all__ = [
    "LONG_TEXT",
    "Part",
    "Token",
    "can_be_multiline",
    "divided_parts",
    "may_be_multiline",
    "multiline_runs",
    "part_around",
    "patterns_across",
    "put_together",
    "tokens",
    "with_lines_joined",
]

_FREE = frozenset(
    {"private-key", "connection-password", "password", "authorization", "cookie", "named-key", "okta-token"}
)  # of several lines by nature, or made of any words
_HALF = 1_000  # joined lines are searched in windows of twice this size, which overlap by this size
_CONTEXT = 40


_SHORT = frozenset(
    {
        "jwt",
        "telegram-token",
        "sendgrid-key",
        "twilio-key",
        "airtable-token",
        "dynatrace-token",
        "discord-token",
        "mailgun-key",
    }
)  # share their beginning with much other text, and are recognized all the same


def can_be_multiline(secret_pattern: SecretPattern) -> bool:
    return secret_pattern in _DIVIDED


_DIVIDED = frozenset(
    secret_pattern
    for secret_pattern in SECRET_PATTERNS
    if secret_pattern.kind not in _FREE
    and (secret_pattern.is_whole or secret_pattern.prefixes == () or secret_pattern.kind in _SHORT)
)


def may_be_multiline(byte_classes: str, data: bytes, text: str, *, is_long: bool) -> bool:
    """Return whether ``data`` has a separator that may divide tokens. ``is_long`` tells that it has a long run of token
    characters; ``text`` is ``data`` with each byte as a character."""
    if "<" in byte_classes and "<wbr" in text:
        return True
    if "!" in byte_classes and (_OTHER_ENDS[0] in text or _OTHER_ENDS[1] in text or _OTHER_ENDS[2] in text):
        return True
    if not (
        "\n" in byte_classes
        or ("\\" in byte_classes and ("\\n" in text or "\\t" in text))
        or _is_added(byte_classes, text, is_long=is_long)
    ):
        return False
    # Without all separators, and the characters beside them, a divided token is a long run.
    return (
        is_long or len(data) > LONG_TEXT or RUN in data.translate(FLAT, _DIVIDES).decode("ascii") or _is_numbered(text)
    )


_DIVIDES = b" \t\r\n\\\"'`=+&|:."
_OTHER_ENDS = ("\xe2\x80\xa8", "\xe2\x80\xa9", "\xc2\x85")


def _is_added(byte_classes: str, text: str, *, is_long: bool) -> bool:
    """Return whether strings may be joined in the text. Of two adjacent strings, one is long."""
    if '"' not in byte_classes:
        return False
    if ("+" in byte_classes and ('"+' in byte_classes or '" +' in byte_classes)) or (
        "&" in byte_classes and ('"&' in byte_classes or '" &' in byte_classes)
    ):
        return True
    return is_long and '" "' in byte_classes and ('" "' in text or "' '" in text or '"."' in text or "'.'" in text)


def _is_numbered(text: str) -> bool:
    """Return whether the number of a line follows the name of a file."""
    return ":" in text and _number_behind().search(text) is not None


@functools.cache
def _number_behind() -> re.Pattern[str]:
    return re.compile(":" + _NUMBERED.decode())


_BETWEEN_TEXTS = rb'"[ ]{0,4}+(?:[+&]|\.{1,2}|\|\|)?[ ]{0,4}+\\?"'
_NUMBERED = rb"[0-9]{1,7}+[ ]{0,3}+(?:[:|\t]|\xe2\x86\x92|\\t)"
_LINE_NUMBER = rb"\n[ \t]{0,40}+" + _NUMBERED
_FILE_AND_LINE_NUMBER = rb"\n[ \t]{0,40}+[^\s:]{1,100}+:" + _NUMBERED
_ESCAPED_END = rb"\\(?:r\\)?n"


@functools.cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


_UNIFORM = bytes.maketrans(b"\t\r'`", b'\n\n""')


def put_together(data: bytes, byte_classes: str, text: str, *, is_long: bool) -> tuple[bytes, list[bytes]]:
    """Return ``data`` without separators, joined and in its pieces."""
    is_escaped = "\\" in byte_classes
    if is_escaped:
        data = _compiled(_ESCAPED_END).sub(b"\n", data)
    data = _compiled(_LINE_NUMBER).sub(b"\n", data)
    if _is_numbered(text):
        data = _compiled(_FILE_AND_LINE_NUMBER).sub(b"\n", data)
    data = data.translate(_UNIFORM)
    if is_escaped:
        data = data.replace(b"\\t", b"\n")
    if "!" in byte_classes:
        for end in filter(text.__contains__, _OTHER_ENDS):
            data = data.replace(end.encode("latin-1"), b"\n")
    if "<" in byte_classes and "<wbr" in text:
        data = data.replace(b"<wbr>", b"\n").replace(b"<wbr/>", b"\n").replace(b"<wbr />", b"\n")
    if _is_added(byte_classes, text, is_long=is_long):
        data = _compiled(_BETWEEN_TEXTS).sub(b"\n", data)
    lines = list(map(bytes.strip, data.split(b"\n"), itertools.repeat(b' =\\"+&|')))
    return b"".join(lines), lines


# --- parts of a long text ---------------------------------------------------------------------------------------------

LONG_TEXT = 4_000
"""A text of more bytes is not read as a whole if a few parts of it decide."""
_BYTES_FOR_A_PART = 10_000
_RAW_BEFORE, _RAW_BEHIND = 400, 1_600
_JOINED_BEFORE, _JOINED_BEHIND = 200, 800
"""How much joined text around a place decides whether a divided secret stands there."""
_BESIDE_END = " =\\\\\"'`+&|"


class Part(NamedTuple):
    """A part of a text, from ``start`` to ``stop``, that decides about the place from ``begin`` to ``end`` in it."""

    start: int
    begin: int
    end: int
    stop: int

    def put_together(self, data: bytes) -> tuple[bytes, list[bytes]]:
        return _put_plain_together(data[self.start : self.stop])

    def is_enough(self, data: bytes) -> bool:
        """Return whether the part has enough joined text on both sides of its place."""
        before, _ = _put_plain_together(data[self.start : self.begin])
        behind, _ = _put_plain_together(data[self.end : self.stop])
        return (self.start == 0 or len(before) >= _JOINED_BEFORE) and (
            self.stop == len(data) or len(behind) >= _JOINED_BEHIND
        )


def _put_plain_together(data: bytes) -> tuple[bytes, list[bytes]]:
    return put_together(data, classes_of(data), data.decode("latin-1"), is_long=False)


def with_lines_joined(byte_classes: str) -> str:
    """Return the classes with the end of a line as a token character: a token divided by ends of lines is a run."""
    return byte_classes.replace("\n", "a")


def divided_parts(byte_classes: str, joined: str, text: str, *, is_long: bool) -> list[Part] | None:
    """Return the parts of a long text that decide whether it holds a divided secret; ``None`` if they would be much of
    the text, or if strings may be joined in it. ``joined`` are the classes by :func:`with_lines_joined`, or an empty
    text if they hold no long run."""
    is_escaped = "\\" in byte_classes and ("\\n" in text or "\\t" in text)
    has_other_ends = "!" in byte_classes and any(map(text.__contains__, _OTHER_ENDS))
    has_breaks = "<" in byte_classes and "<wbr" in text
    if is_escaped or has_other_ends or has_breaks or _is_added(byte_classes, text, is_long=is_long):
        return None
    most = len(text) // _BYTES_FOR_A_PART
    places = list(itertools.islice(_places(joined, text), most + 1))
    if len(places) > most or sum(end - begin for begin, end in places) > len(text) // 4:
        return None
    return [part_around(begin, end, len(text)) for begin, end in places]


def _places(joined: str, text: str) -> Iterator[tuple[int, int]]:
    for end in "\n\r\t":
        if end in text:
            yield from map(re.Match[str].span, _removed_beside(end).finditer(text))
    at = joined.find(RUN)
    while at >= 0 and (run := _run().match(joined, at)):
        yield run.span()
        at = joined.find(RUN, run.end())


@functools.cache
def _removed_beside(end: str) -> re.Pattern[str]:
    """Return the pattern of an end of a line with something beside it that is removed too, for a text of bytes as
    characters. A text is searched for a known first character many times faster."""
    number = r"[0-9][0-9]{0,6} {0,3}[:|\t\xe2]"
    return re.compile(f"{end}(?:[{_BESIDE_END}]|(?<=[{_BESIDE_END}]{end})|{number}|{_OF_A_NAME}{{1,100}}+:[0-9])")


_OF_A_NAME = r"[\x00-\x08\x0e-\x1b!-9;-\x84\x86-\x9f\xa1-\xff]"
"""The same as ``[^\\s:]`` for a byte as a character, and searched in half the time."""


@functools.cache
def _run() -> re.Pattern[str]:
    return re.compile("a+")


def part_around(begin: int, end: int, size: int) -> Part:
    return Part(max(0, begin - _RAW_BEFORE), begin, end, min(size, end + _RAW_BEHIND))


MultilineRun = tuple[int, bytes, list[int]]
"""The position of a run of token characters in the joined text, the run, and the positions of separators."""


def multiline_runs(together: bytes, lines: list[bytes]) -> list[MultilineRun]:
    """Return the long runs with a separator inside, or close enough behind them to lie in the same token."""
    multiline = list[MultilineRun]()
    if runs := long_runs(together, together.translate(FLAT).decode("ascii")):
        joints = [*itertools.accumulate(map(len, lines)), sys.maxsize]
        first = 0
        for at, run in runs:
            end = at + len(run)
            if joints[first] < at:  # most often the next one
                first += 1
                first = bisect.bisect_left(joints, at, first) if joints[first] < at else first
            if joints[first] < end + _LONGEST:
                behind = first
                while joints[behind] < end:
                    behind += 1
                multiline.append((at, run, joints[first:behind]))
    return multiline


_LONGEST = 100


def patterns_across(together: bytes, runs: list[MultilineRun]) -> set[SecretPattern]:
    """Return the patterns of secrets that may begin in such runs."""
    search = PrefixSearch(together, _holds)
    for at, _, joints in runs:
        for begin in (at, *joints):
            if together[begin : begin + 2] in PAIRS:
                search.at(begin)
        if together[at - 1 : at] == b".":
            search.behind_dot(at)
    search.behind_signs([(at, run) for at, run, _ in runs if not run.isalnum()])
    return search.patterns & _DIVIDED


def _holds(secret_pattern: SecretPattern, near: bytes) -> bool:
    return _bare(secret_pattern).search(near.decode("latin-1")) is not None


# --- in text ----------------------------------------------------------------------------------------------------------

_SIGNS = "[A-Za-z0-9_+/=.-]"
_NUMBER = r"(?:(?:[^\s:]{1,100}+:)?[0-9]{1,7}+[ ]{0,3}+(?:[:|\t\u2192]|\\t)[ \t]{0,40}+)?+"
_QUOTED = r"\\?[\"'`]"
_ADDS = r"(?:[+&]|\.{1,2}|\|\|)"
_BREAK = (
    rf"(?:(?:{_QUOTED}[ \t]{{0,4}}+{_ADDS}?)?[ \t]{{0,40}}+[\\=]?"
    r"(?:\r?\n|(?:\\r)?\\n|\r|[\u2028\u2029\x85])[ \t]{0,40}+"
    rf"{_NUMBER}(?:(?:{_ADDS}[ \t]{{0,4}}+)?{_QUOTED})?"
    rf"|\t{{1,8}}+|\\t|<wbr ?/?>|{_QUOTED}[ ]{{0,4}}+{_ADDS}?[ ]{{0,4}}+{_QUOTED})"
)


class Token(NamedTuple):
    """The span of a divided secret, and the secret with its pieces joined."""

    start: int
    end: int
    secret: str


class _Piece(NamedTuple):
    """The span of a part of a line, and its position in the joined text."""

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
def _bare(secret_pattern: SecretPattern) -> re.Pattern[str]:
    return re.compile(without_edges(secret_pattern.pattern))


def tokens(text: str, patterns: Sequence[SecretPattern]) -> Iterator[tuple[SecretPattern, Token]]:
    """Yield the secrets of these patterns that stand on several lines, in order."""
    done = 0
    for chain in _chain().finditer(text):
        for pieces in _windows(text, chain.start(), chain.end()):
            matches = [
                (secret_pattern, token)
                for secret_pattern in patterns
                for token in _tokens(text, pieces, secret_pattern)
            ]
            for secret_pattern, token in sorted(matches, key=lambda one: one[1]):
                if token.start >= done:
                    done = token.end
                    yield secret_pattern, token


def _windows(text: str, start: int, end: int) -> Iterator[list[_Piece]]:
    """Yield the pieces of lines that are searched together. Of a long piece, the beginning is searched with the pieces
    before it, and the end with those after it."""
    pieces: list[_Piece] = []
    at, begin = 0, max(0, start - _CONTEXT)
    for stop, behind in itertools.chain((match.span() for match in _break().finditer(text, start, end)), [(end, end)]):
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


def _tokens(text: str, pieces: list[_Piece], secret_pattern: SecretPattern) -> Iterator[Token]:
    whole, pattern = "".join([text[piece.start : piece.end] for piece in pieces]), _bare(secret_pattern)
    group = "secret" if "secret" in pattern.groupindex else 0
    starts = [piece.at for piece in pieces]
    for matches in pattern.finditer(whole):
        first = bisect.bisect(starts, matches.start(group)) - 1
        begin = pieces[first].start + matches.start(group) - starts[first]
        if secret_pattern.prefixes and text[begin - 1 : begin].isalnum() and begin != pieces[first].start:
            continue
        for at in range(first + 1, len(pieces)):  # as few pieces as possible: the next ones may be other words
            shorter = pattern.match(whole, matches.start(), _behind(pieces[at]))
            if shorter is not None and shorter.end(group) > pieces[at].at:
                last = _wrapped_to(whole, pieces, at, matches.end(group))
                shorter = pattern.match(whole, matches.start(), _behind(pieces[last])) or shorter
                yield Token(begin, pieces[last].start + shorter.end(group) - pieces[last].at, shorter[group])
                break
            if shorter is not None:
                break


def _behind(piece: _Piece) -> int:
    return piece.at + piece.end - piece.start


def _wrapped_to(whole: str, pieces: list[_Piece], at: int, end: int) -> int:
    """Return the last piece of a token, which continues while lines have one width and look like more than a word."""
    while at + 1 < len(pieces) and pieces[at].end - pieces[at].start == pieces[at - 1].end - pieces[at - 1].start:
        more = whole[pieces[at + 1].at : _behind(pieces[at + 1])]
        if end < _behind(pieces[at + 1]) or more == more.lower():
            break
        at += 1
    return at

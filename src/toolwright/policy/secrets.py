"""Secrets in what leaves: which shapes there are, where they may be, and text with masks in their place.

A secret is known by its own shape: it begins as its issuer lets all of them begin, or stands where only a password or
key stands. What merely looks random is left alone: hashes, ids and pictures are no secrets. :func:`suspects` looks at
encoded bytes once and is cheap; :func:`masked` looks at a text for the shapes that were suspected.
"""

from __future__ import annotations

import binascii
import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote_to_bytes

from toolwright.policy.classes import classes_of
from toolwright.policy.divided import can_be_divided, put_together, tokens
from toolwright.policy.shapes import SHAPES, Shape

__all__ = ["SHORTEST", "fingerprint", "is_short_and_plain", "kinds_in", "mask_in", "masked", "suspects"]

_LONG = ("PRIVATE KEY", "hooks.slack.com")  # beside these there is always a long run of token characters
_AT = next(shape for shape in SHAPES if "://" in shape.known)


def _beside(holds: Callable[[str], bool]) -> tuple[tuple[str, Shape], ...]:
    """Words that secrets stand beside, with their shapes."""
    words = ((known, shape) for shape in SHAPES for known in shape.known if shape is not _AT)
    return tuple((known, shape) for known, shape in words if holds(known))


_KNOWN = _beside(lambda known: known[-1] != "=" and known not in _LONG)
_KNOWN_EQUAL = _beside(lambda known: known[-1] == "=")
_KNOWN_LONG = _beside(lambda known: known in _LONG)

_ENCODED = Shape("encoded-secret", (), r"[A-Za-z0-9+/_-]{24,}(?:\r?\n[A-Za-z0-9+/_-]+)*={0,2}")
_QUOTED = Shape(
    "encoded-secret", (), r"(?:(?<![^\s\"'<>])|\\[bfnrt]?)(?P<secret>[^\s\"'<>\\]*%[0-9A-Fa-f]{2}[^\s\"'<>\\]*)"
)
"""What may hold a secret, encoded: in base64 or hexadecimal digits, or quoted for a URL."""


def _by_begin() -> dict[bytes, list[tuple[bytes, Shape]]]:
    table: dict[bytes, list[tuple[bytes, Shape]]] = {}
    for shape in SHAPES:
        for begin in shape.begins:
            table.setdefault(begin[:2].encode(), []).append((begin.encode(), shape))
    return table


_BEGINS = _by_begin()
_DOTTED = tuple((begin.encode(), shape) for shape in SHAPES for begin in shape.begins if begin.endswith("."))
_RUN = "a" * 20  # so many characters of a token in a row: whatever has a beginning has as many
_START = b" " + _RUN.encode()
_FLAT = bytes(byte if byte == ord("a") else ord(" ") for byte in range(256))


# 24 digits that may be ASCII: in hexadecimal, or in base64, where the first bit of each byte is not set.
_DIGITS = (
    rb"(?:0[9aAdD]|[2-7][0-9A-Fa-f]){12}|(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][\w+/-]){6}"
)


@functools.cache  # compiled when there is a run to look at: a server that only starts does not pay for it
def _digits_of_text() -> re.Pattern[bytes]:
    return re.compile(_DIGITS)


@functools.cache
def _may_begin() -> re.Pattern[bytes]:
    return re.compile(rb"(?<=[.\\])|" + b"|".join((*_BEGINS, _DIGITS)))


@functools.cache
def _begin_within() -> tuple[re.Pattern[bytes], ...]:
    # One for each sign: for a first byte that is known a text is run through many times quicker than for one of two.
    return tuple(re.compile(sign + _ahead()) for sign in (b"_", b"-"))


@functools.cache
def _begin_anywhere() -> re.Pattern[bytes]:
    return re.compile(_ahead())


def _ahead() -> bytes:
    begins = sorted((begin for row in _BEGINS.values() for begin, _ in row), key=len, reverse=True)
    first, second = (b"[" + bytes({begin[at] for begin in begins}) + b"]" for at in (0, 1))
    return b"(?=" + first + second + b")(?=(" + b"|".join(map(re.escape, begins)) + b"))"


_BESIDE = 40  # bytes that a secret has with the word that it is known by
SHORTEST = 12
"""No text that is shorter holds a secret."""


# --- where to look ----------------------------------------------------------------------------------------------------


def is_short_and_plain(data: bytes, classes: str) -> bool:
    """Whether so little stands in ``data``, and of so few kinds, that nothing in it is secret, or hides."""
    return len(data) < _BESIDE and not classes.strip("a ") and _RUN not in classes


def suspects(data: bytes, classes: str) -> tuple[Shape, ...]:
    """The shapes that may be in ``data``: text as UTF-8, plain or within JSON. ``classes`` are its bytes by class."""
    found = _plain(data, classes)
    if "%" in classes and (unquoted := unquote_to_bytes(_quoted(data))) and _plain(unquoted, classes_of(unquoted)):
        found[_QUOTED] = None
    return tuple(found)


def _plain(data: bytes, classes: str) -> dict[Shape, None]:
    found: dict[Shape, None] = {}
    text = data.decode("latin-1")
    if len(data) >= _BESIDE:
        found = {shape: None for known, shape in _KNOWN if known in text}
    if "=" in classes:
        found.update((shape, None) for known, shape in _KNOWN_EQUAL if known in text)
    if "@" in classes and "://" in text:
        found[_AT] = None
    if _RUN in classes:
        found.update((shape, None) for known, shape in _KNOWN_LONG if known in text)
        may_begin = _may_begin().match
        for at in _runs(classes):
            if may_begin(data, at):
                found.update(dict.fromkeys(_beginning(data, at)))
        for begin in {begin for behind in _begin_within() for begin in behind.findall(data)}:
            found.update(dict.fromkeys(_begun(begin, 0)))
    if "\n" in classes or ("\\" in classes and "\\n" in text):  # a token may stand on several lines
        found.update(dict.fromkeys(_divided(put_together(data))))
    return found


_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_APART = bytes.maketrans(b"\t\n\v\f\r\"'<>", b" " * 9)


def _quoted(data: bytes) -> bytes:
    """The words in which something is quoted for a URL."""
    apart = data.translate(_APART) + b" "
    words, done = list[bytes](), 0
    for match in _PERCENT.finditer(data):
        if match.start() >= done:
            start = max(done, apart.rfind(b" ", done, match.start()))
            done = apart.find(b" ", match.end())
            words.append(data[start:done])
    return b" ".join(words)


def _runs(classes: str) -> Iterator[int]:
    """Where a long run of token characters starts."""
    # With one byte in front, where the other class is found is where the run starts.
    flat = b" " + classes.encode("latin-1").translate(_FLAT)
    at = flat.find(_START)
    while at >= 0:
        yield at
        at = flat.find(_START, at + len(_START))


def _beginning(data: bytes, at: int) -> Iterator[Shape]:
    """What a run of token characters that starts here may be."""
    before = data[at - 1 : at]
    if before == b".":
        yield from (shape for begin, shape in _DOTTED if data.endswith(begin, 0, at))
    # The letter of an escape (\n) is no part of what follows it.
    for start in (at, at + 1) if before == b"\\" else (at,):
        yield from _begun(data, start)
        # What follows + or / is the middle of something.
        if before not in (b"+", b"/") and _digits_of_text().match(data, start):
            yield _ENCODED


def _divided(together: bytes) -> Iterator[Shape]:
    """What may stand on several lines, which are put together."""
    classes = classes_of(together)
    if _RUN in classes:
        yield from (shape for known, shape in _KNOWN_LONG if known.encode() in together and can_be_divided(shape))
        flat = classes.encode("latin-1").translate(_FLAT) + b" "
        for at in _runs(classes):
            if together[at - 1 : at] == b".":
                yield from (shape for begin, shape in _DOTTED if together.endswith(begin, 0, at))
            for begin in set(_begin_anywhere().findall(together, at, flat.find(b" ", at))):
                yield from _begun(begin, 0)


def _begun(data: bytes, start: int) -> Iterator[Shape]:
    return (shape for begin, shape in _BEGINS.get(data[start : start + 2], ()) if data.startswith(begin, start))


# --- what stands there ------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(shape: Shape) -> re.Pattern[str]:
    return re.compile(shape.pattern)


def masked(text: str, shapes: tuple[Shape, ...], found: list[str]) -> str:
    """``text`` with a mask for each secret of these shapes; ``found`` gets what was masked."""
    for shape in shapes:
        text = _compiled(shape).sub(functools.partial(_replaced, shape, found), text)
    return _without_divided(text, shapes, found) if "\n" in text or "\\n" in text else text


def kinds_in(data: bytes) -> list[str]:
    """The kinds of the secrets that ``data`` holds: text as UTF-8, plain or within JSON."""
    found = list[str]()
    if shapes := suspects(data, classes_of(data)):
        masked(data.decode(), shapes, found)
    return sorted({kind.rpartition(" ")[0] or kind for kind in found})


def _without_divided(text: str, shapes: tuple[Shape, ...], found: list[str]) -> str:
    """With a mask for each secret that ends of lines divide. Lines of words may stand like one: it has a digit too."""
    pieces, at = list[str](), 0
    for shape, token in tokens(text, [shape for shape in shapes if can_be_divided(shape)]):
        if not _is_placeholder(token.secret) and _HAS_DIGIT.search(token.secret):
            pieces += [text[at : token.start], _mask(shape.kind, token.secret, found)]
            at = token.end
    return "".join([*pieces, text[at:]]) if pieces else text


_HAS_DIGIT = re.compile(r"[0-9]")


def _replaced(shape: Shape, found: list[str], match: re.Match[str]) -> str:
    kind, (start, end) = shape.kind, match.span("secret" if "secret" in match.re.groupindex else 0)
    secret = match.string[start:end]
    if shape is _ENCODED or shape is _QUOTED:
        # With the backslash before it: in `\npm_…` the letter is the token's as well.
        inner = unquote_to_bytes(match[0]) if shape is _QUOTED else _decoded("".join(secret.split()))
        kind = next((f"encoded-{kind}" for kind in _revealed(inner)), "")
    elif _is_placeholder(secret):
        kind = ""
    if not kind:
        return match[0]
    mask = _mask(kind, secret, found)
    return f"{match.string[match.start() : start]}{mask}{match.string[end : match.end()]}"


def _mask(kind: str, secret: str, found: list[str]) -> str:
    mask = f"{kind} {fingerprint(secret)}"
    found.append(mask)
    return f"[secret masked: {mask}]"


_BASE64 = str.maketrans("-_", "+/")
_PRINTED = bytes(range(32, 127)) + b"\t\n\r"


def _decoded(digits: str) -> bytes:
    """The text that these digits are, in hexadecimal or base64; nothing where they are none."""
    plain = digits.rstrip("=").translate(_BASE64)
    for decode, text in ((binascii.unhexlify, plain), (binascii.a2b_base64, plain + "=" * (-len(plain) % 4))):
        try:
            decoded = decode(text)
        except (binascii.Error, ValueError):
            continue
        if decoded.translate(None, _PRINTED) == b"":
            return decoded
    return b""


def _revealed(data: bytes) -> Iterator[str]:
    """The kinds of the secrets in what was decoded."""
    text = data.decode(errors="replace")
    for shape in _plain(data, classes_of(data)):
        if shape is _ENCODED:
            continue
        for match in _compiled(shape).finditer(text):
            if not _is_placeholder(match["secret"] if "secret" in match.re.groupindex else match[0]):
                yield shape.kind


_PLACEHOLDERS = frozenset({"password", "passwd", "pass", "pwd", "pw", "secret", "changeme", "redacted", "mypassword"})


def _is_placeholder(secret: str) -> bool:
    """Whether a password is one that examples have."""
    return len(set(secret)) == 1 or secret[0] in "$<{[%:*" or secret.strip("_-.").lower() in _PLACEHOLDERS


_FINGERPRINT_KEY = os.urandom(16)  # a mask must not help to guess a password


def fingerprint(secret: str) -> str:
    """The same for the same secret while this process runs."""
    return hashlib.blake2s(secret.encode(), key=_FINGERPRINT_KEY, digest_size=3).hexdigest()


# --- masks that come back ---------------------------------------------------------------------------------------------

_MASK = re.compile(r"\[(?:secret|personal data) masked: ([a-z0-9-]+ [0-9a-f]{6})\]")


def mask_in(value: Any) -> str | None:
    """The first mask in a JSON value, or ``None``."""
    if isinstance(value, str):
        found = _MASK.search(value) if " masked: " in value else None
        return found and found[0]
    if isinstance(value, dict):
        return next(filter(None, map(mask_in, (*value, *value.values()))), None)  # pyright: ignore[reportUnknownArgumentType]
    return next(filter(None, map(mask_in, value)), None) if isinstance(value, list) else None  # pyright: ignore[reportUnknownArgumentType]

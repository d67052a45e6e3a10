"""Secrets in what leaves: which shapes there are, where they may be, and text with masks in their place.

A secret is known by its own shape: it begins as its issuer lets all of them begin, or stands where only a password or
key stands. What merely looks random is left alone: hashes, ids and pictures are no secrets. :func:`suspects` looks at
encoded bytes once and is cheap; :func:`masked` looks at a text for the shapes that were suspected.

A secret may be written otherwise: with escapes, in base64, divided. Each way has a module that gives a reading of the
text, and what is found in a reading is masked where it stands: :mod:`respelled`, :mod:`encoded`, :mod:`divided`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from toolwright.policy.classes import RUN, classes_of
from toolwright.policy.divided import can_be_divided, may_be_divided, put_together, tokens
from toolwright.policy.encoded import digits_at, is_text, may_be_pairs, run_at, runs, text_in
from toolwright.policy.respelled import may_be_respelled, respelled, words_respelled
from toolwright.policy.shapes import LONGEST_GLUE, SHAPES, Shape, glued, is_named, is_random

__all__ = [
    "SHORTEST",
    "fingerprint",
    "is_short_and_plain",
    "kinds_in",
    "mask_in",
    "masked",
    "masked_member",
    "masked_slice",
    "suspects",
]

# Beside all others that are known by a word there is a long run of token characters.
_ALWAYS = frozenset({"ecretAccessKey", "ecret_access_key", "CCESS_KEY"})
_NAMES = frozenset({"assword", "uthorization"})  # before a colon or an equals sign
_IN_CAPITALS = frozenset({"ASSWORD", "assphrase", "passwd"})  # in settings, before an equals sign
_AT = next(shape for shape in SHAPES if "://" in shape.known)
_RANKS = {shape: rank for rank, shape in enumerate(SHAPES)}
_NAMED_KEY = next(shape for shape in SHAPES if shape.kind == "named-key")


def _beside(holds: Callable[[str], bool]) -> tuple[tuple[str, Shape], ...]:
    """Words that secrets stand beside, with their shapes."""
    words = ((known, shape) for shape in SHAPES for known in shape.known if shape is not _AT)
    return tuple((known, shape) for known, shape in words if holds(known))


_KNOWN = _beside(lambda known: known in _ALWAYS)
_KNOWN_NAMED = _beside(lambda known: known in _NAMES)
_KNOWN_EQUAL = _beside(lambda known: known[-1] == "=" or known in _IN_CAPITALS)
_KNOWN_LONG = _beside(
    lambda known: known[-1] != "=" and known not in _ALWAYS | _NAMES | _IN_CAPITALS and known.isascii()
)
_KNOWN_WIDE = tuple(
    (known.encode().decode("latin-1"), shape) for known, shape in _beside(lambda known: not known.isascii())
)

_ENCODED = Shape("encoded-secret", (), "")
_RESPELLED = Shape("respelled-secret", (), "")
"""What may hold a secret, encoded or written otherwise."""

_DEPTH = 3
"""How often text within text is read: base64 of base64 of what is packed."""


def _by_begin() -> dict[bytes, list[tuple[bytes, Shape]]]:
    table: dict[bytes, list[tuple[bytes, Shape]]] = {}
    for shape in SHAPES:
        for begin in shape.begins:
            table.setdefault(begin[:2].encode(), []).append((begin.encode(), shape))
    return table


_BEGINS = _by_begin()
_DOTTED = tuple((begin.encode(), shape) for shape in SHAPES for begin in shape.begins if begin.endswith("."))
_DOTTED_BEGINS = tuple(begin for begin, _ in _DOTTED)
_START = b" " + RUN.encode()
_FLAT = bytes(byte if byte == ord("a") else ord(" ") for byte in range(256))


@functools.cache
def _may_begin() -> re.Pattern[bytes]:
    return re.compile(rb"(?<=[.\\])|" + b"|".join(_BEGINS))


@functools.cache
def _begin_within() -> tuple[re.Pattern[bytes], ...]:
    # One for each sign: for a first byte that is known a text is run through many times quicker than for one of two.
    return tuple(re.compile(sign + _ahead()) for sign in (b"_", b"-"))


@functools.cache
def _begin_anywhere() -> re.Pattern[bytes]:
    return re.compile(_ahead())


def _ahead() -> bytes:
    return b"(?=(" + _tree(tuple(begin for row in _BEGINS.values() for begin, _ in row)) + b"))"


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


_BESIDE = 40  # bytes that a secret has with the word that it is known by
SHORTEST = 12
"""No text that is shorter holds a secret."""


# --- where to look ----------------------------------------------------------------------------------------------------


def is_short_and_plain(data: bytes, classes: str) -> bool:
    """Whether so little stands in ``data``, and of so few kinds, that nothing in it is secret, or hides."""
    return len(data) < _BESIDE and not classes.strip('a "+') and RUN not in classes and classes.count('"') < 2


def suspects(data: bytes, classes: str, depth: int = _DEPTH) -> tuple[Shape, ...]:
    """The shapes that may be in ``data``: text as UTF-8, plain or within JSON. ``classes`` are its bytes by class."""
    text = data.decode("latin-1")
    is_long = RUN in classes
    found = _plain(data, text, classes, is_long=is_long)
    is_paired = bool(depth) and may_be_pairs(data)
    if depth and (is_long or is_paired) and _holds_encoded(text, classes, depth, is_paired=is_paired):
        found[_ENCODED] = None
    if depth and may_be_respelled(text, classes, data):
        reading = words_respelled(data.decode(errors="replace")).encode(errors="replace")
        if suspects(reading, classes_of(reading), depth - 1):
            found[_RESPELLED] = None
    return tuple(found)


def _plain(data: bytes, text: str, classes: str, *, is_long: bool) -> dict[Shape, None]:
    found = dict[Shape, None]()
    if len(data) >= _SHORTEST_NAMED:
        _add(found, _KNOWN, text)
        if "=" in classes or ":" in text:
            _add(found, _KNOWN_NAMED, text)
        if not text.isascii():
            _add(found, _KNOWN_WIDE, text)
    if "=" in classes:
        _add(found, _KNOWN_EQUAL, text)
    if "@" in classes and "://" in text:
        found[_AT] = None
    if is_long:
        _add(found, _KNOWN_LONG, text)
        found.update(dict.fromkeys(_in_runs(data, classes)))
        for begin in {begin for behind in _begin_within() for begin in behind.findall(data)}:
            found.update(dict.fromkeys(_begun(begin, 0)))
    if may_be_divided(classes, data, is_long=is_long):
        found.update(dict.fromkeys(_divided(put_together(data, classes, is_long=is_long))))
    return found


def _add(found: dict[Shape, None], words: Iterable[tuple[str, Shape]], text: str) -> None:
    for known, shape in words:
        if known in text and (not is_named(shape) or _stands_in(shape, known, text)):
            found[shape] = None


def _stands_in(shape: Shape, known: str, text: str) -> bool:
    """Whether a secret with a name before it stands there. The names are everywhere, so that is looked at at once."""
    at = text.find(known)
    while at >= 0:
        near = text[max(0, at - _NAME) : at + _NEAR]
        near = near if near.isascii() else near.encode("latin-1").decode(errors="replace")
        if next(_of_shape(shape, near), None) is not None:
            return True
        at = text.find(known, at + len(known))
    return False


_NAME, _NEAR = 8, 400


def _holds_encoded(text: str, classes: str, depth: int, *, is_paired: bool) -> bool:
    done = 0
    for at in _runs(classes) if RUN in classes else ():
        if at >= done:
            start, done = run_at(text, at)
            if any(_revealed(run.data, depth) for run in digits_at(text, start, done)):
                return True
    return is_paired and any(_revealed(run.data, depth) for run in text_in(text))


def _runs(classes: str) -> Iterator[int]:
    """Where a long run of token characters starts."""
    # With one byte in front, where the other class is found is where the run starts.
    flat = b" " + classes.encode("latin-1").translate(_FLAT)
    at = flat.find(_START)
    while at >= 0:
        yield at
        at = flat.find(_START, at + len(_START))


def _in_runs(data: bytes, classes: str) -> Iterator[Shape]:
    """What the runs of token characters may be."""
    may_begin, flat = _may_begin().match, classes.encode("latin-1").translate(_FLAT) + b" "
    for at in _runs(classes):
        if may_begin(data, at):
            yield from _beginning(data, at)
        if data[at - 1 : at] in _BEHIND_NAMES and _behind_name(data, at):
            yield _NAMED_KEY
        if data[at - 1 : at] not in (b"+", b"/"):  # what follows them is the middle of something
            yield from _glued(data[at + 1 : min(flat.find(b" ", at), at + _GLUED)])


def _dotted(data: bytes, at: int) -> Iterator[Shape]:
    """The shapes of which a beginning ends here, with a full stop."""
    if data.endswith(_DOTTED_BEGINS, 0, at):
        yield from (shape for begin, shape in _DOTTED if data.endswith(begin, 0, at))


def _glued(run: bytes) -> Iterator[Shape]:
    """What may stand in a run behind other letters."""
    if run.strip(_HEX_DIGITS) and not _RARE.isdisjoint([run[at : at + 3] for at in range(len(run) - 2)]):
        for begin in _begin_anywhere().findall(run):
            yield from (shape for shape in _begun(begin, 0) if shape.is_whole)


_HEX_DIGITS = b"0123456789abcdefABCDEF"
_RARE = frozenset(begin[:3].encode() for shape in SHAPES if shape.is_whole for begin in shape.begins)


def _beginning(data: bytes, at: int) -> Iterator[Shape]:
    """What a run of token characters that starts here may be."""
    before = data[at - 1 : at]
    if before == b".":
        yield from _dotted(data, at)
        word = data[max(0, at - _LONGEST_WORD) : at]
        yield from _begun(word, len(word.rstrip(_WORD)))
    # The letter of an escape (\n) is no part of what follows it.
    for start in (at, at + 1) if before == b"\\" else (at,):
        yield from _begun(data, start)


_BEHIND_NAMES = frozenset((b" ", b"\t", b"=", b":", b'"', b"'"))
_GLUED = LONGEST_GLUE + 20  # with the longest beginning
_LONGEST_WORD = 64
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_SHORTEST_NAMED = 18


@functools.cache
def _name_before() -> re.Pattern[bytes]:
    return re.compile(rb"(?i:key|token|secret)\\?[\"']?\s{0,4}(?:=>|:=|[:=])\s{0,4}\\?[\"']?\Z")


def _behind_name(data: bytes, at: int) -> bool:
    before = data[max(0, at - 24) : at]
    return before.rstrip(b" \t\"'\\")[-1:] in (b":", b"=", b">") and _name_before().search(before) is not None


def _divided(together: bytes) -> Iterator[Shape]:
    """What may stand in several pieces, which are put together."""
    classes = classes_of(together)
    if RUN in classes:
        yield from (shape for known, shape in _KNOWN_LONG if known.encode() in together and can_be_divided(shape))
        flat = classes.encode("latin-1").translate(_FLAT) + b" "
        for at in _runs(classes):
            if together[at - 1 : at] == b".":
                yield from _dotted(together, at)
            stop = flat.find(b" ", at)
            if not together[at:stop].strip(_HEX_DIGITS):
                continue
            for begin in set(_begin_anywhere().findall(together, at, stop)):
                yield from filter(can_be_divided, _begun(begin, 0))


def _begun(data: bytes, start: int) -> Iterator[Shape]:
    return (shape for begin, shape in _BEGINS.get(data[start : start + 2], ()) if data.startswith(begin, start))


# --- what stands there ------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class _Found(NamedTuple):
    """From where to where a secret stands, and its kind. Of two that overlap the first of its ``rank`` names both."""

    start: int
    end: int
    rank: int
    kind: str
    secret: str


def masked(text: str, shapes: tuple[Shape, ...], found: list[str]) -> str:
    """``text`` with a mask for each secret of these shapes; ``found`` gets what was masked."""
    pieces, at = list[str](), 0
    for secret in _together(_secrets(text, shapes, _DEPTH)):
        pieces += (text[at : secret.start], _mask(secret.kind, secret.secret, found))
        at = secret.end
    return "".join((*pieces, text[at:])) if pieces else text


def masked_slice(whole: str, start: int, end: int, found: list[str]) -> str:
    """A part of a text, with a mask for what lies in it of each secret of the whole."""
    data = whole.encode(errors="replace")
    pieces, at = list[str](), start
    for secret in _together(_secrets(whole, suspects(data, classes_of(data)), _DEPTH)):
        if secret.end > start and secret.start < end:
            pieces += (whole[at : max(start, secret.start)], _mask(secret.kind, secret.secret, found))
            at = min(end, secret.end)
    return "".join((*pieces, whole[at:end]))


def masked_member(name: str, text: str, shapes: tuple[Shape, ...], found: list[str]) -> str:
    """The value of a member of an object, masked where its name says that it is a secret."""
    named = [shape for shape in shapes if is_named(shape)]
    before = f'"{name}": "'
    whole = f'{before}{text}"'
    for shape in named:
        for start, end in _of_shape(shape, whole):
            if start >= len(before):
                mask = _mask(shape.kind, whole[start:end], found)
                return f"{text[: start - len(before)]}{mask}{whole[end:-1]}"
    return text


def _secrets(text: str, shapes: Iterable[Shape], depth: int) -> Iterator[_Found]:
    plain = [shape for shape in shapes if shape is not _ENCODED and shape is not _RESPELLED]
    ends = dict[int, int]()
    for shape in plain:
        for start, end in _of_shape(shape, text):
            ends[start] = end
            yield _Found(start, end, _RANKS[shape], shape.kind, text[start:end])
    if depth and _ENCODED in shapes:
        yield from _encoded(text, depth)
    if depth and _RESPELLED in shapes:
        yield from _respelled(text, depth)
    for shape, token in tokens(text, [shape for shape in plain if can_be_divided(shape)]):
        # Words may stand on the next line: what is of a token there has a digit.
        more = token.secret[max(0, ends.get(token.start, 0) - token.start) :]
        if not _is_placeholder(token.secret) and _HAS_DIGIT.search(more):
            yield _Found(token.start, token.end, len(SHAPES), shape.kind, token.secret)


def _together(secrets: Iterable[_Found]) -> list[_Found]:
    """In their order; those that overlap as one."""
    made = list[_Found]()
    for secret in sorted(secrets):
        if made and secret.start < made[-1].end:
            first = min(made[-1], secret, key=lambda one: one.rank)
            made[-1] = first._replace(start=made[-1].start, end=max(made[-1].end, secret.end))
        else:
            made.append(secret)
    return made


def _of_shape(shape: Shape, text: str) -> Iterator[tuple[int, int]]:
    """Where secrets of a shape stand, as they are."""
    for pattern, holds in _patterns(shape):
        for match in pattern.finditer(text):
            start, end = match.span("secret" if "secret" in pattern.groupindex else 0)
            secret = text[start:end]
            if not _is_placeholder(secret) and (holds is None or holds(secret)):
                yield start, end


@functools.cache
def _patterns(shape: Shape) -> list[tuple[re.Pattern[str], Callable[[str], bool] | None]]:
    """How a secret of this shape looks, and that a match is one. Behind a letter it has to look random too."""
    patterns = [(re.compile(shape.pattern), shape.holds)]
    return [*patterns, (re.compile(glued(shape)), is_random)] if shape.is_whole else patterns


def _encoded(text: str, depth: int) -> Iterator[_Found]:
    for start, end in runs(text):
        for run in digits_at(text, start, end):
            if kind := _revealed(run.data, depth):
                yield _Found(run.start, run.end, -1, f"encoded-{kind}", text[run.start : run.end])
                break
    for run in text_in(text):
        if kind := _revealed(run.data, depth):
            yield _Found(run.start, run.end, -1, f"encoded-{kind}", text[run.start : run.end])


def _revealed(data: bytes, depth: int) -> str:
    """The kind of a secret in what digits are; nothing where there is none. Of what is random that costs one search."""
    classes = classes_of(data)
    if len(data) < SHORTEST or not (RUN in classes or is_text(data)):
        return ""
    shapes = suspects(data, classes, depth - 1)
    secrets = _secrets(data.decode(errors="replace"), shapes, depth - 1) if shapes else ()
    first = min(secrets, key=lambda secret: secret.rank, default=None)
    return first.kind.removeprefix("encoded-") if first else ""


def _respelled(text: str, depth: int) -> Iterator[_Found]:
    reading = respelled(text)
    shapes = suspects(read := reading.text.encode(errors="replace"), classes_of(read), depth - 1)
    for secret in _secrets(reading.text, shapes, depth - 1):
        start, end = reading.source(secret.start), reading.source(secret.end)
        is_plain = text[start:end] == reading.text[secret.start : secret.end]
        kind = secret.kind if is_plain else f"encoded-{secret.kind.removeprefix('encoded-')}"
        yield _Found(start, end, secret.rank if is_plain else -1, kind, text[start:end])


def kinds_in(data: bytes) -> list[str]:
    """The kinds of the secrets that ``data`` holds: text as UTF-8, plain or within JSON."""
    found = list[str]()
    if shapes := suspects(data, classes_of(data)):
        masked(data.decode(), shapes, found)
    return sorted({kind.rpartition(" ")[0] or kind for kind in found})


_HAS_DIGIT = re.compile(r"[0-9]")


def _mask(kind: str, secret: str, found: list[str]) -> str:
    mask = f"{kind} {fingerprint(secret)}"
    found.append(mask)
    return f"[secret masked: {mask}]"


_PLACEHOLDERS = frozenset({"password", "passwd", "pass", "pwd", "pw", "secret", "changeme", "redacted", "mypassword"})


_STANDS_FOR = re.compile(r"(?i)([x*.#_])\1{5}|your[_-]|[_-]here|placeholder|redacted|example_?(?:key|token)|<[a-z]")


def _is_placeholder(secret: str) -> bool:
    """Whether it is one that examples have."""
    if len(set(secret)) == 1 or secret[0] in "$<{[%:*" or secret.strip("_-.").lower() in _PLACEHOLDERS:
        return True
    return "PRIVATE KEY" not in secret and _STANDS_FOR.search(secret) is not None


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

"""Secrets in results: which patterns there are, where they may match, and text with masks in their place.

A secret is recognized by its own form: it begins as its issuer lets all of them begin, or stands in a place where only
a password or key stands. Text that merely looks random is left alone: hashes, ids and pictures are not secrets.
:func:`suspects` looks at encoded bytes once and is cheap; :func:`mask_secrets` searches a text for the suspected
patterns.

A secret may be written in another way: with escapes, in base64, divided. Each way has a module that gives a reading of
the text, and a secret in a reading is masked in the text itself: :mod:`respelled`, :mod:`encoded`, :mod:`divided`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.policy.sanitize.byte_classes import CLASSES, RUN, classes_of
from tooltrue.policy.sanitize.encodings import (
    digits_at,
    is_text,
    likely_runs,
    may_be_pairs,
    pairs_in,
    run_at,
    runs_in,
    text_in,
)
from tooltrue.policy.sanitize.multiline_secrets import (
    LONG_TEXT,
    Part,
    can_be_multiline,
    divided_parts,
    may_be_multiline,
    multiline_runs,
    patterns_across,
    put_together,
    tokens,
    with_lines_joined,
)
from tooltrue.policy.sanitize.prefixes import PrefixSearch, Runs, beside, is_hex, long_runs
from tooltrue.policy.sanitize.secret_patterns import SECRET_PATTERNS, SecretPattern, is_named, is_random, with_glue
from tooltrue.policy.sanitize.spellings import may_be_respelled, read_spellings, read_word_spellings

__all__ = [
    "SHORTEST",
    "SIGNS",
    "WORDS",
    "SecretCut",
    "cuts",
    "fingerprint",
    "is_plain",
    "kinds_in",
    "mask_in",
    "mask_member",
    "mask_secrets",
    "suspects",
]

_SHORTEST_NAMED = 18
SHORTEST = 12
"""A shorter text holds no secret."""

_AT = next(secret_pattern for secret_pattern in SECRET_PATTERNS if "://" in secret_pattern.words)
_RANKS = {secret_pattern: rank for rank, secret_pattern in enumerate(SECRET_PATTERNS)}
_NAMED_KEY = next(secret_pattern for secret_pattern in SECRET_PATTERNS if secret_pattern.kind == "named-key")

_ENCODED = SecretPattern("encoded-secret", (), "")
_RESPELLED = SecretPattern("respelled-secret", (), "")
"""Text that may hold a secret, encoded or written in another way."""

_DEPTH = 3
"""How deep text within text is read: base64 of base64 of compressed data."""


Words = list[tuple[str, list[tuple[str, SecretPattern]]]]
"""Words that secrets stand beside, after a part of them: without it, none of them is there."""


def _with(*parts: str) -> Words:
    words = [
        (word, secret_pattern)
        for secret_pattern in SECRET_PATTERNS
        for word in secret_pattern.words
        if secret_pattern is not _AT
    ]
    return [(part, [(word, secret_pattern) for word, secret_pattern in words if part in word]) for part in parts]


_ALWAYS = _with("AccessKey", "assword", "ASSWORD", "uthorization", "UTHORIZATION")
_UNDERSCORE = _with("ccess_", "CCESS_KEY")
_EQUAL = _with("ccountKey=", "assphrase", "passwd")
_LONG = _with("ookie", "COOKIE")  # if there is a long run anywhere
_LONG_ANY = [*_LONG, *_with("PRIVATE KEY", "Private-Lines:")]  # if one is not of hexadecimal digits
_BESIDE = _with("hook", "$", "_authToken")  # if there is one beside the word
_BESIDE_ANY = [*_BESIDE, *_with("tlasv1", "~", "AZDO", "1//0", "-us")]
_WIDE = tuple(
    (word, secret_pattern) for secret_pattern in SECRET_PATTERNS for word in secret_pattern.words if not word.isascii()
)
WORDS = (
    *_WIDE,
    *chain(*(row for words in (_ALWAYS, _UNDERSCORE, _EQUAL, _LONG_ANY, _BESIDE_ANY) for _, row in words)),
)
"""All words that are searched, except those of addresses."""
_WIDE_BYTES = tuple((word.encode().decode("latin-1"), secret_pattern) for word, secret_pattern in _WIDE)
_SOME = frozenset({"mailchimp-key", "azure-secret", "azure-token", "google-token"})  # words of other texts too


# --- where to look ----------------------------------------------------------------------------------------------------


def _sign_of(byte: int) -> int:
    byte_class = CLASSES[byte]
    if byte in b":@":
        return ord(":")
    is_ordinary = byte_class in b'a "' and byte < 0x80
    return ord("!") if not is_ordinary else byte_class if byte_class == ord("a") else ord(" ")


SIGNS = bytes(map(_sign_of, range(256)))
"""Fewer byte classes: token characters, ``:`` also for at signs, spaces for what plays no part in hiding or escaping
text, and ``!`` for all others."""


def is_plain(data: bytes, signs: str) -> bool:
    """Return whether a few quick checks rule out a secret in ``data``, which has no long run. ``signs`` are its bytes
    by :data:`SIGNS`, without any ``!``."""
    text = data.decode("ascii")
    if ":" in signs and ("assword" in text or "uthorization" in text or ("://" in text and "@" in text)):
        return False
    return "ccess" not in text and "CCESS" not in text and not may_be_pairs(data)


def suspects(data: bytes, byte_classes: str, depth: int = _DEPTH) -> tuple[SecretPattern, ...]:
    """Return the patterns of secrets that may be in ``data``: text as UTF-8, plain or within JSON. ``byte_classes`` are
    its bytes by class."""
    candidates = dict[SecretPattern, None]()
    try:
        text = data.decode("ascii")  # half the time of the other, which looks for the widest character first
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    _add(candidates, _ALWAYS, text)
    if "_" in text:
        _add(candidates, _UNDERSCORE, text)
    if not text.isascii():
        _add_wide(candidates, text)
    if "=" in byte_classes:
        _add(candidates, _EQUAL, text)
    if "@" in byte_classes and "/" in text and "://" in text:
        candidates[_AT] = None
    pairs, starts = pairs_in(data, byte_classes) if depth else (), list[int]()
    # A long text is searched once for a run, whole or divided: most have neither.
    joined = with_lines_joined(byte_classes) if len(data) > LONG_TEXT else byte_classes
    may_hold_run = RUN in joined
    if is_long := may_hold_run and (joined is byte_classes or RUN in byte_classes):
        runs = long_runs(data, byte_classes)
        digits = b"".join([run for _, run in runs])
        is_mixed = not is_hex(digits)
        _in_runs(candidates, data, text, runs, is_mixed=is_mixed)
        starts = likely_runs(data, runs, digits, is_mixed=is_mixed) if depth else []
    if (starts or pairs) and _holds_encoded(text, starts, pairs, depth):
        candidates[_ENCODED] = None
    if may_be_multiline(byte_classes, data, text, is_long=is_long):
        joined = joined if may_hold_run else ""
        candidates.update(dict.fromkeys(_multiline_patterns(data, byte_classes, joined, text, is_long=is_long)))
    if depth and may_be_respelled(text, byte_classes, data):
        reading = read_word_spellings(data.decode(errors="replace")).encode(errors="replace")
        if suspects(reading, classes_of(reading), depth - 1):
            candidates[_RESPELLED] = None
    return tuple(candidates)


def _in_runs(candidates: dict[SecretPattern, None], data: bytes, text: str, runs: Runs, *, is_mixed: bool) -> None:
    """Add the patterns of secrets that may stand in long runs of token characters, and beside them."""
    near = beside(data, runs)
    near_text = text if near is data else near.decode("latin-1")
    _add(candidates, _LONG_ANY if is_mixed else _LONG, text)
    _add(candidates, _BESIDE_ANY if is_mixed else _BESIDE, near_text)
    if is_mixed or "." in text:
        search = PrefixSearch(data, _holds)
        search.behind_dots(runs)
        if is_mixed:
            search.in_runs(runs)
        candidates.update(dict.fromkeys(search.patterns))
    small = near.lower()
    if (b"key" in small or b"oken" in small or b"ecret" in small) and _has_named_key(text, runs):
        candidates[_NAMED_KEY] = None


def _add_wide(candidates: dict[SecretPattern, None], text: str) -> None:
    for word, secret_pattern in _WIDE_BYTES:
        if word in text and _stands_in(secret_pattern, word, text):
            candidates[secret_pattern] = None


def _add(candidates: dict[SecretPattern, None], words: Words, text: str) -> None:
    for part, row in words:
        if part in text:
            for word, secret_pattern in row:
                if secret_pattern not in candidates and word in text and _stands_in(secret_pattern, word, text):
                    candidates[secret_pattern] = None


def _stands_in(secret_pattern: SecretPattern, word: str, text: str) -> bool:
    """Return whether a secret stands beside such a word. Only words that are common in other texts are checked here."""
    if not is_named(secret_pattern) and secret_pattern.kind not in _SOME:
        return True
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if (secret_pattern.kind in _SOME or text[end : end + 1] in _SAYS) and _is_in(
            secret_pattern, text[max(0, at - _BEFORE) : end + _NEAR]
        ):
            return True
        at = text.find(word, end)
    return False


_SAYS = frozenset(" \t\r\n\\\"'=:\xef")  # characters between a name and a secret
_BEFORE, _NEAR = 100, 400


def _is_in(secret_pattern: SecretPattern, near: str) -> bool:
    near = near if near.isascii() else near.encode("latin-1").decode(errors="replace")
    return next(_of_shape(secret_pattern, near), None) is not None


def _holds(secret_pattern: SecretPattern, near: bytes) -> bool:
    return next(_of_shape(secret_pattern, near.decode(errors="replace")), None) is not None


_NAME = 24


@functools.cache
def _name_before() -> re.Pattern[str]:
    return re.compile(r"(?i:key|token|secret)\\?[\"']?\s{0,4}(?:=>|:=|[:=])\s{0,4}\\?[\"']?\Z")


def _has_named_key(text: str, runs: Runs) -> bool:
    return any(
        text[at - 1 : at] in _SAYS
        and text[max(0, at - _NAME) : at].rstrip(" \t\"'\\")[-1:] in (":", "=", ">")
        and _name_before().search(text, max(0, at - _NAME), at)
        and _is_in(_NAMED_KEY, text[max(0, at - 2 * _NAME) : at + _NEAR])
        for at, _ in runs
    )


def _holds_encoded(text: str, starts: list[int], pairs: Sequence[tuple[int, int]], depth: int) -> bool:
    done = 0
    for at in starts:
        if at >= done:
            start, done = run_at(text, at)
            if any(_revealed(run.data, depth) for run in digits_at(text, start, done)):
                return True
    return any(_revealed(run.data, depth) for start, end in pairs for run in text_in(text, start, end))


def _multiline_patterns(
    data: bytes, byte_classes: str, joined: str, text: str, *, is_long: bool
) -> Iterator[SecretPattern]:
    """Yield the patterns of secrets that may stand in several pieces, which are put together. ``joined`` are the byte
    classes with lines joined, or an empty text if they hold no long run."""
    if len(data) > LONG_TEXT:
        parts = divided_parts(byte_classes, joined, text, is_long=is_long)
        if parts is not None and not any(_is_multiline(data, part) for part in parts):
            return
    yield from _patterns_across(*put_together(data, byte_classes, text, is_long=is_long))


def _is_multiline(data: bytes, part: Part) -> bool:
    """Return whether this part may hold a secret in several pieces, or has too little text to tell."""
    if not part.is_enough(data):
        return True
    return next(_patterns_across(*part.put_together(data)), None) is not None


def _patterns_across(together: bytes, lines: list[bytes]) -> Iterator[SecretPattern]:
    if runs := multiline_runs(together, lines):
        candidates = dict.fromkeys(patterns_across(together, runs))
        near = beside(together, [(at, run) for at, run, _ in runs])
        _add(candidates, _BESIDE_DIVIDED, near.decode("latin-1"))
        yield from candidates


_BESIDE_DIVIDED = [
    (part, [(word, secret_pattern) for word, secret_pattern in row if can_be_multiline(secret_pattern)])
    for part, row in _BESIDE_ANY
]


# --- matches ----------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class _Finding(NamedTuple):
    """The span of a secret, and its kind. Of two that overlap, the one of the lower ``rank`` names both."""

    start: int
    end: int
    rank: int
    kind: str
    secret: str


def mask_secrets(text: str, patterns: tuple[SecretPattern, ...], masks: list[str]) -> str:
    """Replace each secret of these patterns in ``text`` by a mask; ``masks`` receives the masks."""
    pieces, at = list[str](), 0
    for secret in _together(_secrets(text, patterns, _DEPTH)):
        pieces += (text[at : secret.start], _mask(secret.kind, secret.secret, masks))
        at = secret.end
    return "".join((*pieces, text[at:])) if pieces else text


class SecretCut(NamedTuple):
    """The span of a secret within a part of a text, and its mask."""

    start: int
    end: int
    mask: str


def cuts(whole: str, start: int, end: int, masks: list[str]) -> list[SecretCut]:
    """Return the secrets of a text that lie in the part from ``start`` to ``end``, as far as they do, with positions
    from its beginning; ``masks`` receives the masks."""
    data = whole.encode(errors="replace")
    return [
        SecretCut(max(0, secret.start - start), min(end, secret.end) - start, _mask(secret.kind, secret.secret, masks))
        for secret in _together(_secrets(whole, suspects(data, classes_of(data)), _DEPTH))
        if secret.end > start and secret.start < end
    ]


def mask_member(name: str, text: str, patterns: tuple[SecretPattern, ...], masks: list[str]) -> str:
    """Mask the value of an object's member if its name says that it is a secret."""
    named = [secret_pattern for secret_pattern in patterns if is_named(secret_pattern)]
    before = f'"{name}": "'
    whole = f'{before}{text}"'
    for secret_pattern in named:
        for start, end in _of_shape(secret_pattern, whole):
            if start >= len(before):
                mask = _mask(secret_pattern.kind, whole[start:end], masks)
                return f"{text[: start - len(before)]}{mask}{whole[end:-1]}"
    return text


def _secrets(text: str, patterns: Iterable[SecretPattern], depth: int) -> Iterator[_Finding]:
    plain = [
        secret_pattern
        for secret_pattern in patterns
        if secret_pattern is not _ENCODED and secret_pattern is not _RESPELLED
    ]
    ends = dict[int, int]()
    for secret_pattern in plain:
        for start, end in _of_shape(secret_pattern, text):
            ends[start] = end
            yield _Finding(start, end, _RANKS[secret_pattern], secret_pattern.kind, text[start:end])
    if depth and _ENCODED in patterns:
        yield from _encoded(text, depth)
    if depth and _RESPELLED in patterns:
        yield from _respelled(text, depth)
    for secret_pattern, token in tokens(
        text, [secret_pattern for secret_pattern in plain if can_be_multiline(secret_pattern)]
    ):
        # The next line may hold words: the part of a token there has a digit.
        more = token.secret[max(0, ends.get(token.start, 0) - token.start) :]
        if not _is_placeholder(token.secret) and _HAS_DIGIT.compiled.search(more):
            yield _Finding(token.start, token.end, len(SECRET_PATTERNS), secret_pattern.kind, token.secret)


def _together(secrets: Iterable[_Finding]) -> list[_Finding]:
    """Sort secrets, and merge those that overlap."""
    made = list[_Finding]()
    for secret in sorted(secrets):
        if made and secret.start < made[-1].end:
            first = min(made[-1], secret, key=lambda one: one.rank)
            made[-1] = first._replace(start=made[-1].start, end=max(made[-1].end, secret.end))
        else:
            made.append(secret)
    return made


def _of_shape(secret_pattern: SecretPattern, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of secrets of a pattern, as they are written."""
    for pattern, holds in _patterns(secret_pattern):
        for match in pattern.finditer(text):
            start, end = match.span("secret" if "secret" in pattern.groupindex else 0)
            secret = text[start:end]
            if not _is_placeholder(secret) and (holds is None or holds(secret)):
                yield start, end


@functools.cache
def _patterns(secret_pattern: SecretPattern) -> list[tuple[re.Pattern[str], Callable[[str], bool] | None]]:
    """Return the expressions of a pattern, each with a check of its matches. Behind a letter, a secret must also look
    random."""
    patterns = [(re.compile(secret_pattern.pattern), secret_pattern.holds)]
    return [*patterns, (re.compile(with_glue(secret_pattern)), is_random)] if secret_pattern.is_whole else patterns


def _encoded(text: str, depth: int) -> Iterator[_Finding]:
    for start, end in runs_in(text):
        findings = list[_Finding]()
        for run in digits_at(text, start, end):
            is_done = any(one.start <= run.start < one.end for one in findings)
            if not is_done and (kind := _revealed(run.data, depth)):
                findings.append(_Finding(run.start, run.end, -1, f"encoded-{kind}", text[run.start : run.end]))
        yield from findings
    for run in text_in(text):
        if kind := _revealed(run.data, depth):
            yield _Finding(run.start, run.end, -1, f"encoded-{kind}", text[run.start : run.end])


def _revealed(data: bytes, depth: int) -> str:
    """Return the kind of the first secret in decoded bytes, or an empty string. Random bytes cost one search."""
    byte_classes = classes_of(data)
    if len(data) < SHORTEST or not (RUN in byte_classes or is_text(data)):
        return ""
    patterns = suspects(data, byte_classes, depth - 1)
    secrets = _secrets(data.decode(errors="replace"), patterns, depth - 1) if patterns else ()
    first = min(secrets, key=lambda secret: secret.rank, default=None)
    return first.kind.removeprefix("encoded-") if first else ""


def _respelled(text: str, depth: int) -> Iterator[_Finding]:
    reading = read_spellings(text)
    patterns = suspects(data := reading.text.encode(errors="replace"), classes_of(data), depth - 1)
    for secret in _secrets(reading.text, patterns, depth - 1):
        start, end = reading.source(secret.start), reading.source(secret.end)
        is_plain = text[start:end] == reading.text[secret.start : secret.end]
        kind = secret.kind if is_plain else f"encoded-{secret.kind.removeprefix('encoded-')}"
        yield _Finding(start, end, secret.rank if is_plain else -1, kind, text[start:end])


def kinds_in(data: bytes) -> list[str]:
    """Return the kinds of the secrets in ``data``: text as UTF-8, plain or within JSON."""
    masks = list[str]()
    if patterns := suspects(data, classes_of(data)):
        mask_secrets(data.decode(), patterns, masks)
    return sorted({kind.rpartition(" ")[0] or kind for kind in masks})


_HAS_DIGIT = LazyPattern(r"[0-9]")


def _mask(kind: str, secret: str, masks: list[str]) -> str:
    mask = f"{kind} {fingerprint(secret)}"
    masks.append(mask)
    return f"[secret masked: {mask}]"


_PLACEHOLDERS = frozenset({"password", "passwd", "pass", "pwd", "pw", "secret", "changeme", "redacted", "mypassword"})


_STANDS_FOR = LazyPattern(r"(?i)([x*.#_])\1{5}|your[_-]|[_-]here|placeholder|redacted|example_?(?:key|token)|<[a-z]")


def _is_placeholder(secret: str) -> bool:
    """Return whether a secret is one that examples have."""
    if len(set(secret)) == 1 or secret[0] in "$<{[%:*" or secret.strip("_-.").lower() in _PLACEHOLDERS:
        return True
    return "PRIVATE KEY" not in secret and _STANDS_FOR.compiled.search(secret) is not None


_FINGERPRINT_KEY = os.urandom(16)  # a mask must not help to guess a password


def fingerprint(secret: str) -> str:
    """Return a digest that is the same for the same secret while this process runs."""
    return hashlib.blake2s(secret.encode(), key=_FINGERPRINT_KEY, digest_size=3).hexdigest()


# --- masks that come back ---------------------------------------------------------------------------------------------

_MASK = LazyPattern(r"\[(?:secret|personal data) masked: ([a-z0-9-]+ [0-9a-f]{6})\]")


def mask_in(value: Any) -> str | None:
    """Return the first mask in a JSON value, or ``None``."""
    if isinstance(value, str):
        match = _MASK.compiled.search(value) if " masked: " in value else None
        return match and match[0]
    if isinstance(value, dict):
        return next(filter(None, map(mask_in, (*value, *value.values()))), None)  # pyright: ignore[reportUnknownArgumentType]
    return next(filter(None, map(mask_in, value)), None) if isinstance(value, list) else None  # pyright: ignore[reportUnknownArgumentType]

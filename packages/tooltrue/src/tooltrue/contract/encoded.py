"""Decoding of text hidden in another encoding: base64, hex, escapes, leetspeak, spaced letters, reversed text, rot13.

A model reads these; a person who reviews a definition does not. Only results that are text count, and they are judged
like any other text.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

__all__ = ["decoded", "may_be_encoded"]

_RUN: Final = 16
_BASE64: Final = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_RUN},4000}}={{0,2}}")
_HEX: Final = re.compile(r"(?<![0-9A-Za-z])(?:0x|\\x)?(?:[0-9A-Fa-f]{2}[ :]?(?:\\x|0x)?){8,2000}(?![0-9A-Za-z])")
_ESCAPES: Final = re.compile(r"\\u\{?([0-9A-Fa-f]{4,6})\}?|\\x([0-9A-Fa-f]{2})")
_LEET: Final = re.compile(r"[013457@$!](?=[A-Za-z])(?:(?<=[A-Za-z].)|(?<!\w.)(?<=[147]))")
_OF_DIGITS: Final = {
    "i": str.maketrans("013457@$!", "oieastasi"),
    "l": str.maketrans("013457@$!", "oleastasl"),
}
_APART: Final = re.compile(r"(?<![^\W_])(?:[^\W\d_](?:[ .·_*-]| {2,4})){6,400}[^\W\d_](?![^\W_])")
_DEEPEST: Final = 3
_PRINTABLE: Final = 0.9
# Words that orders contain, also reversed and in rot13: a text with one of those is worth decoding that way.
_SUSPICIOUS_WORDS: Final = ("ignore", "disregard", "instruction", "previous", "password", "prompt", "secret")
_BACKWARDS: Final = tuple(word[::-1] for word in _SUSPICIOUS_WORDS)
_ROTATED: Final = tuple(codecs.encode(word, "rot13") for word in _SUSPICIOUS_WORDS)
_TURNED: Final = (*_BACKWARDS, *_ROTATED)


def may_be_encoded(text: str) -> bool:
    """Whether a text may be encoded. A cheap test that spares most texts the cost of :func:`decoded`."""
    return (
        (("%" in text or "&" in text or "\\" in text) and _ESCAPED.search(text) is not None)
        or any(map(_NOISE.match, _LONG.findall(text)))
        or len(_LEET.findall(text)) > 1
        or _SOME_APART.search(text) is not None
        or (" " in text and _is_turned(text.lower()))
    )


def _is_turned(lowered: str) -> bool:
    for word in _TURNED:  # noqa: SIM110 - each text is looked at so, and `any` takes half as long again
        if word in lowered:
            return True
    return False


_LONG: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{_RUN},}}")
# Marks that base64 has and few names have: upper and lower case, not as in ``camelCase``, and digits; and hex.
_NOISE: Final = re.compile(r"(?=.{0,80}[a-z])(?=.{0,80}[A-Z])(?=.{0,80}(?:[0-9]|[A-Z]{2}))|[0-9a-fA-F]{16}")
_ESCAPED: Final = re.compile(r"%[0-9A-Fa-f]{2}|&#|&[a-z]{2,6};|\\[ux]")
_SOME_APART: Final = re.compile(r"[ .·_*-]\w[ .·_*-]{1,4}\w[ .·_*-]{1,4}\w[ .·_*-]")


def decoded(text: str, deep: int = 0) -> Iterator[str]:
    """Yield each reading of the text in another encoding, and the readings of that in turn."""
    for reading in dict.fromkeys(_readings(text)):
        yield reading
        if deep < _DEEPEST and len(reading) >= _RUN:
            yield from decoded(reading, deep + 1)


def _readings(text: str) -> Iterator[str]:
    for pattern, decode in ((_BASE64, _of_base64), (_HEX, _of_hex)):
        for run in pattern.finditer(text):
            if reading := _as_text(decode(run[0])):
                yield reading
    yield from (reading for reading in (_unescaped(text), *_unleeted(text)) if reading != text)
    yield from _joined(text)
    lowered = text.casefold()
    if any(word in lowered for word in _BACKWARDS):
        yield text[::-1]
    if any(word in lowered for word in _ROTATED):
        yield codecs.encode(text, "rot13")


def _of_base64(run: str) -> bytes:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(
            plain[: len(plain) // 4 * 4] if len(plain) % 4 == 1 else plain + "=" * (-len(plain) % 4)
        )
    except (binascii.Error, ValueError):
        return b""


def _of_hex(run: str) -> bytes:
    digits = re.sub(r"0x|\\x|[ :]", "", run)
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _as_text(data: bytes) -> str:
    """Decode bytes as text; empty if they are not text or mostly noise."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if len(text) >= _SHORT and sum(map(_is_of_text, text)) >= _PRINTABLE * len(text):
            return text
    return ""


_SHORT: Final = 6


def _is_of_text(char: str) -> bool:
    return " " <= char <= "~" or char in "\n\t" or "\u00c0" <= char <= "\u05ff" or "\u3000" <= char <= "\u9fff"


def _unescaped(text: str) -> str:
    plain = unquote(text) if "%" in text else text
    plain = html.unescape(plain) if "&" in plain else plain
    return _ESCAPES.sub(_unescape, plain) if "\\" in plain else plain


def _unescape(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= 0x10FFFF else match[0]


def _unleeted(text: str) -> Iterator[str]:
    if len(_LEET.findall(text)) > 1:
        lowered = text.casefold()
        yield from (lowered.translate(letters) for letters in _OF_DIGITS.values())


def _joined(text: str) -> Iterator[str]:
    """Join letters that are set apart; two blanks separate words."""
    if not _is_apart(text):
        return
    for run in _APART.finditer(text):
        words = re.split(r" {2,4}", run[0]) if re.search(r"\w \w", run[0]) and "  " in run[0] else [run[0]]
        yield " ".join(re.sub(r"[ .·_*-]", "", word) for word in words)


def _is_apart(text: str) -> bool:
    return _APART.search(text) is not None

"""The encoding of a text file, detected in its beginning.

Tables and files use the same rules, so that both families read, search and edit the same files. A byte order mark
decides; then NULs, which mean UTF-16 or binary data; then UTF-8, which other text hardly ever is by accident. For other
text the encoding is a guess, GB 18030 or Windows-1252, and is reported as one.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["HEAD", "DetectedEncoding", "Encoding", "How", "codec_of", "decodes", "encoding_of", "text_encoding_of"]

HEAD = 1 << 20
"""Number of leading bytes that decide."""

Encoding = Literal[
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "big5", "shift_jis", "euc-kr", "windows-1252", "iso-8859-1"
]
How = Literal["argument", "byte order mark", "content", "guess"]
"""The evidence for an encoding; a guess may be wrong."""

_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Control characters of text are those that move a terminal, its colours, and the DOS end-of-file mark.
_NO_TEXT = re.compile("[\0-\x06\x0e-\x19\x1c-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class DetectedEncoding:
    encoding: Encoding
    how: How


def encoding_of(head: bytes) -> DetectedEncoding | None:
    """The encoding of the first :data:`HEAD` bytes of a file; ``None`` for bytes that are not text."""
    mark: Encoding | None = next((encoding for bom, encoding in _BOMS if head.startswith(bom)), None)
    if mark:
        return DetectedEncoding(mark, "byte order mark")
    if b"\0" in head:
        wide = _wide(head)
        return DetectedEncoding(wide, "guess") if wide else None
    if decodes(head, "utf-8") is not None:
        return DetectedEncoding("utf-8", "content")
    if _looks_chinese(head):
        return DetectedEncoding("gb18030", "guess")
    return DetectedEncoding("windows-1252" if decodes(head, "windows-1252") is not None else "iso-8859-1", "guess")


def text_encoding_of(head: bytes) -> DetectedEncoding | None:
    """The same for a file that is not known to be text: a guess has to decode to text without control characters, and
    is rejected for UTF-8 with a few broken bytes."""
    detection = encoding_of(head)
    if detection is None or detection.encoding == "utf-8":
        return detection
    text = decodes(head, codec_of(detection.encoding, head))
    if text is None or "\0" in text:
        return None
    if detection.how == "guess" and (_NO_TEXT.search(text) or _is_broken_utf8(head)):
        return None
    return detection


def codec_of(encoding: Encoding, head: bytes) -> str:
    """The codec for any part of a file that begins with ``head``: the one of UTF-16 would expect a mark in each
    part."""
    if encoding != "utf-16":
        return encoding
    return "utf-16-be" if head.startswith(codecs.BOM_UTF16_BE) else "utf-16-le"


def decodes(head: bytes, codec: str) -> str | None:
    """The text of the first bytes, or ``None``; a character that is cut off at the end of :data:`HEAD` is not an
    error."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError:
        return None


def _wide(head: bytes) -> Encoding | None:
    """Detect UTF-16 without a mark: in text of Latin letters, digits and commas every other byte is NUL."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > len(head) // 8 and even * 20 < odd:
        return "utf-16-le"
    if even > len(head) // 8 and odd * 20 < even:
        return "utf-16-be"
    return None


def _looks_chinese(head: bytes) -> bool:
    """Detect GBK, where a character is two bytes, in common text both above 0xA0; in Western text such bytes stand
    alone."""
    if decodes(head, "gb18030") is None:
        return False
    paired = sum(map(len, re.findall(rb"(?:[\xa1-\xfe]{2})+", head)))
    return paired > 0.8 * _high(head)


def _is_broken_utf8(head: bytes) -> bool:
    """Whether at least nine in ten of the bytes that are not ASCII are valid UTF-8 all the same."""
    broken = len(re.findall("[\udc80-\udcff]", head.decode("utf-8", "surrogateescape")))
    return broken * 10 < _high(head)


def _high(head: bytes) -> int:
    """The number of bytes that are not ASCII."""
    return len(head.translate(None, bytes(range(128))))

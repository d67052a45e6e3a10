"""The codec of a text file: its characters and lines as bytes, in each encoding that files are read in.

A line ends with a line feed, as for UTF-8. In UTF-16 that is a unit of two bytes, and counts only where a unit begins.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from tooltrue_toolbox.encodings import How, codec_of, text_encoding_of
from tooltrue_toolbox.files.values import TextEncoding

__all__ = ["UTF_8", "TextCodec", "text_codec_as", "text_codec_of"]

_SHARED = frozenset(("gb18030", "big5", "shift_jis", "euc-kr"))
_ALONE = re.compile(rb"[\0-/]")
"""Bytes that are not part of a longer character in any encoding but UTF-16."""


@dataclass(frozen=True, slots=True)
class TextCodec:
    """An encoding, and how it was determined. ``name`` is Python's codec. It decodes any part of the file that begins
    with a character."""

    encoding: TextEncoding
    how: How
    name: str

    @property
    def is_wide(self) -> bool:
        """Whether the encoding is UTF-16."""
        return self.name.startswith("utf-16")

    @property
    def is_single(self) -> bool:
        """Whether the encoding is a guess of one byte per character, where two bytes may be one character of another
        encoding."""
        return self.how == "guess" and self.encoding in ("windows-1252", "iso-8859-1")

    def lines(self, data: bytes) -> int:
        """The number of line feeds in whole characters."""
        return self._units(data).count("\n") if self.is_wide else data.count(b"\n")

    def after_lines(self, data: bytes, lines: int) -> int:
        """The index after the first ``lines`` lines of ``data``; its length when it has fewer."""
        if self.is_wide:
            rest = self._units(data).split("\n", lines)[lines:]
            return len(data) - len(self._bytes(rest[0])) if rest else len(data)
        behind = 0
        for _ in range(lines):
            behind = data.find(b"\n", behind) + 1
            if not behind:
                return len(data)
        return behind

    def whole_lines(self, data: bytes) -> bytes:
        """``data`` up to and including its last line feed."""
        if self.is_wide:
            text = self._units(data)
            return self._bytes(text[: text.rfind("\n") + 1])
        return data[: data.rfind(b"\n") + 1]

    def ends_line(self, data: bytes) -> bool:
        """Whether ``data`` ends with a line feed."""
        return self._units(data[-2:]) == "\n" if self.is_wide else data.endswith(b"\n")

    def starts(self, data: bytes) -> list[int]:
        """The index of each line of ``data``."""
        if self.is_wide:
            at, starts = 0, [0]
            for line in self._units(data).split("\n")[:-1]:
                at += len(self._bytes(line)) + 2
                starts.append(at)
            return starts
        return [0, *(each.end() for each in re.finditer(b"\n", data))]

    def aligned(self, data: bytes) -> bytes:
        """``data`` from the first place where a character surely begins, where ``data`` may begin within one. In UTF-16
        data from an even offset is aligned."""
        if self.name not in _SHARED:
            return data
        alone = _ALONE.search(data)
        return data[alone.end() :] if alone else data

    def cut_off(self, data: bytes) -> int:
        """The number of bytes at the end of ``data`` that begin an incomplete character."""
        decoder = codecs.getincrementaldecoder(self.name)("replace")
        decoder.decode(data)
        return len(decoder.getstate()[0])

    def decode_lossy(self, data: bytes) -> str:
        """The text of ``data``, with broken parts replaced; each line feed stays one."""
        try:
            return data.decode(self.name)
        except UnicodeDecodeError:
            if self.is_wide:
                return self._units(data).encode("utf-8", "replace").decode()
            return "\n".join(line.decode(self.name, "replace") for line in data.split(b"\n"))

    def _units(self, data: bytes) -> str:
        """The text of UTF-16 with lone surrogates kept: it encodes back to the same bytes, except for an odd last
        one."""
        return data[: len(data) & ~1].decode(self.name, "surrogatepass")

    def _bytes(self, text: str) -> bytes:
        return text.encode(self.name, "surrogatepass")


UTF_8 = TextCodec("utf-8", "content", "utf-8")


def text_codec_of(head: bytes) -> TextCodec | None:
    """The codec of a file that begins with ``head``; ``None`` if it is not text."""
    detection = text_encoding_of(head)
    return (
        None if detection is None else TextCodec(detection.encoding, detection.how, codec_of(detection.encoding, head))
    )


def text_codec_as(encoding: TextEncoding, head: bytes) -> TextCodec:
    """The codec of the encoding that the caller names."""
    return TextCodec(encoding, "argument", encoding if encoding == "ascii" else codec_of(encoding, head))

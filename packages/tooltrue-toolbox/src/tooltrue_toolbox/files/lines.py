"""An open file as lines of UTF-8, one part at a time, whatever its encoding: the input of a search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tooltrue_toolbox.files.text_codec import UTF_8, TextCodec, text_codec_of
from tooltrue_toolbox.files.values import CHUNK  # no more than the bytes that decide the encoding
from tooltrue_toolbox.platform import handles

__all__ = ["FilePart", "LinedFile", "lined_file"]

_HEAD = 8_192


@dataclass
class FilePart:
    """Whole lines from ``offset`` on; a line longer than a part comes in several parts. ``data`` is UTF-8."""

    offset: int
    raw: bytes
    data: bytes
    codec: TextCodec

    @property
    def end(self) -> int:
        """The offset of the byte after the part."""
        return self.offset + len(self.raw)

    def line(self, number: int, begin: int, end: int) -> tuple[int, int]:
        """File offsets of one line and of the line after it. The line is ``data[begin:end]``, and ``number`` lines of
        ``data`` are before it."""
        if self.raw is self.data:
            return self.offset + begin, self.offset + min(end + 1, len(self.data))
        first, *behind = self._starts[number : number + 2]
        return self.offset + first, self.offset + (behind[0] if behind else len(self.raw))

    @cached_property
    def _starts(self) -> list[int]:
        return self.codec.starts(self.raw)


@dataclass(frozen=True, slots=True)
class LinedFile:
    fd: int
    head: bytes
    codec: TextCodec

    def part(self, offset: int) -> FilePart | None:
        """The part that begins at ``offset``; ``None`` at the end of the file."""
        raw = handles.read_at(self.fd, CHUNK, offset) if offset else self.head
        if len(raw) == CHUNK:
            raw = self.codec.whole_lines(raw) or raw
        if not raw:
            return None
        data = raw if self.codec is UTF_8 else self._decoded(raw, offset).encode()
        return FilePart(offset, raw, data, self.codec)

    def lines(self, begin: int, end: int) -> list[str]:
        """The lines between two offsets; the first or last may be incomplete."""
        data = handles.read_at(self.fd, end - begin, begin) if end > begin else b""
        text = data.decode(errors="replace") if self.codec is UTF_8 else self._decoded(data, begin)
        return text.removesuffix("\n").split("\n") if text else []

    def _decoded(self, raw: bytes, offset: int) -> str:
        text = self.codec.decode_lossy(raw)
        return text if offset else text.removeprefix("\ufeff")


def lined_file(fd: int) -> LinedFile | None:
    """Prepare the file ``fd`` for a search; ``None`` where it is binary. A file without NUL whose encoding is not
    detected is searched as UTF-8."""
    head = handles.read_at(fd, CHUNK, 0)
    if not head.isascii() or b"\0" in head:
        codec = text_codec_of(head)
        if codec is None and b"\0" in head[:_HEAD]:
            return None
        if codec is not None and codec.encoding != "utf-8":
            return LinedFile(fd, head, codec)
    return LinedFile(fd, head, UTF_8)

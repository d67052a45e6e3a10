"""Compressed files, unpacked as a stream within bounds.

A compressed file is small on disk and may be of any size in memory, so both the unpacked size and the compression ratio
are limited (:class:`UnpackingBounds`), and data is unpacked no further than it is read.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, Protocol

from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.extras import needs_extra
from tooltrue_toolbox.tables.wording import TABLE_COMPRESSED_DATA_DAMAGED, TABLE_DECOMPRESSION_BOMB

__all__ = ["Packing", "UnpackingBounds", "packing_of", "unpack"]

Packing = Literal["gzip", "zstd", "bzip2"]

CHUNK = 1 << 18
_MAGIC: tuple[tuple[bytes, Packing], ...] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bzip2"))


@dataclass(frozen=True, slots=True)
class UnpackingBounds:
    """Limits of the unpacked size of a compressed file."""

    size: int = 64 << 30
    ratio: int = 200
    """The largest compression ratio; tables are seldom packed better than 50 times."""
    free: int = 16 << 20
    """Unpacked size that is allowed at any ratio: bzip2 and zstd pack repetitive data by thousands."""


class _Unpacker(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]:
        """The unpacked parts of ``data``, each of about :data:`CHUNK` bytes at most."""
        ...

    @property
    def whole(self) -> bool:
        """Whether the input so far ends where a compressed stream ends."""
        ...


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def packing_of(head: bytes) -> Packing | None:
    """The compression of a file that begins with ``head``."""
    return next((packing for magic, packing in _MAGIC if head.startswith(magic)), None)


def unpack(file: BinaryIO, packing: Packing, display_path: str, bounds: UnpackingBounds) -> Iterator[bytes]:
    """The content of ``file`` in parts. ``ToolError`` for data that is broken, cut off or out of bounds."""
    unpacker = _UNPACKERS[packing]()
    packed_size = size = 0
    try:
        while data := file.read(CHUNK):
            packed_size += len(data)
            for part in unpacker.feed(data):
                size += len(part)
                if size > bounds.size or size > bounds.free + bounds.ratio * packed_size:
                    raise ToolError.of(TABLE_DECOMPRESSION_BOMB, path=display_path, size=size, packed=packed_size)
                yield part
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ToolError.of(TABLE_COMPRESSED_DATA_DAMAGED, path=display_path, packing=packing) from error
    if not unpacker.whole:
        raise ToolError.of(TABLE_COMPRESSED_DATA_DAMAGED, path=display_path, packing=packing)


class _Gzip:
    """Unpacks one gzip member after another, as in ``cat a.gz b.gz``."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(31)
        self._fresh = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member.eof:
                data = data.lstrip(b"\0")  # padding, as tar and tapes leave it
                if not data:
                    return
                self._member = zlib.decompressobj(31)
            yield self._member.decompress(data, CHUNK)
            data = self._member.unconsumed_tail or self._member.unused_data
            while not data and not self._member.eof and (part := self._member.decompress(b"", CHUNK)):
                yield part

    @property
    def whole(self) -> bool:
        return self._member.eof


class _Frames:
    """The common part of bzip2 and zstd: consecutive streams, with decompressors of one interface."""

    def __init__(self, make: Callable[[], _Decompressor]) -> None:
        self._make = make
        self._stream = make()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or not (self._stream.needs_input or self._stream.eof):
            if self._stream.eof:
                self._stream = self._make()
            yield self._stream.decompress(data, CHUNK)
            data = self._stream.unused_data if self._stream.eof else b""

    @property
    def whole(self) -> bool:
        return self._stream.eof


def _zstd() -> _Frames:
    with needs_extra("zstd", "data"):
        from tooltrue_toolbox.tables.zstd import decompressor  # noqa: PLC0415 - zstd comes with an extra
    return _Frames(decompressor)


_UNPACKERS: dict[Packing, Callable[[], _Unpacker]] = {
    "gzip": _Gzip,
    "bzip2": lambda: _Frames(bz2.BZ2Decompressor),
    "zstd": _zstd,
}

"""Owner of ``backports.zstd``, which Python has itself since 3.14."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

__all__ = ["ZstdDecompressor", "decompressor"]

WINDOW = 27
"""As a power of two: the largest window that the zstd command accepts by default."""


class _ZstdDecompressor:
    """Raises the errors that the decompressors of the standard library raise."""

    def __init__(self) -> None:
        self._stream = ZstdDecompressor(options={DecompressionParameter.window_log_max: WINDOW})

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return self._stream.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        try:
            return self._stream.decompress(data, max_length)
        except ZstdError as error:
            raise ValueError(str(error)) from error


def decompressor() -> _ZstdDecompressor:
    return _ZstdDecompressor()

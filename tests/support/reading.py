"""Reading from a pipe or a terminal with a limit on the time, which ``select`` has for sockets alone on Windows."""

from __future__ import annotations

import os
import threading

from tooltrue.testing.state import LIMIT

__all__ = ["read_soon"]


def read_soon(descriptor: int, seconds: float = LIMIT) -> bytes | None:
    """The bytes that come next, none at the end; ``None`` if there are none in time. The other end of a terminal that
    has gone is the end."""
    came: list[bytes] = []

    def read() -> None:
        try:
            came.append(os.read(descriptor, 1 << 20))
        except OSError:
            came.append(b"")

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(max(0.0, seconds))
    return came[0] if came else None

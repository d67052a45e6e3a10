"""An entry that is open to be looked at, and not for its content."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["EntryHandle"]


class EntryHandle:
    """An entry of a folder, a link as the link itself. ``name`` is the one that the file system stores.

    ``handle`` is a directory that can be started from, if the entry is one. It is closed at the end of the ``with``,
    unless it is taken from here.
    """

    __slots__ = ("_close", "handle", "name", "status")

    def __init__(self, name: str, handle: int | None, status: os.stat_result, close: Callable[[int], None]) -> None:
        self.name = name
        self.handle = handle
        self.status = status
        self._close = close

    def __enter__(self) -> EntryHandle:
        return self

    def __exit__(self, *_: object) -> None:
        if self.handle is not None:
            self._close(self.handle)

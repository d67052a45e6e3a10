"""The way of Windows: each part is opened below the handle of the part before it, as a reparse point if it is one.

A part that the system would read as another name is refused: a stream (``a:b``), a device (``NUL``), a name that ends
in a dot or a space.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from pathlib import PureWindowsPath

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

from tooltrue._internal.platform.windows_handles import (  # noqa: E402 - the type checkers stop above
    Handle,
    close,
    descriptor_of,
    has_other_content,
    is_link,
    open_content,
    open_entry,
    open_folder,
)
from tooltrue._internal.platform.windows_names import is_plain_name  # noqa: E402 - as above

__all__ = ["open_beneath", "parts_beneath"]

_SEPARATORS = re.compile(r"[\\/]+")


def parts_beneath(path: str) -> tuple[str, ...] | None:
    """The parts of a relative path; ``None`` if it is empty or absolute, leads upward, or has a part that is no plain
    name."""
    if PureWindowsPath(path).anchor:
        return None
    parts = tuple(part for part in _SEPARATORS.split(path) if part not in ("", "."))
    return parts if parts and all(map(is_plain_name, parts)) else None


def open_beneath(root: str, parts: Sequence[str]) -> int:
    """Open ``parts`` below ``root``, and return the descriptor. ``OSError`` if that fails or a part is a link;
    ``ValueError`` for a part that is no plain name."""
    folder = open_folder(root)
    try:
        for part in parts[:-1]:
            inner = _open_unlinked(folder, part)
            close(folder)
            folder = inner
        return descriptor_of(_open_unlinked(folder, parts[-1]), os.O_RDONLY)
    finally:
        close(folder)


def _open_unlinked(folder: Handle, name: str) -> Handle:
    if not is_plain_name(name):
        raise ValueError(f"{name!r} is no plain name")
    entry = open_entry(folder, name)
    try:
        if is_link(entry):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        is_other = has_other_content(entry)
    except BaseException:
        close(entry)
        raise
    if not is_other:
        return entry
    close(entry)
    return open_content(folder, name)

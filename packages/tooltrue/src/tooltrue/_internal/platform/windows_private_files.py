"""The way of Windows: an access control list for this user, the system and the administrators. Functions that open a
file return its descriptor.

Administrators can read all files, with or without an entry: an owner or an entry of theirs is no other's access.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from pathlib import Path

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

from tooltrue._internal.platform.windows_handles import (  # noqa: E402 - the type checkers stop above
    APPEND,
    CREATE_NEW,
    OPEN_ALWAYS,
    OPEN_EXISTING,
    READ,
    SHARED,
    WRITE,
    close,
    create_folder,
    descriptor_of,
    is_link,
    move,
    open_file,
    restrict,
    rights_of,
    rights_of_path,
    user_name,
)

__all__ = [
    "create_beside",
    "create_private_file",
    "ensure_private_file",
    "is_private",
    "make_private_folder",
    "move_new",
    "open_private_file",
    "open_private_log",
    "read_private_file",
    "restrict_folder",
]

_SYSTEM = ("SY", "BA")
"""The system and the administrators, as SDDL names them."""

_OWNERS = (*_SYSTEM, "OW", "CO")
"""Also the owner, whoever that is, and the creator of what comes into a folder."""

_ENTRY = re.compile(r"\(([^;()]*);([^;()]*);([^;()]*);([^;()]*);([^;()]*);([^;()]*)(?:;.*?)?\)")
"""An entry of a list: type, flags, rights, two identifiers, and the user or group."""


def create_private_file(path: str | Path) -> int:
    """Create a file, open for writing. ``FileExistsError`` if there is one."""
    return _opened(path, WRITE, CREATE_NEW, _private(""))


def open_private_file(path: str | Path) -> int:
    """Open a file for reading and writing; a missing one is created. ``OSError`` for a symbolic link.

    An existing file stays as it is: :func:`is_private` tells whether others have access."""
    return _opened(path, READ | WRITE, OPEN_ALWAYS, _private(""))


def read_private_file(path: str | Path) -> int:
    """Open an existing file for reading. ``OSError`` for a symbolic link."""
    return _opened(path, READ, OPEN_EXISTING)


def ensure_private_file(path: str | Path) -> None:
    """Create the file if it is missing. An existing one, and the target of a symbolic link, stays as it is.

    SQLite's auxiliary files get the rights that the folder passes on, not those of this file: the folder should be
    private too."""
    os.close(_opened(os.path.realpath(path), READ | WRITE, OPEN_ALWAYS, _private("")))


def open_private_log(path: str | Path) -> int:
    """Open a file for reading and appending; a missing one is created. One write appends as a whole. Symbolic links
    are followed."""
    # Without the right to write elsewhere the system itself appends, also beside other processes.
    return _opened(os.path.realpath(path), READ | APPEND, OPEN_ALWAYS, _private(""), os.O_APPEND)


def create_beside(path: str | Path, before: str | Path, mode: int) -> int:
    """Create a file that is to take the place of ``before``, open for writing: with the entries of its list that no
    folder passes on. If there is no such file, a new one has the default rights; with a ``mode`` that has none for
    others, those of a private file."""
    rights = None if mode & 0o077 else _private("")
    with contextlib.suppress(FileNotFoundError):
        rights = _own_entries(rights_of_path(os.fspath(before)))
    return _opened(path, WRITE, CREATE_NEW, rights)


def is_private(fd: int) -> bool:
    """Whether an open file is this user's, and no other has access."""
    return _is_private(rights_of(fd), user_name())


def make_private_folder(path: str | Path) -> None:
    """Create a folder, and missing ones above it, for this user alone. Existing ones stay as they are.

    A new file in it has the same rights if its program asks for no others, such as an auxiliary file of SQLite."""
    path = Path(path)
    for folder in reversed([path, *(folder for folder in path.parents if not folder.exists())]):
        try:
            create_folder(os.fspath(folder), _private("OICI"))
        except FileExistsError:
            if not folder.is_dir():
                raise


def restrict_folder(path: str | Path) -> None:
    """Take access to an existing folder from others."""
    if not _is_private(rights_of_path(os.fspath(path)), user_name()):
        restrict(os.fspath(path), _private("OICI"))


def move_new(source: str | Path, target: str | Path) -> None:
    """Give a file its final name. ``FileExistsError`` if there is one of that name; it stays as it is."""
    move(os.fspath(source), os.fspath(target))


def _opened(path: str | Path, access: int, disposition: int, rights: str | None = None, flags: int = 0) -> int:
    handle = open_file(os.fspath(path), access, SHARED, disposition, rights=rights)
    try:
        if is_link(handle):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    except BaseException:
        close(handle)
        raise
    return descriptor_of(handle, flags)


def _private(flags: str) -> str:
    """A list that no folder adds to. ``flags``: what a folder passes on."""
    return "D:P" + "".join(f"(A;{flags};FA;;;{name})" for name in (user_name(), *_SYSTEM))


def _own_entries(rights: str) -> str | None:
    """The list of a file without the entries that its folder passes on; ``None`` if there are no others."""
    head, _, entries = rights.partition("D:")[2].partition("(")
    own = [one[0] for one in _ENTRY.finditer(f"({entries}") if "ID" not in one[2]]
    protected = "P" if "P" in head else ""
    return f"D:{protected}{''.join(own)}" if own or protected else None


def _is_private(rights: str, user: str) -> bool:
    """Whether ``rights``, in SDDL, give access to ``user``, the system and administrators alone."""
    owner, found, entries = rights.removeprefix("O:").partition("D:")
    if owner not in (user, *_SYSTEM) or not found or "(" not in entries:  # a file without a list is open to all
        return False
    listed = entries[entries.index("(") :]
    if _ENTRY.sub("", listed):  # an entry of an unknown form
        return False
    allowed = (user, *_OWNERS)
    return all(one[1] in ("D", "XD", "OD") or one[6] in allowed for one in _ENTRY.finditer(listed))

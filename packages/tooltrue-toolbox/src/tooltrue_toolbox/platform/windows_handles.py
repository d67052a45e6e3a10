"""Files below an open folder on Windows, by handles: the functions of :mod:`tooltrue_toolbox.platform.handles`.

Each name is opened relative to the handle of its folder (``NtCreateFile`` with ``RootDirectory``), and a reparse point
is opened itself. So a folder that is renamed or replaced by a junction during a call changes nothing for the call,
which stays in the folder that it has opened; no handle has to keep others from renaming the folders above.

The name goes to the file system as it is, without the changes that Windows makes to paths; :func:`_plain` refuses every
name that those changes would touch. The file system still knows an entry by several names: case does not count, and
there are short names. ``stored_name`` and :class:`EntryHandle` have the one that is stored, for the rules to be checked
against.
"""

from __future__ import annotations

import errno
import msvcrt
import os
import secrets
import stat
import struct
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tooltrue._internal.platform.descriptors import BINARY
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.state.places import state_folder
from tooltrue_toolbox.platform import windows_calls as calls
from tooltrue_toolbox.platform.entry_handle import EntryHandle
from tooltrue_toolbox.platform.windows_names import fault_of, may_be_short

assert not HAS_POSIX

__all__ = [
    "beneath",
    "close",
    "create_file",
    "duplicate",
    "entries",
    "file_status",
    "keep_attributes",
    "link_target",
    "lock_file",
    "look",
    "make_directory",
    "open_directory",
    "open_file",
    "open_root",
    "path_status",
    "peek",
    "read_at",
    "remove_directory",
    "remove_file",
    "rename_new",
    "rename_over",
    "status",
    "stored_name",
    "sync",
]

_READ_DATA, _WRITE_DATA, _READ_ATTRIBUTES, _WRITE_ATTRIBUTES = 0x1, 0x2, 0x80, 0x100
_DELETE, _READ_CONTROL, _WRITE_DAC = 0x10000, 0x20000, 0x40000
_LIST, _ADD_FILE, _ADD_DIRECTORY, _TRAVERSE = 0x1, 0x2, 0x4, 0x20
_DIRECTORY_FILE, _NON_DIRECTORY_FILE, _DELETE_ON_CLOSE = 0x1, 0x40, 0x1000

_READONLY, _DIRECTORY = 0x1, 0x10
_KEPT_ATTRIBUTES = 0x2 | 0x4 | 0x20 | 0x2000  # hidden, system, archive, not indexed

_SYMLINK, _MOUNT_POINT = 0xA000000C, 0xA0000003
_NAME_SURROGATE = 0x20000000
_FILLED_IN = frozenset((0x80000013, 0x80000015, 0x80000017, 0x80000021))
"""Reparse points whose content a driver supplies: deduplication, placeholders, compression, OneDrive."""

_LOOKS = 10
"""Attempts to look at an entry that others replace meanwhile."""

# Full access for the owner, and for no one else: until the file has the access list of the one that it replaces.
_OWNER_ALONE = struct.pack("<BBHIIII", 1, 0, 0x9004, 0, 0, 0, 20) + struct.pack(
    "<BBHHHBBHIBB6BI", 2, 0, 28, 1, 0, 0, 0, 20, 0x1F01FF, 1, 1, 0, 0, 0, 0, 0, 3, 4
)


def _plain(name: str) -> str:
    """``name``, or the empty name of NT for ``.``. ``OSError`` for a name that is not one ordinary name."""
    if name == ".":
        return ""
    fault = fault_of(name)
    if fault is None:
        return name
    number = errno.ENAMETOOLONG if fault == "length" else errno.EINVAL
    raise OSError(number, os.strerror(number))


def _is_filled_in(tag: int) -> bool:
    is_cloud = tag & 0xFFFF0FFF == 0x9000001A
    return is_cloud or tag in _FILLED_IN


def _is_link(tag: int) -> bool:
    return bool(tag & _NAME_SURROGATE)


def _kind(attributes: int, tag: int) -> int:
    """The type bits of ``st_mode``. A reparse point of unknown meaning is like a device: neither read nor entered."""
    if _is_link(tag):
        return stat.S_IFLNK
    if tag and not _is_filled_in(tag):
        return stat.S_IFCHR
    return stat.S_IFDIR if attributes & _DIRECTORY else stat.S_IFREG


def _status(facts: calls.FileFacts) -> os.stat_result:
    kind = _kind(facts.attributes, facts.tag)
    permissions = 0o777 if kind != stat.S_IFREG else 0o444 if facts.attributes & _READONLY else 0o666
    seconds = [time / 1e9 for time in facts.times]
    names = ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")
    return os.stat_result(
        (kind | permissions, facts.number, facts.volume, facts.links, 0, 0, facts.size, *seconds),
        dict(zip(names, facts.times, strict=True)),
    )


# Directories


def open_root(path: Path) -> int:
    """The folder at ``path``, to start from. The only call, besides :func:`path_status`, that takes a whole path."""
    handle = calls.open_path(os.path.abspath(path))
    try:
        if not stat.S_ISDIR(status(handle).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except BaseException:
        close(handle)
        raise
    return handle


def path_status(path: Path) -> os.stat_result:
    """The status of a place that the operator has named; links are followed."""
    handle = calls.open_path(os.path.abspath(path))
    try:
        return status(handle)
    finally:
        close(handle)


def close(directory: int) -> None:
    calls.close(directory)


def duplicate(directory: int) -> int:
    return calls.open_at(directory, "", _READ_ATTRIBUTES | _TRAVERSE, _DIRECTORY_FILE)


def status(directory: int) -> os.stat_result:
    """The status of an open directory, or of another open entry."""
    return _status(calls.facts_of(directory))


def open_directory(parent: int, name: str) -> int:
    """The directory at ``name``, opened for reading its entries; ``.`` is ``parent`` itself."""
    handle = calls.open_at(parent, _plain(name), _LIST | _TRAVERSE | _READ_ATTRIBUTES, _DIRECTORY_FILE)
    try:
        if not stat.S_ISDIR(status(handle).st_mode):  # a junction, or a link to a directory
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except BaseException:
        close(handle)
        raise
    return handle


@dataclass(frozen=True, slots=True)
class _DirectoryItem:
    name: str
    kind: int

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a directory, and no link to one."""
        return self.kind == stat.S_IFDIR


@contextmanager
def entries(directory: int) -> Generator[Iterator[_DirectoryItem]]:
    """The entries of a directory that was opened for reading them."""
    yield (_DirectoryItem(each.name, _kind(each.attributes, each.tag)) for each in calls.list_entries(directory))


def make_directory(parent: int, name: str) -> None:
    close(calls.open_at(parent, _plain(name), _READ_ATTRIBUTES, _DIRECTORY_FILE, calls.FILE_CREATE))


def remove_directory(parent: int, name: str) -> None:
    """Remove an empty directory."""
    with _opened(parent, name, _DELETE | _READ_ATTRIBUTES, _DIRECTORY_FILE) as handle:
        if not stat.S_ISDIR(status(handle).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        calls.delete(handle)


def sync(directory: int) -> None:
    """Make the names in a directory survive a power loss. NTFS and ReFS keep a journal of names; there is no call."""


def lock_file(directory: int) -> int:
    """A descriptor to lock that stands for the directory, in all processes of one user.

    A directory itself cannot be locked. Locks on a file of ours disappear with their process as well.
    """
    identity = status(directory)
    folder = state_folder() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return os.open(folder / f"{identity.st_dev:x}-{identity.st_ino:x}.lock", os.O_RDWR | os.O_CREAT | BINARY, 0o600)


# Entries


@contextmanager
def _opened(parent: int, name: str, access: int, options: int = 0) -> Generator[int]:
    """The entry itself, also where it is a link."""
    handle = calls.open_at(parent, _plain(name), access, options)
    try:
        yield handle
    finally:
        close(handle)


def peek(parent: int, name: str) -> EntryHandle:
    """The entry at ``name``, a link as the link itself; a directory can be started from."""
    handle, stored = _looked_up(parent, name)
    try:
        return EntryHandle(stored, handle, status(handle), close)
    except BaseException:
        close(handle)
        raise


def _looked_up(parent: int, name: str) -> tuple[int, str]:
    """The entry at ``name``, opened to be looked at, and the name that the file system stores for it.

    A handle tells the name that its entry has now. If the entry has been replaced, removed or renamed since it was
    opened, that is a name which nobody asked for, such as one in ``$Extend\\$Deleted``, where NTFS keeps a removed file
    for those who have it open; then ``name`` is looked up again.
    """
    for _ in range(_LOOKS):
        handle = calls.open_at(parent, _plain(name), _READ_ATTRIBUTES, 0)
        try:
            with suppress(FileNotFoundError):  # gone since: the next look tells whether there is another one
                stored = _stored(handle, name)
                if stored == name or os.path.samestat(look(parent, name), status(handle)):
                    return handle, stored
        except BaseException:
            close(handle)
            raise
        close(handle)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _stored(handle: int, name: str) -> str:
    if name == ".":
        return name
    path = calls.normalized_name(handle)
    if path is not None:
        return path.rpartition("\\")[2]
    if may_be_short(name):  # and the file system does not tell the long one
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return name


def link_target(parent: int, link: EntryHandle) -> str:
    """The target of a link that was looked at in ``parent``; one that is not relative begins with ``/``."""
    assert link.handle is not None
    data = calls.reparse_data(link.handle)
    (tag,) = struct.unpack_from("<I", data)
    if tag != _SYMLINK:
        return "/"  # a junction or a mounted volume is always absolute
    begin, length, _, _, flags = struct.unpack_from("<HHHHI", data, 8)
    target = data[20 + begin : 20 + begin + length].decode("utf-16-le", "surrogatepass").replace("\\", "/")
    return target if flags & 1 else "/"


def look(parent: int, name: str) -> os.stat_result:
    """The status of the entry at ``name``, links not followed."""
    with _opened(parent, name, _READ_ATTRIBUTES) as handle:
        return status(handle)


def stored_name(parent: int, name: str) -> str:
    """The name that the file system stores for the entry at ``name``; ``name`` itself where there is no entry."""
    try:
        handle, stored = _looked_up(parent, name)
    except FileNotFoundError:
        return name
    close(handle)
    return stored


# Files


def open_file(parent: int, name: str, *, writable: bool = False) -> int:
    """The file at ``name``, to read, or to read and write."""
    access = _READ_DATA | _READ_ATTRIBUTES | (_WRITE_DATA | _READ_CONTROL if writable else 0)
    handle = calls.open_at(parent, _plain(name), access, _NON_DIRECTORY_FILE)
    try:
        facts = calls.facts_of(handle)
        if _is_filled_in(facts.tag):
            filled = calls.open_at(parent, _plain(name), access, _NON_DIRECTORY_FILE, to_filter=True)
            close(handle)
            handle, before = filled, facts
            facts = calls.facts_of(handle)
            if (facts.volume, facts.number) != (before.volume, before.number):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        elif facts.tag:
            number = errno.ELOOP if _is_link(facts.tag) else errno.ENXIO
            raise OSError(number, os.strerror(number))
        return msvcrt.open_osfhandle(handle, os.O_RDWR if writable else os.O_RDONLY)
    except BaseException:
        close(handle)
        raise


def file_status(fd: int) -> os.stat_result:
    """The status of an open file."""
    return status(msvcrt.get_osfhandle(fd))


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Up to ``size`` bytes from ``offset``. The position of the descriptor moves."""
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)


def create_file(parent: int, name: str, permissions: int) -> int:
    """A new file, opened for writing; ``FileExistsError`` where the name is taken. Without ``permissions`` for others
    it is its owner's alone; otherwise it inherits the access list of its folder."""
    access = _WRITE_DATA | _READ_ATTRIBUTES | _WRITE_ATTRIBUTES | _READ_CONTROL | _WRITE_DAC
    security = None if permissions & 0o077 else _OWNER_ALONE
    handle = calls.open_at(parent, _plain(name), access, _NON_DIRECTORY_FILE, calls.FILE_CREATE, security=security)
    try:
        return msvcrt.open_osfhandle(handle, os.O_WRONLY)
    except BaseException:
        close(handle)
        raise


def remove_file(parent: int, name: str) -> None:
    """Remove a file, or a link itself."""
    with _opened(parent, name, _DELETE | _READ_ATTRIBUTES) as handle:
        if stat.S_ISDIR(status(handle).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        calls.delete(handle)


def keep_attributes(old: int, before: os.stat_result, new: int) -> None:
    """Give the file ``new`` the access list and the attributes of ``old``."""
    source, destination = msvcrt.get_osfhandle(old), msvcrt.get_osfhandle(new)
    calls.set_attributes(destination, calls.facts_of(source).attributes & _KEPT_ATTRIBUTES)
    calls.copy_access(source, destination)


# Names


def beneath(directory: int, path: str, *, mounts: bool = False) -> int | None:
    """``None``: no call opens several names without following links, so a path is followed name by name."""
    return None


def rename_over(source_parent: int, source: str, parent: int, name: str) -> None:
    """Rename in one step, replacing the file that has the new name."""
    with _opened(source_parent, source, _DELETE | _READ_ATTRIBUTES) as handle:
        calls.rename(handle, parent, _plain(name), replace=True)


def rename_new(source_parent: int, source: str, parent: int, name: str, *, is_directory: bool = False) -> None:
    """Rename without replacing: ``FileExistsError`` if the new name is taken."""
    with _opened(source_parent, source, _DELETE | _READ_ATTRIBUTES) as handle:
        if is_directory and _holds(handle, parent):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        with _kept_from_becoming_a_junction(parent, source_parent):
            calls.rename(handle, parent, _plain(name), replace=False)


@contextmanager
def _kept_from_becoming_a_junction(parent: int, source_parent: int) -> Generator[None]:
    """Keep an empty folder from being turned into a junction while something is moved there: a rename, other than an
    open, cannot be told to follow none. A folder that has an entry cannot be turned into one."""
    if parent == source_parent:  # the source is in it
        yield
        return
    name, options = f".{secrets.token_hex(8)}.tmp", _NON_DIRECTORY_FILE | _DELETE_ON_CLOSE
    handle = calls.open_at(parent, name, _DELETE, options, calls.FILE_CREATE)
    try:
        yield
    finally:
        close(handle)


def _holds(directory: int, other: int) -> bool:
    """Whether ``other`` is ``directory`` or lies in it: for a clear error. The system refuses it in any case."""
    above, below = calls.normalized_name(directory), calls.normalized_name(other)
    return above is not None and below is not None and f"{below}\\".startswith(f"{above}\\")

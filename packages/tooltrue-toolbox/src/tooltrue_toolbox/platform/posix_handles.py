"""Files below an open folder on Linux and macOS, by the calls that take the descriptor of a directory.

Linux opens a directory to start from it (``O_PATH``), which needs no permission to read it. macOS has no such flag: a
directory on the way must be readable there.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tooltrue_toolbox.platform import posix_calls
from tooltrue_toolbox.platform.entry_handle import EntryHandle

assert sys.platform != "win32"

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

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_REPLACED = frozenset((errno.ELOOP, errno.ENOTDIR))
"""A link, or a file, where a directory was a moment ago: macOS has the first for a link, Linux the second."""
_LOOKS = 8
_NO_LINKS = frozenset((errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP))

_HAS_O_PATH = sys.platform == "linux" and hasattr(os, "O_PATH")


def _flags() -> tuple[int, int]:
    """The flags that open a directory to start from it, and those that open an entry to look at it."""
    if sys.platform == "linux" and _HAS_O_PATH:
        return os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    start = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    return start, start | os.O_NOFOLLOW


_START, _PEEK = _flags()

# Directories


def open_root(path: Path) -> int:
    """The folder at ``path``, to start from. The only call, besides :func:`path_status`, that takes a whole path."""
    return os.open(path, _START)


def path_status(path: Path) -> os.stat_result:
    """The status of a place that the operator has named; links are followed."""
    return path.stat()


def close(directory: int) -> None:
    os.close(directory)


def duplicate(directory: int) -> int:
    return os.dup(directory)


def status(directory: int) -> os.stat_result:
    """The status of an open directory."""
    return os.fstat(directory)


def beneath(directory: int, path: str, *, mounts: bool = False) -> int | None:
    """The directory ``path`` below ``directory``, to start from, where one system call can lead there and nowhere
    else. ``None`` otherwise: the path is then followed name by name."""
    return posix_calls.beneath(directory, path, mounts=mounts)


def open_directory(parent: int, name: str) -> int:
    """The directory at ``name``, opened for reading its entries; ``.`` is ``parent`` itself."""
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def entries(directory: int) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    """The entries of a directory that was opened for reading them."""
    return os.scandir(directory)


def make_directory(parent: int, name: str) -> None:
    os.mkdir(name, dir_fd=parent)


def remove_directory(parent: int, name: str) -> None:
    """Remove an empty directory."""
    os.rmdir(name, dir_fd=parent)


def sync(directory: int) -> None:
    """Make the names in a directory survive a power loss."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock_file(directory: int) -> int:
    """A descriptor to lock that stands for the directory, in all processes: here the directory itself."""
    return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)


# Entries


def peek(parent: int, name: str) -> EntryHandle:
    """The entry at ``name``, a link as the link itself; a directory can be started from."""
    return _opened(parent, name) if _HAS_O_PATH else _looked_at(parent, name)


def _looked_at(parent: int, name: str) -> EntryHandle:
    """The entry at ``name``, opened if it is a directory. One that is replaced in between is looked at again."""
    for _ in range(_LOOKS):
        status = look(parent, name)
        if not stat.S_ISDIR(status.st_mode):
            return EntryHandle(name, None, status, os.close)
        try:
            return _opened(parent, name)
        except OSError as error:
            if error.errno not in _REPLACED:
                raise
    raise _changed(name)


def _changed(name: str) -> OSError:
    """The error of an entry that was replaced during the call, as of one that was opened without following links."""
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


def _opened(parent: int, name: str) -> EntryHandle:
    fd = os.open(name, _PEEK, dir_fd=parent)
    try:
        return EntryHandle(name, fd, os.fstat(fd), os.close)
    except BaseException:
        os.close(fd)
        raise


def link_target(parent: int, link: EntryHandle) -> str:
    """The target of a link that was looked at in ``parent``."""
    if _HAS_O_PATH:
        return os.readlink("", dir_fd=link.handle)
    try:
        return os.readlink(link.name, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.EINVAL:  # no link any more
            raise _changed(link.name) from None
        raise


def look(parent: int, name: str) -> os.stat_result:
    """The status of the entry at ``name``, links not followed."""
    return os.stat(name, dir_fd=parent, follow_symlinks=False)


def stored_name(parent: int, name: str) -> str:
    """The name that the file system stores for the entry at ``name``; here no entry has another one."""
    return name


# Files


def open_file(parent: int, name: str, *, writable: bool = False) -> int:
    """The file at ``name``, to read, or to read and write."""
    # O_NONBLOCK: a FIFO put there in the meantime must not hang the thread.
    flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(name, flags, dir_fd=parent)


def file_status(fd: int) -> os.stat_result:
    """The status of an open file."""
    return os.fstat(fd)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Up to ``size`` bytes from ``offset``."""
    return os.pread(fd, size, offset)


def create_file(parent: int, name: str, permissions: int) -> int:
    """A new file, opened for writing; ``FileExistsError`` where the name is taken."""
    return os.open(name, _NEW, permissions, dir_fd=parent)


def remove_file(parent: int, name: str) -> None:
    """Remove a file, or a link itself."""
    os.unlink(name, dir_fd=parent)


def keep_attributes(old: int, before: os.stat_result, new: int) -> None:
    """Give the file ``new`` the owner, the permissions and the attributes of ``old``, whose status was ``before``."""
    permissions = stat.S_IMODE(before.st_mode) & 0o777  # not setuid and setgid: the content is another
    try:
        os.fchown(new, before.st_uid, before.st_gid)
    except PermissionError:
        if os.fstat(new).st_gid != before.st_gid:
            permissions &= ~0o070  # the rights of one group are not for another
    # A lost attribute fails the write: without its access list, its mask would become the rights of the group.
    if sys.platform == "linux":
        for name in _attributes(old):
            if name.startswith("user.") or name == "system.posix_acl_access":
                os.setxattr(new, name, os.getxattr(old, name))
    else:
        posix_calls.copy_attributes(old, new)
    os.fchmod(new, permissions)


if sys.platform == "linux":

    def _attributes(fd: int) -> list[str]:
        """The names of the file's extended attributes; empty on a file system without them."""
        try:
            return os.listxattr(fd)
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            return []


# Names


def rename_over(source_parent: int, source: str, parent: int, name: str) -> None:
    """Rename in one step, replacing the file that has the new name."""
    os.rename(source, name, src_dir_fd=source_parent, dst_dir_fd=parent)


def rename_new(source_parent: int, source: str, parent: int, name: str, *, is_directory: bool = False) -> None:
    """Rename without replacing: ``FileExistsError`` if the new name is taken."""
    try:
        posix_calls.rename_without_replacing(source, name, source_parent, parent)
    except NotImplementedError:
        _rename_otherwise(source_parent, source, parent, name, is_directory=is_directory)


def _rename_otherwise(source_parent: int, source: str, parent: int, name: str, *, is_directory: bool) -> None:
    """Rename where the system cannot do it without replacing: a file gets a second name and then loses the first. A
    directory can only replace an empty one."""
    if is_directory:
        if _exists(parent, name):
            raise FileExistsError
        rename_over(source_parent, source, parent, name)
        return
    try:
        os.link(source, name, src_dir_fd=source_parent, dst_dir_fd=parent, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_to_reserved(source_parent, source, parent, name)
        return
    # At once: with two names the file would read as a hard link, after a crash for good.
    os.unlink(source, dir_fd=source_parent)


def _exists(parent: int, name: str) -> bool:
    try:
        look(parent, name)
    except FileNotFoundError:
        return False
    return True


def _rename_to_reserved(source_parent: int, source: str, parent: int, name: str) -> None:
    """Take the name with an empty file first: the only way on a file system without hard links (FAT)."""
    os.close(create_file(parent, name, 0o600))
    try:
        rename_over(source_parent, source, parent, name)
    except OSError:
        remove_file(parent, name)
        raise

"""Calls of Linux and macOS that Python lacks: ``openat2``, ``renameat2``, ``renameatx_np``, ``fcopyfile``.

Each may be missing, in an old kernel, a sandbox or another libc. ``None`` or ``NotImplementedError`` tells the caller,
which then takes another way.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

assert sys.platform != "win32"

__all__ = ["beneath", "copy_attributes", "rename_without_replacing"]

_OPENAT2 = 437  # the same on every architecture
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x01, 0x02, 0x04, 0x08
_RENAME_NOREPLACE = 1
_RENAME_EXCL = 4
_COPYFILE_ACL, _COPYFILE_XATTR = 1, 4
_MISSING = frozenset((errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP))

_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def beneath(directory: int, path: str, *, mounts: bool = False) -> int | None:
    """The directory ``path`` below ``directory``, as a descriptor to start from.

    ``None`` when that is not possible in one step: because of a link on the way, a mount (unless ``mounts``), a missing
    name, or a kernel without the call. It never leaves ``directory``, even if entries are renamed meanwhile.
    """
    if sys.platform == "linux":
        return _openat2(directory, path, mounts=mounts)
    return _open_without_links(directory, path, mounts=mounts)


if sys.platform == "linux":
    _HAS_O_PATH = hasattr(os, "O_PATH")

    def _openat2(directory: int, path: str, *, mounts: bool) -> int | None:
        if not _HAS_O_PATH:
            return None
        resolve = _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS | (0 if mounts else _NO_XDEV)
        how = _How(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, resolve)
        name = ctypes.c_char_p(os.fsencode(path))
        fd = int(_libc.syscall(_OPENAT2, directory, name, ctypes.byref(how), ctypes.sizeof(how)))
        return None if fd < 0 else fd


def _open_without_links(directory: int, path: str, *, mounts: bool) -> int | None:
    """The way of macOS: the flag refuses links anywhere in the path, and ``path`` has no ``..``."""
    no_links: int = getattr(os, "O_NOFOLLOW_ANY", 0)
    if not no_links:
        return None
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | no_links, dir_fd=directory)
    except OSError:
        return None
    if mounts or os.fstat(fd).st_dev == os.fstat(directory).st_dev:
        return fd
    os.close(fd)
    return None


def rename_without_replacing(source: str, destination: str, source_fd: int, destination_fd: int) -> None:
    """Rename without replacing: ``FileExistsError`` if the new name is taken, ``NotImplementedError`` where the system
    cannot guarantee that, other ``OSError`` as for ``os.rename``."""
    name, flag = ("renameat2", _RENAME_NOREPLACE) if sys.platform == "linux" else ("renameatx_np", _RENAME_EXCL)
    call = getattr(_libc, name, None)
    if call is None:
        raise NotImplementedError
    names = ctypes.c_char_p(os.fsencode(source)), ctypes.c_char_p(os.fsencode(destination))
    if call(source_fd, names[0], destination_fd, names[1], flag) == 0:
        return
    number = ctypes.get_errno()
    if number in _MISSING and not _is_into_itself(number, source, destination, source_fd, destination_fd):
        raise NotImplementedError
    raise OSError(number, os.strerror(number))


def _is_into_itself(number: int, source: str, destination: str, source_fd: int, destination_fd: int) -> bool:
    """Whether ``EINVAL`` means that a directory was to be moved into itself."""
    if number != errno.EINVAL:
        return False
    flags = os.O_DIRECTORY | os.O_CLOEXEC | (os.O_PATH if sys.platform == "linux" else os.O_RDONLY)
    moved = os.stat(source, dir_fd=source_fd, follow_symlinks=False)
    here = os.open(".", flags, dir_fd=destination_fd)
    try:
        while not os.path.samestat(moved, status := os.fstat(here)):
            above = os.open("..", flags, dir_fd=here)
            os.close(here)
            here = above
            if os.path.samestat(status, os.fstat(here)):
                return False
    finally:
        os.close(here)
    return True


def copy_attributes(source: int, destination: int) -> None:
    """The access list and the extended attributes of one open file for another, where libc has ``fcopyfile``."""
    call = getattr(_libc, "fcopyfile", None)
    if call is not None and call(source, destination, None, _COPYFILE_ACL | _COPYFILE_XATTR) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))

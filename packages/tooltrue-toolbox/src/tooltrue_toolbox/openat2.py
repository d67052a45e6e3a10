"""Two Linux system calls without a Python wrapper: ``openat2`` and ``renameat2``.

Either may be missing, in an old kernel, a sandbox or another libc. ``None`` or ``NotImplementedError`` tells the
caller, which then takes another way.
"""

from __future__ import annotations

import ctypes
import errno
import os

__all__ = ["beneath", "rename_new"]

_OPENAT2 = 437  # the same on every architecture
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x01, 0x02, 0x04, 0x08
_RENAME_NOREPLACE = 1
_MISSING = frozenset((errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP))

_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def beneath(directory: int, path: str, *, mounts: bool = False) -> int | None:
    """The directory ``path`` below ``directory``, as a descriptor to start from (``O_PATH``).

    ``None`` when that is not possible in one step: because of a link on the way, a mount (unless ``mounts``), a missing
    name, or a kernel without the call. It never leaves ``directory``, even if entries are renamed meanwhile.
    """
    resolve = _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS | (0 if mounts else _NO_XDEV)
    how = _How(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, resolve)
    name = ctypes.c_char_p(os.fsencode(path))
    fd = int(_libc.syscall(_OPENAT2, directory, name, ctypes.byref(how), ctypes.sizeof(how)))
    return None if fd < 0 else fd


def rename_new(source: str, destination: str, source_fd: int, destination_fd: int) -> None:
    """Rename without replacing: ``FileExistsError`` if the new name is taken, ``NotImplementedError`` where the system
    cannot guarantee that, other ``OSError`` as for ``os.rename``."""
    call = getattr(_libc, "renameat2", None)
    if call is None:
        raise NotImplementedError
    names = ctypes.c_char_p(os.fsencode(source)), ctypes.c_char_p(os.fsencode(destination))
    if call(source_fd, names[0], destination_fd, names[1], _RENAME_NOREPLACE) == 0:
        return
    number = ctypes.get_errno()
    if number in _MISSING and not _is_into_itself(number, source, destination, source_fd, destination_fd):
        raise NotImplementedError
    raise OSError(number, os.strerror(number))


def _is_into_itself(number: int, source: str, destination: str, source_fd: int, destination_fd: int) -> bool:
    """Whether ``EINVAL`` means that a directory was to be moved into itself."""
    if number != errno.EINVAL:
        return False
    moved = os.stat(source, dir_fd=source_fd, follow_symlinks=False)
    here = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=destination_fd)
    try:
        while not os.path.samestat(moved, status := os.fstat(here)):
            above = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = above
            if os.path.samestat(status, os.fstat(here)):
                return False
    finally:
        os.close(here)
    return True

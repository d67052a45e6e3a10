"""Stand-ins for the few calls of macOS that ``platform`` uses, made of what Linux has; :data:`OWN` has them by module.

Only the tests that ``without_posix.py`` runs see them. They do what the manual pages of macOS and the documentation of
Python say.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import socket
import struct
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_libc: Any = ctypes.CDLL(None, use_errno=True)


def _refuse(number: int, *names: Any) -> OSError:
    return OSError(number, os.strerror(number), *names)


# -- os: open(2), O_NOFOLLOW_ANY ---------------------------------------------------------------------------------------

_O_NOFOLLOW_ANY = 0x20000000
_OPENAT2, _AT_FDCWD, _RESOLVE_NO_SYMLINKS = 437, -100, 0x04


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _os(real: types.ModuleType) -> dict[str, Any]:
    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """``ELOOP`` for a link anywhere in the path, with that flag."""
        if not flags & _O_NOFOLLOW_ANY:
            return real.open(path, flags, mode, dir_fd=dir_fd)
        sys.audit("open", path, None, flags)
        how = _How(flags & ~_O_NOFOLLOW_ANY | os.O_CLOEXEC, 0, _RESOLVE_NO_SYMLINKS)
        folder = _AT_FDCWD if dir_fd is None else dir_fd
        fd = _libc.syscall(_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        if fd < 0:
            raise _refuse(ctypes.get_errno(), path)
        return int(fd)

    real.supports_dir_fd.add(open_)
    return {"open": open_, "O_NOFOLLOW_ANY": _O_NOFOLLOW_ANY}


# -- resource: setrlimit(2), getrusage(2) ------------------------------------------------------------------------------


def _resource(real: types.ModuleType) -> dict[str, Any]:
    def setrlimit(number: int, limits: tuple[int, int]) -> None:
        """The limit of the address space is accepted, and not enforced."""
        if number != resource.RLIMIT_AS:
            real.setrlimit(number, limits)

    def getrusage(of: int) -> resource.struct_rusage:
        """The memory is a number of bytes, and not of kilobytes."""
        usage = list(real.getrusage(of))
        usage[2] *= 1024
        return resource.struct_rusage(usage)

    return {"setrlimit": setrlimit, "getrusage": getrusage}


# -- select: kqueue(2), of which a program here uses the end of an input -----------------------------------------------

_KQ = {"KQ_FILTER_READ": -1, "KQ_EV_ADD": 0x1, "KQ_EV_CLEAR": 0x20, "KQ_EV_EOF": 0x8000, "KQ_NOTE_LOWAT": 0x1}


class _Event:
    def __init__(self, ident: int, filter: int = -1, flags: int = 0x1, fflags: int = 0, data: int = 0) -> None:
        self.ident, self.filter, self.flags, self.fflags, self.data = ident, filter, flags, fflags, data


class _Queue:
    """Reports that the other end of a pipe, a socket or a terminal has closed, and no bytes that wait."""

    def __init__(self) -> None:
        self._poll = select.poll()

    def control(self, changes: Sequence[_Event], max_events: int, timeout: float | None = None) -> list[_Event]:
        for event in changes:
            if event.filter != _KQ["KQ_FILTER_READ"] or not event.fflags & _KQ["KQ_NOTE_LOWAT"]:
                raise NotImplementedError
            self._poll.register(event.ident, select.POLLRDHUP)
        found = self._poll.poll(None if timeout is None else timeout * 1000)
        return [_Event(fd, flags=_KQ["KQ_EV_EOF"]) for fd, _ in found[:max_events]]

    def close(self) -> None:
        pass


def _select(real: types.ModuleType) -> dict[str, Any]:
    return {"kqueue": _Queue, "kevent": _Event, **_KQ}


# -- ctypes: rename(2), renameatx_np; copyfile(3), fcopyfile; getpeereid(3) --------------------------------------------

_HIDDEN = frozenset(("prctl", "unshare", "setns", "capset", "openat2", "pidfd_open", "renameat2", "syscall"))
_RENAME_EXCL, _RENAME_NOREPLACE = 4, 1
_COPYFILE_ACL, _COPYFILE_XATTR = 1, 4


def _renameatx_np(source_fd: int, source: Any, target_fd: int, target: Any, flags: int) -> int:
    if flags & ~_RENAME_EXCL:
        ctypes.set_errno(errno.ENOTSUP)
        return -1
    return int(_libc.renameat2(source_fd, source, target_fd, target, _RENAME_NOREPLACE if flags else 0))


def _fcopyfile(source: int, target: int, state: None, flags: int) -> int:
    try:
        for name in os.listxattr(source):
            needed = _COPYFILE_ACL if name == "system.posix_acl_access" else _COPYFILE_XATTR
            if flags & needed and (name.startswith("user.") or needed == _COPYFILE_ACL):
                os.setxattr(target, name, os.getxattr(source, name))
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            ctypes.set_errno(error.errno or 0)
            return -1
    return 0


def _getpeereid(fd: int, user: Any, group: Any) -> int:
    with socket.socket(fileno=os.dup(fd)) as connection:
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    _, user._obj.value, group._obj.value = struct.unpack("iII", told)
    return 0


_CALLS: Mapping[str, Callable[..., int]] = {
    "renameatx_np": _renameatx_np,
    "fcopyfile": _fcopyfile,
    "getpeereid": _getpeereid,
}


def _ctypes(real: types.ModuleType) -> dict[str, Any]:
    class CDLL(real.CDLL):
        def __init__(self, name: Any, *arguments: Any, **options: Any) -> None:
            if isinstance(name, str) and ".so." in name and "/" not in name:
                raise OSError(f"dlopen({name}): image not found")
            super().__init__(name, *arguments, **options)

        def __getattr__(self, name: str) -> Any:
            if name in _HIDDEN:
                raise AttributeError(f"dlsym: symbol not found: {name}")
            return _CALLS[name] if name in _CALLS else super().__getattr__(name)

    return {"CDLL": CDLL}


OWN: Mapping[str, Callable[[types.ModuleType], Mapping[str, Any]]] = {
    "ctypes": _ctypes,
    "os": _os,
    "resource": _resource,
    "select": _select,
    "sys": lambda _: {"platform": "darwin"},
}
"""The names that a module has instead of those of Linux, or beside them."""

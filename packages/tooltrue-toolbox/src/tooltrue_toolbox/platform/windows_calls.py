"""The few system calls of Windows that open files below a folder, one function for each.

They are the calls of ``ntdll``, since those of ``kernel32`` take whole paths only: ``NtCreateFile`` opens one name
relative to the open folder that it is in, as ``openat`` does, and passes the name to the file system as it is. Go's
``os.Root`` and Rust's ``cap-std`` are built on the same call.

A failure is an ``OSError`` with the number that POSIX has for it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

__all__ = [
    "FILE_CREATE",
    "FILE_OPEN",
    "FileFacts",
    "ListedEntry",
    "close",
    "copy_access",
    "delete",
    "facts_of",
    "list_entries",
    "normalized_name",
    "open_at",
    "open_path",
    "rename",
    "reparse_data",
    "set_attributes",
]

FILE_OPEN, FILE_CREATE = 1, 2
_SHARE_ALL = 7
_OBJ_CASE_INSENSITIVE, _OBJ_DONT_REPARSE = 0x40, 0x1000
_SYNCHRONOUS, _OPEN_REPARSE_POINT = 0x20, 0x200000
_ATTRIBUTE_NORMAL, _ATTRIBUTE_REPARSE_POINT = 0x80, 0x400
_BACKUP_SEMANTICS = 0x02000000
_OPEN_EXISTING = 3
_READ_ATTRIBUTES, _SYNCHRONIZE = 0x80, 0x100000
_GET_REPARSE_POINT = 0x900A8
_DACL = 4

_BUFFER_OVERFLOW, _NO_MORE_FILES = 0x80000005, 0x80000006
_NOT_OFFERED = frozenset((0xC0000002, 0xC0000003, 0xC000000D, 0xC0000010, 0xC00000BB))
"""Not implemented, invalid information class, invalid parameter, invalid device request, not supported."""

_NUMBERS = {
    0xC0000008: errno.EBADF,
    0xC000000F: errno.ENOENT,
    0xC0000022: errno.EACCES,
    0xC0000024: errno.EBADF,  # the handle of something else, such as -1, which is this process
    0xC0000033: errno.EINVAL,
    0xC0000034: errno.ENOENT,
    0xC0000035: errno.EEXIST,
    0xC000003A: errno.ENOENT,
    0xC0000043: errno.EACCES,
    0xC0000044: errno.ENOSPC,
    0xC0000054: errno.EACCES,
    0xC0000056: errno.ENOENT,  # the entry is going to be deleted
    0xC000007F: errno.ENOSPC,
    0xC00000A2: errno.EROFS,
    0xC00000BA: errno.EISDIR,
    0xC00000D4: errno.EXDEV,
    0xC0000101: errno.ENOTEMPTY,
    0xC0000103: errno.ENOTDIR,
    0xC0000106: errno.ENAMETOOLONG,
    0xC0000121: errno.EACCES,
    0xC0000123: errno.ENOENT,  # the entry has been deleted
    0xC0000275: errno.EINVAL,
    0xC000050B: errno.ELOOP,  # a reparse point was met
    **dict.fromkeys(_NOT_OFFERED, errno.EOPNOTSUPP),
}

_ntdll = ctypes.WinDLL("ntdll")
_kernel32 = ctypes.WinDLL("kernel32")
_HANDLE, _ULONG, _POINTER = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p
_INVALID_HANDLE = ctypes.c_void_p(-1).value


class _UnicodeString(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("maximum", ctypes.c_uint16), ("buffer", _POINTER))


class _ObjectAttributes(ctypes.Structure):
    _fields_ = (
        ("length", _ULONG),
        ("root", _HANDLE),
        ("name", ctypes.POINTER(_UnicodeString)),
        ("attributes", _ULONG),
        ("security", _POINTER),
        ("quality", _POINTER),
    )


class _IoStatus(ctypes.Structure):
    _fields_ = (("status", _POINTER), ("information", ctypes.c_size_t))


def _prototype(call: ctypes._NamedFuncPointer, *types: type) -> None:  # pyright: ignore[reportPrivateUsage] - no other name
    call.argtypes = types
    call.restype = ctypes.c_uint32


_prototype(
    _ntdll.NtCreateFile,
    *(_POINTER, _ULONG, _POINTER, _POINTER, _POINTER, _ULONG, _ULONG, _ULONG, _ULONG, _POINTER, _ULONG),
)
_prototype(_ntdll.NtClose, _HANDLE)
_prototype(_ntdll.NtQueryInformationFile, _HANDLE, _POINTER, _POINTER, _ULONG, _ULONG)
_prototype(_ntdll.NtSetInformationFile, _HANDLE, _POINTER, _POINTER, _ULONG, _ULONG)
_prototype(
    _ntdll.NtQueryDirectoryFile,
    *(_HANDLE, _HANDLE, _POINTER, _POINTER, _POINTER, _POINTER, _ULONG, _ULONG),
    *(ctypes.c_uint8, _POINTER, ctypes.c_uint8),
)
_prototype(
    _ntdll.NtFsControlFile,
    *(_HANDLE, _HANDLE, _POINTER, _POINTER, _POINTER, _ULONG, _POINTER, _ULONG, _POINTER, _ULONG),
)
_prototype(_ntdll.NtQuerySecurityObject, _HANDLE, _ULONG, _POINTER, _ULONG, _POINTER)
_prototype(_ntdll.NtSetSecurityObject, _HANDLE, _ULONG, _POINTER)
_kernel32.CreateFileW.argtypes = (ctypes.c_wchar_p, _ULONG, _ULONG, _POINTER, _ULONG, _ULONG, _HANDLE)
_kernel32.CreateFileW.restype = _HANDLE


def _check(status: int, *, or_else: frozenset[int] = frozenset()) -> int:
    """``status`` as an unsigned number. ``OSError`` for a failure that is not in ``or_else``."""
    status &= 0xFFFFFFFF
    if status >= 0xC0000000 and status not in or_else:
        number = _NUMBERS.get(status, errno.EIO)
        raise OSError(number, os.strerror(number))
    return status


# Opening


def open_path(path: str) -> int:
    """A directory or file at a whole path that the operator has named; links on the way are followed."""
    access = _READ_ATTRIBUTES | _SYNCHRONIZE
    handle = _kernel32.CreateFileW(path, access, _SHARE_ALL, None, _OPEN_EXISTING, _BACKUP_SEMANTICS, None)
    if handle is None or handle == _INVALID_HANDLE:
        os.stat(path)  # raises the reason
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    return int(handle)


def open_at(
    parent: int,
    name: str,
    access: int,
    options: int,
    disposition: int = FILE_OPEN,
    *,
    security: bytes | None = None,
    to_filter: bool = False,
) -> int:
    """The entry ``name`` in the open directory ``parent``; an empty name is ``parent`` itself.

    A link is opened itself. With ``to_filter`` an entry whose content another driver supplies is opened as that driver
    shows it. In both ways no link is followed: the call fails where the system would have to go elsewhere.
    """
    text = name.encode("utf-16-le", "surrogatepass")
    buffer = ctypes.create_string_buffer(text, len(text) + 2)
    string = _UnicodeString(len(text), len(text), ctypes.addressof(buffer))
    descriptor = None if security is None else ctypes.create_string_buffer(security, len(security))
    attributes = _ObjectAttributes(
        ctypes.sizeof(_ObjectAttributes),
        parent,
        ctypes.pointer(string),
        _OBJ_CASE_INSENSITIVE | _OBJ_DONT_REPARSE,
        None if descriptor is None else ctypes.addressof(descriptor),
        None,
    )
    handle, result = ctypes.c_void_p(), _IoStatus()
    options |= _SYNCHRONOUS | (0 if to_filter else _OPEN_REPARSE_POINT)
    _check(
        _ntdll.NtCreateFile(
            ctypes.byref(handle),
            access | _SYNCHRONIZE,
            ctypes.byref(attributes),
            ctypes.byref(result),
            None,
            _ATTRIBUTE_NORMAL,
            _SHARE_ALL,
            disposition,
            options,
            None,
            0,
        )
    )
    assert handle.value is not None
    return handle.value


def close(handle: int) -> None:
    _check(_ntdll.NtClose(handle))


# Facts about an open entry


@dataclass(frozen=True, slots=True)
class FileFacts:
    """``times`` are those of access, of the last write and of the last change, in nanoseconds since 1970."""

    attributes: int
    tag: int
    size: int
    links: int
    volume: int
    number: int
    times: tuple[int, int, int]


_ALL = struct.Struct("<qqqqIxxxxqqIBBxxq")
_EPOCH = 116_444_736_000_000_000
"""1970, in steps of 100 nanoseconds since 1601."""


def facts_of(handle: int) -> FileFacts:
    _, access, write, change, attributes, _, size, links, _, _, number = _ALL.unpack_from(_query(handle, 18, 104))
    tag = 0
    if attributes & _ATTRIBUTE_REPARSE_POINT:
        _, tag = struct.unpack_from("<II", _query(handle, 35, 8))
    volume, number = _identity(handle, number & 0xFFFFFFFFFFFFFFFF)
    times = tuple((step - _EPOCH) * 100 for step in (access, write, change))
    return FileFacts(attributes, tag, size, links, volume, number, (times[0], times[1], times[2]))


def _identity(handle: int, number: int) -> tuple[int, int]:
    """The volume and the number of the file; ``number`` alone on a file system without wide numbers, such as FAT."""
    try:
        volume, low, high = struct.unpack_from("<QQQ", _query(handle, 59, 24))
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return 0, number
    return volume, high << 64 | low


def normalized_name(handle: int) -> str | None:
    """The path of an open entry on its volume, with no short name in it. ``None`` where the file system has none."""
    try:
        data = _query(handle, 48, 4 + 65_536)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return None
    (length,) = struct.unpack_from("<I", data)
    return data[4 : 4 + length].decode("utf-16-le", "surrogatepass")


def _query(handle: int, kind: int, size: int) -> bytes:
    buffer, result = ctypes.create_string_buffer(size), _IoStatus()
    _check(_ntdll.NtQueryInformationFile(handle, ctypes.byref(result), buffer, size, kind))
    return buffer.raw


def reparse_data(handle: int) -> bytes:
    """The data of a reparse point."""
    buffer, result = ctypes.create_string_buffer(16_384), _IoStatus()
    _check(
        _ntdll.NtFsControlFile(
            handle, None, None, None, ctypes.byref(result), _GET_REPARSE_POINT, None, 0, buffer, len(buffer)
        )
    )
    return buffer.raw


@dataclass(frozen=True, slots=True)
class ListedEntry:
    name: str
    attributes: int
    tag: int


_LISTED = struct.Struct("<IIqqqqqqIII")


def list_entries(directory: int) -> Iterator[ListedEntry]:
    """The entries of a directory that was opened for listing, without ``.`` and ``..``."""
    buffer, first = ctypes.create_string_buffer(65_536), True
    while True:
        result = _IoStatus()
        status = _ntdll.NtQueryDirectoryFile(
            *(directory, None, None, None, ctypes.byref(result), buffer, len(buffer), 2, False, None, first)
        )
        if _check(status, or_else=frozenset((0xC000000F,))) in (_NO_MORE_FILES, 0xC000000F):
            return
        first = False
        yield from _listed(buffer.raw)


def _listed(data: bytes) -> Iterator[ListedEntry]:
    at = 0
    while True:
        following, *_, attributes, length, tag = _LISTED.unpack_from(data, at)
        begin = at + _LISTED.size
        name = data[begin : begin + length].decode("utf-16-le", "surrogatepass")
        if name not in (".", ".."):
            yield ListedEntry(name, attributes, tag if attributes & _ATTRIBUTE_REPARSE_POINT else 0)
        if not following:
            return
        at += following


# Changes of an open entry


def _set(handle: int, kind: int, data: bytes) -> None:
    buffer, result = ctypes.create_string_buffer(data, len(data)), _IoStatus()
    _check(_ntdll.NtSetInformationFile(handle, ctypes.byref(result), buffer, len(data), kind))


def rename(handle: int, parent: int, name: str, *, replace: bool) -> None:
    """Give an entry that was opened for deleting another name. With ``replace`` in place of the file that has it, even
    while that is open; that needs NTFS or ReFS."""
    text = name.encode("utf-16-le", "surrogatepass")
    flags = 3 if replace else 0  # replace, and with the semantics of POSIX
    try:
        _set(handle, 65, struct.pack("<IxxxxQI", flags, parent, len(text)) + text)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP or replace:
            raise
        _set(handle, 10, struct.pack("<IxxxxQI", 0, parent, len(text)) + text)


def delete(handle: int) -> None:
    """Delete an entry that was opened for it. Its name is free at once, on a file system that can do that."""
    try:
        _set(handle, 64, struct.pack("<I", 3))  # delete, with the semantics of POSIX
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        _set(handle, 13, b"\1")


def set_attributes(handle: int, attributes: int) -> None:
    _set(handle, 4, struct.pack("<qqqqIxxxx", 0, 0, 0, 0, attributes or _ATTRIBUTE_NORMAL))


def copy_access(source: int, destination: int) -> None:
    """The access list of one open file for another."""
    buffer, needed = ctypes.create_string_buffer(65_536), ctypes.c_uint32()
    _check(_ntdll.NtQuerySecurityObject(source, _DACL, buffer, len(buffer), ctypes.byref(needed)))
    _check(_ntdll.NtSetSecurityObject(destination, _DACL, buffer))

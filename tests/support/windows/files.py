"""Opening, moving and looking at files by their handles. A handle is a descriptor; a link is opened by ``O_PATH``.

Every file is locked with ``flock``, which goes with its descriptor, too: for one alone, or with others. Files that
Python opens by itself are not. A file that is to disappear with its handle disappears when that is closed, but stays
when the process is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import stat
from typing import Any

from support.windows import function, pipes, set_last_error, share_for_deletion
from support.windows.rights import mode_of

INVALID_HANDLE = (1 << 64) - 1
FIRST_OBJECT = 0x10000
"""Handles from here on are no descriptors."""

_WRITE, _READ, _APPEND = 0x4000_0000, 0x8000_0000, 0x4
_DISPOSITIONS = {1: os.O_CREAT | os.O_EXCL, 2: os.O_CREAT | os.O_TRUNC, 3: 0, 4: os.O_CREAT, 5: os.O_TRUNC}
_BACKUP_SEMANTICS, _OPEN_REPARSE_POINT, _DELETE_ON_CLOSE = 0x0200_0000, 0x0020_0000, 0x0400_0000
_SHARE_DELETE = 4
_REPLACE_EXISTING = 1
_SHARING_VIOLATION = 32

_temporary: dict[int, str] = {}

CODES = {
    errno.ENOENT: 2,
    errno.ENOTDIR: 3,
    errno.EACCES: 5,
    errno.EPERM: 5,
    errno.EISDIR: 5,
    errno.EEXIST: 80,
    errno.EXDEV: 17,
    errno.ENOSPC: 112,
    errno.EINVAL: 87,
    errno.ENAMETOOLONG: 206,
}
_STATUSES = {2: 0xC0000034, 3: 0xC000003A, 5: 0xC0000022, 80: 0xC0000035, 267: 0xC0000103}


def failed(error: OSError, value: Any = 0) -> Any:
    set_last_error(CODES.get(error.errno or 0, 87))
    return value


def _opened(path: str, flags: int, mode: int, folder: int | None = None) -> int:
    """A descriptor of the path, of the link itself if it is one and ``flags`` have ``O_NOFOLLOW``."""
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, mode, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP or not flags & os.O_NOFOLLOW:
            raise
        return os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)


@function("kernel32", "CreateFileW")
def create_file(path: str, access: int, share: int, security: Any, disposition: int, flags: int, _: Any) -> int:
    if path.startswith(pipes.PREFIX):
        return pipes.open_client(path)
    writes = access & (_WRITE | _APPEND) or share == 0
    how = os.O_RDWR if writes and (access & _READ or share == 0) else os.O_WRONLY if writes else os.O_RDONLY
    how |= _DISPOSITIONS[disposition]
    how |= os.O_APPEND if access & _APPEND and not access & _WRITE else 0
    how |= os.O_NOFOLLOW if flags & _OPEN_REPARSE_POINT else 0
    try:
        if os.path.isdir(path) and not flags & _BACKUP_SEMANTICS:
            raise IsADirectoryError(errno.EISDIR, "")
        is_new = not os.path.lexists(path)
        handle = _opened(path, how, 0o666)
        if security is not None and is_new:
            os.fchmod(handle, mode_of(security._obj.descriptor))  # the umask takes nothing from it
    except OSError as error:
        return failed(error, INVALID_HANDLE)
    if not (_is_shared(handle) if share else _is_alone(handle, path)):
        os.close(handle)
        set_last_error(_SHARING_VIOLATION)
        return INVALID_HANDLE
    if share & _SHARE_DELETE:
        share_for_deletion(handle)
    if flags & _DELETE_ON_CLOSE:
        _temporary[handle] = path
    return handle


def _is_shared(handle: int) -> bool:
    """Whether no other has it for itself. A link that is opened itself cannot be locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno != errno.EWOULDBLOCK
    return True


def _is_alone(handle: int, path: str) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), os.lstat(path))  # not deleted meanwhile
    except OSError:
        return False


@function("kernel32", "CloseHandle")
def close_handle(handle: int) -> bool:
    if handle < FIRST_OBJECT:
        if path := _temporary.pop(handle, None):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        os.close(handle)
    return True


def nt_create_file(handle: Any, access: int, attributes: Any, *_: Any) -> int:
    """``NtCreateFile`` for the core, called by the one of :mod:`support.windows.handles`, which serves the toolbox."""
    text = attributes._obj.name.contents
    name = ctypes.string_at(text.buffer, text.length).decode("utf-16-le", "surrogatepass")
    try:
        handle._obj.value = _opened(name, os.O_RDONLY | os.O_NOFOLLOW, 0, attributes._obj.root)
    except OSError as error:
        # As for the path of a folder: what is below a file is not found.
        return _STATUSES.get(CODES.get(error.errno or 0, 87), 0xC000000D) - (1 << 32)
    return 0


@function("ntdll", "RtlNtStatusToDosError")
def nt_status_to_dos_error(status: int) -> int:
    return next((code for code, one in _STATUSES.items() if one == status & 0xFFFF_FFFF), 87)


@function("kernel32", "GetFileInformationByHandleEx")
def file_information(handle: int, kind: int, found: Any, size: int) -> bool:
    assert kind == 9, "only FileAttributeTagInfo has a stand-in"
    mode = os.fstat(handle).st_mode
    found._obj.attributes = 0x400 if stat.S_ISLNK(mode) else 0x10 if stat.S_ISDIR(mode) else 0x80
    found._obj.tag = 0xA000_000C if stat.S_ISLNK(mode) else 0
    return True


@function("kernel32", "GetFinalPathNameByHandleW")
def final_path(handle: int, buffer: Any, size: int, flags: int) -> int:
    try:
        buffer.value = "\\\\?\\" + os.readlink(f"/proc/self/fd/{handle}")
    except OSError as error:
        return failed(error)
    return len(buffer.value)


@function("kernel32", "CreateDirectoryW")
def create_directory(path: str, security: Any) -> bool:
    try:
        os.mkdir(path, 0o777 if security is None else mode_of(security._obj.descriptor, is_folder=True))
    except FileExistsError:
        set_last_error(183)
        return False
    except OSError as error:
        return failed(error, value=False)
    return True


@function("kernel32", "MoveFileExW")
def move_file(source: str, target: str, flags: int) -> bool:
    try:
        if flags & _REPLACE_EXISTING:
            os.replace(source, target)
        else:
            os.link(source, target)
            os.unlink(source)
    except FileExistsError:
        set_last_error(183)
        return False
    except OSError as error:
        return failed(error, value=False)
    return True

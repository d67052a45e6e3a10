"""Handles of files, folders and named pipes on Windows, and their security: thin calls of the system.

Each raises ``OSError`` with the system's error. A file is created with the rights of a descriptor in SDDL, so that it
is at no moment open to others; so is a pipe.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Generator
from contextlib import contextmanager
from ctypes import wintypes
from typing import Any, ClassVar, Final, TypeAlias

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

import msvcrt  # noqa: E402 - the type checkers stop above

__all__ = [
    "ACCESS_DENIED",
    "APPEND",
    "CREATE_NEW",
    "DELETE",
    "EXCLUSIVE",
    "FIRST_INSTANCE",
    "OPEN_ALWAYS",
    "OPEN_EXISTING",
    "PIPE_BUSY",
    "READ",
    "SHARED",
    "SHARING_VIOLATION",
    "TEMPORARY",
    "WRITE",
    "Handle",
    "client_of",
    "close",
    "create_folder",
    "create_pipe",
    "descriptor_of",
    "has_other_content",
    "is_link",
    "move",
    "open_content",
    "open_entry",
    "open_file",
    "open_folder",
    "open_pipe",
    "restrict",
    "rights_of",
    "rights_of_path",
    "server_of",
    "user_name",
    "user_of",
]

Handle: TypeAlias = int

READ: Final = 0x8000_0000
WRITE: Final = 0x4000_0000
APPEND: Final = 0x0000_0004
DELETE: Final = 0x0001_0000
_SYNCHRONIZE: Final = 0x0010_0000
_LIST: Final = 0x0000_0001
_TRAVERSE: Final = 0x0000_0020

SHARED: Final = 0x7
"""Others may read, write and delete the open file."""
EXCLUSIVE: Final = 0

CREATE_NEW: Final = 1
OPEN_EXISTING: Final = 3
OPEN_ALWAYS: Final = 4
"""Opens the file; creates it if it does not exist."""

_OPEN: Final = 1
_SYNCHRONOUS: Final = 0x20
_CASE_INSENSITIVE: Final = 0x40
_NO_LINKS: Final = 0x1000
_BACKUP_SEMANTICS: Final = 0x0200_0000
_OPEN_REPARSE_POINT: Final = 0x0020_0000
TEMPORARY: Final = 0x0400_0000 | 0x0000_0100 | 0x0000_0002
"""Deleted with its last handle, even when the process is killed; hidden."""

FIRST_INSTANCE: Final = 0x0008_0000
"""Creates a pipe only if there is none of its name."""
_DUPLEX: Final = 0x3
_OVERLAPPED: Final = 0x4000_0000
_REJECT_REMOTE_CLIENTS: Final = 0x8
_UNLIMITED_INSTANCES: Final = 255
_PIPE_BUFFER: Final = 64 * 1024
_IDENTIFICATION: Final = 0x0010_0000 | 0x0001_0000
"""SECURITY_SQOS_PRESENT and SECURITY_IDENTIFICATION: the server learns who the client is, and cannot act as it."""

ACCESS_DENIED: Final = 5
SHARING_VIOLATION: Final = 32
PIPE_BUSY: Final = 231

_INVALID: Final = ctypes.c_void_p(-1).value
_ATTRIBUTE_TAG_INFO: Final = 9
_REPARSE_POINT: Final = 0x400
_NAME_SURROGATE: Final = 0x2000_0000
_MOVE_WRITE_THROUGH: Final = 8
_OWNER, _DACL, _PROTECTED_DACL = 0x1, 0x4, 0x8000_0000
_SE_FILE_OBJECT: Final = 1
_QUERY_LIMITED_INFORMATION: Final = 0x1000
_TOKEN_QUERY: Final = 8
_TOKEN_USER: Final = 1

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
_ntdll = ctypes.WinDLL("ntdll")


class SecurityAttributes(ctypes.Structure):
    _fields_: ClassVar = [
        ("length", wintypes.DWORD),
        ("descriptor", wintypes.LPVOID),
        ("inherits", wintypes.BOOL),
    ]


class UnicodeString(ctypes.Structure):
    _fields_: ClassVar = [
        ("length", wintypes.USHORT),
        ("maximum", wintypes.USHORT),
        ("buffer", wintypes.LPVOID),
    ]


class ObjectAttributes(ctypes.Structure):
    _fields_: ClassVar = [
        ("length", wintypes.ULONG),
        ("root", wintypes.HANDLE),
        ("name", ctypes.POINTER(UnicodeString)),
        ("attributes", wintypes.ULONG),
        ("security", wintypes.LPVOID),
        ("quality", wintypes.LPVOID),
    ]


class IoStatus(ctypes.Structure):
    _fields_: ClassVar = [("status", wintypes.LPVOID), ("information", ctypes.c_size_t)]


class AttributeTag(ctypes.Structure):
    _fields_: ClassVar = [("attributes", wintypes.DWORD), ("tag", wintypes.DWORD)]


def _function(library: Any, name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments
    return function


_BOOL, _DWORD, _HANDLE, _POINTER, _TEXT = (
    wintypes.BOOL,
    wintypes.DWORD,
    wintypes.HANDLE,
    wintypes.LPVOID,
    wintypes.LPCWSTR,
)
_create_file = _function(_kernel32, "CreateFileW", _HANDLE, _TEXT, _DWORD, _DWORD, _POINTER, _DWORD, _DWORD, _HANDLE)
_create_directory = _function(_kernel32, "CreateDirectoryW", _BOOL, _TEXT, _POINTER)
_close_handle = _function(_kernel32, "CloseHandle", _BOOL, _HANDLE)
_move_file = _function(_kernel32, "MoveFileExW", _BOOL, _TEXT, _TEXT, _DWORD)
_information = _function(_kernel32, "GetFileInformationByHandleEx", _BOOL, _HANDLE, ctypes.c_int, _POINTER, _DWORD)
_create_named_pipe = _function(_kernel32, "CreateNamedPipeW", _HANDLE, _TEXT, *(_DWORD,) * 6, _POINTER)
_pipe_client = _function(_kernel32, "GetNamedPipeClientProcessId", _BOOL, _HANDLE, _POINTER)
_pipe_server = _function(_kernel32, "GetNamedPipeServerProcessId", _BOOL, _HANDLE, _POINTER)
_open_process = _function(_kernel32, "OpenProcess", _HANDLE, _DWORD, _BOOL, _DWORD)
_current_process = _function(_kernel32, "GetCurrentProcess", _HANDLE)
_local_free = _function(_kernel32, "LocalFree", _POINTER, _POINTER)
_nt_create_file = _function(
    _ntdll,
    "NtCreateFile",
    ctypes.c_int32,
    _POINTER,
    _DWORD,
    _POINTER,
    _POINTER,
    _POINTER,
    _DWORD,
    _DWORD,
    _DWORD,
    _DWORD,
    _POINTER,
    _DWORD,
)
_dos_error = _function(_ntdll, "RtlNtStatusToDosError", wintypes.ULONG, ctypes.c_int32)
_descriptor_from_text = _function(
    _advapi32, "ConvertStringSecurityDescriptorToSecurityDescriptorW", _BOOL, _TEXT, _DWORD, _POINTER, _POINTER
)
_text_from_descriptor = _function(
    _advapi32,
    "ConvertSecurityDescriptorToStringSecurityDescriptorW",
    _BOOL,
    _POINTER,
    _DWORD,
    _DWORD,
    _POINTER,
    _POINTER,
)
_security_of_handle = _function(_advapi32, "GetSecurityInfo", _DWORD, _HANDLE, ctypes.c_int, _DWORD, *(_POINTER,) * 5)
_security_of_path = _function(_advapi32, "GetNamedSecurityInfoW", _DWORD, _TEXT, ctypes.c_int, _DWORD, *(_POINTER,) * 5)
_set_file_security = _function(_advapi32, "SetFileSecurityW", _BOOL, _TEXT, _DWORD, _POINTER)
_open_process_token = _function(_advapi32, "OpenProcessToken", _BOOL, _HANDLE, _DWORD, _POINTER)
_token_information = _function(
    _advapi32, "GetTokenInformation", _BOOL, _HANDLE, ctypes.c_int, _POINTER, _DWORD, _POINTER
)
_sid_to_text = _function(_advapi32, "ConvertSidToStringSidW", _BOOL, _POINTER, _POINTER)


def open_file(
    path: str, access: int, share: int, disposition: int, flags: int = 0, rights: str | None = None
) -> Handle:
    """Open or create a file. A new one has ``rights``, by default those that the folder passes on. A link at the end
    of the path is opened itself."""
    with _security(rights) as security:
        handle = _create_file(path, access, share, security, disposition, flags | _OPEN_REPARSE_POINT, None)
    return _checked(handle, path)


def open_folder(path: str) -> Handle:
    """Open a folder, to open entries below it. Links are followed."""
    access = _LIST | _TRAVERSE | _SYNCHRONIZE
    return _checked(_create_file(path, access, SHARED, None, OPEN_EXISTING, _BACKUP_SEMANTICS, None), path)


def open_entry(folder: Handle, name: str) -> Handle:
    """Open the entry of this name for reading, a file or a folder. A link, and a file whose content another driver
    supplies, is opened itself."""
    return _open_entry(folder, name, _CASE_INSENSITIVE, _SYNCHRONOUS | _OPEN_REPARSE_POINT)


def open_content(folder: Handle, name: str) -> Handle:
    """Open the entry of this name as the driver shows it that supplies its content, such as one of a cloud. ``OSError``
    for a link."""
    return _open_entry(folder, name, _CASE_INSENSITIVE | _NO_LINKS, _SYNCHRONOUS)


def _open_entry(folder: Handle, name: str, how: int, options: int) -> Handle:
    data = name.encode("utf-16-le", "surrogatepass")
    buffer = ctypes.create_string_buffer(data, len(data) + 2)
    text = UnicodeString(len(data), len(data), ctypes.addressof(buffer))
    attributes = ObjectAttributes(ctypes.sizeof(ObjectAttributes), folder, ctypes.pointer(text), how, None, None)
    handle = wintypes.HANDLE()
    status: int = _nt_create_file(
        ctypes.byref(handle),
        READ | _TRAVERSE | _SYNCHRONIZE,
        ctypes.byref(attributes),
        ctypes.byref(IoStatus()),
        None,
        0,
        SHARED,
        _OPEN,
        options,
        None,
        0,
    )
    if status < 0 or handle.value is None:
        raise ctypes.WinError(_dos_error(status))
    return handle.value


def close(handle: Handle) -> None:
    _close_handle(handle)


def descriptor_of(handle: Handle, flags: int) -> int:
    """A descriptor that owns the handle. After an error the handle is closed."""
    try:
        return msvcrt.open_osfhandle(handle, flags)
    except BaseException:
        close(handle)
        raise


def is_link(handle: Handle) -> bool:
    """Whether this is a reparse point that stands for another name: a symbolic link, a junction, a mount point."""
    return bool(_reparse_tag(handle) & _NAME_SURROGATE)


def has_other_content(handle: Handle) -> bool:
    """Whether this is a reparse point: a link, or a file whose content another driver supplies."""
    return _reparse_tag(handle) != 0


def _reparse_tag(handle: Handle) -> int:
    found = AttributeTag()
    if not _information(handle, _ATTRIBUTE_TAG_INFO, ctypes.byref(found), ctypes.sizeof(found)):
        raise _error()
    return found.tag if found.attributes & _REPARSE_POINT else 0


def create_folder(path: str, rights: str) -> None:
    with _security(rights) as security:
        if not _create_directory(path, security):
            raise _error(path)


def move(source: str, target: str) -> None:
    """Rename a file on the same disk, durably. ``FileExistsError`` if there is one of the new name."""
    if not _move_file(source, target, _MOVE_WRITE_THROUGH):
        raise _error(target)


def create_pipe(name: str, rights: str, flags: int = 0) -> Handle:
    """Create an instance of a named pipe, for one client of this machine, and for overlapped input and output.

    The ``rights`` are those of the first instance, for as long as there is one."""
    mode = _DUPLEX | _OVERLAPPED | flags
    with _security(rights) as security:
        handle = _create_named_pipe(
            name, mode, _REJECT_REMOTE_CLIENTS, _UNLIMITED_INSTANCES, _PIPE_BUFFER, _PIPE_BUFFER, 0, security
        )
    return _checked(handle, name)


def open_pipe(name: str) -> Handle:
    """Connect to a free instance of a named pipe, for overlapped input and output. An error of the code ``PIPE_BUSY``
    where none is free."""
    flags = _OVERLAPPED | _IDENTIFICATION
    return _checked(_create_file(name, READ | WRITE, EXCLUSIVE, None, OPEN_EXISTING, flags, None), name)


def client_of(pipe: Handle) -> int:
    """The process that has connected to this instance of a pipe."""
    return _process_of(pipe, _pipe_client)


def server_of(pipe: Handle) -> int:
    """The process that has created the instance of a pipe to which this end is connected."""
    return _process_of(pipe, _pipe_server)


def _process_of(pipe: Handle, side: Any) -> int:
    process = wintypes.ULONG()
    if not side(pipe, ctypes.byref(process)):
        raise _error()
    return process.value


def rights_of(descriptor: int) -> str:
    """The owner and the access control list of an open file, in SDDL."""
    security = ctypes.c_void_p()
    handle = msvcrt.get_osfhandle(descriptor)
    code: int = _security_of_handle(
        handle, _SE_FILE_OBJECT, _OWNER | _DACL, None, None, None, None, ctypes.byref(security)
    )
    return _text_of(code, security)


def rights_of_path(path: str) -> str:
    """As :func:`rights_of`, of a file or folder by its path."""
    security = ctypes.c_void_p()
    code: int = _security_of_path(path, _SE_FILE_OBJECT, _OWNER | _DACL, None, None, None, None, ctypes.byref(security))
    return _text_of(code, security)


def restrict(path: str, rights: str) -> None:
    """Put ``rights`` in the place of those of a file or folder, with none that a folder above passes on."""
    with _descriptor(rights) as descriptor:
        if not _set_file_security(path, _DACL | _PROTECTED_DACL, descriptor):
            raise _error(path)


@functools.cache
def user_name() -> str:
    """The user of this process as SDDL names it: its SID, or the alias of a well-known one."""
    return _user_of(_current_process())


def user_of(process: int) -> str:
    """The user of a process, as :func:`user_name` has it. ``OSError`` also where this user may not ask."""
    handle = _open_process(_QUERY_LIMITED_INFORMATION, False, process)
    if not handle:
        raise _error()
    try:
        return _user_of(handle)
    finally:
        close(handle)


def _user_of(process: Handle) -> str:
    token = wintypes.HANDLE()
    if not _open_process_token(process, _TOKEN_QUERY, ctypes.byref(token)):
        raise _error()
    try:
        user = (ctypes.c_void_p * 32)()  # TOKEN_USER: a pointer to the SID, which stands behind it
        length = wintypes.DWORD()
        if not _token_information(token, _TOKEN_USER, user, ctypes.sizeof(user), ctypes.byref(length)):
            raise _error()
        text = wintypes.LPWSTR()
        if not _sid_to_text(user[0], ctypes.byref(text)):
            raise _error()
        sid = str(text.value)
        _local_free(ctypes.cast(text, ctypes.c_void_p))
    finally:
        close(token.value or 0)
    with _descriptor(f"O:{sid}") as descriptor:  # the system writes some SIDs as an alias: so it does in a list
        return _worded(descriptor, _OWNER).removeprefix("O:")


def _text_of(code: int, security: ctypes.c_void_p) -> str:
    if code:
        raise ctypes.WinError(code)
    try:
        return _worded(security, _OWNER | _DACL)
    finally:
        _local_free(security)


def _worded(descriptor: ctypes.c_void_p, parts: int) -> str:
    text = wintypes.LPWSTR()
    if not _text_from_descriptor(descriptor, 1, parts, ctypes.byref(text), None):
        raise _error()
    try:
        return str(text.value)
    finally:
        _local_free(ctypes.cast(text, ctypes.c_void_p))


@contextmanager
def _descriptor(rights: str) -> Generator[ctypes.c_void_p]:
    descriptor = ctypes.c_void_p()
    if not _descriptor_from_text(rights, 1, ctypes.byref(descriptor), None):
        raise _error()
    try:
        yield descriptor
    finally:
        _local_free(descriptor)


@contextmanager
def _security(rights: str | None) -> Generator[Any]:
    if rights is None:
        yield None
        return
    with _descriptor(rights) as descriptor:
        yield ctypes.byref(SecurityAttributes(ctypes.sizeof(SecurityAttributes), descriptor, False))


def _checked(handle: int | None, path: str) -> Handle:
    if handle is None or handle == _INVALID:
        raise _error(path)
    return handle


def _error(path: str | None = None) -> OSError:
    error = ctypes.WinError(ctypes.get_last_error())
    error.filename = path
    return error

"""Owners and access control lists, made of the owner and the mode of a file.

A mode that gives nothing to others is a list of the user, the system and the administrators. Any other mode is that
list with an entry for everyone, whose rights are the number of the mode. A folder with the sticky bit is one whose
entries are not passed on to what is created in it.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import stat
from typing import Any

from support.windows import function, new_handle, set_last_error
from support.windows.jobs import process_of

_ERROR_FILE_NOT_FOUND, _ERROR_INVALID_HANDLE = 2, 6
_KERNEL_OBJECT = 6
_ENTRIES = re.compile(r"\(A;([^;]*);([^;]*);;;([^)]*)\)")
"""Flags, rights and trustee."""

_texts: dict[int, str] = {}
"""What stands at an address: a descriptor in SDDL, or a SID."""
_tokens: dict[int, int] = {}
"""The process of a token, by its handle."""
pipes: dict[int, str] = {}
"""The descriptor that an instance of a named pipe was created with, by its handle."""
_addresses = itertools.count(0x7000_0000, 0x100)


def _stored(text: str) -> int:
    address = next(_addresses)
    _texts[address] = text
    return address


def _address(pointer: Any) -> int:
    return pointer if isinstance(pointer, int) else pointer.value


def text_at(descriptor: Any) -> str:
    """A descriptor in SDDL."""
    return _texts[_address(descriptor)]


def user_of(process: int) -> int:
    return os.stat(f"/proc/{process}").st_uid


def sid_of(user: int) -> str:
    return f"S-1-5-21-1-2-3-{1000 + user}"


def mode_of(descriptor: int, *, is_folder: bool = False) -> int:
    """The mode of a file with this descriptor."""
    found = _ENTRIES.findall(_texts[descriptor])
    mode = next((int(rights, 16) for _, rights, trustee in found if trustee == "WD"), 0o700 if is_folder else 0o600)
    keeps_to_itself = is_folder and not all("OI" in flags and "CI" in flags for flags, _, _ in found)
    return mode | (stat.S_ISVTX if keeps_to_itself else 0)


def descriptor_of(status: os.stat_result) -> str:
    owner, mode = sid_of(status.st_uid), stat.S_IMODE(status.st_mode)
    flags = "OICI" if stat.S_ISDIR(status.st_mode) and not mode & stat.S_ISVTX else ""
    entries = "".join(f"(A;{flags};FA;;;{name})" for name in (owner, "SY", "BA"))
    others = f"(A;{flags};0x{mode & 0o777:x};;;WD)" if mode & 0o077 else ""
    return f"O:{owner}D:P{entries}{others}"


@function("advapi32", "ConvertStringSecurityDescriptorToSecurityDescriptorW")
def descriptor_from_text(text: str, revision: int, out: Any, _: Any) -> bool:
    out._obj.value = _stored(text)
    return True


@function("advapi32", "ConvertSecurityDescriptorToStringSecurityDescriptorW")
def text_from_descriptor(descriptor: Any, revision: int, parts: int, out: Any, _: Any) -> bool:
    owner, mark, entries = _texts[_address(descriptor)].partition("D:")
    out._obj.value = (owner if parts & 1 else "") + (mark + entries if parts & 4 else "")
    return True


@function("advapi32", "GetSecurityInfo")
def security_of_handle(handle: Any, kind: int, parts: int, *out: Any) -> int:
    number = _address(handle)
    out[-1]._obj.value = _stored(pipes[number] if kind == _KERNEL_OBJECT else descriptor_of(os.fstat(number)))
    return 0


@function("advapi32", "GetNamedSecurityInfoW")
def security_of_path(path: str, kind: int, parts: int, *out: Any) -> int:
    try:
        out[-1]._obj.value = _stored(descriptor_of(os.stat(path)))
    except OSError:
        return _ERROR_FILE_NOT_FOUND
    return 0


@function("advapi32", "SetFileSecurityW")
def set_file_security(path: str, parts: int, descriptor: Any) -> bool:
    os.chmod(path, mode_of(_address(descriptor), is_folder=os.path.isdir(path)))
    return True


@function("kernel32", "LocalFree")
def local_free(pointer: Any) -> None:
    _texts.pop(_address(pointer), None)


@function("kernel32", "GetCurrentProcess")
def current_process() -> int:
    return ctypes.c_void_p(-1).value or 0


@function("advapi32", "OpenProcessToken")
def open_process_token(process: int, access: int, out: Any) -> bool:
    number = process_of(process)
    if number is None:
        set_last_error(_ERROR_INVALID_HANDLE)
        return False
    out._obj.value = new_handle()
    _tokens[out._obj.value] = number
    return True


@function("advapi32", "GetTokenInformation")
def token_information(token: Any, kind: int, out: Any, size: int, length: Any) -> bool:
    out[0] = _stored(sid_of(user_of(_tokens.pop(_address(token)))))
    return True


@function("advapi32", "ConvertSidToStringSidW")
def sid_to_text(sid: int, out: Any) -> bool:
    out._obj.value = _texts.pop(sid)
    return True

"""The system calls of ``tooltrue_toolbox.platform.windows_calls``, over real folders of this machine, as NTFS has them.

Names are compared without regard to case, long names have a short one besides, a colon opens a stream, a link of this
machine is a reparse point, and a FIFO is one of unknown meaning. Names are taken as they are, as ``ntdll`` takes them:
``CON``, ``a.`` and ``a `` are ordinary names here. A test may ask for the real paths of all that was opened.
Whole paths are opened by :mod:`support.windows.files`, whose stand-in for ``NtCreateFile`` serves the core.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from support.windows import files, function

# The calls themselves: a harness may hide from everyone else what Windows lacks.
_open, _stat, _fstat, _readlink, _listdir = os.open, os.stat, os.fstat, os.readlink, os.listdir
_mkdir, _rename, _unlink, _rmdir, _close, _dup = os.mkdir, os.rename, os.unlink, os.rmdir, os.close, os.dup
_O_PATH, _O_NOFOLLOW, _O_DIRECTORY, _O_NONBLOCK = os.O_PATH, os.O_NOFOLLOW, os.O_DIRECTORY, os.O_NONBLOCK
_CLOEXEC = os.O_CLOEXEC

_EPOCH = 116_444_736_000_000_000
_DONT_REPARSE, _OPEN_REPARSE_POINT = 0x1000, 0x200000
_DIRECTORY_FILE, _NON_DIRECTORY_FILE, _DELETE_ON_CLOSE = 0x1, 0x40, 0x1000
_CREATE = 2
_READ_DATA, _WRITE_DATA = 1, 2
_GENERIC = 0xF000_0000

_CURRENT_PROCESS = ctypes.c_void_p(-1).value
"""The handle that every process has of itself (``GetCurrentProcess``)."""

INVALID_HANDLE, NAME_INVALID, NAME_NOT_FOUND, NAME_COLLISION = 0xC0000008, 0xC0000033, 0xC0000034, 0xC0000035
OBJECT_TYPE_MISMATCH = 0xC0000024
ACCESS_DENIED, NOT_A_DIRECTORY, IS_A_DIRECTORY, CANNOT_DELETE = 0xC0000022, 0xC0000103, 0xC00000BA, 0xC0000121
REPARSE_MET, NOT_SUPPORTED, NO_MORE_FILES, NOT_A_REPARSE_POINT = 0xC000050B, 0xC00000BB, 0x80000006, 0xC0000275
_STATUSES = {
    errno.ENOENT: NAME_NOT_FOUND,
    errno.EEXIST: NAME_COLLISION,
    errno.EACCES: ACCESS_DENIED,
    errno.EPERM: ACCESS_DENIED,
    errno.EINVAL: ACCESS_DENIED,  # so NTFS answers to a directory that is moved into itself
    errno.ENOTDIR: NOT_A_DIRECTORY,
    errno.EISDIR: IS_A_DIRECTORY,
    errno.ENOTEMPTY: 0xC0000101,
    errno.ENOSPC: 0xC000007F,
    errno.ENAMETOOLONG: NAME_INVALID,
    errno.ELOOP: REPARSE_MET,
    errno.EROFS: 0xC00000A2,
    errno.EXDEV: 0xC00000D4,
}


class Refusal(Exception):
    """The status of a call that fails."""

    def __init__(self, status: int) -> None:
        self.status = status


def upcase(name: str) -> str:
    return "".join(up if len(up := char.upper()) == 1 and char not in "\u0131\u017f" else char for char in name)


def short_names(names: list[str]) -> dict[str, str]:
    """The short names that NTFS gives, by upper case; names that are short already have none besides."""
    found: dict[str, str] = {}
    for name in sorted(names):
        stem, dot, ending = name.rpartition(".") if "." in name.lstrip(".") else (name, "", "")
        base = _legal(stem.replace(".", "").replace(" ", ""))
        extension = _legal(ending.replace(" ", ""))[:3]
        if f"{base}{dot and '.'}{extension}" == upcase(name) and len(base) <= 8 and len(ending) <= 3:
            continue
        for number in range(1, 1000):
            short = f"{base[: 7 - len(str(number))]}~{number}" + (f".{extension}" if extension else "")
            if short not in found and short not in map(upcase, names):
                found[short] = name
                break
    return found


def _legal(text: str) -> str:
    return "".join(char if char.isascii() and char not in "+,;=[]:" else "_" for char in upcase(text))


@dataclass
class _Opened:
    fd: int
    is_deleted_at_close: bool = False
    listing: Iterator[tuple[str, int, int]] | None = None


@dataclass
class FakeFiles:
    """The open handles, and what a test wants to see of them."""

    handles: dict[int, _Opened] = field(default_factory=dict)
    streams: dict[str, bytes] = field(default_factory=dict)
    """By real path and name, joined by a colon."""
    attributes: dict[tuple[int, int], int] = field(default_factory=dict)
    access: dict[tuple[int, int], bytes] = field(default_factory=dict)
    normalizes: bool = True
    has_wide_numbers: bool = True
    opened: list[str] = field(default_factory=list)
    """The real paths of all entries opened by a name, links themselves."""
    before: Callable[[str], object] = lambda _: None
    """Called with each name before it is looked up, to change the folders in between."""
    after: Callable[[str], object] = lambda _: None
    """Called with each name after its entry was opened, and before anything is asked of the handle."""

    def _add(self, fd: int) -> int:
        self.handles[fd] = _Opened(fd)
        return fd

    def at(self, handle: int | None) -> _Opened:
        """What is open at a handle, which is a descriptor; Python may have opened it."""
        if handle == _CURRENT_PROCESS:
            raise Refusal(OBJECT_TYPE_MISMATCH)
        try:
            _fstat(-1 if handle is None else handle)
        except OSError:
            raise Refusal(INVALID_HANDLE) from None
        assert handle is not None
        return self.handles.setdefault(handle, _Opened(handle))

    # Names

    def _real_name(self, parent: int, name: str) -> str | None:
        """The name of an entry of the folder that NTFS takes ``name`` for."""
        names = _listdir(f"/proc/self/fd/{parent}")
        if name in names:
            return name
        same = [each for each in names if upcase(each) == upcase(name)]
        return same[0] if same else short_names(names).get(upcase(name))

    def _component(self, name: str) -> tuple[str, str]:
        """The name of the entry, and of its stream; an empty one for its content."""
        name, *stream = name.split(":")
        if not name or name in (".", "..") or set(name) & set('<>"|?*/') or any(ord(char) < 32 for char in name):
            raise Refusal(NAME_INVALID)
        if len(name.encode("utf-16-le", "surrogatepass")) > 510 or len(stream) > 2:
            raise Refusal(NAME_INVALID)
        return name, stream[0] if stream and upcase(stream[0]) not in ("", "$I30") else ""

    def _path(self, fd: int) -> str:
        return _readlink(f"/proc/self/fd/{fd}")

    def _step(self, parent: int, name: str, *, itself: bool, dont_reparse: bool) -> int:
        """The entry ``name`` in ``parent``, to look at."""
        self.before(name)
        real = self._real_name(parent, name)
        if real is None:
            raise Refusal(NAME_NOT_FOUND)
        fd = _open(real, _O_PATH | _O_NOFOLLOW | _CLOEXEC, dir_fd=parent)
        if stat.S_ISLNK(_fstat(fd).st_mode) and not itself:
            _close(fd)
            if dont_reparse:
                raise Refusal(REPARSE_MET)
            fd = _open(real, _O_PATH | _CLOEXEC, dir_fd=parent)
        self.opened.append(self._path(fd))
        self.after(name)
        return fd

    # Calls

    def create(self, parent: int, name: str, access: int, dispositions: tuple[int, int], flags: int, safe: bool) -> int:
        disposition, options = dispositions
        dont_reparse, itself = bool(flags & _DONT_REPARSE), bool(options & _OPEN_REPARSE_POINT)
        here = _dup(self.at(parent).fd)
        try:
            *above, last = name.split("\\")
            for each in above:
                there = self._step(here, self._component(each)[0], itself=False, dont_reparse=dont_reparse)
                _close(here)
                here = there
            if not last:
                return self._finish(_dup(here), access, options)
            last, stream = self._component(last)
            if stream:
                return self._stream(here, last, stream)
            if disposition == _CREATE:
                return self._finish(self._new(here, last, options, safe), access, options)
            return self._finish(self._step(here, last, itself=itself, dont_reparse=dont_reparse), access, options)
        finally:
            _close(here)

    def _stream(self, parent: int, name: str, stream: str) -> int:
        real = self._real_name(parent, name)
        key = f"{self._path(parent)}/{real}:{stream}"
        self.opened.append(key)
        if real is None or key not in self.streams:
            raise Refusal(NAME_NOT_FOUND)
        fd = os.memfd_create("stream")
        os.write(fd, self.streams[key])
        return self._add(fd)

    def _new(self, parent: int, name: str, options: int, safe: bool) -> int:
        self.before(name)
        if self._real_name(parent, name) is not None:
            raise Refusal(NAME_COLLISION)
        if options & _DIRECTORY_FILE:
            _mkdir(name, dir_fd=parent)
        else:
            _close(_open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if safe else 0o666, dir_fd=parent))
        fd = _open(name, _O_PATH | _O_NOFOLLOW | _CLOEXEC, dir_fd=parent)
        self.opened.append(self._path(fd))
        if safe:
            self.access[_identity(fd)] = b"owner alone"
        return fd

    def _finish(self, fd: int, access: int, options: int) -> int:
        try:
            attributes, tag = self._attributes(fd)
            if options & _DIRECTORY_FILE and not attributes & 0x10:
                raise Refusal(NOT_A_DIRECTORY)
            if options & _NON_DIRECTORY_FILE and attributes & 0x10:
                raise Refusal(IS_A_DIRECTORY)
            if access & (_READ_DATA | _WRITE_DATA) and not tag:
                if attributes & 1 and access & _WRITE_DATA and not attributes & 0x10:
                    raise Refusal(ACCESS_DENIED)
                is_both = access & _READ_DATA and access & _WRITE_DATA
                mode = os.O_RDWR if is_both else os.O_WRONLY if access & _WRITE_DATA else os.O_RDONLY
                if attributes & 0x10:
                    mode = os.O_RDONLY | _O_DIRECTORY
                data = _open(f"/proc/self/fd/{fd}", mode | _O_NONBLOCK | _CLOEXEC)
                _close(fd)
                fd = data
        except BaseException:
            _close(fd)
            raise
        handle = self._add(fd)
        self.handles[handle].is_deleted_at_close = bool(options & _DELETE_ON_CLOSE)
        return handle

    def _attributes(self, fd: int) -> tuple[int, int]:
        status = _fstat(fd)
        kept = self.attributes.get(_identity(fd), 0)
        if stat.S_ISLNK(status.st_mode):
            return 0x400 | (0x10 if self._leads_to_directory(fd) else 0x20), self._link(fd)[0]
        if stat.S_ISDIR(status.st_mode):
            return 0x10 | kept, 0
        if not stat.S_ISREG(status.st_mode):
            return 0x400 | 0x20, 0x80000023
        return (0x20 if status.st_mode & 0o200 else 0x21) | kept, 0

    def _leads_to_directory(self, fd: int) -> bool:
        try:
            return stat.S_ISDIR(_stat(self._path(fd)).st_mode)
        except OSError:
            return False

    def _link(self, fd: int) -> tuple[int, str]:
        target = _readlink("", dir_fd=fd)
        if not target.startswith("/"):
            return 0xA000000C, target
        return 0xA0000003 if self._leads_to_directory(fd) else 0xA000000C, target

    def query(self, handle: int, kind: int) -> bytes:
        fd = self.at(handle).fd
        status = _fstat(fd)
        attributes, tag = self._attributes(fd)
        if kind == 18:
            times = [time // 100 + _EPOCH for time in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
            is_directory = bool(attributes & 0x10)
            size = 0 if is_directory else status.st_size
            links = 1 if is_directory else status.st_nlink
            facts = (_EPOCH, *times, attributes, size, size, links, 0, is_directory, status.st_ino)
            return struct.pack("<qqqqIxxxxqqIBBxxq", *facts)
        if kind == 35:
            return struct.pack("<II", attributes, tag)
        if kind == 48 and self.normalizes:
            # Where NTFS keeps a file that was removed or replaced while it was open.
            path = self._path(fd) if status.st_nlink else f"/$Extend/$Deleted/{status.st_ino:024X}"
            text = path.replace("/", "\\").encode("utf-16-le", "surrogatepass")
            return struct.pack("<I", len(text)) + text
        if kind == 59 and self.has_wide_numbers:
            return struct.pack("<QQQ", status.st_dev, status.st_ino, 0)
        raise Refusal(NOT_SUPPORTED)

    def list(self, handle: int, restart: bool) -> bytes:
        opened = self.at(handle)
        if restart or opened.listing is None:
            opened.listing = iter([(".", 0x10, 0), ("..", 0x10, 0), *self._listed(opened.fd)])
        data, last = b"", 0
        for name, attributes, tag in opened.listing:
            text = name.encode("utf-16-le", "surrogatepass")
            data += b"\0" * (-len(data) % 8)
            if last < len(data):
                data = data[:last] + struct.pack("<I", len(data) - last) + data[last + 4 :]
            last = len(data)
            data += struct.pack("<IIqqqqqqIII", 0, 0, 0, 0, 0, 0, 0, 0, attributes, len(text), tag) + text
            if len(data) > 4096:  # in several parts, for a folder of some size
                break
        if not data:
            raise Refusal(NO_MORE_FILES)
        return data

    def _listed(self, fd: int) -> list[tuple[str, int, int]]:
        entries: list[tuple[str, int, int]] = []
        for name in _listdir(f"/proc/self/fd/{fd}"):
            there = _open(name, _O_PATH | _O_NOFOLLOW | _CLOEXEC, dir_fd=fd)
            entries.append((name, *self._attributes(there)))
            _close(there)
        return entries

    def reparse(self, handle: int) -> bytes:
        fd = self.at(handle).fd
        if not stat.S_ISLNK(_fstat(fd).st_mode):
            raise Refusal(NOT_A_REPARSE_POINT)
        tag, target = self._link(fd)
        is_relative = not target.startswith("/")
        text = (target if is_relative else f"\\??\\C:{target}").replace("/", "\\").encode("utf-16-le", "surrogatepass")
        if tag == 0xA0000003:
            return struct.pack("<IHHHHHH", tag, 8 + len(text), 0, 0, len(text), len(text), 0) + text
        return struct.pack("<IHHHHHHI", tag, 12 + len(text), 0, 0, len(text), len(text), 0, is_relative) + text

    def set(self, handle: int, kind: int, data: bytes) -> None:
        fd = self.at(handle).fd
        if kind == 4:
            self.attributes[_identity(fd)] = struct.unpack_from("<I", data, 32)[0] & ~0x80
        elif kind in (13, 64):
            self._delete(fd)
        elif kind in (10, 65):
            flags, root, length = struct.unpack_from("<IxxxxQI", data)
            name = data[20 : 20 + length].decode("utf-16-le", "surrogatepass")
            self._rename(fd, self.at(root).fd, name, replaces=bool(flags & 1), is_posix=kind == 65)
        else:
            raise Refusal(NOT_SUPPORTED)

    def _delete(self, fd: int) -> None:
        status, path = _fstat(fd), self._path(fd)
        if stat.S_ISDIR(status.st_mode):
            _rmdir(path)
        elif stat.S_ISREG(status.st_mode) and not status.st_mode & 0o200:
            raise Refusal(CANNOT_DELETE)
        else:
            _unlink(path)

    def _rename(self, fd: int, parent: int, name: str, *, replaces: bool, is_posix: bool) -> None:
        source = self._path(fd)
        if "\\" in name or self._component(name)[1]:
            raise Refusal(NAME_INVALID)
        living = list(self._living())
        if any(path.startswith(f"{source}/") for path, _ in living):
            raise Refusal(ACCESS_DENIED)
        self.before(name)
        real = self._real_name(parent, name)
        if real is not None and f"{self._path(parent)}/{real}" != source:
            if not replaces:
                raise Refusal(NAME_COLLISION)
            there = _stat(real, dir_fd=parent, follow_symlinks=False)
            is_open = any(identity == (there.st_dev, there.st_ino) for _, identity in living)
            if stat.S_ISDIR(there.st_mode) or (is_open and not is_posix):
                raise Refusal(ACCESS_DENIED)
            _rename(source, real, dst_dir_fd=parent)
            source = f"{self._path(parent)}/{real}"
        _rename(source, name, dst_dir_fd=parent)

    def _living(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """The paths and the identities of all that is open. Other threads open and close more meanwhile."""
        for each in [*self.handles.values()]:
            with suppress(OSError):  # Python, or another thread, has closed it
                yield self._path(each.fd), _identity(each.fd)

    def close(self, handle: int) -> None:
        opened = self.at(handle)
        del self.handles[handle]
        if opened.is_deleted_at_close:
            self._delete(opened.fd)
        _close(opened.fd)


def _identity(fd: int) -> tuple[int, int]:
    status = _fstat(fd)
    return status.st_dev, status.st_ino


FILES = FakeFiles()


def _status_of(call: Callable[..., int]) -> Callable[..., int]:
    """The call, with a refusal or an error of this machine as the status that it returns."""

    @wraps(call)
    def answered(*arguments: Any) -> int:
        try:
            return call(*arguments)
        except Refusal as refusal:
            return refusal.status
        except OSError as error:
            return _STATUSES.get(error.errno or 0, 0xC00000E9)

    return answered


def _value(pointer: Any) -> Any:
    return pointer._obj


def _fill(buffer: Any, data: bytes, size: int) -> int:
    ctypes.memmove(buffer, data, min(len(data), size))
    return 0 if len(data) <= size else 0x80000005


@function("ntdll", "NtCreateFile")
@_status_of
def nt_create_file(*arguments: Any) -> int:
    handle, access, attributes, _, _, _, _, disposition, options, _, _ = arguments
    if access & _GENERIC:  # of the core, which opens its own folders
        return files.nt_create_file(*arguments)
    asked = _value(attributes)
    text = ctypes.string_at(asked.name.contents.buffer, asked.name.contents.length)
    name = text.decode("utf-16-le", "surrogatepass")
    dispositions = (disposition, options)
    safe = asked.security is not None
    _value(handle).value = FILES.create(asked.root, name, access, dispositions, asked.attributes, safe)
    return 0


@function("ntdll", "NtQueryInformationFile")
@_status_of
def nt_query_information_file(handle: int, _: Any, buffer: Any, size: int, kind: int) -> int:
    return _fill(buffer, FILES.query(handle, kind), size)


@function("ntdll", "NtSetInformationFile")
@_status_of
def nt_set_information_file(handle: int, _: Any, buffer: Any, size: int, kind: int) -> int:
    FILES.set(handle, kind, buffer.raw[:size])
    return 0


@function("ntdll", "NtQueryDirectoryFile")
@_status_of
def nt_query_directory_file(*arguments: Any) -> int:
    handle, _, _, _, _, buffer, size, _, _, _, restart = arguments
    return _fill(buffer, FILES.list(handle, bool(restart)), size)


@function("ntdll", "NtFsControlFile")
@_status_of
def nt_fs_control_file(*arguments: Any) -> int:
    return _fill(arguments[8], FILES.reparse(arguments[0]), arguments[9])


@function("ntdll", "NtClose")
@_status_of
def nt_close(handle: int) -> int:
    FILES.close(handle)
    return 0


@function("ntdll", "NtQuerySecurityObject")
@_status_of
def nt_query_security_object(handle: int, _: int, buffer: Any, size: int, needed: Any) -> int:
    return _fill(buffer, FILES.access.get(_identity(FILES.at(handle).fd), b"inherited") + b"\0", size)


@function("ntdll", "NtSetSecurityObject")
@_status_of
def nt_set_security_object(handle: int, _: int, buffer: Any) -> int:
    FILES.access[_identity(FILES.at(handle).fd)] = buffer.raw.split(b"\0")[0]
    return 0

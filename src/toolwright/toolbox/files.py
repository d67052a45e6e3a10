"""The files tools: read a file, write a file, list a directory, all within folders that the operator named.

The methods of :class:`Files` are ordinary functions for a thread pool; ``TOOLS`` says how each is registered. Which
paths they accept, and how they stay inside, is the business of :mod:`toolwright.toolbox.confined`.

A file is written beside its name and then moved there, so that a reader, a crash or a full disk sees the old file or
the new one and never half of it. Bytes are kept as they are: no line ending, byte order mark or final newline is
added, removed or changed.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import errno
import heapq
import os
import secrets
import stat
import threading
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic refuses that of typing before 3.12

from toolwright.errors import ToolError
from toolwright.toolbox.confined import Folder, Folders, Names, PathRules, Spot, Target, expressible, worded
from toolwright.tools.local import LocalToolset, ToolSettings

__all__ = [
    "TOOLS",
    "DirectoryEntry",
    "DirectoryListing",
    "FileContent",
    "FileLimits",
    "Files",
    "WrittenFile",
    "toolset",
]

Encoding = Literal["utf-8", "ascii", "base64"]
Mode = Literal["create", "overwrite", "append"]
Kind = Literal["file", "directory", "symlink", "other"]

CHUNK = 1 << 20
KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}

TOOLS: tuple[tuple[str, ToolSettings], ...] = (
    (
        "list_directory",
        {
            "effect": "read",
            "idempotent": True,
            "title": "List a directory",
            "examples": ({"path": "."}, {"path": "src", "depth": 3}),
        },
    ),
    (
        "read_file",
        {
            "effect": "read",
            "idempotent": True,
            "title": "Read a file",
            "examples": ({"path": "README.md"}, {"path": "src/main.py", "start_line": 100, "end_line": 180}),
        },
    ),
    (
        "write_file",
        {
            # It may replace what was there, and a second "append" appends again.
            "effect": "destructive",
            "idempotent": False,
            "title": "Write a file",
            "examples": ({"path": "notes/today.md", "content": "# Today\n", "create_parents": True},),
        },
    ),
)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """How much one call may take. What does not fit into a result is left for the next call."""

    read_bytes: int = 1 << 19
    write_bytes: int = 10 << 20
    """Of the content of one call."""
    file_bytes: int = 100 << 20
    """Of a file after an append, which copies what was there."""
    scan_bytes: int = 64 << 20
    """How far into a file its lines are counted."""
    entries: int = 1000
    entry_bytes: int = 128 << 10
    """Of the paths in one listing, as UTF-8."""


class FileContent(TypedDict):
    """A file or a part of it."""

    path: str
    encoding: Encoding
    content: str
    size: Annotated[int, Field(description="Bytes in the whole file", ge=0)]
    version: Annotated[str, Field(description="Changes with the file; give it to write_file as if_version")]
    start_line: NotRequired[Annotated[int, Field(description="Number of the first line in content", ge=1)]]
    end_line: NotRequired[Annotated[int, Field(description="Number of the last line in content", ge=0)]]
    next_start_line: NotRequired[
        Annotated[int, Field(description="The file goes on: read again with this as start_line", ge=1)]
    ]
    next_offset: NotRequired[
        Annotated[int, Field(description="The file goes on: or read again with this as offset", ge=1)]
    ]


class WrittenFile(TypedDict):
    """What was written."""

    path: str
    created: Annotated[bool, Field(description="Whether there was no file before")]
    bytes_written: Annotated[int, Field(description="Bytes of content in this call", ge=0)]
    size: Annotated[int, Field(description="Bytes in the whole file now", ge=0)]
    version: Annotated[str, Field(description="Changes with the file; give it to write_file as if_version")]


class DirectoryEntry(TypedDict):
    path: Annotated[str, Field(description="Usable as path of the files tools")]
    type: Annotated[Kind, Field(description="A symlink is not followed; other is a pipe, socket or device")]
    size: NotRequired[Annotated[int, Field(description="Bytes, of a file", ge=0)]]
    closed: NotRequired[
        Annotated[
            Literal["secret", "file system", "permission"],
            Field(description="Why the entries of this directory are left out although depth would reach them"),
        ]
    ]


class DirectoryListing(TypedDict):
    """Entries in the order of their names; each directory comes before what is in it."""

    path: str
    entries: list[DirectoryEntry]
    unshown: NotRequired[
        Annotated[int, Field(description="Entries left out because their names are not valid text", ge=1)]
    ]
    next_cursor: NotRequired[
        Annotated[str, Field(description="There are more entries: list again with this as cursor")]
    ]


Entries = Generator[DirectoryEntry, None, None]

PathArgument = Annotated[
    str,
    "Path from the served folder down, names separated by '/', e.g. 'src/main.py'. Taken literally: no '..', '~' or "
    "wildcards. Use list_directory to find it; '.' shows where paths begin.",
]


class Files:
    """The tools over ``roots``. The folders stay open until :meth:`close`; calls may come from many threads.

    ``ConfigurationError`` when a root is no directory. Every refusal of a method is a ``ToolError``.
    """

    def __init__(
        self, roots: Sequence[Path], *, limits: FileLimits | None = None, rules: PathRules | None = None
    ) -> None:
        self._folders = Folders(roots, rules)
        self._limits = limits or FileLimits()
        # One at a time: two appends at once would each copy the old file, and one of them would be lost.
        self._writing = threading.Lock()

    @property
    def labels(self) -> tuple[str, ...]:
        """What paths begin with when there are several folders."""
        return self._folders.labels

    def close(self) -> None:
        """Gives the folders back; every later call is refused."""
        with self._writing:
            self._folders.close()

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_file(
        self,
        path: PathArgument,
        encoding: Annotated[Encoding, "How content comes back: text, or base64 for any other bytes"] = "utf-8",
        start_line: Annotated[int | None, "First line to read, from 1; for text only", Field(ge=1)] = None,
        end_line: Annotated[int | None, "Last line to read, included; for text only", Field(ge=1)] = None,
        offset: Annotated[int | None, "First byte to read, from 0, instead of a line", Field(ge=0)] = None,
    ) -> FileContent:
        """Read a file, or a part of it, as text or base64.

        Use when the content of a file is needed. Not for directories: use list_directory. A long file comes in
        parts: while the result has next_start_line or next_offset, call again with it. Files that hold secrets are
        refused. Side effects: none.
        """
        _check_range(encoding, start_line, end_line, offset)
        target = self._file(path)
        with (
            worded(target.shown),
            target.folder.find(target.names, target.shown, "read") as spot,
            spot.file() as fd,
        ):
            source = _Source(fd, target.shown, self._limits)
            if encoding == "base64":
                return source.as_base64(offset or 0)
            if offset is not None:
                return source.as_text(encoding, offset)
            return source.as_lines(encoding, start_line or 1, end_line)

    def write_file(
        self,
        path: PathArgument,
        content: Annotated[str, "What to write: text, kept to the byte, or base64 as encoding says"],
        encoding: Annotated[Encoding, "How content is given: text, or base64 for any other bytes"] = "utf-8",
        mode: Annotated[
            Mode,
            "create makes a new file and refuses an existing one; overwrite replaces the whole file; append adds at "
            "its end. The last two create a missing file",
        ] = "create",
        create_parents: Annotated[bool, "Make the directories of path that do not exist"] = False,
        if_version: Annotated[str | None, "Write only if the file still has this version, from read_file"] = None,
    ) -> WrittenFile:
        """Write a file: make a new one, replace one, or add to its end.

        Use when the user wants text or bytes stored in a file. Not for links, secrets, or files that run by
        themselves such as those in .git: these are refused. Side effects: changes the file on disk, all of it or
        nothing; with mode overwrite the old content is lost.
        """
        data = _encoded(content, encoding, self._limits.write_bytes)
        target = self._file(path)
        with worded(target.shown), self._writing, _spot_to_write(target, create_parents) as spot:
            found = spot.status()
            _check_version(spot, found, if_version)
            if mode == "create" or found is None:
                return _create(spot, found, data)
            return _replace(spot, data, mode == "append", self._limits.file_bytes)

    def list_directory(
        self,
        path: Annotated[str, "Directory to list, from the served folder down; '.' for the folder itself"] = ".",
        depth: Annotated[
            int, "1 lists the directory alone, 2 also the directories in it, and so on", Field(ge=1, le=10)
        ] = 1,
        cursor: Annotated[str | None, "next_cursor of the last result, to go on from there"] = None,
    ) -> DirectoryListing:
        """List what is in a directory: path, type and size of each entry, sorted by name.

        Use when you need to know which files there are. Not for the content of a file: use read_file. Links are
        shown, not followed. A long listing comes in parts: while the result has next_cursor, call again with it.
        Side effects: none.
        """
        target = self._folders.target(path)
        shown = target.shown if target else "."
        start = () if shown == "." else tuple(shown.split("/"))
        walk = _Walk(self._limits.entries + 2)
        after = _after(cursor, start)
        entries = self._tops(walk, depth, after) if target is None else _inside(walk, target, start, depth, after)
        with worded(shown), closing(entries):
            return self._page(shown, entries, walk)

    def _file(self, path: str) -> Target:
        """What ``path`` means, when it can be a file."""
        target = self._folders.target(path)
        if target is None or path.endswith(("/", "/.")):
            raise ToolError.of("TW6023", path=target.shown if target else ".")
        return target

    def _tops(self, walk: _Walk, depth: int, after: Names) -> Entries:
        """The folders themselves, when there are several, and what is in them."""
        for label in self._folders.labels:
            if label < "".join(after[:1]):
                continue
            listed = after[:1] == (label,)
            if not listed:
                yield DirectoryEntry(path=label, type="directory")
            if depth > 1:
                target = Target(self._folders[label], (), label)
                yield from _inside(walk, target, (label,), depth - 1, after[1:] if listed else ())

    def _page(self, shown: str, entries: Entries, walk: _Walk) -> DirectoryListing:
        """As many of ``entries`` as fit, at least one."""
        listing = DirectoryListing(path=shown, entries=[])
        room = self._limits.entry_bytes
        for entry in entries:
            room -= len(entry["path"].encode())
            if listing["entries"] and (room < 0 or len(listing["entries"]) >= self._limits.entries):
                listing["next_cursor"] = listing["entries"][-1]["path"]
                break
            listing["entries"].append(entry)
        if walk.unshown:
            listing["unshown"] = walk.unshown
        return listing


# Reading


def _check_range(encoding: Encoding, start: int | None, end: int | None, offset: int | None) -> None:
    if (start or end) and (encoding == "base64" or offset is not None):
        raise ToolError.of("TW6043")
    if end is not None and end < (start or 1):
        raise ToolError.of("TW6042", start=start or 1, end=end)


def _version(found: os.stat_result) -> str:
    """Differs after every write of ours, and after others' once the clock of the file system has ticked."""
    return f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"


def _read_at(fd: int, size: int, offset: int) -> bytes:
    """``size`` bytes from ``offset``, fewer only at the end of the file."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(fd, min(size, CHUNK), offset)):
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return b"".join(parts)


class _Source:
    """An open file on its way into a result."""

    def __init__(self, fd: int, shown: str, limits: FileLimits) -> None:
        self._fd = fd
        self._shown = shown
        self._limits = limits
        self._found = os.fstat(fd)

    def as_base64(self, offset: int) -> FileContent:
        self._check_offset(offset)
        # Four characters stand for three bytes; whole groups need no padding before the end.
        data = _read_at(self._fd, max(self._limits.read_bytes // 4, 1) * 3, offset)
        return self._result("base64", base64.b64encode(data).decode("ascii"), offset + len(data))

    def as_text(self, encoding: Encoding, offset: int) -> FileContent:
        self._check_offset(offset)
        text, end = self._decoded(_read_at(self._fd, self._limits.read_bytes, offset), encoding, offset)
        return self._result(encoding, text, end)

    def as_lines(self, encoding: Encoding, start: int, end: int | None) -> FileContent:
        begin = self._line(start)
        data = _read_at(self._fd, self._limits.read_bytes + 1, begin)
        if end is not None:
            data = data[: _after_lines(data, end - start + 1)]
        data = _fitting(data, self._limits.read_bytes)
        text, behind = self._decoded(data, encoding, begin)
        result = self._result(encoding, text, behind)
        whole = text.endswith("\n")
        lines = text.count("\n") + (text != "" and not whole)
        result["start_line"], result["end_line"] = start, start + lines - 1
        if "next_offset" in result and whole:
            result["next_start_line"] = start + lines
        return result

    def _result(self, encoding: Encoding, content: str, behind: int) -> FileContent:
        size = self._found.st_size
        result = FileContent(
            path=self._shown, encoding=encoding, content=content, size=size, version=_version(self._found)
        )
        if content and behind < size:
            result["next_offset"] = behind
        return result

    def _check_offset(self, offset: int) -> None:
        if offset > self._found.st_size:
            raise ToolError.of("TW6044", path=self._shown, size=self._found.st_size)

    def _decoded(self, data: bytes, encoding: Encoding, offset: int) -> tuple[str, int]:
        """The text of ``data`` and the offset behind it; a character that is cut off at the end is left out."""
        final = offset + len(data) >= self._found.st_size
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            text = decoder.decode(data, final)
        except UnicodeDecodeError as error:
            raise ToolError.of("TW6040", path=self._shown, encoding=encoding) from error
        if "\0" in text:
            raise ToolError.of("TW6040", path=self._shown, encoding=encoding)
        return text, offset + len(data) - len(decoder.getstate()[0])

    def _line(self, start: int) -> int:
        """The offset at which line ``start`` begins."""
        ahead, offset, last = start - 1, 0, b"\n"
        while ahead and (chunk := _read_at(self._fd, CHUNK, offset)):
            here = chunk.count(b"\n")
            if here >= ahead:
                ahead, offset, last = 0, offset + _after_lines(chunk, ahead), b"\n"
                break
            ahead, offset, last = ahead - here, offset + len(chunk), chunk[-1:]
            if offset >= self._limits.scan_bytes:
                raise ToolError.of("TW6045", path=self._shown, start=start, limit=self._limits.scan_bytes)
        if ahead or (start > 1 and offset >= self._found.st_size):
            raise ToolError.of("TW6041", path=self._shown, lines=start - 1 - ahead + (last != b"\n"))
        return offset


def _after_lines(data: bytes, lines: int) -> int:
    """The index behind the first ``lines`` lines of ``data``; its length when it has fewer."""
    behind = 0
    for _ in range(lines):
        behind = data.find(b"\n", behind) + 1
        if not behind:
            return len(data)
    return behind


def _fitting(data: bytes, limit: int) -> bytes:
    """The whole lines of ``data`` that fit into ``limit`` bytes; a part of the first when not even that fits."""
    if len(data) <= limit:
        return data
    return data[: data.rfind(b"\n", 0, limit) + 1 or limit]


# Writing

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = frozenset((errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP))


def _encoded(content: str, encoding: Encoding, limit: int) -> bytes:
    # Of base64 the size is judged before it is decoded.
    size = len(content) * 3 // 4 - 2 if encoding == "base64" else len(content)
    data = b"" if size > limit else _bytes(content, encoding)
    if max(size, len(data)) > limit:
        raise ToolError.of("TW6051", size=max(size, len(data)), limit=limit)
    return data


def _bytes(content: str, encoding: Encoding) -> bytes:
    try:
        return base64.b64decode(content, validate=True) if encoding == "base64" else content.encode(encoding)
    except UnicodeEncodeError as error:
        other = "utf-8" if encoding == "ascii" else "base64"
        raise ToolError.of("TW6053", encoding=encoding, position=error.start + 1, other=other) from error
    except (binascii.Error, ValueError) as error:
        raise ToolError.of("TW6052") from error


def _spot_to_write(target: Target, make: bool) -> Spot:
    try:
        return target.folder.find(target.names, target.shown, "write", make=make)
    except FileNotFoundError as error:
        raise ToolError.of("TW6056", path=target.shown) from error


def _check_version(spot: Spot, found: os.stat_result | None, expected: str | None) -> None:
    if expected is not None and (found is None or _version(found) != expected):
        raise ToolError.of("TW6055", path=spot.shown)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A new file beside the spot it is meant for."""

    fd: int
    name: str
    spot: Spot

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.fd, rest) :]

    def copy(self, old: int) -> None:
        offset = 0
        while part := os.pread(old, CHUNK, offset):
            self.write(part)
            offset += len(part)

    def publish(self) -> None:
        """Gives the draft its name, if nothing has that name; ``FileExistsError`` otherwise."""
        os.fsync(self.fd)
        try:
            self._link()
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._move_reserved()
        _settle(self.spot)

    def _link(self) -> None:
        here = self.spot.fd
        os.link(self.name, self.spot.name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        # At once: with two names the file would read as a hard link, after a crash for good.
        os.unlink(self.name, dir_fd=here)

    def _move_reserved(self) -> None:
        """Takes the name with an empty file first: all that a file system without hard links (FAT) has to offer."""
        os.close(os.open(self.spot.name, _NEW, 0o600, dir_fd=self.spot.fd))
        try:
            self._move()
        except OSError:
            os.unlink(self.spot.name, dir_fd=self.spot.fd)
            raise

    def replace(self) -> None:
        """Gives the draft its name, in place of what has it now."""
        os.fsync(self.fd)
        self._move()
        _settle(self.spot)

    def _move(self) -> None:
        os.rename(self.name, self.spot.name, src_dir_fd=self.spot.fd, dst_dir_fd=self.spot.fd)

    def written(self, created: bool, data: bytes) -> WrittenFile:
        found = os.fstat(self.fd)
        return WrittenFile(
            path=self.spot.shown,
            created=created,
            bytes_written=len(data),
            size=found.st_size,
            version=_version(found),
        )


@contextmanager
def _draft(spot: Spot, permissions: int) -> Generator[_Draft]:
    """A draft for ``spot``; nothing is left of it unless it got its name."""
    name = f".{secrets.token_hex(8)}.tmp"
    fd = os.open(name, _NEW, permissions, dir_fd=spot.fd)
    try:
        yield _Draft(fd, name, spot)
    finally:
        os.close(fd)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=spot.fd)


def _settle(spot: Spot) -> None:
    """Makes a new name survive a loss of power, where the directory can be opened for that."""
    # The file is in place already: a failure from here on must not be told as a failure of the write.
    with suppress(OSError):
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=spot.fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _create(spot: Spot, found: os.stat_result | None, data: bytes) -> WrittenFile:
    if found is not None:
        spot.must_be_plain(found)
        raise ToolError.of("TW6050", path=spot.shown)
    with _draft(spot, 0o666) as draft:  # less the umask, like any new file
        draft.write(data)
        try:
            draft.publish()
        except FileExistsError as error:
            raise ToolError.of("TW6050", path=spot.shown) from error
        return draft.written(True, data)


def _replace(spot: Spot, data: bytes, append: bool, limit: int) -> WrittenFile:
    """A new file in place of the one at ``spot``, with its owner, permissions and attributes."""
    # Opened for writing although it is only read: the system decides whether this file may be changed.
    with spot.file(os.O_RDWR) as old, _draft(spot, 0o600) as draft:
        before = os.fstat(old)
        if append:
            _check_growth(spot, before.st_size + len(data), limit)
            draft.copy(old)
        draft.write(data)
        _keep_attributes(old, before, draft.fd)
        _check_version(spot, spot.status(), _version(before))
        draft.replace()
        return draft.written(False, data)


def _check_growth(spot: Spot, size: int, limit: int) -> None:
    if size > limit:
        raise ToolError.of("TW6054", path=spot.shown, size=size, limit=limit)


def _keep_attributes(old: int, before: os.stat_result, new: int) -> None:
    permissions = stat.S_IMODE(before.st_mode) & 0o777  # not setuid and setgid: the content is another
    try:
        os.fchown(new, before.st_uid, before.st_gid)
    except PermissionError:
        if os.fstat(new).st_gid != before.st_gid:
            permissions &= ~0o070  # what one group might do is not for another
    with suppress(OSError):  # a file system without extended attributes
        for name in os.listxattr(old):
            if name.startswith("user.") or name == "system.posix_acl_access":
                os.setxattr(new, name, os.getxattr(old, name))
    os.fchmod(new, permissions)


# Listing


def _after(cursor: str | None, start: Names) -> Names:
    """The names of ``cursor`` below ``start``; everything up to them was listed before."""
    if cursor is None:
        return ()
    names = tuple(cursor.split("/"))
    if names[: len(start)] != start or names == start or not all(names):
        raise ToolError.of("TW6060")
    return names[len(start) :]


def _inside(walk: _Walk, target: Target, shown: Names, depth: int, after: Names) -> Entries:
    """What is in the directory ``target``, each path beginning with ``shown``."""
    with (
        target.folder.find((*target.names, "."), target.shown, "read") as spot,
        spot.directory() as fd,
    ):
        yield from walk.entries(target.folder, fd, shown, depth, after)


class _Walk:
    """A way through directories, down before on. It holds one descriptor for each level, and follows no link."""

    def __init__(self, most: int) -> None:
        """``most``: names of one directory to keep, the first ones; a page has no use for more."""
        self._most = most
        self.unshown = 0

    def entries(self, folder: Folder, fd: int, above: Names, depth: int, after: Names) -> Entries:
        """The entries of the directory ``fd`` that come behind ``after``; ``above`` is the way to it."""
        for name in self._names(fd, "".join(after[:1])):
            listed = after[:1] == (name,)
            try:
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                continue  # gone since it was listed
            entry = _entry("/".join((*above, name)), found)
            if entry["type"] != "directory" or depth == 1:
                if not listed:
                    yield entry
                continue
            with _entered(folder, fd, name, entry) as child:
                if not listed:
                    yield entry
                if child is not None:
                    yield from self.entries(folder, child, (*above, name), depth - 1, after[1:] if listed else ())

    def _names(self, fd: int, first: str) -> list[str]:
        """The first names of ``fd`` in order, from ``first`` on."""
        with os.scandir(fd) as found:
            return heapq.nsmallest(self._most, (e.name for e in found if e.name >= first and self._shows(e.name)))

    def _shows(self, name: str) -> bool:
        shown = expressible(name)
        self.unshown += not shown
        return shown


def _entry(path: str, found: os.stat_result) -> DirectoryEntry:
    kind = KINDS.get(stat.S_IFMT(found.st_mode), "other")
    entry = DirectoryEntry(path=path, type=kind)
    if kind == "file":
        entry["size"] = found.st_size
    return entry


@contextmanager
def _entered(folder: Folder, parent: int, name: str, entry: DirectoryEntry) -> Generator[int | None]:
    """The directory ``name``, opened; ``None`` when it is closed to us, with the reason noted in ``entry``."""
    if folder.rules.denial((name,), "read"):
        entry["closed"] = "secret"
        yield None
        return
    try:
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except PermissionError:
        entry["closed"] = "permission"
        yield None
        return
    except (FileNotFoundError, NotADirectoryError):  # exchanged since it was looked at: no directory any more
        yield None
        return
    try:
        found = os.fstat(fd)
        if folder.is_closed(found):
            entry["closed"] = "secret"
        elif not folder.owns(found):
            entry["closed"] = "file system"
        yield None if "closed" in entry else fd
    finally:
        os.close(fd)


def toolset(roots: Sequence[Path], *, limits: FileLimits | None = None, rules: PathRules | None = None) -> LocalToolset:
    """The files tools over ``roots``, ready to be served. ``ConfigurationError`` for a root that is no folder."""
    files = Files(roots, limits=limits, rules=rules)
    tools = LocalToolset()
    for name, settings in TOOLS:
        tools.add(getattr(files, name), **settings)
    return tools

"""File changes: new content is written beside the name, then moved there.

A reader, a crash or a full disk sees the old file or the new one, and never half of it. Bytes are kept as they are.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tooltrue.errors import ToolError
from tooltrue_toolbox.encodings import HEAD
from tooltrue_toolbox.files.text_codec import text_codec_of
from tooltrue_toolbox.files.values import CHUNK, FileLimits, Mode, WriteEncoding, WrittenFile, version_of
from tooltrue_toolbox.files.wording import (
    APPEND_ENCODING_CONFLICT,
    CONTENT_NOT_BASE64,
    CONTENT_NOT_ENCODABLE,
    CONTENT_TOO_LARGE,
    CREATE_ENTRIES_QUOTA_EXCEEDED,
    FILE_ALREADY_EXISTS,
    FILE_VERSION_CONFLICT,
    FILE_WOULD_GROW_TOO_LARGE,
    PARENT_DIRECTORY_MISSING,
    WRITE_BYTES_QUOTA_EXCEEDED,
)
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import Maker, Spot, Target

__all__ = [
    "Content",
    "Growth",
    "OldFile",
    "append",
    "check_version",
    "check_write",
    "content_of",
    "create",
    "opened_to_replace",
    "replace",
    "resolve_for_writing",
    "resolve_with_parents",
    "sync_directory",
]


@dataclass(slots=True)
class Growth:
    """The space that all calls have added, less what they deleted, so that many small calls cannot fill a disk."""

    limits: FileLimits
    bytes: int = 0
    entries: int = 0

    def check(self, display_path: str, more_bytes: int, more_entries: int = 0) -> None:
        """``ToolError`` when there is no room for the addition."""
        if more_bytes > 0 and more_bytes > self.bytes_left:
            raise ToolError.of(
                WRITE_BYTES_QUOTA_EXCEEDED, path=display_path, left=self.bytes_left, limit=self.limits.added_bytes
            )
        if more_entries > self.entries_left:
            raise ToolError.of(CREATE_ENTRIES_QUOTA_EXCEEDED, path=display_path, limit=self.limits.added_entries)

    def add(self, more_bytes: int, more_entries: int = 0) -> None:
        self.bytes += more_bytes
        self.entries += more_entries

    def maker(self, display_path: str) -> Maker:
        """A callback that creates the directories on the way to ``display_path``, as long as there is room."""

        def make(name: str, parent: int) -> None:
            self.check(display_path, 0, 1)
            handles.make_directory(parent, name)
            self.add(0, 1)

        return make

    @property
    def bytes_left(self) -> int:
        return max(0, self.limits.added_bytes - self.bytes)

    @property
    def entries_left(self) -> int:
        return max(0, self.limits.added_entries - self.entries)


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes to write; ``is_text`` where they were given as text."""

    data: bytes
    is_text: bool


def content_of(content: str, encoding: WriteEncoding, limit: int) -> Content:
    # The size of base64 is checked before it is decoded.
    size = len(content) * 3 // 4 - 2 if encoding == "base64" else len(content)
    data = b"" if size > limit else _bytes(content, encoding)
    if max(size, len(data)) > limit:
        raise ToolError.of(CONTENT_TOO_LARGE, size=max(size, len(data)), limit=limit)
    return Content(data, encoding != "base64")


def _bytes(content: str, encoding: WriteEncoding) -> bytes:
    try:
        return base64.b64decode(content, validate=True) if encoding == "base64" else content.encode(encoding)
    except UnicodeEncodeError as error:
        other = "utf-8" if encoding == "ascii" else "base64"
        raise ToolError.of(CONTENT_NOT_ENCODABLE, encoding=encoding, position=error.start + 1, other=other) from error
    except (binascii.Error, ValueError) as error:
        raise ToolError.of(CONTENT_NOT_BASE64) from error


def resolve_for_writing(target: Target) -> Spot:
    """Resolve ``target`` for writing. ``ToolError`` where the directory is missing."""
    try:
        return target.folder.find(target.names, target.display_path, "write")
    except FileNotFoundError as error:
        raise ToolError.of(PARENT_DIRECTORY_MISSING, path=target.display_path) from error


def resolve_with_parents(target: Target, growth: Growth, size: int = 0) -> Spot:
    """Resolve ``target`` for writing and create missing directories, if there is room for them and a file of ``size``
    bytes."""
    try:
        return target.folder.find(target.names, target.display_path, "write")
    except FileNotFoundError:
        growth.check(target.display_path, size, 1)
    return target.folder.find(target.names, target.display_path, "write", make=growth.maker(target.display_path))


def check_version(spot: Spot, status: os.stat_result | None, expected: str) -> None:
    if expected and (status is None or version_of(status) != expected):
        raise ToolError.of(FILE_VERSION_CONFLICT, path=spot.display_path)


def check_write(
    spot: Spot, content: Content, mode: Mode, if_version: str, limits: FileLimits, growth: Growth
) -> os.stat_result | None:
    """The status of the entry at ``spot``, if any. ``ToolError`` where ``content`` cannot be written there in this
    ``mode``."""
    data = content.data
    status = spot.status()
    if mode == "create" or status is None:
        check_version(spot, status, if_version)
        _check_free(spot, status)
        growth.check(spot.display_path, len(data), 1)
        return None
    with opened_to_replace(spot, if_version) as old:
        if mode == "append":
            _check_growth(spot, old, data, limits)
            _check_encoding(spot, old, content)
        growth.check(spot.display_path, len(data) - (0 if mode == "append" else status.st_size))
    return status


def _check_growth(spot: Spot, old: OldFile, data: bytes, limits: FileLimits) -> None:
    size = old.status.st_size + len(data)
    if size > limits.file_bytes:
        raise ToolError.of(FILE_WOULD_GROW_TOO_LARGE, path=spot.display_path, size=size, limit=limits.file_bytes)


def _check_encoding(spot: Spot, old: OldFile, content: Content) -> None:
    """``ToolError`` where a text would be appended in UTF-8 to one in another encoding."""
    codec = text_codec_of(handles.read_at(old.fd, HEAD, 0)) if content.data and content.is_text else None
    if codec is None or codec.encoding == "utf-8" or (content.data.isascii() and not codec.is_wide):
        return
    raise ToolError.of(APPEND_ENCODING_CONFLICT, path=spot.display_path, encoding=codec.encoding)


def _check_free(spot: Spot, status: os.stat_result | None) -> None:
    if status is not None:
        spot.must_be_plain(status)
        raise ToolError.of(FILE_ALREADY_EXISTS, path=spot.display_path)


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
        while part := handles.read_at(old, CHUNK, offset):
            self.write(part)
            offset += len(part)

    def publish(self) -> None:
        """Give the draft its name if that is free; ``FileExistsError`` otherwise."""
        os.fsync(self.fd)
        handles.rename_new(self.spot.parent, self.name, self.spot.parent, self.spot.name)
        sync_directory(self.spot)

    def replace(self) -> None:
        """Give the draft its name, replacing the file that has it now."""
        os.fsync(self.fd)
        handles.rename_over(self.spot.parent, self.name, self.spot.parent, self.spot.name)
        sync_directory(self.spot)

    def result(self, created: bool, data: bytes) -> WrittenFile:
        status = handles.file_status(self.fd)
        return WrittenFile(
            path=self.spot.display_path,
            created=created,
            bytes_written=len(data),
            size=status.st_size,
            version=version_of(status),
        )


@contextmanager
def _draft(spot: Spot, permissions: int) -> Generator[_Draft]:
    """A draft for ``spot``, removed unless it was given its name."""
    name = f".{secrets.token_hex(8)}.tmp"
    fd = handles.create_file(spot.parent, name, permissions)
    try:
        yield _Draft(fd, name, spot)
    finally:
        os.close(fd)
        with suppress(FileNotFoundError):
            handles.remove_file(spot.parent, name)


def sync_directory(spot: Spot) -> None:
    """Make a new name survive a power loss, where the directory can be opened for that."""
    # The file is in place already: a failure from here on must not be reported as a failure of the write.
    with suppress(OSError):
        handles.sync(spot.parent)


def create(spot: Spot, status: os.stat_result | None, data: bytes, growth: Growth) -> WrittenFile:
    """Create a file at ``spot``. ``ToolError`` when an entry exists there."""
    _check_free(spot, status)
    growth.check(spot.display_path, len(data), 1)
    with _draft(spot, 0o666) as draft:  # less the umask, like any new file
        draft.write(data)
        try:
            draft.publish()
        except FileExistsError as error:
            raise ToolError.of(FILE_ALREADY_EXISTS, path=spot.display_path) from error
        growth.add(len(data), 1)
        return draft.result(True, data)


@dataclass(frozen=True, slots=True)
class OldFile:
    """A file that is to be replaced, and its status before anything was read from it."""

    fd: int
    status: os.stat_result


@contextmanager
def opened_to_replace(spot: Spot, expected: str) -> Generator[OldFile]:
    """The file at ``spot``, which must have the ``expected`` version. It is opened for writing although it is only
    read, so that the system decides whether it may change."""
    with spot.file(writable=True) as fd:
        old = OldFile(fd, handles.file_status(fd))
        check_version(spot, old.status, expected)
        yield old


def append(spot: Spot, old: OldFile, data: bytes, limits: FileLimits, growth: Growth) -> WrittenFile:
    """Replace ``old`` by a new file: its content followed by ``data``."""
    _check_growth(spot, old, data, limits)
    return replace(spot, old, data, growth, after=old.fd)


def replace(spot: Spot, old: OldFile, data: bytes, growth: Growth, *, after: int | None = None) -> WrittenFile:
    """Replace ``old``, which stands at ``spot``, by a new file with its owner, permissions and attributes. The content
    is ``data``, preceded by that of ``after`` if given. ``ToolError`` when ``old`` has changed since it was opened."""
    more = len(data) - (0 if after is not None else old.status.st_size)
    growth.check(spot.display_path, more)
    with _draft(spot, 0o600) as draft:
        if after is not None:
            draft.copy(after)
        draft.write(data)
        handles.keep_attributes(old.fd, old.status, draft.fd)
        check_version(spot, spot.status(), version_of(old.status))
        draft.replace()
        growth.add(more)
        return draft.result(False, data)

"""The arguments, results and limits of the files tools."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic rejects the one of typing before Python 3.12

from tooltrue_toolbox.encodings import Encoding, How

__all__ = [
    "CHUNK",
    "KINDS",
    "Closed",
    "ContentEncoding",
    "CreatedDirectory",
    "Cursor",
    "DeletedEntry",
    "DirectoryEntry",
    "DirectoryListing",
    "Edit",
    "EditedFile",
    "FileContent",
    "FileInfo",
    "FileLimits",
    "Kind",
    "Media",
    "Mode",
    "MovedEntry",
    "PathArgument",
    "ReadEncoding",
    "RootList",
    "SearchMatch",
    "SearchResult",
    "TextEncoding",
    "Version",
    "WriteEncoding",
    "WrittenFile",
    "version_of",
]

WriteEncoding = Literal["utf-8", "ascii", "base64"]
TextEncoding = Literal[Encoding, "ascii"]
ContentEncoding = Literal[TextEncoding, "base64"]
ReadEncoding = Literal["auto", ContentEncoding]
Mode = Literal["create", "overwrite", "append"]
Kind = Literal["file", "directory", "symlink", "other"]
Closed = Literal["secret", "file system", "permission"]

PathArgument = Annotated[str, "Below the served folder"]
Version = Annotated[str, "Version it must still have"]
Cursor = Annotated[str, "next_cursor of a result"]
FileEncoding = Annotated[TextEncoding, Field(description="Of the file, where that is not UTF-8")]

CHUNK = 1 << 20
KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


def version_of(status: os.stat_result) -> str:
    """A version that differs after every write of ours, and after others' once the clock of the file system has
    ticked."""
    # The modification time can be set back; the time of the last status change cannot.
    return f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_ctime_ns:x}-{status.st_size:x}"


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits of one call. Content that does not fit into a result is left for the next call."""

    read_bytes: int = 1 << 19
    """The most that a call may ask for."""
    write_bytes: int = 10 << 20
    """Of the content of one call, and of a file that is edited."""
    file_bytes: int = 100 << 20
    """Of a file after an append, which copies the old content."""
    scan_bytes: int = 64 << 20
    """How far into a file its lines are counted."""
    entries: int = 1000
    """The most in one listing that a call may ask for."""
    entry_bytes: int = 128 << 10
    """Of the paths in one listing, or the texts in one page of a search, as UTF-8."""
    search_seconds: float = 20.0
    """Time after which a page of a search ends with a cursor."""
    line_chars: int = 500
    """Of one line in a page of a search."""
    diff_chars: int = 32 << 10
    media_bytes: int = 1 << 20
    """Of a picture or sound in a result; a larger one, up to ``kept_bytes``, is linked."""
    kept_bytes: int = 32 << 20
    unasked_bytes: int = 100 << 20
    """A larger file is not deleted before a person has agreed."""
    delete_entries: int = 10_000
    """In a directory that is deleted in one call."""
    lock_seconds: float = 5.0
    """Timeout for the locks of other servers that change the same directory."""
    added_bytes: int = 1 << 30
    """Added by all calls together, less the bytes they deleted, since the server was started."""
    added_entries: int = 10_000


class FileContent(TypedDict):
    """A file or a part of it."""

    path: str
    encoding: ContentEncoding
    encoding_from: NotRequired[
        Annotated[How, Field(description="How it is known that it is not UTF-8; a guess may be wrong")]
    ]
    content: str
    size: Annotated[int, Field(description="Bytes in the whole file", ge=0)]
    version: Annotated[str, Field(description="Changes with the file; give it to a tool that writes as if_version")]
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
    version: Annotated[str, Field(description="Changes with the file; give it to a tool that writes as if_version")]


@dataclass(frozen=True, slots=True)
class Edit:
    old_text: Annotated[str, Field(description="As read_file shows it, enough to be unique", min_length=1)]
    new_text: Annotated[str, Field(description="Stands there instead")]
    count: Annotated[int, Field(description="How often old_text occurs", ge=1)] = 1


class EditedFile(TypedDict):
    """What an edit did, or would do."""

    path: str
    dry_run: Annotated[bool, Field(description="Whether the file was left as it is")]
    encoding: NotRequired[FileEncoding]
    replaced: Annotated[int, Field(description="How many places were replaced", ge=1)]
    diff: Annotated[str, Field(description="Unified diff, line endings as they are in the file")]
    diff_cut: NotRequired[Annotated[int, Field(description="Lines that are left out at the end of diff", ge=1)]]
    size: Annotated[int, Field(description="Bytes in the whole file afterwards", ge=0)]
    version: Annotated[str, Field(description="Of the file as it is now; give it to a tool that writes as if_version")]


class DirectoryEntry(TypedDict):
    path: Annotated[str, Field(description="Usable as path of the files tools")]
    type: Annotated[Kind, Field(description="A symlink is not followed; other is a pipe, socket or device")]
    size: NotRequired[Annotated[int, Field(description="Bytes, of a file", ge=0)]]
    closed: NotRequired[
        Annotated[
            Closed,
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


class FileInfo(TypedDict):
    """What is known of a file or directory without its content."""

    path: str
    type: Kind
    size: Annotated[int, Field(description="Bytes", ge=0)]
    modified: Annotated[str, Field(description="When it was changed last, in UTC")]
    permissions: Annotated[str, Field(description="As ls shows them, such as -rw-r--r--")]
    version: Annotated[str, Field(description="Changes with the file; give it to a tool that writes as if_version")]
    media_type: NotRequired[Annotated[str, Field(description="Of a file: by its first bytes, or by its name")]]
    text: NotRequired[Annotated[bool, Field(description="Whether it is text in an encoding that is found")]]
    encoding: NotRequired[Annotated[TextEncoding, Field(description="Of text")]]
    line_endings: NotRequired[
        Annotated[Literal["\\n", "\\r\\n", "mixed"], Field(description="Of text that has any, as far as was looked")]
    ]


class Media(TypedDict):
    """What is shown beside it, or linked."""

    path: str
    media_type: Annotated[str, Field(description="By its first bytes")]
    size: Annotated[int, Field(description="In bytes", ge=0)]
    linked: Annotated[bool, Field(description="Whether there is a link to it instead of the thing itself")]


class CreatedDirectory(TypedDict):
    path: str
    created: Annotated[bool, Field(description="False when it was there already")]


class MovedEntry(TypedDict):
    source: Annotated[str, Field(description="Where it was; nothing is there now")]
    path: Annotated[str, Field(description="Where it is now")]
    type: Kind


class DeletedEntry(TypedDict):
    """What is gone."""

    path: str
    type: Kind
    entries: Annotated[int, Field(description="Files and directories that were deleted, this one included", ge=1)]
    bytes: Annotated[int, Field(description="Of all files that were deleted", ge=0)]


class SearchMatch(TypedDict):
    """A file or directory whose name fits, or a line that was found."""

    path: Annotated[str, Field(description="Usable as path of the files tools")]
    type: NotRequired[Annotated[Kind, Field(description="Without content: what it is")]]
    size: NotRequired[Annotated[int, Field(description="Without content: bytes, of a file", ge=0)]]
    line: NotRequired[Annotated[int, Field(description="Number of the line; start_line of read_file", ge=1)]]
    text: NotRequired[Annotated[str, Field(description="The line; '…' where it is longer")]]
    before: NotRequired[Annotated[list[str], Field(description="Lines before it, as context_lines asks")]]
    after: NotRequired[Annotated[list[str], Field(description="Lines after it, as context_lines asks")]]
    encoding: NotRequired[FileEncoding]


class SearchResult(TypedDict):
    """Matches in the order of their paths, then of their lines."""

    path: str
    matches: list[SearchMatch]
    looked_at: Annotated[int, Field(description="Entries that were looked at in this call", ge=0)]
    ignored: NotRequired[
        Annotated[int, Field(description="Entries left out by .gitignore; include_ignored looks at them too", ge=1)]
    ]
    binary: NotRequired[Annotated[int, Field(description="Files left out since they are no text", ge=1)]]
    closed: NotRequired[
        Annotated[int, Field(description="Files and directories that may not be looked into: secrets, mounts", ge=1)]
    ]
    next_cursor: NotRequired[
        Annotated[str, Field(description="There may be more: search again with the same arguments and this as cursor")]
    ]


class RootList(TypedDict):
    """Where the files tools work, and how much they may."""

    roots: Annotated[list[str], Field(description="What paths begin with; '.' alone when there is one folder")]
    read_only: Annotated[bool, Field(description="Whether nothing can be written")]
    largest_write: Annotated[int, Field(description="Bytes that one call can write", ge=0)]
    bytes_left: Annotated[int, Field(description="What can still be added in all", ge=0)]
    entries_left: Annotated[int, Field(description="Files and directories that can still be made", ge=0)]

"""The files tools as a model reads them, and the order in which each does its work.

The methods of :class:`Files` are ordinary functions for a thread pool, except for the search, which can be cancelled.
:mod:`tooltrue_toolbox.rooted_paths` decides which paths they accept and keeps them inside the folders.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tooltrue.errors import NeedsAgreement, ToolError
from tooltrue.protocol.types import CallToolResult, TextContent
from tooltrue.tools.binding.forms import Form
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import Context
from tooltrue.wording import Worded
from tooltrue_toolbox.encodings import HEAD
from tooltrue_toolbox.files import media
from tooltrue_toolbox.files.directory_locks import directory_locks
from tooltrue_toolbox.files.directory_walk import (
    Walk,
    WalkEntries,
    WalkEntry,
    after_cursor,
    entries_below,
    entries_of_folders,
)
from tooltrue_toolbox.files.entry_changes import (
    Deletion,
    check_source,
    delete,
    deletion_of,
    kind_of,
    make_directory,
    move,
)
from tooltrue_toolbox.files.file_reader import FileReader, check_range, read_at
from tooltrue_toolbox.files.file_search import SearchCriteria, finder_of, place_of
from tooltrue_toolbox.files.file_writer import (
    Content,
    Growth,
    OldFile,
    append,
    check_version,
    check_write,
    content_of,
    create,
    opened_to_replace,
    replace,
    resolve_for_writing,
    resolve_with_parents,
)
from tooltrue_toolbox.files.patterns import Glob
from tooltrue_toolbox.files.searcher import Searcher
from tooltrue_toolbox.files.text_codec import text_codec_of
from tooltrue_toolbox.files.text_edits import FileText, TextChange, apply_changes, changes_of, unified_diff
from tooltrue_toolbox.files.values import (
    KINDS,
    CreatedDirectory,
    Cursor,
    DeletedEntry,
    DirectoryEntry,
    DirectoryListing,
    Edit,
    EditedFile,
    FileContent,
    FileInfo,
    FileLimits,
    Kind,
    Media,
    Mode,
    MovedEntry,
    PathArgument,
    ReadEncoding,
    RootList,
    SearchResult,
    Version,
    WriteEncoding,
    WrittenFile,
    version_of,
)
from tooltrue_toolbox.files.wording import (
    DELETE_APPROVAL_IMPOSSIBLE,
    DELETE_DENIED_BY_USER,
    DESTINATION_ALREADY_EXISTS,
    EDIT_FILE_TOO_LARGE,
    EFFECT_APPEND_FILE,
    EFFECT_CREATE_FILE,
    EFFECT_DELETE_DIRECTORY,
    EFFECT_DELETE_FILE,
    EFFECT_EDIT_FILE,
    EFFECT_MOVE_PATH,
    EFFECT_PREVIEW_EDIT,
    EFFECT_REPLACE_FILE,
    FILE_VERSION_CONFLICT,
    FILE_WOULD_GROW_TOO_LARGE,
    FILES_READ_ONLY,
    MEDIA_FILE_TOO_LARGE,
    MEDIA_TYPE_NOT_KNOWN,
    PARENT_DIRECTORY_MISSING,
    QUESTION_DELETE_DIRECTORY,
    QUESTION_DELETE_FILE,
    QUESTION_WRITE_OBEYED_FILE,
    ROOT_FOLDER_NOT_CHANGEABLE,
    ROOT_LABEL_REQUIRED,
    SEARCH_WITHOUT_CONDITION,
    WRITE_APPROVAL_IMPOSSIBLE,
    WRITE_DENIED_BY_USER,
)
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.registration import add_tools, preview_of, tool
from tooltrue_toolbox.rooted_paths import Folders, PathRules, Spot, Target, is_directory, path_errors

__all__ = ["Files", "toolset"]


@dataclass(frozen=True, slots=True)
class _EditPlan:
    """The result of an edit before it is written: the file's text, the changes, and the new content."""

    text: FileText
    changes: list[TextChange]
    data: bytes


class Files:
    """The tools over ``roots``. The folders stay open until :meth:`close`; calls may come from many threads.

    ``ConfigurationError`` when a root is no directory. Every refusal of a method is a ``ToolError``. With ``read_only``
    every change is refused.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        limits: FileLimits | None = None,
        rules: PathRules | None = None,
        read_only: bool = False,
        threads: ThreadPool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders = Folders(roots, rules)
        self._limits = limits or FileLimits()
        self._read_only = read_only
        self._growth = Growth(self._limits)
        lane = (threads or ThreadPool(4)).lane("search_files")
        self._searcher = Searcher(self._folders, self._limits, lane, clock)
        # One at a time: two concurrent appends would each copy the old file, and one of them would be lost.
        self._changing = threading.Lock()

    @property
    def labels(self) -> tuple[str, ...]:
        """The first part of each path when there are several folders."""
        return self._folders.labels

    def close(self) -> None:
        """Close the folders; every later call is refused."""
        with self._changing:
            self._folders.close()

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Looking

    @tool(effect="read", idempotent=True, title="List the served folders", examples=({},))
    def list_roots(self) -> RootList:
        """List the served folders, and how much can be written. (列出可用的根目录)

        Use to learn what paths begin with. Not for what is in a folder: use list_directory. Side effects: none.
        """
        return RootList(
            roots=list(self._folders.labels) if self._folders.several else ["."],
            read_only=self._read_only,
            largest_write=0 if self._read_only else self._limits.write_bytes,
            bytes_left=0 if self._read_only else self._growth.bytes_left,
            entries_left=0 if self._read_only else self._growth.entries_left,
        )

    @tool(effect="read", idempotent=True, title="List a directory", examples=({"path": "src", "depth": 3},))
    def list_directory(
        self,
        path: Annotated[str, "Directory"] = ".",
        depth: Annotated[int, "Levels; 1 is the directory alone", Field(ge=1, le=10)] = 1,
        cursor: Cursor = "",
        limit: Annotated[int, "Most entries", Field(ge=1, le=1000)] = 200,
    ) -> DirectoryListing:
        """List what is in a directory, by name. (列举目录)

        Use to see which files there are. Not for content: use read_file; not to find a file: use search_files. For
        more pass next_cursor. Side effects: none.
        """
        target = self._folders.target(path)
        display_path = target.display_path if target else "."
        start = () if display_path == "." else tuple(display_path.split("/"))
        walk = Walk(self._limits.entries + 2)
        after = after_cursor(cursor, start)
        entries = (
            entries_of_folders(walk, self._folders, depth, after)
            if target is None
            else entries_below(walk, target, start, depth, after)
        )
        with path_errors(display_path, target), closing(entries):
            return self._page(display_path, entries, walk, min(limit, self._limits.entries))

    def _page(self, display_path: str, walk_entries: WalkEntries, walk: Walk, most: int) -> DirectoryListing:
        """One page: as many entries as fit, at least one."""
        listing = DirectoryListing(path=display_path, entries=[])
        room = self._limits.entry_bytes
        for item in walk_entries:
            entry = _entry(item)
            room -= len(entry["path"].encode())
            if listing["entries"] and (room < 0 or len(listing["entries"]) >= most):
                listing["next_cursor"] = listing["entries"][-1]["path"]
                break
            listing["entries"].append(entry)
        if walk.unshown:
            listing["unshown"] = walk.unshown
        return listing

    @tool(
        effect="read",
        idempotent=True,
        title="Look at a file's properties",
        excused={"TT9700": "Models know it by this name from other servers of files."},
        examples=({"path": "data/orders.csv"},),
    )
    def file_info(self, path: PathArgument) -> FileInfo:
        """Tell type, size, times, permissions and media type of a file or directory. (文件信息)

        Use before reading what may be large. Not for content: use read_file. Side effects: none.
        """
        target = self._folders.target(path)
        if target is None:
            raise ToolError.of(ROOT_LABEL_REQUIRED, labels=", ".join(self.labels))
        with (
            path_errors(target.display_path, target),
            target.folder.find(target.names, target.display_path, "read") as spot,
        ):
            status = handles.look(spot.parent, spot.name)
            info = FileInfo(
                path=target.display_path,
                type=kind_of(status),
                size=status.st_size,
                modified=datetime.fromtimestamp(status.st_mtime_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
                permissions=stat.filemode(status.st_mode),
                version=version_of(status),
            )
            if info["type"] == "file":
                with spot.file() as fd:
                    _look_into(info, read_at(fd, HEAD, 0), spot.name)
            return info

    @tool(
        effect="read",
        idempotent=True,
        title="Read a file",
        examples=({"path": "src/main.py", "start_line": 100, "end_line": 180},),
    )
    def read_file(
        self,
        path: PathArgument,
        encoding: Annotated[ReadEncoding, "If the one that is found is wrong; base64 for bytes"] = "auto",
        start_line: Annotated[int, "First line", Field(ge=1)] = 1,
        end_line: Annotated[int, "Last line, included; 0 for no end", Field(ge=0)] = 0,
        offset: Annotated[int, "First byte, instead of lines", Field(ge=0)] = 0,
        limit: Annotated[int, "Most bytes", Field(ge=1, le=512 << 10)] = 64 << 10,
        *,
        context: Context | None = None,
    ) -> FileContent:
        """Read a file, or a part of it, as text or base64. (读取文件)

        Use when content is needed. Not for pictures: use read_media. For more pass
        next_start_line or next_offset. Side effects: none.
        """
        check_range(encoding, start_line, end_line, offset)
        target = self._file_target(path)
        with (
            path_errors(target.display_path, target),
            target.folder.find(target.names, target.display_path, "read") as spot,
            spot.file() as fd,
        ):
            limits = replaced(self._limits, read_bytes=min(limit, self._limits.read_bytes))
            source = FileReader(fd, target.display_path, limits, [] if context is None else context.slices)
            if encoding == "base64":
                return source.as_base64(offset)
            if offset:
                return source.as_text(encoding, offset)
            return source.as_lines(encoding, start_line, end_line)

    @tool(
        effect="read",
        idempotent=True,
        title="Show a picture or play a sound",
        examples=({"path": "docs/logo.png"},),
        max_bytes=4 << 20,
    )
    def read_media(self, path: PathArgument, context: Context) -> Media | CallToolResult:
        """Read a picture, a sound or a PDF, as what it is. (读取图片、音频)

        Use to see or hear a file. Not for text, SVG included: use read_file. A PDF, or more than 1 MiB, is a link for
        15 minutes. Side effects: none.
        """
        target = self._file_target(path)
        with (
            path_errors(target.display_path, target),
            target.folder.find(target.names, target.display_path, "read") as spot,
            spot.file() as fd,
        ):
            size = handles.file_status(fd).st_size
            kind = media.sniff(read_at(fd, media.HEAD, 0))
            if kind is None:
                raise ToolError.of(MEDIA_TYPE_NOT_KNOWN, path=target.display_path)
            if size > self._limits.kept_bytes:
                raise ToolError.of(
                    MEDIA_FILE_TOO_LARGE, path=target.display_path, size=size, limit=self._limits.kept_bytes
                )
            data = read_at(fd, size, 0)
        caption = TextContent(text=f"{target.display_path}: {kind}, {len(data)} bytes")
        linked = kind == "application/pdf" or len(data) > self._limits.media_bytes
        block = context.keep(data, target.names[-1], mime_type=kind) if linked else media.block_of(data, kind)
        facts = Media(path=target.display_path, media_type=kind, size=len(data), linked=linked)
        return CallToolResult([caption, block], dict(facts))

    # Searching

    @tool(
        effect="read",
        idempotent=True,
        title="Search files",
        examples=({"content": r"TODO\(\w+\)", "regex": True, "name": "*.{py,pyi}"},),
        seconds=60.0,
    )
    async def search_files(
        self,
        context: Context,
        path: Annotated[str, "Directory, with all in it"] = ".",
        name: Annotated[
            str,
            "Glob: '*.py' at any depth, 'src/**/*.py' from path down; {a,b} too",
            Field(max_length=500),
        ] = "",
        content: Annotated[str, "Text in a line; else names alone", Field(max_length=500, pattern=r"^[^\r\n]*$")] = "",
        regex: Annotated[bool, "content is an RE2 pattern"] = False,
        ignore_case: Annotated[bool, "In content"] = False,
        context_lines: Annotated[int, "Lines around each", Field(ge=0, le=10)] = 0,
        include_ignored: Annotated[bool, "Also what .gitignore leaves out"] = False,
        limit: Annotated[int, "Most matches", Field(ge=1, le=1000)] = 100,
        cursor: Cursor = "",
    ) -> SearchResult:
        """Search for files by name, by the text in them, or both. (搜索文件)

        Use to find where something is. Not to read a known file: use read_file. Leaves out, and counts,
        binary files, secrets and links. For more pass next_cursor. Side effects: none.
        """
        if not name and not content:
            raise ToolError.of(SEARCH_WITHOUT_CONDITION)
        criteria = SearchCriteria(
            Glob.of(name) if name else None,
            None if not content else finder_of(content, regex=regex, ignore_case=ignore_case),
            context_lines,
            limit,
        )
        place = place_of(cursor)
        return await self._searcher.page(criteria, path, context, include_ignored=include_ignored, place=place)

    # Changing

    @tool(
        # It may replace existing content, and a second "append" appends again.
        effect="destructive",
        idempotent=False,
        title="Write a file",
        examples=({"path": "notes/today.md", "content": "# Today\n"},),
    )
    def write_file(
        self,
        path: PathArgument,
        content: Annotated[str, "Text or base64"],
        encoding: Annotated[WriteEncoding, "Of content: base64 for bytes"] = "utf-8",
        mode: Annotated[Mode, "create refuses an existing file"] = "create",
        create_parents: Annotated[bool, "Make missing directories"] = False,
        if_version: Version = "",
        context: Context | None = None,
    ) -> WrittenFile:
        """Write a file: make a new one, replace one, or add to its end. (写入文件)

        Use to store text or bytes. Not to change a part of a file: use edit_file. Secrets and files that run by
        themselves are refused. Side effects: changes the file; overwrite loses the old content.
        """
        new_content = content_of(content, encoding, self._limits.write_bytes)
        data = new_content.data
        target = self._file_target(path)
        self._check_write(target, new_content, mode, create_parents, if_version)
        self._ask_to_write(target, context)
        with self._changes(target), self._spot(target, create_parents, len(data)) as spot, self._directory_locks(spot):
            self._ask_at(spot, context)
            status = spot.status()
            if mode == "create" or status is None:
                check_version(spot, status, if_version)
                return create(spot, status, data, self._growth)
            with opened_to_replace(spot, if_version) as old:
                if mode == "append":
                    return append(spot, old, data, self._limits, self._growth)
                return replace(spot, old, data, self._growth)

    @tool(
        # The old text is in the call and in the diff, so it can be restored.
        effect="write",
        idempotent=False,
        title="Edit a file",
        read_when={"dry_run": True},
        examples=({"path": "a.py", "edits": [{"old_text": "a = 3", "new_text": "a = 5"}]},),
    )
    def edit_file(
        self,
        path: PathArgument,
        edits: Annotated[
            list[Edit],
            "All found in the file as it is; no overlap",
            Field(min_length=1, max_length=100),
        ],
        dry_run: Annotated[bool, "Only show the diff"] = False,
        if_version: Version = "",
        context: Context | None = None,
    ) -> EditedFile:
        """Edit a text file: replace exact pieces of text, all of them or none. (编辑文件)

        Use to change a part of a file that you have read. Not for a whole file: use write_file. Encoding and line
        endings stay. Side effects: changes the file; none with dry_run.
        """
        target = self._file_target(path)
        with self._changes(target), resolve_for_writing(target) as spot, self._directory_locks(spot):
            if spot.status() is None:
                raise FileNotFoundError(2, "")
            with opened_to_replace(spot, if_version) as old:
                plan = self._plan_edit(old, edits, target.display_path)
                version, size = version_of(old.status), len(plan.data)
                if not dry_run:
                    self._ask_at(spot, context)
                    version = replace(spot, old, plan.data, self._growth)["version"]
        result = EditedFile(
            path=target.display_path, dry_run=dry_run, replaced=len(plan.changes), diff="", size=size, version=version
        )
        if (encoding := plan.text.codec.encoding) != "utf-8":
            result["encoding"] = encoding
        self._show(result, plan.text, plan.changes)
        return result

    def _plan_edit(self, old: OldFile, edits: Sequence[Edit], display_path: str) -> _EditPlan:
        """The result of ``edits`` on a file. ``ToolError`` where they do not fit it."""
        text = self._text_of(old, display_path)
        changes = changes_of(text, edits, display_path)
        data = text.encode(apply_changes(text.content, changes))
        if len(data) > self._limits.write_bytes:
            raise ToolError.of(
                FILE_WOULD_GROW_TOO_LARGE, path=display_path, size=len(data), limit=self._limits.write_bytes
            )
        return _EditPlan(text, changes, data)

    def _text_of(self, old: OldFile, display_path: str) -> FileText:
        size = old.status.st_size
        if size > self._limits.write_bytes:
            raise ToolError.of(EDIT_FILE_TOO_LARGE, path=display_path, size=size, limit=self._limits.write_bytes)
        return FileText.of(read_at(old.fd, size, 0), display_path)

    def _show(self, result: EditedFile, text: FileText, changes: list[TextChange]) -> None:
        """Add the diff, as many lines of it as fit; bytes that are not text are shown as replacement characters."""
        room, lines = self._limits.diff_chars, unified_diff(text.content, changes, result["path"])
        diff_lines: list[str] = []
        for line in lines:
            room -= len(line)
            if room < 0:
                result["diff_cut"] = len(lines) - len(diff_lines)
                break
            diff_lines.append(line)
        result["diff"] = "".join(diff_lines).encode(errors="surrogateescape").decode(errors="replace")

    @tool(effect="write", idempotent=True, title="Make a directory", examples=({"path": "reports/2026"},))
    def create_directory(self, path: PathArgument, context: Context | None = None) -> CreatedDirectory:
        """Make a directory, and those above it that are missing. (创建目录)

        Use to prepare a place. Not for one file: use write_file. Side effects: makes directories.
        """
        target = self._entry_target(path)
        self._check_directory(target)
        self._ask_to_write(target, context)
        with self._changes(target):
            return make_directory(target, self._growth)

    @tool(
        # It never replaces an entry, and the same call the other way round undoes it.
        effect="write",
        idempotent=False,
        title="Move or rename",
        examples=({"source": "draft.md", "destination": "notes/final.md"},),
    )
    def move_file(
        self,
        source: PathArgument,
        destination: Annotated[str, "New path, its name included"],
        create_parents: Annotated[bool, "Make missing directories"] = False,
        context: Context | None = None,
    ) -> MovedEntry:
        """Move or rename a file or directory, in one step. (移动或重命名文件)

        Use to put something elsewhere. Not to replace: an existing destination is refused. Side
        effects: what was at source is at destination.
        """
        here, there = self._entry_target(source), self._entry_target(destination)
        self._check_move(here, there, create_parents)
        self._ask_to_write(there, context)
        with (
            self._changes(there),
            path_errors(here.display_path, here),
            here.folder.find(here.names, here.display_path, "write") as old,
        ):
            if old.status() is None:
                raise FileNotFoundError(2, "")
            with (
                path_errors(there.display_path, there),
                self._spot(there, create_parents) as new,
                self._directory_locks(old, new),
            ):
                self._ask_at(new, context)
                return move(old, here.folder, new)

    @tool(
        effect="destructive",
        idempotent=True,
        title="Delete a file or directory",
        examples=({"path": "build", "recursive": True},),
    )
    def delete_file(
        self,
        path: PathArgument,
        context: Context,
        recursive: Annotated[bool, "Also a directory that is not empty"] = False,
        if_version: Version = "",
    ) -> DeletedEntry:
        """Delete a file, a link (not what it points to), or a directory. (删除文件)

        Use only when the user wants it gone. Not to replace a file: use write_file. A person is asked, as a rule.
        Side effects: what is deleted is lost.
        """
        target = self._entry_target(path)
        with (
            self._changes(target),
            target.folder.find(target.names, target.display_path, "write") as spot,
            self._directory_locks(spot),
        ):
            check_version(spot, spot.status(), if_version)
            deletion = deletion_of(spot, target.folder, recursive, self._limits)
            self._ask(deletion, target.display_path, context)
            delete(spot, deletion)
            self._growth.add(-deletion.bytes, -deletion.entries)
            return DeletedEntry(
                path=target.display_path, type=deletion.kind, entries=deletion.entries, bytes=deletion.bytes
            )

    def _ask(self, deletion: Deletion, display_path: str, context: Context) -> None:
        """Return once a person has agreed to a large deletion; at once for a small one."""
        if context.agreed or not (deletion.is_directory or deletion.bytes > self._limits.unasked_bytes):
            return
        question = _question(
            QUESTION_DELETE_DIRECTORY if deletion.is_directory else QUESTION_DELETE_FILE,
            context,
            path=display_path,
            **_facts(deletion),
        )
        if not context.can_ask(question):
            refusal = NeedsAgreement.of(
                DELETE_APPROVAL_IMPOSSIBLE, path=display_path, entries=deletion.entries, bytes=deletion.bytes
            )
            raise refusal.because(question.message)
        # The figures are part of the key: the approval covers only what the person was shown.
        if not context.ask(question, key=f"delete:{deletion.entries}:{deletion.bytes}"):
            raise ToolError.of(DELETE_DENIED_BY_USER, path=display_path)

    def _ask_to_write(self, target: Target, context: Context | None) -> None:
        """Require approval for a file that other programs obey, before anything is created on the way there."""
        if not self._read_only and not target.folder.rules.denial(target.names, "write"):
            self._require_approval(target.folder.rules.asks(target.names), target.display_path, context)

    def _ask_at(self, spot: Spot, context: Context | None) -> None:
        """The same for the resolved place, after links were followed."""
        self._require_approval(spot.rules.asks(spot.names), spot.display_path, context)

    def _require_approval(self, asks: bool, display_path: str, context: Context | None) -> None:
        if not asks or (context is not None and context.agreed):
            return
        if context is None:
            raise ToolError.of(WRITE_APPROVAL_IMPOSSIBLE, path=display_path)
        question = _question(QUESTION_WRITE_OBEYED_FILE, context, path=display_path)
        if not context.can_ask(question):
            raise NeedsAgreement.of(WRITE_APPROVAL_IMPOSSIBLE, path=display_path).because(question.message)
        if not context.ask(question, key=f"obeyed:{display_path}"):
            raise ToolError.of(WRITE_DENIED_BY_USER, path=display_path)

    # Checks before a person is asked: nothing is changed here, and each call is checked again when it runs

    def _check_write(
        self, target: Target, content: Content, mode: Mode, create_parents: bool, if_version: str
    ) -> os.stat_result | None:
        """The entry at the place where a ``write_file`` call would write. ``ToolError`` where the call is sure to
        fail."""
        self._check_writable()
        with path_errors(target.display_path, target):
            try:
                with target.folder.find(target.names, target.display_path, "write") as spot:
                    return check_write(spot, content, mode, if_version, self._limits, self._growth)
            except FileNotFoundError:
                self._check_parents(target, create_parents, len(content.data))
        if if_version:
            raise ToolError.of(FILE_VERSION_CONFLICT, path=target.display_path)
        return None

    def _check_parents(self, target: Target, create_parents: bool, size: int = 0) -> None:
        """``ToolError`` where the missing directories above ``target`` may not be created."""
        if not create_parents:
            raise ToolError.of(PARENT_DIRECTORY_MISSING, path=target.display_path)
        self._growth.check(target.display_path, size, 1)

    def _check_directory(self, target: Target) -> None:
        self._check_writable()
        with path_errors(target.display_path, target), suppress(FileNotFoundError):
            with target.folder.find(target.names, target.display_path, "write") as spot:
                status = spot.status()
            if status is not None and not stat.S_ISDIR(status.st_mode):
                raise ToolError.of(DESTINATION_ALREADY_EXISTS, path=target.display_path)

    def _check_move(self, here: Target, there: Target, create_parents: bool) -> Kind:
        """The kind of entry that would be moved. ``ToolError`` where the call is sure to fail."""
        self._check_writable()
        with path_errors(here.display_path, here), here.folder.find(here.names, here.display_path, "write") as old:
            kind = check_source(old, here.folder)
        with path_errors(there.display_path, there):
            try:
                with there.folder.find(there.names, there.display_path, "write") as new:
                    is_free = new.status() is None
            except FileNotFoundError:
                self._check_parents(there, create_parents)
                is_free = True
        if not is_free:
            raise ToolError.of(DESTINATION_ALREADY_EXISTS, path=there.display_path)
        return kind

    def _check_writable(self) -> None:
        if self._read_only:
            raise ToolError.of(FILES_READ_ONLY)

    # Previews, shown to a person before they agree

    @preview_of(create_directory)
    def preview_create_directory(self, arguments: dict[str, Any]) -> str:
        self._check_directory(self._entry_target(arguments["path"]))
        return ""

    @preview_of(delete_file)
    def preview_delete_file(self, arguments: dict[str, Any]) -> Worded:
        target = self._entry_target(arguments["path"])
        self._check_writable()
        with (
            path_errors(target.display_path, target),
            target.folder.find(target.names, target.display_path, "write") as spot,
        ):
            check_version(spot, spot.status(), arguments.get("if_version", ""))
            deletion = deletion_of(spot, target.folder, bool(arguments.get("recursive")), self._limits)
            return Worded(EFFECT_DELETE_DIRECTORY if deletion.is_directory else EFFECT_DELETE_FILE, _facts(deletion))

    @preview_of(edit_file)
    def preview_edit_file(self, arguments: dict[str, Any]) -> Worded:
        target = self._file_target(arguments["path"])
        edits = [Edit(**edit) for edit in arguments["edits"]]
        self._check_writable()
        with path_errors(target.display_path, target), resolve_for_writing(target) as spot:
            if spot.status() is None:
                raise FileNotFoundError(2, "")
            with opened_to_replace(spot, arguments.get("if_version", "")) as old:
                plan = self._plan_edit(old, edits, target.display_path)
                if arguments.get("dry_run"):
                    return Worded(EFFECT_PREVIEW_EDIT, {"places": len(plan.changes)})
                size = old.status.st_size
                self._growth.check(target.display_path, len(plan.data) - size)
        return Worded(EFFECT_EDIT_FILE, {"places": len(plan.changes), "size": size, "length": len(plan.data)})

    @preview_of(move_file)
    def preview_move_file(self, arguments: dict[str, Any]) -> Worded:
        here, there = self._entry_target(arguments["source"]), self._entry_target(arguments["destination"])
        return Worded(EFFECT_MOVE_PATH, {"kind": self._check_move(here, there, bool(arguments.get("create_parents")))})

    @preview_of(write_file)
    def preview_write_file(self, arguments: dict[str, Any]) -> Worded:
        target, mode = self._file_target(arguments["path"]), arguments.get("mode", "create")
        content = content_of(arguments["content"], arguments.get("encoding", "utf-8"), self._limits.write_bytes)
        length = len(content.data)
        create_parents = bool(arguments.get("create_parents"))
        status = self._check_write(target, content, mode, create_parents, arguments.get("if_version", ""))
        if status is None:
            return Worded(EFFECT_CREATE_FILE, {"length": length})
        return Worded(
            EFFECT_APPEND_FILE if mode == "append" else EFFECT_REPLACE_FILE, {"length": length, "size": status.st_size}
        )

    # Paths

    def _entry_target(self, path: str) -> Target:
        """The target of ``path``, which must be an entry within a folder."""
        target = self._folders.target(path)
        if target is None or not target.names:
            raise ToolError.of(ROOT_FOLDER_NOT_CHANGEABLE, path=target.display_path if target else ".")
        return target

    def _file_target(self, path: str) -> Target:
        """The target of ``path``, which must be able to be a file."""
        target = self._folders.target(path)
        if target is None or path.endswith(("/", "/.")):
            raise is_directory(target, self.labels)
        return target

    def _spot(self, target: Target, create_parents: bool, size: int = 0) -> Spot:
        return resolve_with_parents(target, self._growth, size) if create_parents else resolve_for_writing(target)

    def _directory_locks(self, *spots: Spot) -> AbstractContextManager[None]:
        return directory_locks(*spots, seconds=self._limits.lock_seconds)

    @contextmanager
    def _changes(self, target: Target) -> Generator[None]:
        """Enclose every change: refused in read-only mode, and one at a time."""
        self._check_writable()
        with path_errors(target.display_path, target), self._changing:
            yield


def _entry(item: WalkEntry) -> DirectoryEntry:
    kind = KINDS.get(stat.S_IFMT(item.status.st_mode), "other")
    entry = DirectoryEntry(path="/".join(item.way), type=kind)
    if kind == "file":
        entry["size"] = item.status.st_size
    if item.closed is not None:
        entry["closed"] = item.closed
    return entry


def _look_into(info: FileInfo, head: bytes, name: str) -> None:
    codec = text_codec_of(head)
    info["media_type"] = media.media_type(head, name, is_text=codec is not None)
    info["text"] = codec is not None
    if codec is None:
        return
    info["encoding"] = codec.encoding
    text = codec.decode_lossy(head)
    breaks, carried = text.count("\n"), text.count("\r\n")
    if breaks:
        info["line_endings"] = "\\n" if not carried else "\\r\\n" if carried == breaks else "mixed"


def _facts(deletion: Deletion) -> dict[str, Any]:
    return {"kind": deletion.kind, "inner": deletion.entries - 1, "bytes": deletion.bytes}


def _question(code: str, context: Context, **facts: Any) -> Form[None]:
    return Form(Worded(code, facts).say(context.language))


def toolset(
    roots: Sequence[Path],
    *,
    limits: FileLimits | None = None,
    rules: PathRules | None = None,
    read_only: bool = False,
) -> LocalToolset:
    """The files tools over ``roots``, ready to be served; with ``read_only`` only those that change nothing.
    ``ConfigurationError`` for a root that is no folder."""
    tools = LocalToolset()
    files = Files(roots, limits=limits, rules=rules, read_only=read_only, threads=tools.pool)
    add_tools(tools, files, read_only=read_only)
    return tools

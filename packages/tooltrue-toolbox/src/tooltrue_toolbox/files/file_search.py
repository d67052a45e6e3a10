"""The search: a walk, the rules of ``.gitignore``, and the matching lines of each remaining file.

A page ends when it is full, when its time is up, or when its caller is gone; its cursor says where the next one starts.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from tooltrue.errors import ToolError
from tooltrue.tools.vocabulary import Slice
from tooltrue_toolbox.files.directory_walk import WalkEntries, WalkEntry
from tooltrue_toolbox.files.lines import LinedFile, lined_file
from tooltrue_toolbox.files.patterns import Glob, Ignores
from tooltrue_toolbox.files.text_codec import UTF_8
from tooltrue_toolbox.files.values import KINDS, FileLimits, SearchMatch, SearchResult
from tooltrue_toolbox.files.wording import FILES_EXTRA_MISSING, LISTING_CURSOR_MISMATCH
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import Folder, Names, path_errors

__all__ = ["IgnoreGuide", "Search", "SearchCriteria", "SearchPlace", "finder_of", "place_of"]

Finder = Callable[[bytes, int], int]
"""Returns the index of the first match in the bytes from an index on; -1 if there is no match."""

_VERSION_CONTROL = frozenset((".git", ".hg", ".svn", ".jj"))
_AROUND = 16_384
"""Number of bytes before and after a line that are searched for its context lines."""
_LARGEST_IGNORE = 256 << 10
_PASSED_OVER = frozenset((errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.ESTALE))
"""Errors of a file that is gone, replaced or unreadable. Any other failure would silently make the result wrong."""


# Criteria


@dataclass(frozen=True, slots=True)
class SearchCriteria:
    name: Glob | None
    content: Finder | None
    context_lines: int
    most: int


def finder_of(content: str, *, regex: bool, ignore_case: bool) -> Finder:
    """A finder for ``content``. ``ToolError`` when it is no valid regular expression, or no engine is installed."""
    if not regex and not ignore_case:
        needle = content.encode()
        return lambda data, at: data.find(needle, at)
    search = _linear(content, ignore_case) if regex else re.compile(_any_case(content)).search

    def find(data: bytes, at: int) -> int:
        match = search(data, at)
        return -1 if match is None else match.start()

    return find


def _linear(pattern: str, ignore_case: bool) -> Callable[[bytes, int], re.Match[bytes] | None]:
    try:
        from tooltrue_toolbox.re2 import finder  # noqa: PLC0415 - each family is loaded when it is named
    except ImportError as error:
        raise ToolError.of(FILES_EXTRA_MISSING) from error
    return finder(pattern, ignore_case=ignore_case)


def _any_case(text: str) -> bytes:
    """A pattern for ``text`` in upper and lower case; it never backtracks."""
    return b"".join(
        b"(?:%s)" % b"|".join(sorted(re.escape(form.encode()) for form in {char, char.lower(), char.upper()}))
        for char in text
    )


# The end of the last page


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """An entry, and how many of its lines and bytes were searched; both 0 when all of it was."""

    way: str
    lines: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.lines}:{self.offset}:{self.way}"


def place_of(cursor: str) -> SearchPlace | None:
    if not cursor:
        return None
    match = re.fullmatch(r"([0-9]{1,15}):([0-9]{1,15}):(.+)", cursor)
    if match is None:
        raise ToolError.of(LISTING_CURSOR_MISMATCH)
    return SearchPlace(match[3], int(match[1]), int(match[2]))


# Ignored entries


class IgnoreGuide:
    """A guide that follows the ``.gitignore`` of each directory, and skips the data of version control."""

    def __init__(self) -> None:
        self._rules: list[tuple[Names, Ignores]] = []

    def on_directory(self, way: Names, directory: int) -> None:
        while self._rules and way[: len(self._rules[-1][0])] != self._rules[-1][0]:
            self._rules.pop()
        with path_errors("/".join((*way, ".gitignore"))):
            text = _ignore_file(directory)
        if text:
            self._rules.append((way, Ignores(text)))

    def passes(self, way: Names, is_directory: bool) -> bool:
        return way[-1] in _VERSION_CONTROL or self._is_ignored(way, is_directory)

    def _is_ignored(self, way: Names, is_directory: bool) -> bool:
        for base, ignores in reversed(self._rules):
            if way[: len(base)] == base and (verdict := ignores.verdict(way[len(base) :], is_directory)) is not None:
                return verdict
        return False


def _ignore_file(directory: int) -> str:
    """The text of the ``.gitignore`` in a directory; empty where it cannot be read, as for git."""
    try:
        with _open_regular(".gitignore", directory) as ignore:
            return handles.read_at(ignore, _LARGEST_IGNORE, 0).decode(errors="replace").removeprefix("\ufeff")
    except OSError as error:
        if error.errno not in _PASSED_OVER:
            raise
        return ""


@contextmanager
def _open_regular(name: str, parent: int, expected: os.stat_result | None = None) -> Generator[int]:
    """Open a regular file, which must be the same as ``expected``; ``OSError`` for any other entry, links included."""
    fd = handles.open_file(parent, name)
    try:
        status = handles.file_status(fd)
        if not stat.S_ISREG(status.st_mode) or (expected is not None and not os.path.samestat(status, expected)):
            raise OSError(errno.ESTALE, "")
        yield fd
    finally:
        os.close(fd)


# The search


@dataclass
class Search:
    """One page. :meth:`run` fills it, on a thread; :meth:`stop`, from any thread, makes it end soon."""

    criteria: SearchCriteria
    limits: FileLimits
    clock: Callable[[], float]
    tell: Callable[[int, int], None]
    """Reports the number of entries looked at and the number of matches."""
    result: SearchResult
    slices: list[Slice]
    _stopped: threading.Event = field(default_factory=threading.Event)
    _room: int = 0
    _until: float = 0.0

    def stop(self) -> None:
        self._stopped.set()

    def run(
        self, walk_entries: WalkEntries, folder_of: Callable[[Names], Folder], start: int, place: SearchPlace | None
    ) -> None:
        """Fill ``result`` with the matches in ``walk_entries``. ``start``: number of leading names that lead to the
        searched directory."""
        self._room, self._until = self.limits.entry_bytes, self.clock() + self.limits.search_seconds
        for entry in walk_entries:
            way = "/".join(entry.way)
            begin = place if place is not None and place.way == way else SearchPlace(way)
            if entry.left_out:
                self._count("ignored")
            elif next_place := self._look(entry, begin, start, folder_of(entry.way)):
                self.result["next_cursor"] = str(next_place)
                return
            if self._is_over():
                self.result["next_cursor"] = str(SearchPlace(way))
                return

    def _is_over(self) -> bool:
        return self._stopped.is_set() or self.clock() >= self._until

    def _look(self, entry: WalkEntry, begin: SearchPlace, start: int, folder: Folder) -> SearchPlace | None:
        """Add the matches at ``entry``; return the place to continue from, once the page ends."""
        self.result["looked_at"] += 1
        if self.result["looked_at"] % 1_000 == 0:
            self.tell(self.result["looked_at"], len(self.result["matches"]))
        self._count("closed", entry.closed is not None)
        if self.criteria.name is not None and not self.criteria.name.fits(entry.way[start:]):
            return None
        if self.criteria.content is None:
            return self._add(_entry(entry, begin.way), SearchPlace(begin.way))
        if not stat.S_ISREG(entry.status.st_mode):
            return None
        with path_errors(begin.way):
            try:
                if _is_open(entry, folder):
                    with _open_regular(entry.way[-1], entry.parent, entry.status) as fd:
                        return self._lines(fd, begin)
            except OSError as error:
                if error.errno not in _PASSED_OVER:
                    raise
        self._count("closed")
        return None

    def _lines(self, fd: int, place: SearchPlace) -> SearchPlace | None:
        """Search one file from ``place`` on, in parts: at least one, however little time is left."""
        if (file := lined_file(fd)) is None:
            self._count("binary")
            return None
        while part := file.part(place.offset):
            for number, begin, at, end in self._matching_lines(part.data):
                line = place.lines + number + 1
                here, behind = part.line(number, begin, end)
                match = SearchMatch(path=place.way, line=line, text=self._line(part.data, begin, at, end))
                self._surround(match, file, here, behind)
                self._cut(match, file, part.data[begin:end].decode(errors="replace"), here, behind)
                is_whole = end < len(part.data)  # the end of a line that is longer than a part is still to come
                if full := self._add(match, SearchPlace(place.way, line if is_whole else line - 1, behind)):
                    return full
            place = SearchPlace(place.way, place.lines + part.data.count(b"\n"), part.end)
            if self._is_over():
                return place
        return None

    def _matching_lines(self, data: bytes) -> Iterator[tuple[int, int, int, int]]:
        """For each matching line: the number of lines before it, its begin, the place of the match, and its end."""
        find = self.criteria.content
        assert find is not None
        at, counted, number = 0, 0, 0
        while at <= len(data) and (at := find(data, at)) >= 0:
            begin = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            number += data.count(b"\n", counted, begin)
            counted = begin
            yield number, begin, at, end
            at = end + 1

    def _surround(self, match: SearchMatch, file: LinedFile, begin: int, end: int) -> None:
        """Add the context lines of a match, and the encoding of the file."""
        if self.criteria.context_lines:
            match["before"] = self._around(file, max(0, begin - _AROUND), begin)[-self.criteria.context_lines :]
            match["after"] = self._around(file, end, end + _AROUND)[: self.criteria.context_lines]
        if file.codec is not UTF_8:
            match["encoding"] = file.codec.encoding

    def _cut(self, match: SearchMatch, file: LinedFile, line: str, begin: int, end: int) -> None:
        """Record the text around each shown line: a secret may span several lines, or be longer than the shown part of
        one."""
        before, after = file.lines(max(0, begin - _AROUND), begin), file.lines(end, end + _AROUND)
        result_lines = [*match.get("before", ()), match.get("text", ""), *match.get("after", ())]
        first = len(before) - len(match.get("before", ()))
        lines = [*before, line, *after]
        whole, at = "\n".join(lines), sum(len(text) + 1 for text in lines[:first])
        for text, full in zip(result_lines, lines[first:], strict=False):
            plain = text.removeprefix("…").removesuffix("…")
            start = at + max(0, full.find(plain))
            self.slices.append(Slice.of(whole, start, start + len(plain), text))
            at += len(full) + 1

    def _around(self, file: LinedFile, begin: int, end: int) -> list[str]:
        """The lines between two offsets."""
        return [self._text(line) for line in file.lines(begin, end)]

    def _line(self, data: bytes, begin: int, at: int, end: int) -> str:
        """The line, or, when it is long, the part around the match."""
        start = begin if at - begin < self.limits.line_chars // 2 else at - self.limits.line_chars // 4
        text = self._text(data[start : min(end, start + 4 * self.limits.line_chars + 4)].decode(errors="replace"))
        return text if start == begin else "…" + text.removeprefix("\ufffd")

    def _text(self, line: str) -> str:
        text = line.removesuffix("\r")
        return text if len(text) <= self.limits.line_chars else text[: self.limits.line_chars] + "…"

    def _add(self, match: SearchMatch, place: SearchPlace) -> SearchPlace | None:
        matches = self.result["matches"]
        matches.append(match)
        self._room -= _weight(match)
        return place if len(matches) >= self.criteria.most or self._room <= 0 else None

    def _count(self, what: Literal["binary", "closed", "ignored"], more: int = 1) -> None:
        if more:
            self.result[what] = self.result.get(what, 0) + more


def _is_open(entry: WalkEntry, folder: Folder) -> bool:
    """Whether the rules allow reading the file."""
    is_second_name = entry.status.st_nlink > 1 and not folder.rules.allow_hard_links
    is_closed = folder.rules.denial_at(entry.names, "read") or folder.is_closed_file(entry.way[-1], entry.status)
    return not is_second_name and not is_closed


def _weight(match: SearchMatch) -> int:
    texts = (match["path"], match.get("text", ""), *match.get("before", ()), *match.get("after", ()))
    return sum(len(text.encode()) for text in texts)


def _entry(entry: WalkEntry, way: str) -> SearchMatch:
    kind = KINDS.get(stat.S_IFMT(entry.status.st_mode), "other")
    match = SearchMatch(path=way, type=kind)
    if kind == "file":
        match["size"] = entry.status.st_size
    return match

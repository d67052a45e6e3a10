"""Files and lines, found: a walk, what ``.gitignore`` leaves out, and the lines of each file that remains.

A page ends when it is full, when its time is over, or when nobody waits for it; it then says how the search goes on.
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

from toolwright.errors import ToolError
from toolwright.loading import load
from toolwright.toolbox.confined import Folder, Names, worded
from toolwright.toolbox.files.lines import LinedFile, lined_file
from toolwright.toolbox.files.patterns import Glob, Ignores
from toolwright.toolbox.files.text_codec import UTF_8
from toolwright.toolbox.files.values import KINDS, FileLimits, SearchMatch, SearchResult
from toolwright.toolbox.files.walking import Meetings, Met
from toolwright.tools.toolset import Slice

__all__ = ["Ignoring", "Place", "Search", "Wanted", "finder_of", "place_of"]

Finder = Callable[[bytes, int], int]
"""Where it is found in the bytes from a place on; -1 for nowhere."""

_VERSION_CONTROL = frozenset((".git", ".hg", ".svn", ".jj"))
_AROUND = 16_384
"""Bytes in which the lines around a line are looked for."""
_LARGEST_IGNORE = 256 << 10
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSED_OVER = frozenset((errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.ESTALE))
"""Of a file that is gone, exchanged or not to be read. With any other failure the result would be false in silence."""


# What is looked for


@dataclass(frozen=True, slots=True)
class Wanted:
    name: Glob | None
    content: Finder | None
    context_lines: int
    most: int


def finder_of(content: str, *, regex: bool, ignore_case: bool) -> Finder:
    """``ToolError`` when ``content`` is no regular expression, or when there is nothing to run one."""
    if not regex and not ignore_case:
        wanted = content.encode()
        return lambda data, at: data.find(wanted, at)
    search = _linear(content, ignore_case) if regex else re.compile(_any_case(content)).search

    def find(data: bytes, at: int) -> int:
        found = search(data, at)
        return -1 if found is None else found.start()

    return find


def _linear(pattern: str, ignore_case: bool) -> Callable[[bytes, int], re.Match[bytes] | None]:
    try:
        finder = load("toolbox.linear:finder")
    except ImportError as error:
        raise ToolError.of("TW6064") from error
    return finder(pattern, ignore_case=ignore_case)


def _any_case(text: str) -> bytes:
    """An expression for ``text`` in capital and small letters; it never goes back."""
    return b"".join(
        b"(?:%s)" % b"|".join(sorted(re.escape(form.encode()) for form in {char, char.lower(), char.upper()}))
        for char in text
    )


# Where the last page ended


@dataclass(frozen=True, slots=True)
class Place:
    """An entry, and how many lines and bytes of it were looked at; none, when it was all of it."""

    way: str
    lines: int = 0
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.lines}:{self.offset}:{self.way}"


def place_of(cursor: str) -> Place | None:
    if not cursor:
        return None
    said = re.fullmatch(r"([0-9]{1,15}):([0-9]{1,15}):(.+)", cursor)
    if said is None:
        raise ToolError.of("TW6060")
    return Place(said[3], int(said[1]), int(said[2]))


# What is left out


class Ignoring:
    """The guide that goes by the ``.gitignore`` of each directory, and leaves the data of version control alone."""

    def __init__(self) -> None:
        self._said: list[tuple[Names, Ignores]] = []

    def entered(self, way: Names, fd: int) -> None:
        while self._said and way[: len(self._said[-1][0])] != self._said[-1][0]:
            self._said.pop()
        with worded("/".join((*way, ".gitignore"))):
            text = _ignore_file(fd)
        if text:
            self._said.append((way, Ignores(text)))

    def passes(self, way: Names, is_directory: bool) -> bool:
        return way[-1] in _VERSION_CONTROL or self._is_ignored(way, is_directory)

    def _is_ignored(self, way: Names, is_directory: bool) -> bool:
        for base, ignores in reversed(self._said):
            if way[: len(base)] == base and (said := ignores.verdict(way[len(base) :], is_directory)) is not None:
                return said
        return False


def _ignore_file(fd: int) -> str:
    """The text of the ``.gitignore`` in a directory; nothing where it may not be read, as for git."""
    try:
        with _opened(".gitignore", fd) as ignore:
            return os.pread(ignore, _LARGEST_IGNORE, 0).decode(errors="replace").removeprefix("\ufeff")
    except OSError as error:
        if error.errno not in _PASSED_OVER:
            raise
        return ""


@contextmanager
def _opened(name: str, parent: int, known: os.stat_result | None = None) -> Generator[int]:
    """A regular file, the one that is ``known``; ``OSError`` for all else, links included."""
    fd = os.open(name, _OPEN, dir_fd=parent)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or (known is not None and not os.path.samestat(found, known)):
            raise OSError(errno.ESTALE, "")
        yield fd
    finally:
        os.close(fd)


# The search


@dataclass
class Search:
    """One page. :meth:`run` does it, on a thread; :meth:`stop`, from anywhere, makes it end soon."""

    wanted: Wanted
    limits: FileLimits
    clock: Callable[[], float]
    tell: Callable[[int, int], None]
    """How many entries were looked at, and how many matches there are."""
    result: SearchResult
    slices: list[Slice]
    _stopped: threading.Event = field(default_factory=threading.Event)
    _room: int = 0
    _until: float = 0.0

    def stop(self) -> None:
        self._stopped.set()

    def run(self, meetings: Meetings, folder_of: Callable[[Names], Folder], start: int, place: Place | None) -> None:
        """Fills ``result`` with what ``meetings`` brings. ``start``: names of a way that lead to where it begins."""
        self._room, self._until = self.limits.entry_bytes, self.clock() + self.limits.search_seconds
        for met in meetings:
            way = "/".join(met.way)
            begin = place if place is not None and place.way == way else Place(way)
            if met.left_out:
                self._count("ignored")
            elif left := self._look(met, begin, start, folder_of(met.way)):
                self.result["next_cursor"] = str(left)
                return
            if self._is_over():
                self.result["next_cursor"] = str(Place(way))
                return

    def _is_over(self) -> bool:
        return self._stopped.is_set() or self.clock() >= self._until

    def _look(self, met: Met, begin: Place, start: int, folder: Folder) -> Place | None:
        """Adds what is found at ``met``; the place where it goes on, once the page ends."""
        self.result["looked_at"] += 1
        if self.result["looked_at"] % 1_000 == 0:
            self.tell(self.result["looked_at"], len(self.result["matches"]))
        self._count("closed", met.closed is not None)
        if self.wanted.name is not None and not self.wanted.name.fits(met.way[start:]):
            return None
        if self.wanted.content is None:
            return self._add(_entry(met, begin.way), Place(begin.way))
        if not stat.S_ISREG(met.found.st_mode):
            return None
        with worded(begin.way):
            try:
                if _is_open(met, folder):
                    with _opened(met.way[-1], met.parent, met.found) as fd:
                        return self._lines(fd, begin)
            except OSError as error:
                if error.errno not in _PASSED_OVER:
                    raise
        self._count("closed")
        return None

    def _lines(self, fd: int, place: Place) -> Place | None:
        """The lines of one file from a place on, in parts: at least one, however little time there is."""
        if (file := lined_file(fd)) is None:
            self._count("binary")
            return None
        while part := file.part(place.offset):
            for number, begin, at, end in self._found(part.data):
                line = place.lines + number + 1
                here, behind = part.line(number, begin, end)
                match = SearchMatch(path=place.way, line=line, text=self._line(part.data, begin, at, end))
                self._surround(match, file, here, behind)
                self._cut(match, file, part.data[begin:end].decode(errors="replace"), here, behind)
                is_whole = end < len(part.data)  # the end of a line that is longer than a part is still to come
                if full := self._add(match, Place(place.way, line if is_whole else line - 1, behind)):
                    return full
            place = Place(place.way, place.lines + part.data.count(b"\n"), part.end)
            if self._is_over():
                return place
        return None

    def _found(self, data: bytes) -> Iterator[tuple[int, int, int, int]]:
        """Of each line that holds what is wanted: how many are before it, its begin, where that is, and its end."""
        find = self.wanted.content
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
        """Adds what stands around a line of the file, and its encoding."""
        if self.wanted.context_lines:
            match["before"] = self._around(file, max(0, begin - _AROUND), begin)[-self.wanted.context_lines :]
            match["after"] = self._around(file, end, end + _AROUND)[: self.wanted.context_lines]
        if file.codec is not UTF_8:
            match["encoding"] = file.codec.encoding

    def _cut(self, match: SearchMatch, file: LinedFile, line: str, begin: int, end: int) -> None:
        """Says what stands around each line that is shown: a secret may have several, or be longer than the line."""
        before, after = file.lines(max(0, begin - _AROUND), begin), file.lines(end, end + _AROUND)
        shown = [*match.get("before", ()), match.get("text", ""), *match.get("after", ())]
        first = len(before) - len(match.get("before", ()))
        lines = [*before, line, *after]
        whole, at = "\n".join(lines), sum(len(text) + 1 for text in lines[:first])
        for text, full in zip(shown, lines[first:], strict=False):
            plain = text.removeprefix("…").removesuffix("…")
            start = at + max(0, full.find(plain))
            self.slices.append(Slice.of(whole, start, start + len(plain), text))
            at += len(full) + 1

    def _around(self, file: LinedFile, begin: int, end: int) -> list[str]:
        """The lines between two offsets."""
        return [self._text(line) for line in file.lines(begin, end)]

    def _line(self, data: bytes, begin: int, at: int, end: int) -> str:
        """The line, or, when it is long, what is around the place."""
        start = begin if at - begin < self.limits.line_chars // 2 else at - self.limits.line_chars // 4
        text = self._text(data[start : min(end, start + 4 * self.limits.line_chars + 4)].decode(errors="replace"))
        return text if start == begin else "…" + text.removeprefix("\ufffd")

    def _text(self, line: str) -> str:
        text = line.removesuffix("\r")
        return text if len(text) <= self.limits.line_chars else text[: self.limits.line_chars] + "…"

    def _add(self, match: SearchMatch, place: Place) -> Place | None:
        matches = self.result["matches"]
        matches.append(match)
        self._room -= _weight(match)
        return place if len(matches) >= self.wanted.most or self._room <= 0 else None

    def _count(self, what: Literal["binary", "closed", "ignored"], more: int = 1) -> None:
        if more:
            self.result[what] = self.result.get(what, 0) + more


def _is_open(met: Met, folder: Folder) -> bool:
    """Whether the rules let anybody read the file that was met."""
    is_second_name = met.found.st_nlink > 1 and not folder.rules.allow_hard_links
    is_closed = folder.rules.denial_at(met.names, "read") or folder.is_closed_file(met.way[-1], met.found)
    return not is_second_name and not is_closed


def _weight(match: SearchMatch) -> int:
    texts = (match["path"], match.get("text", ""), *match.get("before", ()), *match.get("after", ()))
    return sum(len(text.encode()) for text in texts)


def _entry(met: Met, way: str) -> SearchMatch:
    kind = KINDS.get(stat.S_IFMT(met.found.st_mode), "other")
    match = SearchMatch(path=way, type=kind)
    if kind == "file":
        match["size"] = met.found.st_size
    return match

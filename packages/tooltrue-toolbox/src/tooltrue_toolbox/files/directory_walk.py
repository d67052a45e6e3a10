"""A walk through directories: depth first, in the order of names, following no link."""

from __future__ import annotations

import heapq
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from tooltrue.errors import ToolError
from tooltrue_toolbox.files.values import Closed
from tooltrue_toolbox.files.wording import LISTING_CURSOR_MISMATCH
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import Folder, Folders, Names, Target, is_listable

__all__ = ["Guide", "Walk", "WalkEntries", "WalkEntry", "after_cursor", "entries_below", "entries_of_folders"]


@dataclass(slots=True)
class WalkEntry:
    """An entry of the walk. ``names`` lead to it from its folder, even where ``way`` goes through links. ``parent`` is
    open only until the walk goes on; ``closed`` is the reason for not entering it. ``left_out``: the guide skips it,
    and all entries in it."""

    way: Names
    names: Names
    status: os.stat_result
    parent: int
    closed: Closed | None = None
    left_out: bool = False

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


WalkEntries = Generator[WalkEntry, None, None]


class Guide(Protocol):
    """Decides which entries are looked at."""

    def on_directory(self, way: Names, directory: int) -> None:
        """Called when the directory ``way`` is open, after the same call for each directory above it."""
        ...

    def passes(self, way: Names, is_directory: bool) -> bool:
        """Whether ``way`` is skipped with all entries in it; the walk still yields it."""
        ...


class Walk:
    """The walk itself. It holds one open directory for each level."""

    def __init__(self, most: int | None = None, guide: Guide | None = None, *, again: bool = False) -> None:
        """``most``: number of names of one directory to keep, the first ones; a page has no use for more. ``again``:
        yield the entry of the cursor once more."""
        self._most = most
        self._guide = guide
        self._again = again
        self.unshown = 0

    def entries(
        self, folder: Folder, directory: int, above: Names, depth: int, after: Names, *, base: Names
    ) -> WalkEntries:
        """The entries of ``directory`` that come after ``after``; ``above`` is the path to it, and ``base`` are
        its names in the folder."""
        names = self._names(directory, "".join(after[:1]))
        if self._guide is not None:
            self._guide.on_directory(above, directory)
        for name in names:
            listed = after[:1] == (name,)
            skipped = listed and not (self._again and len(after) == 1)
            try:
                status = handles.look(directory, name)
            except FileNotFoundError:
                continue  # gone since it was listed
            entry = WalkEntry((*above, name), (*base, name), status, directory)
            entry.left_out = self._guide is not None and self._guide.passes(entry.way, entry.is_directory)
            if entry.left_out or not entry.is_directory or depth == 1:
                if not skipped:
                    yield entry
                continue
            with _open_directory(folder, entry) as child:
                if not skipped:
                    yield entry
                if child is not None:
                    rest = after[1:] if listed else ()
                    yield from self.entries(folder, child, entry.way, depth - 1, rest, base=entry.names)

    def _names(self, directory: int, first: str) -> list[str]:
        """The names in ``directory`` in order, from ``first`` on."""
        with handles.entries(directory) as entries:
            names = (entry.name for entry in entries if entry.name >= first and self._shows(entry.name))
            return sorted(names) if self._most is None else heapq.nsmallest(self._most, names)

    def _shows(self, name: str) -> bool:
        is_shown = is_listable(name)
        self.unshown += not is_shown
        return is_shown


@contextmanager
def _open_directory(folder: Folder, entry: WalkEntry) -> Generator[int | None]:
    """The directory ``entry``, opened; ``None`` when it is closed to us, with the reason stored in ``entry.closed``."""
    name = entry.way[-1]
    if folder.rules.denial_at(entry.names, "read"):
        entry.closed = "secret"
        yield None
        return
    try:
        directory = handles.open_directory(entry.parent, name)
    except PermissionError:
        entry.closed = "permission"
        yield None
        return
    except (FileNotFoundError, NotADirectoryError):  # replaced since its status was read: no longer a directory
        yield None
        return
    try:
        status = handles.status(directory)
        if folder.is_closed(status):
            entry.closed = "secret"
        elif not folder.owns(status):
            entry.closed = "file system"
        yield None if entry.closed else directory
    finally:
        handles.close(directory)


def entries_below(walk: Walk, target: Target, prefix: Names, depth: int, after: Names) -> WalkEntries:
    """The entries of the directory ``target``; each path begins with ``prefix``."""
    with (
        target.folder.find((*target.names, "."), target.display_path, "read") as spot,
        spot.directory() as directory,
    ):
        yield from walk.entries(target.folder, directory, prefix, depth, after, base=spot.names[:-1])


def entries_of_folders(walk: Walk, folders: Folders, depth: int, after: Names) -> WalkEntries:
    """The folders themselves, where there are several, and their entries."""
    for label in folders.labels:
        if label < "".join(after[:1]):
            continue
        listed = after[:1] == (label,)
        target = Target(folders[label], (), label)
        if not listed:
            with target.folder.find((), label, "read") as spot:
                yield WalkEntry((label,), (), handles.status(spot.parent), spot.parent)
        if depth > 1:
            yield from entries_below(walk, target, (label,), depth - 1, after[1:] if listed else ())


def after_cursor(cursor: str, start: Names) -> Names:
    """The names of ``cursor`` below ``start``; the entries up to them were in earlier pages."""
    if not cursor:
        return ()
    names = tuple(cursor.split("/"))
    if names[: len(start)] != start or names == start or not all(names):
        raise ToolError.of(LISTING_CURSOR_MISMATCH)
    return names[len(start) :]

"""One page of a search as a call that can be cancelled: its start, its ignore rules, and the thread it runs on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from tooltrue.tools.threads import Lane
from tooltrue.tools.vocabulary import Context
from tooltrue_toolbox.files.directory_walk import Walk, after_cursor, entries_below, entries_of_folders
from tooltrue_toolbox.files.file_search import IgnoreGuide, Search, SearchCriteria, SearchPlace
from tooltrue_toolbox.files.values import FileLimits, SearchResult
from tooltrue_toolbox.rooted_paths import DEPTH, Folder, Folders, Names, Target, path_errors

__all__ = ["Searcher"]


@dataclass(frozen=True, slots=True)
class Searcher:
    folders: Folders
    limits: FileLimits
    lane: Lane
    clock: Callable[[], float]

    async def page(
        self, criteria: SearchCriteria, path: str, context: Context, *, include_ignored: bool, place: SearchPlace | None
    ) -> SearchResult:
        """The matches from ``place`` on, as many as fit in size and time. Cancelling the call ends the search soon."""
        target = self.folders.target(path)
        display_path = target.display_path if target else "."

        def tell(looked_at: int, matches: int) -> None:
            context.progress(looked_at, None, f"{looked_at} entries looked at, {matches} matches")

        result = SearchResult(path=display_path, matches=[], looked_at=0)
        search = Search(criteria, self.limits, self.clock, tell, result, context.slices)
        guide = None if include_ignored else IgnoreGuide()
        try:
            # A thread cannot be stopped from here; the search is signalled, and ends at its next entry.
            await asyncio.shield(self.lane.run(partial(self._run, search, target, guide, place)))
        finally:
            search.stop()
        return result

    def _run(self, search: Search, target: Target | None, guide: IgnoreGuide | None, place: SearchPlace | None) -> None:
        display_path = search.result["path"]
        start = () if display_path == "." else tuple(display_path.split("/"))
        after = after_cursor(place.way if place else "", start)
        walk = Walk(guide=guide, again=place is not None and place.offset > 0)
        if target is None:
            walk_entries = entries_of_folders(walk, self.folders, DEPTH, after)
        else:
            _tell_of_parents(guide, target, start)
            walk_entries = entries_below(walk, target, start, DEPTH, after)
        with path_errors(display_path, target), closing(walk_entries):
            search.run(walk_entries, partial(self._folder_of, target), len(start), place)

    def _folder_of(self, target: Target | None, way: Names) -> Folder:
        return self.folders[way[0]] if target is None else target.folder


def _tell_of_parents(guide: IgnoreGuide | None, target: Target, start: Names) -> None:
    """Load the ignore rules of the directories above the one to search, which apply in it as well."""
    if guide is None:
        return
    above = len(start) - len(target.names)
    with (
        path_errors(target.display_path, target),
        target.folder.find((*target.names, "."), target.display_path, "read") as spot,
    ):
        names = spot.names[:-1]
    for depth in range(len(names)):
        with (
            path_errors(target.display_path),
            target.folder.find((*names[:depth], "."), target.display_path, "read") as spot,
            spot.directory() as directory,
        ):
            guide.on_directory((*start[:above], *names[:depth]), directory)

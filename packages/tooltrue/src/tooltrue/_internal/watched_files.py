"""Files whose changes are found by looking at them now and then. No clock: the caller decides when to look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

__all__ = ["WatchedFiles"]

_State: TypeAlias = tuple[int, int, int] | None


class WatchedFiles:
    """The Python files in ``folder`` (not in folders below), if there is one, and any ``files`` beside them.

    A change is reported when two looks in succession have seen the same: an editor may write a file in several steps.
    """

    def __init__(self, folder: Path | None = None, files: Iterable[Path] = ()) -> None:
        self._folder = folder
        self._files = set(files)
        self._states = self._look()
        self._changing: Mapping[Path, _State] | None = None

    def add(self, files: Iterable[Path]) -> None:
        """Watch these files too, from their present state on."""
        new = {*files} - self._files
        self._files |= new
        self._states = {**{file: _state(file) for file in new}, **self._states}

    def changes(self) -> list[Path]:
        """Look once. The files that were changed, made or deleted since the last report, sorted."""
        now = self._look()
        if now == self._states:
            self._changing = None
            return []
        if now != self._changing:
            self._changing = now
            return []
        changed = sorted(file for file in {*now, *self._states} if now.get(file) != self._states.get(file))
        self._states, self._changing = now, None
        return changed

    def _look(self) -> dict[Path, _State]:
        in_folder = () if self._folder is None else self._folder.glob("*.py")
        return {file: _state(file) for file in {*self._files, *in_folder}}


def _state(file: Path) -> _State:
    """The state of a file that changes with its content; ``None`` if there is no such file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

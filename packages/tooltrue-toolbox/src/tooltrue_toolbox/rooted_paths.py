"""Folders that a path cannot leave: how the files tools turn a path from a model into an open descriptor.

A path is split into names (:meth:`Folders.target`), then followed name by name from a descriptor of its folder
(:meth:`Folder.find`). Each directory is opened relative to the one before, never through a link; links are read and
followed by hand, from the folder down. So path prefixes are never compared, and no path is checked first and opened
later: if a directory is swapped for a link during a call, the call stays in the old directory or is refused.

This is no defence against a process that may already write outside the folders, or move entries out of them.

Errors quote a path as the model gave it, never the folder's location on the machine.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import translate
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from typing import Literal

from tooltrue.caching import LONGEST, cache_short_texts
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.state.places import state_folder
from tooltrue.wording import LABEL_NO_NAMES, REASON_UNKNOWN, Worded
from tooltrue_toolbox.path_patterns import HARMLESS as HARMLESS_GROUPS
from tooltrue_toolbox.path_patterns import NEEDS_APPROVAL as ASKED_GROUPS
from tooltrue_toolbox.path_patterns import OBEYED, SECRET, patterns
from tooltrue_toolbox.platform import handles, path_syntax
from tooltrue_toolbox.platform.entry_handle import EntryHandle
from tooltrue_toolbox.wording import (
    PATH_CHARACTER_INVALID,
    PATH_CONTAINS_SECRETS,
    PATH_EMPTY,
    PATH_IS_DIRECTORY,
    PATH_IS_HARD_LINK,
    PATH_IS_SYMLINK,
    PATH_NAME_CHANGED_BY_WINDOWS,
    PATH_NOT_EXPANDED,
    PATH_NOT_FOUND,
    PATH_NOT_PORTABLE,
    PATH_NOT_REGULAR_FILE,
    PATH_ON_OTHER_FILE_SYSTEM,
    PATH_OUTSIDE_ROOTS,
    PATH_PARENT_NOT_DIRECTORY,
    PATH_PERMISSION_DENIED,
    PATH_REPLACED_DURING_CALL,
    PATH_SYSTEM_ERROR,
    PATH_TOO_LONG,
    PATH_TRAVERSAL,
    PATH_WRITE_PROTECTED,
    ROOT_FOLDER_NOT_SERVABLE,
    ROOT_FOLDER_REQUIRED,
    STORAGE_FULL,
    SYMLINK_LEAVES_ROOT,
    TOO_MANY_SYMLINKS,
    UNKNOWN_ROOT_LABEL,
)

__all__ = [
    "DEPTH",
    "NEEDS_APPROVAL",
    "PROTECTED",
    "SECRETS",
    "Folder",
    "Folders",
    "Maker",
    "Names",
    "PathRules",
    "Spot",
    "Target",
    "expressible",
    "is_directory",
    "is_listable",
    "is_protected",
    "path_errors",
]

Names = tuple[str, ...]
Use = Literal["read", "write"]
Maker = Callable[[str, int], None]
"""Creates a directory of that name in an open one; ``FileExistsError`` where it exists."""

LINKS = 40
"""The number of links that Linux follows in one path (path_resolution(7))."""

DEPTH = 100
"""Names in one path, links replaced. Far more than people use, and few enough to follow one by one."""

SECRETS = patterns(SECRET)
"""Neither read nor written, at any place in a path. Patterns over :func:`_folded` names."""

HARMLESS = patterns(HARMLESS_GROUPS)
"""Names that a pattern above would wrongly take for a secret."""

PROTECTED = patterns(OBEYED)
"""Read but not written: writing such a file makes another program run something."""

NEEDS_APPROVAL = patterns(ASKED_GROUPS)
"""Read, and written once a person has agreed."""

_DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))))
_UNSHOWABLE = frozenset(("Cc", "Cs", "Zl", "Zp"))


@dataclass(frozen=True, slots=True)
class PathRules:
    """The names that a path may contain. The tables hold patterns as in :mod:`fnmatch`, folded like the names."""

    secrets: tuple[str, ...] = SECRETS
    harmless: tuple[str, ...] = HARMLESS
    protected: tuple[str, ...] = PROTECTED
    needs_approval: tuple[str, ...] = NEEDS_APPROVAL
    allow_hard_links: bool = False
    """Files with a second name, which may lie outside the folder."""
    allow_other_filesystems: bool = False
    """Directories on which another file system is mounted, such as ``/proc``."""
    allow_windows_names: bool = False
    """Names that Windows reads as a drive, stream, share or device: ``a:b``, ``con.txt``, ``a\\b``."""
    places: tuple[Path, ...] = field(default_factory=lambda: (state_folder(),))
    """Our own folders and files, wherever they lie: neither read nor written. They hold the servers' records and
    people's approvals."""

    def denial(self, names: Names, use: Use) -> str | None:
        """The error code for the first of ``names`` that is closed for ``use``."""
        closed = (self.denial_at(names[: depth + 1], use) for depth in range(len(names)))
        return next(filter(None, closed), None)

    def denial_at(self, names: Names, use: Use) -> str | None:
        """The same for the last of ``names`` alone; those before it are its location."""
        near = tuple(map(_folded, names[-_LONGEST:]))
        if _is_secret(near, self.secrets, self.harmless):
            return PATH_CONTAINS_SECRETS
        return PATH_WRITE_PROTECTED if use == "write" and _fits(near, self.protected) else None

    def may_hold_secrets(self, names: Names) -> bool:
        """Whether an entry in a directory of these names may be a secret because of its location: under another name of
        the directory it would not be."""
        near = "/".join(map(_folded, names[-_LONGEST:]))
        return any(near == way or near.endswith(f"/{way}") for way in _table(self.secrets).stems)

    def asks(self, names: Names) -> bool:
        """Whether a person has to agree before a write there."""
        folded = tuple(map(_folded, names))
        return any(_fits(folded[: depth + 1][-_LONGEST:], self.needs_approval) for depth in range(len(folded)))


def is_protected(name: str) -> bool:
    """Whether no tool writes a file of this name under the default rules."""
    return PathRules().denial((name,), "write") is not None


_LONGEST = 3
"""Number of names in the longest pattern."""

_BACKUP = re.compile(
    r"[~#]+$|\.sw[a-p]$|[ ._-]+\d[\dtz:._-]*$|[ ._-]*\((?:copy|kopie|copia|copie|\d+)\)$|[ ._-]*(?:的)?副本$|"
    r"[ ._-]+(?:bak|backup|bkp|old|orig|original|save|saved|copy|kopie|copie|copia|tmp|temp|prev|previous|disabled|rej|"
    r"dpkg-[a-z]+|ucf-[a-z]+|rpm(?:save|new|orig)|gz|bz2|xz|zst|zip|tar|tgz)$"
)
_BACKUP_BEFORE = re.compile(
    r"^#+|^\.#|^~\$|^(?:copy|kopie|copia)(?: of| von| de|_of)?[ _-]+|^(?:backup|bak|old|orig)(?:[ _-]+|\.)"
)


@cache_short_texts(4096)
def _spellings(name: str) -> Names:
    """A folded name, and the names of which it may be a backup or a draft."""
    spellings = [name]
    while (stripped := _BACKUP_BEFORE.sub("", _BACKUP.sub("", spellings[-1]))) and stripped != spellings[-1]:
        spellings.append(stripped)
    if spellings[-1].startswith(".") and re.search(r"\.sw[a-p]$", name):
        spellings.append(spellings[-1][1:])  # an editor's draft is hidden
    return tuple(spellings)


def _is_secret(near: Names, secrets: tuple[str, ...], harmless: tuple[str, ...]) -> bool:
    judge = _matches_secrets if max(map(len, near)) <= LONGEST else _matches_secrets.__wrapped__
    return judge(near, secrets, harmless)


@lru_cache(maxsize=4096)
def _matches_secrets(near: Names, secrets: tuple[str, ...], harmless: tuple[str, ...]) -> bool:
    above = tuple(_spellings(name)[-1] for name in near[:-1])
    spellings = [(*way, name) for name in _spellings(near[-1]) for way in {near[:-1], above}]
    if any(_fits(each, harmless) for each in spellings):
        return False
    return any(_fits(each, secrets) for each in spellings)


@dataclass(frozen=True, slots=True)
class _PatternTable:
    """Patterns grouped by lookup: literal names, patterns for one name, and patterns for several."""

    names: frozenset[str]
    globs: re.Pattern[str]
    ways: re.Pattern[str]
    stems: frozenset[str]


def _fits(near: Names, patterns: tuple[str, ...]) -> bool:
    """Whether the last of ``near`` matches one of the ``patterns``; patterns of several names also use the names before
    it."""
    table = _table(patterns)
    name = near[-1]
    return name in table.names or bool(table.globs.match(name) or table.ways.search("/".join(near)))


@lru_cache(maxsize=64)
def _table(patterns: tuple[str, ...]) -> _PatternTable:
    folded = ["/".join(map(_folded, pattern.split("/"))) for pattern in patterns]
    ways = [pattern for pattern in folded if "/" in pattern]
    globs = [pattern for pattern in folded if "/" not in pattern and set(pattern) & set("*?[")]
    return _PatternTable(
        frozenset(folded) - {*ways, *globs},
        re.compile("|".join(map(translate, globs)) or r"(?!)"),
        re.compile("|".join(f"(?:^|/){_way(way)}$" for way in ways) or r"(?!)"),
        frozenset(way[:at] for way in ways for at in range(len(way)) if way[at] == "/"),
    )


def _way(pattern: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char) for char in pattern)


@cache_short_texts(1024)
def _folded(name: str) -> str:
    """``name`` as the most lenient file system would compare it.

    Case and normal form do not count (APFS, NTFS), nor do invisible characters (HFS+, CVE-2014-9390), nor a stream or
    trailing dots and spaces (NTFS). A name that is closed needlessly costs less than one that is open.
    """
    if name.isascii():
        return name.lower().split(":")[0].rstrip(". ")
    visible = "".join(
        c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf" and c not in _UNSEEN
    )
    return unicodedata.normalize("NFC", visible.casefold()).split(":")[0].rstrip(". ")


_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | {
    chr(number)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for number in range(first, last + 1)
}
"""Invisible characters besides format characters: fillers, and variation selectors of the preceding character."""


def expressible(name: str) -> bool:
    """Whether ``name`` can be shown and requested: valid Unicode without control characters or line breaks."""
    if name.isascii():
        return name.isprintable()
    return not any(unicodedata.category(c) in _UNSHOWABLE for c in name)


# From paths to names


@dataclass(frozen=True, slots=True)
class Target:
    """The meaning of a path from the model. Errors and results call it ``display_path``."""

    folder: Folder
    names: Names
    display_path: str

    def near(self) -> tuple[str, str | Worded]:
        """The deepest directory on the way that can be listed, and the names in it, the most similar first."""
        above = self.display_path.split("/")[: -len(self.names)] if self.names else ()
        for depth in reversed(range(len(self.names))):
            before = self.names[:depth]
            with suppress(OSError, ToolError):
                names = self.folder.open_names(before)
                return "/".join((*above, *before)) or ".", _brief_list(names, self.names[depth])
        return self.display_path, _NONE

    def inside(self) -> str | Worded:
        """The names in a directory."""
        with suppress(OSError, ToolError):
            return _brief_list(self.folder.open_names(self.names), "")
        return _NONE


_NONE = Worded(LABEL_NO_NAMES, {})
_MOST_NAMED = 10
_MOST_LISTED = 5_000


def _brief_list(names: Sequence[str], target_name: str) -> str | Worded:
    """A few of ``names`` for a sentence, those most similar to ``target_name`` first."""
    folded = {name.casefold(): name for name in sorted(names, reverse=True)}
    alike = [folded[name] for name in get_close_matches(target_name.casefold(), list(folded), _MOST_NAMED, 0.6)]
    ranking = [*alike, *sorted(set(names) - set(alike))]
    if not ranking:
        return _NONE
    return ", ".join(map(repr, ranking[:_MOST_NAMED])) + (", …" if len(ranking) > _MOST_NAMED else "")


def _split(path: str) -> tuple[str, Names]:
    """The anchor of ``path``, such as ``/``, empty for a relative one, and its names.

    ``~``, ``%2e`` and a trailing space are ordinary characters: a path is not expanded, decoded or trimmed.
    """
    if not path:
        raise ToolError.of(PATH_EMPTY)
    if not expressible(path):
        raise ToolError.of(PATH_CHARACTER_INVALID, path=_brief(path))
    anchor_and_parts = path_syntax.split(path)
    if anchor_and_parts is None:
        raise ToolError.of(PATH_NOT_PORTABLE, path=_brief(path))
    anchor, parts = anchor_and_parts
    if ".." in parts:
        raise ToolError.of(PATH_TRAVERSAL, path=_brief(path))
    return anchor, tuple(part for part in parts if part not in ("", "."))


def _is_shown_and_opened(name: str) -> bool:
    return expressible(name) and not path_syntax.is_refused(name)


is_listable = expressible if path_syntax.TAKES_ANY_NAME else _is_shown_and_opened
"""Whether an entry of this name can be shown, and opened when it is asked for."""


def _means_more_on_windows(name: str) -> bool:
    return "\\" in name or ":" in name or name.split(".")[0].rstrip(" ").casefold() in _DEVICES


def _brief(path: str) -> str:
    """``path`` for a sentence: a long one is cut, and an absolute path is not repeated."""
    if path_syntax.is_absolute(path):
        return "/…"
    return path if len(path) <= 200 else f"{path[:200]}…"


def _absolute(path: Path) -> frozenset[Names]:
    """The anchor and the names of an absolute folder, as it was written and with its links resolved."""
    return frozenset(_comparable(path_syntax.anchored(Path(way(path)))) for way in (os.path.abspath, os.path.realpath))


def _comparable(names: Names) -> Names:
    return tuple(map(path_syntax.comparable, names))


class Folders:
    """The served folders, held open until :meth:`close`. Use as a context manager, or keep for the process's life.

    One folder is addressed by plain relative paths; of several, each by its label: ``label/…``.
    """

    def __init__(self, paths: Sequence[Path], rules: PathRules | None = None) -> None:
        """Open the folders; ``ConfigurationError`` when the list is empty or one of them is no directory."""
        if not paths:
            raise ConfigurationError.of(ROOT_FOLDER_REQUIRED)
        self.rules = rules or PathRules()
        with ExitStack() as opened:
            self._folders: dict[str, Folder] = {}
            for path in paths:
                label = _label(path, self._folders)
                self._folders[label] = Folder(label, path, self.rules)
                opened.callback(self._folders[label].close)
            opened.pop_all()

    @property
    def labels(self) -> tuple[str, ...]:
        """Sorted. With one folder the label is not part of a path."""
        return tuple(sorted(self._folders))

    @property
    def several(self) -> bool:
        return len(self._folders) > 1

    def __getitem__(self, label: str) -> Folder:
        return self._folders[label]

    def __enter__(self) -> Folders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptors; every later call is refused. No call may be running."""
        for folder in self._folders.values():
            folder.close()

    def target(self, path: str) -> Target | None:
        """The target of ``path``; ``None`` for the place above several folders. ``ToolError`` when the path is
        refused."""
        anchor, names = _split(path)
        if anchor:
            return self._absolute((anchor, *names))
        self._check(names)
        if not self.several:
            (folder,) = self._folders.values()
            return Target(folder, names, "/".join(names) or ".")
        return self._target_of_label(names) if names else None

    def _check(self, names: Names) -> None:
        """Check the names within a folder; the folder's own name is the operator's choice."""
        if not self.rules.allow_windows_names and any(map(_means_more_on_windows, names)):
            raise ToolError.of(PATH_NOT_PORTABLE, path=_brief("/".join(names)))
        if any(map(path_syntax.is_refused, names)):
            raise ToolError.of(PATH_NAME_CHANGED_BY_WINDOWS, path=_brief("/".join(names)))

    def _target_of_label(self, names: Names) -> Target:
        folder = self._folders.get(names[0])
        if folder is None:
            raise ToolError.of(UNKNOWN_ROOT_LABEL, name=_brief(names[0]), labels=", ".join(self.labels))
        return Target(folder, names[1:], "/".join(names))

    def _absolute(self, names: Names) -> Target:
        """The innermost folder above ``names``, an anchor and names, compared name by name as the system does."""
        keys = _comparable(names)
        candidates = [(len(base), f) for f in self._folders.values() for base in f.bases if keys[: len(base)] == base]
        if not candidates:
            raise ToolError.of(PATH_OUTSIDE_ROOTS, near=self._beginnings(names[1:]))
        length, folder = max(candidates, key=lambda each: each[0])
        rest = names[length:]
        self._check(rest)
        display_path = "/".join((folder.label, *rest) if self.several else rest)
        return Target(folder, rest, display_path or ".")

    def _beginnings(self, names: Names) -> str | Worded:
        """The possible first names of a path, for the error about an absolute path outside the folders."""
        if self.several:
            return _brief_list([f"{label}/" for label in self.labels], "")
        (folder,) = self._folders.values()
        return Target(folder, names[-1:], "/".join(names[-1:])).near()[1]


def _label(path: Path, folders: dict[str, Folder]) -> str:
    """The name of the folder, made unique by a number; ``folder`` where its name cannot be part of a path."""
    name = Path(os.path.abspath(path)).name
    if not name or not is_listable(name) or _means_more_on_windows(name):
        name = "folder"
    return name if name not in folders else next(f"{name}-{n}" for n in count(2) if f"{name}-{n}" not in folders)


# From names to descriptors


@dataclass(frozen=True, slots=True)
class Spot:
    """A name in an open directory, with no link before it. The caller closes it, by ``with``.

    ``parent`` can only be started from, by :mod:`~tooltrue_toolbox.platform.handles`; ``names`` lead there from the
    folder, the last one included.
    """

    parent: int
    names: Names
    display_path: str
    rules: PathRules

    @property
    def name(self) -> str:
        return self.names[-1]

    def __enter__(self) -> Spot:
        return self

    def __exit__(self, *_: object) -> None:
        handles.close(self.parent)

    def status(self) -> os.stat_result | None:
        """The status of the entry at the name, links not followed; ``None`` if it is missing."""
        try:
            return handles.look(self.parent, self.name)
        except FileNotFoundError:
            return None

    @contextmanager
    def file(self, *, writable: bool = False) -> Generator[int]:
        """Open the regular file at the name, a descriptor. ``ToolError`` for any other entry.

        Its status is checked before it is opened, since opening a device may already have an effect, and again
        afterwards, since it may have been replaced in between.
        """
        self.must_be_plain(handles.look(self.parent, self.name))
        fd = handles.open_file(self.parent, self.name, writable=writable)
        try:
            self.must_be_plain(handles.file_status(fd))
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def directory(self) -> Generator[int]:
        """The directory at the name, opened for reading its entries."""
        directory = handles.open_directory(self.parent, self.name)
        try:
            yield directory
        finally:
            handles.close(directory)

    def must_be_plain(self, status: os.stat_result) -> None:
        """``ToolError`` unless ``status`` is that of a regular file with one name."""
        if stat.S_ISLNK(status.st_mode):
            raise ToolError.of(PATH_IS_SYMLINK, path=self.display_path)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "")  # worded() lists the names in it
        if not stat.S_ISREG(status.st_mode):
            raise ToolError.of(PATH_NOT_REGULAR_FILE, path=self.display_path)
        if status.st_nlink > 1 and not self.rules.allow_hard_links:
            raise ToolError.of(PATH_IS_HARD_LINK, path=self.display_path)


class Folder:
    """One folder, held open: the only starting point for a path into it."""

    def __init__(self, label: str, path: Path, rules: PathRules) -> None:
        self.label = label
        self.bases = _absolute(path)
        self.rules = rules
        self._closed = tuple(_below(self.bases, rules.places))
        self._closed_names = frozenset(names[-1] for names in self._closed if names)
        try:
            self._root = handles.open_root(path)
        except OSError as error:
            raise ConfigurationError.of(ROOT_FOLDER_NOT_SERVABLE, folder=str(path), problem=error.strerror) from error
        self.device = handles.status(self._root).st_dev

    def close(self) -> None:
        """Close the folder. Idempotent."""
        # -1 is no open directory, so a late call is refused instead of starting from a reused number.
        root, self._root = self._root, -1
        if root >= 0:
            handles.close(root)

    def find(self, names: Names, display_path: str, use: Use, *, make: Maker | None = None) -> Spot:
        """Resolve ``names`` to a spot; ``.`` as the last name leads to a directory itself.

        For ``read`` a link at the end is followed and an entry must exist; for ``write`` the last name is left as it
        is, and missing directories on the way are created by ``make``. Names are checked as they were given and again
        behind every link. ``ToolError`` for a path that is closed or leads outside, ``OSError`` for a missing entry.
        """
        for _ in range(LINKS + 1):
            self._check(names, display_path, use)
            if len(names) > DEPTH:
                raise ToolError.of(PATH_TOO_LONG, path=_brief(display_path))
            result = self._descend(names or (".",), display_path, use, make)
            if isinstance(result, Spot):
                return result
            names = result
        raise ToolError.of(TOO_MANY_SYMLINKS, path=display_path)

    def _check(self, names: Names, display_path: str, use: Use) -> None:
        """``ToolError`` where the rules or the closed places close ``names``."""
        if code := self.rules.denial(names, use):
            raise ToolError.of(code, path=display_path)
        if any(tuple(map(_folded, names[: len(closed)])) == closed for closed in self._closed):
            raise ToolError.of(PATH_CONTAINS_SECRETS, path=display_path)

    def _descend(self, names: Names, display_path: str, use: Use, make: Maker | None) -> Spot | Names:
        """The spot, or, at the first link, the names to start again with: the link is replaced by its target."""
        if (spot := self._straight(names, display_path, use)) is not None:
            return spot
        stored: list[str] = []
        with _Position(handles.duplicate(self._root)) as here:
            for depth, name in enumerate(names):
                if name == "..":
                    # Only a link contains "..". All names before it are directories by now, so the name before it is
                    # dropped.
                    return _upward(names[:depth], display_path) + names[depth + 1 :]
                last = depth == len(names) - 1
                if last and use == "write":
                    stored.append(handles.stored_name(here.directory, name))
                    break
                with _peek(here.directory, name, make) as there:
                    if stat.S_ISLNK(there.status.st_mode):
                        return _through(names, depth, handles.link_target(here.directory, there), display_path)
                    if not last or stat.S_ISDIR(there.status.st_mode):
                        self._must_be_ours(there.status, display_path)
                    if not last:
                        here.enter(there)
                    stored.append(there.name)
            if tuple(stored) != names:  # another name of the same entry must not open what its own name closes
                self._check(tuple(stored), display_path, use)
            return Spot(here.taken(), tuple(stored), display_path, self.rules)

    def _straight(self, names: Names, display_path: str, use: Use) -> Spot | None:
        """The spot, when one system call leads there: then no link and no mount is on the way.

        ``None`` otherwise; the path is then followed name by name, which also finds the right error message.
        """
        if ".." in names:  # only a link contains it, and the name it drops may be a link as well
            return None
        mounts = self.rules.allow_other_filesystems
        parent = handles.beneath(self._root, "/".join(names[:-1]) or ".", mounts=mounts)
        if parent is None:
            return None
        spot = Spot(parent, names, display_path, self.rules)
        try:
            status = spot.status() if use == "read" else None
        except BaseException:
            handles.close(parent)
            raise
        if use == "write" or (status is not None and self._ends_at(status)):
            return spot
        handles.close(parent)
        return None

    def _ends_at(self, status: os.stat_result) -> bool:
        is_link, is_directory = stat.S_ISLNK(status.st_mode), stat.S_ISDIR(status.st_mode)
        return not is_link and (not is_directory or self.owns(status))

    def open_names(self, names: Names) -> list[str]:
        """The entries of a directory, except those that the rules close; a directory ends in ``/``."""
        with (
            self.find((*names, "."), "", "read") as spot,
            spot.directory() as directory,
            handles.entries(directory) as entries,
        ):
            return [
                f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
                for entry in islice(entries, _MOST_LISTED)
                if is_listable(entry.name) and self._is_open((*spot.names[:-1], entry.name))
            ]

    def _is_open(self, names: Names) -> bool:
        is_closed = any(tuple(map(_folded, names[: len(closed)])) == closed for closed in self._closed)
        return not is_closed and self.rules.denial(names, "write") is None

    def holds_closed(self, names: Names) -> bool:
        """Whether a closed place lies at or below ``names``, so that moving or removing them would open it."""
        return any(closed[: len(names)] == tuple(map(_folded, names)) for closed in self._closed)

    def _must_be_ours(self, status: os.stat_result, display_path: str) -> None:
        if not stat.S_ISDIR(status.st_mode):
            raise ToolError.of(PATH_PARENT_NOT_DIRECTORY, path=display_path)
        if not self.owns(status):
            raise ToolError.of(PATH_ON_OTHER_FILE_SYSTEM, path=display_path)

    def is_closed(self, directory: os.stat_result) -> bool:
        """Whether a directory is one of the places that the rules close."""
        return any(_same(place, directory) for place in self.rules.places)

    def is_closed_file(self, name: str, status: os.stat_result) -> bool:
        """Whether a file of this name is one of those places; the name alone rules out most files."""
        return _folded(name) in self._closed_names and any(_same(place, status) for place in self.rules.places)

    def owns(self, directory: os.stat_result) -> bool:
        """Whether a directory is the folder's own and not a mount. (Files of an overlay have devices of their own.)"""
        return self.rules.allow_other_filesystems or directory.st_dev == self.device


def _below(bases: frozenset[Names], places: tuple[Path, ...]) -> Generator[Names]:
    """The names that lead from a folder to the closed places in it; empty for a folder that lies within one of them."""
    for base in bases:
        for place in (names for each in places for names in _absolute(each)):
            if place[: len(base)] == base or base[: len(place)] == place:
                yield tuple(map(_folded, place[len(base) :]))


def _same(place: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(handles.path_status(place), status)
    except OSError:
        return False


class _Position:
    """The directory that a walk has come to. It is closed at the end of the ``with``, unless it is taken from here."""

    __slots__ = ("_owned", "directory")

    def __init__(self, directory: int) -> None:
        self.directory = directory
        self._owned = True

    def __enter__(self) -> _Position:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owned:
            handles.close(self.directory)

    def enter(self, entry: EntryHandle) -> None:
        """Go on to the directory ``entry``, which was looked at from here."""
        assert entry.handle is not None
        self.directory, entry.handle = entry.handle, self.directory

    def taken(self) -> int:
        self._owned = False
        return self.directory


def _peek(parent: int, name: str, make: Maker | None = None) -> EntryHandle:
    """The entry at ``name`` without opening it, a link as the link itself; ``make`` creates a missing directory."""
    try:
        return handles.peek(parent, name)
    except FileNotFoundError:
        if make is None:
            raise
    with suppress(FileExistsError):  # another call makes the same directory
        make(name, parent)
    return handles.peek(parent, name)


def _through(names: Names, depth: int, link: str, display_path: str) -> Names:
    """``names`` with the one at ``depth`` replaced by the target of its link."""
    if link.startswith("/"):
        raise ToolError.of(SYMLINK_LEAVES_ROOT, path=display_path)
    before, steps = names[:depth], [part for part in link.split("/") if part not in ("", ".")]
    while steps and steps[0] == "..":
        before = _upward(before, display_path)
        steps.pop(0)
    return (*before, *steps, *names[depth + 1 :])


def _upward(names: Names, display_path: str) -> Names:
    if not names:
        raise ToolError.of(SYMLINK_LEAVES_ROOT, path=display_path)
    return names[:-1]


# From system errors to messages for the model


def is_directory(target: Target | None, labels: Sequence[str]) -> ToolError:
    """The refusal of a directory where a file is needed; ``None`` is the place above several folders."""
    if target is None:
        return ToolError.of(PATH_IS_DIRECTORY, path=".", near=_brief_list([f"{label}/" for label in labels], ""))
    return ToolError.of(PATH_IS_DIRECTORY, path=target.display_path, near=target.inside())


_CODES: dict[int, str] = {
    errno.ENOENT: PATH_NOT_FOUND,
    errno.ENOTDIR: PATH_PARENT_NOT_DIRECTORY,
    errno.EISDIR: PATH_IS_DIRECTORY,
    errno.ENXIO: PATH_NOT_REGULAR_FILE,
    errno.ENAMETOOLONG: PATH_TOO_LONG,
    errno.ELOOP: PATH_REPLACED_DURING_CALL,
    errno.EACCES: PATH_PERMISSION_DENIED,
    errno.EPERM: PATH_PERMISSION_DENIED,
    errno.EROFS: PATH_PERMISSION_DENIED,
    errno.ETXTBSY: PATH_PERMISSION_DENIED,
    errno.ENOSPC: STORAGE_FULL,
    errno.EDQUOT: STORAGE_FULL,
    errno.EFBIG: STORAGE_FULL,
}


@contextmanager
def path_errors(display_path: str, target: Target | None = None) -> Generator[None]:
    """Turn an ``OSError`` about ``display_path`` into a ``ToolError`` without the system's own text, which holds paths.
    It lists names near ``target``: not every family has a tool that lists files."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        code = _CODES.get(number, PATH_SYSTEM_ERROR)
        if code == PATH_NOT_FOUND and any(mark in display_path for mark in "~$%"):
            code = PATH_NOT_EXPANDED
        facts = _surroundings(code, target)
        raise ToolError.of(
            code, path=display_path, problem=errno.errorcode.get(number, Worded(REASON_UNKNOWN, {})), **facts
        ) from error


def _surroundings(code: str, target: Target | None) -> dict[str, str | Worded]:
    if target is None:
        return {"parent": ".", "near": _NONE}
    if code == PATH_IS_DIRECTORY:
        return {"near": target.inside()}
    if code not in (PATH_NOT_FOUND, PATH_NOT_EXPANDED):
        return {}
    parent, near = target.near()
    return {"parent": parent, "near": near}

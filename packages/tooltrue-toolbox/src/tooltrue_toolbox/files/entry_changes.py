"""Changes of names and not of content: directories created, entries moved, entries deleted.

A move is one step of the system, and so is the first step of deleting a directory, which renames it before its entries
are removed. So a process that dies leaves either all or none of it under the old name.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from dataclasses import dataclass

from tooltrue.errors import ToolError
from tooltrue.wording import REASON_UNKNOWN, Worded
from tooltrue_toolbox.files.directory_walk import Walk
from tooltrue_toolbox.files.file_writer import Growth, sync_directory
from tooltrue_toolbox.files.values import KINDS, Closed, CreatedDirectory, FileLimits, Kind, MovedEntry
from tooltrue_toolbox.files.wording import (
    DELETE_CONTAINS_PROTECTED_PATH,
    DELETE_INCOMPLETE,
    DELETE_TOO_MANY_ENTRIES,
    DESTINATION_ALREADY_EXISTS,
    DIRECTORY_NOT_EMPTY,
    MOVE_ACROSS_DISKS,
    MOVE_INTO_OWN_SUBTREE,
    ROOT_FOLDER_NOT_CHANGEABLE,
)
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import DEPTH, Folder, Spot, Target
from tooltrue_toolbox.wording import (
    PATH_CONTAINS_SECRETS,
    PATH_NOT_REGULAR_FILE,
    PATH_ON_OTHER_FILE_SYSTEM,
    PATH_PERMISSION_DENIED,
)

__all__ = ["Deletion", "check_source", "delete", "deletion_of", "make_directory", "move"]


def kind_of(status: os.stat_result) -> Kind:
    return KINDS.get(stat.S_IFMT(status.st_mode), "other")


def make_directory(target: Target, growth: Growth) -> CreatedDirectory:
    """Create the directory, and the missing ones above it."""
    make = growth.maker(target.display_path)
    with target.folder.find(target.names, target.display_path, "write", make=make) as spot:
        if (status := spot.status()) is None:
            make(spot.name, spot.parent)
            sync_directory(spot)
        elif not stat.S_ISDIR(status.st_mode):
            raise ToolError.of(DESTINATION_ALREADY_EXISTS, path=target.display_path)
        return CreatedDirectory(path=target.display_path, created=status is None)


def move(source: Spot, source_folder: Folder, destination: Spot) -> MovedEntry:
    """Move ``source``. ``ToolError`` when the destination exists, or when the source may not be moved."""
    kind = check_source(source, source_folder)
    try:
        _rename(source, destination, is_directory=kind == "directory")
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise ToolError.of(DESTINATION_ALREADY_EXISTS, path=destination.display_path) from error
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            raise ToolError.of(DESTINATION_ALREADY_EXISTS, path=destination.display_path) from error
        if error.errno == errno.EINVAL:
            raise ToolError.of(MOVE_INTO_OWN_SUBTREE, path=source.display_path) from error
        if error.errno == errno.EXDEV:
            raise ToolError.of(MOVE_ACROSS_DISKS, path=source.display_path) from error
        raise
    sync_directory(destination)
    sync_directory(source)
    return MovedEntry(source=source.display_path, path=destination.display_path, type=kind)


def check_source(source: Spot, folder: Folder) -> Kind:
    """The kind of entry that would be moved. ``ToolError`` for one that may not be moved, ``FileNotFoundError`` for a
    missing one."""
    status = _there(source)
    if not stat.S_ISDIR(status.st_mode):
        source.must_be_plain(status)
    elif folder.holds_closed(source.names) or _holds_secrets(source, folder):
        raise ToolError.of(PATH_CONTAINS_SECRETS, path=source.display_path)
    return kind_of(status)


def _holds_secrets(spot: Spot, folder: Folder) -> bool:
    """Whether a directory holds an entry that would no longer count as a secret once the directory is renamed."""
    if not folder.rules.may_hold_secrets(spot.names):
        return False
    with spot.directory() as directory:
        entries = Walk().entries(folder, directory, (), DEPTH + 1, (), base=spot.names)
        return any(folder.rules.denial_at(entry.names, "read") for entry in entries)


def _there(spot: Spot) -> os.stat_result:
    """The status of the entry at ``spot``; ``FileNotFoundError`` if it is missing."""
    status = spot.status()
    if status is None:
        raise FileNotFoundError(errno.ENOENT, "")
    return status


def _rename(source: Spot, destination: Spot, *, is_directory: bool) -> None:
    handles.rename_new(source.parent, source.name, destination.parent, destination.name, is_directory=is_directory)


# Deleting

_UNDELETABLE_CODES: dict[Closed | None, str] = {
    "file system": PATH_ON_OTHER_FILE_SYSTEM,
    "permission": PATH_PERMISSION_DENIED,
}


@dataclass(frozen=True, slots=True)
class Deletion:
    """The extent of a deletion."""

    kind: Kind
    entries: int
    bytes: int

    @property
    def is_directory(self) -> bool:
        return self.kind == "directory"


def deletion_of(spot: Spot, folder: Folder, recursive: bool, limits: FileLimits) -> Deletion:
    """The extent of deleting ``spot``. ``ToolError`` for an entry that may not be deleted, or not in one call."""
    status = _there(spot)
    kind = kind_of(status)
    if kind == "other":
        raise ToolError.of(PATH_NOT_REGULAR_FILE, path=spot.display_path)
    if kind != "directory":
        return Deletion(kind, 1, status.st_size if kind == "file" else 0)
    if spot.name == "." or folder.holds_closed(spot.names):
        raise ToolError.of(
            PATH_CONTAINS_SECRETS if folder.holds_closed(spot.names) else ROOT_FOLDER_NOT_CHANGEABLE,
            path=spot.display_path,
        )
    with spot.directory() as directory:
        return _inside(directory, spot, folder, recursive, limits)


def _inside(directory: int, spot: Spot, folder: Folder, recursive: bool, limits: FileLimits) -> Deletion:
    entries = size = 0
    if not folder.owns(handles.status(directory)):
        raise ToolError.of(PATH_ON_OTHER_FILE_SYSTEM, path=spot.display_path)
    for entry in Walk().entries(folder, directory, (), DEPTH + 1, (), base=spot.names):
        display_path = "/".join((spot.display_path, *entry.way))
        if not recursive:
            raise ToolError.of(DIRECTORY_NOT_EMPTY, path=spot.display_path)
        if entry.closed is not None or folder.rules.denial_at(entry.names, "write"):
            raise ToolError.of(_UNDELETABLE_CODES.get(entry.closed, DELETE_CONTAINS_PROTECTED_PATH), path=display_path)
        entries += 1
        size += entry.status.st_size if stat.S_ISREG(entry.status.st_mode) else 0
        if entries > limits.delete_entries or len(entry.way) > DEPTH:
            raise ToolError.of(DELETE_TOO_MANY_ENTRIES, path=spot.display_path, limit=limits.delete_entries)
    return Deletion("directory", entries + 1, size)


def delete(spot: Spot, deletion: Deletion) -> None:
    """Delete the entry. A directory is renamed first, so that it disappears at once; one that cannot be deleted gets
    its name back: ``OSError`` if it is still complete, ``ToolError`` if a part is gone."""
    if not deletion.is_directory:
        handles.remove_file(spot.parent, spot.name)
        sync_directory(spot)
        return
    leaving = _beside(spot, f".{secrets.token_hex(8)}.deleted")
    handles.rename_over(spot.parent, spot.name, spot.parent, leaving.name)
    sync_directory(spot)
    removal = _Removal(handles.status(spot.parent).st_dev)
    try:
        removal.remove(leaving.name, spot.parent)
    except OSError as error:
        remaining = spot if _is_back(leaving, spot) else leaving
        if remaining is spot and not removal.removed:
            raise
        problem = errno.errorcode.get(error.errno or 0) or Worded(REASON_UNKNOWN, {})
        raise ToolError.of(
            DELETE_INCOMPLETE,
            path=spot.display_path,
            removed=removal.removed,
            problem=problem,
            left=remaining.display_path,
        ) from error


def _beside(spot: Spot, name: str) -> Spot:
    """Another name in the directory of ``spot``, which keeps ownership of the open directory."""
    display_path = "/".join((*spot.display_path.split("/")[:-1], name))
    return Spot(spot.parent, (*spot.names[:-1], name), display_path, spot.rules)


def _is_back(leaving: Spot, spot: Spot) -> bool:
    """Give a directory its name back. Return whether it did: the name may have been taken since."""
    try:
        _rename(leaving, spot, is_directory=stat.S_ISDIR(_there(leaving).st_mode))
    except OSError:
        return False
    sync_directory(spot)
    return True


@dataclass(slots=True)
class _Removal:
    """A directory during its removal, and the number of its entries that are gone."""

    device: int
    removed: int = 0

    def remove(self, name: str, parent: int) -> None:
        """Remove the directory with all its entries, including those added since they were counted. A mount is
        refused."""
        directory = handles.open_directory(parent, name)
        try:
            if handles.status(directory).st_dev != self.device:
                raise OSError(errno.EXDEV, "")
            with handles.entries(directory) as scan:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in scan]
            for inner, is_directory in entries:
                if is_directory:
                    self.remove(inner, directory)
                else:
                    handles.remove_file(directory, inner)
                    self.removed += 1
        finally:
            handles.close(directory)
        handles.remove_directory(parent, name)
        self.removed += 1

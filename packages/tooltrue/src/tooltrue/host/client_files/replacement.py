"""Replaces a client's file: under a lock, with a backup beside it, and never in part.

A backup has the time in its name, and the digest of the text that took its place: so ``undo`` knows whether the file
is still as it was written, without a record elsewhere. Where there was no file, the backup is an empty one that ends
in ``.none``. All files made here are for the owner alone; an existing file keeps its mode.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tooltrue._internal.platform.file_replacement import FileInUse, remove_file
from tooltrue._internal.platform.nonblocking_open import open_without_waiting
from tooltrue._internal.platform.private_files import make_private_folder
from tooltrue.contract.files import alone, write_whole
from tooltrue.contract.wording import FILE_NOT_WRITABLE
from tooltrue.errors import ConfigurationError
from tooltrue.host.wording import (
    CLIENT_FILE_CHANGED,
    CLIENT_FILE_NOT_EDITED,
    REASON_LINK_LEADS_OUTSIDE,
    REASON_NOT_A_FILE,
)
from tooltrue.wording import REASON_FILE_IN_USE, REASON_LARGER_THAN, REASON_NOT_UTF8, Worded

__all__ = [
    "Backup",
    "ClientFile",
    "Replacement",
    "backup_beside",
    "backup_to_restore",
    "backups_of",
    "discard",
    "read_client_file",
    "replace",
    "replace_together",
]

MAX_BYTES: Final = 16_000_000
KEPT_BACKUPS: Final = 5
_SIGN: Final = ".tooltrue-"
_FORMAT: Final = "%Y%m%dT%H%M%S.%fZ"
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A file as it was read. ``path`` is where the text is, ``link`` the symbolic link that leads there, if any;
    ``text`` is None if there is no file."""

    path: Path
    text: str | None
    link: Path | None = None


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file, and the text that is to take its place. None: no file."""

    file: ClientFile
    text: str | None


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup, and the digest of the text that took the place of its content."""

    path: Path
    digest: str

    @property
    def moment(self) -> str:
        """The time of the change. Files that were changed together have backups of the same time."""
        return self.path.name.rpartition(_SIGN)[2].rpartition("-")[0]

    @property
    def text(self) -> str | None:
        """The content of the file before; None if there was no file."""
        return None if self.path.suffix == ".none" else _text_of(self.path)

    def follows(self, text: str | None) -> bool:
        """Whether ``text`` is what took the place of this backup."""
        return self.digest == _digest(text)


def read_client_file(path: Path, around: Path) -> ClientFile:
    """Read a client's file. Symbolic links, also of its folders, are followed within ``around``, the folder of the user
    or of the project.

    ``ConfigurationError`` if it cannot be read, is too large or no file, or a link leads outside.
    """
    try:
        root, real = Path(os.path.realpath(around)), Path(os.path.realpath(path))
    except OSError as error:
        raise _refused(path, error.strerror or type(error).__name__) from None
    # A file that the environment puts elsewhere stands where it says; a link there has to lead into ``around``.
    plain = root / path.relative_to(around) if path.is_relative_to(around) else Path(os.path.abspath(path))
    if real != plain and not real.is_relative_to(root):
        raise _refused(path, Worded(REASON_LINK_LEADS_OUTSIDE, {"target": str(real)}))
    return ClientFile(real, _text_of(real, path), path if real != plain else None)


def _text_of(file: Path, shown: Path | None = None) -> str | None:
    """The text of a file, None if there is no file. ``shown`` is its name in errors."""
    try:
        data = _data_of(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(shown or file, error.strerror or type(error).__name__) from None
    if data is None:
        raise _refused(shown or file, Worded(REASON_NOT_A_FILE, {}))
    if len(data) > MAX_BYTES:
        raise _refused(shown or file, Worded(REASON_LARGER_THAN, {"limit": MAX_BYTES}))
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _refused(shown or file, Worded(REASON_NOT_UTF8, {})) from None


def _data_of(file: Path) -> bytes | None:
    """The beginning of a file; None if it is a pipe, a folder or a device."""
    handle = open_without_waiting(file)
    with contextlib.ExitStack() as closing:
        closing.callback(os.close, handle)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        with os.fdopen(handle, "rb", closefd=False) as readable:
            return readable.read(MAX_BYTES + 1)


def _refused(file: Path, problem: object) -> ConfigurationError:
    return ConfigurationError.of(CLIENT_FILE_NOT_EDITED, file=str(file), problem=problem)


def replace(change: Replacement, *, clock: Callable[[], float] = time.time, keeps_backup: bool = True) -> Backup | None:
    """Put the new text in the place of the file, and return the backup. At every moment the file is the old one or the
    new one.

    ``ConfigurationError`` if the file is no longer as it was read, or cannot be written; it stays as it is then.
    """
    path = change.file.path
    _make_folder(path)
    with alone(path):
        if _text_of(path) != change.file.text:
            raise ConfigurationError.of(CLIENT_FILE_CHANGED, file=str(path))
        backup = _back_up(change, clock()) if keeps_backup else None
        if change.text is None:
            _remove(path)
        else:
            write_whole(path, change.text, 0o600)
        if backup is not None:
            _prune(path)
    return backup


def replace_together(changes: Sequence[Replacement], *, clock: Callable[[], float] = time.time) -> list[Backup]:
    """Replace several files, in this order, as :func:`replace` does, with backups of the same time. If one cannot be
    replaced, those before it are restored, and the ``ConfigurationError`` is raised."""
    moment = clock()
    backups: list[Backup] = []
    try:
        for change in changes:
            if (backup := replace(change, clock=lambda: moment)) is not None:
                backups.append(backup)
    except ConfigurationError:
        for change, backup in reversed(list(zip(changes, backups, strict=False))):
            replace(Replacement(ClientFile(change.file.path, change.text), change.file.text), keeps_backup=False)
            discard(backup)
        raise
    return backups


def _make_folder(path: Path) -> None:
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise ConfigurationError.of(FILE_NOT_WRITABLE, file=str(path), problem=error.strerror) from None


def _back_up(change: Replacement, seconds: float) -> Backup:
    path, before = change.file.path, change.file.text
    ending = "none" if before is None else "bak"
    digest = _digest(change.text)
    moment = datetime.fromtimestamp(seconds, UTC).strftime(_FORMAT)
    backup = path.with_name(f"{path.name}{_SIGN}{moment}-{digest}.{ending}")
    write_whole(backup, before or "", _mode(path))
    return Backup(backup, digest)


def _mode(path: Path) -> int:
    """The rights of a backup: no more than the owner has on the file, and none for others."""
    with contextlib.suppress(OSError):
        return path.stat().st_mode & 0o600
    return 0o600


def _remove(path: Path) -> None:
    try:
        remove_file(path)
    except OSError as error:
        problem = Worded(REASON_FILE_IN_USE, {}) if isinstance(error, FileInUse) else error.strerror
        raise ConfigurationError.of(FILE_NOT_WRITABLE, file=str(path), problem=problem) from None


def backups_of(path: Path) -> list[Backup]:
    """The backups of a file, the newest first."""
    with contextlib.suppress(OSError):
        names = sorted((one.name for one in path.parent.iterdir()), reverse=True)
        return [backup for name in names if (backup := _backup(path, name)) is not None]
    return []


def _backup(path: Path, name: str) -> Backup | None:
    start = path.name + _SIGN
    if not name.startswith(start) or not name.endswith((".bak", ".none")):
        return None
    _, _, digest = name.removeprefix(start).rpartition(".")[0].rpartition("-")
    return Backup(path.with_name(name), digest) if len(digest) == _DIGITS else None


def backup_to_restore(file: ClientFile) -> Backup | None:
    """The backup that takes back the last change of the file; None if there is none. One whose content stands there
    already is passed over: its change was cut short, or taken back by hand."""
    backups = backups_of(file.path)
    return next((one for one in backups if one.follows(file.text) or one.text != file.text), None)


def backup_beside(backup: Backup, path: Path) -> Backup | None:
    """The backup of the file at ``path`` that was made together with ``backup``; None if there is none."""
    return next((one for one in backups_of(path) if one.moment == backup.moment), None)


def discard(backup: Backup) -> None:
    """Remove a backup that has served its purpose."""
    with contextlib.suppress(OSError):
        backup.path.unlink(missing_ok=True)


def _prune(path: Path) -> None:
    for backup in backups_of(path)[KEPT_BACKUPS:]:
        discard(backup)


def _digest(text: str | None) -> str:
    return hashlib.sha256((text if text is not None else "\0").encode()).hexdigest()[:_DIGITS]

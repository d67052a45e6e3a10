"""Seals: the head of a log, stored elsewhere, to reveal later that its end was cut off or that it was rewritten.

A seal is worth as much as its location: beside the log it reveals accidents; on another disk, or in the collected
output of a server, it also reveals manipulation by a party that can write to the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Protocol

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue._internal.platform.private_files import make_private_folder, open_private_log
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.jsonrpc.messages import is_object
from tooltrue.state.log import Log, Mark
from tooltrue.state.places import beside, without_password
from tooltrue.state.urls import open_log
from tooltrue.state.wording import REASON_NO_SEAL_LINES, SEAL_FILE_INVALID, SEAL_FILE_NOT_WRITABLE
from tooltrue.wording import Worded

__all__ = ["FileSeal", "LineSeal", "LogSeal", "Seal", "is_log", "name_of", "read_seals", "sealing", "seals_in"]

_log = logging.getLogger("tooltrue.audit")
EVERY = 10.0
_FIRST = 1.0
_PAGE = 1_000
_CUT = LazyPattern("[0-9]+(?: [0-9a-f]{0,63})?")
"""The beginning of a line."""


class Seal(Protocol):
    """A place to store heads."""

    def keep(self, mark: Mark) -> None:
        """Store ``mark``. Raises StateError if that is impossible now."""
        ...


class FileSeal:
    """An append-only file with one mark per line: ``position hash``. Several writers may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, mark: Mark) -> None:
        try:
            make_private_folder(self._path.parent)
            file = open_private_log(self._path)
            try:
                _add(file, f"{mark.position} {mark.hash}\n".encode())
            finally:
                os.close(file)
        except OSError as error:
            raise StateError.of(SEAL_FILE_NOT_WRITABLE, path=self._path, problem=error) from error


def _add(file: int, line: bytes) -> None:
    if os.fstat(file).st_size:
        os.lseek(file, -1, os.SEEK_END)
        if os.read(file, 1) != b"\n":  # the previous line was cut short
            line = b"\n" + line
    if os.write(file, line) < len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # the usual cause of a partial write


class LineSeal:
    """A line in the server's own log output, for a log collector."""

    def keep(self, mark: Mark) -> None:
        # A warning, so that it is output even if logging is not configured.
        _log.warning("tooltrue.audit head %d %s", mark.position, mark.hash)


class LogSeal:
    """Records in another log, which many servers may share: ``of`` names the sealed log."""

    def __init__(self, log: Log, of: str) -> None:
        self._log = log
        self._of = of

    def keep(self, mark: Mark) -> None:
        self._log.note({"hash": mark.hash, "kind": "seal", "of": self._of, "position": mark.position})


def is_log(place: str) -> bool:
    """Whether a place for seals is the URL of a log, rather than a file."""
    return place.partition(":")[0] in ("postgresql", "sqlite")


def name_of(to: str | Log) -> str:
    """The name of a log among the seals of several: its location, for a file with the machine."""
    if not isinstance(to, str):
        return type(to).__name__
    path = beside(to, "")
    return f"{socket.gethostname()}:{Path(path).resolve()}" if path else without_password(to)


@contextlib.asynccontextmanager
async def sealing(log: Log, place: str, every: float = EVERY, *, of: str = "") -> AsyncGenerator[None]:
    """Context that stores the head of ``log``, named ``of``, at ``place`` (``log``, the URL of another log, or a file)
    every ``every`` seconds while it grows, and at the end."""
    async with contextlib.AsyncExitStack() as stack:
        seal: Seal = LineSeal() if place == "log" else FileSeal(Path(place))
        if is_log(place):
            seal = LogSeal(await stack.enter_async_context(open_log(place)), of)
        keeper = _Keeper(log, seal)
        task = asyncio.create_task(keeper.keep_on(every))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))
            await keeper.keep()


class _Keeper:
    def __init__(self, log: Log, seal: Seal) -> None:
        self._log = log
        self._seal = seal
        self._last_mark: Mark | None = None

    async def keep_on(self, every: float) -> None:
        while True:
            # The first mark comes soon: a log without one looks the same as a log whose seal was removed.
            await asyncio.sleep(every if self._last_mark else min(_FIRST, every))
            await self.keep()

    async def keep(self) -> None:
        try:
            mark = await self._log.head()
            if mark.position and mark != self._last_mark:
                self._seal.keep(mark)
                self._last_mark = mark
        except StateError as error:
            _log.error("The head of the audit log is not sealed: %s", error)


def read_seals(path: Path) -> list[Mark]:
    """The marks in a seal file. Raises ConfigurationError if it is not a seal file.

    A line that was cut short by a crash or a full disk is left out.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError) as error:
        raise ConfigurationError.of(SEAL_FILE_INVALID, path=path, problem=error) from error
    marks = [mark for line in lines if (mark := _parse_mark(line)) is not None]
    cut = sum(_CUT.compiled.fullmatch(line) is not None for line in lines)
    if not marks or len(marks) + cut < len(lines) - 1:
        raise ConfigurationError.of(SEAL_FILE_INVALID, path=path, problem=Worded(REASON_NO_SEAL_LINES, {}))
    return marks


async def seals_in(log: Log, of: str) -> list[Mark]:
    """The marks of the log named ``of`` in the records of another log."""
    marks: list[Mark] = []
    after = 0
    while page := await log.read(after, _PAGE):
        after = page[-1].position
        for entry in page:
            with contextlib.suppress(ValueError):  # a damaged record, left to the verification of that log
                record: object = entry.record
                if is_object(record) and (record.get("kind"), record.get("of")) == ("seal", of):
                    marks.append(Mark(int(record["position"]), str(record["hash"])))
    return marks


def _parse_mark(line: str) -> Mark | None:
    position, _, digest = line.partition(" ")
    return Mark(int(position), digest) if position.isdecimal() and len(digest) == 64 else None

"""Stores for tokens and registrations: in memory, in files that only this user can read, or in the keyring."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from tooltrue.client.wording import CREDENTIAL_STORE_UNUSABLE, REASON_OTHERS_HAVE_ACCESS
from tooltrue.errors import StateError
from tooltrue.state.places import state_folder
from tooltrue.wording import Worded

__all__ = ["Credentials", "InFiles", "InMemory"]

_POLL_SECONDS = 0.05


class Credentials(Protocol):
    """Stores one text per key. Raises ``StateError`` if the store fails."""

    async def read(self, key: str) -> str | None: ...

    async def write(self, key: str, text: str | None) -> None:
        """Store ``text``; ``None`` deletes the entry."""
        ...

    def alone(self, key: str) -> AbstractAsyncContextManager[None]:
        """Hold an exclusive lock on this key, across processes. Read again inside: earlier values may be stale."""
        ...


class InMemory:
    """Stored as long as this object lives."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def read(self, key: str) -> str | None:
        return self._texts.get(key)

    async def write(self, key: str, text: str | None) -> None:
        self._texts.pop(key, None)
        if text is not None:
            self._texts[key] = text

    @contextlib.asynccontextmanager
    async def alone(self, key: str) -> AsyncGenerator[None]:
        async with self._lock:
            yield


class InFiles:
    """One file per key, in a folder that only this user can access. A file is replaced as a whole, or not at all."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or state_folder() / "credentials"

    async def read(self, key: str) -> str | None:
        return await asyncio.to_thread(self._read, key)

    async def write(self, key: str, text: str | None) -> None:
        await asyncio.to_thread(self._write, key, text)

    def _read(self, key: str) -> str | None:
        with self._state_errors(), contextlib.suppress(FileNotFoundError):
            number = os.open(self._place(key), os.O_RDONLY | os.O_NOFOLLOW)
            with open(number, encoding="utf-8") as file:
                status = os.fstat(number)
                if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                    raise StateError.of(
                        CREDENTIAL_STORE_UNUSABLE,
                        place=str(self._place(key)),
                        problem=Worded(REASON_OTHERS_HAVE_ACCESS, {}),
                    )
                return file.read()
        return None

    def _write(self, key: str, text: str | None) -> None:
        with self._state_errors():
            if text is None:
                self._place(key).unlink(missing_ok=True)
                return
            self._make_folder()
            number, name = tempfile.mkstemp(dir=self._folder)  # with 0600, whatever the umask
            try:
                with open(number, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(number)
                os.replace(name, self._place(key))
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    @contextlib.asynccontextmanager
    async def alone(self, key: str) -> AsyncGenerator[None]:
        with self._state_errors():
            self._make_folder()
            number = os.open(self._place(key).with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            while not _locked(number):  # noqa: ASYNC110 - another process releases it, without a signal
                await asyncio.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(number)

    def _place(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._folder.stat().st_mode & 0o077:
            self._folder.chmod(0o700)

    @contextlib.contextmanager
    def _state_errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            problem = error.strerror or type(error).__name__
            raise StateError.of(CREDENTIAL_STORE_UNUSABLE, place=str(self._folder), problem=problem) from None


def _locked(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

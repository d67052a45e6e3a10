"""Stores for tokens and registrations: in memory, in files that only this user can read, or in the keyring."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from tooltrue._internal.platform.file_locks import try_lock
from tooltrue._internal.platform.file_replacement import FileInUse, remove_file, replace_file
from tooltrue._internal.platform.private_files import (
    create_private_file,
    is_private,
    make_private_folder,
    open_private_file,
    read_private_file,
    restrict_folder,
)
from tooltrue.client.wording import CREDENTIAL_STORE_UNUSABLE, REASON_OTHERS_HAVE_ACCESS
from tooltrue.errors import StateError
from tooltrue.state.places import state_folder
from tooltrue.wording import REASON_FILE_IN_USE, Worded

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
            number = read_private_file(self._place(key))
            with open(number, encoding="utf-8") as file:
                if not is_private(number):
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
                remove_file(self._place(key))
                return
            self._make_folder()
            made = self._folder / f".{secrets.token_hex(8)}"
            number = create_private_file(made)
            try:
                with open(number, "w", encoding="utf-8", newline="") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(number)
                replace_file(made, self._place(key))
            except BaseException:
                made.unlink(missing_ok=True)
                raise

    @contextlib.asynccontextmanager
    async def alone(self, key: str) -> AsyncGenerator[None]:
        with self._state_errors():
            self._make_folder()
            number = open_private_file(self._place(key).with_suffix(".lock"))
        try:
            while not try_lock(number):  # noqa: ASYNC110 - another process releases it, without a signal
                await asyncio.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(number)

    def _place(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _make_folder(self) -> None:
        make_private_folder(self._folder)
        restrict_folder(self._folder)

    @contextlib.contextmanager
    def _state_errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            in_use = Worded(REASON_FILE_IN_USE, {}) if isinstance(error, FileInUse) else None
            problem = in_use or error.strerror or type(error).__name__
            raise StateError.of(CREDENTIAL_STORE_UNUSABLE, place=str(self._folder), problem=problem) from None

"""Credentials in the keyring of the system. Owns keyring, which comes with an extra."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError, PasswordDeleteError

from tooltrue.client.auth.credentials import InFiles
from tooltrue.client.wording import CREDENTIAL_STORE_UNUSABLE, LABEL_KEYRING
from tooltrue.errors import StateError
from tooltrue.wording import Worded

__all__ = ["InKeyring", "secret_in_keyring", "usable"]

_SERVICE = "tooltrue"
_SAFE = 1.0  # keyring does not recommend backends below this: they store no text, or store it unencrypted


class InKeyring:
    """Each key is a user of the service ``tooltrue``. A keyring may prompt its owner, so it is used on a thread."""

    def __init__(self, backend: KeyringBackend) -> None:
        self._backend: Any = backend  # its methods are typed in part
        self._files = InFiles()  # for their locks only: a keyring has none

    async def read(self, key: str) -> str | None:
        try:
            return await asyncio.to_thread(self._backend.get_password, _SERVICE, key)
        except KeyringError as error:
            raise _state_error(error) from None

    async def write(self, key: str, text: str | None) -> None:
        try:
            await asyncio.to_thread(self._write, key, text)
        except KeyringError as error:
            raise _state_error(error) from None

    def _write(self, key: str, text: str | None) -> None:
        if text is not None:
            self._backend.set_password(_SERVICE, key, text)
            return
        try:
            self._backend.delete_password(_SERVICE, key)
        except PasswordDeleteError:
            return  # it was not there

    def alone(self, key: str) -> AbstractAsyncContextManager[None]:
        return self._files.alone(key)


def usable() -> InKeyring | None:
    """Return the keyring of this system, if it has one that stores secrets safely."""
    backend = keyring.get_keyring()
    return InKeyring(backend) if backend.priority >= _SAFE else None


def secret_in_keyring(name: str) -> str | None:
    """Return the secret that a person has stored as ``name`` of the service ``tooltrue``, or ``None``. Raises
    ``StateError``."""
    try:
        return keyring.get_password(_SERVICE, name)
    except KeyringError as error:
        raise _state_error(error) from None


def _state_error(error: KeyringError) -> StateError:
    return StateError.of(
        CREDENTIAL_STORE_UNUSABLE, place=Worded(LABEL_KEYRING, {}), problem=str(error) or type(error).__name__
    )

"""The credential store of this user."""

from __future__ import annotations

from importlib.util import find_spec

from tooltrue.client.auth.credentials import Credentials, InFiles

__all__ = ["user_store"]


def user_store() -> Credentials:
    """Return the keyring if there is one, otherwise files."""
    if find_spec("keyring") is not None:
        from tooltrue.client.auth import keyring_credentials  # noqa: PLC0415 - keyring comes with an extra

        if (keyring := keyring_credentials.usable()) is not None:
            return keyring
    return InFiles()

"""Values of server files in the keyring: ``${keyring:NAME}`` refers to one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from tooltrue.client.auth.credentials import Credentials
from tooltrue.client.wording import KEYRING_UNUSABLE
from tooltrue.errors import StateError
from tooltrue.extras import install_command

__all__ = ["read_variable", "write_variables"]


async def read_variable(name: str) -> str | None:
    """The value of this name; None if there is none. ``StateError`` if there is no keyring, or it cannot be read."""
    return await _keyring().read(_key(name))


async def write_variables(values: Mapping[str, str | None]) -> None:
    """Store these values; None deletes one. ``StateError`` as in :func:`read_variable`."""
    keyring = _keyring()
    for name, value in values.items():
        await keyring.write(_key(name), value)


def _key(name: str) -> str:
    """The key of a value. No file of servers can name a token of a sign-in: those have keys of another form."""
    return f"variable {name}"


def _keyring() -> Credentials:
    if find_spec("keyring") is not None:
        from tooltrue.client.auth import keyring_credentials  # noqa: PLC0415 - keyring comes with an extra

        if (keyring := keyring_credentials.usable()) is not None:
            return keyring
    raise StateError.of(KEYRING_UNUSABLE, install=install_command("keyring"))

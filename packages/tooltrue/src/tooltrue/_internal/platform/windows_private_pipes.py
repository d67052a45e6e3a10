"""A named pipe that only this user can open, and its connections. For Windows.

Its access list admits this user alone, and no other machine reaches it. Both ends check as well whose process the other
one is: should the process end that holds the name, any process may create a pipe of that name.

asyncio has no public way from the handle of a pipe to a transport. Its own server and client of pipes,
``start_serving_pipe`` and ``create_pipe_connection``, are made of the two private methods that are called here; but
every user may read from such a pipe, and a server may act as its client.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Generator
from typing import Any, Final, Self, TypeAlias, cast

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

from asyncio.windows_utils import PipeHandle  # noqa: E402 - the type checkers stop above

from tooltrue._internal.platform.windows_handles import (  # noqa: E402 - the type checkers stop above
    FIRST_INSTANCE,
    PIPE_BUSY,
    Handle,
    client_of,
    create_pipe,
    open_pipe,
    server_of,
    user_name,
    user_of,
)

__all__ = [
    "PrivateConnection",
    "PrivateListener",
    "accept_private",
    "attach_private",
    "bind_private",
    "connect_private",
    "private_address",
]

PrivateConnection: TypeAlias = PipeHandle

_FIRST_PAUSE_SECONDS: Final = 0.001
_LONGEST_PAUSE_SECONDS: Final = 0.1


class PrivateListener:
    """Holds the name of a pipe. Its copy in another process has the name alone."""

    def __init__(self, address: str, *ends: PipeHandle) -> None:
        self.address = address
        self._ends = ends

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for end in self._ends:
            end.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return PrivateListener, (self.address,)


@contextlib.contextmanager
def private_address() -> Generator[str]:
    """An address to listen at, which no other process can guess."""
    yield rf"\\.\pipe\tooltrue-{secrets.token_hex(16)}"


def bind_private(address: str) -> PrivateListener:
    """Listen at ``address``. ``OSError`` where that fails, and where any process listens there."""
    server = PipeHandle(create_pipe(address, _rights(), FIRST_INSTANCE))
    try:
        # Connected to itself, this instance takes no client, but the name and its access list last as long as it does.
        client = PipeHandle(open_pipe(address))
    except BaseException:
        server.close()
        raise
    return PrivateListener(address, server, client)


async def accept_private(listener: PrivateListener) -> PrivateConnection:
    """The next connection of a process of this user. Those of others are closed."""
    loop = cast(Any, asyncio.get_running_loop())
    while True:
        pipe = PipeHandle(create_pipe(listener.address, _rights()))
        try:
            await loop._proactor.accept_pipe(pipe)
            if _is_own(pipe, client_of):
                return pipe
        except BrokenPipeError:  # the client is gone already
            pass
        except BaseException:
            pipe.close()
            raise
        pipe.close()


async def connect_private(address: str) -> PrivateConnection:
    """A connection to the process of this user that listens at ``address``. ``OSError`` where there is none."""
    pipe = PipeHandle(await _free_instance(address))
    if not _is_own(pipe, server_of):
        pipe.close()
        raise PermissionError(address)
    return pipe


async def _free_instance(address: str) -> Handle:
    """Connect as soon as a process accepts; the system has no way to wait for that beside an event loop."""
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return open_pipe(address)
        except OSError as error:
            if error.winerror != PIPE_BUSY:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


async def attach_private(connection: PrivateConnection, protocol: asyncio.Protocol) -> None:
    """Give the connection to ``protocol``. Its transport closes the connection."""
    loop = asyncio.get_running_loop()
    connected: asyncio.Future[None] = loop.create_future()
    transport = cast(Any, loop)._make_duplex_pipe_transport(connection, protocol, connected)
    try:
        await connected
    except BaseException:
        transport.close()
        raise


def _rights() -> str:
    """The access list of the pipe: this user alone."""
    return f"D:P(A;;FA;;;{user_name()})"


def _is_own(pipe: PipeHandle, process_at: Callable[[Handle], int]) -> bool:
    """Whether the process at the other end is one of this user. One that has ended already is not known."""
    try:
        return user_of(process_at(pipe.fileno())) == user_name()
    except OSError:
        return False

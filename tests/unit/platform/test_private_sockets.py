"""Connections between the processes of one user, by the way of this system."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tooltrue._internal.platform.private_sockets import (
    PrivateListener,
    accept_private,
    attach_private,
    bind_private,
    connect_private,
    private_address,
)
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.testing.state import LIMIT


class End(asyncio.Protocol):
    """One end of a connection, and all that arrives there."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.arrived = bytearray()
        self._changed = asyncio.Event()
        self.is_open = True

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.arrived += data
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._changed.set()

    async def until(self, size: int) -> bytes:
        """All that has arrived, once that is ``size`` bytes, or the connection has ended."""
        while self.is_open and len(self.arrived) < size:
            self._changed.clear()
            await self._changed.wait()
        return bytes(self.arrived)

    async def ended(self) -> bytes:
        return await self.until(1 << 40)


@asynccontextmanager
async def connected(address: str) -> AsyncGenerator[End]:
    end = End()
    await attach_private(await connect_private(address), end)
    try:
        yield end
    finally:
        end.transport.abort()
        await end.ended()


@asynccontextmanager
async def accepted(listener: PrivateListener) -> AsyncGenerator[End]:
    end = End()
    await attach_private(await accept_private(listener), end)
    try:
        yield end
    finally:
        end.transport.abort()
        await end.ended()


async def serve_numbers(listener: PrivateListener) -> None:
    """Tell each client its number, and end its connection."""
    number = 0
    while True:
        async with accepted(listener) as end:
            number += 1
            end.transport.write(f"{os.getpid()} {number}".encode())
            end.transport.close()
            await end.ended()


@asynccontextmanager
async def serving(listener: PrivateListener) -> AsyncGenerator[None]:
    task = asyncio.ensure_future(serve_numbers(listener))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def run(main: Any) -> Any:
    return asyncio.run(asyncio.wait_for(main, LIMIT))


def test_both_ends_read_what_the_other_writes_and_see_its_end() -> None:
    large = os.urandom(1 << 20)

    async def main() -> None:
        with private_address() as address, bind_private(address) as listener:
            accepting = asyncio.ensure_future(accept_private(listener))
            async with connected(address) as client:
                server = End()
                await attach_private(await accepting, server)
                client.transport.write(b"up" + large)
                server.transport.write(b"down" + large)
                assert await server.until(len(large) + 2) == b"up" + large
                assert await client.until(len(large) + 4) == b"down" + large
                server.transport.write(b"!")
                server.transport.close()
                assert (await client.ended())[-1:] == b"!"
                client.transport.write(b"to nobody")
                await server.ended()

    run(main())


async def answer(address: str) -> bytes:
    """All that a process tells a client. A connection that a process leaves behind ends without a word."""
    while True:
        async with connected(address) as client:
            if said := await client.ended():
                return said


def test_a_client_waits_for_the_process_that_accepts() -> None:
    async def main() -> None:
        with private_address() as address, bind_private(address) as listener:
            first = asyncio.ensure_future(accept_private(listener))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            waiting = asyncio.ensure_future(answer(address))
            await asyncio.sleep(0)
            async with serving(listener):
                assert await waiting == f"{os.getpid()} 1".encode()

    run(main())


def test_each_client_has_a_connection_of_its_own() -> None:
    async def main() -> None:
        with private_address() as address, bind_private(address) as listener:
            async with serving(listener):
                answers = await asyncio.gather(*(answer(address) for _ in range(6)))
        assert sorted(answers) == [f"{os.getpid()} {number}".encode() for number in range(1, 7)]

    run(main())


def test_a_client_that_is_gone_at_once_leaves_the_place_to_the_next() -> None:
    async def main() -> None:
        with private_address() as address, bind_private(address) as listener:
            async with serving(listener):
                async with connected(address):
                    pass
                assert await answer(address)

    run(main())


def test_nobody_listens_at_an_address_that_was_given_up() -> None:
    async def main() -> None:
        with private_address() as address:
            with pytest.raises(FileNotFoundError):
                await connect_private(address)
            with bind_private(address):
                pass
            with pytest.raises((ConnectionRefusedError, FileNotFoundError)):
                await connect_private(address)

    run(main())


def test_an_address_at_which_a_process_listens_is_refused() -> None:
    with private_address() as address, bind_private(address):
        with pytest.raises(OSError) as refused:  # noqa: PT011 - each system has another code
            bind_private(address)
        assert refused.value.errno in (errno.EADDRINUSE, errno.EACCES)


@pytest.mark.skipif(HAS_POSIX, reason="a socket has no access list")
def test_the_access_list_of_a_pipe_has_this_user_alone() -> None:
    from tooltrue._internal.platform.windows_handles import user_name  # noqa: PLC0415 - of one system

    async def main() -> str:
        with private_address() as address, bind_private(address) as listener:
            accepting = asyncio.ensure_future(accept_private(listener))
            client = await connect_private(address)
            server = await accepting
            try:
                return access_list_of(server.fileno())
            finally:
                client.close()
                server.close()

    assert run(main()) == f"D:P(A;;FA;;;{user_name()})"


def access_list_of(pipe: int) -> str:
    """The access list of an open pipe, in SDDL."""
    library = getattr(ctypes, "WinDLL")("advapi32")  # noqa: B009 - the types of Linux have none
    kernel_object, access_list = 6, 4
    handle, descriptor, text = ctypes.c_void_p(pipe), ctypes.c_void_p(), ctypes.c_wchar_p()
    nothing = (None,) * 4
    assert library.GetSecurityInfo(handle, kernel_object, access_list, *nothing, ctypes.byref(descriptor)) == 0
    assert library.ConvertSecurityDescriptorToStringSecurityDescriptorW(
        descriptor, 1, access_list, ctypes.byref(text), None
    )
    return str(text.value)


@pytest.mark.skipif(HAS_POSIX or sys.platform == "win32", reason="the stand-ins tell whose a process is")
def test_both_ends_refuse_a_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    from support.windows import rights  # noqa: PLC0415 - imported under this name by the stand-ins
    from tooltrue._internal.platform.windows_handles import open_pipe, user_name  # noqa: PLC0415 - of one system
    from tooltrue._internal.platform.windows_private_pipes import (  # noqa: PLC0415 - of one system
        PipeHandle,  # pyright: ignore[reportAttributeAccessIssue] - Windows's asyncio has it
    )

    assert user_name()  # as of now

    async def main() -> None:
        with private_address() as address, bind_private(address) as listener:
            async with serving(listener):
                assert await answer(address)
                user_of = rights.user_of
                monkeypatch.setattr(rights, "user_of", lambda process: user_of(process) + 1)
                with pytest.raises(PermissionError):
                    await connect_private(address)
                end = End()
                while True:  # the refused connection above may still have the place
                    with contextlib.suppress(OSError):
                        other = PipeHandle(open_pipe(address))
                        break
                    await asyncio.sleep(0)
                await attach_private(other, end)
                assert await end.ended() == b""

    run(main())

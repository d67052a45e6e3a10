"""The servers of a worker that the supervisor holds: a connection to it for each server and caller."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import fields, replace
from typing import Final

from tooltrue._internal.platform.private_sockets import connect_private
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.errors import ConnectionLost
from tooltrue.gateway.error_members import error_of
from tooltrue.gateway.settings import is_program
from tooltrue.gateway.wording import GATEWAY_SUPERVISOR_LOST
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol import versions
from tooltrue.transport.client_link import LinkReceiver
from tooltrue.transport.line_channel import LineChannel

__all__ = ["SupervisedServer", "entry_of", "supervised"]


def supervised(config: HostConfig, address: str) -> HostConfig:
    """The servers of ``config``; those that are programs are those of the supervisor at ``address``."""
    return replace(config, servers=tuple(_supervised(one, address) for one in config.servers))


def _supervised(one: ServerConfig, address: str) -> ServerConfig:
    if not is_program(one):
        return one
    return replace(one, target=SupervisedServer(address, one.label, entry_of(one)), revision=versions.LATEST)


def entry_of(one: ServerConfig) -> str:
    """The digest of what the files say of a program. By it, a worker and the supervisor know that they have read the
    same; each sees a change of the files at its own time."""
    values = [getattr(one, field.name) for field in fields(ServerConfig) if field.name not in _NOT_WRITTEN]
    return hashlib.sha256(encode(values)).hexdigest()


_NOT_WRITTEN: Final = frozenset({"target", "auth", "unsupported"})


class SupervisedServer:
    """A :class:`tooltrue.ClientLink` to one server of the supervisor, as ``entry`` has it, for one caller, or for
    nobody to read its definitions."""

    def __init__(self, address: str, label: str, entry: str, caller: str | None = None) -> None:
        self._address = address
        self._label = label
        self._entry = entry
        self._caller = caller
        self._channel: LineChannel | None = None

    def for_caller(self, caller: str) -> SupervisedServer:
        return SupervisedServer(self._address, self._label, self._entry, caller)

    async def open(self, receiver: LinkReceiver) -> None:
        """Connect, and return once the server is ready. Raises the reason of the supervisor where it is not."""
        answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()

        def on_line(line: bytes) -> None:
            if not answer.done():
                answer.set_result(line)
                channel.on_line = receiver.feed

        def on_end() -> None:
            if not answer.done():
                answer.set_result(None)
            elif self._channel is not None:
                receiver.lose(self._lost())

        try:
            connection = await connect_private(self._address)
        except OSError:
            raise self._lost() from None
        channel = await LineChannel.over(connection, on_line, on_end)
        try:
            channel.write(encode({"server": self._label, "entry": self._entry, "caller": self._caller}))
            line = await answer
            match None if line is None else decode(line):
                case {"state": "ready"}:
                    self._channel = channel
                case {"error": members}:
                    raise error_of(members)
                case _:
                    raise self._lost()
        except BaseException:
            channel.abort()
            raise

    def _lost(self) -> ConnectionLost:
        return ConnectionLost.of(GATEWAY_SUPERVISOR_LOST, server=self._label)

    async def send(self, frame: bytes) -> None:
        if self._channel is None:
            raise self._lost()
        await self._channel.until_taken()
        self._channel.write(frame)

    async def close(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

"""Listening sockets: how one holds its address against other processes, and how processes that share one accept."""

from __future__ import annotations

import asyncio
import select
import socket
import threading
from collections.abc import Callable

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["AcceptThread", "reserve_address"]

_PAUSE_SECONDS = 1.0
"""After a connection could not be accepted, for want of memory for example."""

if HAS_POSIX:

    def reserve_address(listener: socket.socket) -> None:
        """Before ``bind``: take an address on which connections have ended a moment ago, and no other process
        listens."""
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

else:

    def reserve_address(listener: socket.socket) -> None:
        """Before ``bind``: take an address on which no other process listens, and let none listen there from now on.

        SO_REUSEADDR would allow that any process does it; connections that have ended hold no address here.
        """
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)


class AcceptThread:
    """Accepts the connections of a listening socket in a thread, and serves them on the running event loop.

    On Windows an event loop attaches the socket to its completion port, and a socket is attached to one port for its
    whole life; so the loops of several processes cannot accept from one socket. A thread that waits and accepts
    attaches it to none. The thread calls ``failed`` when no connection can be accepted.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        failed: Callable[[OSError], None],
    ) -> None:
        self._listener = listener
        self._protocol = protocol
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._connecting = set[asyncio.Task[object]]()
        self._waking, self._end = socket.socketpair()
        listener.setblocking(False)
        self._thread = threading.Thread(target=self._accept, name="accept", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept no more connections."""
        self._end.close()
        self._thread.join()
        self._waking.close()

    async def wait_closed(self) -> None:
        """As of ``asyncio.Server``."""

    def _accept(self) -> None:
        while True:
            ready, _, _ = select.select([self._listener, self._waking], [], [])
            if self._waking in ready:
                return
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):  # another process was quicker, or the client is gone
                continue
            except OSError as error:
                self._failed(error)
                select.select([self._waking], [], [], _PAUSE_SECONDS)
                continue
            self._loop.call_soon_threadsafe(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        serving = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, connection))
        self._connecting.add(serving)
        serving.add_done_callback(self._connecting.discard)

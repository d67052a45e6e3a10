"""A program with pipes, started by the event loop, in a process group of its own. For Linux and macOS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from tooltrue._internal.platform import posix_pipes as pipes
from tooltrue._internal.platform import posix_processes as processes
from tooltrue._internal.platform.child_descriptors import keep_descriptors
from tooltrue._internal.platform.child_events import ChildEvents

assert sys.platform != "win32"

__all__ = ["Child", "start_child"]


class Child:
    """A program that was started by :func:`start_child`. ``input`` is its standard input."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, name: str, source: int, target: int, events: ChildEvents
    ) -> None:
        self.pid = transport.get_pid()
        self.input = pipes.PipeOutput(target)
        self._transport = transport
        self._name = name
        self._family: Mapping[int, bytes] = {}
        self._output: pipes.PipeInput | None = pipes.PipeInput(source, events.output, events.output_ended)

    def pause_reading(self) -> None:
        """Leave its standard output unread until :meth:`read_on`, so that it can write no more than a pipe holds."""
        if self._output is not None:
            self._output.pause()

    def read_on(self) -> None:
        if self._output is not None:
            self._output.resume()

    def stop_reading(self) -> None:
        """Read no more of its standard output, and close that."""
        if self._output is not None:
            self._output.close()
            self._output = None

    def family(self) -> set[int]:
        """The processes that it has started, directly or indirectly."""
        return processes.descendants(self.pid)

    def remember_family(self) -> None:
        """Remember the processes that it has started: once it has ended, they are not known as its own."""
        self._family = processes.starts(self.family())

    def ask_to_end(self) -> None:
        """Ask its process group to terminate."""
        processes.signal_group(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, its process group and, on Linux wherever they are by then, all processes that it has started."""
        processes.signal_group(self.pid, signal.SIGKILL)  # also processes that the child has left behind
        processes.kill_strays(self._name, self._family)

    def close(self) -> None:
        """Release what the event loop holds of it."""
        self._transport.close()


async def start_child(command: Sequence[str], env: Mapping[str, str], cwd: str | None, events: ChildEvents) -> Child:
    """Start the program. ``OSError`` if it cannot be started."""
    name, value = processes.mark()
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        for_child, target = os.pipe()
        theirs.callback(os.close, for_child)
        ours.callback(os.close, target)
        source, by_child = os.pipe()
        theirs.callback(os.close, by_child)
        ours.callback(os.close, source)
        keep_descriptors()
        transport, _ = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Events(events),
            *command,
            stdin=for_child,
            stdout=by_child,
            env={**env, processes.MARK: value},
            cwd=cwd,
            start_new_session=True,
        )
        ours.pop_all()
    return Child(transport, name, source, target, events)


class _Events(asyncio.SubprocessProtocol):
    """Standard error is the one pipe of the transport of asyncio, which has less to carry."""

    def __init__(self, events: ChildEvents) -> None:
        self._events = events

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._events.errors(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._events.errors_ended()

    def process_exited(self) -> None:
        self._events.exited()

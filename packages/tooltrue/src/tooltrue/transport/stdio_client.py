"""A client of a server that it starts: one JSON message per line on the child's standard input and output.

The child gets a small environment and its own process group. When the link is closed, it is gone, with all processes
that it has started: on Linux wherever these are by then, elsewhere if they are still in its group.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tooltrue._internal.child_descriptors import keep_descriptors
from tooltrue._internal.processes import MARK, descendants, kill_strays, mark, starts
from tooltrue.errors import ConnectionLost
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.transport.carrier import Receiver
from tooltrue.transport.lines import LineSplitter
from tooltrue.transport.pipes import PipeInput, PipeOutput
from tooltrue.transport.wording import (
    LABEL_NO_OUTPUT,
    SERVER_COMMAND_EXITED,
    SERVER_COMMAND_START_FAILED,
    SERVER_INPUT_NOT_READ,
    SERVER_LINE_TOO_LONG,
)
from tooltrue.wording import REASON_UNKNOWN, Worded

__all__ = ["StdioLink"]

# The variables that a program needs to run at all; secrets that may be in the environment are not passed on.
_PASSED_ON = (
    *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV"),
    "XDG_STATE_HOME",  # so that a server of ours and `tooltrue approvals` use the same folder
)

_PATIENCE_SECONDS = 2.0
_LAST_WORDS_SECONDS = 0.5
_KEPT_STDERR = 65_536
_MAX_UNREAD = 64 * 1024 * 1024


class StdioLink:
    """The client's end. ``env`` is added to the small environment; ``cwd`` is the child's working directory."""

    shared = True

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | Path | None = None
    ) -> None:
        self._command = tuple(command)
        self._env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | dict(env or {})
        self._cwd = None if cwd is None else str(cwd)
        self._transport: asyncio.SubprocessTransport | None = None
        self._child: _ServerProcess | None = None
        self._input: PipeOutput | None = None
        self._name, self._mark = mark()

    @property
    def key(self) -> str | None:
        return json.dumps([self._command, self._cwd, sorted(self._env.items())])

    async def open(self, receiver: Receiver) -> None:
        try:
            await self._start(receiver)
        except OSError as error:
            raise ConnectionLost.of(
                SERVER_COMMAND_START_FAILED,
                command=self._command[0],
                problem=error.strerror or Worded(REASON_UNKNOWN, {}),
            ) from None

    async def _start(self, receiver: Receiver) -> None:
        child = _ServerProcess(receiver, self._command[0])
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            for_child, target = os.pipe()
            theirs.callback(os.close, for_child)
            ours.callback(os.close, target)
            source, by_child = os.pipe()
            theirs.callback(os.close, by_child)
            ours.callback(os.close, source)
            keep_descriptors()
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: child,
                *self._command,
                stdin=for_child,
                stdout=by_child,
                env={**self._env, MARK: self._mark},
                cwd=self._cwd,
                start_new_session=True,
            )
            ours.pop_all()
        self._transport, self._child, self._input = transport, child, PipeOutput(target)
        child.read(source)

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        pipe = self._input
        if pipe is None or pipe.is_closing:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        if pipe.unread > _MAX_UNREAD:
            raise ConnectionLost.of(SERVER_INPUT_NOT_READ, command=self._command[0])
        pipe.write(frame + b"\n")

    async def flush(self) -> None:
        """No-op: messages are delivered in order."""

    def last_words(self) -> str:
        return "" if self._child is None else self._child.last_words()

    @property
    def stderr(self) -> str:
        """The end of the child's standard error output."""
        return "" if self._child is None else self._child.stderr

    def opened(self, id: Id) -> None:
        """No-op: the channel identifies its session."""

    def renew(self) -> None:
        """No-op: a session lives as long as the child."""

    def abandon(self, id: Id) -> None:
        """No-op: on a shared channel the client cancels by sending a notification."""

    async def listen(self, headers: Mapping[str, str]) -> None:
        """No-op: all messages arrive on the one channel."""

    @property
    def pid(self) -> int | None:
        """The child's process id, while the link is open."""
        return None if self._transport is None else self._transport.get_pid()

    async def end_input(self) -> bool:
        """Close the child's input; return whether the child ends within the time that :meth:`close` allows."""
        if self._child is None or self._input is None:
            return True
        self._input.close()
        return await self._child.ended_within(_PATIENCE_SECONDS)

    async def close(self) -> None:
        """Close the child's input, wait, then terminate and at last kill its process group (basic/transports/stdio),
        and processes that have left the group. If this is cancelled, they are killed at once."""
        if self._transport is None or self._child is None:
            return
        transport, self._transport = self._transport, None
        family = starts(descendants(transport.get_pid()))
        try:
            if not await self.end_input():
                _signal_group(transport.get_pid(), signal.SIGTERM)
                await self._child.ended_within(_PATIENCE_SECONDS)
        finally:
            _signal_group(transport.get_pid(), signal.SIGKILL)  # also processes that the child has left behind
            kill_strays(self._name, family)
            self._child.stop_reading()
            if self._input is not None:
                self._input.abort()
            await self._child.ended_within(_PATIENCE_SECONDS)
            transport.close()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _ServerProcess(asyncio.SubprocessProtocol):
    def __init__(self, receiver: Receiver, name: str) -> None:
        self._receiver = receiver
        self._name = name
        self._lines = LineSplitter(receiver.feed, self._too_long)
        self._output: PipeInput | None = None
        self._source = -1
        self._exited = asyncio.Event()
        self._stderr = b""
        self._has_ended_stdout = self._has_ended_stderr = False

    def read(self, source: int) -> None:
        """Read its standard output from this descriptor, and close that in the end."""
        self._source = source
        self._output = PipeInput(source, self._lines.feed, self._stdout_ended)

    def stop_reading(self) -> None:
        if self._output is not None:
            self._output.close()
            self._output = None
            os.close(self._source)

    def _too_long(self) -> None:
        """Give up the connection and stop reading: the line may be endless."""
        self._receiver.lose(ConnectionLost.of(SERVER_LINE_TOO_LONG))
        self.stop_reading()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-_KEPT_STDERR:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._has_ended_stderr = True
        if self._has_ended_stdout:
            self._lost()

    def process_exited(self) -> None:
        self._exited.set()
        # Its last output is still to be read; a grandchild may keep the pipe open, so the wait is limited.
        asyncio.get_running_loop().call_later(_LAST_WORDS_SECONDS, self._lost)

    def _stdout_ended(self) -> None:
        self._has_ended_stdout = True
        self.stop_reading()
        if self._has_ended_stderr:
            self._lost()
        else:  # what it has written to standard error is still to be read
            asyncio.get_running_loop().call_later(_LAST_WORDS_SECONDS, self._lost)

    @property
    def stderr(self) -> str:
        return self._stderr.decode(errors="replace")

    def last_words(self) -> str:
        return " | ".join(line[:500] for line in self.stderr.strip().splitlines()[-3:])

    def _lost(self) -> None:
        self._receiver.lose(
            ConnectionLost.of(
                SERVER_COMMAND_EXITED, command=self._name, stderr=self.last_words() or Worded(LABEL_NO_OUTPUT, {})
            )
        )

    async def ended_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()

"""A client of a server that it starts: one JSON message per line on the child's standard input and output.

The child gets a small environment and its own process group. When the link is closed, it is gone, with all processes
that it has started: on Linux and Windows wherever these are by then, on macOS if they are in its group, have a parent,
or have kept its environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tooltrue._internal.platform.children import Child, ChildEvents, UnsafeArgument, start_child
from tooltrue._internal.platform.environment import PASSED_ON, merged
from tooltrue._internal.platform.pipes import PipeOutput
from tooltrue.errors import ConnectionLost
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.transport.carrier import Receiver
from tooltrue.transport.lines import LINES_PER_SECOND, InputPace, LineSplitter
from tooltrue.transport.wording import (
    BATCH_FILE_ARGUMENT_REFUSED,
    LABEL_NO_OUTPUT,
    SERVER_COMMAND_EXITED,
    SERVER_COMMAND_START_FAILED,
    SERVER_INPUT_NOT_READ,
    SERVER_LINE_TOO_LONG,
)
from tooltrue.wording import REASON_UNKNOWN, Worded

__all__ = ["StdioLink"]

_PATIENCE_SECONDS = 2.0
_TERMINATION_SECONDS = 0.4
_KILLED_SECONDS = 10.0
"""How long a killed child may take until its end is noticed; on a very busy machine, seconds."""
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
        self._env = merged({name: os.environ[name] for name in PASSED_ON if name in os.environ}, env or {})
        self._cwd = None if cwd is None else str(cwd)
        self._process: Child | None = None
        self._child: _ServerProcess | None = None
        self._input: PipeOutput | None = None
        self._killing: asyncio.TimerHandle | None = None
        self._is_killed = False

    @property
    def key(self) -> str | None:
        return json.dumps([self._command, self._cwd, sorted(self._env.items())])

    async def open(self, receiver: Receiver) -> None:
        child = _ServerProcess(receiver, self._command[0])
        try:
            self._process = process = await start_child(self._command, self._env, self._cwd, child.events())
        except UnsafeArgument as error:
            raise ConnectionLost.of(
                BATCH_FILE_ARGUMENT_REFUSED, command=error.program, argument=error.argument, character=error.character
            ) from None
        except OSError as error:
            raise ConnectionLost.of(
                SERVER_COMMAND_START_FAILED,
                command=self._command[0],
                problem=error.strerror or Worded(REASON_UNKNOWN, {}),
            ) from None
        child.process = process
        self._child, self._input = child, process.input

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        pipe = self._input
        if pipe is None or pipe.is_closing:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        if pipe.unread > _MAX_UNREAD:
            raise ConnectionLost.of(SERVER_INPUT_NOT_READ, command=self._command[0])
        if id is not None and self._child is not None:
            self._child.pace.expect()
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
        return None if self._process is None else self._process.pid

    def family(self) -> set[int]:
        """The processes that the child has started, directly or indirectly, while the link is open."""
        return set() if self._process is None else self._process.family()

    async def end_input(self) -> bool:
        """Close the child's input; return whether the child ends within the time that :meth:`close` allows."""
        if self._child is None or self._input is None:
            return True
        self._input.close()
        return await self._child.ended_within(_PATIENCE_SECONDS)

    async def close(self) -> None:
        """Close the child's input, wait, then terminate and at last kill its process group (basic/transports/stdio),
        and processes that have left the group. If this is cancelled, they are killed at once."""
        if self._process is None or self._child is None:
            return
        process, self._process = self._process, None
        process.remember_family()
        try:
            if not await self.end_input():
                process.ask_to_end()
                await self._child.ended_within(_PATIENCE_SECONDS)
        finally:
            self._kill(process)
            process.stop_reading()
            process.input.abort()
            await self._child.ended_within(_KILLED_SECONDS)
            if self._killing is not None:
                self._killing.cancel()
            process.close()

    def terminate(self) -> None:
        """While :meth:`close` runs, wait for the child no longer: its process group is terminated now, and killed 0.4 s
        later."""
        if self._child is None or (process := self._child.process) is None or self._killing is not None:
            return
        process.ask_to_end()
        self._killing = asyncio.get_running_loop().call_later(_TERMINATION_SECONDS, self._kill, process)

    def _kill(self, process: Child) -> None:
        if not self._is_killed:
            self._is_killed = True
            process.kill()


class _ServerProcess:
    def __init__(self, receiver: Receiver, name: str) -> None:
        self.process: Child | None = None
        self._receiver = receiver
        self._name = name
        self._lines = LineSplitter(receiver.feed, self._too_long)
        self.pace = InputPace(LINES_PER_SECOND)
        self._exited = asyncio.Event()
        self._stderr = b""
        self._has_ended_stdout = self._has_ended_stderr = False

    def events(self) -> ChildEvents:
        return ChildEvents(
            self._stdout_received, self._stdout_ended, self._stderr_received, self._stderr_ended, self._process_exited
        )

    def _stop_reading(self) -> None:
        if self.process is not None:
            self.process.stop_reading()

    def _too_long(self) -> None:
        """Give up the connection and stop reading: the line may be endless."""
        self._receiver.lose(ConnectionLost.of(SERVER_LINE_TOO_LONG))
        self._stop_reading()

    def _stdout_received(self, data: bytes) -> None:
        self._lines.feed(data)
        loop = asyncio.get_running_loop()
        pause = self.pace.take(data.count(b"\n"), len(data), loop.time())
        if pause and self.process is not None:
            self.process.pause_reading()
            loop.call_later(pause, self.process.read_on)

    def _stderr_received(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-_KEPT_STDERR:]

    def _stderr_ended(self) -> None:
        self._has_ended_stderr = True
        if self._has_ended_stdout:
            self._lost()

    def _process_exited(self) -> None:
        self._exited.set()
        # Its last output is still to be read; a grandchild may keep the pipe open, so the wait is limited.
        asyncio.get_running_loop().call_later(_LAST_WORDS_SECONDS, self._lost)

    def _stdout_ended(self) -> None:
        self._has_ended_stdout = True
        self._stop_reading()
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

"""A program with pipes, served by threads, in a job of its own. For Windows, whose event loops differ in what they can
start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Mapping, Sequence

from tooltrue._internal.platform import windows_jobs as jobs
from tooltrue._internal.platform import windows_processes as processes
from tooltrue._internal.platform.child_events import ChildEvents
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue._internal.platform.threaded_pipes import ThreadedInput, ThreadedOutput
from tooltrue._internal.platform.windows_commands import command_line

assert not HAS_POSIX

__all__ = ["Child", "start_child"]


class Child:
    """A program that was started by :func:`start_child`. ``input`` is its standard input."""

    def __init__(self, program: processes.Program, target: int, source: int, errors: int, events: ChildEvents) -> None:
        self.pid = program.pid
        self.input = ThreadedOutput(target)
        self._program = program
        self._output: ThreadedInput | None = ThreadedInput(source, events.output, events.output_ended)
        self._errors = ThreadedInput(errors, events.errors, events.errors_ended)
        threading.Thread(
            target=_wait_for, args=(program, asyncio.get_running_loop(), events), name="tooltrue-child", daemon=True
        ).start()

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
        """No-op: the job knows the processes that it has started."""

    def ask_to_end(self) -> None:
        """Ask its console process group to end. Does nothing where it has no console in common with this process."""
        jobs.send_break(self.pid)

    def kill(self) -> None:
        """Kill it and all processes that it has started."""
        self._program.job.kill()

    def close(self) -> None:
        """Release what this process holds of it."""
        self._errors.close()
        self._program.job.close()


def _wait_for(program: processes.Program, loop: asyncio.AbstractEventLoop, events: ChildEvents) -> None:
    program.wait()
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(events.exited)


async def start_child(command: Sequence[str], env: Mapping[str, str], cwd: str | None, events: ChildEvents) -> Child:
    """Start the program. ``OSError`` if it cannot be started, ``UnsafeArgument`` if it is a batch file and an argument
    would be interpreted."""
    line = command_line(command, env)
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        for_child, target = os.pipe()
        theirs.callback(os.close, for_child)
        ours.callback(os.close, target)
        source, by_child = os.pipe()
        theirs.callback(os.close, by_child)
        ours.callback(os.close, source)
        errors, of_child = os.pipe()
        theirs.callback(os.close, of_child)
        ours.callback(os.close, errors)
        program = processes.start_program(line, stdin=for_child, stdout=by_child, stderr=of_child, env=env, cwd=cwd)
        ours.pop_all()
    return Child(program, target, source, errors, events)

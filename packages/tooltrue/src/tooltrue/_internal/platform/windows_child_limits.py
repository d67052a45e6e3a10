"""Limits of this process on Windows: a job object that holds the process alone."""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

from tooltrue._internal.platform.windows_jobs import Job, JobLimits  # noqa: E402 - the type checkers stop above

__all__ = ["limit_cpu", "limit_memory"]


def limit_memory(size: int) -> None:
    """Let this process have ``size`` bytes of memory: an allocation beyond them fails. No dialog waits for a person
    when it crashes. ``OSError`` if the limit cannot be set."""
    Job(JobLimits(memory=size, ends_crashed=True, kills_on_close=False)).add_self()


def limit_cpu(seconds: int) -> None:
    """Let this process compute for ``seconds``; then it is ended."""
    Job(JobLimits(cpu_seconds=seconds, kills_on_close=False)).add_self()

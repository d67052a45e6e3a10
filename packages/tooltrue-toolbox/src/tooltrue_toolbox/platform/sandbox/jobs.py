"""A program to run, its limits, and its outcome: values, the same on every system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Cause", "ProcessOutcome", "SandboxBounds", "SandboxJob"]

Cause = Literal["exit", "signal", "time", "output", "processes", "start", "confinement", "lost"]


@dataclass(frozen=True, slots=True)
class SandboxBounds:
    """Limits of one program. Memory, file size and CPU time are per process."""

    seconds: float = 30.0
    output_bytes: int = 2 << 20
    cpu_seconds: int = 60
    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    processes: int = 64
    files: int = 256

    def limits(self) -> dict[str, int]:
        """The limits by the names of POSIX."""
        return {
            "CPU": self.cpu_seconds,
            "FSIZE": self.file_bytes,
            "NOFILE": self.files,
            "AS": self.memory_bytes,
        }


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """A program to run. ``program`` is absolute, ``argv`` has its name first; ``folder`` is a descriptor of its working
    directory.

    ``readable`` and ``writable`` are the places that it may open besides the system and a folder of its own, with
    ``HOME`` and ``TMPDIR``: paths, or descriptors where a path might lead elsewhere by now. ``required`` are the
    confinement mechanisms without which it is not run. Where the system confines no program, only ``bounds`` is
    heeded.
    """

    program: str
    argv: tuple[str, ...]
    folder: int
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    readable: tuple[str, ...] = ()
    writable: tuple[str | int, ...] = ()
    network: bool = False
    required: tuple[str, ...] = ()
    bounds: SandboxBounds = field(default_factory=SandboxBounds)


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """The outcome; ``lost`` where another process has ended the supervisor, ``None`` for what the system does not
    count.

    ``code`` is the exit code, or the number of the signal; the error number if the start failed.
    """

    cause: Cause
    code: int
    output: bytes
    errors: bytes
    holds: tuple[str, ...]
    missing: tuple[str, ...]
    seconds: float
    cpu_seconds: float | None
    memory_bytes: int | None

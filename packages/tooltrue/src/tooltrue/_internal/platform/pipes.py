"""Ends of pipes beside an event loop: those of a server's own streams, and those of a program that it starts."""

from __future__ import annotations

from typing import Protocol

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_pipes import PipeInput, PipeOutput, SharedOutput, shared_input
else:
    from tooltrue._internal.platform.threaded_pipes import ThreadedInput as PipeInput
    from tooltrue._internal.platform.threaded_pipes import ThreadedOutput as PipeOutput
    from tooltrue._internal.platform.threaded_pipes import ThreadedSharedOutput as SharedOutput
    from tooltrue._internal.platform.threaded_pipes import shared_input

__all__ = ["PipeInput", "PipeOutput", "RunningInput", "SharedOutput", "shared_input"]


class RunningInput(Protocol):
    """Reads in the background; can be paused, and stops."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def stop(self) -> None: ...

"""The events of a started program that its owner is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["ChildEvents"]


@dataclass(frozen=True, slots=True)
class ChildEvents:
    """Callbacks, on the event loop: parts of the program's standard output and standard error output, the ends of both,
    and the end of the program. A process that it has started may keep its output open longer."""

    output: Callable[[bytes], None]
    output_ended: Callable[[], None]
    errors: Callable[[bytes], None]
    errors_ended: Callable[[], None]
    exited: Callable[[], None]

"""Whether work grows in proportion to its input, judged by a ratio that noise cannot spoil.

No count of steps can be had of a regular expression or of an engine in C, so CPU time is measured, of this process
alone; it does not grow while other processes have the processor. The input of :data:`FACTOR` (16) times the size may
cost :data:`BOUND` (64) times as much. Work in proportion costs about 16 times as much, quadratic work 256 times: each
is four times away from the bound. Of each size the least of several measurements counts, since noise only ever adds:
eight of the small size, and of the large size as many as it takes until one passes, seven at the most. Work that is
exponential never ends, and the time limit of the test ends it.

A pattern could be judged by its parse tree instead, but only where no two neighbours match the same text: most patterns
here have neighbours that do, and are bounded by a look-behind or a length, which such a check would have to evaluate.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["BOUND", "FACTOR", "grows_in_proportion"]

FACTOR = 16
BOUND = 64
_SMALL_ROUNDS = 8
_ROUNDS = 7

InputT = TypeVar("InputT")


def grows_in_proportion(work: Callable[[InputT], object], made: Callable[[int], InputT], size: int) -> bool:
    """Whether ``work`` over ``made(16 * size)`` costs less than 64 times as much as over ``made(size)``."""
    small, large = made(size), made(FACTOR * size)
    least = min(_cpu_time(work, small) for _ in range(_SMALL_ROUNDS))
    return any(_cpu_time(work, large) < BOUND * least for _ in range(_ROUNDS))


def _cpu_time(work: Callable[[InputT], object], given: InputT) -> int:
    was_enabled = gc.isenabled()
    gc.disable()  # a collection scans the objects of other tests, and the large input triggers more collections
    try:
        begun = time.process_time_ns()
        work(given)
        return time.process_time_ns() - begun
    finally:
        if was_enabled:
            gc.enable()

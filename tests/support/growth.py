"""Whether work grows in proportion to its input, judged by a ratio that noise cannot spoil.

No count of steps can be had of a regular expression or of an engine in C, so CPU time is measured, of this thread
alone: it does not grow while other processes have the processor, nor with the threads that other tests have left. The
input of :data:`FACTOR` (16) times the size may cost :data:`BOUND` (64) times as much. Work in proportion costs about 16
times as much, quadratic work 256 times: each is four times away from the bound. Both sizes are measured in turn until
one round passes, seven times at the most, so that a slow moment of the machine is one of both. Of the small size the
least of eight counts, since noise only ever adds. Work that is exponential never ends, and the time limit of the test
ends it.

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


def grows_in_proportion(
    work: Callable[[InputT], object],
    made: Callable[[int], InputT],
    size: int,
    clock: Callable[[], int] = time.thread_time_ns,
) -> bool:
    """Whether ``work`` over ``made(16 * size)`` costs less than 64 times as much as over ``made(size)``. ``clock`` is
    ``time.process_time_ns`` for work that has threads of its own."""
    small, large = made(size), made(FACTOR * size)

    def cost(given: InputT) -> int:
        begun = clock()
        work(given)
        return clock() - begun

    was_enabled = gc.isenabled()
    gc.disable()  # a collection scans the objects of other tests, and the large input triggers more collections
    try:
        return any(BOUND * min(cost(small) for _ in range(_SMALL_ROUNDS)) > cost(large) for _ in range(_ROUNDS))
    finally:
        if was_enabled:
            gc.enable()

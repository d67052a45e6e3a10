"""A heap that stays small for whoever collects garbage, however many tests have run.

A collection looks at every object that it may collect. What thousands of tests leave in caches, classes and modules
takes a second to look through, and tests that collect garbage, to see that nothing grows, do so many times. So what is
alive between two tests is put by now and then, where no collection looks for it.
"""

from __future__ import annotations

import gc

__all__ = ["Heap"]

TESTS = 100
"""So many tests run between one time and the next."""


class Heap:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self._tests = 0

    def pytest_runtest_logfinish(self) -> None:
        self._tests += 1
        if self._tests % TESTS == 0:
            gc.collect()  # what is garbage is not put by, and what it leaves open is told as ever
            gc.freeze()

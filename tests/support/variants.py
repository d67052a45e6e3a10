"""The number of variants of an attack that a test tries: one, unless its marker ``variants(n)`` promises more.

A test that tries a family in a loop, or by Hypothesis, calls :func:`tried` with each variant. It fails if it ends with
fewer distinct variants than its marker promises, so that the table of attacks counts only variants that were tried.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

__all__ = ["Family", "promised", "tried"]

_family: set[str] = set()


def tried(variant: object) -> None:
    """Counts one variant of the running test, by its ``repr``; the same one twice is one."""
    _family.add(repr(variant))


def promised(item: pytest.Item) -> int:
    """How many variants the test tries, each time it runs."""
    return next((int(one.args[0]) for one in item.iter_markers("variants")), 1)


class Family:
    """A plugin that holds each test to its marker."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        _family.clear()
        yield
        if len(_family) < promised(item) and any(item.iter_markers("variants")):
            pytest.fail(f"tried {len(_family)} different variants, and promises {promised(item)}", pytrace=False)

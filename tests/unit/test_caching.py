"""Caches keyed by external text do not retain long texts, and values are made once, also by several threads."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable

import pytest

from tooltrue.caching import cache_short_texts, made_once
from tooltrue.contract.contract import place
from tooltrue.contract.scan import scan
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.testing.state import LIMIT
from tooltrue.tools.search.words import stem
from tooltrue_check.language import searched, words
from tooltrue_check.subject import ToolParameter
from tooltrue_toolbox.rooted_paths import PathRules

CACHED: dict[str, Callable[[str], object]] = {
    "a path of a definition": lambda text: place(("tools", text)),
    "a word": stem,
    "Chinese words": lambda text: words(text.replace("x", "读")),
    "Chinese words within others": lambda text: searched(text.replace("x", "读")),
    "the name of a parameter": lambda text: ToolParameter(text, {}, (), False, 1).name_words,
    "a description": lambda text: scan({"name": "a", "description": text}),
    "the name of an argument": lambda text: Masks().mask({text: 1}, None),
    "the name of a file": lambda text: PathRules().denial(("a", text), "write"),
    "the name of a file that is asked about": lambda text: PathRules().asks(("a", text)),
}


def long(row: str, number: int) -> str:
    return f"{row} {number} {'x' * (50_000 + number)}"


@pytest.mark.parametrize("row", CACHED)
def test_a_long_text_stays_in_no_cache(row: str):
    CACHED[row](long(row, 0))  # loads and compiles the data that is cached on purpose
    # From here on only what is made here is collected: that takes no look at the whole heap, and does not end what
    # earlier tests have left, which would write log messages meanwhile.
    gc.disable()
    gc.freeze()
    tracemalloc.start()
    try:
        for number in range(1, 5):
            CACHED[row](long(row, number))
        gc.collect(0)
        assert tracemalloc.get_traced_memory()[0] < 50_000
    finally:
        tracemalloc.stop()
        gc.unfreeze()
        gc.enable()


def test_a_short_text_is_computed_once_and_a_long_one_each_time():
    asked: list[str] = []

    @cache_short_texts(2, longest=3)
    def upper(text: str) -> str:
        asked.append(text)
        return text.upper()

    assert [upper(text) for text in ("abc", "abcd", "abc", "abcd")] == ["ABC", "ABCD", "ABC", "ABCD"]
    assert asked == ["abc", "abcd", "abcd"]


def test_threads_that_need_a_value_at_the_same_time_get_the_same():
    makes, may_end = threading.Semaphore(0), threading.Event()
    made: list[object] = []

    @made_once
    def value() -> object:
        makes.release()
        may_end.wait(LIMIT)
        return object()

    threads = [threading.Thread(target=lambda: made.append(value())) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert makes.acquire(timeout=LIMIT)
    assert not makes.acquire(timeout=0.05)  # the second waits for the first
    may_end.set()
    for thread in threads:
        thread.join()
    assert made[0] is made[1]

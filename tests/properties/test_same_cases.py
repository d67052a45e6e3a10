"""The suite tries the same cases in every run, whichever tests ran before; ``make fuzz`` tries others."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def cases() -> list[Any]:
    found: list[Any] = []

    @given(st.lists(st.integers() | st.text() | st.floats(allow_nan=False)))
    def collect(values: list[Any]) -> None:
        found.append(values)

    collect()
    return found


@pytest.mark.skipif(not settings().derandomize, reason="it looks for others")
def test_neither_a_seed_nor_a_module_that_was_loaded_changes_the_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = cases()
    random.seed(len(before))
    words = "\n".join(f"word{number} = 'literal-{number}', 1_000_{number:03}" for number in range(500))
    (tmp_path / "literals_of_ours.py").write_text(words)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("literals_of_ours")
    try:
        assert cases() == before
    finally:
        del sys.modules["literals_of_ours"]
    assert any(before)

"""A look for secrets costs few steps: calls are counted, of Python and of C, which noise cannot change.

The bounds are those of today with a tenth to spare. A pass over a whole text by a regular expression is one call: that
such passes take time in proportion, `test_growth.py` judges.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import uuid
from types import FrameType
from typing import Any

import pytest

from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.policy.sanitize.secret_patterns import SECRET_PATTERNS
from tooltrue.policy.sanitize.secrets import WORDS

MADE = random.Random("cost")


def calls(text: str) -> int:
    """How many calls a second look at ``text`` makes: at the first one patterns are compiled."""
    data, count = text.encode(), 0

    def counted(frame: FrameType, event: str, what: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    profile = sys.setprofile  # found before: a module that the harness without POSIX shows makes calls of its own
    prescan(data, True)
    gc.disable()  # a collection would call finalizers and callbacks of other tests
    profile(counted)
    try:
        prescan(data, True)
    finally:
        profile(None)
        gc.enable()
    return count


SHORT = {
    "a word": ("hello world", 5),
    "a sentence": ("The sum of the two numbers is 42, good.", 8),
    "two sentences": ("The file was written: 1,234 bytes in 12 lines. It is at notes/today.md, beside the other.", 12),
    "JSON": ('{"temperature":21.5,"unit":"celsius","city":"Berlin"}', 12),
    "JSON with an address": ('{"to":"ann@example.com","ok":true,"at":"2026-11-23T09:57:39Z"}', 12),
    "names of files": ("a.txt\nb.txt\nnotes/today.md\nsrc/main.py\nREADME.md\n", 24),
    "an id": (json.dumps({"id": str(uuid.UUID(bytes=MADE.randbytes(16)))}), 45),
    "a hash": (f"commit {MADE.randbytes(20).hex()}", 50),
}


@pytest.mark.parametrize("kind", SHORT)
def test_a_short_result_costs_a_few_calls(kind: str):
    text, most = SHORT[kind]
    assert calls(text) <= most


def test_rows_without_long_runs_cost_no_more_for_their_number():
    rows = [{"id": at, "name": f"ann{at}", "mail": f"u{at}@example.com", "total": 12.5} for at in range(500)]
    assert calls(json.dumps(rows)) <= 30


def test_a_hash_a_line_costs_some_calls_a_line():
    made = random.Random("hashes")
    lines = [f"{made.randbytes(32).hex()}  file{at}.txt" for at in range(1_000)]
    assert calls("\n".join(lines)) <= 30 * len(lines)


def test_an_id_in_json_costs_a_handful_of_calls():
    made = random.Random("ids")
    rows = [{"id": str(uuid.UUID(bytes=made.randbytes(16))), "etag": made.randbytes(20).hex()} for _ in range(1_000)]
    assert calls(json.dumps(rows)) <= 7 * 2 * len(rows)


def test_names_of_programs_cost_some_calls_each():
    lines = [f"def read_the_configuration_{at}(path_to_the_file, *, encoding):\n    return path" for at in range(1_000)]
    assert calls("\n".join(lines)) <= 30 * len(lines)


def test_each_word_that_a_secret_stands_beside_is_looked_for():
    missed = {word for shape in SECRET_PATTERNS for word in shape.words} - {word for word, _ in WORDS}
    assert missed == {"://"}

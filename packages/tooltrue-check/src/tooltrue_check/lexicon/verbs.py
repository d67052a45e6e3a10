"""Verbs in the names and descriptions of tools, in both languages, in all regular forms."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tooltrue_check.subject import ToolText

__all__ = ["BASE_VERBS", "READS", "VAGUE", "VERBS", "WRITES", "verbs"]

_LISTS: Final = tomllib.loads(Path(__file__).with_name("verbs.toml").read_text("utf-8"))
_VOWELS: Final = "aeiou"


def _forms(verb: str) -> Iterator[str]:
    """The forms of a verb: ``make``, ``makes``, ``making``. Irregular ones such as ``made`` are left out: they hardly
    ever begin a description."""
    yield verb
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        yield verb + "es"
    elif verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        yield from (verb[:-1] + "ies", verb[:-1] + "ied")
    else:
        yield verb + "s"
    stem = verb.removesuffix("e")
    yield from (stem + "ing", stem + "ed")
    if verb[-1] not in _VOWELS + "wxy" and verb[-2:-1] in tuple(_VOWELS):
        yield from (verb + verb[-1] + "ing", verb + verb[-1] + "ed")


def _all(verbs: Iterable[str], chinese: Iterable[str]) -> frozenset[str]:
    return frozenset(form for verb in verbs for form in _forms(verb)) | frozenset(chinese)


READS: Final = _all(_LISTS["read"], _LISTS["chinese_read"])
"""Verbs that leave everything as it is."""

WRITES: Final = _all(_LISTS["write"], _LISTS["chinese_write"])
"""Verbs that change something or make something happen. Some verbs are in both sets."""

VAGUE: Final = _all(_LISTS["vague"], _LISTS["chinese_vague"])
"""Verbs that name no specific action."""

VERBS: Final = READS | WRITES | VAGUE

BASE_VERBS: Final = frozenset(_LISTS["read"]) | frozenset(_LISTS["write"]) | frozenset(_LISTS["vague"])
"""English verbs without an ending, as in names."""

_CHINESE: Final = re.compile("|".join(sorted(verb for verb in VERBS if len(verb) > 1 and not verb.isascii())))


def verbs(text: ToolText) -> frozenset[str]:
    """The verbs in a text. Chinese verbs are also found within a longer word of the dictionary."""
    english = VERBS & text.word_set
    return english if text.raw.isascii() else english.union(_CHINESE.findall(text.raw))

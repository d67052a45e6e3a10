"""A description that does not reveal the action of the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.verbs import VAGUE, verbs
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject, ToolText

__all__ = ["problems"]

_LONGEST: Final = 20
"""A longer description states the action somewhere."""

_FIRST: Final = 2
"""A vague verb counts if it is one of this many words at the beginning."""

_SHORT: Final = 6
_ANYTHING: Final = frozenset(word_list("about_anything"))
_MORE: Final = frozenset(word_list("and_more"))


def problems(tool: Subject) -> Iterator[Problem]:
    text = tool.text
    if not text or len(text.words) > _LONGEST or not text.language:
        return
    text_verbs = verbs(text)
    if (
        not text_verbs
        or (text_verbs <= VAGUE and not text_verbs.isdisjoint(text.words[:_FIRST]))
        or _is_about_anything(text)
    ):
        yield Problem(("description",), {"text": text.raw.strip()})


def _is_about_anything(text: ToolText) -> bool:
    """Whether a noun was taken for a verb: ``Manages orders``."""
    return len(text.words) <= _SHORT and text.words[0] in _ANYTHING and _MORE.isdisjoint(text.word_set)

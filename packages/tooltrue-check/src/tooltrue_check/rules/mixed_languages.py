"""A definition in two languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_CHINESE: Final = re.compile("[\u4e00-\u9fff]+")
_FEW: Final = 4
"""Characters, or words, that are too few for a sentence."""


def problems(tool: Subject) -> Iterator[Problem]:
    main_language = _language(tool.text.raw)
    if main_language == "zh" and any(map(_is_english, tool.text.sentences)):
        yield Problem(("description",), {"where": tool.name})
        return
    for one in tool.arguments if main_language else ():
        if (other := _language(one.text.raw)) and other != main_language:
            yield Problem((*one.path, "description"), {"where": one.name})
            return


def _language(text: str) -> str:
    """The main language of a text, ignoring single terms of the other one; empty if the text is only a term."""
    chinese = 0 if text.isascii() else sum(map(len, _CHINESE.findall(text)))
    words = len(text.split())
    return "zh" if chinese > max(_FEW, words) else "en" if words > _FEW and not chinese else ""


def _is_english(sentence: str) -> bool:
    return _language(sentence) == "en"

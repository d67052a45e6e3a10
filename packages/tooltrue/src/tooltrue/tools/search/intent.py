"""The intent of a query, and of a tool by its name: to look, or to change something.

A person who asks something is seldom served by a tool that creates or deletes, although its text has the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from tooltrue.tools.search.lexicon import CHANGES, READS
from tooltrue.tools.search.words import stem, text_tokens

__all__ = ["asks", "changes"]

_READS: Final = frozenset(map(stem, READS))
_CHANGES: Final = frozenset(map(stem, CHANGES))
_REQUEST: Final = re.compile(r"how (?:do|can|to)\b|(?:can|could|will|would) you\b|please\b", re.IGNORECASE)
_QUESTION: Final = re.compile(
    r"(?:what|which|who|whose|when|where|why|is|are|was|were|does|do|did|has|have|had|will|any|show|list|find|look"
    r"|search|check|see|tell me|how (?:many|much|long|far|big|large|old|often|fast|did|does|is|are|was|has))\b",
    re.IGNORECASE,
)
_CHINESE_QUESTION: Final = re.compile(
    "哪|多少|什么|几[个天号点月]|吗|谁|有没有|了没|怎么样|查|看|列出|搜|找|多[大久长远快]|如何|是不是"
)
_LEAST: Final = 0.3


def asks(query: str, terms: Iterable[Sequence[tuple[str, float]]]) -> bool:
    """Return whether a query with these terms asks for something to look at: it is a question, or it has no verb of a
    change, nor a word that leads to one."""
    text = query.strip()
    if not _REQUEST.match(text) and (_QUESTION.match(text) or _CHINESE_QUESTION.search(text)):
        return True
    words = (word for alternatives in terms for word, weight in alternatives if weight >= _LEAST)
    return not any(stem(word) in _CHANGES for word in words)


def changes(name: str) -> bool:
    """Return whether the first verb in the name of a tool is one of a change."""
    verbs = (token for token in text_tokens(name) if token in _READS or token in _CHANGES)
    return next(verbs, "") in _CHANGES

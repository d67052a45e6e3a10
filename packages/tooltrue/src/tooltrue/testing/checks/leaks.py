"""Information leaks in errors: traces, classes, paths and settings of the program and machine behind it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping

from tooltrue.jsonrpc.messages import Json, is_array, is_object

__all__ = ["leaked"]

# kind of leak → its pattern
_LOOKS: Mapping[str, re.Pattern[str]] = {
    "a stack trace": re.compile(
        r"Traceback \(most recent call last\)|File \"[^\"]+\", line \d+|^\s+at \S+ ?\(.*:\d+(?::\d+)?\)", re.MULTILINE
    ),
    "the class of an exception": re.compile(r"\b(?:[A-Z][a-z]+)+(?:Error|Exception)\b|\b[A-Z]\w+Error:"),
    "a path of the host": re.compile(
        r"(?<![\w/.])/(?:home|root|Users|usr|var|etc|opt|srv|tmp|private|mnt|app|proc)/[\w.@+-]+(?:/[\w.@+-]+)*"
        r"|\b[A-Z]:\\\w+"
    ),
}
_SHORTEST_SETTING = 8
_LONGEST = 20_000  # text beyond is not searched


def leaked(words: str, arguments: Json, published: str) -> Iterator[tuple[str, str]]:
    """The leaks in a text: kind and excerpt. Text in ``arguments`` or ``published`` does not count."""
    words = words[:_LONGEST]
    own_texts = [published, *_texts_in(arguments)]
    for what, excerpt, evidence in _candidates(words):
        if not any(excerpt in text for text in own_texts):
            yield what, evidence


def _candidates(words: str) -> Iterator[tuple[str, str, str]]:
    """Candidates: the kind, the text found, and the excerpt for a report."""
    for what, look in _LOOKS.items():
        for match in look.finditer(words):
            excerpt = match[0].rstrip(".")  # the end of a sentence is not part of a path
            yield what, excerpt, excerpt
    for place in (os.getcwd(), sys.prefix):
        if len(place) >= _SHORTEST_SETTING and place in words:
            yield "a path of the host", place, place
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST_SETTING and value in words:
            yield "a value of the environment", value, name  # it may be a secret, and reports are kept


def _texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        yield from value
        for inner in value.values():
            yield from _texts_in(inner)
    elif is_array(value):
        for inner in value:
            yield from _texts_in(inner)

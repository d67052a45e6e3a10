"""Detection of orders to a model: finds the patterns of ``patterns.py`` in a text.

A text is read as a person would read it: normalized, hidden characters removed, look-alike letters turned into Latin
ones. A mere mention of an order is not a finding: a quotation beside a word such as *detects*, or *prompts that …*.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from tooltrue.contract.display import excerpt
from tooltrue.contract.mentions import without_quotations
from tooltrue.contract.names import words
from tooltrue.contract.normalization import PART, lowered, plain
from tooltrue.contract.patterns import Pattern, candidates, triggers
from tooltrue.contract.word_sets import ascii_words, by_line, signs_in, words_of

__all__ = ["OrderMatch", "orders"]

_OVERLAP: Final = 1_024  # longer than any match of a pattern

# -- readings ----------------------------------------------------------------------------------------------------------


def _readings(text: str, by_line: bool) -> Iterator[tuple[str, bool]]:
    """The readings of a text: with the lines of a paragraph joined; and unchanged, only for patterns that match line
    ends."""
    together = _on_one_line(text)
    yield _in_words(together), False
    if by_line and together != text:
        yield _in_words(text), True


def _on_one_line(text: str) -> str:
    """Join the lines of each paragraph, but not before a list item, a heading or a quotation."""
    if "\n" not in text:
        return text
    text = _TRAILING_BLANKS.sub("\n", text)
    return _WRAPPED.sub(" ", text) if text.isascii() else _WRAPPED.sub(_as_one_line, text)


_TRAILING_BLANKS: Final = re.compile(r"[ \t\r]{1,8}\n")
_WRAPPED: Final = re.compile(r"\n(?<!\s\n)[ \t]{0,40}(?=[^\s\-*+#>|\d])")


def _as_one_line(end: re.Match[str]) -> str:
    before, after = end.string[end.start() - 1 : end.start()], end.string[end.end()]
    return "" if min(before, after) >= "\u2e80" else " "  # Chinese has no blanks between words


def _in_words(text: str) -> str:
    """The text as patterns read it; a name is split into words: ``ignore_previous_instructions``."""
    return words(text) if _is_name(text) else plain(text)


def _is_name(text: str) -> bool:
    return " " not in text and "/" not in text and "<" not in text and "[" not in text and text.isascii()


# -- matches -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrderMatch:
    pattern: Pattern
    excerpt: str


_Candidates: TypeAlias = list[tuple[Pattern, set[str]]]


def orders(text: str) -> Iterator[OrderMatch]:
    """Yield each pattern found in a text once, with an excerpt."""
    remaining = [one for one in _plausible(text) if not one[0].keys or " " not in text]
    for variant, only_lines in _readings(text, any(one.by_line for one, _ in remaining)) if remaining else ():
        places = _matches(variant, [one for one in remaining if one[0].by_line or not only_lines])
        if places and (reading := without_quotations(variant)) != variant:
            places = _matches(reading, [one for one in remaining if one[0] in places])
        remaining = [one for one in remaining if one[0] not in places]
        yield from (OrderMatch(pattern, excerpt(variant, *place)) for pattern, place in places.items())


def _matches(reading: str, some: _Candidates) -> dict[Pattern, tuple[int, int]]:
    """The given patterns that match a text, with their positions."""
    small, signs = lowered(reading), signs_in(reading)
    sentences = list(_sentences(reading))
    tokens: dict[tuple[int, int], set[str]] = {}
    matches: dict[Pattern, tuple[int, int]] = {}
    for pattern, needs in some:
        near = sorted({span for need in needs for span in _around(need, small, sentences)})
        for span in near:
            if span not in tokens:
                tokens[span] = words_of(reading[slice(*span)]) | signs
        spans = [span for span in near if pattern.may_be_in(tokens[span])]
        if spans and (place := pattern.first_in(reading if pattern.cased else small, spans)):
            matches[pattern] = place
    return matches


def _around(word: str, text: str, sentences: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The sentences that contain a word."""
    at = text.find(word)
    while at >= 0:
        place = bisect(sentences, (at, len(text)))
        yield from (one for one in sentences[max(0, place - 2) : place] if at < one[1])
        at = text.find(word, max(at + 1, sentences[place - 1][1] - 1))


def _plausible(text: str) -> _Candidates:
    """The patterns with a word of each group in one sentence: a cheap test, which most texts fail."""
    if text.isascii() and text.isalpha() and text.islower():
        return []  # a word
    plainly = words(text) if _is_name(text) else text
    if plainly.isascii():  # all sentences at once, first
        every = ascii_words(plainly)
        possible = [] if triggers().isdisjoint(every) else candidates([every], signs_in(text))
        if not possible or not _SENTENCE_END.search(plainly):
            return possible
    return candidates(by_line(_SENTENCE_END.sub("\n", _on_one_line(plainly))), signs_in(text))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the sentences of a text. Long ones are split into overlapping parts: a regex search blocks all
    threads."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield from _in_parts(start, end.end())
        start = max(0, end.start() - 1)
    yield from _in_parts(start, len(text))


def _in_parts(start: int, end: int) -> Iterator[tuple[int, int]]:
    return ((begin, min(end, begin + PART)) for begin in range(start, end, PART - _OVERLAP))


_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？\n]")

"""Orders to a model in a text: which of the patterns of ``patterns.py`` stand in it.

A text is read as a person takes it: in one normal form, without what hides, look-alike letters turned into Latin ones.
What only speaks of an order is none: a quotation beside a word such as *detects*, or *prompts that …*.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolwright.contract.mentions import without_quotations
from toolwright.contract.names import words
from toolwright.contract.patterns import Pattern, candidates, triggers
from toolwright.contract.reading import PART, lowered, plain
from toolwright.contract.shown import excerpt
from toolwright.contract.tokens import ascii_words, by_line, signs_in, words_of

__all__ = ["Order", "orders"]

_OVERLAP: Final = 1_024  # nothing that a pattern finds is longer

# -- readings ----------------------------------------------------------------------------------------------------------


def _readings(text: str, by_line: bool) -> Iterator[tuple[str, bool]]:
    """A text as patterns read it, with the lines of a paragraph put together; and once more as it is, for those alone
    that look for the ends of lines."""
    together = _on_one_line(text)
    yield _in_words(together), False
    if by_line and together != text:
        yield _in_words(text), True


def _on_one_line(text: str) -> str:
    """A text with the lines of each paragraph put together; not before an item of a list, a heading or a quotation."""
    if "\n" not in text:
        return text
    text = _ENDED.sub("\n", text)
    return _WRAPPED.sub(" ", text) if text.isascii() else _WRAPPED.sub(_as_one_line, text)


_ENDED: Final = re.compile(r"[ \t\r]{1,8}\n")
_WRAPPED: Final = re.compile(r"\n(?<!\s\n)[ \t]{0,40}(?=[^\s\-*+#>|\d])")


def _as_one_line(end: re.Match[str]) -> str:
    before, after = end.string[end.start() - 1 : end.start()], end.string[end.end()]
    return "" if min(before, after) >= "\u2e80" else " "  # Chinese has no blanks between words


def _in_words(text: str) -> str:
    """A text as patterns read it; a name in its words: ``ignore_previous_instructions``."""
    return words(text) if _is_name(text) else plain(text)


def _is_name(text: str) -> bool:
    return " " not in text and "/" not in text and "<" not in text and "[" not in text and text.isascii()


# -- what is found -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Order:
    pattern: Pattern
    excerpt: str


_Candidates: TypeAlias = list[tuple[Pattern, set[str]]]


def orders(text: str) -> Iterator[Order]:
    """What stands in a text, each pattern once, and what it says there."""
    left = [one for one in _plausible(text) if not one[0].keys or " " not in text]
    for written, only_lines in _readings(text, any(one.by_line for one, _ in left)) if left else ():
        found = _found(written, [one for one in left if one[0].by_line or not only_lines])
        if found and (reading := without_quotations(written)) != written:
            found = _found(reading, [one for one in left if one[0] in found])
        left = [one for one in left if one[0] not in found]
        yield from (Order(pattern, excerpt(written, *place)) for pattern, place in found.items())


def _found(reading: str, some: _Candidates) -> dict[Pattern, tuple[int, int]]:
    """Those of some patterns that stand in a text, and where."""
    small, signs = lowered(reading), signs_in(reading)
    sentences = list(_sentences(reading))
    tokens: dict[tuple[int, int], set[str]] = {}
    found: dict[Pattern, tuple[int, int]] = {}
    for pattern, needs in some:
        near = sorted({span for need in needs for span in _around(need, small, sentences)})
        for span in near:
            if span not in tokens:
                tokens[span] = words_of(reading[slice(*span)]) | signs
        spans = [span for span in near if pattern.may_be_in(tokens[span])]
        if spans and (place := pattern.first_in(reading if pattern.cased else small, spans)):
            found[pattern] = place
    return found


def _around(word: str, text: str, sentences: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The sentences in which a word stands."""
    at = text.find(word)
    while at >= 0:
        place = bisect(sentences, (at, len(text)))
        yield from (one for one in sentences[max(0, place - 2) : place] if at < one[1])
        at = text.find(word, max(at + 1, sentences[place - 1][1] - 1))


def _plausible(text: str) -> _Candidates:
    """The patterns that have a word of each group in one sentence of a text: cheap to see, and most texts have none."""
    if text.isascii() and text.isalpha() and text.islower():
        return []  # a word
    plainly = words(text) if _is_name(text) else text
    if plainly.isascii():  # all sentences at once, first
        every = ascii_words(plainly)
        found = [] if triggers().isdisjoint(every) else candidates([every], signs_in(text))
        if not found or not _SENTENCE_END.search(plainly):
            return found
    return candidates(by_line(_SENTENCE_END.sub("\n", _on_one_line(plainly))), signs_in(text))


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text stand, a long one in parts that overlap: a search lets no other thread run."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield from _in_parts(start, end.end())
        start = max(0, end.start() - 1)
    yield from _in_parts(start, len(text))


def _in_parts(start: int, end: int) -> Iterator[tuple[int, int]]:
    return ((begin, min(end, begin + PART)) for begin in range(start, end, PART - _OVERLAP))


_SENTENCE_END: Final = re.compile(r"[.!?](?=\s)|[。！？\n]")

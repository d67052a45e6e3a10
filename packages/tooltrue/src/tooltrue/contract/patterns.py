"""The patterns of orders to a model: those of ``poison.toml``, and those of each language in ``lexicon/``.

A pattern is tried only if a word of each group of its *needs* occurs, which rules out most texts in one step.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from pathlib import Path as File
from typing import Any, Final

from tooltrue.caching import made_once
from tooltrue.contract.finding import Severity
from tooltrue.contract.mentions import is_mention
from tooltrue.contract.normalization import folded
from tooltrue.contract.word_sets import frequency, is_cjk, needed

__all__ = ["LANGUAGES", "Pattern", "candidates", "patterns", "triggers"]


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """Alternatives of several words each. ``tokens`` has the rarest word of each alternative, so that one set operation
    shows that all alternatives are missing from a text. ``wholly`` maps that word to all tokens of its alternatives."""

    wholly: Mapping[str, tuple[frozenset[str], ...]]
    tokens: frozenset[str]

    def is_met(self, have: Set[str]) -> bool:
        return any(words <= have for token in self.tokens & have for words in self.wholly[token])


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A pattern that matches if all expressions of ``regexes`` match in one sentence, in any order. ``needs`` are
    groups of alternatives; every match contains one alternative of each group. A match is excused if ``unless`` matches
    around it; with ``mention`` also if the text only mentions the order."""

    code: str
    severity: Severity
    needs: tuple[Need, ...]
    regexes: tuple[str, ...]
    unless: str = ""
    cased: bool = False
    keys: bool = False
    mention: bool = False
    by_line: bool = False
    """Whether line ends matter to the pattern."""
    language: str = ""

    @property
    def expressions(self) -> Iterator[re.Pattern[str]]:
        """The compiled expressions. They are compiled on first use: starting a server compiles none."""
        return (_compiled(self.language, one) for one in self.regexes)

    def may_be_in(self, have: Set[str]) -> bool:
        """Whether a text with these tokens has an alternative of each group."""
        for need in self.needs:
            if need.tokens.isdisjoint(have):
                return False
        return all(need.is_met(have) for need in self.needs)

    def first_in(self, text: str, sentences: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
        """The first place in these sentences of ``text`` at which the pattern matches."""
        return next((place for start, end in sentences for place in self._places(text, start, end)), None)

    def _places(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        for match in next(self.expressions).finditer(text, start, end):
            spans = [match.span()]
            for other in islice(self.expressions, 1, None):
                also = other.search(text, start, end)
                if also is None:
                    return
                spans.append(also.span())
            place = min(spans)[0], max(end for _, end in spans)
            if not self._is_excused(text, *place):
                yield place

    def _is_excused(self, text: str, start: int, end: int) -> bool:
        if self.mention and is_mention(text, start, end):
            return True
        if not self.unless:
            return False
        begin, end = max(0, start - _AROUND), min(len(text), end + _AROUND)
        return _compiled(self.language, self.unless).search(text, begin, end) is not None


_AROUND: Final = 40

LANGUAGES: Final = ("en", "zh", "es", "fr", "de", "pt", "ru", "it", "ja", "ko")
_FOLDER: Final = File(__file__).parent


@made_once
def patterns() -> tuple[Pattern, ...]:
    """All patterns: those of ``poison.toml``, then those of each language. Their needs are told apart by identity."""
    return tuple(_pattern(row, language) for language in ("", *LANGUAGES) for row in _lexicon(language)["order"])


@functools.cache
def _lexicon(language: str) -> Mapping[str, Any]:
    """The file of a language, or ``poison.toml``. Shared orders are included if the language has words for them."""
    entries = _read(f"lexicon/{language}.toml" if language else "poison.toml")
    shared: list[Any] = _read("lexicon/shared.toml")["order"] if entries.get("shared") else []
    return {**entries, "order": [*shared, *entries.get("order", ())]}


@functools.cache
def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads((_FOLDER / name).read_text("utf-8"))


def _pattern(row: Mapping[str, Any], language: str) -> Pattern:
    marks = ["{marks}"] if "marks" in _lexicon(language).get("words", {}) else []  # else English words mark orders too
    regexes: tuple[str, ...] = (row["say"],) if isinstance(row["say"], str) else tuple(row["say"])
    return Pattern(
        row["code"],
        Severity(row["weight"]),
        tuple(_needed(language, one) for one in (*marks, *row.get("needs", regexes))),
        regexes,
        unless=row.get("unless", ""),
        cased=row.get("cased", False),
        keys=row.get("keys", False),
        mention=row.get("mention", False),
        by_line=any("\\n" in one for one in regexes),
        language=language,
    )


@functools.cache
def _needed(language: str, words: str) -> Need:
    """Build the need for alternatives, some of which are names of groups."""
    wholly: dict[str, tuple[frozenset[str], ...]] = {}
    for part in words.split("|"):
        for one in _group(language, part[1:-1]) if _NAME.fullmatch(part) else folded(part).split("|"):
            token, every = needed(one)
            wholly[token] = (*wholly.get(token, ()), every)
    return Need(wholly, frozenset(wholly))


_NAME: Final = re.compile(r"\{[a-z]\w*\}")


@functools.cache
def _group(language: str, name: str) -> tuple[str, ...]:
    return tuple(folded(_lexicon(language)["words"][name]).split("|"))


# -- expressions -------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(language: str, regex: str) -> re.Pattern[str]:
    """Compile an expression in which groups and pieces are given by name."""
    return re.compile(_NAME.sub(lambda match: _named(language, match[0][1:-1]), _plain(regex)).replace("…", _GAP))


_GAP: Final = r"(?:[^\n.;!?]|\.(?=\S)){0,60}?"
"""A gap within a sentence. Chinese punctuation is not listed: text is read in normal form KC, sentence by sentence, and
a character class with a letter beyond Latin 1 takes five times as long to compile."""


def _named(language: str, name: str) -> str:
    pieces = _lexicon(language).get("pieces", {})
    return pieces[name] if name in pieces else _any(_group(language, name))


def _plain(regex: str) -> str:
    return _FOREIGN.sub(lambda match: folded(match[0]), regex)


_FOREIGN: Final = re.compile(r"[^\x00-\x7f…]+")


def _any(alternatives: Iterable[str]) -> str:
    tree = _tree(sorted(set(alternatives)))
    return tree if is_cjk(tree) else rf"(?<!\w){tree}(?!\w)"


def _tree(alternatives: Iterable[str]) -> str:
    """Build a regex for any of these words as a prefix tree, which is faster than plain alternation. ``*`` stands for
    the rest of a word."""
    branches: dict[str, list[str]] = {}
    for one in alternatives:
        branches.setdefault(one[:1], []).append(one[1:])
    ends = branches.pop("", None) is not None
    options = [_letter(first) + _tree(rest) for first, rest in branches.items()]
    if not options:
        return ""
    return f"(?:{'|'.join(options)})" + ("?" if ends else "") if ends or len(options) > 1 else options[0]


def _letter(char: str) -> str:
    return r"\w{0,20}" if char == "*" else " " if char == " " else re.escape(char)


# -- required tokens ---------------------------------------------------------------------------------------------------


def candidates(sentences: Iterable[set[str]], signs: Set[str]) -> list[tuple[Pattern, set[str]]]:
    """The patterns that may match one of these sentences, which are given as sets of words; ``signs`` are those of the
    whole text. Each pattern comes with words of which every such sentence contains one. In the order of the lexicon,
    independent of the hash seed."""
    by_need, trigger_words = _by_need(), triggers()
    by_rank: dict[int, tuple[Pattern, set[str]]] = {}
    for have in sentences:
        if triggered := trigger_words & have:
            met = _met(have | signs)
            for need in triggered:
                for rank, one, wanted in by_need[need]:
                    if met & wanted == wanted:
                        by_rank.setdefault(rank, (one, set()))[1].add(need)
    return [by_rank[rank] for rank in sorted(by_rank)]


def _met(have: Set[str]) -> int:
    """The bits of the groups that a text with these tokens meets, found in one pass over the tokens: a comparison of
    two numbers then stands for :meth:`Pattern.may_be_in`."""
    meeting = _meeting()
    met = 0
    for token in meeting.keys() & have:
        alone, together = meeting[token]
        met |= alone
        for words, bits in together:
            if words <= have:
                met |= bits
    return met


@functools.cache
def _meeting() -> Mapping[str, tuple[int, Sequence[tuple[frozenset[str], int]]]]:
    """Token → the bits of the groups that it meets alone, and those that it meets together with other words."""
    found: dict[str, dict[frozenset[str], int]] = {}
    for need, bit in _bits().items():
        for token, alternatives in need.wholly.items():
            bits = found.setdefault(token, {})
            bits |= {words: bits.get(words, 0) | bit for words in alternatives}
    return {token: (bits.pop(frozenset({token}), 0), tuple(bits.items())) for token, bits in found.items()}


@functools.cache
def _bits() -> Mapping[Need, int]:
    """The bit of each group."""
    return {need: 1 << place for place, need in enumerate({need: None for one in patterns() for need in one.needs})}


@functools.cache
def _by_need() -> Mapping[str, tuple[tuple[int, Pattern, int], ...]]:
    """The patterns with their ranks and the bits of their groups, by each token of the group that the fewest texts
    have."""
    bits = _bits()
    by_need: dict[str, list[tuple[int, Pattern, int]]] = {}
    for rank, one in enumerate(patterns()):
        wanted = sum({bits[group] for group in one.needs})
        for need in min((group.tokens for group in one.needs), key=lambda tokens: sum(map(frequency, tokens))):
            by_need.setdefault(need, []).append((rank, one, wanted))
    return {need: tuple(those) for need, those in by_need.items()}


@functools.cache
def triggers() -> frozenset[str]:
    """The tokens of which every matching text contains at least one."""
    return frozenset(_by_need())

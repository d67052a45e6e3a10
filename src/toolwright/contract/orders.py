"""Orders to a model in a text: which of the patterns of ``poison.toml`` and ``lexicon/`` stand in it.

A pattern is tried only where a word of each group of its *needs* is there, which most definitions rule out at one look.
A text is read as a person takes it: in one normal form, without what hides, look-alike letters turned into Latin ones.
What only speaks of an order is none: a quotation beside a word such as *detects*, or *prompts that …*.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, Final

from toolwright.contract.finding import Severity
from toolwright.contract.mentions import is_mention, without_quotations
from toolwright.contract.names import words
from toolwright.contract.reading import PART, folded, lowered, plain
from toolwright.contract.shown import excerpt

__all__ = ["Order", "Pattern", "candidates", "orders", "patterns", "tokens"]


# -- patterns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    """``needs`` are groups of tokens (see :func:`tokens`), of each of which one is in all that the pattern matches.
    What ``unless`` finds around a match excuses it; ``mention``: so does a text that only speaks of such an order."""

    code: str
    severity: Severity
    needs: tuple[frozenset[str], ...]
    said: str
    excuse: str = ""
    cased: bool = False
    keys: bool = False
    mention: bool = False
    by_line: bool = True
    """Whether the ends of lines matter to it."""
    language: str = ""

    @property
    def expression(self) -> re.Pattern[str]:
        """Compiled when it is first needed, for a server that only starts needs none."""
        return _compiled(self.said)

    def first_in(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """Where it stands in this part of ``text``."""
        for match in self.expression.finditer(text, start, len(text) if end is None else end):
            if not self._is_excused(text, match):
                return match
        return None

    def _is_excused(self, text: str, match: re.Match[str]) -> bool:
        if self.mention and is_mention(text, match.start(), match.end()):
            return True
        if not self.excuse:
            return False
        begin, end = max(0, match.start() - _AROUND), min(len(text), match.end() + _AROUND)
        return _compiled(self.excuse).search(text, begin, end) is not None


_compiled = functools.lru_cache(maxsize=1024)(re.compile)

_OVERLAP: Final = 1_024  # nothing that a pattern finds is longer
_AROUND: Final = 40
_GAP: Final = r"(?:[^\n.;!?。；！？]|\.(?=\S)){0,60}?"
_SHORT_GAP: Final = r"[^\n.;!?。；！？]{0,40}?"


LANGUAGES: Final = ("en", "zh", "es", "fr", "de", "pt", "ru", "it", "ja", "ko")


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """The patterns of ``poison.toml``, then those of each language."""
    folder = File(__file__).parent
    said = tomllib.loads((folder / "poison.toml").read_text("utf-8"))
    found = [_pattern(row, said["secret"]) for row in said["pattern"]]
    shared = tomllib.loads((folder / "lexicon" / "shared.toml").read_text("utf-8"))["order"]
    for language in LANGUAGES:
        lexicon = tomllib.loads((folder / "lexicon" / f"{language}.toml").read_text("utf-8"))
        groups = {name: text.split("|") for name, text in lexicon["words"].items()}
        rows = [*(shared if lexicon.get("shared") else ()), *lexicon.get("order", ())]
        found += [_order(row, groups, language) for row in rows]
    return tuple(found)


def _pattern(row: Mapping[str, Any], secret: str) -> Pattern:
    return Pattern(
        row["code"],
        Severity(row["severity"]),
        tuple(frozenset(map(_token, row[group])) for group in ("needs", "also") if group in row),
        row["expression"].replace("{secret}", secret).replace("…", _SHORT_GAP),
        cased=row.get("cased", False),
        keys=row.get("keys", False),
        mention=True,
    )


def _order(row: Mapping[str, Any], groups: Mapping[str, list[str]], language: str) -> Pattern:
    return Pattern(
        row["code"],
        Severity(row["weight"]),
        tuple(frozenset(map(_token, groups[name])) for name in (*_marks(groups), *row["needs"])),
        _expression(row["say"], groups),
        excuse=_expression(row.get("unless", ""), groups),
        cased=row.get("cased", False),
        mention=row.get("mention", False),
        by_line="\\n" in row["say"],
        language=language,
    )


def _marks(groups: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The words by which a text is known to be in the language, where its other words are found in English too."""
    return ("marks",) if "marks" in groups else ()


def _expression(said: str, groups: Mapping[str, list[str]]) -> str:
    """An expression over a text as :func:`plain` has it, for one in which groups stand by their names."""
    for name, alternatives in groups.items():
        if f"{{{name}}}" in said:
            said = said.replace(f"{{{name}}}", _any(alternatives))
    return _FOREIGN.sub(lambda found: folded(found[0]), said.replace("…", _GAP))


_FOREIGN: Final = re.compile(r"[^\x00-\x7f]+")


def _any(alternatives: Iterable[str]) -> str:
    plainly = sorted(set(map(folded, alternatives)))
    said = _tree(plainly)
    return said if _is_cjk(said) else rf"(?<!\w){said}(?!\w)"


def _tree(alternatives: Iterable[str]) -> str:
    """An expression for any of these that goes by their letters, for it is quicker than one after the other. A ``*``
    stands for the rest of a word."""
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


# -- what is needed ----------------------------------------------------------------------------------------------------

_HEAD: Final = 4
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD: Final = re.compile(r"[A-Z]{2,}|[A-Z]?[a-z]+")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_MIXED: Final = re.compile(r"[a-z][A-Z][a-z]?[A-Z]")
_SIGNS: Final = ("<", "@", "[", "#", "---", "===", "***", "{{")


def _is_cjk(text: str) -> bool:
    return _CJK.search(text) is not None


def _token(word: str) -> str:
    """What :func:`tokens` has wherever this word is: the head of its longest part, a sign, or itself in Chinese."""
    plainly = folded(word)
    if _is_cjk(plainly):
        return plainly
    said = max(_LETTERS.findall(plainly), key=len, default="")
    if said and len(said) < _HEAD and plainly == f"{said}*":
        raise ValueError(f"{word!r} is too short for a stem")
    return said[:_HEAD] if said else plainly


@functools.cache
def _cjk_needs() -> re.Pattern[str]:
    every = {need for one in patterns() for group in one.needs for need in group if _is_cjk(need)}
    return re.compile(f"(?=({'|'.join(sorted(map(re.escape, every), key=len, reverse=True))}))")


@functools.cache
def _within() -> Mapping[str, frozenset[str]]:
    """The needs in Chinese that stand within others, which are found first."""
    every = {need for one in patterns() for group in one.needs for need in group if _is_cjk(need)}
    return {one: frozenset(other for other in every if other in one) for one in every}


def tokens(text: str) -> set[str]:
    """The heads of the words of a text, the signs in it, and the words in Chinese, Japanese and Korean that patterns
    need."""
    if text.isascii():
        found = {word[:_HEAD] for word in set(map(str.lower, set(_WORD.findall(text))))}
        if _MIXED.search(text):
            found |= {word[:_HEAD] for word in _LETTERS.findall(text.lower())}
    else:
        plainly = folded(text)
        found = {word[:_HEAD] for word in _LETTERS.findall(plainly)}
        found |= {word[:_HEAD].lower() for word in _WORD.findall(text)}
        for need in set(_cjk_needs().findall(plainly)) if _is_cjk(plainly) else ():
            found |= _within()[need]
    found.update(sign for sign in _SIGNS if sign in text)
    return found


@functools.cache
def _by_need() -> Mapping[str, tuple[Pattern, ...]]:
    """The patterns by each token of the group that the fewest texts have."""
    found: dict[str, list[Pattern]] = {}
    for one in patterns():
        for need in min(one.needs, key=lambda group: sum(_FREQUENT.get(need, 1) for need in group)):
            found.setdefault(need, []).append(one)
    return {need: tuple(those) for need, those in found.items()}


# The heads of words that most definitions have, from the most frequent on.
_HEADS: Final = (
    "to a get in argu retu id cont with spec from list numb all an this opti use info if file is path data requ comp "
    "incl on deta s sear curr stat not retr tool comm user prov api para resu as time desc dire filt star url mess "
    "abou text inte quer base loca when conf usin you fetc anal it repo will only avai valu gene are read inst chec "
    "need"
)
_FREQUENT: Final = {head: 1_000 // place for place, head in enumerate(_HEADS.split(), start=2)}


def candidates(have: set[str]) -> tuple[Pattern, ...]:
    """The patterns that may match a text with these tokens."""
    by_need = _by_need()
    found: dict[int, Pattern] = {}
    for need in by_need.keys() & have:
        for one in by_need[need]:
            if not any(group.isdisjoint(have) for group in one.needs):
                found[id(one)] = one
    return tuple(found.values())


# -- readings ----------------------------------------------------------------------------------------------------------


def _readings(text: str, by_line: bool) -> Iterator[tuple[str, bool]]:
    """A text as patterns read it, with the lines of a paragraph put together; and once more as it is, for those alone
    that look for the ends of lines."""
    together = _WRAPPED.sub(_as_one_line, text) if "\n" in text else text
    yield _in_words(together), False
    if by_line and together != text:
        yield _in_words(text), True


# The end of a line within a paragraph; not before an item of a list, a heading, a quotation or a row.
_WRAPPED: Final = re.compile(r"(?<=\S)[ \t]{0,8}\r?\n[ \t]{0,40}(?=[^\s\-*+#>|\d])")


def _as_one_line(end: re.Match[str]) -> str:
    before, after = end.string[end.start() - 1], end.string[end.end()]
    return "" if min(before, after) >= "\u2e80" else " "  # Chinese has no blanks between words


def _in_words(text: str) -> str:
    """A text as patterns read it; a name in its words: ``ignore_previous_instructions``."""
    is_name = " " not in text and "/" not in text and "<" not in text and "[" not in text and text.isascii()
    return words(text) if is_name else plain(text)


# -- what is found -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Order:
    pattern: Pattern
    excerpt: str


def orders(text: str) -> Iterator[Order]:
    """What stands in a text, each pattern once, and what it says there."""
    have = tokens(text)
    among = candidates(have)
    for written, only_lines in _readings(text, any(one.by_line for one in among)) if among else ():
        reading = without_quotations(written)
        small = lowered(reading)
        shown_in = written if len(small) == len(written) else small  # as it was, if that is in its place
        met: set[int] = set()
        for start, end in _sentences(reading):
            those = among if end - start == len(text) else candidates(tokens(reading[start:end]))
            for pattern in those:
                if id(pattern) in met or (only_lines and not pattern.by_line) or (pattern.keys and " " in text):
                    continue
                if match := pattern.first_in(reading if pattern.cased else small, start, end):
                    met.add(id(pattern))
                    yield Order(pattern, excerpt(shown_in, match.start(), match.end()))


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

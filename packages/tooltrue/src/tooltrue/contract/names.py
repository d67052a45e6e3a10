"""Names that can be mistaken for each other: look-alike letters, a typing slip, a different case.

Names are compared by appearance: in one normal form, with letters of other scripts that look like Latin ones replaced
by these. The table holds letters that typefaces do not distinguish; it is not the whole of Unicode TR 39.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.protocol.letters import latin

__all__ = ["Likeness", "Names", "latin", "skeleton", "words"]


def skeleton(name: str) -> str:
    """The visual skeleton of a name: two names with one skeleton look alike at a glance."""
    plain = latin(name).translate(_LOOKS).casefold()
    return plain.replace("rn", "m").replace("vv", "w")


def words(name: str) -> str:
    """Split a name into words: ``contentOf_the-file`` becomes ``content of the file``."""
    apart = name if name.islower() else _HUMP.compiled.sub(" ", name)
    return _SEPARATORS.compiled.sub(" ", apart).strip().casefold()


_LOOKS: Final = str.maketrans("I1|0", "lllo")
_HUMP: Final = LazyPattern(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS: Final = LazyPattern(r"[_.\- ]{1,200}")


class Likeness(Enum):
    LOOKS = "looks"
    """Looks the same."""
    CASE = "case"
    """Differs in case, spaces or separators only."""
    SLIP = "slip"
    """One typing slip away; two for long names."""


_LONG: Final = 10
_LONGEST: Final = 40  # longer names are searched for one slip only
_SHORT: Final = 6
_WORD: Final = 5


class Names:
    """An index of names to compare others with. Build it once, query it often."""

    def __init__(self, names: Iterable[str]) -> None:
        self._skeletons: dict[str, list[str]] = {}
        self._plain: dict[str, list[str]] = {}
        self._by_length: dict[int, list[tuple[int, str]]] = {}
        for name in sorted(set(names)):
            self._skeletons.setdefault(_bare_skeleton(name), []).append(name)
            self._plain.setdefault(_joined(name), []).append(name)
            self._by_length.setdefault(len(name), []).append((_letters(name), name))

    def like(self, name: str) -> Iterator[tuple[str, Likeness]]:
        """Yield each name that this one could be mistaken for, once, with the worst likeness. The name itself is left
        out."""
        names = {name}
        for other in self._plain.get(_joined(name), ()):
            if other not in names:
                names.add(other)
                yield other, Likeness.CASE
        for other in self._skeletons.get(_bare_skeleton(name), ()):
            if other not in names:
                names.add(other)
                yield other, Likeness.LOOKS
        for other in self._near(name):
            if other not in names and _is_slip(name, other):
                yield other, Likeness.SLIP

    def _near(self, name: str) -> Iterator[str]:
        """Names of similar length with similar letters. A slip changes at most two letters of the set."""
        slips, letters = _allowed(len(name)), _letters(name)
        for length in range(len(name) - slips, len(name) + slips + 1) if slips else ():
            for others, other in self._by_length.get(length, ()):
                if (letters ^ others).bit_count() <= 2 * slips:
                    yield other


def _joined(name: str) -> str:
    return _BETWEEN.compiled.sub("", unicodedata.normalize("NFKC", name)).casefold()


def _bare_skeleton(name: str) -> str:
    """The skeleton of a name without its separators. They are removed last, so that ``r_n`` does not become ``m``."""
    return _BETWEEN.compiled.sub("", skeleton(name))


_BETWEEN: Final = LazyPattern(r"[_.\-\s]")


def _allowed(length: int) -> int:
    return 0 if length < _SHORT else 2 if _LONG <= length <= _LONGEST else 1


def _letters(name: str) -> int:
    """The letters of a name as a bit set."""
    bits = 0
    for letter in name.casefold():
        bits |= 1 << (ord(letter) & 63)
    return bits


def _is_slip(name: str, other: str) -> bool:
    """Whether two names differ by a few slips that do not make another word: a number, a plural, or a short word in
    place of another (``get_user``, ``set_user``)."""
    one, two = name.casefold(), other.casefold()
    if not _is_near(one, two, min(_allowed(len(one)), _allowed(len(two)))):
        return False
    if re.sub(r"[0-9]", "", one) == re.sub(r"[0-9]", "", two):
        return False
    parts = words(name).split(), words(other).split()
    if len(parts[0]) == len(parts[1]):
        differing = [pair for pair in zip(*parts, strict=True) if pair[0] != pair[1]]
        return not all(_is_other_word(*pair) for pair in differing)
    return True


def _is_other_word(one: str, two: str) -> bool:
    if one.translate(_STAND_INS) == two.translate(_STAND_INS) or _is_exchanged(one, two):
        return False
    return max(len(one), len(two)) < _WORD or one.rstrip("s") == two.rstrip("s") or one[:1] != two[:1]


_STAND_INS: Final = str.maketrans("01345789i", "oleastbgl")
"""Digits that stand for letters, and ``i``, which looks like ``l`` at the beginning of a word."""


def _is_exchanged(one: str, two: str) -> bool:
    """Whether two words differ only in the order of two adjacent letters."""
    return one != two and len(one) == len(two) and sorted(one) == sorted(two) and _is_near(one, two, 1)


def _is_near(one: str, two: str, slips: int) -> bool:
    """Whether at most ``slips`` edits lead from one to the other: a letter changed, added, removed, or swapped with its
    neighbour (Damerau-Levenshtein). Only the first differing letter is tried, with each of the four edits."""
    if not slips or one == two:
        return one == two
    if abs(len(one) - len(two)) > slips:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    one, two = one[start:], two[start:]
    is_exchanged = one[:2] == two[1::-1] and len(one) > 1
    return (
        _is_near(one[1:], two[1:], slips - 1)
        or _is_near(one[1:], two, slips - 1)
        or _is_near(one, two[1:], slips - 1)
        or (is_exchanged and _is_near(one[2:], two[2:], slips - 1))
    )

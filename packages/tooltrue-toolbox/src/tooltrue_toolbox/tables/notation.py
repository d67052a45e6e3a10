"""The notation of the numbers of a column: ``1.234,56 €``, ``$1,200.50``, ``(12)``, ``12 %``, ``5-``.

It is determined for a column as a whole, never for a cell: ``1,234`` alone may be 1234 or 1.234. A cell that can be
read in one way only is evidence. A column without evidence follows the other columns of the file; if these are
undecided too, it is read in the more likely way and reported as ambiguous in the result. A cell that does not follow
the notation of its column is no number. A column has one unit at most: other currencies are no numbers in it, and
neither are cells without the sign in a column of percentages. Cells without a sign in a column of a currency count as
that currency, as accountants write it once. ``12 %`` is 12, and the result names the unit.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

__all__ = [
    "NUMBER",
    "Cells",
    "Decimal",
    "Notation",
    "Notations",
    "NumbersRead",
    "is_unclear",
    "notations_of",
    "numbers_note",
]

NUMBER = r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
"""A number as computers write it. Not ``007``, ``0x10`` or ``1_000``, which are usually identifiers."""
Decimal = Literal[".", ","]

_PLAIN = re.compile(NUMBER)
_SPACES = " \u00a0\u2009\u202f"
_MINUS = "\\-\u2212"
"""Minus signs, for use within a character class."""
_LONGEST = 80
"""The longest cell that is read as a number; a decimal has 38 digits."""
_ENOUGH = 1000
"""Number of distinct cells of a column that are examined."""
_NAMED = 50
"""Columns that a result names."""

_PERCENT = "%"
_CODES = (
    "AED ARS AUD BDT BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JOD JPY KES KRW "
    "KWD KZT LKR MAD MXN MYR NGN NOK NZD OMR PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD "
    "UYU VND ZAR"
)
_SPELLINGS: Mapping[str, str] = {
    **{code: code for code in _CODES.split()},
    "€": "EUR", "£": "GBP", "￥": "¥", "＄": "$", "₹": "INR", "₽": "RUB", "₩": "KRW", "元": "CNY", "RMB": "CNY",
    "円": "JPY", "원": "KRW", "US$": "USD", "CA$": "CAD", "C$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD",
    "HK$": "HKD", "S$": "SGD", "NT$": "TWD", "R$": "BRL", "Fr.": "CHF", "SFr.": "CHF", "zł": "PLN", "Kč": "CZK",
    "Ft": "HUF", "Rs": "INR", "Rs.": "INR", "руб.": "RUB", "руб": "RUB", "kr": "kr", "kr.": "kr", "％": _PERCENT,
}  # fmt: skip
"""Spelling of a unit → its canonical name. A dollar sign alone does not tell which dollar."""


class NumbersRead(TypedDict):
    """How the numbers of some columns were read, where they are not written plainly."""

    columns: list[str]
    decimal: Decimal
    unit: NotRequired[Annotated[str, Field(description="Of each number there; 12 % is 12")]]
    ambiguous: NotRequired[
        Annotated[
            bool,
            Field(
                description="The file does not tell 1,234 or 1.234 from a thousand times less: ask, or set "
                "read_as.decimal"
            ),
        ]
    ]


@dataclass(frozen=True, slots=True)
class Notation:
    """The decimal sign, and the unit; the other sign, spaces and apostrophes separate thousands."""

    decimal: Decimal
    unit: str = ""

    @property
    def pattern(self) -> str:
        """The pattern that a whole cell has to match, for RE2 and for Python alike."""
        return _pattern(self.decimal, self.unit)

    def plain(self, cell: str) -> str | None:
        """The number in ``cell`` as computers write it; ``None`` if it is not a number."""
        if len(cell) > _LONGEST or not _compiled(self.pattern).fullmatch(cell):
            return None
        match = _compiled(_CORE).search(cell)
        sign = "-" if _compiled(_NEGATIVE).search(cell) else ""
        return sign + (match[0] if match else "").translate(str.maketrans(self.decimal, ".", self._removed))

    def sql(self, cell: str) -> str:
        """The same as an SQL expression over the column ``cell``, NULL if it is not a number."""
        removed = self._removed.replace("'", "''")
        core = f"translate(regexp_extract({cell}, '{_CORE_SQL}'), '{self.decimal}{removed}', '.')"
        sign = f"CASE WHEN regexp_matches({cell}, '{_NEGATIVE}') THEN '-' ELSE '' END"
        pattern = self.pattern.replace("'", "''")
        return f"(CASE WHEN regexp_full_match({cell}, '{pattern}') THEN {sign} || {core} END)"

    @property
    def _removed(self) -> str:
        return f"{_other(self.decimal)}{_SPACES}'’"


_CORE = rf"[0-9][0-9.,'’{_SPACES}]*(?:[eE][+-]?[0-9]+)?"
_CORE_SQL = _CORE.replace("'", "''")
_NEGATIVE = rf"^[^0-9]*[{_MINUS}(]|[{_MINUS}][^0-9]*$"
_AROUND = re.compile(rf"([^0-9]*){_CORE}([^0-9]*)")


@lru_cache(64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _other(decimal: Decimal) -> Decimal:
    return "," if decimal == "." else "."


@lru_cache(64)
def _pattern(decimal: Decimal, unit: str) -> str:
    groups = [rf"[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+" for sign in (rf"\{_other(decimal)}", f"[{_SPACES}]", "['’]")]
    if decimal == ".":
        groups.append(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}")  # as in India
    number = rf"(?:{'|'.join(groups)}|0|[1-9][0-9]*)(?:\{decimal}[0-9]+)?(?:[eE][+-]?[0-9]+)?"
    space, sign = f"[{_SPACES}]?", f"[+{_MINUS}]"
    forms = [rf"{sign}?{space}{number}", rf"{number}{space}[{_MINUS}]", rf"\({number}\)"]
    if unit:
        spelled = sorted(
            {unit, *(text for text, name in _SPELLINGS.items() if name == unit)}, key=lambda t: (-len(t), t)
        )
        mark = f"(?:{'|'.join(map(re.escape, spelled))})"
        bare = [] if unit == _PERCENT else forms
        forms = [
            *bare,
            rf"{sign}?{space}{mark}{space}{number}",
            rf"{mark}{space}{sign}{space}{number}",
            rf"{mark}{space}{number}{space}[{_MINUS}]",
            rf"{mark}{space}\({number}\)",
            rf"\({mark}{space}{number}\)",
            rf"{sign}?{space}{number}{space}{mark}",
            rf"{number}[{_MINUS}]{space}{mark}",
            rf"{number}{space}{mark}{space}[{_MINUS}]",
            rf"\({number}\){space}{mark}",
            rf"\({number}{space}{mark}\)",
        ]
    return rf"[{_SPACES}]*(?:{'|'.join(forms)})[{_SPACES}]*"


def _unit_of(cell: str) -> str | None:
    """The unit that is written around the digits of ``cell``: empty if there is only a number, ``None`` for any other
    text."""
    match = _AROUND.fullmatch(cell) if len(cell) <= _LONGEST else None
    if match is None:
        return None
    text = re.sub(rf"[+()\s{_SPACES}{_MINUS}]", "", match[1] + match[2])
    if text in _SPELLINGS or not text:
        return _SPELLINGS.get(text, "")
    return text if text == _PERCENT or (len(text) == 1 and unicodedata.category(text) == "Sc") else None


# The evidence in the cells of a file


@dataclass(frozen=True, slots=True)
class Cells:
    """A column: cells of the beginning of the file. ``typed`` where the file itself marks cells as numbers."""

    name: str
    samples: Sequence[str] = ()
    typed: bool = False


@dataclass(slots=True)
class _Evidence:
    """Counts over the distinct cells of a column."""

    unit: str = ""
    point: int = 0
    comma: int = 0
    """Numeric cells that are valid only with this decimal sign."""
    either: Counter[str] = field(default_factory=Counter[str])
    """Cells with two possible readings, by the one sign in them."""
    digits: int = 0
    numbers: int = 0
    odd: bool = False
    """Whether a number is written in another way than computers write it."""

    @property
    def numeric(self) -> bool:
        """Whether at least half of the cells with digits are numbers."""
        return 0 < self.digits <= 2 * self.numbers

    @property
    def decimal(self) -> Decimal | None:
        if not self.point and not self.comma:
            return None
        return "." if self.point >= self.comma else ","

    def choose(self, whole: Decimal | None, likely: Decimal) -> tuple[Notation, bool]:
        """The notation of the column, and whether it is only a guess."""
        decimal = whole or self.decimal
        if decimal is not None:
            return Notation(decimal, self.unit), False
        # A point is the sign of computers; a comma is that of the file's locale.
        decimal = likely if self.either[","] and not self.either["."] else "."
        return Notation(decimal, self.unit), self.either.total() > 0


@dataclass(frozen=True, slots=True)
class Notations:
    """The notations of a file's columns, where they are not plain, and the notes about them in a result."""

    by_column: Mapping[str, Notation] = field(default_factory=dict[str, Notation])
    notes: list[NumbersRead] = field(default_factory=list[NumbersRead])
    undecided: frozenset[str] = frozenset()
    """Columns without any number in the beginning of the file that has, or may have, decimals."""


def notations_of(columns: Iterable[Cells], likely: Decimal, override: Decimal | None) -> Notations:
    """The notations of ``columns``. ``likely`` decides undecided columns; ``override`` overrides all evidence."""
    evidence_by_column = [(column.name, _evidence(column.samples)) for column in columns if not column.typed]
    numeric = [(name, evidence) for name, evidence in evidence_by_column if evidence.numeric]
    decided: set[Decimal] = {evidence.decimal for _, evidence in numeric if evidence.decimal}
    whole = override or (decided.pop() if len(decided) == 1 else None)
    notations: dict[str, Notation] = {}
    groups: dict[tuple[Decimal, str, bool], list[str]] = {}
    for name, evidence in numeric:
        notation, ambiguous = evidence.choose(override or (None if evidence.decimal else whole), likely)
        needed = evidence.odd or notation.decimal == "," or override is not None
        if needed:
            notations[name] = notation
        if needed or ambiguous:
            groups.setdefault((notation.decimal, notation.unit, ambiguous), []).append(name)
    untold = {name for name, evidence in evidence_by_column if not evidence.decimal} - {
        name for names in groups.values() for name in names
    }
    undecided = frozenset[str]() if whole else frozenset(untold)
    return Notations(notations, [numbers_note(*key, names) for key, names in groups.items()], undecided)


def numbers_note(decimal: Decimal, unit: str, ambiguous: bool, names: Sequence[str]) -> NumbersRead:
    """The note of a result on columns that are read alike."""
    read = NumbersRead(columns=list(names[:_NAMED]), decimal=decimal)
    if unit:
        read["unit"] = unit
    if ambiguous:
        read["ambiguous"] = True
    return read


def is_unclear(cell: str) -> str:
    """Whether the plain numbers of a column, ``1.234`` without any like ``1.5``, may be thousands, in SQL."""
    thousands = f"regexp_full_match({cell}, '[+-]?[1-9][0-9]{{0,2}}[.][0-9]{{3}}')"
    decimals = f"regexp_full_match({cell}, '{NUMBER}') AND contains({cell}, '.') AND NOT {thousands}"
    return f"coalesce(bool_or({thousands}) AND NOT bool_or({decimals}), false)"


def _evidence(samples: Sequence[str]) -> _Evidence:
    cells = [cell for cell in dict.fromkeys(samples[:_ENOUGH]) if any("0" <= sign <= "9" for sign in cell[:_LONGEST])]
    units = Counter(unit for cell in cells if (unit := _unit_of(cell)) is not None)
    evidence = _Evidence(_usual(units), digits=len(cells))
    point, comma = Notation(".", evidence.unit), Notation(",", evidence.unit)
    for cell in cells:
        by_point, by_comma = point.plain(cell), comma.plain(cell)
        if by_point is None and by_comma is None:
            continue
        evidence.numbers += 1
        evidence.odd = evidence.odd or not _PLAIN.fullmatch(cell)
        if by_comma is None:
            evidence.point += 1
        elif by_point is None:
            evidence.comma += 1
        elif by_point != by_comma:
            evidence.either["," if "," in cell else "."] += 1
    return evidence


def _usual(units: Counter[str]) -> str:
    """The unit of a column. One currency among bare numbers applies to all of them; percentages need a majority."""
    signed = units - Counter({"": units[""]})
    if not signed:
        return ""
    [(unit, count)] = signed.most_common(1)
    return "" if unit == _PERCENT and units[""] > count else unit

"""Dates as keys of groups: ``day:month`` is the month of the dates in the column ``day``.

These forms are read: ``2024-05-01``, also with a time after it, ``2024/5/1``, ``20240501``, ``2024年5月1日`` and
``1.5.2024``. A date with slashes and the year at its end is read where a cell in the beginning of the file shows which
number is the day. A value that is no date is a group of its own, by its text, so that every value is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["BINS", "bin_expression", "order_of"]

BINS: Mapping[str, str] = {
    "day": "strftime({date}, '%Y-%m-%d')",
    "week": "strftime({date}, '%G-W%V')",
    "month": "strftime({date}, '%Y-%m')",
    "quarter": "strftime({date}, '%Y') || '-Q' || quarter({date})",
    "year": "strftime({date}, '%Y')",
}

_TIME = r"(?:[T ][0-9:.,+\-Z ]*)?"
_FORMS: Mapping[str, tuple[str, str]] = {
    "ymd": (rf"([0-9]{{4}})[-/.]([0-9]{{1,2}})[-/.]([0-9]{{1,2}}){_TIME}", r"\1-\2-\3"),
    "digits": (r"([0-9]{4})([0-9]{2})([0-9]{2})", r"\1-\2-\3"),
    "chinese": (r"([0-9]{4})年([0-9]{1,2})月([0-9]{1,2})日", r"\1-\2-\3"),
    "dots": (rf"([0-9]{{1,2}})[.]([0-9]{{1,2}})[.]([0-9]{{4}}){_TIME}", r"\3-\2-\1"),
}
_SLASHES = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/[0-9]{4}(?:[T ].*)?")


def order_of(cells: Iterable[str]) -> str | None:
    """The replacement that turns dates with slashes into ISO 8601; ``None`` where no cell shows it, or cells
    contradict."""
    matches = [match for cell in cells if (match := _SLASHES.fullmatch(cell))]
    day_first, month_first = (any(int(match[at]) > 12 for match in matches) for at in (1, 2))
    return None if day_first == month_first else r"\3-\2-\1" if day_first else r"\3-\1-\2"


def bin_expression(cell: str, bin: str, slashes: str | None) -> str:
    """The group of a cell, in SQL: the day, week, … of its date, or its text if it is no date."""
    forms = [*_FORMS.values()]
    if slashes:
        forms.append((rf"([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}){_TIME}", slashes))
    cases = " ".join(
        f"WHEN regexp_full_match({cell}, '{form}') THEN TRY_CAST(regexp_replace({cell}, '{form}', '{order}') AS DATE)"
        for form, order in forms
    )
    return f"coalesce({BINS[bin].format(date=f'(CASE {cases} END)')}, {cell})"

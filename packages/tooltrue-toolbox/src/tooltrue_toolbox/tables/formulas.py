"""Cells that a spreadsheet runs as a formula when it opens them, detected by their first character.

The characters are those that OWASP lists under "CSV Injection", with the full-width forms that a spreadsheet treats
alike.
"""

from __future__ import annotations

from tooltrue_toolbox.tables.notation import Notation
from tooltrue_toolbox.tables.sql import is_number

__all__ = ["formula_of", "is_formula"]

_WIDE = "＋－＝＠"
_SIGNS = f"=+-@\t\r\n{_WIDE}"


def is_formula(cell: str, notation: Notation | None) -> bool:
    """Whether a cell, which is not empty, begins like a formula and is no number."""
    return cell[0] in _SIGNS and not (cell[0] in "+-" and is_number(cell, notation))


def formula_of(text: str, number: str) -> str:
    """The same as an SQL condition over the cell ``text`` and the expression ``number`` of its number. Most cells begin
    with a letter, which one comparison rules out."""
    signs = ", ".join(f"chr({ord(sign)})" for sign in _SIGNS)
    return f"({text} < 'A' OR {text} >= '{_WIDE[0]}') AND left({text}, 1) IN ({signs}) AND {number} IS NULL"

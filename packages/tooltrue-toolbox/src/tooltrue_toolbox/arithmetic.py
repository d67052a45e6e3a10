"""Arithmetic as people write it: an expression is parsed, and evaluated exactly as far as possible.

A number is a fraction of integers, so that 0.1 + 0.2 is 0.3 and 1 / 3 * 3 is 1. Irrational results (a root, a
logarithm, a power with a fractional exponent) are computed to more digits than a result shows, and the value is marked
as rounded from there on. No code is executed: the operators and functions below are the only ones. Length, depth, steps
and the size of every number have bounds.

Precedence, lowest first: ``+ -``, ``* / //``, a sign, ``^`` (also ``**``; right-associative, so that ``-2^2`` is -4),
``%`` after a number, which is a hundredth of it.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, Underflow
from fractions import Fraction
from typing import Final

from tooltrue.errors import ToolError, fact_of
from tooltrue.wording import LABEL_NONE, Worded
from tooltrue_toolbox.wording import (
    EXPRESSION_ARGUMENT_COUNT_WRONG,
    EXPRESSION_DIVISION_BY_ZERO,
    EXPRESSION_INCOMPLETE,
    EXPRESSION_NESTED_TOO_DEEPLY,
    EXPRESSION_NUMBER_OUT_OF_BOUNDS,
    EXPRESSION_PERCENT_AMBIGUOUS,
    EXPRESSION_TOO_LONG,
    EXPRESSION_UNEXPECTED_TOKEN,
    EXPRESSION_UNKNOWN_CHARACTER,
    EXPRESSION_UNKNOWN_NAME,
    EXPRESSION_VALUE_INVALID,
    LABEL_A_NAME,
    LABEL_A_NUMBER,
    LABEL_OPERAND,
    LABEL_OPERATOR_OR_CLOSING,
    LABEL_OPERATOR_OR_END,
    LABEL_PARENTHESIS_AFTER,
    REASON_FACTORIAL_DOMAIN,
    REASON_LOGARITHM_DOMAIN,
    REASON_POWER_DOMAIN,
    REASON_ROOT_DOMAIN,
    REASON_ROUND_DOMAIN,
)

__all__ = ["FUNCTIONS", "LONGEST", "MOST_DIGITS", "MathValue", "decimal_text", "evaluate"]

LONGEST: Final = 2000
"""Characters of an expression."""
MOST_DIGITS: Final = 100
"""Significant digits of a result that is rounded."""
_DEPTH: Final = 50
_BITS: Final = 20_000
"""Of a numerator or denominator: about 6,000 digits."""
_LARGEST_EXPONENT: Final = 5000
"""The largest exponent of ten, in a number in scientific notation, and in the result of a function."""
_WORKING: Final = Context(
    prec=MOST_DIGITS + 20,
    Emax=_LARGEST_EXPONENT,
    Emin=-_LARGEST_EXPONENT,
    traps=[InvalidOperation, DivisionByZero, Overflow, Underflow],
)


@dataclass(frozen=True, slots=True)
class MathValue:
    """A number, and whether it is exact rather than an approximation."""

    number: Fraction
    exact: bool = True

    @property
    def is_short(self) -> bool:
        """Whether it is short enough to show as a fraction: at most about a hundred digits each."""
        return _size(self.number) <= 330


# -- functions ---------------------------------------------------------------------------------------------------------


class _Outside(Exception):
    """An argument is outside the domain of a function; the message names the domain."""

    def __init__(self, problem: Worded) -> None:
        super().__init__(problem)


def _decimal(number: Fraction) -> Decimal:
    return _WORKING.divide(Decimal(number.numerator), Decimal(number.denominator))


def _rounded(work: Callable[[Decimal], Decimal], value: MathValue) -> MathValue:
    """The approximate result of a function that is irrational."""
    return MathValue(Fraction(work(_decimal(value.number))), exact=False)


def _root(value: MathValue) -> MathValue:
    if value.number < 0:
        raise _Outside(Worded(REASON_ROOT_DOMAIN, {}))
    above, below = math.isqrt(value.number.numerator), math.isqrt(value.number.denominator)
    root = Fraction(above, below)
    return MathValue(root, value.exact) if root * root == value.number else _rounded(_WORKING.sqrt, value)


def _logarithm(value: MathValue) -> MathValue:
    if value.number <= 0:
        raise _Outside(Worded(REASON_LOGARITHM_DOMAIN, {}))
    return MathValue(Fraction(0), value.exact) if value.number == 1 else _rounded(_WORKING.ln, value)


def _tens(value: MathValue) -> MathValue:
    if value.number <= 0:
        raise _Outside(Worded(REASON_LOGARITHM_DOMAIN, {}))
    result = Fraction(_WORKING.log10(_decimal(value.number)))
    is_whole = result.denominator == 1 and Fraction(10) ** int(result) == value.number
    return MathValue(result, value.exact and is_whole)


def _exponential(value: MathValue) -> MathValue:
    return MathValue(Fraction(1), value.exact) if value.number == 0 else _rounded(_WORKING.exp, value)


def _round(value: MathValue, places: MathValue = MathValue(Fraction(0))) -> MathValue:
    """Round half away from zero, as on paper."""
    if places.number.denominator != 1 or abs(places.number) > MOST_DIGITS:
        raise _Outside(Worded(REASON_ROUND_DOMAIN, {"limit": MOST_DIGITS}))
    unit = Fraction(10) ** int(places.number)
    whole = math.floor(abs(value.number) * unit + Fraction(1, 2))
    return MathValue(Fraction(whole if value.number >= 0 else -whole) / unit, value.exact)


def _mod(value: MathValue, by: MathValue) -> MathValue:
    if by.number == 0:
        raise ZeroDivisionError
    return MathValue(value.number % by.number, value.exact and by.exact)


def _factorial(value: MathValue) -> MathValue:
    if value.number.denominator != 1 or not 0 <= value.number <= 1000:
        raise _Outside(Worded(REASON_FACTORIAL_DOMAIN, {}))
    return MathValue(Fraction(math.factorial(int(value.number))), value.exact)


def _least(*values: MathValue) -> MathValue:
    return MathValue(min(value.number for value in values), all(value.exact for value in values))


def _greatest(*values: MathValue) -> MathValue:
    return MathValue(max(value.number for value in values), all(value.exact for value in values))


def _floor(value: MathValue) -> MathValue:
    return MathValue(Fraction(math.floor(value.number)), value.exact)


def _ceiling(value: MathValue) -> MathValue:
    return MathValue(Fraction(math.ceil(value.number)), value.exact)


def _absolute(value: MathValue) -> MathValue:
    return MathValue(abs(value.number), value.exact)


@dataclass(frozen=True, slots=True)
class _MathFunction:
    work: Callable[..., MathValue]
    fewest: int = 1
    most: int = 1


_MANY: Final = 100

FUNCTIONS: Final[dict[str, _MathFunction]] = {
    "abs": _MathFunction(_absolute),
    "ceil": _MathFunction(_ceiling),
    "exp": _MathFunction(_exponential),
    "factorial": _MathFunction(_factorial),
    "floor": _MathFunction(_floor),
    "ln": _MathFunction(_logarithm),
    "log10": _MathFunction(_tens),
    "max": _MathFunction(_greatest, 1, _MANY),
    "min": _MathFunction(_least, 1, _MANY),
    "mod": _MathFunction(_mod, 2, 2),
    "round": _MathFunction(_round, 1, 2),
    "sqrt": _MathFunction(_root),
}

_PI: Final = (
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679"
    "82148086513282306647093844609550582231725359408128481"
)
CONSTANTS: Final = {
    "e": MathValue(Fraction(_WORKING.exp(Decimal(1))), exact=False),
    "pi": MathValue(Fraction(_PI), exact=False),
}


# -- operators ---------------------------------------------------------------------------------------------------------


def _over(left: MathValue, right: MathValue) -> MathValue:
    return MathValue(left.number / right.number, left.exact and right.exact)


def _power(base: MathValue, exponent: MathValue) -> MathValue:
    exact = base.exact and exponent.exact
    if exponent.number.denominator != 1:
        if base.number <= 0:
            raise _Outside(Worded(REASON_POWER_DOMAIN, {}))
        if exponent.number == Fraction(1, 2):
            return _root(MathValue(base.number, exact))
        return MathValue(Fraction(_WORKING.power(_decimal(base.number), _decimal(exponent.number))), exact=False)
    times = int(exponent.number)
    if abs(base.number) not in (0, 1) and _size(base.number) * abs(times) > _BITS:
        raise Overflow
    return MathValue(base.number**times, exact)


_OPERATORS: Final[dict[str, Callable[[MathValue, MathValue], MathValue]]] = {
    "+": lambda left, right: MathValue(left.number + right.number, left.exact and right.exact),
    "-": lambda left, right: MathValue(left.number - right.number, left.exact and right.exact),
    "*": lambda left, right: MathValue(left.number * right.number, left.exact and right.exact),
    "/": _over,
    "//": lambda left, right: MathValue(Fraction(left.number // right.number), left.exact and right.exact),
    "^": _power,
}

# operator → its binding power on the left and on the right
_BINDING: Final = {"+": (1, 2), "-": (1, 2), "*": (3, 4), "/": (3, 4), "//": (3, 4), "^": (8, 7)}
_SIGN: Final = 5
_PERCENT: Final = 9


def _size(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


# -- reading -----------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>\*\*|//|[-+*/^%(),])|(?P<gap>\s+)"
)
# spelling elsewhere → spelling here; full-width forms are mapped separately
_SPELLED: Final = {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "，": ",", "。": "."}


@dataclass(frozen=True, slots=True)
class _MathToken:
    kind: str
    text: str
    column: int


def _tokens(expression: str) -> list[_MathToken]:
    """The tokens of ``expression``. ``ToolError`` for an unknown character."""
    text = "".join(_SPELLED.get(c) or _plain(c) for c in expression)
    tokens: list[_MathToken] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ToolError.of(EXPRESSION_UNKNOWN_CHARACTER, column=at + 1, found=ascii(expression[at]))
        if match.lastgroup != "gap":
            tokens.append(_MathToken(match.lastgroup or "", match[0].replace("**", "^"), at + 1))
        at = match.end()
    return [*tokens, _MathToken("end", "", len(text) + 1)]


def _plain(character: str) -> str:
    """The narrow form of a full-width character; columns stay the same. Other characters are kept: ² is not 2."""
    is_wide = unicodedata.decomposition(character).startswith("<wide>")
    return unicodedata.normalize("NFKC", character) if is_wide else character


def evaluate(expression: str) -> MathValue:
    """The value of ``expression``. ``ToolError`` names the place of a syntax error, or the reason why it has no
    value."""
    if len(expression) > LONGEST:
        raise ToolError.of(EXPRESSION_TOO_LONG, limit=LONGEST)
    reader = _ExpressionParser(_tokens(expression))
    value = reader.expression(0)
    reader.must_end()
    return value


class _ExpressionParser:
    """A parser by top-down operator precedence: each operator has its binding power, and one loop does the rest."""

    def __init__(self, tokens: list[_MathToken]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> _MathToken:
        return self._tokens[self._at]

    def _take(self) -> _MathToken:
        token = self._next
        self._at += token.kind != "end"
        return token

    def must_end(self) -> None:
        if self._next.kind != "end":
            raise _misread(self._next, Worded(LABEL_OPERATOR_OR_END, {}))

    def expression(self, least: int) -> MathValue:
        """Parse and evaluate as much as binds tighter than ``least``."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise ToolError.of(EXPRESSION_NESTED_TOO_DEEPLY, limit=_DEPTH, column=self._next.column)
        value = self._operand()
        while True:
            token = self._next
            if token.text == "%" and least <= _PERCENT:
                self._take()
                self._must_be_percent(token)
                value = MathValue(value.number / 100, value.exact)
            elif token.kind == "sign" and (binding := _BINDING.get(token.text)) and binding[0] >= least:
                self._take()
                value = _apply(token, _OPERATORS[token.text], value, self.expression(binding[1]))
            else:
                self._depth -= 1
                return value

    def _must_be_percent(self, token: _MathToken) -> None:
        """``ToolError`` for ``7 % 3``, which some readers take for a remainder; it has no meaning here."""
        if self._next.kind in ("number", "name") or self._next.text == "(":
            raise ToolError.of(EXPRESSION_PERCENT_AMBIGUOUS, column=token.column)

    def _operand(self) -> MathValue:
        token = self._take()
        if token.kind == "number":
            return _number(token)
        if token.kind == "name":
            return self._call(token) if self._next.text == "(" else _constant(token)
        if token.text in ("+", "-"):
            value = self.expression(_SIGN)
            return value if token.text == "+" else MathValue(-value.number, value.exact)
        if token.text == "(":
            value = self.expression(0)
            self._close()
            return value
        raise _misread(token, Worded(LABEL_OPERAND, {}))

    def _call(self, name: _MathToken) -> MathValue:
        function = FUNCTIONS.get(name.text)
        if function is None:
            raise _unknown(name)
        opened = self._take()
        values: list[MathValue] = []
        if self._next.text != ")":
            values.append(self.expression(0))
            while self._next.text == ",":
                self._take()
                values.append(self.expression(0))
        self._close()
        if not function.fewest <= len(values) <= function.most:
            most = f" to {function.most}" if function.most > function.fewest else ""
            expected_count = f"{function.fewest}{most}"
            raise ToolError.of(
                EXPRESSION_ARGUMENT_COUNT_WRONG,
                name=name.text,
                column=opened.column,
                wanted=expected_count,
                got=len(values),
            )
        return _apply(name, function.work, *values)

    def _close(self) -> None:
        token = self._take()
        if token.text != ")":
            raise _misread(token, Worded(LABEL_OPERATOR_OR_CLOSING, {}) if token.kind != "end" else "')'")


def _number(token: _MathToken) -> MathValue:
    _, _, exponent = token.text.lower().partition("e")
    if len(exponent) > 6 or abs(int(exponent or 0)) > _LARGEST_EXPONENT:
        raise ToolError.of(EXPRESSION_NUMBER_OUT_OF_BOUNDS, column=token.column)
    number = Fraction(token.text)
    if _size(number) > _BITS:
        raise ToolError.of(EXPRESSION_NUMBER_OUT_OF_BOUNDS, column=token.column)
    return MathValue(number)


def _constant(name: _MathToken) -> MathValue:
    if name.text in CONSTANTS:
        return CONSTANTS[name.text]
    if name.text in FUNCTIONS:
        raise _misread(
            _MathToken("end", "", name.column + len(name.text)), Worded(LABEL_PARENTHESIS_AFTER, {"name": name.text})
        )
    raise _unknown(name)


def _unknown(name: _MathToken) -> ToolError:
    names = [*FUNCTIONS, *CONSTANTS]
    near = difflib.get_close_matches(name.text.lower(), names, 1)
    return ToolError.of(
        EXPRESSION_UNKNOWN_NAME,
        column=name.column,
        known=", ".join(names),
        nearest=near[0] if near else Worded(LABEL_NONE, {}),
    )


def _misread(token: _MathToken, expected: str | Worded) -> ToolError:
    if token.kind == "end":
        return ToolError.of(EXPRESSION_INCOMPLETE, column=token.column, wanted=expected)
    label = LABEL_A_NUMBER if token.kind == "number" else LABEL_A_NAME
    actual = repr(token.text) if token.kind == "sign" else Worded(label, {})
    return ToolError.of(EXPRESSION_UNEXPECTED_TOKEN, column=token.column, found=actual, wanted=expected)


def _apply(token: _MathToken, work: Callable[..., MathValue], *values: MathValue) -> MathValue:
    """Apply ``work``. ``ToolError`` where there is no value, or one beyond the bounds."""
    try:
        value = work(*values)
    except ZeroDivisionError as error:
        raise ToolError.of(EXPRESSION_DIVISION_BY_ZERO, column=token.column) from error
    except _Outside as error:
        raise ToolError.of(EXPRESSION_VALUE_INVALID, column=token.column, problem=fact_of(error)) from error
    except (Overflow, Underflow, InvalidOperation) as error:
        raise ToolError.of(EXPRESSION_NUMBER_OUT_OF_BOUNDS, column=token.column) from error
    if _size(value.number) > _BITS:
        raise ToolError.of(EXPRESSION_NUMBER_OUT_OF_BOUNDS, column=token.column)
    return value


# -- writing -----------------------------------------------------------------------------------------------------------


def decimal_text(value: MathValue, digits: int) -> tuple[str, bool]:
    """``value`` as a decimal, and whether the decimal is exact.

    It is rounded to ``digits`` significant digits, half away from zero. An exact integer is written with every digit,
    up to a thousand.
    """
    number = value.number
    if value.exact and number.denominator == 1 and abs(number) < 10**1000:
        return str(number.numerator), True
    context = Context(prec=digits, rounding="ROUND_HALF_UP", Emax=999_999, Emin=-999_999)
    decimal = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    exact = value.exact and Fraction(decimal) == number
    shortest = decimal.normalize(context)
    size = shortest.adjusted() if shortest else 0
    return (f"{shortest:f}" if -20 <= size < max(digits, 21) else f"{shortest}"), exact

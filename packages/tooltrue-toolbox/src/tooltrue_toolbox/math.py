"""The math tools: a sum, and an expression, both exact in decimals. :mod:`.arithmetic` defines the syntax of
expressions; this module has the tools as a model sees them."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic rejects the one of typing before Python 3.12

from tooltrue.errors import ToolError
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.arithmetic import LONGEST, MOST_DIGITS, decimal_text, evaluate
from tooltrue_toolbox.registration import settings_of, tool
from tooltrue_toolbox.wording import NUMBER_TOO_MANY_DIGITS

__all__ = ["Calculation", "Sum", "calculate", "calculate_sum", "toolset"]

_DIGITS = 400
_PLAIN = rf"^-?[0-9]{{1,{_DIGITS}}}(\.[0-9]{{1,{_DIGITS}}})?$"


class Calculation(TypedDict):
    """What an expression comes to."""

    value: Annotated[str, Field(description="The result in decimals, as text so that no digit is lost")]
    exact: Annotated[bool, Field(description="Whether value is the result itself; otherwise it is rounded")]
    fraction: NotRequired[
        Annotated[str, Field(description="The result itself, where it is a fraction that decimals cannot hold: '1/3'")]
    ]


class Sum(TypedDict):
    """What numbers come to together."""

    sum: Annotated[str, Field(description="The exact sum in decimals, as text so that no digit is lost")]
    count: Annotated[int, Field(description="How many numbers were added", ge=1)]


@tool(
    effect="read",
    idempotent=True,
    title="Calculate",
    seconds=5.0,
    examples=({"expression": "(0.1 + 0.2) * 3"}, {"expression": "round(1999 * 15%, 2)"}),
)
def calculate(
    expression: Annotated[
        str,
        "Arithmetic such as '(12.5 + 3) * 4^2'. Operators: + - * / // ^ ( ) and 15% for 0.15. Functions: abs, ceil, "
        "exp, factorial, floor, ln, log10, max, min, mod(a, b), round(x, places), sqrt. Constants: pi, e. No "
        "variables, units or separators of thousands",
        Field(min_length=1, max_length=LONGEST),
    ],
    digits: Annotated[
        int, "Significant digits of a result that has to be rounded, such as 1/3", Field(ge=1, le=MOST_DIGITS)
    ] = 28,
) -> Calculation:
    """Calculate an arithmetic expression exactly, in decimals (计算, 四则运算).

    Use when a number has to be worked out: prices, percentages, powers, roots. Not for adding up a list: use
    calculate_sum; not for algebra, trigonometry, dates or units. 10% is always 0.1, so write 200 * 1.1 for 10% more;
    half is rounded away from zero. Side effects: none; the expression is parsed and never run as code. Limits: 2000
    characters, 50 levels of brackets, numbers of about 6000 digits.
    """
    value = evaluate(expression)
    decimal, exact = decimal_text(value, digits)
    result = Calculation(value=decimal, exact=exact)
    if value.exact and not exact and value.is_short:
        result["fraction"] = str(value.number)
    return result


@tool(
    effect="read",
    idempotent=True,
    title="Calculate a sum",
    seconds=5.0,
    examples=({"numbers": [0.1, 0.2]}, {"numbers": ["12345678901234567890.12", 5]}),
)
def calculate_sum(
    numbers: Annotated[
        list[int | float | Annotated[str, Field(pattern=_PLAIN)]],
        "What to add: numbers, or text such as '12345678901234567890.12' for those with more than 15 digits",
        Field(min_length=1, max_length=10_000),
    ],
) -> Sum:
    """Calculate the sum of numbers exactly, in decimals: 0.1 and 0.2 are 0.3 (求和, 相加).

    Use when two or more numbers have to be added up. Not for other operations: use calculate. Side effects: none.
    Limits: 10000 numbers, each of up to 400 digits before and after its point.
    """
    for place, number in enumerate(numbers):
        if isinstance(number, int) and abs(number) >= 10**_DIGITS:
            raise ToolError.of(NUMBER_TOO_MANY_DIGITS, place=place, limit=_DIGITS)
    total = sum((Fraction(repr(n) if isinstance(n, float) else n) for n in numbers), start=Fraction(0))
    return Sum(sum=_all_digits(total), count=len(numbers))


def _all_digits(number: Fraction) -> str:
    """Every digit of a number whose denominator has no prime factors but 2 and 5, like any sum of decimals."""
    places = 0
    while number.denominator != 1:
        number, places = number * 10, places + 1
    digits = str(abs(number.numerator)).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def toolset() -> LocalToolset:
    """The math tools, ready to be served."""
    tools = LocalToolset()
    for function in (calculate, calculate_sum):
        tools.add(function, **settings_of(function))
    return tools

"""The math tools: an expression has its mathematical meaning, executes no code, and is evaluated in bounded time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import Client, Server
from tooltrue.errors import ToolError
from tooltrue_toolbox.arithmetic import LONGEST, evaluate
from tooltrue_toolbox.math import calculate, calculate_sum, toolset


def value(expression: str, digits: int = 28) -> str:
    return calculate(expression, digits)["value"]


def called(tool: str, **arguments: Any) -> Any:
    async def conversation() -> Any:
        async with Client(Server("math", toolsets=[toolset()])) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(conversation())


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0.1 + 0.2", "0.3"),
        ("1 / 3 * 3", "1"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^3^2", "512"),
        ("2**3**2", "512"),
        ("2^-2 * 3", "0.75"),
        ("8 / 4 / 2", "1"),
        ("7 - 2 - 1", "4"),
        ("2 * -3", "-6"),
        ("--3", "3"),
        ("-7 // 2", "-4"),
        ("mod(-7, 3)", "2"),
        ("15% * 80", "12"),
        ("200 * (1 + 10%)", "220"),
        ("(１＋２）×３ ÷ 2 − 1", "3.5"),
        ("max(1, 2.5, 2) + min(3, -1)", "1.5"),
        ("floor(-1.5) + ceil(1.2) + abs(-3)", "3"),
        ("factorial(20)", "2432902008176640000"),
        ("sqrt(2.25)", "1.5"),
        ("log10(0.001)", "-3"),
        (".5e3 + 1.", "501"),
        ("10^-30", "1E-30"),
    ],
)
def test_an_expression_follows_the_conventions_of_mathematics(expression: str, expected: str) -> None:
    assert calculate(expression) == {"value": expected, "exact": True}


def test_half_is_rounded_away_from_zero() -> None:
    assert [value(f"round({n})") for n in ("2.5", "3.5", "-2.5", "0.49")] == ["3", "4", "-3", "0"]
    assert [value("round(2.675, 2)"), value("round(1250, -2)")] == ["2.68", "1300"]


def test_a_rounded_value_is_marked_inexact_and_comes_with_its_fraction() -> None:
    assert calculate("2 / 3", 5) == {"value": "0.66667", "exact": False, "fraction": "2/3"}
    assert calculate("sqrt(2)^2") == {"value": "2", "exact": False}
    assert calculate("sqrt(2)", 50) == {"value": "1.4142135623730950488016887242096980785696718753769", "exact": False}
    assert value("exp(1)", 40) == value("e", 40) == "2.718281828459045235360287471352662497757"


NUMBERS = st.decimals(-1000, 1000, allow_nan=False, places=3)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> tuple[str, Fraction]:
    """An expression in brackets, and its value."""
    if depth == 0 or draw(st.booleans()):
        number: Decimal = draw(NUMBERS)
        return (f"({number})" if number < 0 else str(number)), Fraction(number)
    sign = draw(st.sampled_from("+-*/"))
    left, a = draw(expressions(depth - 1))
    right, b = draw(expressions(depth - 1))
    if sign == "/" and b == 0:
        sign = "*"
    return f"({left} {sign} {right})", {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}[sign](b)


@given(expressions())
def test_the_four_operations_are_exact(case: tuple[str, Fraction]) -> None:
    text, expected = case
    assert (evaluate(text).number, evaluate(text).exact) == (expected, True)


@given(st.lists(NUMBERS, min_size=1))
def test_a_sum_is_exact(numbers: list[Decimal]) -> None:
    total = calculate_sum([f"{number:f}" for number in numbers])
    assert Fraction(total["sum"]) == sum(map(Fraction, numbers))
    assert total["count"] == len(numbers)


@given(st.text(max_size=40))
def test_any_text_has_a_value_or_is_refused(text: str) -> None:
    with suppress(ToolError):
        assert calculate(text)["value"]


@pytest.mark.parametrize(
    ("expression", "code", "column"),
    [
        ("2 + * 3", "TT6730", 5),
        ("1,000 + 2", "TT6730", 2),
        ("5 5", "TT6730", 3),
        ("(1 + 2", "TT6731", 7),
        ("sqrt", "TT6731", 5),
        ("$5", "TT6732", 1),
        ("1 = 1", "TT6732", 3),
        ("2 + 3²", "TT6732", 6),
        ("①", "TT6732", 1),
        ("5ª", "TT6732", 2),
        ("sqroot(2)", "TT6733", 1),
        ("2 * x", "TT6733", 5),
        ("7 % 3", "TT6734", 3),
        ("1 + round(1, 2, 3)", "TT6735", 10),
        ("1 / (2 - 2)", "TT6736", 3),
        ("0^-1", "TT6736", 2),
        ("2^99999", "TT6737", 2),
        ("1e9999", "TT6737", 1),
        ("exp(-20000)", "TT6737", 1),
        ("ln(0)", "TT6740", 1),
        ("(-2)^0.5", "TT6740", 5),
        ("factorial(1.5)", "TT6740", 1),
    ],
)
def test_a_refused_expression_names_the_error_and_its_column(expression: str, code: str, column: int) -> None:
    with pytest.raises(ToolError) as caught:
        calculate(expression)
    assert (caught.value.code, caught.value.facts["column"]) == (code, column)


def test_the_nearest_name_is_told() -> None:
    with pytest.raises(ToolError) as caught:
        calculate("Sqr(2)")
    assert caught.value.facts["nearest"] == "sqrt"


def test_depth_and_length_are_bounded() -> None:
    for expression, code in (("(" * 60 + "1" + ")" * 60, "TT6739"), ("-" * 60 + "1", "TT6739")):
        with pytest.raises(ToolError) as caught:
            calculate(expression)
        assert caught.value.code == code
    with pytest.raises(ToolError) as caught:
        calculate("1+" * LONGEST + "1")
    assert caught.value.code == "TT6738"


def test_k06_the_longest_expressions_of_large_numbers_end_within_the_time_of_the_tool() -> None:
    for part in ("7^7000 / 3", "(1/3)^9000", "exp(1/7)^.3", "factorial(1000)"):
        result = called("calculate", expression="+".join([part] * (LONGEST // (len(part) + 1))))
        assert not result.is_error or "TT6737" in result.text


def test_k06_a_number_with_more_digits_than_are_allowed_is_not_added() -> None:
    number = 10**400
    assert called("calculate_sum", numbers=[1, number - 1]).value["sum"] == str(number)
    for numbers in ([number], [0, -number], [10**4299 * 9] * 12):
        result = called("calculate_sum", numbers=numbers)
        assert result.text.startswith(f"$.numbers[{int(numbers[0] == 0)}] has more than 400 digits")


def test_k05_an_expression_that_resembles_code_is_refused_and_not_run(tmp_path: Any) -> None:
    place = tmp_path / "ran"
    for code in (
        f"__import__('os').mkdir('{place}')",
        f"open('{place}', 'w')",
        "().__class__.__bases__",
        "[1][0]",
        "1;2",
    ):
        assert called("calculate", expression=code).is_error
    assert not place.exists()


def test_k05_twin_names_that_code_has_too_are_functions_here() -> None:
    assert value("abs(-1) + max(1, 2) + round(1.5) + min(4, 5)") == "9"


def test_k06_twin_large_numbers_are_worked_out() -> None:
    assert value("2^4000") == value("(2^2000)^2")
    assert value("10^400 - 1") == "9" * 400


def test_a_model_sees_the_sum_and_the_value_as_they_are() -> None:
    assert called("calculate_sum", numbers=[0.1, 0.2, 3]).value == {"sum": "3.3", "count": 3}
    assert called("calculate_sum", numbers=[12345678901234567890, "0.05"]).value["sum"] == "12345678901234567890.05"
    assert called("calculate_sum", numbers=["1e5"]).is_error
    assert called("calculate_sum", numbers=[]).is_error
    assert called("calculate", expression="(12.5 + 3) * 4^2").value == {"value": "248", "exact": True}
    assert called("calculate", expression="1 +").text.endswith("[TT6731]")

"""Names that are one slip away from each other, against the textbook's distance."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.contract.names import Likeness, Names


def distance(one: str, two: str) -> int:
    """Letters changed, added, left out, or exchanged with their neighbour: the whole table, row by row."""
    table = [
        [max(row, column) if not row or not column else 0 for column in range(len(two) + 1)]
        for row in range(len(one) + 1)
    ]
    for row in range(1, len(one) + 1):
        for column in range(1, len(two) + 1):
            changed = table[row - 1][column - 1] + (one[row - 1] != two[column - 1])
            cost = min(table[row - 1][column] + 1, table[row][column - 1] + 1, changed)
            if row > 1 and column > 1 and one[row - 2 : row] == two[column - 2 : column][::-1]:
                cost = min(cost, table[row - 2][column - 2] + 1)
            table[row][column] = cost
    return table[-1][-1]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A word, and the same after up to three slips. Both begin and end as `like` wants it of words that it compares."""
    letters = draw(st.lists(st.sampled_from("abc"), min_size=4, max_size=12))
    slipped = list(letters)
    for _ in range(draw(st.integers(0, 3))):
        at, letter = draw(st.integers(0, len(slipped) - 1)), draw(st.sampled_from(["a", "b", "c", ""]))
        match draw(st.sampled_from(["change", "add", "exchange"])):
            case "change":
                slipped[at] = letter
            case "add":
                slipped.insert(at, letter)
            case _:
                slipped[at : at + 2] = slipped[at : at + 2][::-1]
    return f"x{''.join(letters)}d", f"x{''.join(slipped)}d"


@settings(max_examples=500)
@given(pairs())
def test_a_name_of_one_word_is_like_another_exactly_where_few_letters_differ(pair: tuple[str, str]):
    first, second = pair
    allowed = min(0 if len(name) < 6 else 1 if len(name) < 10 else 2 for name in pair)
    found = [kind for other, kind in Names([second]).like(first) if other == second]
    is_slip = first != second and distance(first, second) <= allowed
    assert found == ([Likeness.SLIP] if is_slip and min(map(len, pair)) > 4 else [])

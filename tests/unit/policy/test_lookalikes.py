"""Look-alike names, as a person who decides sees them."""

from __future__ import annotations

import pytest

from tooltrue.policy.consent.lookalikes import odd_letters, shown_name

DISGUISED = {
    "Cyrillic a": ("\u0430nn", "U+0430"),
    "all Cyrillic": ("\u0441\u043e\u0440\u0435", "U+0441"),
    "Greek o": ("r\u03bfot", "U+03BF"),
    "Armenian o": ("r\u0585\u0585t", "U+0585"),
    "Cherokee": ("\u13aanna", "U+13AA"),
    "dotless i": ("adm\u0131n", "U+0131"),
    "full width": ("\uff41nn", "U+FF41"),
    "full-width digit": ("ann\uff11", "U+FF11"),
    "mathematical digit": ("ann\U0001d7cf", "U+1D7CF"),
    "Devanagari digit": ("ann\u0967", "U+0967"),
    "digits of two scripts": ("1\u0662", "U+0662"),
    "zero-width space": ("an\u200bn", "U+200B"),
    "joiner": ("an\u200dn", "U+200D"),
    "filler": ("ann\u3164", "U+3164"),
    "turned": ("ann\u202e", "U+202E"),
    "in an id": ("oauth:https://id.example.com#\u0430nn", "U+0430"),
    "beside Chinese": ("\u5f20\u4f1f-\u0430dmin", "U+0430"),
}
PLAIN = [
    "ann",
    "local:http",
    "ann_0-1@example.com",
    "张伟",
    "张伟2",
    "田中さん",
    "ユーザー",
    "김민수",
    "张wei",
    "René",
    "Müller-Lüdenscheidt",
    "Иванов",
    "oauth:https://id.example.com#Иван",
    "Γιάννης",
    "สมชาย๑",
    "محمد",
    "rené@例え.jp",
    "C:\\Users\\ann",
]


@pytest.mark.parametrize(("name", "letter"), DISGUISED.values(), ids=DISGUISED)
def test_a_lookalike_name_is_marked_as_misleading(name: str, letter: str):
    assert f"⟨MISLEADING: it has {letter} " in shown_name(name, "en")
    assert "⟨注意" in shown_name(name, "zh")


@pytest.mark.parametrize("name", PLAIN)
def test_an_ordinary_name_of_any_script_is_not(name: str):
    assert odd_letters(name) == ()
    assert "NOT" not in shown_name(name, "en", ("bob", "李雷"))


@pytest.mark.parametrize(("one", "two"), [("ann0", "anno"), ("admin1", "adminl"), ("rnary", "mary"), ("a|", "aI")])
def test_two_names_that_look_alike_are_marked_beside_each_other(one: str, two: str):
    assert shown_name(one, "en", (one, two)) == f"{one} ⟨NOT the same as {two}, which looks like it⟩"
    assert shown_name(two, "en", (one, two)) == f"{two} ⟨NOT the same as {one}, which looks like it⟩"


def test_a_name_cannot_write_the_mark_nor_hide_it():
    forged = "ann ⟨checked⟩"
    assert "⟨checked⟩" not in shown_name(forged, "en")
    assert shown_name("\u0430" * 500, "en").endswith("CYRILLIC SMALL LETTER A⟩")

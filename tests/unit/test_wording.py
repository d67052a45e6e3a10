"""The words of every error: all there, all used, the same in both languages."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

import tooltrue
from tooltrue.check.card import RULES, cards
from tooltrue.wording import LANGUAGES, SENTENCES, sentence

SOURCE = Path(tooltrue.__file__).parent
CODE = re.compile(r"\bTT\d{4}\b")


def used() -> set[str]:
    files = [path for ending in ("py", "toml") for path in SOURCE.rglob(f"*.{ending}") if path.name != "wording.py"]
    files = [path for path in files if path.parent != RULES]  # a rule has its words on its card
    return {code for path in files for code in CODE.findall(path.read_text(encoding="utf-8"))}


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def test_every_code_that_is_used_has_words():
    assert used() - SENTENCES.keys() - {card.code for card in cards().values()} == set()


def test_every_code_that_has_words_is_used():
    assert SENTENCES.keys() - used() == set()


def test_a_code_has_five_characters_after_its_letters_and_stands_once():
    source = (SOURCE / "wording.py").read_text(encoding="utf-8")
    keys = re.findall(r'^    "(TT\d{4})":', source, re.MULTILINE)
    assert sorted(keys) == sorted(SENTENCES)


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_both_languages_say_the_same_facts(code: str):
    english, chinese = SENTENCES[code]
    assert placeholders(english) == placeholders(chinese)
    assert english.isascii() or set(english) - set(string.printable) <= {"…"}
    assert re.search(r"[\u4e00-\u9fff]", chinese)


def test_a_code_that_nobody_knows_is_a_bug():
    assert LANGUAGES == ("en", "zh")
    with pytest.raises(KeyError):
        sentence("TT0000", "en", {})

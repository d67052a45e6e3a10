"""The words of every error: all there, all used, the same in both languages."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Iterator

import pytest

from support.sources import FILES, named
from tooltrue.wording import LANGUAGES, SENTENCES, sentence
from tooltrue_check.card import RULES, cards

CODE = re.compile(r"\bTT\d{4}\b")


def used() -> set[str]:
    files = [path for ending in ("py", "toml") for _, path in named(f"*.{ending}") if path.name != "wording.py"]
    files = [path for path in files if path.parent != RULES]  # a rule has its words on its card
    return {code for path in files for code in CODE.findall(path.read_text(encoding="utf-8"))}


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def test_every_code_that_is_used_has_words():
    assert used() - SENTENCES.keys() - {card.code for card in cards().values()} == set()


def test_every_code_that_has_words_is_used():
    assert SENTENCES.keys() - used() == set()


def test_a_code_has_five_characters_after_its_letters_and_stands_once():
    source = FILES["wording.py"].read_text(encoding="utf-8")
    keys = re.findall(r'^    "(TT\d{4})":', source, re.MULTILINE)
    assert sorted(keys) == sorted(SENTENCES)


def codes_where(fails: Callable[[str, str], object]) -> list[str]:
    return sorted(code for code, (english, chinese) in SENTENCES.items() if fails(english, chinese))


def test_both_languages_say_the_same_facts():
    assert codes_where(lambda english, chinese: placeholders(english) != placeholders(chinese)) == []


def test_each_sentence_is_in_its_language():
    assert codes_where(lambda english, chinese: set(english) - set(string.printable) - {"…"}) == []
    assert codes_where(lambda english, chinese: not re.search(r"[\u4e00-\u9fff]", chinese)) == []


def test_a_code_that_nobody_knows_is_a_bug():
    assert LANGUAGES == ("en", "zh")
    with pytest.raises(KeyError):
        sentence("TT0000", "en", {})


def calls() -> Iterator[tuple[str, str, set[str]]]:
    """Each call that gives a code and its facts as literals, ``X.of("TT1234", fact=…)``: its place, code and facts."""
    for path in FILES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="of"), args=[ast.Constant(value=str(code)), *_], keywords=facts):
                    if code in SENTENCES and all(fact.arg for fact in facts):
                        yield f"{path.name}:{node.lineno}", code, {str(fact.arg) for fact in facts}


def test_each_call_fills_the_placeholders_of_its_sentence():
    found = list(calls())
    assert len(found) > 600, "the calls are written in another way than this test looks for"
    assert [(place, code) for place, code, facts in found if not placeholders(SENTENCES[code][0]) <= facts] == []

"""The words of every error: all there, all used, the same in both languages."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Iterator

import pytest

from support.sources import CONSTANTS, FILES, codes_in, named
from tooltrue.wording import LANGUAGES, SENTENCES, load_catalogues, message, sentence
from tooltrue_check.card import RULES, cards

load_catalogues()


def used() -> set[str]:
    files = [path for ending in ("py", "toml") for _, path in named(f"*.{ending}") if path.name != "wording.py"]
    files = [path for path in files if path.parent != RULES]  # a rule has its words on its card
    return {code for path in files for code in codes_in(path)}


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def test_every_code_that_is_used_has_words():
    assert used() - SENTENCES.keys() - {card.code for card in cards().values()} == set()


def test_every_code_that_has_words_is_used():
    assert SENTENCES.keys() - used() == set()


def test_a_code_has_four_digits_and_one_constant():
    assert [code for code in SENTENCES if not re.fullmatch(r"TT\d{4}", code)] == []
    assert sorted(CONSTANTS.values()) == sorted(SENTENCES)


def test_a_code_cannot_get_a_second_message():
    code, words = next(iter(SENTENCES.items()))
    assert message(code, *words) == code  # a module that is loaded again
    with pytest.raises(ValueError, match=code):
        message(code, "Another.", "另一句。")


def codes_where(fails: Callable[[str, str], object]) -> list[str]:
    return sorted(code for code, (english, chinese) in SENTENCES.items() if fails(english, chinese))


def test_both_languages_say_the_same_facts():
    assert codes_where(lambda english, chinese: placeholders(english) != placeholders(chinese)) == []


def test_each_sentence_is_in_its_language():
    assert codes_where(lambda english, chinese: set(english) - set(string.printable) - {"…"}) == []
    assert codes_where(lambda english, chinese: not re.search(r"[\u4e00-\u9fff]", chinese)) == []


def test_an_unknown_error_code_raises_a_key_error():
    assert LANGUAGES == ("en", "zh")
    with pytest.raises(KeyError):
        sentence("TT0000", "en", {})


def calls() -> Iterator[tuple[str, str, set[str]]]:
    """Each call that gives a message and its facts as literals, such as ``X.of(TOOL_NOT_FOUND, name=…)``,
    ``Worded(TOOL_NOT_FOUND, {"name": …})`` or ``sentence(TOOL_NOT_FOUND, language, {…})``: its place, the constant and
    the names of the facts."""
    for name, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="of"), args=[ast.Name(id=constant), *_], keywords=facts):
                    if constant in CONSTANTS and all(fact.arg for fact in facts):
                        yield f"{name}:{node.lineno}", constant, {str(fact.arg) for fact in facts}
                case ast.Call(
                    func=ast.Name(id="Worded" | "sentence" | "coded_sentence"),
                    args=[ast.Name(id=constant), *_, ast.Dict(keys=keys)],
                ):
                    if constant in CONSTANTS and all(isinstance(key, ast.Constant) for key in keys):
                        yield f"{name}:{node.lineno}", constant, {str(getattr(key, "value", "")) for key in keys}


def test_each_call_fills_the_placeholders_of_its_sentence():
    found = list(calls())
    assert len(found) > 800, "the calls are written in another way than this test looks for"
    wanting = [
        (place, constant)
        for place, constant, facts in found
        if not placeholders(SENTENCES[CONSTANTS[constant]][0]) <= facts
    ]
    assert wanting == []


def test_a_call_names_the_constant_and_not_the_code():
    """A code as text stays where data holds it: in the excuses of a tool, by the codes of rules."""
    by_text = {
        f"{name}:{node.lineno}"
        for name, path in FILES.items()
        if path.name != "wording.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in SENTENCES
    }
    assert by_text == set()

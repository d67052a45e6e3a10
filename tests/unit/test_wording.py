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


# -- no English inside a sentence of another language ----------------------------------------------------------------

ENGLISH = re.compile(
    r"\b(?:a|all|an|and|any|are|at|be|been|but|by|cannot|does|each|empty|every|for|from|given|has|have|if|in|is|it|its|"
    r"missing|more|most|must|needs|no|nobody|none|not|nothing|of|only|or|other|such|than|that|the|there|this|to|unknown|"
    r"was|what|when|where|which|who|with|without)\b"
)
"""Words that occur in phrases for people, and not in names, options and other technical text."""


def phrases(node: ast.expr | None, assigned: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The literal texts that a value may consist of, with those of the names it uses."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            for part in parts:
                yield from phrases(part.value if isinstance(part, ast.FormattedValue) else part, {})
        case ast.IfExp(body=body, orelse=orelse):
            yield from phrases(body, assigned)
            yield from phrases(orelse, assigned)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values) | ast.Dict(values=values):
            for value in values:
                yield from phrases(value, assigned)
        case ast.BinOp(left=left, right=right):
            yield from phrases(left, assigned)
            yield from phrases(right, assigned)
        case ast.Subscript(value=value) | ast.NamedExpr(value=value) | ast.GeneratorExp(elt=value):
            yield from phrases(value, assigned)
        case ast.Call(func=ast.Attribute(value=ast.Constant() as separator, attr="join"), args=args):
            for value in (separator, *args):
                yield from phrases(value, assigned)
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[_, default]):
            yield from phrases(value, assigned)
            yield from phrases(default, assigned)
        case ast.Name(id=name):
            for value in assigned.get(name, []):
                yield from phrases(value, {})
        case _:
            pass


def assignments(scope: ast.AST) -> dict[str, list[ast.expr]]:
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                values.setdefault(name, []).append(value)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                values.setdefault(name, []).append(value)
            case _:
                pass
    return values


def facts_of_messages(scope: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Each value for a placeholder, of the calls that name a message by its constant, with its line."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and any(isinstance(one, ast.Name) and one.id in CONSTANTS for one in node.args):
            values = [keyword.value for keyword in node.keywords if keyword.arg]
            values += [value for one in node.args if isinstance(one, ast.Dict) for value in one.values]
            yield from ((node.lineno, value) for value in values)


def is_english(text: str) -> bool:
    return bool(ENGLISH.search(text)) and not text.startswith("--")  # an option, as it is typed


def english_facts(tree: ast.Module) -> set[tuple[int, str]]:
    module = assignments(ast.Module([one for one in tree.body if isinstance(one, ast.Assign | ast.AnnAssign)], []))
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        (line, text)
        for scope in (*functions, tree)
        for assigned in [module if scope is tree else module | assignments(scope)]
        for line, value in facts_of_messages(scope)
        for text in phrases(value, assigned)
        if is_english(text)
    }


def english_reasons(tree: ast.Module) -> set[tuple[int, str]]:
    """The texts of exceptions whose class says that it carries a reason for a message."""
    reasons = {
        one.name
        for one in ast.walk(tree)
        if isinstance(one, ast.ClassDef)
        for method in one.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        if any(argument.arg == "problem" for argument in method.args.args)
    }
    return {
        (node.lineno, text)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in reasons
        for value in node.args
        for text in phrases(value, {})
        if is_english(text)
    }


def test_no_english_phrase_is_a_value_of_a_placeholder():
    """A phrase is a message of its own: ``Worded(CONSTANT, {…})`` has the language of the sentence around it."""
    found = {
        f"{name}:{line}: {text}"
        for name, path in FILES.items()
        if path.name != "wording.py"
        for tree in [ast.parse(path.read_text(encoding="utf-8"))]
        for line, text in english_facts(tree) | english_reasons(tree)
    }
    assert found == set()


@pytest.mark.parametrize(
    "value",
    [
        "'it is empty'",
        "name or 'none'",
        "f'another process has it for {seconds} s'",
        "' or '.join(names)",
        "f'keys of {count}'",
        "_TEXTS.get(name, 'a claim is wrong')",
        "('mask or keep')[0]",
        "problem",
        "_TEXTS[name]",
    ],
)
def test_an_english_phrase_is_recognized(value: str):
    source = f"""
_TEXTS = {{"a": "there is nothing"}}
def refuse():
    problem = "there is none"
    raise Error.of(SETTING_INVALID, name="x", wanted={value})
"""
    assert english_facts(ast.parse(source)) != set()


@pytest.mark.parametrize(
    "value", ["'--mail-from ADDRESS'", "f'Server({name}=…)'", "'utf-8'", "', '.join(names)", "str(error)"]
)
def test_technical_text_is_no_english_phrase(value: str):
    assert english_facts(ast.parse(f"def refuse(): raise Error.of(SETTING_INVALID, name={value})")) == set()

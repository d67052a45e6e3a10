"""The language of docstrings, pages, messages and names: pronouns and participles that stand for a noun are rare.

A sentence such as "What is kept is told to whoever asks" has to be read twice. The figure is a thermometer and not the
goal: a page with few pronouns can still be hard to read. Starlette, httpx and the official SDKs have 0 to 6 of 1,000.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence

import pytest

from support.sources import FILES, ROOT
from tooltrue.wording import SENTENCES, load_catalogues

load_catalogues()

GENERATED = ("rules", "reference", "errors.md", "protocol.md")

PRONOUN = re.compile(r"\b(?:what|who|whoever|whatever|nobody|nothing|none)\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
LITERAL = re.compile(r"```.*?```|``.*?``|`[^`]*`|\"[^\"\n]*\"", re.DOTALL)
QUESTION = re.compile(r"\b(?:what|who)\b[^.?!\n]{0,80}\?", re.IGNORECASE)


def rate(texts: Iterable[str], least: int = 20_000) -> float:
    """Pronouns in 1,000 words, without code, quotations and questions."""
    plain = [QUESTION.sub(" ", LITERAL.sub(" ", text)) for text in texts]
    words = sum(len(WORD.findall(text)) for text in plain)
    assert words > least, "too few words: the texts have moved to where this test does not look"
    return 1_000 * sum(len(PRONOUN.findall(text)) for text in plain) / words


def docstrings() -> Iterator[str]:
    for path in FILES.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield ast.get_docstring(node) or ""


def pages() -> Iterator[str]:
    folder = ROOT / "docs"
    for path in (ROOT / "README.md", *sorted(folder.rglob("*.md"))):
        if path.parent != folder.parent and path.relative_to(folder).parts[0] in GENERATED:
            continue
        yield path.read_text("utf-8")


def test_docstrings_name_the_noun():
    assert rate(docstrings()) <= 8


def test_pages_name_the_noun():
    assert rate(pages()) <= 6


def test_messages_name_the_noun():
    assert rate((english for english, _ in SENTENCES.values()), least=10_000) <= 6


PARTICIPLES = re.compile(
    "answered|asked|begun|ended|found|given|heard|held|judged|kept|known|left|meant|met|read|said|seen|shown|spoken|taken"
    "|told|wanted|written"
)


def words_of_code() -> Iterator[str]:
    for path in FILES.values():
        for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
            if token.type == tokenize.NAME:
                yield token.string.strip("_")


def test_names_are_nouns_and_no_bare_participles():
    """Of 1,000 names; httpx has 3, the official SDK 2, and "read" is a verb in most places."""
    words = list(words_of_code())
    assert 1_000 * sum(PARTICIPLES.fullmatch(word) is not None for word in words) / len(words) <= 2


def classes() -> Iterator[tuple[str, str]]:
    """The name of each class, with the module that has it."""
    for module, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name, module


def are_two_ways(modules: Sequence[str]) -> bool:
    """Whether these are ``posix_X`` and ``windows_X`` of one folder: their classes of one name are one to others."""
    one, other, *more = sorted(modules)
    return not more and "/posix_" in one and one.replace("/posix_", "/windows_") == other


def test_a_class_has_a_name_of_its_own():
    places: dict[str, list[str]] = {}
    for name, module in classes():
        places.setdefault(name, []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1 and not are_two_ways(modules)} == {}


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (["a/windows_child.py", "a/posix_child.py"], True),
        (["a/posix_child.py", "b/windows_child.py"], False),
        (["a/posix_child.py", "a/windows_jobs.py"], False),
        (["a/posix_child.py", "a/posix_child.py"], False),
        (["a/posix_child.py", "a/windows_child.py", "a/windows_child.py"], False),
        (["a/child.py", "a/child.py"], False),
    ],
)
def test_two_modules_of_one_folder_may_have_two_ways_of_a_class(modules: list[str], expected: bool):
    assert are_two_ways(modules) is expected

"""The display of arguments to a person: complete, and without invisible characters."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.policy.consent.argument_display import display_arguments, display_document, display_text

TEXTS = (
    st.text()
    | st.text(alphabet=' \\u"⟨⟩×0124\u202e\u200b\n')
    | st.builds(str.__mul__, st.sampled_from(" a\\\n\u202e"), st.integers(0, 60))
)
ARGUMENTS = st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=3) | st.none(), max_size=3)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("plain", '"a" (5): "plain"'),
        (5, '"a": 5'),
        ([None, True, {"b": 1.5}], '"a": [null, true, {"b": 1.5}]'),
        ("Käse, 奶酪, جبن, 🧀", '"a" (16): "Käse, 奶酪, \u2068جبن\u2069, 🧀"'),
        ("rm \u05d0\u05d1 \u05d2 100 -f", '"a" (14): "rm \u2068\u05d0\u05d1 \u05d2\u2069 100 -f"'),
        ("/\u05d0/1/\u05d1", '"a" (6): "/\u2068\u05d0\u2069/1/\u2068\u05d1\u2069"'),
        ("\u0661\u0662 \u0663", '"a" (4): "\u2068\u0661\u0662\u2069 \u2068\u0663\u2069"'),
        ("1\u05b0 \u05d0\u05b0\u0301 \u05d1", '"a" (8): "1\u05b0 \u2068\u05d0\u05b0\u0301 \u05d1\u2069"'),
        ("\u2068\u05d0\u2069", '"a" (3): "\\u2068\u2068\u05d0\u2069\\u2069"'),
        ("x\U00016fe4y\U0001d159\U00013441", '"a" (5): "x\\U00016fe4y\\U0001d159\\U00013441"'),
        ("\u0338a\u0301 \u0338\n\u0338\u200b\u0338", '"a" (9): "\\u0338a\u0301 \\u0338\\n\\u0338\\u200b\\u0338"'),
        ("हिन्दी นี้", '"a" (10): "हिन्दी นี้"'),
        ("x\u202egnp.exe", '"a" (9): "x\\u202egnp.exe"'),
        ("de\u200blete\u00ad", '"a" (8): "de\\u200blete\\u00ad"'),
        ("\U000e0041\ufe0f\u3164", '"a" (3): "\\U000e0041\\ufe0f\\u3164"'),
        ("a\n\x1b[8m\r", '"a" (7): "a\\n\\u001b[8m\\r"'),
        ("\\u202e", '"a" (6): "\\\\u202e"'),
        ("ls" + " " * 10_000 + "; rm -rf /", '"a" (10012): "ls⟨10000 × " "⟩; rm -rf /"'),
        ("\n" * 30 + "x", '"a" (31): "⟨30 × "\\n"⟩x"'),
        ('⟨30 × " "⟩', '"a" (10): "\\u27e830 × \\" \\"\\u27e9"'),
        ("=" * 23, '"a" (23): "' + "=" * 23 + '"'),
    ],
)
def test_arguments_are_shown_in_full(value: Any, said: str):
    assert display_arguments({"a": value}) == said


def test_a_name_is_shown_like_a_value():
    assert display_arguments({"a\u202e": 1, "b": 2}) == '"a\\u202e": 1\n"b": 2'
    assert display_arguments({}) == "-"


def test_text_keeps_its_lines():
    assert display_text("- old\n+ new\\u202e\u202e\n" + " " * 50 + "x") == '- old\n+ new\\\\u202e\\u202e\n⟨50 × " "⟩x'


@given(ARGUMENTS, ARGUMENTS)
def test_two_sets_of_arguments_display_alike_only_if_they_are_equal(one: dict[str, Any], other: dict[str, Any]):
    assert (display_arguments(one) == display_arguments(other)) == (list(one.items()) == list(other.items()))


@given(ARGUMENTS)
def test_a_display_of_arguments_has_no_invisible_characters(arguments: dict[str, Any]):
    said = re.sub("\u2068([^\u2066-\u2069]+)\u2069", r"\1", display_arguments(arguments))
    assert {unicodedata.category(sign) for sign in said.replace("\n", "")} & {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Zl",
        "Zp",
    } == set()
    assert " " * 24 not in said
    assert len(said.split("\n")) == max(len(arguments), 1)


@given(st.dictionaries(TEXTS, TEXTS, max_size=2), st.dictionaries(TEXTS, TEXTS, max_size=2))
def test_different_documents_are_shown_differently(one: dict[str, str], other: dict[str, str]):
    assert (display_document(one) == display_document(other)) is (one == other)


def test_a_document_is_on_lines_of_its_own_with_sorted_keys():
    assert display_document({"b": ["x\u202e"], "a": {}}) == '{\n "a": {},\n "b": [\n  "x\\u202e"\n ]\n}'

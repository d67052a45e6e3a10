"""The Chinese pages: written anew, with the headings, the code and the figures of their English originals."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PAGES = {"README.zh.md": "README.md"} | {
    page.relative_to(ROOT).as_posix(): f"docs/{page.relative_to(ROOT / 'docs' / 'zh').as_posix()}"
    for page in sorted((ROOT / "docs" / "zh").rglob("*.md"))
}
"""Chinese page → its original."""

pytestmark = pytest.mark.parametrize(("chinese", "english"), PAGES.items(), ids=list(PAGES))


def text(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def prose(page: str) -> str:
    """The page without its blocks and the targets of its links."""
    return re.sub(r"\]\([^)]*\)", "]", FENCE.sub("", text(page)))


def sections(page: str) -> list[tuple[str, str]]:
    """The level of each heading, and the text below it."""
    parts = re.split(r"^(#+) .*$", prose(page), flags=re.MULTILINE)
    return [*zip(parts[1::2], parts[2::2], strict=True)]


def test_the_headings_are_those_of_the_original(chinese: str, english: str):
    assert [level for level, _ in sections(chinese)] == [level for level, _ in sections(english)]


def test_the_blocks_are_those_of_the_original(chinese: str, english: str):
    assert FENCE.findall(text(chinese)) == FENCE.findall(text(english))


def test_each_section_has_the_figures_of_the_original(chinese: str, english: str):
    for (_, own), (_, original) in zip(sections(chinese), sections(english), strict=True):
        assert figures(own) == figures(original), original[:200]


def figures(section: str) -> Counter[str]:
    return Counter(re.findall(r"\d+(?:[.,:-]\d+)*", section))


def test_each_section_has_the_rows_and_pictures_of_the_original(chinese: str, english: str):
    def shape(section: str) -> tuple[int, int]:
        return len(re.findall(r"^\|", section, re.MULTILINE)), section.count("![")

    assert [shape(own) for _, own in sections(chinese)] == [shape(original) for _, original in sections(english)]


def test_code_words_are_not_translated(chinese: str, english: str):
    """Each name of a layer, a verb or a setting that begins a row of the original begins one of the translation."""

    def names(page: str) -> list[str]:
        cells = re.findall(r"^\| ([^|]+) \|", prose(page), re.MULTILINE)
        return [cell for cell in cells if re.fullmatch(r"`?[a-z_]+(?: data)?`?", cell) and "_" in cell]

    assert names(chinese) == names(english)


def test_punctuation_is_chinese_and_each_term_has_its_own_word(chinese: str, english: str):
    plain = re.sub(r"`[^`]*`", "", prose(chinese))
    assert re.findall(r"[\u4e00-\u9fff][,.;:?!]\S?", plain) == []
    assert re.findall(r"(?<!正则)模式", plain) == []

"""Text as the rules read it: its language, its words, its verbs, and the cues in it."""

from __future__ import annotations

import pytest

from tooltrue.tools.search.words import stem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.lexicon.verbs import READS, VERBS, WRITES, verbs
from tooltrue_check.subject import ToolText


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("List the branches of a repository.", "en"),
        ("List users", "en"),
        ("", "en"),
        ("列出仓库的分支。", "zh"),
        ("列出 GitHub 仓库的 branches。", "zh"),
        ("Obtener la lista de los proyectos del usuario", ""),
        ("Şehir adına göre güncel hava durumu bilgisini getirir", ""),
        ("Показать список файлов", ""),
        ("ファイルを読む", ""),
        ("간단한 테스트 도구", ""),
    ],
)
def test_the_language_of_a_text_is_known_or_nothing_is_said(text: str, language: str):
    assert ToolText(text).language == language


@pytest.mark.parametrize(
    "words",
    [("branch", "branches"), ("issue", "issues"), ("query", "queries"), ("list", "listed"), ("create", "creates")],
)
def test_the_forms_of_a_word_have_one_stem(words: tuple[str, ...]):
    assert len({stem(word) for word in words}) == 1


def test_verbs_are_known_by_any_of_their_forms():
    assert {"get", "gets", "getting", "queries", "fetched"} <= READS
    assert {"deletes", "deleting", "removed", "running", "copies"} <= WRITES
    assert not VERBS & {"weather", "user", "天气"}
    assert verbs(ToolText("根据菜谱名称查询指定菜谱的详情")) >= {"查询"}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("when", "Use this to find a train.", "use this"),
        ("when", "当用户询问天气时调用。", "当用户询问天气时"),
        ("when", "List trains.", None),
        ("limits", "Reads at most 100 rows.", "at most"),
        ("limits", "Reads almost all of it.", None),
        ("effects", "会覆盖已有文件。", "覆盖"),
        ("promotion", "A cutting-edge search.", "cutting edge"),
        ("promotion", "One stop for the powerful, top-notch, world-class, lightning-fast search.", "one stop"),
        ("promotion", "Find the best matching paper.", None),
    ],
)
def test_a_cue_is_found_as_words_and_not_within_them(name: str, text: str, found: str | None):
    assert cue(name).match_in(ToolText(text)) == found

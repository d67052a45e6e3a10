"""Text as words, in English, in Chinese and in both at once.

English words are in lower case, Chinese words are found by a dictionary. The same text always has the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from tooltrue.tools.search.words import HAN, apart, joined_names
from tooltrue_check.lexicon.word_lists import word_list

__all__ = ["is_chinese", "language", "searched", "sentences", "words"]

_ENGLISH: Final = frozenset(word_list("english"))
_OTHERS: Final = frozenset(word_list("others"))
_SCRIPTS: Final = re.compile(r"[\u0370-\u1fff\u3040-\u30ff\uac00-\ud7af]{2}")

_CHINESE: Final = re.compile(rf"[{HAN}]+")
_WORD: Final = re.compile(rf"[{HAN}]+|[^\W_]+(?:['’][^\W\d_]+)?")
_LATIN: Final = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_END: Final = re.compile(r"[。！？；]\s*|[.!?;](?=\s|$)\s*|\n[ \t]*\n\s*|\n(?=\s*[-*•\d#])\s*")


def is_chinese(text: str) -> bool:
    """Whether a text contains Chinese."""
    return not text.isascii() and _CHINESE.search(text) is not None


def words(text: str) -> tuple[str, ...]:
    """The words of a text in order. A name is split: ``readFile``, ``read_file`` and ``读文件`` have two words each."""
    return tuple(_words(text, _cut))


def searched(text: str) -> tuple[str, ...]:
    """The words of a text for a search: Chinese words with the words within them, and a name such as ``GitHub`` both
    split and whole."""
    return (*_words(text, _cut_finely), *joined_names(text))


def _words(text: str, cut: Callable[[str], Iterable[str]]) -> Iterable[str]:
    split = apart(text)
    return _LATIN.findall(split.lower()) if split.isascii() else _mixed(split, cut)


def _mixed(text: str, cut: Callable[[str], Iterable[str]]) -> Iterator[str]:
    for match in _WORD.finditer(text):
        if match[0].isascii() or not _CHINESE.match(match[0]):
            yield match[0].casefold()
        else:
            yield from cut(match[0])


def language(text: str, word_set: Collection[str]) -> str:
    """The language of a text with these words: ``zh`` if any of it is Chinese, else ``en``; empty if it is neither."""
    if not text.isascii() and _SCRIPTS.search(text):
        return ""
    if is_chinese(text):
        return "zh"
    others, english = len(_OTHERS.intersection(word_set)), len(_ENGLISH.intersection(word_set))
    # Turkish, Polish and others are recognized by letters that English does not have.
    if not text.isascii() and not english and any(not word.isascii() for word in word_set):
        return ""
    return "en" if not others or others < english else ""


def _cut(text: str) -> tuple[str, ...]:
    from tooltrue_check.chinese_words import cut  # noqa: PLC0415 - the dictionary is slow to load

    return cut(text)


def _cut_finely(text: str) -> tuple[str, ...]:
    from tooltrue_check.chinese_words import cut_finely  # noqa: PLC0415 - the dictionary is slow to load

    return cut_finely(text)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, without their final punctuation. Each item of a list is a sentence of its own."""
    return tuple(sentence for part in _END.split(text) if (sentence := part.strip()))

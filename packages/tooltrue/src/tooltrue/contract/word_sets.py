"""The words of a text as a set, which rules out most patterns in one step, before any of them is tried.

A word is a run of letters in lower case. Chinese, Japanese and Korean have no blanks between words: there, each
character and each pair of adjacent characters count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tooltrue.contract.normalization import folded

__all__ = ["ascii_words", "by_line", "frequency", "is_cjk", "needed", "signs_in", "words_of"]

_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_LATIN: Final = re.compile("[a-z]+")
_SIGNS: Final = frozenset({"<", ":", "@", "[", "#", "---", "===", "***", "{{"})
_APART: Final = re.sub(rb"[^a-z\n]", b" ", bytes(range(256)).lower())
"""Translation of bytes: ASCII letters to lower case, all else but line ends to blanks."""


def is_cjk(text: str) -> bool:
    return _CJK.search(text) is not None


def ascii_words(text: str) -> set[str]:
    """The words of an ASCII text."""
    return set(text.encode().translate(_APART).decode().split())


def by_line(text: str) -> Iterator[set[str]]:
    """The words of each line of a text."""
    if text.isascii():
        for line in text.encode().translate(_APART).decode().split("\n"):
            yield set(line.split())
        return
    for line in folded(text).split("\n"):
        tokens = set(_LETTERS.findall(line))
        if is_cjk(line):  # a Latin word may stand in it without blanks: ``读取mcp.json的内容``
            tokens.update(line, map("".join, pairwise(line)), _LATIN.findall(line))
        yield tokens


def words_of(text: str) -> set[str]:
    return set[str]().union(*by_line(text))


def signs_in(text: str) -> set[str]:
    """The signs in a text that are rare in texts and common in orders."""
    return {sign for sign in _SIGNS if sign in text}


def needed(plainly: str) -> tuple[str, frozenset[str]]:
    """The rarest token of these words, and all of them. The words are :func:`folded` already. Every text that contains
    them has these tokens in :func:`by_line` or :func:`signs_in`: a sign, the first two characters in Chinese, and
    otherwise each word."""
    if plainly in _SIGNS or is_cjk(plainly):
        token = plainly if plainly in _SIGNS else plainly[:2]
        return token, frozenset({token})
    words = _LETTERS.findall(plainly)
    return min(words, key=lambda word: (frequency(word), -len(word))), frozenset(words)


def frequency(token: str) -> int:
    """Roughly how many of a thousand definitions contain a token."""
    return 10_000 if token in _SIGNS else _FREQUENT.get(token, 1)


# Words that many definitions have, the most frequent first.
_WORDS: Final = (
    "the to object name a string description of false json http org draft get for in number id null and with or from "
    "returns array list by specific all an integer true use be this args if is format path information optional on "
    "search not file maximum return request data api tool limit content current create query new as page text user can "
    "code retrieve minimum multiple url about key results details message project whether specified include using "
    "status it will that only when address update are available start max you session date provided info value time "
    "set error your body check delete parameters call server input first run do no any must have has read output "
    "filter result which should type language model system based add one full find service contents other into token "
    "history config account settings local service desktop key keys mcp command commands base"
)
_FREQUENT: Final = {word: 1_000 // place for place, word in enumerate(_WORDS.split(), start=2)}

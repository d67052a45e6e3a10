"""A command in one line, as a person writes it, and its words."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import Final

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["joined", "windows_words", "words_of"]

_QUOTE_AND_BACKSLASHES: Final = re.compile(r'(\\*)"|(\\+)|([^\\"])', re.DOTALL)


def words_of(line: str) -> list[str]:
    """The words of a line by the rules of the system. On POSIX those of a shell, with ``ValueError`` for an open
    quotation; on Windows those by which a program reads its line."""
    return shlex.split(line) if HAS_POSIX else windows_words(line)


def joined(words: list[str]) -> str:
    """The line with these words, to be shown and typed."""
    return shlex.join(words) if HAS_POSIX else subprocess.list2cmdline(words)


def windows_words(line: str) -> list[str]:
    """The words that :func:`subprocess.list2cmdline` would write so: a backslash is a character of a path, and escapes
    nothing but quotation marks after it."""
    words: list[str] = []
    word: str | None = None
    is_quoted = False
    for match in _QUOTE_AND_BACKSLASHES.finditer(line):
        before, backslashes, character = match.groups()
        if before is not None:  # two backslashes are one, and a single one makes the mark a part of the word
            word = (word or "") + "\\" * (len(before) // 2)
            if len(before) % 2:
                word += '"'
            else:
                is_quoted = not is_quoted
        elif backslashes is not None:
            word = (word or "") + backslashes
        elif character.isspace() and not is_quoted:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + character
    return words if word is None else [*words, word]

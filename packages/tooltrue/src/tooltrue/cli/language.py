"""The language of a command line: English or Chinese, from ``--lang`` or the locale."""

from __future__ import annotations

import locale
import os
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import TypeVar

import click

from tooltrue.wording import LANGUAGES

__all__ = ["current_language", "language_of", "speaking"]

C = TypeVar("C", bound=click.Command)

# Users write the option after a command as well as before it; :func:`language_of` reads it in either place.
_LANGUAGE = click.Option(["--lang"], type=click.Choice(LANGUAGES), hidden=True, expose_value=False)


def language_of(words: Sequence[str]) -> str:
    """The language of the last ``--lang`` in a command line, else that of the locale.

    Click parses a word at a time, and prints the help, or an error, before it has seen a ``--lang`` further right.
    """
    options = takewhile(lambda word: word != "--", words)
    parted = [part for word in options for part in (word.split("=", 1) if word.startswith("--lang=") else [word])]
    choices = [value for option, value in pairwise(parted) if option == "--lang" and value in LANGUAGES]
    return choices[-1] if choices else _of_locale()


def _of_locale() -> str:
    name = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or locale.getlocale()[0]
    return "zh" if (name or "").lower().startswith(_CHINESE) else "en"


_CHINESE = ("zh", "chinese")
"""The beginnings of the names of Chinese locales; the second is that of Windows, as in Chinese (Simplified)_China."""


def speaking(verb: C) -> C:
    """Add the option to the command and to its subcommands."""
    if _LANGUAGE not in verb.params:
        verb.params.append(_LANGUAGE)
        for inner in verb.commands.values() if isinstance(verb, click.Group) else ():
            speaking(inner)
    return verb


def current_language() -> str:
    """The language of the running command; English outside of one."""
    context = click.get_current_context(silent=True)
    return (context.find_root().obj if context is not None else None) or "en"

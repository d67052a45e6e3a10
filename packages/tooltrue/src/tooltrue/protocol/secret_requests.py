"""Detection of text that asks a person for a secret, in several languages and spellings.

A form must not ask for a secret (client/elicitation "Security Considerations"); a web page that the person visits may.
Text that only mentions one does not ask: *password policy*, *token count*, *a link to reset the password*.
"""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path as File
from typing import Any, Final

from tooltrue.protocol.letters import latin, unmarked

__all__ = ["asks_for_a_secret"]

_NOT_ASKED: Final = re.compile(
    r"(?:\b(?:never|not|don t|do not|no|without|instead of|nunca|jamais|niemals|nicht|nao|sin|sans|ohne|sem)\b"
    r"[^.]{0,24}$)"
    r"|(?:不要|请勿|不会|无需|不需要)[^。]{0,12}$"
)
_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")
_APART: Final = re.compile(r"(?<!\w)(?:\w ){3,40}\w(?!\w)")
_NEAR: Final = 24


def _plain(text: str) -> str:
    """Normalize text to the form a person reads: look-alike letters unified, hidden characters removed, lower case,
    words separated by spaces."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) not in _HIDDEN)
    spaced = _WORDS.sub(" ", visible)
    return " ".join(unmarked(latin(unmarked(spaced.casefold()))).split())


_HIDDEN: Final = ("Cf", "Mn", "Co")


@functools.cache
def _words() -> Mapping[str, Any]:
    return tomllib.loads(File(__file__).with_suffix(".toml").read_text("utf-8"))


def _any(phrases: Iterable[str]) -> str:
    """A regular expression for any of the phrases. Chinese, Japanese and Korean phrases need no word boundaries."""
    plain = sorted({_plain(one) + "*" * one.endswith("*") for one in phrases}, key=len, reverse=True)
    spaced = "|".join(re.escape(one).replace(r"\*", r"\w{0,12}") for one in plain if not _CJK.search(one))
    joined = "|".join(re.escape(one) for one in plain if _CJK.search(one))
    return "|".join(filter(None, (spaced and rf"(?<!\w)(?:{spaced})(?!\w)", joined)))


_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@functools.cache
def _secrets() -> re.Pattern[str]:
    return re.compile(_any(one for words in _words()["secrets"].values() for one in words))


@functools.cache
def _about() -> re.Pattern[str]:
    return re.compile(_any([*_words()["about"]["words"], *_words()["about"]["inside"]]))


def asks_for_a_secret(text: str) -> bool:
    """Whether ``text`` asks for a secret: ``clientSecret``, ``API-Key`` and ``Your p.a.s.s.w.o.r.d`` do; ``secretary``,
    ``max tokens`` and ``password policy`` do not."""
    if unicodedata.normalize("NFKC", text).strip(" :*") in ("PIN", "pin", "Pin", "PAT", "TAN"):
        return True
    plain = _plain(text)
    together = _APART.sub(lambda run: run[0].replace(" ", ""), plain)
    return any(map(_is_asked, dict.fromkeys((plain, together))))


def _is_asked(plain: str) -> bool:
    return any(not _is_spoken_of(plain, match) for match in _secrets().finditer(plain))


def _is_spoken_of(plain: str, match: re.Match[str]) -> bool:
    """Whether the match is only a mention: the text is about the secret's length or page, or negates the request."""
    before, after = plain[max(0, match.start() - _NEAR) : match.start()], plain[match.end() : match.end() + _NEAR]
    near = " ".join(before.split()[-3:]) + " | " + " ".join(after.split()[:2])
    if _NOT_ASKED.search(before.rstrip()):
        return True
    return _about().search(near if plain.isascii() else before[-8:] + "|" + after[:8]) is not None

"""Names that look like other names, marked for the person who decides.

``аnn`` with a Cyrillic letter is not ``ann``, nor is ``ann１`` with a full-width digit ``ann1``. A name is judged word
by word, since an id has parts of several scripts: a word of one script that looks like no other is left as it is,
Chinese and Japanese beside Latin letters included.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import Final

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.contract.names import skeleton
from tooltrue.policy.consent.argument_display import display_text
from tooltrue.policy.wording import LABEL_LOOKALIKE_NAME, LABEL_MISLEADING_LETTERS
from tooltrue.protocol.letters import LOOK_LATIN, latin, script
from tooltrue.wording import sentence

__all__ = ["odd_letters", "shown_name"]

_WORDS: Final = LazyPattern(r"[^\W_]+")
_NAMED: Final = 3


def shown_name(name: str, language: str, others: Collection[str] = ()) -> str:
    """Return ``name`` as :func:`display_text` shows it, marked if it holds :func:`odd_letters`, or looks like one of
    ``others`` and is another. The mark stands between brackets that no name can hold unescaped."""
    notes: list[str] = []
    if odd := odd_letters(name):
        letters = ", ".join(map(_called, odd[:_NAMED])) + ("…" if len(odd) > _NAMED else "")
        notes.append(sentence(LABEL_MISLEADING_LETTERS, language, {"letters": letters}))
    same = skeleton(name)
    if alike := sorted(other for other in others if other != name and skeleton(other) == same):
        notes.append(sentence(LABEL_LOOKALIKE_NAME, language, {"other": display_text(alike[0])}))
    return " ".join((display_text(name), *(f"⟨{note}⟩" for note in notes)))


def odd_letters(name: str) -> tuple[str, ...]:
    """Return the characters that make a name look like another: letters and digits that pass for Latin ones, or stand
    among letters of another script that do, and invisible characters."""
    if name.isascii() and name.isprintable():
        return ()
    hidden = {sign for sign in name if display_text(sign).startswith("\\u") and not unicodedata.combining(sign)}
    odd = {sign for word in _WORDS.compiled.findall(name) if _is_disguised(word) for sign in word if not sign.isascii()}
    return tuple(sign for sign in dict.fromkeys(name) if sign in hidden | odd)


def _is_disguised(word: str) -> bool:
    if word.isascii():
        return False
    scripts = {script(sign) for sign in word if sign.isalpha()}
    digits = {sign.isascii() for sign in word if sign.isdecimal()}
    is_mixed = len(scripts) > 1 and bool(scripts & LOOK_LATIN)
    has_foreign_digits = False in digits and (True in digits or "LATIN" in scripts)
    return latin(word).isascii() or is_mixed or has_foreign_digits


def _called(sign: str) -> str:
    return f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".rstrip()

"""Letters that look alike: one form for each, as a person sees it.

The table holds those that a typeface does not tell apart; it is not the whole of Unicode TR 39.
"""

from __future__ import annotations

import unicodedata
from typing import Final

__all__ = ["LOOK_LATIN", "latin", "script", "unmarked"]

_PAIRS: Final = (
    "аa ӓa еe ёe іi їi јj оo ӧo рp сc ҫc уy ӱy хx ѕs һh ԁd ԛq ԝw кk мm тt вb нh ӏl гr пn "
    "АA ВB ЕE ЁE ІI ЇI ЈJ КK МM НH ОO РP СC ТT УY ХX ЅS ԌG ԚQ ԜW "
    "αa εe νv ιi κk οo ρp τt υu χx γy ωw ηn ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX "
    "ϲc ıi ȷj ɑa ɡg ɩi ∣| ǀ| օo ոn սu հh "
    "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz"
)
_LOOK_ALIKE: Final = str.maketrans({pair[0]: pair[1] for pair in _PAIRS.split()})

LOOK_LATIN: Final = frozenset(
    {"ARMENIAN", "CANADIAN", "CARIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "DESERET", "GEORGIAN", "GOTHIC", "GREEK"}
    | {"LISU", "LYCIAN", "LYDIAN", "OLD", "OSAGE", "TIFINAGH", "VAI"}
)
"""Scripts, as :func:`script` names them, of which some letters look like Latin ones: no word has both."""


def script(letter: str) -> str:
    """The script of a letter: the first word of its name in Unicode."""
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]


def latin(text: str) -> str:
    """``text`` in normal form KC, with Latin letters for those that look like them."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKE)


def unmarked(text: str) -> str:
    """Letters without the marks on them: ``contraseña`` is read as ``contrasena``."""
    apart = unicodedata.normalize("NFD", text)
    marks = {ord(one) for one in set(apart) if unicodedata.combining(one)}
    return unicodedata.normalize("NFC", apart.translate(dict.fromkeys(marks))) if marks else text

"""Look-alike letters, normalized to one form.

The table covers letters that a typeface does not distinguish; it is not the whole of Unicode TR 39.
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
"""Scripts, as :func:`script` names them, some of whose letters look like Latin ones: no word mixes them with Latin."""


def script(letter: str) -> str:
    """The script of a letter: the first word of its Unicode name."""
    return "LATIN" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]


def latin(text: str) -> str:
    """``text`` in NFKC, with look-alike letters replaced by Latin ones."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKE)


def unmarked(text: str) -> str:
    """``text`` without combining marks: ``contraseña`` becomes ``contrasena``."""
    decomposed = unicodedata.normalize("NFD", text)
    marks = {ord(one) for one in set(decomposed) if unicodedata.combining(one)}
    return unicodedata.normalize("NFC", decomposed.translate(dict.fromkeys(marks))) if marks else text

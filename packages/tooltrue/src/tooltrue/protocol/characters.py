"""Removal of invisible characters from text.

Removed are controls, whole terminal sequences, marks that change the direction of writing, invisible characters that
can smuggle text past a person, and private-use characters, whose meaning is a private agreement. Characters that
Unicode permits in their position remain: the joiners of Persian and Indic words and of emoji, the variation selector of
an emoji or an ideograph, the flags of England, Scotland and Wales, a direction mark beside a right-to-left letter. A
permitted character that can be present or absent without a visible difference may make up only a share of a text
(:data:`_BOUNDS`); above that share such characters carry a message, and all of them are removed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import Json, decode, encode, is_array, is_object
from tooltrue.protocol.wording import INVISIBLE_CHARACTERS_IN_DEFINITION

__all__ = ["ESCAPE", "check_plain", "cleaned", "hiding_characters", "may_hide"]

ESCAPE = LazyPattern(rb"\\[ubf]|\\r(?!\\n)")
"""JSON escapes of control characters, other than tab and newline."""

_BLANK = "\u2800"
_INSTEAD = {
    **dict.fromkeys("\x0b\x0c\x85\r", "\n"),  # controls that end a line: replaced, so that words do not run together
    _BLANK: " ",
    "\uf0b7": "\u2022",  # the bullets of word processors
    "\uf0a7": "\u25aa",
}

# A terminated sequence matches as a whole; an unterminated one matches its start only, as an ordinary control.
_TERMINAL = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, hidden text
    # OSC, DCS and the like: links, titles, the clipboard
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)

_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_VARIED = _IDEOGRAPHS + "\u2200-\u22ff\u2a00-\u2aff\u1000-\u109f\uaa60-\uaa7f\ua840-\ua87f\uff01-\uff1f\u3001\u3002"
_RIGHT_TO_LEFT = "\u05d0-\u05f4\u0620-\u074f\u0750-\u077f\u07c0-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
_FLAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))

# Dual-joining letters join on both sides, right-joining ones with the previous only: Arabic, Syriac, N'Ko, Mongolian.
_DUAL = (
    "\u0620\u0626\u0628\u062a-\u062e\u0633-\u063f\u0641-\u0647\u0649\u064a\u066e\u066f\u0678-\u0687\u069a-\u06bf\u06c1"
    "\u06c2\u06cc\u06ce\u06d0\u06d1\u06fa-\u06fc\u06ff\u0712-\u0714\u071a-\u071d\u071f-\u0727\u0729\u072b\u072d\u072e"
    "\u074e-\u0758\u075c-\u076a\u076d-\u0770\u0772\u0775-\u0777\u077a-\u077f\u07ca-\u07ea\u08a0-\u08a9\u08af\u08b0"
    "\u08b3-\u08b8\u08ba-\u08c8\u1820-\u1878\u1887-\u18a8\u18aa"
)
_RIGHT = (
    "\u0622-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0673\u0675-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf"
    "\u06d2\u06d3\u06d5\u06ee\u06ef\u0710\u0715-\u0719\u071e\u0728\u072a\u072c\u072f\u0759-\u075b\u076b\u076c\u0771"
    "\u0773\u0774\u0778\u0779\u08aa-\u08ac\u08ae\u08b1\u08b2\u08b9"
)
_VOWELS = "\u064b-\u065f\u0670\u0730-\u074a\u07eb-\u07f3"
_JOINED_TO = f"(?=[{_VOWELS}]{{0,4}}[{_DUAL}{_RIGHT}])"
_VIRAMAS = (
    "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u1039\u103a\u1714\u1734\u17d2\u1a60\u1b44\u1baa"
    "\u1bab\u1bf2\u1bf3\ua806\ua8c4\ua953\ua9c0\uaaf6\uabed\U00011046\U0001107f\U000110b9\U00011133\U00011134\U000111c0"
    "\U00011235\U0001134d\U00011442\U000114c2\U000115bf\U0001163f\U000116b6\U0001172b\U00011839\U0001193d\U0001193e"
)
_INDIC = "\u0900-\u0dff\u1000-\u109f\u1700-\u17b3\u17b6-\u17ff\u1a20-\u1bff\ua800-\uabff\U00011000-\U00011fff"
_JOINED_EMOJI = (  # characters that follow a joiner: people, hearts, and signs that turn one emoji into another
    "\u2194\u2195\u2640\u2642\u2695\u2696\u26a7\u2620\u2708\u2744\u2764\u27a1\u2b1b\U0001f308\U0001f32b\U0001f33e\U0001f373"
    "\U0001f37c\U0001f384\U0001f393\U0001f3a4\U0001f3a8\U0001f3eb\U0001f3ed\U0001f430\U0001f466-\U0001f469\U0001f48b"
    "\U0001f4a5\U0001f4a8\U0001f4ab\U0001f4bb\U0001f4bc\U0001f525\U0001f527\U0001f52c\U0001f5e8\U0001f680\U0001f692"
    "\U0001f7e9\U0001f7eb\U0001f91d\U0001f9af-\U0001f9b3\U0001f9ba\U0001f9bc\U0001f9bd\U0001f9d1\U0001f9d2\U0001fa70"
    "\U0001fa79\U0001faef\U0001faf2"
)
_PEOPLE = (
    "\u26f9\U0001f3c3\U0001f3c4\U0001f3ca-\U0001f3cc\U0001f468\U0001f469\U0001f46e-\U0001f478\U0001f481-\U0001f487"
    "\U0001f575\U0001f645-\U0001f64f\U0001f6a3\U0001f6b4-\U0001f6b6\U0001f926\U0001f934-\U0001f93e\U0001f9b8\U0001f9b9"
    "\U0001f9cd-\U0001f9df"
)
_SKIN = "[\U0001f3fb-\U0001f3ff]?"
_FAMILY = "[\U0001f468\U0001f469](?:\u200d[\U0001f468\U0001f469])?(?:\u200d[\U0001f466\U0001f467]){1,2}"
_AT_WORK = f"[{_PEOPLE}]{_SKIN}\ufe0f?\u200d[\u2640\u2642\u2695\u2696\u2708\U0001f33e-\U0001f3ed\U0001f4bb-\U0001f692]"
_MONGOLIAN = "\u1820-\u18aa"
_BRAILLE = "\u2801-\u28ff"

_PERMITTED = (
    _FAMILY,
    _AT_WORK,
    "(?<=[0-9#*])\ufe0f(?=\u20e3)",
    "[\u1100-\u115e]\u1160|\u115f(?=[\u1161-\u11a7])",
    f"\U0001f3f4(?:{_FLAGS})\U000e007f",
    f"(?<=[{_BRAILLE}]){_BLANK}|{_BLANK}(?=[{_BRAILLE}])",
    "(?<=[\U00013000-\U0001342f])[\U00013430-\U0001343f]",  # format controls that compose hieroglyphs
)

# Variation selectors beyond U+E011F belong to no registered ideograph.
_BOUNDED = {
    "emoji_joiner": f"(?<=[{_EMOJI}])\ufe0f?\u200d(?=[{_JOINED_EMOJI}])",
    "emoji_selector": f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]",
    "varied": f"(?<=[{_VARIED}])[\ufe00-\ufe02]|(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e011f]",
    "mongolian": f"(?<=[{_MONGOLIAN}])[\u180b-\u180d\u180f]|(?<=[{_MONGOLIAN}])\u180e(?=[{_MONGOLIAN}])",
    "joiner": (
        f"(?<=[{_DUAL}])\u200c{_JOINED_TO}|(?<=[{_DUAL}][{_VOWELS}])\u200c{_JOINED_TO}"
        f"|(?<=[{_DUAL}])\u200d(?![{_DUAL}{_RIGHT}{_VOWELS}])"
        f"|(?<=[{_VIRAMAS}])[\u200c\u200d]|(?<=[{_INDIC}])[\u200c\u200d](?=[{_VIRAMAS}])"
    ),
    "idle_joiner": f"(?<=[{_RIGHT}])\u200c{_JOINED_TO}",  # separates letters that do not join: only the writer sees it
    "mark": (
        f"(?<=[{_RIGHT_TO_LEFT}])[\u200e\u200f\u061c](?![{_RIGHT_TO_LEFT}])"
        f"|(?<![{_RIGHT_TO_LEFT}\u200e\u200f\u061c])[\u200e\u200f\u061c](?= ?[{_RIGHT_TO_LEFT}])"
    ),
}
_FREE = 8
_BOUNDS = {
    "emoji_joiner": 3,
    "emoji_selector": 4,
    "varied": 16,
    "mongolian": 4,
    "joiner": 6,
    "idle_joiner": 40,
    "mark": 8,
}
"""Allowance by kind: a text may hold ``_FREE`` of them, plus one for each this many characters outside ASCII."""

_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    f"{chr(end + 0xFFFE)}{chr(end + 0xFFFF)}" for end in range(0, 0x110000, 0x10000)
)
_HIDDEN = {
    "control": "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f",
    "direction": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "invisible": (
        "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
        f"\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a{_BLANK}{_NONCHARACTERS}"
    ),
    "private": "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd",
    "tag": "\U000e0000-\U000e00ff",
    "selector": "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e0fff",
}
_FAR = "\U0003fffe"
_FIRST = rf"{''.join(_HIDDEN.values())}{_PEOPLE}\r\u1100-\u115e\ufe0f\U0001f3f4"
"""A character class that contains the first character of each pattern."""

_BARE = r"\r(?!\r?\n|\Z)"
"""A carriage return that would let text overwrite its line: not one before a line end or at the end of a text."""


# Compiled on first use: a server that only starts does not pay for it.
@functools.cache
def _terminal() -> re.Pattern[str]:
    return re.compile(_TERMINAL)


@functools.cache
def _hidden() -> re.Pattern[str]:
    bounded = [f"(?P<{kind}>{pattern})" for kind, pattern in _BOUNDED.items()]
    kinds = [f"(?P<{kind}>[{signs}]{f'|{_BARE}' * (kind == 'control')})" for kind, signs in _HIDDEN.items()]
    # The lookahead rejects most characters at once.
    return re.compile(f"(?=[{_FIRST}])(?:{'|'.join([*_PERMITTED, *bounded, *kinds])})")


@functools.cache
def _bounded(kind: str) -> re.Pattern[str]:
    return re.compile(_BOUNDED[kind])


@functools.cache
def _hiding() -> re.Pattern[str]:
    # The far planes, which are rarely used, as one range: each range costs time at every character of a text.
    near = re.sub(f"(?:[{_FAR}-\U0010ffff]-?)+", "", "".join(_HIDDEN.values()))
    return re.compile(f"[{near}{_FAR}-\U0010ffff]")


def hiding_characters() -> str:
    """Return the pattern of a character that :func:`cleaned` may remove, as a class of characters and ranges."""
    return _hiding().pattern


def may_hide(text: str) -> bool:
    """Whether ``text`` may hold characters that :func:`cleaned` would remove. False positives are possible."""
    is_bare = "\r" in text and text.count("\r") != text.count("\r\n")
    return is_bare or _hiding().search(text) is not None


def cleaned(text: str, counts: dict[str, int]) -> str:
    """``text`` without hidden characters; counts the removed ones by kind in ``counts``. Returns clean text itself."""
    if "\x1b" in text or not text.isascii():
        text, count = _terminal().subn("", text)
        _count(counts, "terminal", count)

    permitted: dict[str, int] = {}

    def without(match: re.Match[str]) -> str:
        if (kind := match.lastgroup) is None:
            return match[0]
        if kind in _BOUNDED:
            _count(permitted, kind, 1)
            return match[0]
        _count(counts, kind, 1)
        return _INSTEAD.get(match[0], "")

    clean = _hidden().sub(without, text)
    return _within_bounds(clean, permitted, counts) if permitted else clean


def _within_bounds(text: str, permitted: Mapping[str, int], counts: dict[str, int]) -> str:
    """``text`` without the permitted characters that exceed their allowance."""
    if max(permitted.values()) <= _FREE:
        return text
    wide = len(text) - len(text.encode("ascii", "ignore")) - sum(permitted.values())
    for kind, count in permitted.items():
        if count > _FREE + wide // _BOUNDS[kind]:
            text = _bounded(kind).sub("", text)
            _count(counts, _KINDS[kind], count)
    return text


_KINDS = {
    "emoji_joiner": "invisible",
    "emoji_selector": "selector",
    "varied": "selector",
    "mongolian": "selector",
    "joiner": "invisible",
    "idle_joiner": "invisible",
    "mark": "direction",
}


def _count(counts: dict[str, int], kind: str, count: int) -> None:
    if count:
        counts[kind] = counts.get(kind, 0) + count


# --- definitions ------------------------------------------------------------------------------------------------------


_ASCII = bytes(range(128))


def check_plain(what: str, definition: object) -> None:
    """Raise ``DefinitionError`` if a definition holds hidden characters: people and models must read the same text."""
    data = encode(definition)
    # UTF-8 without its ASCII is UTF-8, and in most definitions next to nothing.
    rest = data.translate(None, _ASCII).decode()
    if b"\x7f" not in data and ESCAPE.compiled.search(data) is None and not (rest and may_hide(rest)):
        return
    for text in filter(may_hide, _strings(decode(data))):
        counts: dict[str, int] = {}
        clean = cleaned(text, counts)
        if clean != text:
            raise DefinitionError.of(
                INVISIBLE_CHARACTERS_IN_DEFINITION, what=what, kinds=", ".join(sorted(counts)), shown=ascii(text)[:120]
            )


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif is_array(value):
        for inner in value:
            yield from _strings(inner)

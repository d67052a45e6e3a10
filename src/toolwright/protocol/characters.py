"""Characters that nobody sees: which may stand in text, and text without the others.

What hides is taken out: controls, terminal sequences as a whole, marks that turn the direction of writing, and the
invisible characters in which a text can be smuggled past a person. What Unicode permits where it stands remains: the
joiners of Persian and Indic words and of emoji, the variation selector of an emoji or an ideograph, the flags of
England, Scotland and Wales, a direction mark beside a letter that is written from right to left.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from toolwright.errors import DefinitionError
from toolwright.jsonrpc.messages import Json, decode, encode, is_array, is_object

__all__ = ["ESCAPE", "check_plain", "cleaned", "may_hide"]

ESCAPE = re.compile(rb"\\[ubf]")
"""How JSON writes a control, other than a tab or the end of a line."""

_LINES = {"\x0b": "\n", "\x0c": "\n", "\x85": "\n"}  # controls that end a line: words must not grow together

# Terminated ones as a whole; of one that never ends only the beginning, which is then a control like others.
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
_RIGHT_TO_LEFT = "\u05d0-\u05f4\u0620-\u074f\u0750-\u077f\u07c0-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
# Arabic and its like, Mongolian, and the scripts that know a virama
_JOINING = (
    "\u0620-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u18aa\u1a20-\u1c7f\ua800-\uabff\ufb50-\ufdff"
    "\ufe70-\ufefc\U00010a00-\U00011fff"
)
_FLAGS = "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))

_PERMITTED = (
    f"(?<=[{_EMOJI}])\ufe0f?\u200d(?=[{_EMOJI}])",
    f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]",
    "(?<=[0-9#*])\ufe0f(?=\u20e3)",
    f"(?<=[{_VARIED}])[\ufe00-\ufe02]",
    f"(?<=[{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]",
    "(?<=[\u1820-\u18aa])[\u180b-\u180f]",
    f"(?<=[{_JOINING}])[\u200c\u200d]",
    f"(?<=[{_RIGHT_TO_LEFT}])[\u200e\u200f\u061c]|[\u200e\u200f\u061c](?= ?[{_RIGHT_TO_LEFT}])",
    "[\u1100-\u115e]\u1160|\u115f(?=[\u1161-\u11a7])",
    f"\U0001f3f4(?:{_FLAGS})\U000e007f",
)

_HIDDEN = {
    "control": "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f",
    "direction": "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
    "invisible": (
        "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
        "\ufff9-\ufffb\U0001d173-\U0001d17a"
    ),
    "tag": "\U000e0000-\U000e00ff",
    "selector": "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e0fff",
}


# Compiled when something may hide for the first time: a server that only starts does not pay for it.
@functools.cache
def _terminal() -> re.Pattern[str]:
    return re.compile(_TERMINAL)


@functools.cache
def _hidden() -> re.Pattern[str]:
    kinds = "|".join(f"(?P<{kind}>[{signs}])" for kind, signs in _HIDDEN.items())
    return re.compile("|".join(_PERMITTED) + "|" + kinds)


@functools.cache
def _hiding() -> re.Pattern[str]:
    return re.compile(f"[{''.join(_HIDDEN.values())}]")


def may_hide(text: str) -> bool:
    """Whether ``text`` may hold what :func:`cleaned` would take out."""
    return _hiding().search(text) is not None


def cleaned(text: str, found: dict[str, int]) -> str:
    """``text`` without what hides; ``found`` counts what was taken out, by kind. What is clean comes back itself."""
    if "\x1b" in text or not text.isascii():
        text, count = _terminal().subn("", text)
        _count(found, "terminal", count)

    def without(match: re.Match[str]) -> str:
        if match.lastgroup is None:
            return match[0]
        _count(found, match.lastgroup, 1)
        return _LINES.get(match[0], "")

    return _hidden().sub(without, text)


def _count(found: dict[str, int], kind: str, count: int) -> None:
    if count:
        found[kind] = found.get(kind, 0) + count


# --- definitions ------------------------------------------------------------------------------------------------------


def check_plain(what: str, definition: object) -> None:
    """``DefinitionError`` where something hides in a definition, which people and models have to read alike."""
    data = encode(definition)
    if data.isascii() and b"\x7f" not in data and ESCAPE.search(data) is None:
        return
    for text in filter(may_hide, _strings(decode(data))):
        found: dict[str, int] = {}
        clean = cleaned(text, found)
        if clean != text:
            raise DefinitionError.of("TW2302", what=what, kinds=", ".join(sorted(found)), shown=ascii(text)[:120])


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

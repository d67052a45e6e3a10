"""The rules of style sheets, read in one pass: selectors and declarations, with their conditions.

Written for :mod:`tooltrue_toolbox.web.hidden_elements`, which only needs to know what a page hides. No resource is
fetched, ``@import`` is followed for ``data:`` addresses alone, and the page is evaluated for a screen of 1280 by 800
pixels, in light colours, with a mouse. A condition that cannot be decided this way (``@supports``, ``@container``,
other media features) marks its rules as unsure: they may hide, but never show an element that another rule hides."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import unquote_to_bytes

__all__ = ["Declaration", "StyleRule", "data_sheet", "declarations", "media_holds", "rules"]

NESTED = 16
"""The deepest nesting of blocks. Deeper ones are skipped."""

Holds = Literal["yes", "no", "unsure"]

_TOKEN = re.compile(
    r"""/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|url\(\s*+[^"')\s][^)]*+\)?"""
    r"""|\\.|[{}();\[\]]|[^/"'\\{}();\[\]u]++|.""",
    re.DOTALL | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_IMPORTANT = re.compile(r"!\s*important\s*$", re.IGNORECASE)
_AT = re.compile(r"@([\w-]+)")
_WRAPPED = re.compile(r"<!--|-->")
_DATA = re.compile(r"data:text/css(?:;[^,;]*)*?(;base64)?,(.*)", re.IGNORECASE | re.DOTALL)
_IMPORT = re.compile(r"""@import\s+(?:url\(\s*)?["']?(data:[^"')]+)["']?\s*\)?\s*(.*)""", re.IGNORECASE | re.DOTALL)


class Declaration(NamedTuple):
    """One declaration: its name in lower case, its value without comments and escapes."""

    name: str
    value: str
    important: bool


@dataclass(frozen=True, slots=True)
class StyleRule:
    selectors: tuple[str, ...]
    declarations: tuple[Declaration, ...]
    sure: bool


@dataclass(slots=True)
class _RuleBlock:
    """A block that is still open: its selectors, empty outside of rules."""

    selectors: tuple[str, ...]
    holds: Holds
    texts: list[str]


def rules(css: str, holds: Holds = "yes", depth: int = 0) -> Iterator[StyleRule]:
    """The rules of a sheet in their order; those whose condition does not hold are left out."""
    blocks = [_RuleBlock((), holds, [])]
    words: list[str] = []
    brackets = 0
    for token in _tokens(css):
        if token in ("(", "["):
            brackets += 1
        elif token in (")", "]"):
            brackets = max(brackets - 1, 0)
        if token == "{" and not brackets:
            blocks.append(_nested_block(blocks[-1], _WRAPPED.sub("", "".join(words)).strip(), len(blocks)))
        elif token == "}":
            brackets = 0
            blocks[-1].texts.append("".join(words))
            yield from _rules_of(blocks.pop())
            blocks = blocks or [_RuleBlock((), holds, [])]
        elif token == ";" and not brackets:
            statement = "".join(words).strip()
            blocks[-1].texts.append(statement)
            yield from _imported_rules(statement, depth)
        else:
            words.append(token)
            continue
        words = []
    blocks[-1].texts.append("".join(words))
    while blocks:  # a sheet may end within its blocks
        yield from _rules_of(blocks.pop())


def _tokens(css: str) -> Iterator[str]:
    for token in _TOKEN.finditer(css):
        if not token[0].startswith("/*"):
            yield token[0]


def _nested_block(around: _RuleBlock, prelude: str, depth: int) -> _RuleBlock:
    if depth > NESTED:
        return _RuleBlock((), "no", [])
    if not prelude.startswith("@"):
        return _RuleBlock(_nested_selectors(around.selectors, _split(prelude)), around.holds, [])
    named = _AT.match(prelude)
    name = named[1].lower() if named else ""
    holds: Holds = "no"
    if named and name == "media":
        holds = media_holds(prelude[named.end() :])
    elif name in ("supports", "container", "scope", "document", "-moz-document"):
        holds = "unsure"
    elif name == "layer":
        holds = "yes"
    return _RuleBlock(around.selectors, _both(around.holds, holds), [])


def _both(one: Holds, other: Holds) -> Holds:
    if "no" in (one, other):
        return "no"
    return "unsure" if "unsure" in (one, other) else "yes"


def _rules_of(block: _RuleBlock) -> Iterator[StyleRule]:
    if block.selectors and block.holds != "no":
        declared = tuple(each for text in block.texts for each in declarations(text))
        if declared:
            yield StyleRule(block.selectors, declared, block.holds == "yes")


def _imported_rules(statement: str, depth: int) -> Iterator[StyleRule]:
    match = _IMPORT.match(statement)
    sheet = data_sheet(match[1]) if match and depth < 4 else None
    if match and sheet:
        yield from rules(sheet, media_holds(match[2]), depth + 1)


def data_sheet(address: str) -> str | None:
    """The style sheet in a ``data:`` address, if it is one."""
    match = _DATA.fullmatch(address.strip())
    if match is None:
        return None
    data = unquote_to_bytes(match[2])
    try:
        return (base64.b64decode(data) if match[1] else data).decode(errors="replace")
    except (binascii.Error, ValueError):
        return None


def _split(prelude: str) -> tuple[str, ...]:
    """The selectors, split at commas outside of brackets and quotes."""
    parts, depth, words = list[str](), 0, list[str]()
    for token in _tokens(prelude):
        depth += (token in ("(", "[")) - (token in (")", "]"))
        if depth <= 0 and "," in token and token[0] not in "\"'\\":
            first, *others = token.split(",")
            words.append(first)
            for other in others:
                parts.append("".join(words))
                words = [other]
        else:
            words.append(token)
    return tuple(part.strip() for part in (*parts, "".join(words)) if part.strip())


def _nested_selectors(around: tuple[str, ...], inner: tuple[str, ...]) -> tuple[str, ...]:
    if not around:
        return inner
    outer = around[0] if len(around) == 1 else f":is({','.join(around)})"
    if len(outer) > 4000:
        return ()
    return tuple(each.replace("&", outer) if "&" in each else f"{outer} {each}" for each in inner)


def declarations(text: str) -> Iterator[Declaration]:
    """The declarations of a block, or of a ``style`` attribute."""
    words: list[str] = []
    brackets = 0
    for token in (*_tokens(text), ";"):
        brackets += (token == "(") - (token == ")" and brackets > 0)
        if token != ";" or brackets:
            words.append(token)
            continue
        name, colon, value = "".join(words).partition(":")
        words = []
        if colon:
            yield _declaration(name.strip(), value.strip())


def _declaration(name: str, value: str) -> Declaration:
    important = _IMPORTANT.search(value)
    value = value[: important.start()] if important else value
    return Declaration(_plain(name).lower(), _plain(value).strip().lower(), important is not None)


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda match: _character(match[1]) if match[1] else match[2], text) if "\\" in text else text


def _character(number: str) -> str:
    code = int(number, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


# Media


_FEATURES: dict[str, str] = {
    "orientation": "landscape",
    "prefers-color-scheme": "light",
    "prefers-reduced-motion": "no-preference",
    "prefers-contrast": "no-preference",
    "forced-colors": "none",
    "hover": "hover",
    "any-hover": "hover",
    "pointer": "fine",
    "any-pointer": "fine",
    "scripting": "enabled",
    "update": "fast",
    "display-mode": "browser",
}
_SIZES = {"width": 1280.0, "height": 800.0, "device-width": 1280.0, "device-height": 800.0}
_UNITS = {"px": 1.0, "em": 16.0, "rem": 16.0, "pt": 4 / 3, "cm": 37.8, "in": 96.0, "": 1.0}
_LENGTH = re.compile(r"([0-9]*\.?[0-9]+)(px|em|rem|pt|cm|in|)")
_RANGE = re.compile(r"(?:([0-9.]+[a-z]*)\s*([<>]=?|=)\s*)?([a-z-]+)(?:\s*([<>]=?|=)\s*([0-9.]+[a-z]*))?")
_PART = re.compile(r"\(([^()]*)\)|([a-z-]+)")


def media_holds(query: str) -> Holds:
    """Whether a list of media queries holds on the screen of the module's description."""
    query = re.sub(r"\s+", " ", _plain(query).strip().lower().rstrip(";"))
    if not query:
        return "yes"
    verdicts = {_query(part.strip()) for part in query.split(",")}
    return "yes" if "yes" in verdicts else "unsure" if "unsure" in verdicts else "no"


def _query(text: str) -> Holds:
    negated = text.startswith("not ")
    text = text.removeprefix("not ").removeprefix("only ")
    if text.count("(") != text.count(" and (") + text.startswith("("):
        return "unsure"  # or, not and brackets within a query
    holds: Holds = "yes"
    for part in _PART.finditer(text):
        if part[2] != "and":
            holds = _both(holds, _feature(part[1].strip()) if part[1] is not None else _medium(part[2]))
    opposite: dict[Holds, Holds] = {"yes": "no", "no": "yes", "unsure": "unsure"}
    return opposite[holds] if negated else holds


def _medium(name: str) -> Holds:
    return "yes" if name in ("all", "screen") else "no"


def _feature(text: str) -> Holds:
    name, _, value = (part.strip() for part in text.partition(":"))
    if value and name in _FEATURES:
        return "yes" if value == _FEATURES[name] else "no"
    least, size = name.startswith("min-"), name.removeprefix("min-").removeprefix("max-")
    if value and size in _SIZES and name != size:
        return _compare_length(_SIZES[size], ">=" if least else "<=", value)
    match = _RANGE.fullmatch(text)
    if match is None or match[3] not in _SIZES or not (match[2] or match[4]):
        return "unsure"
    turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
    lower = _compare_length(_SIZES[match[3]], turned[match[2]], match[1]) if match[2] else "yes"
    return _both(lower, _compare_length(_SIZES[match[3]], match[4], match[5]) if match[4] else "yes")


def _compare_length(size: float, sign: str, value: str) -> Holds:
    match = _LENGTH.fullmatch(value)
    if match is None:
        return "unsure"
    other = float(match[1]) * _UNITS[match[2]]
    comparisons = {"<": size < other, "<=": size <= other, ">": size > other, ">=": size >= other, "=": size == other}
    return "yes" if comparisons[sign] else "no"

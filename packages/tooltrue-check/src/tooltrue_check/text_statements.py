"""Statements on the values of a parameter in its text: the default, the list of allowed values, whether it is required.

Only plain statements count. A text without a match may still say the same in other words.
"""

from __future__ import annotations

import re
from typing import Final

from tooltrue.jsonrpc.messages import Json

__all__ = ["stated_default", "stated_limit", "stated_values", "states_optional", "states_required"]

_QUOTE: Final = "[\"'`“‘「]"
_UNQUOTE: Final = "[\"'`”’」]"
_DEFAULT: Final = re.compile(
    r"(?:\bdefault(?:s to|ing to| value is| value:| is| =|:|=)?|(?:默认|缺省)值?(?:为|是|：|:)?)[ \t]{0,3}"
    rf"(?:(?P<number>-?\d{{1,15}}(?:\.\d{{1,10}})?)(?![\w\-/:%]|\.\d)(?P<end>[ \t]*(?:[).,;\]|。，；）]|$))?"
    rf"|(?P<word>true|false)\b|{_QUOTE}(?P<text>[^\"'`”’」\n]{{1,60}}){_UNQUOTE})",
    re.IGNORECASE | re.MULTILINE,
)


def stated_default(text: str, kinds: frozenset[str]) -> Json:
    """The default stated for a value of these types; None if there is none of these types."""
    match = _DEFAULT.search(text) if "efault" in text or "默认" in text or "缺省" in text or "DEFAULT" in text else None
    if match is None:
        return None
    if match["number"]:
        return _number(match["number"]) if kinds & _NUMBERS and match["end"] is not None else None
    if match["word"]:
        return match["word"].lower() == "true" if "boolean" in kinds else None
    # A placeholder that is filled in when the tool runs is not a value.
    return match["text"] if "string" in kinds and _FILLED_IN.isdisjoint(match["text"]) else None


_FILLED_IN: Final = frozenset("{<$")
_NUMBERS: Final = frozenset({"number", "integer"})


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


_LIST: Final = re.compile(
    r"\b(?:one of|(?:allowed|valid|possible|accepted|supported|available|permitted) (?:values?|options?|choices)"
    r"(?: are)?|options(?: are)?|choices(?: are)?|values|must be(?: either| one of)?|either"
    r"|can be(?: either| one of)?)\b"
    r"(?: the following)?|可选值|取值(?:范围)?|允许的?值|可以?是|必须(?:是|为)|之一",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(
    rf"[-\s:：=(（\[{{为是]{{0,4}}{_QUOTE}(?P<value>[^\"'`”’」\n,]{{1,40}}){_UNQUOTE}"
    r"(?:\s?(?:\([^()\n]{0,80}\)|（[^（）\n]{0,80}）))?(?P<next>\s{0,3}(?:(?:,|，|、|;|\||/|or\b|and\b|或者?|和|以?及)\s{0,2}){0,3})",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile(
    r"\s?[:：]\s?(?P<values>[a-z0-9][\w+-]{0,30}(?:(?:, or |, | or | ?\| ?|、|，|或)[a-z0-9][\w+-]{0,30}){1,30})"
    r"(?=\s?(?:[.)。）;\n]|$))"
)
_FIRST: Final = re.compile(_QUOTE)
_LISTING: Final = re.compile(rf"{_QUOTE}|[:：]")  # a list has at least one of these
_OR: Final = re.compile(r"\bor\b|\||/|或", re.IGNORECASE)
_OPEN: Final = re.compile(
    r"\b(?:e\.?g|such as|for example|examples?|like|etc|including|any|custom|other)\b|\.\.\.|…"
    r"|例如|比如|诸如|如[:：\s\"'`“‘]|等|示例|任意|其他|自定义",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(r", or |, | or | ?\| ?|、|，|或")


def stated_values(text: str) -> tuple[str, ...]:
    """The values that a text lists as the only ones; empty if it gives examples, or has no list."""
    if not _LISTING.search(text) or _SEVERAL.search(text):
        return ()
    for cue in _LIST.finditer(text):
        values = _quoted(text, cue.end()) or _plain(text, cue.end())
        if len(values) > 1:
            return values
    first = _FIRST.search(text)
    if first is None or _CONTINUES.search(text, 0, first.start()):
        return ()
    values = _quoted(text, first.start(), alternatives=True)
    return values if len(values) > 1 else ()


_SEVERAL: Final = re.compile(r"\bcommas?\b|逗号|\bcombin", re.IGNORECASE)
_CONTINUES: Final = re.compile(r"\b(?:or|using|from|via|by|call|with|use)\W*$|或者?$|通过\W*$|调用\W*$", re.IGNORECASE)


def _quoted(text: str, at: int, alternatives: bool = False) -> tuple[str, ...]:
    start, values, joined = at, list[str](), ""
    while match := _ITEM.match(text, at):
        values.append(match["value"])
        at = match.end()
        if not match["next"].strip():
            break
        joined += match["next"]
    if _is_open(text, start, at) or (alternatives and not _OR.search(joined)):
        return ()
    return tuple(values)


def _plain(text: str, at: int) -> tuple[str, ...]:
    match = _PLAIN.match(text, at)
    if match is None or _is_open(text, at, match.end()):
        return ()
    return tuple(_PARTS.split(match["values"]))


def _is_open(text: str, start: int, end: int) -> bool:
    """Whether a word near a list says that there are more values."""
    return _OPEN.search(text[max(0, start - 25) : end + 25]) is not None


_THIS: Final = r"\bthis (?:field |parameter |argument )?is"
_NEEDED: Final = re.compile(
    rf"\(required\)|\[required\]|^required[.:,\s]|{_THIS} required\b|\bis (?:required|mandatory)\s?(?:[.)!]|$)"
    r"|\bmandatory\b(?! for)|\bmust be (?:provided|specified|given|set)\s?(?:[.)!]|$)"
    r"|必填|必需参数|必须(?:提供|填写|指定)|必传",
    re.IGNORECASE | re.MULTILINE,
)
_DEPENDS: Final = re.compile(
    r"\b(?:if|when|unless|either|or|not|only|one of|at least|alternatively|depending|together)\b|n't\b"
    r"|如果|若|当|除非|或|至少|仅|时|非必|不是|其一|不必",
    re.IGNORECASE,
)
_FREE: Final = re.compile(
    rf"^\W{{0,3}}optional\b|\(optional\)|\[optional\]|[,;] optional\b|{_THIS} optional\b"
    r"|[(（]可选[)）]|^可选(?:的|参数|项)?[，：:。,\s]|选填",
    re.IGNORECASE,
)
_STOP: Final = re.compile(r"[.。;；\n](?=\s|$|[^\x00-\x7f])")


def states_required(text: str) -> bool:
    """Whether a text says, without a condition, that a value is required."""
    match = _NEEDED.search(text) if _has(text, "required", "mandatory", "must be", "必") else None
    if match is None:
        return False
    before = [one.end() for one in _STOP.finditer(text, 0, match.start())]
    after = _STOP.search(text, match.end())
    return _DEPENDS.search(text, before[-1] if before else 0, after.start() if after else len(text)) is None


def states_optional(text: str) -> bool:
    return _has(text, "optional", "选") and _FREE.search(text) is not None and not states_required(text)


def _has(text: str, *signs: str) -> bool:
    lowered = text.lower()
    return any(sign in lowered for sign in signs)


_LIMIT: Final = re.compile(
    r"\b(?:max(?:imum)?(?: of| is| value| length| allowed)?|up to|at most|no more than|(?:can|must )not exceed"
    r"|limited to)[ :=]{0,3}\d{1,9}(?:,\d{3})*(?![\w.:%/-])"
    r"|\bbetween -?\d{1,9} and -?\d{1,9}\b"
    r"|[(（ ]\d{1,6} ?(?:-|–|to|~|到|至) ?\d{1,9}[)）,，]"
    r"|(?:最大(?:值)?(?:为|是)?|最多|不超过|上限为?) ?\d{1,9}",
    re.IGNORECASE,
)


def stated_limit(text: str) -> str:
    """The limit that a text states, in its words; empty if it states no limit."""
    match = _LIMIT.search(text)
    return match[0].strip(" ()（）,，") if match else ""

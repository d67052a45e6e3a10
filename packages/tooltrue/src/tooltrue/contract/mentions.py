"""Whether a text gives an order or only mentions one: a tool that detects attacks has to name them.

A quotation is a mention if its sentence speaks of finding, blocking or examples, in any of the languages of the
lexicon. ``Reply with '…'`` is no such sentence. Outside of quotation marks, *prompts that …* after such a verb is
enough.
"""

from __future__ import annotations

import re
from typing import Final

from tooltrue.contract.normalization import folded

__all__ = ["is_mention", "without_quotations"]

# Stems of words that find, block or give examples: en, then es, fr, de, pt, it, ru.
_STEMS: Final = (
    "detect flag block filter identif recogniz recognis catch reject refus prevent classif analyz analys sanitiz "
    "sanitis strip scan match guard protect moderat search find contain look report warn review example sample phrase "
    "pattern string keyword quot illustrat test called named includ label labell mean mark tries attempt "
    "detecta bloque filtra analiza identifica rechaza encuentra busca detecte filtre repere signale rejette cherche "
    "erkenn blockier filter pruft findet sucht meldet detect bloqueia analisa encontra rileva blocca riconosc segnala "
    "cerca обнаруж блокир выявл фильтр распозна находит ищет"
)
_PHRASES: Final = (
    "such as|like|e.g|i.e|for instance|known as|por ejemplo|como|tel que|telle que|tels que|telles que|comme|"
    "par exemple|wie|etwa|zum beispiel|z.b|por exemplo|come|ad esempio|типа|вроде|например|как"
)
_CJK: Final = (
    "检测|识别|拦截|过滤|扫描|防止|判断|标记|阻止|审查|例如|比如|诸如|之类|等攻击|分析|匹配|查找|包含|検出|検知|ブロック|のような|"
    "などの|といった|例えば|たとえば|識別|탐지|감지|차단|와 같은|과 같은|같은|라는|예를 들어|식별|필터"
)
_ABOUT: Final = re.compile(
    rf"\b(?:{'|'.join(map(folded, _STEMS.split()))})\w{{0,12}}|"
    rf"\b(?:{'|'.join(re.escape(folded(one)) for one in _PHRASES.split('|'))})\b|{folded(_CJK)}",
    re.IGNORECASE,
)
_OBEYED: Final = re.compile(
    r"(?:\b(?:follow|obey|say|says|respond|reply|answer|output|print|execute|run|write|append|add|do|with|insert|include|"
    r"message|text|prompt|instruction|order|send|type)|responde|réponds|antworte|responda|ответь|回答|回复|输出|执行|写)"
    r"\s?(?:with |by |exactly |only |this |the |following |text |: ?|:|：){0,4}$",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{2,240}\"|“[^”\n]{2,240}”|„[^“”\n]{2,240}[“”]|«[^»\n]{2,240}»|「[^」\n]{2,240}」|『[^』\n]{2,240}』|"
    r"'(?<!\w')[^'\n](?:[^'\n]|(?<=\w)'(?=\w)){1,240}'(?![A-Za-z0-9_])|`(?<![`\w]`)[^`\n]{2,240}`(?![`\w])"
)
_END: Final = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_BEFORE: Final = 120
_AFTER: Final = 60


def without_quotations(text: str) -> str:
    """Blank out quotations that are only mentioned. The text keeps its length."""
    if not any(mark in text for mark in "\"“„«「『'`"):
        return text
    return _QUOTED.sub(lambda match: _blank(match) if _is_mention(match) else match[0], text)


def _blank(match: re.Match[str]) -> str:
    return match[0][0] + " " * (len(match[0]) - 2) + match[0][-1]


def _is_mention(match: re.Match[str]) -> bool:
    text = match.string
    before = _tail(text[max(0, match.start() - _BEFORE) : match.start()])
    if _OBEYED.search(before):
        return False
    after = text[match.end() : match.end() + _AFTER]
    end = _END.search(after)
    return _ABOUT.search(before) is not None or _ABOUT.search(after[: end.start()] if end else after) is not None


def _tail(before: str) -> str:
    """The part that belongs to the last sentence."""
    last = 0
    for end in _END.finditer(before):
        if end.end() < len(before) - 1 and not before[: end.start()].endswith(("e.g", "i.e", "z.B", "etc")):
            last = end.end()
    return before[last:]


_FINDERS: Final = (
    "detect|flag|block|filter|identif|recogni[sz]|catch|reject|refus|prevent|classif|analy[sz]|sanitiz|scan|guard|protect|"
    "moderat|report|warn|review|whether|tries|attempts?"
)
_TURNS: Final = (
    "that|which|who|trying|tr(?:y|ies)|attempts?|attempting|asks?|asking|telling|tells?|instruct(?:s|ing)?|whether|if|"
    "against|like|such as|to|when"
)
_SPEAKS: Final = re.compile(
    rf"\b(?:{_FINDERS})\w{{0,12}}\b[^.!?\n]{{0,90}}\b(?:{_TURNS})\b[^.!?\n,]{{0,40}}$|"
    r"\b(?:sample|example|illustrative|training|test|demo|dummy|expected|mock|canned|stub|fake|typical)\b "
    r"(?:response|text|output|prompt|input|string|message|payload|attack|result|answer)s?\s?(?:is|of|for)?\s?:[^\n.]{0,20}$|"
    r"\b(?:readme|documentation|docs|manual|guide|tutorial|page|snippet)\b[^.\n]{0,30}\b(?:shows?|says?|contains?)\b\s?:?"
    r"[^\n.]{0,20}$|"
    r"(?:检测|识别|拦截|过滤|扫描|防止|判断|标记|阻止|审查|检查)[^。！？\n，,；]{0,40}$|"
    r"\b(?:detecta|bloquea|bloqueia|detecte|bloque|erkennt|blockiert|filtert|rileva|blocca)\b[^.!?\n]{0,60}"
    r"\b(?:que|qui|die|das|der|che|wie|como|comme|come)\b[^.!?\n,]{0,40}$",
    re.IGNORECASE,
)


def is_mention(text: str, start: int, end: int) -> bool:
    """Whether the words before a match make it the object of a detector, or an example."""
    before = _tail(text[max(0, start - _BEFORE) : start] + "…")[:-1]
    return _SPEAKS.search(before) is not None

"""The phrases around the findings, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Final

from tooltrue_check.card import Level

__all__ = ["CONFIDENCE", "LEVELS", "level_counts", "phrase", "unfilled"]

_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    "why": ("why: ", "原因："),
    "instead": ("instead: ", "改为："),
    "evidence": ("evidence: ", "依据："),
    "not_when": ("not when: ", "不适用："),
    "fix": ("sure: put {value} at {path}", "可确定：在 {path} 写入 {value}"),
    "judged": ("servers: {servers}, tools: {tools}", "服务器：{servers}，工具：{tools}"),
    "clean": ("; without a finding: {count}", "；没有问题：{count}"),
    "known": ("in the baseline: {count}", "已在基线中：{count}"),
    "excused": ("excused, with a reason: {count}", "有理由豁免：{count}"),
    "gone": ("in the baseline and found no more: {count}; write it anew", "基线中已不再出现：{count}；请重新写入基线"),
    "most": ("most in: ", "问题最多："),
    "unjudged": ("not judged: ", "未能检查："),
    "report": ("What models and clients make of these tools", "模型与客户端如何看待这些工具"),
    "rule": ("rule", "规则"),
    "level": ("level", "级别"),
    "found": ("found", "次数"),
    "portability": ("Who accepts what of these tools", "各客户端与提供方接受哪些工具"),
    "accepted": ("accepted", "接受"),
    "changed": ("changed", "改动"),
    "cut": ("cut", "截断"),
    "rejected": ("rejected", "拒绝"),
    "unseen": ("unseen", "不可见"),
    "tools": ("tools", "工具"),
    "tool": ("tool", "工具"),
    "tokens": ("~tokens", "~词元"),
    "name": ("name", "名称"),
    "client": ("client, provider", "客户端、提供方"),
    "believed": (
        "* rests on facts that could not be read at their source: at most a warning",
        "* 依据的事实未能在出处核实：最多为警告",
    ),
    "called": ("called {called}, {length} of {limit} characters: ", "名称为 {called}，{length}/{limit} 个字符："),
    "lost": ("not seen, {length} characters: ", "看不到的部分，{length} 个字符："),
    "more": ("and {count} more", "另有 {count} 处"),
    "good": ("good:", "正例："),
    "bad": ("bad:", "反例："),
}

LEVELS: Final[Mapping[Level, tuple[str, str]]] = {
    Level.ERROR: ("error", "错误"),
    Level.WARNING: ("warning", "警告"),
    Level.HINT: ("hint", "提示"),
}

CONFIDENCE: Final[Mapping[str, tuple[str, str]]] = {
    "measured": ("measured by us", "自行测量"),
    "read": ("paper, read in full", "论文，已通读"),
    "abstract": ("paper, abstract only", "论文，仅读摘要"),
    "vendor": ("says a vendor", "厂商说法"),
    "secondhand": ("second hand", "二手资料"),
    "protocol": ("the specification", "协议规定"),
}


def phrase(name: str, language: str, **facts: object) -> str:
    return _of(_PHRASES[name], language).format(**facts)


def level_counts(levels: Mapping[Level, int], language: str) -> str:
    """The number of findings by level: ``errors: 2, warnings: 1, hints: 0``."""
    if language == "zh":
        return "，".join(f"{_of(LEVELS[level], language)}：{count}" for level, count in levels.items())
    return ", ".join(f"{level.value}s: {count}" for level, count in levels.items())


def unfilled(template: str) -> str:
    """The template of a sentence on a card, with the names of its facts in place of values."""
    parts = (literal + (f"{{{name}}}" if name else "") for literal, name, _, _ in Formatter().parse(template))
    return "".join(parts)


def _of(pair: tuple[str, str], language: str) -> str:
    return pair[language == "zh"]

"""The words around the figures, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["phrase"]

_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("Which tool {model} chooses", "{model} 选择哪个工具"),
    "target": ("{target}: {questions} questions, {answers} answers", "{target}：{questions} 个问题，{answers} 个回答"),
    "tool": ("right tool", "工具正确"),
    "arguments": ("right arguments", "参数正确"),
    "right": ("all right", "全部正确"),
    "share": (
        "{right} of {of}: {value:.1%} (95 %: {low:.1%} to {high:.1%})",
        "{of} 个中 {right} 个：{value:.1%}（95%：{low:.1%} 至 {high:.1%}）",
    ),
    "row": ("{name}: {share}", "{name}：{share}"),
    "no_share": ("not asked for", "未要求"),
    "confusion": ("Chosen instead", "错选情况"),
    "matrix": ("Expected (rows) and chosen (columns)", "期望（行）与选择（列）"),
    "expected": ("expected", "期望"),
    "none": ("(none)", "（无）"),
    "instead": ("{expected} → {chosen}: {count}", "{expected} → {chosen}：{count}"),
    "fields": ("Arguments that were not right", "不正确的参数"),
    "field": (
        "{tool}.{name}: right {right}, different {different}, missing {missing}, extra {extra}",
        "{tool}.{name}：正确 {right}，不同 {different}，缺少 {missing}，多余 {extra}",
    ),
    "wrong": ("Answers that were not right", "不正确的回答"),
    "block": ("{title}:", "{title}："),
    "often": ("{calls} ({count} times)", "{calls}（{count} 次）"),
    "more": ("… and {count} more: --format json has all of them", "……另有 {count} 项：--format json 列出全部"),
    "asked": ("{place}: {question}", "{place}：{question}"),
    "wanted": ("expected: {calls}", "期望：{calls}"),
    "made": ("called: {calls}", "调用：{calls}"),
    "said": ("said: {text}", "回答：{text}"),
    "tokens": ("tokens: {input} in, {output} out", "词元：输入 {input}，输出 {output}"),
    "no_tokens": ("tokens: not reported", "词元：未报告"),
    "unanswered": (
        "Without an answer, and counted as nothing: {count}. The same command asks them again. First: {why}",
        "没有得到回答且不计入：{count}。再次运行同一命令即可重问。首个原因：{why}",
    ),
    "compared": (
        "{new} against {old}: better at {better} questions, worse at {worse}, the same at {same}; p = {p:.2g}",
        "{new} 对比 {old}：{better} 个问题更好，{worse} 个更差，{same} 个相同；p = {p:.2g}",
    ),
    "sure": (
        "{winner} is better: were both as good, chance alone would divide the questions at least so unevenly with "
        "a probability of {p:.2g}.",
        "{winner} 更好：若两者一样好，仅凭偶然出现至少如此不均的结果，概率为 {p:.2g}。",
    ),
    "unsure": (
        "No difference is shown: were both as good, chance alone would divide the questions at least so unevenly with "
        "a probability of {p:.2g}.",
        "未显示差异：若两者一样好，仅凭偶然出现至少如此不均的结果，概率为 {p:.2g}。",
    ),
    "few": (
        "Fewer than 6 questions tell the two apart, which can show no difference, however it turns out: ask more.",
        "能区分两者的问题少于 6 个，无论结果如何都不足以显示差异：请增加问题。",
    ),
}


def phrase(name: str, language: str, /, **facts: object) -> str:
    return _PHRASES[name][language == "zh"].format(**facts)

"""The phrases around the symptoms, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["phrase"]

_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("How these tools are used", "这些工具的使用情况"),
    "span": ("{calls} calls of {tools} tools, {first} to {last}", "{tools} 个工具的 {calls} 次调用，{first} 至 {last}"),
    "empty": ("The log has no calls in that time.", "日志中在此期间没有调用。"),
    "well": ("No symptoms.", "没有发现症状。"),
    "more": ("… and {count} more: --format json has all of them", "……另有 {count} 项：--format json 列出全部"),
    "check": ("check: ", "检查："),
    "unknown": ("not known: ", "无法得知："),
    "tool": ("tool", "工具"),
    "calls": ("calls", "调用"),
    "failed": ("failed", "失败"),
    "refused": ("refused", "被拒绝"),
    "median": ("median", "中位数"),
    "late": ("95 %", "95%"),
    "size": ("size, 95 %", "大小，95%"),
    "ok": ("ok", "成功"),
    "outcomes": ("Calls by outcome", "各结果的调用次数"),
    "times": ("Time to answer, 95th percentile", "应答时间，第 95 百分位"),
    "symptoms": ("Symptoms", "症状"),
    "every": ("Every tool", "全部工具"),
}


def phrase(name: str, language: str, **facts: object) -> str:
    return _PHRASES[name][language == "zh"].format(**facts)

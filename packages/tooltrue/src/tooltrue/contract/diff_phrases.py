"""The phrases around a diff, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tooltrue.contract.diff import Bump, Class, Diff

__all__ = ["class_counts", "class_name", "grows", "phrase"]

_PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    "kept": ("{file}: {count} tools, sha256 {pin}…", "{file}：{count} 个工具，sha256 {pin}…"),
    "same": ("Nothing has changed.", "没有变化。"),
    "bump": ("; the version has to grow by: {bump}", "；版本号须提升：{bump}"),
}

_CLASSES: Final[Mapping[Class, str]] = {
    Class.COSMETIC: "外观",
    Class.TEXT: "文字",
    Class.WIDENED: "放宽",
    Class.ADDED: "新增",
    Class.NARROWED: "收窄",
    Class.REMOVED: "移除",
    Class.LOOSENED: "降低防护",
    Class.POISONED: "投毒",
}

_BUMPS: Final[Mapping[Bump, str]] = {
    Bump.NONE: "不变",
    Bump.PATCH: "修订号",
    Bump.MINOR: "次版本号",
    Bump.MAJOR: "主版本号",
}


def phrase(name: str, language: str, **facts: object) -> str:
    return _PHRASES[name][language == "zh"].format(**facts)


def class_name(kind: Class, language: str) -> str:
    """The name of a class. Chinese text also names it as options and JSON do."""
    return f"{_CLASSES[kind]}（{kind.value}）" if language == "zh" else kind.value


def class_counts(difference: Diff, language: str) -> str:
    """The number of changes by class; empty if there are no changes."""
    counts = [(Class(kind), count) for kind, count in difference.counts().items()]
    if language == "zh":
        return "，".join(f"{class_name(kind, language)}：{count}" for kind, count in counts)
    return ", ".join(f"{count} {kind.value}" for kind, count in counts)


def grows(bump: Bump, language: str) -> str:
    return f"{_BUMPS[bump]}（{bump.value}）" if language == "zh" else bump.value

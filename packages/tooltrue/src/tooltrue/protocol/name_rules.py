"""Rules for tool names and ``_meta`` keys (2026-07-28, server/tools "Tool Names", basic "_meta")."""

from __future__ import annotations

from collections.abc import Iterable

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.errors import DefinitionError
from tooltrue.protocol.wording import (
    META_KEY_INVALID,
    REASON_META_KEY_NOT_A_NAME,
    REASON_META_KEY_RESERVED,
    REASON_META_PREFIX_RESERVED,
)
from tooltrue.wording import Worded

__all__ = ["DEPRECATED", "REPLACES", "TAGS", "check_meta", "is_name"]

REPLACES = "tooltrue/replaces"
"""The ``_meta`` key of a tool's former names, which remain callable."""
DEPRECATED = "tooltrue/deprecated"
"""The ``_meta`` key of a deprecated tool, and of its results: the replacement to use."""
TAGS = "tooltrue/tags"
"""The ``_meta`` key of a tool's tags, sorted."""

_NAME = LazyPattern(r"[A-Za-z0-9_.-]{1,128}")

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_KEY = LazyPattern(
    rf"(?:(?P<prefix>{_LABEL}(?:\.{_LABEL})*)/)?(?P<name>(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?)"
)
_RESERVED_LABELS = ("modelcontextprotocol", "mcp")
_RESERVED_NAMES = frozenset({"progressToken", "traceparent", "tracestate", "baggage"})


def is_name(name: str) -> bool:
    return _NAME.compiled.fullmatch(name) is not None


def check_meta(keys: Iterable[object]) -> None:
    """Raise ``DefinitionError`` unless an author may set these ``_meta`` keys: well-formed and not reserved."""
    for key in keys:
        if problem := _key_problem(key):
            raise DefinitionError.of(META_KEY_INVALID, key=key, problem=problem)


def _key_problem(key: object) -> Worded | None:
    match = _KEY.compiled.fullmatch(key) if isinstance(key, str) else None
    if match is None or not key:
        return Worded(REASON_META_KEY_NOT_A_NAME, {})
    labels = (match["prefix"] or "").split(".")
    # The second label decides: com.example.mcp/ belongs to its owner, dev.mcp.tools/ is reserved.
    if labels[1:2] and labels[1].lower() in _RESERVED_LABELS:
        return Worded(REASON_META_PREFIX_RESERVED, {})
    return Worded(REASON_META_KEY_RESERVED, {}) if key in _RESERVED_NAMES else None

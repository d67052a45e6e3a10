"""The trace context of a caller's request, for the request to a server (W3C Trace Context)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

__all__ = ["trace_context"]

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_TRACESTATE: Final = re.compile(r"[ -~]{1,512}")


def trace_context(meta: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the ``traceparent`` and ``tracestate`` of a request's ``_meta`` if they are well-formed. Baggage is not
    passed on: it may hold facts about the caller that are none of a server's business."""
    parent, state = (None, None) if not meta else (meta.get("traceparent"), meta.get("tracestate"))
    if not _matches(_TRACEPARENT, parent):
        return {}
    context: dict[str, str] = {"traceparent": parent}
    return {**context, "tracestate": state} if _matches(_TRACESTATE, state) else context


def _matches(pattern: re.Pattern[str], text: object) -> TypeGuard[str]:
    return isinstance(text, str) and pattern.fullmatch(text) is not None

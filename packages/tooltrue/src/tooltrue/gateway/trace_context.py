"""The trace context of a caller's request, for the request to a server (W3C Trace Context)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["trace_context"]

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_TRACESTATE: Final = re.compile(r"[ -~]{1,512}")


def trace_context(meta: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the ``traceparent`` and ``tracestate`` of a request's ``_meta`` if they are well-formed. Baggage is not
    passed on: it may hold facts about the caller that are none of a server's business."""
    if not meta or "traceparent" not in meta or not (parent := _text(_TRACEPARENT, meta.get("traceparent"))):
        return {}
    state = _text(_TRACESTATE, meta.get("tracestate"))
    return {"traceparent": parent, **({"tracestate": state} if state else {})}


def _text(pattern: re.Pattern[str], value: object) -> str:
    """The value if it is a well-formed text, else an empty one."""
    return value if isinstance(value, str) and pattern.fullmatch(value) is not None else ""

"""Where traces begin, for who has set up OpenTelemetry; for all others it costs a look at ``None``.

Nothing of OpenTelemetry is imported here: who has not imported it himself cannot have set it up.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol

from toolwright.loading import load

__all__ = ["OPERATION", "UNTRACED", "Operation", "Requested", "Tracing", "tracing"]


class Operation(Protocol):
    """An operation that is traced."""

    @property
    def trace_id(self) -> str: ...

    def ended(self, name: str, outcome: str, code: str) -> None:
        """What came of it, told by who knows: ``name`` is that of a tool or prompt that there is."""
        ...


class Requested(Protocol):
    """A request to a server that is traced. ``carried`` is what its ``_meta`` has to have."""

    @property
    def carried(self) -> Mapping[str, str]: ...

    def answered(self, *, is_error: bool) -> None:
        """``is_error``: the result says so."""
        ...


class Tracing(Protocol):
    """``toolwright.telemetry``, as servers and clients use it."""

    def serve(
        self, method: str, id: object, params: Mapping[str, Any], facts: Mapping[str, str]
    ) -> AbstractContextManager[object]:
        """Around the answer to a request. ``facts`` are attributes that only the door knows."""
        ...

    def request(
        self, method: str, params: Mapping[str, Any], facts: Mapping[str, str]
    ) -> AbstractContextManager[Requested]:
        """Around a request to a server."""
        ...


OPERATION: ContextVar[Operation | None] = ContextVar("operation", default=None)
"""The one that runs, where it is traced."""

UNTRACED: AbstractContextManager[None] = nullcontext()


def tracing() -> Tracing | None:
    """Looked for when a connection, or an application, opens."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    return load("telemetry:tracing")()

"""The entry point to OpenTelemetry tracing; without OpenTelemetry, it costs a check for ``None``.

This module does not import OpenTelemetry: a program that has not imported it cannot have set it up.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol

__all__ = ["OPERATION", "UNTRACED", "Operation", "Requested", "Tracing"]


class Operation(Protocol):
    """A traced operation."""

    @property
    def trace_id(self) -> str: ...

    def record_outcome(self, name: str, outcome: str, code: str) -> None:
        """Record the outcome: ``name`` is that of an existing tool or prompt."""
        ...


class Requested(Protocol):
    """A traced request to a server. ``carried`` are the members that its ``_meta`` must have."""

    @property
    def carried(self) -> Mapping[str, str]: ...

    def record_answer(self, *, is_error: bool) -> None:
        """``is_error``: whether the result reports an error."""
        ...


class Tracing(Protocol):
    """The interface of ``tooltrue.observe.telemetry`` for servers and clients."""

    def serve(
        self, method: str, id: object, params: Mapping[str, Any], facts: Mapping[str, str]
    ) -> AbstractContextManager[object]:
        """Context around the processing of a request. ``facts`` are attributes that only the handler knows."""
        ...

    def request(
        self, method: str, params: Mapping[str, Any], facts: Mapping[str, str]
    ) -> AbstractContextManager[Requested]:
        """Context around a request to a server."""
        ...


OPERATION: ContextVar[Operation | None] = ContextVar("operation", default=None)
"""The current operation, if it is traced."""

UNTRACED: AbstractContextManager[None] = nullcontext()

"""Failures of an endpoint as errors of ours. The HTTP status decides the class."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import cast

from tooltrue.errors import ModelError, ModelRateLimited, ModelUnavailable
from tooltrue.host.wording import (
    MODEL_ENDPOINT_NOT_RUNNING,
    MODEL_ENDPOINT_OVERLOADED,
    MODEL_ENDPOINT_REFUSED_REQUEST,
    MODEL_ENDPOINT_REJECTED_KEY,
    MODEL_ENDPOINT_RESPONSE_INVALID,
    MODEL_ENDPOINT_TIMEOUT,
    MODEL_ENDPOINT_UNREACHABLE,
    REASON_ANSWER_TOO_LONG,
)
from tooltrue.wording import Worded

__all__ = ["measured", "no_answer", "refused", "silent", "unreachable"]

_KEY = (401, 403)
_BUSY = (429, 503, 529)
_MAX_WORDS = 500
_MAX_ANSWER = 64 * 1024 * 1024


def refused(model: str, status: int | None, problem: str, headers: Mapping[str, str] | None = None) -> ModelError:
    """The error for an answer that is a refusal; ``status`` is ``None`` where it came in a stream."""
    facts = {"model": model, "status": f" (HTTP {status})" if status else "", "problem": problem[:_MAX_WORDS]}
    if status in _BUSY:
        busy = ModelRateLimited.of(MODEL_ENDPOINT_OVERLOADED, **facts)
        busy.seconds = _seconds((headers or {}).get("retry-after"))
        busy.status = status
        return busy
    error = ModelError.of(MODEL_ENDPOINT_REJECTED_KEY if status in _KEY else MODEL_ENDPOINT_REFUSED_REQUEST, **facts)
    error.status = status
    return error


def unreachable(model: str, error: BaseException) -> ModelError:
    """The error for a connection that failed, or was lost; ``error`` is the SDK's, with its causes."""
    if (why := _absence(error)) is not None:
        return ModelUnavailable.of(MODEL_ENDPOINT_NOT_RUNNING, model=model, problem=why.strerror or str(why))
    return ModelError.of(MODEL_ENDPOINT_UNREACHABLE, model=model, problem=str(error.__cause__ or error)[:_MAX_WORDS])


def _absence(error: BaseException | None) -> OSError | None:
    """The cause that shows that no server is listening. If several addresses were tried, all of them have to show
    it."""
    while error is not None:
        if isinstance(error, BaseExceptionGroup):
            causes = [_absence(one) for one in cast("BaseExceptionGroup[BaseException]", error).exceptions]
            return causes[0] if all(causes) else None
        if isinstance(error, ConnectionRefusedError | socket.gaierror):
            return error
        error = error.__cause__ or error.__context__
    return None


def silent(model: str, seconds: float) -> ModelError:
    return ModelError.of(MODEL_ENDPOINT_TIMEOUT, model=model, seconds=seconds)


def no_answer(model: str, problem: str) -> ModelError:
    return ModelError.of(MODEL_ENDPOINT_RESPONSE_INVALID, model=model, problem=problem[:_MAX_WORDS])


def measured(model: str, size: int, piece: object) -> int:
    """The size of the answer including this piece. ``ModelError`` for one that exceeds the limit."""
    size += len(repr(piece))
    if size > _MAX_ANSWER:
        problem = Worded(REASON_ANSWER_TOO_LONG, {"limit": _MAX_ANSWER})
        raise ModelError.of(MODEL_ENDPOINT_RESPONSE_INVALID, model=model, problem=problem)
    return size


def _seconds(header: str | None) -> float | None:
    """The seconds of a ``Retry-After`` header; a date is left to the SDK."""
    try:
        return max(0.0, float(header or ""))
    except ValueError:
        return None

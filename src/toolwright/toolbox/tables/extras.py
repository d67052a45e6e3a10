"""What needs packages of an extra, loaded when it is needed first; without them a sentence says what to install."""

from __future__ import annotations

from typing import Any

from toolwright.errors import ToolError
from toolwright.loading import load

__all__ = ["extra", "missing"]


def extra(place: str, what: str, name: str) -> Any:
    """As :func:`toolwright.loading.load`, for a module that needs the extra ``name`` to do ``what``."""
    try:
        return load(place)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("toolwright"):
            raise
        raise missing(what, name) from error


def missing(what: str, name: str) -> ToolError:
    """The refusal of ``what`` needs the extra ``name``."""
    return ToolError.of("TW6302", what=what, extra=name)

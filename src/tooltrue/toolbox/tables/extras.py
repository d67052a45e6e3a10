"""Loads modules that need packages of an extra on first use; without the packages, an error names the extra."""

from __future__ import annotations

from typing import Any

from tooltrue.errors import ToolError
from tooltrue.loading import load

__all__ = ["extra", "missing"]


def extra(place: str, what: str, name: str) -> Any:
    """Load ``place`` as :func:`tooltrue.loading.load` does, for a module that needs the extra ``name`` to do
    ``what``."""
    try:
        return load(place)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tooltrue"):
            raise
        raise missing(what, name) from error


def missing(what: str, name: str) -> ToolError:
    """The error that ``what`` needs the extra ``name``."""
    return ToolError.of("TT6302", what=what, extra=name)

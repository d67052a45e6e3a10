"""Imports of modules that need packages of an extra; without the packages, an error names the extra."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.wording import TABLE_FORMAT_EXTRA_MISSING

__all__ = ["missing", "needs_extra"]


@contextlib.contextmanager
def needs_extra(what: str, name: str) -> Generator[None]:
    """Import a module that needs the extra ``name`` to do ``what``."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tooltrue"):
            raise
        raise missing(what, name) from error


def missing(what: str, name: str) -> ToolError:
    """The error that ``what`` needs the extra ``name``."""
    return ToolError.of(TABLE_FORMAT_EXTRA_MISSING, what=what, extra=name)

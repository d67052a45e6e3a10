"""The operator's settings for the access of the tools to a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Access"]


@dataclass(frozen=True, slots=True)
class Access:
    """``writes``: whether ``execute_sql`` exists. ``tables``: patterns of the visible tables, all by default;
    ``hidden``: patterns of tables, or of columns (``users.password*``), that are invisible. Patterns are those of
    :mod:`fnmatch`, case-insensitive. ``functions``: further functions that a statement may call, such as
    ``my_function`` or ``my_schema.my_function``; their effects are the operator's responsibility. ``mighty_roles``:
    accept a role that could read hidden data, or read files or run programs on the database's machine."""

    writes: bool = False
    tables: Sequence[str] = ()
    hidden: Sequence[str] = ()
    functions: Sequence[str] = ()
    mighty_roles: bool = False

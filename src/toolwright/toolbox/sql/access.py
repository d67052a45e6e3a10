"""What the tools may do with a database: the operator's word on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Access"]


@dataclass(frozen=True, slots=True)
class Access:
    """``writes``: there is ``execute_sql``. ``tables``: patterns of the tables that are there, all by default;
    ``hidden``: patterns of tables, or of columns (``users.password*``), that are not. Patterns are those of
    :mod:`fnmatch`, without regard to case. ``functions``: further functions that a statement may call, such as
    ``my_function`` or ``my_schema.my_function``; what they do is the operator's affair. ``mighty_roles``: a role that
    could read what is hidden, or read files or run programs of the database's machine, is taken all the same.
    """

    writes: bool = False
    tables: Sequence[str] = ()
    hidden: Sequence[str] = ()
    functions: Sequence[str] = ()
    mighty_roles: bool = False

"""The tables and views that the caller can see, and the resolution of names in a statement.

Names are resolved here and nowhere else: a name that is missing from the catalogue does not exist for the caller,
whether it is hidden, a table of the engine's own, or no table at all.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from tooltrue.errors import ToolError
from tooltrue.wording import names_or_none
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.wording import NEW_TABLE_NAME_NOT_ALLOWED, UNKNOWN_TABLE

__all__ = ["Dialect", "Relation", "SchemaCatalog", "with_hidden"]

Dialect = Literal["sqlite", "duckdb", "postgres", "mysql"]

_OWN = ("sqlite_*", "pg_*", "duckdb_*", "pragma_*", "information_schema", "performance_schema", "mysql", "sys")
"""Names of tables and schemas that belong to the engines."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view. ``columns`` are all of its columns, ``hides`` those that the caller may not see."""

    schema: str
    name: str
    kind: Literal["table", "view"]
    rows: int | None = None
    columns: tuple[str, ...] = ()
    hides: frozenset[str] = frozenset()
    is_partial: bool = False
    """Whether statements read it through its shown columns only: some are hidden, or may be withheld from the role."""

    @property
    def shown_columns(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self.hides)


class SchemaCatalog:
    """The relations that ``access`` lets through. ``home``: the schema of names without one."""

    def __init__(
        self,
        relations: Iterable[Relation],
        home: str,
        access: Access,
        *,
        folds: bool = False,
        types: Iterable[str] = (),
    ) -> None:
        """``folds``: quoted and unquoted names differ, and a name without a schema is looked up in several
        (PostgreSQL). ``types``: types of the database that a statement may name."""
        self.home = home
        self.qualifies = folds
        self.functions = frozenset(name.lower() for name in access.functions)
        self.types = frozenset(types) | self.functions
        self.hides_anything = bool(access.hidden or access.tables)
        self._folds = folds
        self._access = access
        there = self._there = tuple(relations)
        self._all_names = frozenset(relation.name.casefold() for relation in there)
        self.relations = tuple(sorted(filter(self._lets, there), key=lambda r: (r.schema != home, r.schema, r.name)))
        self._by_name: Mapping[tuple[str, str], Relation] = {
            (relation.schema.lower(), self._key(relation.name)): relation for relation in self.relations
        }
        visible_names = {relation.name.lower() for relation in self.relations}
        columns = {name.lower() for relation in self.relations for name in relation.hides}
        self.hidden_names = frozenset({relation.name.lower() for relation in there} - visible_names | columns)

    def _key(self, name: str) -> str:
        return name if self._folds else name.lower()

    def _lets(self, relation: Relation) -> bool:
        names = (relation.name, f"{relation.schema}.{relation.name}")
        is_listed = not self._access.tables or any(_matches(name, self._access.tables) for name in names)
        whole = [pattern for pattern in self._access.hidden if not _is_column(pattern, relation)]
        return is_listed and not any(_matches(name, whole) for name in names)

    def display_name(self, relation: Relation) -> str:
        """The name that the caller writes for it."""
        return relation.name if relation.schema == self.home else f"{relation.schema}.{relation.name}"

    def unmatched(self) -> list[str]:
        """Return the operator's patterns that match no table and no column that the role can see."""
        patterns = (*self._access.tables, *self._access.hidden)
        return [one for one in patterns if not any(_is_about(one, relation) for relation in self._there)]

    def is_taken(self, name: str) -> bool:
        """Whether a table of this name exists, visible or not."""
        return name.casefold() in self._all_names

    def find(self, name: str, schema: str = "", database: str = "", *, quoted: bool = False) -> Relation:
        """The relation of a name in a statement. ``ToolError`` if the caller can see no such relation."""
        key = name.lower() if self._folds and not quoted else self._key(name)
        relation = None if database else self._by_name.get(((schema or self.home).lower(), key))
        if relation is None:
            raise self._missing_relation(f"{schema}.{name}" if schema else name)
        return relation

    def visible_relation(self, name: str) -> Relation:
        """The relation of a tool's argument: the exact name as listed."""
        for relation in self.relations:
            if self.display_name(relation) == name:
                return relation
        schema, _, bare = name.rpartition(".")
        return self.find(bare, schema)

    def _missing_relation(self, name: str) -> ToolError:
        names = [self.display_name(relation) for relation in self.relations]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        return ToolError.of(UNKNOWN_TABLE, name=name[:80], near=names_or_none(near))

    def check_new(self, name: str, schema: str, database: str) -> None:
        """Check that a new table is in the home schema, and that its name is neither an engine's own nor a hidden
        one."""
        if database or (schema and schema.lower() != self.home.lower()) or _matches(name, _OWN):
            raise ToolError.of(NEW_TABLE_NAME_NOT_ALLOWED, name=name[:80], schema=self.home)
        if not self._lets(Relation(self.home, name, "table")):
            raise ToolError.of(NEW_TABLE_NAME_NOT_ALLOWED, name=name[:80], schema=self.home)


def with_hidden(relation: Relation, access: Access, columns: Callable[[], Iterable[tuple[str, str]]]) -> Relation:
    """The relation with the columns that ``access`` hides, and those that are generated from them. ``columns`` returns
    their names and the expressions of their values; it is called only where a pattern may match one of them."""
    if not any(_is_column(pattern, Relation("", relation.name, "table")) for pattern in access.hidden):
        return relation
    expressions = dict(columns())
    hides = {name for name in expressions if _matches(f"{relation.name}.{name}", access.hidden)}
    while made := {name for name, text in expressions.items() if name not in hides and _tells(text, hides)}:
        hides |= made
    return replace(relation, columns=tuple(expressions), hides=frozenset(hides), is_partial=bool(hides))


def _tells(expression: str, hides: set[str]) -> bool:
    return any(name.lower() in expression.lower() for name in hides)


def _is_column(pattern: str, relation: Relation) -> bool:
    """Whether a pattern is about columns of this table, rather than about the table."""
    table, dot, _ = pattern.partition(".")
    return bool(dot) and table.lower() != relation.schema.lower() and fnmatchcase(relation.name.lower(), table.lower())


def _is_about(pattern: str, relation: Relation) -> bool:
    """Return whether a pattern matches the table or one of its columns."""
    names = (relation.name, f"{relation.schema}.{relation.name}")
    columns = (f"{relation.name}.{column}" for column in relation.columns)
    return any(_matches(name, (pattern,)) for name in (*names, *columns))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)

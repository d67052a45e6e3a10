"""Checks for objects that a statement reaches without naming them: by CASCADE, a view or a type. It is refused.

A type of PostgreSQL may be the row of a hidden table, turn a number into the name of one, or run a user-defined
function; so types are checked against an allowlist, and those of the database by their names
(:attr:`SchemaCatalog.types`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tooltrue.errors import ToolError
from tooltrue.wording import Worded
from tooltrue_toolbox.sql.catalog import Dialect, Relation, SchemaCatalog
from tooltrue_toolbox.sql.wording import (
    LABEL_EXPLAIN_OF_VIEW,
    LABEL_THE_TYPE,
    LABEL_VERB_WITH_CASCADE,
    LABEL_VERB_WITH_CHANGE,
    SQL_CHANGE_THROUGH_VIEW,
    SQL_CONSTRUCT_NOT_ALLOWED,
    SQL_VERB_NOT_ALLOWED,
)

__all__ = ["check_alone", "check_changed", "check_plan_of", "check_type"]

_PLAIN = """
    bit bool box bpchar bytea char cidr circle date daterange float4 float8 inet int2 int2vector int4
    int4range int8 int8range interval json jsonb jsonpath line lseg macaddr macaddr8 money name numeric
    numrange oidvector path pg_lsn point polygon record text time timestamp timestamptz timetz tsquery tsrange
    tstzrange tsvector uuid varbit varchar xid xid8 xml
"""
_TYPES = frozenset(_PLAIN.split())
"""Types of PostgreSQL for which the parser has no class, or which a statement may qualify with ``pg_catalog``."""
_CHANGES = ("Insert", "Update", "Delete", "Merge")


def check_alone(tree: Any, verb: str) -> None:
    """``ToolError`` for a change that contains other changes, or cascades to objects it does not name: these are not in
    the preview that a person approves."""
    for node in tree.walk():
        kind = type(node).__name__
        option = str(node.args.get("option") or "").upper() if kind == "TruncateTable" else ""
        if option == "CASCADE" or (kind == "Drop" and node.args.get("cascade")):
            raise ToolError.of(SQL_VERB_NOT_ALLOWED, verb=Worded(LABEL_VERB_WITH_CASCADE, {"verb": verb}))
        if kind in _CHANGES and node is not tree and type(node.parent).__name__ != "When":
            raise ToolError.of(SQL_VERB_NOT_ALLOWED, verb=Worded(LABEL_VERB_WITH_CHANGE, {"verb": verb}))


def check_changed(relation: Relation, catalog: SchemaCatalog) -> None:
    """``ToolError`` for a change through a view, whose target may be hidden."""
    if catalog.hides_anything and relation.kind == "view":
        raise ToolError.of(SQL_CHANGE_THROUGH_VIEW, view=catalog.display_name(relation))


def check_plan_of(relations: Iterable[Relation], catalog: SchemaCatalog) -> None:
    """``ToolError`` for the plan of a view: it names the tables of the view, and their sizes."""
    for relation in relations:
        if catalog.hides_anything and relation.kind == "view":
            raise ToolError.of(
                SQL_CONSTRUCT_NOT_ALLOWED,
                what=Worded(LABEL_EXPLAIN_OF_VIEW, {"view": catalog.display_name(relation)}),
                verb="",
            )


def check_type(node: Any, dialect: Dialect, catalog: SchemaCatalog) -> None:
    """``ToolError`` for a type of PostgreSQL that is not known to be plain. ``node``: that of a type."""
    if dialect != "postgres" or getattr(node.this, "name", "") != "USERDEFINED":
        return
    kind = node.args.get("kind")
    names = [_folded(part) for part in (kind.flatten() if type(kind).__name__ == "Dot" else (kind,))]
    is_plain = names[-1] in _TYPES and names[:-1] in ([], ["pg_catalog"])
    if not is_plain and (len(names) != 2 or ".".join(names) not in catalog.types):
        raise ToolError.of(
            SQL_CONSTRUCT_NOT_ALLOWED, what=Worded(LABEL_THE_TYPE, {"type": ".".join(names)[:80]}), verb=""
        )


def _folded(part: Any) -> str:
    """A name as PostgreSQL reads it."""
    if type(part).__name__ != "Identifier":
        return str(part)
    return str(part.name) if part.args.get("quoted") else str(part.name).lower()

"""The schema catalog of the tests' shop for the statement checker."""

from __future__ import annotations

from support.sql.slots import SENTINEL
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.catalog import Relation, SchemaCatalog

__all__ = ["DIALECTS", "catalog_of"]

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql")


def catalog_of(dialect: str) -> SchemaCatalog:
    """The catalog of the shop in one dialect: ``ledger``, and a column of ``users``, are hidden."""
    home = {"postgres": "public", "mysql": "shop"}.get(dialect, "main")
    access = Access(hidden=("users.password*", SENTINEL))
    users = ("id", "name", "password_hash")
    relations = (
        Relation(home, "orders", "table"),
        Relation(home, "paid", "view"),
        Relation(home, "users", "table", columns=users, hides=frozenset({"password_hash"})),
        Relation(home, SENTINEL, "table"),
    )
    return SchemaCatalog(relations, home, access, folds=dialect == "postgres")

"""An independent check of DuckDB's own plan of a change, as JSON: the tables and columns that it reads and writes.

The plan is the bound one, before optimization: it contains each table by its full name, with each column that is read
of it. Views are expanded; so a change that reads a view also reads the tables of the view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from tooltrue.errors import ToolError
from tooltrue_toolbox.sql.catalog import Relation, SchemaCatalog
from tooltrue_toolbox.sql.duck_tree import check_query, check_table_function, node_of, nodes_of
from tooltrue_toolbox.sql.wording import DUCKDB_PLAN_REACHES_HIDDEN_TABLES, TABLE_HAS_HIDDEN_COLUMNS

__all__ = ["check_plan"]


@dataclass(frozen=True, slots=True)
class _Judge:
    """``macros``: functions that the database defines; ``database``: the only one whose tables may occur in the
    plan."""

    catalog: SchemaCatalog
    macros: frozenset[str]
    database: str

    def read(self, node: dict[str, Any]) -> None:
        table = node_of(node.get("function_data")).get("qualified_name")
        if table is None:
            check_table_function(_path(node.get("qname"))[-1], self.catalog)
            return
        columns = cast("list[str]", node["names"])
        places = [int(place["index"]) for place in cast("list[dict[str, Any]]", node["column_indexes"])]
        if {columns[place] for place in places if place < len(columns)} & self._relation(table).hides:
            raise ToolError.of(DUCKDB_PLAN_REACHES_HIDDEN_TABLES)

    def check_target(self, named: Any) -> None:
        if (relation := self._relation(node_of(named).get("qualified_name"))).hides:
            raise ToolError.of(TABLE_HAS_HIDDEN_COLUMNS, table=relation.name)

    def check_created(self, info: Any) -> None:
        name, schema, database = _name(node_of(info).get("qualified_name"))
        self.catalog.check_new(name, schema, "" if database == self.database else database)
        for node in nodes_of(info):
            if node.get("type") == "FOREIGN_KEY" and node["table"] != name:
                self.catalog.find(str(node["table"]), str(node["schema"]))

    def check_view(self, info: Any) -> None:
        self.check_created(info)
        check_query(node_of(info)["query"], self.catalog, self.macros)

    def check_altered(self, info: Any) -> None:
        self.check_target(info)
        constraint = node_of(node_of(info).get("constraint"))
        if "table" in constraint:
            self.catalog.find(str(constraint["table"]), str(constraint["schema"]))

    def _relation(self, qualified: Any) -> Relation:
        name, schema, database = _name(qualified)
        try:
            return self.catalog.find(name, schema, "" if database == self.database else database)
        except ToolError:  # its message would contain the name of the table
            raise ToolError.of(DUCKDB_PLAN_REACHES_HIDDEN_TABLES) from None


def check_plan(plan: Any, catalog: SchemaCatalog, macros: frozenset[str], database: str) -> None:
    """``ToolError`` where a change reads or writes hidden data, or where its plan does not tell."""
    judge = _Judge(catalog, macros, database)
    nodes = [node for node in nodes_of(plan) if str(node.get("type")).startswith("LOGICAL_")]
    try:
        for node in nodes:
            if node["type"] == "LOGICAL_GET":
                judge.read(node)
        changes = [node for node in nodes if "table_info" in node or "info" in node]
        for node in changes:
            _check_change(judge, node)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ToolError.of(DUCKDB_PLAN_REACHES_HIDDEN_TABLES) from error
    if not changes:
        raise ToolError.of(DUCKDB_PLAN_REACHES_HIDDEN_TABLES)


def _check_change(judge: _Judge, node: dict[str, Any]) -> None:
    if "table_info" in node:
        judge.check_target(node["table_info"])
        return
    checks: dict[str, Callable[[Any], None]] = {
        "LOGICAL_CREATE_TABLE": judge.check_created,
        "LOGICAL_CREATE_VIEW": judge.check_view,
        "LOGICAL_ALTER": judge.check_altered,
        "LOGICAL_DROP": judge.check_target,
    }
    if node["type"] == "LOGICAL_CREATE_INDEX":  # its table is read below it
        return
    checks[node["type"]](node["info"])


def _name(qualified: Any) -> tuple[str, str, str]:
    database, schema, name = _path(qualified)
    return name, schema, database


def _path(qualified: Any) -> list[str]:
    return cast("list[str]", node_of(qualified)["path"])

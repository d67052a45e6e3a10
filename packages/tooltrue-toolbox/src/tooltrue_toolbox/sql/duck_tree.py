"""An independent check of DuckDB's own syntax tree of a query, as JSON: its tables, and the columns it reads of them.

A table with hidden columns may occur in one place only: in the query that selects its shown columns by name, which
:mod:`statement` has put there. Kinds of sources that are not listed are refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, cast

from tooltrue.errors import ToolError
from tooltrue.wording import names_or_none
from tooltrue_toolbox.sql.catalog import Relation, SchemaCatalog
from tooltrue_toolbox.sql.wording import SQL_FUNCTION_NOT_ALLOWED, SQL_NOT_REPRODUCIBLE

__all__ = ["check_query", "check_table_function", "node_of", "nodes_of"]

_SOURCES = frozenset(
    ("BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY", "EMPTY_FROM", "PIVOT")
)
_QUERIES = frozenset(("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"))
_PLACES = ("from_table", "left", "right", "source")
"""Keys under which a source occurs in a tree."""
_TABLE_FUNCTIONS = frozenset(("generate_series", "range", "unnest", "json_each", "json_tree"))
_NOTHING_ELSE = ("where_clause", "having", "sample", "qualify", "group_expressions", "group_sets", "modifiers")


def check_query(tree: Any, catalog: SchemaCatalog, macros: frozenset[str]) -> None:
    """``ToolError`` where the tree of a query reads hidden data. ``macros``: functions that the database defines."""
    nodes = list(nodes_of(tree))
    for node in nodes:
        _check_sources(node)
        _check_function(node, catalog, macros)
    named = {str(entry["key"]).lower() for node in nodes for entry in node_of(node.get("cte_map")).get("map", ())}
    hidden = {id(node.get("from_table")) for node in nodes if _takes_shown_columns(node, named, catalog)}
    for table in nodes:
        is_table = table.get("type") == "BASE_TABLE" and not _is_named(table, named, catalog)
        if is_table and _relation(table, catalog).hides and id(table) not in hidden:
            raise ToolError.of(SQL_NOT_REPRODUCIBLE)


def _check_sources(node: dict[str, Any]) -> None:
    sources = [node_of(node.get(place)) for place in _PLACES]
    is_odd = any(
        source and "class" not in source and source.get("type") not in _SOURCES | _QUERIES for source in sources
    )
    if is_odd or node.get("type") == "SHOW_REF":
        raise ToolError.of(SQL_NOT_REPRODUCIBLE)


def node_of(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += cast("list[Any]", value)
        elif node := node_of(value):
            yield node
            pending += node.values()


def _is_named(table: dict[str, Any], named: set[str], catalog: SchemaCatalog) -> bool:
    """Whether a table is a common table expression, whose names never equal those of tables."""
    name = str(table["table_name"])
    bare = not table.get("schema_name") and not table.get("catalog_name")
    return bare and name.lower() in named and not catalog.is_taken(name)


def _relation(table: dict[str, Any], catalog: SchemaCatalog) -> Relation:
    name, schema, database = (str(table.get(key) or "") for key in ("table_name", "schema_name", "catalog_name"))
    return catalog.find(name, schema, database)


def _takes_shown_columns(node: dict[str, Any], named: set[str], catalog: SchemaCatalog) -> bool:
    """Whether a query only selects shown columns of one table."""
    source = node_of(node.get("from_table"))
    if node.get("type") != "SELECT_NODE" or source.get("type") != "BASE_TABLE" or _is_named(source, named, catalog):
        return False
    visible = {column.lower() for column in _relation(source, catalog).shown_columns}
    return not any(node.get(part) for part in _NOTHING_ELSE) and all(
        column.get("class") == "COLUMN_REF"
        and len(column["column_names"]) == 1
        and str(column["column_names"][0]).lower() in visible
        for column in node["select_list"]
    )


def _check_function(node: dict[str, Any], catalog: SchemaCatalog, macros: frozenset[str]) -> None:
    if node.get("type") == "TABLE_FUNCTION":
        check_table_function(str(node_of(node.get("function")).get("function_name", "")), catalog)
    elif node.get("class") == "FUNCTION":
        name = str(node.get("function_name", "")).lower()
        if name in macros - catalog.functions:
            raise ToolError.of(SQL_FUNCTION_NOT_ALLOWED, name=name[:60], near=names_or_none(()))


def check_table_function(name: str, catalog: SchemaCatalog) -> None:
    """``ToolError`` for a function in the place of a table, unless it is known to read none."""
    if name.lower() not in _TABLE_FUNCTIONS | catalog.functions:
        near = difflib.get_close_matches(name.lower(), sorted(_TABLE_FUNCTIONS), n=3, cutoff=0.75)
        raise ToolError.of(SQL_FUNCTION_NOT_ALLOWED, name=name[:60], near=names_or_none(near))

"""Table descriptions: all that the engine knows about a table, without hidden names."""

from __future__ import annotations

from collections.abc import Sequence

from tooltrue_toolbox.sql.catalog import Relation, SchemaCatalog
from tooltrue_toolbox.sql.values import ForeignKey, TableColumn, TableDescription

__all__ = ["visible_description"]


def visible_description(table: TableDescription, relation: Relation, catalog: SchemaCatalog) -> TableDescription:
    """``table`` as the caller may see it, without the names of hidden columns and hidden tables."""
    keys = [_key(key, relation, catalog) for key in table["foreign_keys"]]
    return TableDescription(
        table=catalog.display_name(relation),
        kind=table["kind"],
        columns=[_column(column, relation) for column in table["columns"] if column["name"] not in relation.hides],
        primary_key=table["primary_key"] if _is_open(table["primary_key"], relation) else [],
        foreign_keys=[key for key in keys if key is not None],
        indexes=[index for index in table["indexes"] if _is_open(index["columns"], relation)],
    )


def _is_open(texts: Sequence[str], relation: Relation) -> bool:
    """Whether ``texts``, names or expressions, contain no name of a hidden column."""
    return not any(name.lower() in text.lower() for name in relation.hides for text in texts)


def _column(column: TableColumn, relation: Relation) -> TableColumn:
    if not _is_open([column.get("default", "")], relation):
        del column["default"]
    return column


def _key(key: ForeignKey, relation: Relation, catalog: SchemaCatalog) -> ForeignKey | None:
    """The key with its target table named as in statements; ``None`` where part of it is hidden."""
    for there in catalog.relations:
        if key["table"] == f"{there.schema}.{there.name}" or (
            there.schema == relation.schema and key["table"].lower() == there.name.lower()
        ):
            is_open = _is_open(key["columns"], relation) and _is_open(key["references"], there)
            return ForeignKey({**key, "table": catalog.display_name(there)}) if is_open else None
    return None

"""The fields of an answer that a plan names: an API often returns more than a context window holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tooltrue.jsonrpc.messages import Json, is_array, is_object

__all__ = ["FieldTree", "field_tree", "has_fields", "only_fields"]

FieldTree: TypeAlias = "Mapping[str, FieldTree | None]"
"""By the name of each field: those within it, or ``None`` for all of it."""


def only_fields(value: Json, fields: Sequence[str]) -> Json:
    """``value`` with these fields alone. A dot leads into an object, and each object of a list is treated alike."""
    return _reduced(value, field_tree(fields))


def has_fields(value: Json) -> bool:
    """Whether a value that was reduced to fields has one, or needs none."""
    if is_array(value):
        return not value or any(map(has_fields, value))
    return not is_object(value) or bool(value)


def field_tree(fields: Sequence[str]) -> FieldTree:
    groups = dict[str, list[str]]()
    for field in fields:
        name, _, rest = field.partition(".")
        groups.setdefault(name, []).append(rest)
    return {name: field_tree(rests) if all(rests) else None for name, rests in groups.items()}


def _reduced(value: Json, tree: FieldTree) -> Json:
    if is_array(value):
        return [_reduced(one, tree) for one in value]
    if not is_object(value):
        return value
    return {
        name: value[name] if within is None else _reduced(value[name], within)
        for name, within in tree.items()
        if name in value
    }

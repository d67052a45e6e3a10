"""Recognizes types of Pillow, matplotlib, numpy, pandas, polars and pyarrow, without importing any of these."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

__all__ = ["ForeignKind", "foreign_kind", "kind_of"]

ForeignKind: TypeAlias = Literal["picture", "figure", "frame", "column", "array", "scalar", "helper", "table"]

_KINDS: Final[dict[tuple[str, str], ForeignKind]] = {
    ("PIL", "Image"): "picture",
    ("matplotlib", "Figure"): "figure",
    ("pandas", "DataFrame"): "frame",
    ("polars", "DataFrame"): "frame",
    ("polars", "LazyFrame"): "frame",
    ("pyarrow", "Table"): "frame",
    ("pyarrow", "RecordBatch"): "frame",
    ("pandas", "Series"): "column",
    ("polars", "Series"): "column",
    ("pyarrow", "Array"): "column",
    ("pyarrow", "ChunkedArray"): "column",
    ("numpy", "ndarray"): "array",
    ("numpy", "generic"): "scalar",
    ("tooltrue.tools.media", "MediaContent"): "helper",
    ("tooltrue.tools.tables", "Table"): "table",
}


def foreign_kind(type_: type) -> ForeignKind | None:
    """Return what a class of one of these libraries, or of our own helpers, stands for; ``None`` for any other."""
    for base in type_.__mro__:
        module = base.__module__
        root = module if module.startswith("tooltrue.") else module.partition(".")[0]
        if (kind := _KINDS.get((root, base.__name__))) is not None:
            return kind
    return None


def kind_of(value: object) -> ForeignKind | None:
    """Return what a value of one of these libraries, or of our own helpers, is."""
    return foreign_kind(type(value))

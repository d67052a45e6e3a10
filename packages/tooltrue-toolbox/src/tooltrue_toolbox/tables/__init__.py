"""The tables tools: figures, rows and charts of CSV, TSV, JSON Lines and Parquet files, also larger than memory.

``toolset`` needs the extra ``data``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tooltrue.errors import ConfigurationError
from tooltrue.extras import install_command
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.distribution import DISTRIBUTION
from tooltrue_toolbox.rooted_paths import PathRules
from tooltrue_toolbox.tables.wording import TABLES_EXTRA_MISSING

if TYPE_CHECKING:
    from tooltrue_toolbox.tables.layout import TableLimits

__all__ = ["toolset"]


def toolset(
    roots: Sequence[Path], *, limits: TableLimits | None = None, rules: PathRules | None = None
) -> LocalToolset:
    """The tables tools over ``roots``, ready to be served. ``ConfigurationError`` for a root that is no folder, and if
    the extra ``data`` is not installed."""
    try:
        from tooltrue_toolbox.tables import table_tools  # noqa: PLC0415 - its engine comes with an extra
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("tooltrue"):
            raise
        raise ConfigurationError.of(TABLES_EXTRA_MISSING, command=install_command("data", DISTRIBUTION)) from error
    return table_tools.toolset(roots, limits=limits, rules=rules)

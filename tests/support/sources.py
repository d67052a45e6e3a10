"""The source files of all distributions, by names such as ``server/http.py`` and ``tooltrue_check/card.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tooltrue
import tooltrue_check
import tooltrue_toolbox

__all__ = ["FILES", "ROOT", "SOURCES", "named"]

ROOT = Path(__file__).parents[2]
SOURCES = [Path(package.__file__ or "").parent for package in (tooltrue, tooltrue_check, tooltrue_toolbox)]


def named(pattern: str) -> Iterator[tuple[str, Path]]:
    """Each file that matches the pattern, with its name."""
    for source in SOURCES:
        prefix = "" if source.name == "tooltrue" else f"{source.name}/"
        for path in sorted(source.rglob(pattern)):
            yield f"{prefix}{path.relative_to(source).as_posix()}", path


FILES = dict(named("*.py"))
"""Name → path of each module."""

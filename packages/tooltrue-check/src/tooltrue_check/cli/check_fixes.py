"""``tooltrue check --fix``: automatic fixes in dumps of tools and in Python files of tooltrue servers, and their
diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tooltrue.contract.files import write_whole
from tooltrue.errors import ConfigurationError
from tooltrue_check.report import CheckReport
from tooltrue_check.source import ToolSource
from tooltrue_check.wording import TARGET_NOT_FIXABLE

__all__ = ["difference", "fixed", "save"]

_ROUNDS = 20


def fixed(judge: Callable[[Sequence[ToolSource]], CheckReport], sources: Sequence[ToolSource]) -> CheckReport:
    """Apply each fix of each finding in memory, and report on the result; no file is written.

    ``ConfigurationError`` if none of the sources can be fixed.
    """
    if sources and all(one.rewrite is None for one in sources):
        raise ConfigurationError.of(TARGET_NOT_FIXABLE, target=", ".join(one.target for one in sources))
    by = dict[str, str]()
    for _ in range(_ROUNDS):  # a fix may uncover another
        report = judge(sources)
        better = [_better(report, one, by) for one in sources]
        if all(one is before for one, before in zip(better, sources, strict=True)):
            return report
        sources = better
    return judge(sources)


def _better(report: CheckReport, source: ToolSource, by: dict[str, str]) -> ToolSource:
    """Apply the fixes to a source. ``by``: of several servers in one file, the one that is fixed; the others still hold
    the old text of the file."""
    fixes = ((one.tool, one.problem.fix) for one in report.findings if one.server == source.server)
    values = [(tool, fix.path, fix.value) for tool, fix in fixes if fix is not None]
    file = str(Path(source.file).resolve())
    if source.rewrite is None or by.get(file, source.server) != source.server:
        return source
    better = source.rewrite(source, values)
    if better is not source:
        by[file] = source.server
    return better


def difference(before: Sequence[ToolSource], after: Sequence[ToolSource]) -> Iterator[str]:
    """The changes as a unified diff, line by line."""
    for one, other in zip(before, after, strict=True):
        lines = (one.text.splitlines(), other.text.splitlines())
        yield from difflib.unified_diff(*lines, one.file, other.file, lineterm="")


def save(before: Sequence[ToolSource], after: Sequence[ToolSource]) -> int:
    """Write the changed files atomically; return their number."""
    changed = [other for one, other in zip(before, after, strict=True) if one.text != other.text]
    for one in changed:
        write_whole(Path(one.file), one.text)
    return len(changed)

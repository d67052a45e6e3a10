"""``toolwright check --fix``: what rules are sure of, put into dumps of tools; and what that would be, as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from toolwright.check.fixing import put
from toolwright.check.report import Report
from toolwright.check.source import Source
from toolwright.cli.contracts import lock_in
from toolwright.contract.contract import Contract
from toolwright.contract.files import write_whole
from toolwright.errors import ConfigurationError

__all__ = ["difference", "fixed", "save"]

_ROUNDS = 20


def fixed(judge: Callable[[Sequence[Source]], Report], sources: Sequence[Source]) -> Report:
    """The report on what the sources are with each fix of each finding in its place; nothing is written yet.

    ``ConfigurationError`` where there is no source that could be fixed.
    """
    if not any(one.can_fix for one in sources):
        raise ConfigurationError.of("TW9805", target=", ".join(one.target for one in sources) or "-")
    for _ in range(_ROUNDS):  # a fix may uncover another
        report = judge(sources)
        better = [_better(report, one) if one.can_fix else one for one in sources]
        if all(one is before for one, before in zip(better, sources, strict=True)):
            return report
        sources = better
    return judge(sources)


def _better(report: Report, source: Source) -> Source:
    fixes = ((one.tool, one.problem.fix) for one in report.findings if one.server == source.server)
    values = [((*source.roots[tool], *fix.path), fix.value) for tool, fix in fixes if fix is not None]
    text, _ = put(source.text, values)
    if text == source.text:
        return source
    return replace(source, text=text, contract=lock_in(text.encode(), Path(source.file), Contract.as_listed).contract)


def difference(before: Sequence[Source], after: Sequence[Source]) -> Iterator[str]:
    """What has changed, as a unified diff, line by line."""
    for one, other in zip(before, after, strict=True):
        lines = (one.text.splitlines(), other.text.splitlines())
        yield from difflib.unified_diff(*lines, one.file, other.file, lineterm="")


def save(before: Sequence[Source], after: Sequence[Source]) -> int:
    """Write the files that have changed, each as a whole or not at all, and return how many these are."""
    changed = [other for one, other in zip(before, after, strict=True) if one.text != other.text]
    for one in changed:
        write_whole(Path(one.file), one.text)
    return len(changed)

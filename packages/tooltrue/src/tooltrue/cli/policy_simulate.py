"""``tooltrue policy simulate``: replay of the audit log against other rules."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from tooltrue.cli.audit_log import records_in
from tooltrue.cli.output import show_rows
from tooltrue.cli.printing import tell
from tooltrue.cli.wording import (
    AUDIT_LINE_NOT_RECORD,
    CONFIG_WITHOUT_RULES,
)
from tooltrue.contract.wording import FILE_UNREADABLE
from tooltrue.errors import ConfigurationError
from tooltrue.policy.audit.log_queries import entries, record_of
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.guard import Guard
from tooltrue.policy.rules.rule import Rules
from tooltrue.policy.rules.simulate import Reconsidered, replay
from tooltrue.state.places import beside
from tooltrue.state.urls import open_log
from tooltrue.wording import REASON_FILE_NOT_FOUND, Worded

__all__ = ["command"]


@click.command("simulate", short_help="Replay the audit log against a file of rules.")
@click.option("--config", required=True, metavar="FILE", help="The rules.")
@click.option("--log", required=True, metavar="URL|FILE", help="The audit log, or its records as JSON lines.")
@click.option("--server", default="", metavar="NAME", help="The server of the records, for rules with `server`.")
@click.option("--changes", is_flag=True, help="Show only records whose decision would change.")
def command(config: str, log: str, server: str, changes: bool) -> None:
    """Replay the records of an audit log against the rules in FILE, and count the decisions.

    A record whose masked or cut arguments a rule would have to read is undecidable. Nothing is called or changed.
    """
    rules = read_operator_config(config).over(Guard(), server).rules
    if rules is None:
        raise ConfigurationError.of(CONFIG_WITHOUT_RULES, file=config)
    is_file = Path(log).is_file()
    counts = Counter(map(_row, replay(rules, _lines(Path(log))))) if is_file else _count(rules, log)
    rows = [(was, would, subject, rule, str(count)) for (was, would, subject, rule), count in sorted(counts.items())]
    visible_rows = [row for row in rows if not changes or row[0] != row[1]]
    if visible_rows:
        show_rows([("was", "would be", "of", "by", "times"), *visible_rows])
    changed = sum(count for (was, would, *_), count in counts.items() if would not in (was, "undecidable"))
    open_ones = sum(count for (_, would, *_), count in counts.items() if would == "undecidable")
    tell(f"{counts.total()} records: {changed} would be decided otherwise, {open_ones} undecidable.")


_Row = tuple[str, str, str, str]


def _count(rules: Rules, log: str) -> Counter[_Row]:
    path = beside(log, "")
    if path and not Path(path).is_file():  # opening it would create it
        raise ConfigurationError.of(FILE_UNREADABLE, file=path, problem=Worded(REASON_FILE_NOT_FOUND, {}))

    async def count() -> Counter[_Row]:
        counts: Counter[_Row] = Counter()
        async with open_log(log) as opened:
            async for entry in entries(opened):
                counts.update(map(_row, replay(rules, [record_of(entry)])))
        return counts

    return asyncio.run(count())


def _row(one: Reconsidered) -> _Row:
    subject = one.record.subject
    return one.record.was, one.would, getattr(subject, "uri", subject.name), one.rule or "(no rule)"


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, record in records_in(path):
        if record is None:
            raise ConfigurationError.of(AUDIT_LINE_NOT_RECORD, place=f"{path}:{number}")
        yield record

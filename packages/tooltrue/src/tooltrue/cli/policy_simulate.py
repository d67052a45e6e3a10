"""``tooltrue policy simulate``: replay of the audit log against other rules."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
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
from tooltrue.policy.rules.simulate import ReplayCounts, replay
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
    counts = _counts(rules, _lines(Path(log))) if Path(log).is_file() else _counts_of_log(rules, log)
    rows = [(was, would, of, by or "(no rule)", str(count)) for (was, would, of, by), count in counts.rows.items()]
    visible_rows = [row for row in sorted(rows) if not changes or row[0] != row[1]]
    if visible_rows:
        show_rows([("was", "would be", "of", "by", "times"), *visible_rows])
    tell(f"{counts.total} records: {counts.changed} would be decided otherwise, {counts.undecidable} undecidable.")


def _counts(rules: Rules, records: Iterable[Mapping[str, Any]]) -> ReplayCounts:
    counts = ReplayCounts()
    for one in replay(rules, records):
        counts.add(one)
    return counts


def _counts_of_log(rules: Rules, log: str) -> ReplayCounts:
    path = beside(log, "")
    if path and not Path(path).is_file():  # opening it would create it
        raise ConfigurationError.of(FILE_UNREADABLE, file=path, problem=Worded(REASON_FILE_NOT_FOUND, {}))

    async def count() -> ReplayCounts:
        counts = ReplayCounts()
        async with open_log(log) as opened:
            async for entry in entries(opened):
                for one in replay(rules, [record_of(entry)]):
                    counts.add(one)
        return counts

    return asyncio.run(count())


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, record in records_in(path):
        if record is None:
            raise ConfigurationError.of(AUDIT_LINE_NOT_RECORD, place=f"{path}:{number}")
        yield record

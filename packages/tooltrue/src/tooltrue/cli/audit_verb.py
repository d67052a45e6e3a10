"""``tooltrue audit``: the audit logs of servers, and their verification."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import click

from tooltrue.cli.audit_log import Which, indexed, key_file, line, show, with_log
from tooltrue.cli.language import current_language
from tooltrue.cli.output import show_rows
from tooltrue.cli.printing import tell, tell_data
from tooltrue.cli.usage import Verbs
from tooltrue.cli.wording import (
    AUDIT_BATCH_CHANGED,
    AUDIT_CHAIN_BROKEN,
    AUDIT_PRUNING_UNPROVEN,
    AUDIT_RECORD_CHANGED,
    AUDIT_RECORD_INSERTED,
    AUDIT_RECORD_POSITION_INVALID,
    AUDIT_RECORDS_REMOVED,
    AUDIT_SEAL_NOT_FOUND,
    AUDIT_SEALED_RECORD_CHANGED,
    AUDIT_SEALED_RECORD_MISSING,
    REPORT_AUDIT_FAULT_COUNT,
    REPORT_AUDIT_INTACT,
    REPORT_AUDIT_INTACT_SEAL_BESIDE,
    REPORT_AUDIT_INTACT_WITHOUT_SEAL,
    REPORT_AUDIT_LOG_SEALED,
    REPORT_AUDIT_LOG_UNSEALED,
    SEAL_FILE_OF_OTHER_LOG,
)
from tooltrue.errors import ConfigurationError
from tooltrue.policy.audit.log_queries import Stats, entries, matching, outside, record_of, unfinished
from tooltrue.policy.audit.log_queries import search as matching_entries
from tooltrue.state.log import LOWEST, Entry, Log, Mark
from tooltrue.state.places import beside, without_password
from tooltrue.state.retention import Prunable, examine, prune, signing_key
from tooltrue.state.seal import is_log, name_of, read_seals, seals_in
from tooltrue.state.verify import VerifyReport
from tooltrue.wording import sentence

__all__ = ["command"]


@click.group("audit", cls=Verbs, short_help="Show and verify the audit logs of servers.")
def command() -> None:
    """Show and verify the audit logs of this user's servers."""


def _on_log(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose a log. The function receives them together, as ``which``."""

    @functools.wraps(function)
    def run(target: str | None, server: str | None, url: str | None, **others: Any) -> None:
        function(which=Which(target, server, url), **others)

    command: Callable[..., None] = run
    for option in (
        click.option("--log", "url", metavar="URL", help="The log itself: sqlite:PATH or postgresql://…"),
        click.option("--server", metavar="NAME", help="The log of the server of this name."),
        click.argument("target", required=False),
    ):
        command = option(command)
    return command


_json = click.option("--json", "as_json", is_flag=True, help="Print the records as JSON Lines.")


@command.command("tail")
@_on_log
@click.option("-n", "count", type=click.IntRange(0), default=20, show_default=True, help="How many records.")
@click.option("-f", "--follow", is_flag=True, help="Also show each new record, until interrupted.")
@_json
def tail(which: Which, count: int, follow: bool, as_json: bool) -> None:
    """Show the last records of TARGET, a server of ours; without one, of the log that was written last."""

    async def follow_on(log: Log) -> None:
        show(await outside(log, count), as_json)
        after = max(0, (await log.head()).position - count)
        while True:
            async for entry in entries(log, after):
                show((entry,), as_json)
                after = entry.position
            if not follow:
                return
            await asyncio.sleep(0.5)

    with_log(which.place(newest=True), follow_on)


@command.command("search")
@_on_log
@click.option("--who", metavar="GLOB", help="The caller: the id of a principal.")
@click.option("--subject", metavar="GLOB", help="The tool, prompt or URI.")
@click.option("--called", metavar="GLOB", help="The old name by which a tool was called; '?*' for any.")
@click.option("--kind", metavar="GLOB", help="call, read, follow, get, complete, intent, refusals, pruned, seal.")
@click.option("--effect", metavar="GLOB", help="read, write, destructive, open-world.")
@click.option("--outcome", metavar="GLOB", help="ok, error, refused, asked, cancelled, abandoned.")
@click.option("--code", metavar="GLOB", help="The code of the error: TT….")
@click.option("--rule", metavar="GLOB", help="The rule that decided.")
@click.option("--trace", metavar="GLOB", help="The trace.")
@click.option("--instance", metavar="GLOB", help="The server: 'NAME (INSTANCE)'.")
@click.option(
    "--since", default="", metavar="TIME", help="From this time on: YYYY-MM-DD, or with THH:MM behind it; UTC."
)
@click.option("--until", default="", metavar="TIME", help="Up to this time, that day or minute included.")
@click.option("--unfinished", "is_unfinished", is_flag=True, help="Only calls that began and have no outcome.")
@click.option(
    "-n", "count", type=click.IntRange(1), default=1000, show_default=True, help="The largest number of records."
)
@_json
def search(
    which: Which,
    since: str,
    until: str,
    is_unfinished: bool,
    count: int,
    as_json: bool,
    **globs: str,
) -> None:
    """Show the records that match all options, of TARGET, or of the log that was written last.

    GLOB: * stands for anything, ? for one character.
    """
    place, globs = which.place(newest=True), {name: glob for name, glob in globs.items() if glob}

    async def find(log: Log) -> list[Entry]:
        with indexed(log, place) as index:
            if is_unfinished:
                matches = matching(globs, since, until)
                return [entry for entry in await unfinished(log, index) if matches(record_of(entry))][:count]
            results: list[Entry] = []
            async for entry in matching_entries(log, globs, since, until, index):
                results.append(entry)
                if len(results) == count:
                    break
            return results

    show(with_log(place, find), as_json)


@command.command("stats")
@_on_log
@click.option("--since", default="", metavar="TIME", help="From this time on, as for search.")
def stats(which: Which, since: str) -> None:
    """Count the calls of TARGET, or of the log that was written last, by outcome, tool, caller and error."""
    place, matches = which.place(newest=True), matching({}, since)

    async def count(log: Log) -> tuple[Stats, int]:
        stats = Stats()
        with indexed(log, place) as index:
            async for entry in matching_entries(log, {}, since, index=index):
                stats.add(record_of(entry))
            return stats, len([entry for entry in await unfinished(log, index) if matches(record_of(entry))])

    figures, open = with_log(place, count)
    tell(f"{figures.records} operations, {open} unfinished")
    _table("outcome", ((name, str(number)) for name, number in figures.outcomes.most_common()))
    _table("what", ((name, _each(ways), _times(figures, name)) for name, ways in _most(figures.subjects)))
    _table("who", ((name, _each(ways)) for name, ways in _most(figures.callers)))
    _table("error", ((code, str(number)) for code, number in figures.codes.most_common(20)))


def _table(title: str, rows: Iterable[tuple[str, ...]]) -> None:
    if lines := list(rows):
        tell(f"\n{title}", bold=True)
        show_rows(lines)


def _most(counters: Mapping[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    return sorted(counters.items(), key=lambda item: -item[1].total())[:20]


def _times(stats: Stats, name: str) -> str:
    return f"median {stats.percentile(name, 0.5):g} ms, 95 % {stats.percentile(name, 0.95):g} ms"


def _each(ways: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {way}" for way, number in sorted(ways.items(), key=lambda item: -item[1]))


@command.command("verify")
@_on_log
@click.option("--seal", metavar="FILE|URL", help="Seals stored elsewhere. Default: the file beside an SQLite log.")
@click.option(
    "--key", metavar="FILE", help="The key that signed when the log was pruned. Default: the key of this user."
)
@click.option("--unsealed", is_flag=True, help="Accept a log without a seal: its end may be cut off.")
def verify_command(which: Which, seal: str | None, key: str | None, unsealed: bool) -> None:
    """Verify the log of TARGET, or the log that was written last: no record was changed, removed, moved or cut off.

    Exits with 1 if one was, or without a seal. The first words of the output are the verdict.
    """
    place = which.place(newest=True)
    seal_place = seal or beside(place, ".seal")
    marks = _stored_seals(seal_place, place) if seal or Path(seal_place).is_file() else []
    secret = signing_key(key_file(key), make=False)
    report: VerifyReport = with_log(place, lambda log: examine(log, marks, secret))
    is_proven = bool(marks) or unsealed
    if report.faults:
        _say(REPORT_AUDIT_FAULT_COUNT, count=len(report.faults))
    else:
        _say(_proof(is_sealed=bool(marks), is_elsewhere=seal is not None) if is_proven else AUDIT_SEAL_NOT_FOUND)
    for fault in report.faults:
        _say(_FAULTS[fault.kind], position=fault.position, end=fault.end)
    _say(
        REPORT_AUDIT_LOG_SEALED if marks else REPORT_AUDIT_LOG_UNSEALED,
        records=report.entries,
        position=report.head.position,
        hash=report.head.hash,
        seals=len(marks),
        place=without_password(seal_place),
    )
    if report.faults or not is_proven:
        sys.exit(1)


def _say(code: str, **facts: Any) -> None:
    tell(sentence(code, current_language(), facts))


def _proof(*, is_sealed: bool, is_elsewhere: bool) -> str:
    """The code of the sentence on the strength of the proof that a log without faults gives."""
    if not is_sealed:
        return REPORT_AUDIT_INTACT_WITHOUT_SEAL
    return REPORT_AUDIT_INTACT if is_elsewhere else REPORT_AUDIT_INTACT_SEAL_BESIDE


_FAULTS: Mapping[str, str] = {
    "edited": AUDIT_RECORD_CHANGED,
    "batch": AUDIT_BATCH_CHANGED,
    "inserted": AUDIT_RECORD_INSERTED,
    "missing": AUDIT_RECORDS_REMOVED,
    "unlinked": AUDIT_CHAIN_BROKEN,
    "rewritten": AUDIT_SEALED_RECORD_CHANGED,
    "cut": AUDIT_SEALED_RECORD_MISSING,
    "outside": AUDIT_RECORD_POSITION_INVALID,
    "unsigned": AUDIT_PRUNING_UNPROVEN,
}


def _stored_seals(seal: str, place: str) -> list[Mark]:
    if not is_log(seal):
        return read_seals(Path(seal))
    if marks := with_log(seal, lambda log: seals_in(log, name_of(place))):
        return marks
    raise ConfigurationError.of(SEAL_FILE_OF_OTHER_LOG, seal=without_password(seal), log=name_of(place))


@command.command("export")
@_on_log
@click.option("--after", type=click.IntRange(0), metavar="POSITION", help="Only records after this position.")
def export(which: Which, after: int | None) -> None:
    """Print all records with their hashes as JSON Lines."""

    async def write(log: Log) -> None:
        async for entry in entries(log, LOWEST if after is None else after):
            tell_data(line(entry))

    with_log(which.place(), write)


@command.command("prune")
@_on_log
@click.option(
    "--before", required=True, type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), metavar="DATE", help="UTC."
)
@click.option("--key", metavar="FILE", help="The key that signs, made if it is missing. Default: the key of this user.")
def prune_command(which: Which, before: datetime, key: str | None) -> None:
    """Delete the records before DATE. A signed record stays, so that the others can be verified."""
    secret = cast("bytes", signing_key(key_file(key), make=True))
    place, moment = which.place(), before.replace(tzinfo=UTC)

    async def delete(log: Log) -> int:
        count = await prune(cast("Prunable", log), moment, secret)
        with indexed(log, place) as index:
            if index is not None:
                index.delete()  # values of deleted records
        return count

    count = with_log(place, delete)
    tell(f"{count} records deleted")

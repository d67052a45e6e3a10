"""``tooltrue audit``: the audit logs of servers, and their verification."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import click

from tooltrue.cli.audit_log import Which, indexed, key_file, show, with_log
from tooltrue.cli.language import current_language
from tooltrue.cli.output import show_rows
from tooltrue.cli.printing import tell, tell_data
from tooltrue.cli.usage import Verbs
from tooltrue.policy.audit.log_queries import Stats, entries, matching, outside, record_of, unfinished
from tooltrue.policy.audit.log_queries import search as matching_entries
from tooltrue.policy.audit.verification import verified
from tooltrue.state.log import LOWEST, Entry, Log, exported
from tooltrue.state.retention import Prunable, prune, signing_key
from tooltrue.state.seal import is_log

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
    secret = signing_key(key_file(key), make=False)
    if seal is not None and is_log(seal):
        with_log(seal, _is_there)
    result = with_log(place, lambda log: verified(log, place, secret, seal=seal, unsealed=unsealed))
    for one in result.sentences:
        tell(one.say(current_language()))
    if not result.is_sound:
        sys.exit(1)


async def _is_there(log: Log) -> None:
    """Reading seals must not create a log where there is none, which ``with_log`` sees to."""


@command.command("export")
@_on_log
@click.option("--after", type=click.IntRange(0), metavar="POSITION", help="Only records after this position.")
def export(which: Which, after: int | None) -> None:
    """Print all records with their hashes as JSON Lines."""

    async def write(log: Log) -> None:
        async for entry in entries(log, LOWEST if after is None else after):
            tell_data(exported(entry))

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

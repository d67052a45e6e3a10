"""``tooltrue doctor``: diagnosis of tools in use from an audit log, with causes and places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from tooltrue.cli.audit_log import Which, records_in, with_log
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS, Finite
from tooltrue.cli.printing import tell, with_own_output
from tooltrue.cli.wording import AUDIT_LOG_NOT_FOUND, AUDIT_LOG_REQUIRED
from tooltrue.contract.files import write_whole
from tooltrue.errors import ConfigurationError
from tooltrue.policy.audit.log_queries import entries, record_of
from tooltrue.state.log import Log
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.doctor.diagnosis_page import as_page
from tooltrue_check.doctor.diagnosis_text import as_json, as_text
from tooltrue_check.doctor.log_figures import LogFigures
from tooltrue_check.doctor.symptoms import Diagnosis, diagnose
from tooltrue_check.doctor.time_window import add_since, begin_of
from tooltrue_check.findings import check_contracts
from tooltrue_check.wording import DOCTOR_AUDIT_LOG_REQUIRED, FILE_NOT_AUDIT_LOG

__all__ = ["command"]

_FORMS: Final[Mapping[str, Callable[[Diagnosis, str], str]]] = {"text": as_text, "json": as_json, "html": as_page}


@with_own_output
@click.command("doctor", cls=TargetVerb, short_help="Find what goes wrong with tools in use.")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("--target", "targets", multiple=True, metavar="TARGET", help="The server, as for check. Repeatable.")
@click.option(
    "--since", default="", metavar="TIME", help="From this time on: 7d, 12h, 30m ago, or YYYY-MM-DD[THH:MM]; UTC."
)
@click.option(
    "--patience",
    type=Finite(0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="MINUTES",
    help="A caller that calls nothing for so long after a failure has given up.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*_FORMS]),
    default="text",
    show_default=True,
    help="The format of the report.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the report there.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for a server.")
@click.pass_context
def command(
    context: click.Context,
    logs: tuple[str, ...],
    targets: tuple[str, ...],
    family: FamilyOptions,
    since: str,
    patience: float,
    form: str,
    output: str | None,
    timeout: float,
) -> None:
    """Read the audit log of a server and report problems with its tools.

    LOG is the name of a server of this user, a file, or a URL, as for audit; or the output of `audit export` (.jsonl).
    Without LOG it is the only log that exists. With --target, the report includes the findings of check on the
    definitions, and tools that were never called.
    """
    language, figures, begin = context.obj or "en", LogFigures(patience * 60), begin_of(since, datetime.now(UTC))
    for log in logs or ("",):
        _read(log, figures, begin)
    figures.close()
    text = _FORMS[form](_diagnosis(figures, targets, family, timeout), language)
    if output is not None:
        write_whole(Path(output), text)
    else:
        tell(text, nl=False)


def _diagnosis(figures: LogFigures, targets: tuple[str, ...], family: FamilyOptions, timeout: float) -> Diagnosis:
    if not targets:
        return diagnose(figures)
    sources, unjudged = sources_of(targets, family, timeout)
    for one in unjudged:
        raise one.reason
    tools = sorted({name for source in sources for name in source.contract.tools})
    return diagnose(figures, tools, check_contracts((one.server, one.contract) for one in sources))


# -- records -----------------------------------------------------------------------------------------------------------


def _read(log: str, figures: LogFigures, since: str) -> None:
    path = Path(log)
    if path.suffix in (".jsonl", ".json", ".log"):
        _read_lines(path, figures, since)
        return

    async def all_of(opened: Log) -> None:
        async for entry in entries(opened):
            add_since(figures, record_of(entry), since)

    is_url, is_file = "://" in log or log.startswith("sqlite:"), path.suffix == ".db" or path.is_file()
    url = log if is_url else f"sqlite:{log}" if is_file else None
    try:
        with_log(Which(server=None if url or not log else log, url=url).place(), all_of)
    except ConfigurationError as error:
        if error.code in (
            AUDIT_LOG_NOT_FOUND,
            AUDIT_LOG_REQUIRED,
        ):  # these name options that this command does not have
            raise ConfigurationError.of(DOCTOR_AUDIT_LOG_REQUIRED, known=error.facts["known"]) from None
        raise


def _read_lines(path: Path, figures: LogFigures, since: str) -> None:
    before, count = figures.damaged, 0
    for count, (_, record) in enumerate(records_in(path), 1):  # noqa: B007 (how many there are is asked below)
        add_since(figures, {"kind": "damaged"} if record is None else record, since)
    if count and figures.damaged - before == count:
        raise ConfigurationError.of(FILE_NOT_AUDIT_LOG, file=str(path), count=count)

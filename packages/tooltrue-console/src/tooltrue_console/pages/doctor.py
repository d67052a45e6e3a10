"""*Doctor*: the symptoms of the tools in an audit log, each with its likely cause and the calls that show it.

A diagnosis reads the newest records of a log, at most :data:`MAX_READ`, on a thread of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from tooltrue.errors import ConfigurationError, TooltrueError
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.policy.wording import CALLER_PAUSED
from tooltrue.state.urls import open_log
from tooltrue.tools.wording import TOOL_ARGUMENTS_INVALID
from tooltrue.wording import TOOL_NOT_FOUND
from tooltrue_check.doctor.diagnosis_text import headline
from tooltrue_check.doctor.log_figures import LogFigures, ToolFigures
from tooltrue_check.doctor.symptoms import Diagnosis, Symptom, diagnose
from tooltrue_check.doctor.time_window import add_since, begin_of
from tooltrue_check.findings import RuleFinding
from tooltrue_console.desk import Desk
from tooltrue_console.operator_file import excused_by, excuses_of
from tooltrue_console.visits import Answer, Endpoint, Html, PageVisit

__all__ = ["ENDPOINTS", "MAX_READ", "finding_row"]

MAX_READ: Final = 200_000
_PAGE: Final = 500
_SINCE: Final = "7d"
_EVIDENCE: Final[Mapping[str, Mapping[str, str]]] = {
    "wrong": {"code": TOOL_ARGUMENTS_INVALID},
    "failing": {"outcome": "error"},
    "refused": {"outcome": "refused"},
    "paused": {"code": CALLER_PAUSED},
    "guessed": {"code": TOOL_NOT_FOUND},
}
"""The filters of *Calls* that show the calls of a symptom, beside its tool."""


async def show(desk: Desk, visit: PageVisit) -> Answer:
    name, since = visit.query.get("log") or await desk.logs.newest(), visit.query.get("since", _SINCE)
    values: dict[str, Any] = {
        "names": desk.logs.names(),
        "log": name,
        "since": since,
        "diagnosis": None,
        "sentences": [],
    }
    if name is None:
        return Html("doctor.html", values, title="doctor")
    url = desk.logs.url(name)
    try:
        begin = begin_of(since.strip(), datetime.fromtimestamp(desk.clock(), UTC))
    except TooltrueError as error:
        return Html("doctor.html", {**values, "sentences": [error.say(visit.language)]}, title="doctor")
    try:
        figures, is_part = await desk.long_reads.run(_figures, url, begin)
    except ConfigurationError as error:
        return Html("doctor.html", {**values, "sentences": [error.say(visit.language)]}, title="doctor")
    diagnosis = diagnose(figures, *await _published(desk, name))
    values["diagnosis"] = _diagnosis_values(diagnosis, name, begin, visit.language)
    values["part"] = MAX_READ if is_part else None
    return Html("doctor.html", values, title="doctor")


def _figures(url: str, begin: str) -> tuple[LogFigures, bool]:
    """The figures of the newest records, and whether there are older ones that were not read."""

    async def run() -> tuple[LogFigures, bool]:
        figures = LogFigures()
        async with open_log(url) as log:
            end = (await log.head()).position
            after = start = max(0, end - MAX_READ)
            while after < end and (page := await log.read(after, min(_PAGE, end - after))):
                for entry in page:
                    add_since(figures, record_of(entry), begin)
                after = page[-1].position
        figures.close()
        return figures, start > 0

    return asyncio.run(run())


async def _published(desk: Desk, server: str) -> tuple[list[str] | None, Sequence[RuleFinding]]:
    """The tools of the server with this log and the findings in them; ``None`` if its contract is not known."""
    named = [one for one in await desk.contracts.all() if one.server == server and one.problem is None]
    tools = sorted({name for one in named for name in one.contract.tools})
    excuses = excuses_of(desk.settings)
    every = [finding for one in named for finding in await desk.contracts.findings(one) or ()]
    findings = [finding for finding in every if excused_by(finding, excuses) is None]
    return tools if named else None, findings


# --- what is shown ----------------------------------------------------------------------------------------------------


def _diagnosis_values(diagnosis: Diagnosis, log: str, begin: str, language: str) -> Mapping[str, Any]:
    return {
        "headline": headline(diagnosis, language),
        "symptoms": [_symptom(one, log, begin, language) for one in diagnosis.symptoms],
        "has_calls": bool(diagnosis.figures.records),
        "gaps": diagnosis.gaps(language),
        "tools": [_tool(tool, use) for tool, use in sorted(diagnosis.figures.tools.items())],
    }


def _symptom(one: Symptom, log: str, begin: str, language: str) -> Mapping[str, Any]:
    filters = {"log": log, "since": begin, "subject": _glob(one.tool), **_EVIDENCE.get(one.kind, {})}
    query = urlencode({name: value for name, value in filters.items() if value}, errors="replace")
    return {
        "code": one.code,
        "text": one.say(language),
        "cause": one.because(language),
        "calls": query if one.count else "",
        "findings": [finding_row(finding, language) for finding in one.findings],
    }


def _glob(tool: str) -> str:
    """A pattern for exactly this name."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in tool)


def finding_row(finding: RuleFinding, language: str) -> Mapping[str, str]:
    """A finding of check as a page shows it."""
    return {
        "code": finding.code,
        "level": finding.level.value,
        "place": finding.place,
        "text": finding.say(language),
        "instead": finding.instead(language),
    }


def _tool(tool: str, use: ToolFigures) -> Mapping[str, Any]:
    return {
        "name": tool,
        "calls": use.calls,
        "failed": use.outcomes["error"] + use.outcomes["abandoned"] + use.outcomes["cancelled"],
        "refused": use.outcomes["refused"],
        "median": f"{use.milliseconds.percentile(0.5):.0f} ms",
        "slowest": f"{use.milliseconds.percentile(0.95):.0f} ms",
        "size": f"{use.size.percentile(0.95):.0f} B",
    }


ENDPOINTS: Final[Sequence[Endpoint]] = (Endpoint("GET", "/doctor", show),)

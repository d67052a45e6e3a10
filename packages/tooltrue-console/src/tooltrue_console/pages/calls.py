"""*Calls*: the records of an audit log, the newest first, with filters, and one of them in detail."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from tooltrue.errors import ConfigurationError, UnknownTool
from tooltrue.jsonrpc.messages import is_array, is_number, is_object
from tooltrue.policy.audit.log_queries import record_of, search_back
from tooltrue.policy.plan import Planned
from tooltrue.server.service import SILENT
from tooltrue.state.log import Entry
from tooltrue.state.urls import open_log
from tooltrue.tools.vocabulary import Principal, RequestContext
from tooltrue_console.desk import Desk
from tooltrue_console.live_parts import live_part
from tooltrue_console.visits import Answer, Endpoint, Html, PageVisit
from tooltrue_console.wording import CONSOLE_RECORD_UNKNOWN

__all__ = ["ENDPOINTS", "FILTERS", "read_record", "record_table", "row"]

FILTERS: Final[Mapping[str, str]] = {
    "who": "caller",
    "subject": "tool",
    "instance": "server",
    "outcome": "outcome",
    "rule": "rule",
    "code": "code",
    "kind": "kind",
}
"""The members of a record that a search filters by, and their phrases."""
_CALLS: Final[Mapping[str, str]] = {"kind": "call"}
OUTCOMES: Final = ("ok", "error", "refused", "asked", "cancelled", "abandoned")
_PAGE: Final = 50
_EFFORT: Final = 4_000
"""Records that one view reads at the most, so that it takes no longer than a page may."""
_MOST_WRITTEN: Final = 10_000
"""Records that may have been written between two looks at a live table; after more, it is searched anew."""


async def show_calls(desk: Desk, visit: PageVisit) -> Answer:
    return Html("calls.html", await record_table(desk, visit, "/calls", _CALLS), title="calls")


async def record_table(desk: Desk, visit: PageVisit, path: str, defaults: Mapping[str, str]) -> Mapping[str, Any]:
    """The values of a page of records: those of ``visit.query``, which names the log, the filters, and the position
    before which the page begins."""
    query = {name: value for name, value in visit.query.items() if value}
    name = query.get("log") or await desk.logs.newest()
    common: dict[str, Any] = {
        "names": desk.logs.names(),
        "log": name,
        "query": query,
        "path": path,
        "outcomes": OUTCOMES,
    }
    if name is None:
        return {**common, "rows": [], "share": None, "older": None, "newer": False, "events": ""}
    before = query.get("before", "")
    async with desk.logs.open(name) as opened:
        position = (await opened.log.head()).position
        page = await search_back(
            opened.log,
            _globs(query, defaults),
            query.get("since", ""),
            query.get("until", ""),
            opened.index,
            before=int(before) if before.isdecimal() and len(before) < 19 else None,
            most=_PAGE,
            effort=_EFFORT,
        )
    selection = {**query, "log": name}
    return {
        **common,
        "rows": [row(entry) for entry in page.entries],
        "position": position,
        "share": opened.share,
        "older": None if page.before is None else _before(query, name, page.before),
        "newer": bool(before),
        "events": "" if before else urlencode(selection),
        "newest": urlencode({key: value for key, value in selection.items() if key != "before"}),
    }


def _globs(query: Mapping[str, str], defaults: Mapping[str, str]) -> Mapping[str, str]:
    globs = {member: query.get(member, defaults.get(member, "")) for member in FILTERS}
    return {member: glob for member, glob in globs.items() if glob}


def _before(query: Mapping[str, str], log: str, position: int) -> str:
    """The query of the page that begins before ``position``."""
    return urlencode({**query, "log": log, "before": str(position)})


def row(entry: Entry) -> Mapping[str, Any]:
    """A record as a row of the table."""
    record = record_of(entry)
    count = record.get("count")
    return {
        "position": entry.position,
        "at": str(record.get("at", ""))[:19].replace("T", " "),
        "kind": str(record.get("kind", "")),
        "subject": str(record.get("subject", "")) if count is None else f"{count} ×",
        "who": str(record.get("who", "")),
        "server": str(record.get("server") or record.get("instance", "")),
        "outcome": str(record.get("outcome", "")),
        "code": str(record.get("code", "")),
        "rule": str(record.get("rule", "")),
        "ms": record.get("ms"),
        "arguments": json.dumps(record["arguments"], ensure_ascii=False)[:160] if record.get("arguments") else "",
    }


_SHOWN: Final = (
    *(
        "at",
        "kind",
        "subject",
        "called",
        "who",
        "scopes",
        "server",
        "instance",
        "effect",
        "outcome",
        "decision",
        "rule",
    ),
    *(
        "code",
        "ms",
        "queue_ms",
        "question_ms",
        "bytes_in",
        "bytes_out",
        "rounds",
        "paused",
        "trace",
        "id",
        "masked",
        "wrong",
        "notes",
    ),
)


async def show_one(desk: Desk, visit: PageVisit) -> Answer:
    """One record, with everything that it holds."""
    name, position = visit.parts["log"], int(visit.parts["position"])
    entry = await read_record(desk, name, position)
    record = record_of(entry)
    facts = {member: _text(record[member]) for member in _SHOWN if member in record}
    others = {member: _text(record[member]) for member in record if member not in {*_SHOWN, "arguments", "steps"}}
    arguments = record.get("arguments")
    values: dict[str, Any] = {
        "log": name,
        "position": position,
        "hash": entry.hash,
        "writer": entry.writer,
        "facts": {**facts, **others},
        "arguments": arguments if is_object(arguments) else {},
        "outcome": str(record.get("outcome", "")),
        "times": _times(record),
        "steps": _steps(record),
        "plan": _plan(desk, name, record),
    }
    return Html("call.html", values, title="calls")


def _times(record: Mapping[str, Any]) -> Mapping[str, float]:
    """The milliseconds of a call that waited: for a slot, for a person, and the rest, in which its layers and the tool
    have worked."""
    total, queue, question = (record.get(name) for name in ("ms", "queue_ms", "question_ms"))
    if not is_number(total):
        return {}
    waited = {"time_queue": queue, "time_question": question}
    parts = {name: float(one) for name, one in waited.items() if is_number(one)}
    return {**parts, "time_tool": max(0.0, round(total - sum(parts.values()), 3))}


def _steps(record: Mapping[str, Any]) -> Sequence[tuple[str, float]]:
    """The steps of a traced call, each with its milliseconds."""
    steps = record.get("steps")
    pairs = [step for step in steps if is_array(step) and len(step) == 2] if is_array(steps) else []
    return [(str(name), float(milliseconds)) for name, milliseconds in pairs if is_number(milliseconds)]


def _plan(desk: Desk, log: str, record: Mapping[str, Any]) -> Sequence[str]:
    """The steps that the server beside has at present for this tool and caller, if it has written the record."""
    server, subject = desk.settings.server, record.get("subject")
    if server is None or server.name != log or record.get("kind") != "call" or not isinstance(subject, str):
        return ()
    provider, scopes = server.provider, record.get("scopes")
    if not isinstance(provider, Planned):
        return ()
    names = [name for name in scopes if isinstance(name, str)] if is_array(scopes) else []
    caller = Principal(str(record.get("who", "")), frozenset(names))
    try:
        tool = provider.innermost.known_tool(subject, RequestContext(caller, SILENT))
    except UnknownTool:
        return ()
    return () if tool is None else (*provider.plan_of(tool, caller).names, "tool")


async def read_record(desk: Desk, name: str, position: int) -> Entry:
    """One entry of a log. ``ConfigurationError`` if there is none."""
    async with desk.logs.open(name) as opened:
        entry = next(iter(await opened.log.read(position - 1, 1)), None)
    if entry is None or entry.position != position:
        raise ConfigurationError.of(CONSOLE_RECORD_UNKNOWN, name=name[:80], position=position)
    return entry


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# --- live -------------------------------------------------------------------------------------------------------------


async def follow(desk: Desk, visit: PageVisit) -> Answer:
    """The table, for a page that is open already."""
    query = frozenset((name, value) for name, value in visit.query.items() if value)
    return live_part(desk, visit, ("calls", query), _NewestRecords(desk, visit).look)


class _NewestRecords:
    """The newest records of a selection. A look reads what was written since the last one."""

    def __init__(self, desk: Desk, visit: PageVisit) -> None:
        self._desk = desk
        self._visit = visit
        self._part: Html | None = None

    async def look(self) -> Html:
        part = self._part
        if part is not None and part.values["share"] is None and part.values["log"] is not None:
            values = await self._continued(part.values)
        else:
            values = await record_table(self._desk, self._visit, "/calls", _CALLS)
        if part is None or values is not part.values:
            self._part = part = Html("_records.html", values)
        return part

    async def _continued(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        query, last = values["query"], values["position"]
        async with open_log(self._desk.logs.url(values["log"])) as log:
            position = (await log.head()).position
            if position == last:
                return values
            if not last < position <= last + _MOST_WRITTEN:
                return await record_table(self._desk, self._visit, "/calls", _CALLS)
            globs = _globs(query, _CALLS)
            since, until = query.get("since", ""), query.get("until", "")
            page = await search_back(log, globs, since, until, most=_PAGE, effort=position - last)
        rows = [row(entry) for entry in page.entries if entry.position > last] + values["rows"]
        changed: dict[str, Any] = {"position": position, "rows": rows[:_PAGE]}
        if len(rows) > _PAGE:
            changed["older"] = _before(query, values["log"], rows[_PAGE - 1]["position"])
        return {**values, **changed}


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/calls", show_calls),
    Endpoint("GET", "/calls/events", follow),
    Endpoint("GET", "/calls/{log}/{position:int}", show_one),
)

"""*Contracts*: the tools of each server as a model sees them, the findings in them, and a changed definition to accept
or refuse.

A decision is bound to what was shown: the form names the accepted and the published contract and all the rest of the
review by digests, and a contract that has changed since is refused.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tooltrue.contract.contract import Contract, place
from tooltrue.contract.diff import ContractChange, Diff
from tooltrue.contract.diff_phrases import class_counts, class_name
from tooltrue.contract.digests import Definition, digest
from tooltrue.contract.wording import CHANGE_TOOL_RENAMED
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.host.pins import Pin, Review
from tooltrue.jsonrpc.messages import encode, is_array, is_object
from tooltrue.policy.consent.argument_display import display_document, display_text
from tooltrue.tools.search.token_estimate import estimated
from tooltrue_check.excuses import Excuse
from tooltrue_check.findings import RuleFinding
from tooltrue_console.contracts import BESIDE, MAX_CHECKED, ContractSource
from tooltrue_console.desk import Desk
from tooltrue_console.operator_file import excused_by, excuses_of
from tooltrue_console.pages.doctor import finding_row
from tooltrue_console.sessions import ADMIN
from tooltrue_console.side_by_side import side_by_side
from tooltrue_console.visits import Answer, Endpoint, Html, OtherPage, PageVisit
from tooltrue_console.wording import (
    CONSOLE_CONTRACT_CHANGED,
    CONSOLE_CONTRACT_TOO_LARGE,
    CONSOLE_FORM_INVALID,
    NOTE_CONSOLE_TOO_MANY_TOOLS,
)

__all__ = ["ENDPOINTS", "MAX_REVIEWED"]

MAX_REVIEWED: Final = 1_000_000
"""Characters of changed definitions that a page shows. A larger change is decided elsewhere, since it must be seen in
full."""
_MAX_TOOLS: Final = 500
_MAX_DEFINITION: Final = 20_000
_HISTORY: Final = 20


async def show_all(desk: Desk, visit: PageVisit) -> Answer:
    excuses = excuses_of(desk.settings)
    rows = [await _row(desk, one, excuses, visit.language) for one in await desk.contracts.all()]
    return Html("contracts.html", {"rows": rows}, title="contracts")


async def _row(desk: Desk, source: ContractSource, excuses: Sequence[Excuse], language: str) -> Mapping[str, Any]:
    findings = await desk.contracts.findings(source)
    open_findings = (
        None if findings is None else [one for one in findings if not excused_by(one, [*excuses, *source.excuses])]
    )
    tokens = await asyncio.to_thread(_tokens, source.contract)
    return {
        "key": source.key,
        "server": source.server,
        "tools": len(source.contract.tools),
        "tokens": sum(tokens.values()),
        "findings": None if open_findings is None else len(open_findings),
        "state": _state(source),
        "problem": "" if source.problem is None else source.problem.say(language),
    }


def _state(source: ContractSource) -> str:
    if source.problem is not None:
        return "contract_broken"
    if source.key == BESIDE:
        return "contract_beside"
    if source.file is not None:
        return "contract_file"
    if source.review is None:
        return "contract_accepted"
    return "contract_refused" if source.review.is_refused else "contract_pending"


def _tokens(contract: Contract) -> Mapping[str, int]:
    """The approximate number of tokens of the definition of each tool."""
    return {name: estimated(encode(dict(one)).decode()) for name, one in contract.tools.items()}


# --- one contract -----------------------------------------------------------------------------------------------------


async def show_one(desk: Desk, visit: PageVisit) -> Answer:
    source = await desk.contracts.one(visit.parts["key"])
    if source.problem is not None:
        raise source.problem
    findings = await desk.contracts.findings(source)
    tokens = await asyncio.to_thread(_tokens, source.contract)
    excuses = [*excuses_of(desk.settings), *source.excuses]
    sentences = [] if source.note is None else [source.note.say(visit.language)]
    if findings is None:
        facts = {"server": source.server, "count": len(source.contract.tools), "limit": MAX_CHECKED}
        sentences.append(ConfigurationError.of(NOTE_CONSOLE_TOO_MANY_TOOLS, **facts).say(visit.language))
    review = None
    try:
        if source.review is not None:
            review = await asyncio.to_thread(_review, source, source.review, visit.language)
    except ConfigurationError as error:
        sentences.append(error.say(visit.language))
    history: list[Mapping[str, Any]] = []
    try:
        history = [*map(_act, await desk.acts.about("contract", source.key, _HISTORY))]
    except (ConfigurationError, StateError) as error:
        sentences.append(error.say(visit.language))
    values = {
        "key": source.key,
        "server": source.server,
        "has_history": source.key != BESIDE,
        "is_pinned": source.pin is not None,
        "file": "" if source.file is None else str(source.file),
        "pin": source.contract.pin,
        "instructions": source.contract.instructions or "",
        "tools": _tools(source.contract, tokens, findings or (), excuses, visit.language),
        "left_out": max(0, len(source.contract.tools) - _MAX_TOOLS),
        "tokens": sum(tokens.values()),
        "review": review,
        "may_decide": visit.person.may(ADMIN),
        "history": history,
        "is_behind": source.file is not None and bool(history) and history[0]["published"] != source.contract.pin,
        "sentences": sentences,
    }
    return Html("contract.html", values, title="contracts")


def _tools(
    contract: Contract,
    tokens: Mapping[str, int],
    findings: Sequence[RuleFinding],
    excuses: Sequence[Excuse],
    language: str,
) -> list[Mapping[str, Any]]:
    of_tool, excused = defaultdict[str, list[Mapping[str, str]]](list), defaultdict[str, list[Mapping[str, str]]](list)
    for finding in findings:
        row = finding_row(finding, language)
        if (excuse := excused_by(finding, excuses)) is None:
            of_tool[finding.tool].append(row)
        else:
            excused[finding.tool].append({**row, "reason": excuse.reason, "where": excuse.place})
    return [
        {
            "name": name,
            "tokens": tokens[name],
            "description": str(contract.tools[name].get("description", "")),
            "definition": _cut(display_document(dict(contract.tools[name]))),
            "findings": of_tool[name],
            "excused": excused[name],
        }
        for name in sorted(contract.tools)[:_MAX_TOOLS]
    ]


def _act(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A decision with the changes that it is about, as they were shown and are in its record."""
    members = ("at", "decision", "subject", "who", "address", "how", "outcome", "code", "accepted", "published")
    display = record.get("arguments")
    changes = display.get("changes") if is_object(display) else ()
    is_decided = _is_of(str(record.get("subject", ""))) if record.get("decision") == "accept definition" else _is_any
    return {
        **{member: str(record.get(member, "")) for member in members},
        "changes": [
            {member: str(change.get(member, "")) for member in ("class", "path", "text")}
            for change in (changes if is_array(changes) else ())
            if is_object(change) and is_decided(str(change.get("path", "")))
        ],
    }


def _is_any(path: str) -> bool:
    return True


def _is_of(name: str) -> Callable[[str], bool]:
    """Whether a path leads into a definition of this name."""
    places = [place((section, name)) for section, _ in Contract().sections()]
    return lambda path: any(path == one or path.startswith((f"{one}.", f"{one}[")) for one in places)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_DEFINITION else f"{text[:_MAX_DEFINITION]}…"


# --- a change that waits ----------------------------------------------------------------------------------------------


def _review(source: ContractSource, review: Review, language: str) -> Mapping[str, Any]:
    """The pending change in full. ``ConfigurationError`` if it is too large."""
    entries = _entries(source, review, language)
    if (size := sum(one["size"] for one in entries)) > MAX_REVIEWED:
        raise ConfigurationError.of(CONSOLE_CONTRACT_TOO_LARGE, server=source.server, size=size, limit=MAX_REVIEWED)
    return {
        "counts": class_counts(review.changes, language),
        "is_refused": review.is_refused,
        "entries": entries,
        "digests": _digests(source, review),
    }


def _entries(source: ContractSource, review: Review, language: str) -> list[Mapping[str, Any]]:
    """The changes by name, as they are accepted: a tool and a prompt of one name are one entry."""
    changes: dict[str, list[ContractChange]] = {name: [] for name in sorted(review.names)}
    for change in review.changes.changes:
        changes.setdefault(change.subject, []).append(change)
    return [_entry(source, review, name, some, language) for name, some in changes.items()]


def _entry(
    source: ContractSource, review: Review, name: str, changes: Sequence[ContractChange], language: str
) -> Mapping[str, Any]:
    texts = [*_texts(source, name, changes)]
    return {
        "name": name,
        "key": _entry_key(name),
        "classes": class_counts(Diff(tuple(changes)), language),
        "changes": [
            {
                "kind": one.kind.value,
                "class": class_name(one.kind, language),
                "place": one.place,
                "text": one.say(language),
            }
            for one in changes
        ],
        "findings": [
            {"level": one.severity.value, "place": one.place, "text": one.say(language)}
            for one in review.findings.get(name, ())
        ],
        "lines": [line for before, after in texts for line in side_by_side(before, after)],
        "size": sum(len(before) + len(after) for before, after in texts),
    }


def _entry_key(name: str) -> str:
    """The name of an entry in a form, where a text of a stranger would be changed by the escapes of a page."""
    return digest(name)


def _texts(source: ContractSource, name: str, changes: Sequence[ContractChange]) -> Iterator[tuple[str, str]]:
    """The accepted and the published text of each definition of this name that differ; of the instructions for an empty
    name."""
    accepted, published = source.contract, source.published or Contract()
    if not name:
        yield display_text(accepted.instructions or ""), display_text(published.instructions or "")
        return
    was = next((str(one.facts["was"]) for one in changes if one.code == CHANGE_TOOL_RENAMED), name)
    for (section, before), (_, after) in zip(accepted.sections(), published.sections(), strict=True):
        old = before.get(was if section == "tools" else name)
        new = after.get(name)
        if old != new:
            yield _text(old), _text(new)


def _text(definition: Definition | None) -> str:
    return "" if definition is None else display_document(dict(definition))


def _digests(source: ContractSource, review: Review) -> Mapping[str, str]:
    """The digests that bind a decision to what was shown: both contracts, and the rest of the review."""
    return {"accepted": source.contract.pin, "published": review.digest, "shown": digest(review.data())}


# --- decisions --------------------------------------------------------------------------------------------------------


async def accept(desk: Desk, visit: PageVisit) -> Answer:
    """Accept one entry, or without one all of them and the instructions."""
    key = visit.form.get("entry")
    if key is None:
        raise ConfigurationError.of(CONSOLE_FORM_INVALID)
    return await _decide(desk, visit, "accept definition" if key else "accept contract", key)


async def refuse(desk: Desk, visit: PageVisit) -> Answer:
    return await _decide(desk, visit, "refuse contract", "")


async def _decide(desk: Desk, visit: PageVisit, act: str, key: str) -> Answer:
    """Do what a person has decided, as they were shown the change, and record it."""
    source = await desk.contracts.one(visit.parts["key"])
    if source.problem is not None:
        raise source.problem
    pin, review, digests, names = await asyncio.to_thread(_bound, source, visit, key)
    origin = {"address": visit.address, "agent": visit.agent, "how": visit.person.how}
    subject = names[0] if names else source.server
    facts = {"contract": source.key, "instance": source.server, **digests}
    async with desk.acts.recorded(act, subject, visit.person, origin, review.shown(), **facts):
        if act == "refuse contract":
            await asyncio.to_thread(pin.refuse, review)
        else:
            await asyncio.to_thread(pin.accept, review, names or None)
    return OtherPage(f"/contracts/{source.key}")


def _bound(source: ContractSource, visit: PageVisit, key: str) -> tuple[Pin, Review, Mapping[str, str], Sequence[str]]:
    """The pin and its review, if it is the one that the page has shown in full, and the name of the entry."""
    pin, review = source.pin, source.review
    if pin is not None and review is not None:
        digests = _review(source, review, visit.language)["digests"]
        names = [name for name in review.names if name and _entry_key(name) == key]
        if all(visit.form.get(member) == value for member, value in digests.items()) and bool(names) == bool(key):
            return pin, review, digests, names
    raise ConfigurationError.of(CONSOLE_CONTRACT_CHANGED, server=source.server)


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/contracts", show_all),
    Endpoint("GET", "/contracts/{key}", show_one),
    Endpoint("POST", "/contracts/{key}/accept", accept, ADMIN),
    Endpoint("POST", "/contracts/{key}/refuse", refuse, ADMIN),
)

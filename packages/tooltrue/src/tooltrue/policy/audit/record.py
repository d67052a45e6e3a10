"""One audit record: the facts of an operation when it ends, and its text, which is composed on the log's thread."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from itertools import compress, groupby
from operator import attrgetter
from typing import Any

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.jsonrpc.messages import EncodedJson, canonical, datetimes, decode, encode, encode_lines
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.protocol.types import Value, field, replaced
from tooltrue.state.log import DraftRecord, timestamp
from tooltrue.tools.vocabulary import CallRecord, Principal

__all__ = ["MAX_ARGUMENTS", "Record", "RecordSource", "Refusals", "snapshot", "snapshot_of"]

MAX_ARGUMENTS = 8_192
"""Bytes of arguments that a record holds; of longer ones, it has the size and a digest."""
_MAX_NAME = 512
_MAX_SHARED = 100
_TRACEPARENT = LazyPattern("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


class _RecordBody(Value, frozen=True, omit_defaults=True, gc=False):
    """The members of a record in their order."""

    arguments: EncodedJson
    at: str
    bytes_in: int = 0
    bytes_out: int = 0
    called: str = ""
    code: str = ""
    decision: str = ""
    effect: str = ""
    id: str = ""
    instance: str = ""
    kind: str = ""
    masked: tuple[str, ...] = ()
    ms: float = 0.0
    notes: tuple[str, ...] = ()
    outcome: str = ""
    paused: int = 0
    question_ms: float | None = None
    queue_ms: float | None = None
    rounds: int = 0
    rule: str = ""
    scopes: tuple[str, ...] = ()
    server: str = ""
    steps: tuple[tuple[str, float], ...] = ()
    subject: str = ""
    trace: str = ""
    who: str = ""
    wrong: tuple[str, ...] = ()


class _SharingBody(Value, frozen=True, omit_defaults=True, gc=False):
    """The members of an ordinary record in their order. The encoded ``decision`` brings the members behind it along, up
    to ``ms``, and the encoded ``outcome`` those behind it."""

    arguments: EncodedJson
    at: datetime
    bytes_in: int = 0
    bytes_out: int = 0
    decision: EncodedJson = EncodedJson()
    ms: float = 0.0
    outcome: EncodedJson = EncodedJson()


class _SharedText(Value, frozen=True):
    """The part of the text that the ordinary records of an operation with equal trails have in common: encoded, the
    members from ``decision`` to ``ms``, and from ``outcome`` on. Not usable if each record needs a look of its own."""

    trail: CallRecord
    is_usable: bool
    decision: EncodedJson = EncodedJson()
    outcome: EncodedJson = EncodedJson()


class RecordSource(Value, frozen=True):
    """The members that all records of an operation by one caller have in common. ``instance`` identifies the server
    among those that share a log. ``shared_texts`` has the newest for each rule, and belongs to the log's thread."""

    masks: Masks
    instance: str
    kind: str
    subject: str
    principal: Principal
    shared_texts: dict[str, _SharedText] = field(default_factory=dict[str, "_SharedText"])

    def keep(self, shared: _SharedText) -> _SharedText:
        rule = shared.trail.rule
        if len(self.shared_texts) >= _MAX_SHARED:
            self.shared_texts.clear()
        self.shared_texts[rule] = shared
        return shared


class Record(Value, DraftRecord, frozen=True, gc=False):
    """The record of an operation. ``at`` and ``seconds`` are times of a clock; ``arguments`` are canonical JSON of
    those that came; all else is kept as it is until the text is needed."""

    source: RecordSource
    arguments: bytes
    size: int
    at: float
    traceparent: object
    trail: CallRecord
    rounds: int
    outcome: str = ""
    seconds: float = 0.0
    bytes_out: int = 0

    def text(self) -> str:
        body = self._checked_body()
        try:
            return encode(body).decode("ascii")
        except UnicodeError:  # not ASCII, or not even Unicode
            return _ascii(body)

    @classmethod
    def encode_all(cls, records: Sequence[Record], times: Sequence[float]) -> list[bytes]:
        """Return the text of each record. Ordinary ones share the greater part of it (:class:`_SharedText`). Their
        arguments are scanned for secrets together, and one by one only if there may be some."""
        from tooltrue.policy.sanitize.prescan import prescan  # noqa: PLC0415 - a server loads the search for secrets with its first call

        texts = _shared_texts(records)
        if prescan(b",".join([record.arguments for record in compress(records, texts)]), secrets=True):
            texts = [None] * len(records)
        bodies = [
            record._checked_body()
            if shared is None
            else _SharingBody(
                EncodedJson(record.arguments),
                at,
                record.size,
                record.bytes_out,
                shared.decision,
                record.seconds * 1e6 // 1.0 / 1e3,
                shared.outcome,
            )
            for record, shared, at in zip(records, texts, _moments(times), strict=True)
        ]
        text = encode_lines(bodies)
        lines = [*map(bytes.rstrip, BytesIO(text))]
        if text.isascii():
            return lines
        return [line if line.isascii() else record.text().encode() for record, line in zip(records, lines, strict=True)]

    @classmethod
    def times(cls, records: Sequence[Record]) -> list[float]:
        return [record.at for record in records]

    @classmethod
    def counts(cls, records: Sequence[Record]) -> str:
        found = dict[tuple[str, str, str], tuple[int, float]]()
        # Neighbours that are alike cost a fraction of a look at each.
        for (source, outcome), group in groupby(records, _SOURCE_AND_OUTCOME):
            alike = [*group]
            if outcome != "ok" and any(record.trail.paused for record in alike):
                return ""
            number, milliseconds = found.get(key := (source.instance, source.kind, outcome), (0, 0.0))
            seconds = sum([record.seconds for record in alike])
            found[key] = (number + len(alike), milliseconds + _milliseconds(seconds))
        try:
            return encode([(*key, *counted) for key, counted in found.items()]).decode()
        except UnicodeError:  # the name of a server that is not even Unicode
            return ""

    def shared_text(self) -> _SharedText:
        """Return the part of the text that this record, an ordinary one, has in common with others."""
        if not self.source.masks.is_plain(self.trail.tool):
            return _SharedText(self.trail, is_usable=False)
        text = replaced(self, arguments=b"{}", seconds=0.0005).text().encode()
        # Within a string, the quotes would be escaped.
        decision, _, outcome = text.partition(b',"decision":')[2].partition(b',"ms":0.5,"outcome":')
        return _SharedText(self.trail, True, EncodedJson(decision), EncodedJson(outcome[:-1]))

    def _checked_body(self) -> _RecordBody:
        """Return the members, with arguments and subject masked where they need it."""
        try:
            tool = self.trail.tool
            subject = tool.name if tool is not None and self.trail.called else self.said_subject()
            return self._body(*self._arguments(), subject)
        except Exception as error:  # noqa: BLE001 - a mask that was given: what it did not see is not written
            return self._body(encode({"[mask failed]": type(error).__name__}), (), "[mask failed]")

    def _arguments(self) -> tuple[bytes, tuple[str, ...]]:
        from tooltrue.policy.sanitize.prescan import prescan  # noqa: PLC0415 - a server loads the search for secrets with its first call

        masks, trail = self.source.masks, self.trail
        is_plain = trail.ran and masks.is_plain(trail.tool) and not prescan(self.arguments, secrets=True)
        if is_plain or self.arguments == b"{}":
            return self.arguments, ()
        masked, paths = masks.mask(decode(self.arguments), trail.tool)
        return canonical(masked), tuple(paths)

    def _body(self, arguments: bytes, masked: tuple[str, ...], subject: str) -> _RecordBody:
        source, trail, tool = self.source, self.trail, self.trail.tool
        trace = _trace(self.traceparent) if self.traceparent else ""
        # By position: keyword arguments would cost as much as all the rest.
        return _RecordBody(
            EncodedJson(arguments),
            timestamp(self.at),
            self.size,
            self.bytes_out,
            trail.called,
            trail.code,
            trail.decision or ("allow" if trail.ran or source.kind == "intent" else "deny"),
            "" if tool is None else tool.effect,
            trail.write_ahead_id,
            source.instance,
            source.kind,
            masked,
            _milliseconds(self.seconds),
            tuple(map(source.masks.text, trail.notes)) if trail.notes else (),
            self.outcome,
            trail.paused,
            _milliseconds(trail.asked) if trail.asked else None,
            _milliseconds(trail.queued) if trail.queued else None,
            self.rounds + 1 if self.rounds else 0,
            trail.rule,
            tuple(sorted(source.principal.scopes)),
            "" if tool is None else tool.server,
            tuple((step.name, _milliseconds(step.seconds)) for step in trail.steps) if trace else (),
            subject,
            trace,
            source.principal.id,
            tuple(source.masks.text(one[-_MAX_NAME:]) for one in trail.wrong) if trail.wrong else (),
        )

    def said_subject(self) -> str:
        """Return the subject without secrets. The subject of a tool that was found needs no mask: its author has named
        it."""
        subject = self.source.subject
        if self.trail.tool is not None:
            return subject
        subject = self.source.masks.text(subject[: 8 * _MAX_NAME])
        return subject if len(subject) <= _MAX_NAME else f"{subject[:_MAX_NAME]}…"


_SOURCE_AND_OUTCOME = attrgetter("source", "outcome")


def _shared_texts(records: Sequence[Record]) -> list[_SharedText | None]:
    """Return the shared text of each ordinary record, and ``None`` for the others."""
    texts = list[_SharedText | None]()
    for record in records:
        shared = None
        if record.outcome == "ok" and not (record.rounds or record.traceparent):
            source, trail = record.source, record.trail
            shared = source.shared_texts.get(trail.rule)
            if shared is None or shared.trail != trail:
                shared = source.keep(record.shared_text()) if _is_ordinary(trail) else None
        texts.append(shared if shared is not None and shared.is_usable else None)
    return texts


def _is_ordinary(trail: CallRecord) -> bool:
    """Return whether a call has run, and its trail has nothing that belongs to this call alone."""
    return trail.ran and not (
        trail.code
        or trail.write_ahead_id
        or trail.edited
        or trail.notes
        or trail.called
        or trail.wrong
        or trail.paused
        or trail.queued
        or trail.asked
    )


def _milliseconds(seconds: float) -> float:
    """Return whole microseconds, as milliseconds."""
    return seconds * 1e6 // 1.0 / 1e3


def _ascii(body: _RecordBody) -> str:
    members = {name: getattr(body, name) for name in body.__struct_fields__}
    defaults = dict(zip(reversed(body.__struct_fields__), reversed(body.__struct_defaults__), strict=False))
    present = {name: value for name, value in members.items() if value or name not in defaults}
    return json.dumps(present | {"arguments": json.loads(bytes(body.arguments))}, sort_keys=True, separators=(",", ":"))


_EARLIEST = 2.0**30
_ROUNDED_UP = frozenset((odd * 15_625 + 1) // 2 for odd in range(1, 128, 2))
"""Half-way times are odd multiples of 1/128 s. Rounded up, they have these microseconds."""


def _moments(times: Sequence[float]) -> list[datetime]:
    """Return times as :func:`timestamp` rounds them: to microseconds, and one that is half-way to the even one."""
    moments = datetimes(times)
    # `datetimes` rounds half-way times up. For times from 2004 on, the products that are rounded are exact.
    if min(times) < _EARLIEST or not _ROUNDED_UP.isdisjoint([moment.microsecond for moment in moments]):
        return [datetime.fromtimestamp(at, UTC) for at in times]
    return moments


def _trace(traceparent: object) -> str:
    """Return the trace id of W3C Trace Context, if the request has one."""
    match = _TRACEPARENT.compiled.fullmatch(traceparent) if isinstance(traceparent, str) else None
    return "" if match is None else match[1]


def snapshot(arguments: Mapping[str, Any]) -> tuple[bytes, int]:
    """Return canonical JSON of ``arguments`` as they are now, and its size. Long arguments are replaced by a digest
    here, since many records may wait for a slow disk."""
    return snapshot_of(lambda: canonical(arguments))


def snapshot_of(text: Callable[[], bytes]) -> tuple[bytes, int]:
    """Return the same of arguments whose canonical JSON ``text`` returns."""
    try:
        encoded = text()
    except (TypeError, ValueError):  # from a caller in this process
        return b'{"[unreadable]":true}', 0
    size = len(encoded)
    if size <= MAX_ARGUMENTS:
        return encoded, size
    return encode({"[cut]": {"bytes": size, "sha256": hashlib.sha256(encoded).hexdigest()}}), size


class Refusals(Value, DraftRecord, frozen=True):
    """The refusals of one principal in one minute that have no record of their own. ``tools``: tool → code → count, of
    calls of existing tools; of the first tools only, so that no caller fills the log with names."""

    who: str
    at: float
    count: int
    codes: Mapping[str, int]
    tools: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    instance: str = ""

    def text(self) -> str:
        body = {
            "at": timestamp(self.at),
            "codes": dict(self.codes),
            "count": self.count,
            **({"instance": self.instance} if self.instance else {}),
            "kind": "refusals",
            **({"tools": {tool: dict(codes) for tool, codes in self.tools.items()}} if self.tools else {}),
            "who": self.who,
        }
        return json.dumps(body, sort_keys=True, separators=(",", ":"))

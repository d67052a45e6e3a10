"""One audit record: the facts of an operation when it ends, and its text, which is composed on the log's thread."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

from tooltrue.jsonrpc.messages import EncodedJson, canonical, decode, encode, encode_lines
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.protocol.types import Value, field
from tooltrue.state.log import DraftRecord, timestamp
from tooltrue.tools.vocabulary import CallRecord, Principal

__all__ = ["MAX_ARGUMENTS", "Record", "Refusals", "snapshot", "snapshot_of"]

MAX_ARGUMENTS = 8_192
"""Bytes of arguments that a record holds; of longer ones, it has the size and a digest."""
_MAX_NAME = 512
_TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


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
    rounds: int = 0
    rule: str = ""
    scopes: tuple[str, ...] = ()
    server: str = ""
    subject: str = ""
    trace: str = ""
    who: str = ""
    wrong: tuple[str, ...] = ()


class Record(Value, DraftRecord, frozen=True, gc=False):
    """The record of an operation. ``instance`` identifies the server among those that share a log. ``at`` and
    ``seconds`` are times of a clock; ``arguments`` are canonical JSON of those that came; all else is kept as it is
    until the text is needed."""

    masks: Masks
    instance: str
    kind: str
    subject: str
    arguments: bytes
    size: int
    at: float
    principal: Principal
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
    def encode_all(cls, records: Sequence[Record]) -> list[bytes]:
        """Return the text of each record. The arguments of plain tools are scanned for secrets together, and one by one
        only if there may be some."""
        plain = [record.trail.ran and record.masks.is_plain(record.trail.tool) for record in records]
        joined = b",".join([record.arguments for record in compress(records, plain)])
        if prescan(joined, secrets=True):
            plain = [False] * len(records)
        bodies = [
            record._body(record.arguments, (), record.subject)
            if is_plain and not record.trail.called
            else record._checked_body()
            for record, is_plain in zip(records, plain, strict=True)
        ]
        text = encode_lines(bodies)
        lines = text[:-1].split(b"\n")
        if text.isascii():
            return lines
        return [line if line.isascii() else _ascii(body).encode() for body, line in zip(bodies, lines, strict=True)]

    @classmethod
    def times(cls, records: Sequence[Record]) -> list[float]:
        return [record.at for record in records]

    def _checked_body(self) -> _RecordBody:
        """Return the members, with arguments and subject masked where they need it."""
        try:
            tool = self.trail.tool
            subject = tool.name if tool is not None and self.trail.called else self.said_subject()
            return self._body(*self._arguments(), subject)
        except Exception as error:  # noqa: BLE001 - a mask that was given: what it did not see is not written
            return self._body(encode({"[mask failed]": type(error).__name__}), (), "[mask failed]")

    def _arguments(self) -> tuple[bytes, tuple[str, ...]]:
        is_plain = self.trail.ran and self.masks.is_plain(self.trail.tool) and not prescan(self.arguments, secrets=True)
        if is_plain or self.arguments == b"{}":
            return self.arguments, ()
        masked, paths = self.masks.mask(decode(self.arguments), self.trail.tool)
        return canonical(masked), tuple(paths)

    def _body(self, arguments: bytes, masked: tuple[str, ...], subject: str) -> _RecordBody:
        trail, tool, scopes = self.trail, self.trail.tool, self.principal.scopes
        # By position: keyword arguments would cost as much as all the rest.
        return _RecordBody(
            EncodedJson(arguments),
            timestamp(self.at),
            self.size,
            self.bytes_out,
            trail.called,
            trail.code,
            trail.decision or ("allow" if trail.ran or self.kind == "intent" else "deny"),
            "" if tool is None else tool.effect,
            trail.write_ahead_id,
            self.instance,
            self.kind,
            masked,
            int(self.seconds * 1e6) / 1e3,
            tuple(map(self.masks.text, trail.notes)) if trail.notes else (),
            self.outcome,
            trail.paused,
            self.rounds + 1 if self.rounds else 0,
            trail.rule,
            tuple(sorted(scopes)) if scopes else (),
            "" if tool is None else tool.server,
            subject,
            _trace(self.traceparent) if self.traceparent else "",
            self.principal.id,
            tuple(self.masks.text(one[-_MAX_NAME:]) for one in trail.wrong) if trail.wrong else (),
        )

    def said_subject(self) -> str:
        """Return the subject without secrets. The subject of a tool that was found needs no mask: its author has named
        it."""
        if self.trail.tool is not None:
            return self.subject
        subject = self.masks.text(self.subject[: 8 * _MAX_NAME])
        return subject if len(subject) <= _MAX_NAME else f"{subject[:_MAX_NAME]}…"


def _ascii(body: _RecordBody) -> str:
    members = {name: getattr(body, name) for name in body.__struct_fields__}
    defaults = dict(zip(reversed(body.__struct_fields__), reversed(body.__struct_defaults__), strict=False))
    present = {name: value for name, value in members.items() if value or name not in defaults}
    return json.dumps(present | {"arguments": json.loads(bytes(body.arguments))}, sort_keys=True, separators=(",", ":"))


def _trace(traceparent: object) -> str:
    """Return the trace id of W3C Trace Context, if the request has one."""
    match = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
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

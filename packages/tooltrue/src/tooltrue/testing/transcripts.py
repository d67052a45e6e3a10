"""Transcripts: conversations on the wire as text, parsed and replayed against a server.

::

    A tool that is not there. Hidden tools read the same.

    spec: server/tools
    requirement: tools:call:unknown
    server: shop

    == modern
    > {"id": 1, "method": "tools/call", "params": {"name": "nix"}}
    < {"id": 1, "error": {"code": -32602, "message": "<text>"}}

    == legacy 2025-06-18 over memory stdio
    > {"id": 1, "method": "ping"}
    < {"id": 1, "result": {}}

After prose and ``key: value`` lines comes a section for each era: ``== modern`` or ``== legacy``, then optionally a
legacy revision, ``raw``, and ``over`` with the carriers that can show the behaviour (by default all). ``#`` begins a
comment.

Lines with ``>`` are sent. The replayer adds ``jsonrpc``, to modern requests the envelope in ``_meta``, and the
handshake to legacy sections; ``raw`` sections are sent unchanged. ``> raw:`` sends text that need not be JSON,
``> bytes:`` hexadecimal digits, ``> repeat: 3 * "[" + "]"`` the result of the sum of JSON strings.

Lines with ``<`` are expected in full: every member and no other. ``...`` stands for any value, and at the end of an
object or array for any further members or items. ``"<name>"``, a string or part of one, stands for an opaque value: the
same wherever the name occurs, and sent back by a ``>`` line; ``"<_>"`` is a different one each time. Lines between two
``>`` are in order for each request (its progress and the notifications of its subscription included); messages of other
requests may come in between. At the end no further message may have come.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, repeat
from typing import Literal, TypeAlias, TypeGuard

from tooltrue.jsonrpc.messages import Id, Json
from tooltrue.jsonrpc.peer import Dropped
from tooltrue.protocol import modern, versions
from tooltrue.protocol.headers import METHOD_HEADER, VERSION_HEADER, request_headers
from tooltrue.testing.state import LIMIT
from tooltrue.transport.carrier import TransportLink

__all__ = [
    "CARRIERS",
    "ExpectedMessage",
    "Section",
    "SentMessage",
    "Transcript",
    "difference",
    "read",
    "replay",
    "rewrite",
    "rewritten",
]

Carried: TypeAlias = Literal["memory", "stdio", "http"]

CARRIERS: tuple[Carried, ...] = ("memory", "stdio", "http")


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of the client, or bytes that need not be a message."""

    line: int
    message: Json = None
    frame: bytes | None = None


@dataclass(frozen=True, slots=True)
class ExpectedMessage:
    """A message that the server must send, with its placeholders."""

    line: int
    pattern: Json


@dataclass(frozen=True, slots=True)
class Section:
    """One conversation. ``revision`` defaults to the newest of its era."""

    line: int
    era: Literal["modern", "legacy"]
    revision: str
    raw: bool
    over: tuple[Carried, ...]
    steps: tuple[SentMessage | ExpectedMessage, ...]

    @property
    def title(self) -> str:
        newest = versions.LATEST if self.era == "modern" else versions.NEWEST_LEGACY
        parts = (self.era, "" if self.revision == newest else self.revision, "raw" if self.raw else "")
        return "-".join(filter(None, parts)) + f":{self.line}"


@dataclass(frozen=True, slots=True)
class Transcript:
    """One behaviour: a description, its places in the specification, the server that shows it, and a section for each
    era."""

    about: str
    spec: tuple[str, ...]
    requirements: tuple[str, ...]
    server: str
    sections: tuple[Section, ...]


# --- reading ---------------------------------------------------------------------------------------------------------


def read(text: str) -> Transcript:
    """Parse a transcript. ``ValueError`` names the line that is not understood."""
    lines = list(enumerate(text.splitlines(), 1))
    starts = [index for index, (_, line) in enumerate(lines) if line.startswith("==")]
    if not starts:
        raise ValueError("a transcript needs a section: == modern or == legacy")
    facts = _read_head(line for _, line in lines[: starts[0]])
    if len(facts["server"]) != 1:
        raise ValueError("a transcript needs one 'server:' line")
    ends = (*starts[1:], len(lines))
    sections = tuple(_read_section(lines[start:end]) for start, end in zip(starts, ends, strict=True))
    about = " ".join(facts["about"])
    return Transcript(about, tuple(facts["spec"]), tuple(facts["requirement"]), facts["server"][0], sections)


_FACT = re.compile(r"(spec|requirement|server): *(.+)")


def _read_head(lines: Iterable[str]) -> dict[str, list[str]]:
    facts: dict[str, list[str]] = {"about": [], "spec": [], "requirement": [], "server": []}
    for line in lines:
        fact = _FACT.fullmatch(line.strip())
        if fact is not None:
            facts[fact[1]].append(fact[2])
        elif line.strip():
            facts["about"].append(line.strip())
    return facts


_TITLE = re.compile(r"== (modern|legacy)( \d{4}-\d\d-\d\d)?( raw)?( over(?: memory| stdio| http)+)?")


def _read_section(lines: list[tuple[int, str]]) -> Section:
    line, text = lines[0]
    title = _TITLE.fullmatch(text.strip())
    if title is None:
        raise ValueError(f"line {line}: not a section: {text!r}")
    era: Literal["modern", "legacy"] = "modern" if title[1] == "modern" else "legacy"
    revision = (title[2] or "").strip() or (versions.LATEST if era == "modern" else versions.NEWEST_LEGACY)
    names = (title[4] or "").split()[1:]
    over: tuple[Carried, ...] = tuple(carrier for carrier in CARRIERS if not names or carrier in names)
    steps = tuple(step for number, text in lines[1:] for step in _read_step(number, text))
    return Section(line, era, revision, title[3] is not None, over, steps)


def _read_step(line: int, text: str) -> Iterator[SentMessage | ExpectedMessage]:
    mark, _, rest = text.partition(" ")
    try:
        if mark == ">":
            yield _read_sent(line, rest)
        elif mark == "<":
            yield ExpectedMessage(line, _read_pattern(rest))
        elif text.strip() and mark != "#":
            raise ValueError("it begins with none of '>', '<' and '#'")
    except ValueError as error:
        raise ValueError(f"line {line}: {error}") from None


def _read_sent(line: int, text: str) -> SentMessage:
    kind, colon, rest = text.partition(": ")
    if colon and kind == "raw":
        return SentMessage(line, frame=rest.encode())
    if colon and kind == "bytes":
        return SentMessage(line, frame=bytes.fromhex(rest))
    if colon and kind == "repeat":
        return SentMessage(line, frame="".join(map(_repeated, _TERM.findall(rest))).encode())
    return SentMessage(line, message=json.loads(text))


_TERM = re.compile(r'(?:(\d+) \* )?("(?:[^"\\]|\\.)*")')


def _repeated(term: tuple[str, str]) -> str:
    return json.loads(term[1]) * int(term[0] or 1)


# --- patterns --------------------------------------------------------------------------------------------------------

_ANY = "\ue000"  # stands for ``...`` in a pattern that was read; a private-use character, which no message contains
_BARE = re.compile(r'("(?:[^"\\]|\\.)*")|([{,]\s*)\.\.\.(?=\s*\})|(\.\.\.)')
_PLACEHOLDER = re.compile(r"<([a-z_][a-z0-9_]*)>")
_UNKEPT = "_"


def _read_pattern(text: str) -> Json:
    def quoted(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        return f'{match[2]}"{_ANY}": null' if match[2] else f'"{_ANY}"'

    return json.loads(_BARE.sub(quoted, text))


def _show_pattern(pattern: Json) -> str:
    text = json.dumps(pattern, ensure_ascii=False)
    return text.replace(f'"{_ANY}": null', "...").replace(f'"{_ANY}"', "...")


def difference(pattern: Json, actual: Json, placeholders: dict[str, Json], path: str = "$") -> str | None:
    """The first place where ``actual`` differs from ``pattern``, or ``None``. Values of placeholders are added to
    ``placeholders``."""
    if pattern == _ANY:
        return None
    if isinstance(pattern, str):
        return (
            None
            if _says(pattern, actual, placeholders)
            else f"{path}: {_short(pattern)} expected, {_short(actual)} came"
        )
    if _is_object(pattern) and _is_object(actual):
        return _member_difference(pattern, actual, placeholders, path)
    if _is_array(pattern) and _is_array(actual):
        return _item_difference(pattern, actual, placeholders, path)
    if type(pattern) is type(actual) and pattern == actual:
        return None
    return f"{path}: {_short(pattern)} expected, {_short(actual)} came"


def _member_difference(
    pattern: dict[str, Json], actual: dict[str, Json], placeholders: dict[str, Json], path: str
) -> str | None:
    keys = [key for key in pattern if key != _ANY]
    if missing := [key for key in keys if key not in actual]:
        return f"{path}: without {missing[0]!r}"
    if _ANY not in pattern and (surplus := [key for key in actual if key not in pattern]):
        return f"{path}: {surplus[0]!r} is not expected"
    differences = (difference(pattern[key], actual[key], placeholders, f"{path}.{key}") for key in keys)
    return next(filter(None, differences), None)


def _item_difference(pattern: list[Json], actual: list[Json], placeholders: dict[str, Json], path: str) -> str | None:
    is_open = bool(pattern) and pattern[-1] == _ANY
    items = pattern[:-1] if is_open else pattern
    if len(actual) < len(items) or (len(actual) > len(items) and not is_open):
        return f"{path}: {len(items)} items expected, {len(actual)} came"
    pairs = enumerate(zip(items, actual, strict=False))
    differences = (difference(one, other, placeholders, f"{path}[{index}]") for index, (one, other) in pairs)
    return next(filter(None, differences), None)


def _says(pattern: str, actual: Json, placeholders: dict[str, Json]) -> bool:
    if whole := _PLACEHOLDER.fullmatch(pattern):
        return not isinstance(actual, dict | list | None) and _is_known(whole[1], actual, placeholders)
    if not isinstance(actual, str):
        return False
    parts = _PLACEHOLDER.split(pattern)  # text, name, text, name, … text
    match = re.fullmatch("(.+?)".join(map(re.escape, parts[::2])), actual, re.DOTALL)
    return match is not None and all(map(_is_known, parts[1::2], match.groups(), repeat(placeholders)))


def _is_known(name: str, actual: Json, placeholders: dict[str, Json]) -> bool:
    value = actual if name == _UNKEPT else placeholders.setdefault(name, actual)
    return type(value) is type(actual) and value == actual


def _short(value: Json) -> str:
    text = _show_pattern(value)
    return text if len(text) <= 300 else text[:297] + "..."


def _filled(value: Json, placeholders: Mapping[str, Json]) -> Json:
    """The value to send, with the known values in place of the placeholders."""
    if _is_object(value):
        return {key: _filled(inner, placeholders) for key, inner in value.items()}
    if _is_array(value):
        return [_filled(inner, placeholders) for inner in value]
    if not isinstance(value, str):
        return value
    if (whole := _PLACEHOLDER.fullmatch(value)) and whole[1] in placeholders:
        return placeholders[whole[1]]
    return _PLACEHOLDER.sub(lambda match: str(placeholders.get(match[1], match[0])), value)


# --- replaying -------------------------------------------------------------------------------------------------------


async def replay(section: Section, link: TransportLink) -> None:
    """Hold the conversation over ``link``, which is opened and closed. AssertionError names the line that differs."""
    conversation = _Conversation(section, link)
    async with conversation.open():
        for _, steps in groupby(section.steps, type):
            awaited: list[ExpectedMessage] = []
            for step in steps:
                if isinstance(step, SentMessage):
                    conversation.send(step)
                else:
                    awaited.append(step)
            await conversation.expect(awaited)


async def rewrite(section: Section, link: TransportLink) -> dict[int, Json]:
    """Hold the conversation and return, by line, each message that differs from the expected one."""
    conversation = _Conversation(section, link)
    changed: dict[int, Json] = {}
    async with conversation.open():
        for step in section.steps:
            if isinstance(step, SentMessage):
                conversation.send(step)
                continue
            actual = await conversation.receive(step.line)
            if step.pattern == _ANY or difference(step.pattern, actual, dict(conversation.placeholders)) is not None:
                changed[step.line] = _merged(step.pattern, actual)
            difference(changed.get(step.line, step.pattern), actual, conversation.placeholders)
    return changed


def rewritten(text: str, changed: Mapping[int, Json]) -> str:
    """The transcript ``text`` with the ``<`` lines that :func:`rewrite` found changed."""
    lines = text.splitlines()
    for line, message in changed.items():
        lines[line - 1] = "< " + _show_pattern(message)
    return "\n".join(lines) + "\n"


def _merged(pattern: Json, actual: Json) -> Json:
    """``actual``, with the placeholders of ``pattern`` that still hold."""
    if pattern != _ANY and difference(pattern, actual, {}) is None:
        return pattern
    if _is_object(pattern) and _is_object(actual):
        open_end = {_ANY: None} if _ANY in pattern else {}
        members: dict[str, Json] = {
            key: _merged(pattern.get(key), value) for key, value in actual.items() if key in pattern or not open_end
        }
        return {**members, **open_end}
    if _is_array(pattern) and _is_array(actual) and len(pattern) == len(actual):
        return [_merged(one, other) for one, other in zip(pattern, actual, strict=True)]
    return actual


class _Inbox:
    """Queues incoming frames, and collects errors for the message of a failure."""

    dropped = Dropped()

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._trouble: list[str] = []

    def feed(self, frame: bytes) -> None:
        self._frames.put_nowait(frame)

    def awaits(self, id: Id) -> bool:
        return True

    def fail(self, id: Id, error: Exception) -> None:
        self._trouble.append(f"request {id!r}: {error}")

    def lose(self, error: Exception) -> None:
        self._trouble.append(str(error))
        self._frames.put_nowait(None)

    async def take(self, where: str) -> Json:
        frame = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LIMIT):
                frame = await self._frames.get()
        assert frame is not None, f"{where}: nothing came ({'; '.join(self._trouble) or f'within {LIMIT:g} s'})"
        return json.loads(frame)


_END = "the end of the transcript"


@dataclass
class _Conversation:
    """One run of a section, and the placeholder values known so far."""

    section: Section
    link: TransportLink
    placeholders: dict[str, Json] = field(default_factory=dict[str, Json])
    _inbox: _Inbox = field(default_factory=_Inbox)
    _negotiated: str | None = None
    _tokens: dict[Json, Json] = field(default_factory=dict[Json, Json])

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[None, None]:
        """Open the link with its handshake; after the conversation, assert that no other message has come."""
        await self.link.open(self._inbox)
        try:
            if self.section.era == "legacy" and not self.section.raw:
                await self._shake_hands()
            yield
            await self._end()
        finally:
            await self.link.close()

    async def _shake_hands(self) -> None:
        client = {"name": "transcript", "version": "1"}
        params = {"protocolVersion": self.section.revision, "capabilities": {}, "clientInfo": client}
        self._write({"jsonrpc": "2.0", "id": "handshake", "method": "initialize", "params": params})
        answer = await self._inbox.take("handshake")
        self._learn(answer)
        assert self._negotiated == self.section.revision, f"handshake: {_short(answer)} came"
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def _end(self) -> None:
        # Both kinds of revision know a ping without an envelope, and its answer comes after those to all earlier
        # requests.
        self._write({"jsonrpc": "2.0", "id": _END, "method": "ping"})
        actual = await self._inbox.take(_END)
        assert actual == {"jsonrpc": "2.0", "id": _END, "result": {}}, (
            f"{_END}: nothing expected, {_short(actual)} came"
        )

    def send(self, step: SentMessage) -> None:
        if step.frame is not None:
            self.link.send(step.frame, None, self._headers(_parsed(step.frame)))
            return
        self._write(self._complete(_filled(step.message, self.placeholders)))

    def _complete(self, message: Json) -> Json:
        if self.section.raw:
            return message
        if _is_array(message):
            return [self._complete(element) for element in message]
        message = {"jsonrpc": "2.0", **message}
        if self.section.era == "modern" and "id" in message and "method" in message:
            params = message.get("params", {})
            envelope: dict[str, Json] = {modern.VERSION: self.section.revision, modern.CAPABILITIES: {}}
            message["params"] = {**params, "_meta": {**envelope, **params.get("_meta", {})}}
        return message

    def _write(self, message: Json) -> None:
        id = message.get("id") if _is_object(message) and "method" in message else None
        token = _member(_member(message, "params"), "_meta").get("progressToken")
        if isinstance(token, int | str):
            self._tokens[token] = id
        self.link.send(json.dumps(message).encode(), id, self._headers(message))

    def _headers(self, message: Json) -> dict[str, str]:
        """The headers that HTTP requires beside a message; other carriers ignore them."""
        method = message.get("method") if _is_object(message) else None
        params = _member(message, "params")
        version = _member(params, "_meta").get(modern.VERSION)
        if isinstance(method, str) and isinstance(version, str):
            return request_headers(method, params, version)
        if self.section.era == "legacy" or method == "ping":
            return self._legacy_headers(method)
        if isinstance(method, str):
            return request_headers(method, params, versions.LATEST)
        return {VERSION_HEADER: versions.LATEST, METHOD_HEADER: "none"}

    def _legacy_headers(self, method: Json) -> dict[str, str]:
        revision = versions.BY_NAME.get(self._negotiated or "")
        if revision is None or not revision.version_header or method == "initialize":
            return {}
        return {VERSION_HEADER: revision.name}

    async def receive(self, line: int) -> Json:
        actual = await self._inbox.take(f"line {line}")
        self._learn(actual)
        if self.section.raw:
            return actual
        for message in actual if _is_array(actual) else [actual]:
            assert message.pop("jsonrpc", None) == "2.0", f"line {line}: {_short(message)} came without jsonrpc"
        return actual

    def _learn(self, actual: Json) -> None:
        version = _member(actual, "result").get("protocolVersion")
        if isinstance(version, str):
            self._negotiated = version
            self.link.opened(actual["id"])

    async def expect(self, steps: list[ExpectedMessage]) -> None:
        """Expect all of ``steps``, in order for each request."""
        while steps:
            actual = await self.receive(steps[0].line)
            thread = self._thread(actual)
            step = next((step for step in steps if self._thread(step.pattern) in (thread, _ANY)), None)
            assert step is not None, f"line {steps[0].line}: {_short(actual)} came and was not expected"
            problem = difference(_by_id(step.pattern), _by_id(actual), self.placeholders)
            comparison = f"expected {_show_pattern(step.pattern)}\n  came     {_show_pattern(actual)}"
            assert problem is None, f"line {step.line}: {problem}\n  {comparison}"
            steps.remove(step)

    def _thread(self, message: Json) -> Json:
        """The request or method that a message belongs to: within one, messages keep their order."""
        if not _is_object(message):
            return _ANY if message == _ANY else "batch"
        params = _member(message, "params")
        if "method" not in message:
            return ("request", message.get("id"))
        if modern.SUBSCRIPTION_ID in (meta := _member(params, "_meta")):
            return ("request", meta[modern.SUBSCRIPTION_ID])
        if "progressToken" in params:
            return ("request", self._tokens.get(params["progressToken"]))
        return ("method", message["method"])


def _member(value: Json, key: str) -> dict[str, Json]:
    inner = value.get(key) if _is_object(value) else None
    return inner if _is_object(inner) else {}


def _is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict)


def _is_array(value: Json) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def _by_id(message: Json) -> Json:
    """A batch sorted by id: its answers may come in any order (JSON-RPC 2.0, section 6)."""
    return sorted(message, key=lambda answer: str(answer.get("id"))) if _is_array(message) else message


def _parsed(frame: bytes) -> Json:
    """The message in a frame, for its headers; ``None`` if it is not JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(frame)
    return None

"""Any client input, in memory or over HTTP, causes no exception and no hang, and every owed answer is sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from official import Judge
from properties.judging import due, judged, judged_over_http, messages_of
from properties.speaking import (
    META,
    Answer,
    ask,
    cut,
    frames,
    http_of,
    server,
    settle,
    turned_into_bytes,
    valid_messages,
)
from tooltrue.protocol import modern, versions
from tooltrue.protocol.headers import request_headers
from tooltrue.testing.state import LIMIT
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.lines import LineSplitter

# --- a channel that both ends share ----------------------------------------------------------------------------------


async def conversation(sent: list[bytes]) -> None:
    """Feed the frames in order, and check the answers."""
    written: list[bytes] = []
    session = server().connect(written.append, Carrier("memory"))
    owed: Counter[Any] = Counter()
    async with asyncio.timeout(LIMIT):
        for frame in sent:
            owed += due(frame, batches=_agreed(written) in ("2024-11-05", "2025-03-26"))
            session.feed(frame)
            await settle()
        await session.farewell()
        await session.drain()
        await session.close()
    judged(owed, written)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"


def _agreed(written: list[bytes]) -> str | None:
    """The revision that a handshake has agreed on."""
    results = [message["result"] for message in messages_of(written) if isinstance(message.get("result"), dict)]
    return next((result["protocolVersion"] for result in results if "protocolVersion" in result), None)


@settings(deadline=None)
@given(st.lists(frames(), max_size=6))
def test_every_request_is_answered_once_and_nothing_else_is(sent: list[bytes]):
    asyncio.run(conversation(sent))


@settings(deadline=None)
@given(st.lists(frames(), max_size=4), st.lists(st.integers(min_value=0), max_size=8), st.booleans(), st.booleans())
def test_lines_are_the_same_however_they_are_cut(sent: list[bytes], cuts: list[int], ended: bool, returns: bool):
    data = (b"\r\n" if returns else b"\n").join(sent) + (b"\n" if ended else b"")
    lines: list[bytes] = []
    splitter = LineSplitter(lines.append, lambda: lines.append(b"too long"), limit=50_000)
    for part in cut(data, cuts):
        splitter.feed(part)
    splitter.end()
    expected = [line.removesuffix(b"\r") if len(line) <= 50_000 else b"too long" for line in data.split(b"\n")]
    read = expected[: expected.index(b"too long") + 1] if b"too long" in expected else expected
    assert lines == [line for line in read if line == b"too long" or line.strip()]


# --- HTTP ------------------------------------------------------------------------------------------------------------


async def exchange(body: Sequence[bytes], headers: Sequence[tuple[bytes, bytes]], method: str = "POST") -> Answer:
    """Send one request to a separate server that stops soon after, so that open-ended streams end as well."""
    app = http_of(server())
    answer = Answer()
    async with asyncio.timeout(LIMIT), app.serving():
        asking = asyncio.ensure_future(ask(app, body, headers, method=method, answer=answer))
        await settle()
        app.closing()
        await asking
        await settle()
    assert answer.ended
    assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"
    return answer


def right_headers(message: Any) -> list[tuple[bytes, bytes]]:
    """The headers that a client sends with a stateless message."""
    params = message.get("params", {}) if isinstance(message, dict) else {}
    if not modern.carries_version(params):
        return []
    given = request_headers(message["method"], params, versions.LATEST)
    return [(name.encode(), value.encode()) for name, value in given.items()]


names = st.sampled_from(
    [
        *(b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"mcp-session-id", b"mcp-param-a", b"last-event-id"),
        *(b"host", b"origin", b"content-type", b"content-length", b"accept", b"authorization", b"x"),
    ]
)
contents = st.one_of(
    st.sampled_from([name.encode() for name in versions.ALL]),
    st.sampled_from(
        [
            *(b"tools/call", b"tools/list", b"echo", b"localhost", b"localhost:99999", b"[::1]:1", b"http://localhost"),
            *(b"null", b"application/json", b"text/event-stream", b"=?base64?!?=", b"=?base64?/w==?=", b"", b"-1"),
            *(b"http://[", b"http://localhost:x", b"9" * 4_000, b"text/event-stream, application/json", b"\xff\x80"),
        ]
    ),
    st.binary(max_size=20).map(lambda value: value.translate(None, b"\r\n\0")),
)
headers = st.lists(st.tuples(names, contents), max_size=4)


@settings(deadline=None)
@given(
    frames(),
    st.lists(st.integers(min_value=0), max_size=3),
    headers,
    st.sampled_from(["POST", "POST", "GET", "DELETE", "PUT"]),
)
def test_any_http_request_is_answered_once(body: bytes, cuts: list[int], sent: list[tuple[bytes, bytes]], method: str):
    answer = asyncio.run(exchange(cut(body, cuts), sent, method))
    names = {name: value.decode("latin-1") for name, value in sent}
    batches = names.get(b"mcp-protocol-version", "2025-03-26").strip(" \t") in ("2024-11-05", "2025-03-26")
    owed = due(body, batches=batches) if method == "POST" else Counter[Any]()
    judged_over_http(owed, answer.status, answer.frames)


@settings(deadline=None)
@given(valid_messages(), st.lists(st.integers(min_value=0), max_size=3), st.booleans())
def test_a_request_with_its_headers_is_answered_under_its_id(message: Any, cuts: list[int], blank: bool):
    body = turned_into_bytes(message, blank)
    answer = asyncio.run(exchange(cut(body, cuts), right_headers(message)))
    judged(due(body, batches=False), answer.frames)


# --- the official schemas --------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.sampled_from(versions.ALL), st.lists(valid_messages(), min_size=1, max_size=5))
def test_every_message_is_valid_against_the_schema_of_its_revision(revision: str, sent: list[dict[str, Any]]):
    async def main() -> None:
        judge = Judge(revision)
        session = server().connect(judge.came, Carrier("memory"))

        async def say(message: dict[str, Any]) -> None:
            frame = turned_into_bytes(message, False)
            judge.sent(frame)
            session.feed(frame)
            await settle()

        if revision in versions.LEGACY:
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
            await say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        for number, message in enumerate(sent, 1):
            await say(_of_era(message, revision, number))
        await session.farewell()
        await session.close()

    asyncio.run(main())


def _of_era(message: dict[str, Any], revision: str, number: int) -> dict[str, Any]:
    """The same request with an id of its own, and with the ``_meta`` that its protocol revision requires."""
    if "method" not in message or "id" not in message:
        return message
    params = {name: value for name, value in message["params"].items() if name != "_meta"}
    meta = {"progressToken": number} | (META if revision == versions.LATEST else {})
    return {**message, "id": number, "params": {**params, "_meta": meta}}

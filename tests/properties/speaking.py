"""Servers to be spoken to, over a channel and over HTTP, in this process; and messages, good ones and spoilt ones."""

from __future__ import annotations

import asyncio
import copy
import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from tooltrue import Context, ToolError
from tooltrue.policy.guard import Guard, Limits
from tooltrue.policy.pipeline import standard
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import Implementation
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.transport.http_server import AllowedHosts, HttpApp

__all__ = [
    "META",
    "TOOLS",
    "Answer",
    "Gates",
    "ask",
    "cut",
    "events_of",
    "frames",
    "http_of",
    "noise",
    "server",
    "settle",
    "spoilt",
    "tools_of",
    "turned_into_bytes",
    "valid_messages",
]

META = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}}


# --- servers ---------------------------------------------------------------------------------------------------------


@dataclass
class Gates:
    """Calls that end when they are told to. ``ended`` says how, in the order in which it happened."""

    waiting: dict[str, asyncio.Event] = field(default_factory=dict)
    ended: list[tuple[str, str]] = field(default_factory=list)

    async def gate(self, key: str) -> str:
        """Wait until somebody opens this gate."""
        event = self.waiting[key] = asyncio.Event()
        try:
            await event.wait()
        except asyncio.CancelledError:
            self.ended.append((key, "cancelled"))
            raise
        finally:
            del self.waiting[key]
        self.ended.append((key, "finished"))
        return key


async def echo(text: str) -> str:
    """The same again."""
    return text


async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def refuse() -> str:
    """Refuse."""
    raise ToolError("Not today.")


async def count(to: int, context: Context) -> str:
    """Count, and tell how far it is."""
    for number in range(1, min(to, 5) + 1):
        context.progress(number, to, f"at {number}\r\n")
    return f"{to}"


def tools_of(gates: Gates) -> LocalToolset:
    """Tools that run on the loop, so that some turns of it end everything that can end."""
    tools = LocalToolset()
    for function in (echo, add, refuse, count, gates.gate):
        tools.add(function)
    return tools


TOOLS = tools_of(Gates())


def server(tools: LocalToolset = TOOLS) -> ProtocolServer:
    """A server without any connection yet."""
    provider = standard(tools, Guard(Limits(seconds=1e6)))
    return ProtocolServer(
        ServedProvider(Implementation("t", "1"), provider, Sealer([new_key()]), MemoryFacts(), page_size=2)
    )


async def settle(turns: int = 40) -> None:
    """Let everything run that can."""
    for _ in range(turns):
        await asyncio.sleep(0)


# --- HTTP, as an ASGI server hands it over ---------------------------------------------------------------------------


@dataclass
class Answer:
    """The response events that the application has sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False

    async def take(self, event: Any) -> None:
        assert not self.ended, f"{event} after the end"
        if event["type"] == "http.response.start":
            assert self.status == 0
            self.status = event["status"]
            pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event["headers"]]
            assert not any("\n" in text or "\r" in text for pair in pairs for text in pair)
            self.headers = dict(pairs)
        else:
            assert event["type"] == "http.response.body"
            assert self.status
            self.body += event["body"]
            self.ended = not event.get("more_body")

    @property
    def frames(self) -> list[bytes]:
        """The messages of the body, from JSON or an event stream. An event without data holds no message."""
        if self.headers.get("content-type") != "text/event-stream":
            return [self.body] if self.body else []
        return [data.encode() for kind, data in events_of(self.body.decode()) if kind == "message" and data]


def events_of(text: str) -> list[tuple[str, str]]:
    """Type and data of each event of an event stream, by the letter of the HTML standard (section 9.2.6)."""
    events: list[tuple[str, str]] = []
    kind, data = "", list[str]()
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        name, colon, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                events.append((kind or "message", "\n".join(data)))
            kind, data = "", []
        elif colon and not name:
            continue  # a comment
        elif name == "event":
            kind = value
        elif name == "data":
            data.append(value)
    return events


def http_of(protocol: ProtocolServer) -> HttpApp:
    return HttpApp(protocol.http(), AllowedHosts())


async def ask(
    app: HttpApp,
    body: bytes | Sequence[bytes],
    headers: Sequence[tuple[bytes, bytes]] = (),
    *,
    method: str = "POST",
    path: str = "/mcp",
    gone: asyncio.Event | None = None,
    answer: Answer | None = None,
) -> Answer:
    """One HTTP request. ``gone`` is set when the client goes away; ``answer`` can be looked at before it is whole."""
    answer = answer or Answer()
    parts = [body] if isinstance(body, bytes) else list(body)
    events: deque[Any] = deque({"type": "http.request", "body": part, "more_body": True} for part in parts)
    events.append({"type": "http.request"})

    async def receive() -> Any:
        if events:
            return events.popleft()
        await (gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    given = dict(headers)
    usual = {b"host": b"localhost", b"content-type": b"application/json"}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [*((name, value) for name, value in usual.items() if name not in given), *headers],
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, answer.take)
    return answer


# --- messages --------------------------------------------------------------------------------------------------------

ids = st.sampled_from([1, 2, 3, "1", "a", "", 0, -1, 2**53 + 1, 2**64, "é\n"])
texts = st.text(st.characters(codec="utf-8"), max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)

_calls = st.one_of(
    st.fixed_dictionaries({"name": st.just("echo"), "arguments": st.fixed_dictionaries({"text": texts})}),
    st.fixed_dictionaries({"name": st.just("add"), "arguments": st.fixed_dictionaries({"a": st.integers(-9, 9)})}),
    st.just({"name": "refuse"}),
    st.fixed_dictionaries({"name": st.just("count"), "arguments": st.just({"to": 2})}),
    st.fixed_dictionaries({"name": texts, "arguments": st.dictionaries(texts, values, max_size=2)}),
)
_bodies = st.one_of(
    st.tuples(st.just("tools/call"), _calls),
    st.tuples(st.sampled_from(["tools/list", "server/discover", "ping", "resources/list", "", "x"]), st.just({})),
    st.tuples(st.just("tools/list"), st.fixed_dictionaries({"cursor": texts})),
    st.tuples(st.just("subscriptions/listen"), st.just({"notifications": {"toolsListChanged": True}})),
    st.tuples(
        st.just("initialize"),
        st.fixed_dictionaries(
            {
                "protocolVersion": st.sampled_from([*versions.LEGACY, *versions.MODERN, "1", ""]),
                "capabilities": st.just({}),
                "clientInfo": st.just({"name": "c", "version": "1"}),
            }
        ),
    ),
)
_metas = st.sampled_from(
    [
        None,
        META,
        META,
        {**META, "progressToken": "p"},
        {**META, modern.LOG_LEVEL: "debug"},
        {**META, modern.VERSION: "2025-06-18"},
        {modern.VERSION: 7},
        {"progressToken": 1},
    ]
)


@st.composite
def valid_messages(draw: st.DrawFn) -> dict[str, Any]:
    """A valid JSON-RPC 2.0 message: mostly requests, of modern and legacy revisions. No cancellations."""
    method, params = draw(_bodies)
    meta = draw(_metas)
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": draw(ids), "method": method, "params": dict(params)}
    if meta is not None:
        message["params"]["_meta"] = dict(meta)
    match draw(st.integers(0, 9)):
        case 0:
            message["method"] = "notifications/" + draw(st.sampled_from(["initialized", "progress", "x"]))
            del message["id"]
        case 1:
            message = {"jsonrpc": "2.0", "id": message["id"], "result": draw(values)}
        case 2:
            message = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": 1, "message": "no"}}
        case _:
            pass
    return message


@st.composite
def spoilt(draw: st.DrawFn) -> Any:
    """A message with some of its parts taken away or replaced."""
    message = copy.deepcopy(draw(valid_messages()))
    for _ in range(draw(st.integers(1, 2))):
        holder, key = draw(st.sampled_from(list(_places(message))))
        if draw(st.booleans()):
            holder.pop(key, None)
        else:
            holder[key] = draw(values)
    return message


def _places(value: dict[str, Any]) -> Iterable[tuple[dict[str, Any], str]]:
    for key, inner in value.items():
        yield value, key
        if isinstance(inner, dict):
            yield from _places(inner)


def turned_into_bytes(value: Any, blank: bool) -> bytes:
    return json.dumps(value, separators=None if blank else (",", ":"), ensure_ascii=blank).encode()


noise: st.SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":NaN}}',
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":' + b"9" * 5_000 + b"}}",
            b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
            b"null",
            b"[]",
            b"[[]]",
            b'{"jsonrpc":"2.0"',
            b"\xef\xbb\xbf{}",
        ]
    ),
)


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A valid message with a few bytes changed, lost or too many."""
    data = turned_into_bytes(draw(valid_messages()), draw(st.booleans()))
    for _ in range(draw(st.integers(1, 3))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 3))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + length :]
    return data


_batches = st.lists(valid_messages() | spoilt() | values, max_size=5)


def frames() -> st.SearchStrategy[bytes]:
    """One frame as a client could send it, from valid to malformed; without line breaks, which end a line on stdio."""
    sent: Sequence[st.SearchStrategy[bytes]] = (
        st.builds(turned_into_bytes, valid_messages(), st.booleans()),
        st.builds(turned_into_bytes, spoilt(), st.booleans()),
        st.builds(turned_into_bytes, _batches, st.booleans()),
        _damaged(),
        noise,
    )
    return st.one_of(*sent).map(lambda data: data.replace(b"\n", b" "))


def cut(data: bytes, at: list[int]) -> list[bytes]:
    """The same bytes in pieces."""
    places = [0, *sorted(place % (len(data) + 1) for place in at), len(data)]
    return [data[begin:end] for begin, end in pairwise(places)]

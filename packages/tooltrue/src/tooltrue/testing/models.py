"""A scripted model, over real HTTP: chat completions, responses, and Anthropic's messages, streamed or not.

For tests of model clients. It is as strict as the real APIs about requests: a call without its result, or a tool with
an invalid name, is a 400.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tooltrue.errors import ParseError
from tooltrue.jsonrpc.messages import Json, decode, encode, is_object
from tooltrue.protocol.types import Value
from tooltrue.testing.model_wires import WIRES, Call, Event, Says, Wire
from tooltrue.transport.http_runner import beside
from tooltrue.transport.http_server import client_left

__all__ = ["Answer", "Call", "Fails", "ModelRequest", "Says", "ScriptedModel", "Sends"]


class Fails(Value, frozen=True):
    """An HTTP error."""

    status: int
    message: str = "not now"
    headers: Mapping[str, str] = {}


class Sends(Value, frozen=True):
    """A stream given literally: the ``data`` of each event. ``cut``: the connection breaks after them. ``hangs``: the
    response stays open without further data until the client disconnects."""

    events: Sequence[Json]
    cut: bool = False
    hangs: bool = False


class ModelRequest(Value, frozen=True):
    """A received request. ``wire`` is ``chat``, ``responses`` or ``messages``; the names of ``headers`` are in lower
    case."""

    wire: str
    headers: Mapping[str, str]
    body: dict[str, Json]


Answer: TypeAlias = Says | Fails | Sends
Line: TypeAlias = "Answer | Callable[[ModelRequest], Answer]"
_Receive: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
_Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


class ScriptedModel:
    """``with ScriptedModel(Says(calls=[Call("add", {"a": 1, "b": 2})]), Says("It is 3.")).serving() as url:``

    Each request is answered by the next line; a function answers its request, and all later ones. ``requests`` are
    those that were answered, ``refused`` the problems of the others. ``waits`` is set when a request is kept hanging,
    ``left`` when its client has disconnected.
    """

    def __init__(self, *script: Line) -> None:
        self._script = [*script]
        self.requests: list[ModelRequest] = []
        self.refused: list[str] = []
        self.waits, self.left = threading.Event(), threading.Event()

    @contextlib.contextmanager
    def serving(self) -> Generator[str]:
        """The base URL of the API while the block runs."""
        with beside(self) as url:
            yield f"{url}/v1"

    async def __call__(self, scope: Mapping[str, Any], receive: _Receive, send: _Send) -> None:
        exchange = _Exchange(receive, send)
        wire = next((wire for wire in WIRES if scope["path"].endswith(wire.path)), None)
        body = await exchange.body()
        problem = "there is nothing here" if wire is None or body is None else wire.problem(body)
        if wire is None or body is None or problem:
            self.refused.append(problem or "")
            await exchange.fail(Fails(400, problem or ""))
            return
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        self.requests.append(ModelRequest(wire.name, headers, body))
        match self._next(self.requests[-1]):
            case Says() as said if body.get("stream"):
                await exchange.stream(wire.events(said, body))
            case Says() as said:
                await exchange.respond(200, wire.whole(said, body))
            case Fails() as failure:
                await exchange.fail(failure)
            case Sends() as sent:
                await self._send(exchange, wire, sent)

    def _next(self, request: ModelRequest) -> Answer:
        line = self._script[0] if self._script else Fails(500, "the script is over")
        if callable(line):
            return line(request)
        del self._script[:1]
        return line

    async def _send(self, exchange: _Exchange, wire: Wire, raw: Sends) -> None:
        await exchange.stream((wire.event(data) for data in raw.events), ends=False)
        if raw.hangs:
            self.waits.set()
            await exchange.gone()
            self.left.set()
        if raw.cut:
            raise ConnectionAbortedError("as the script says")
        await exchange.end()


class _Exchange:
    """One request and its response."""

    def __init__(self, receive: _Receive, send: _Send) -> None:
        self._receive = receive
        self._send = send

    async def body(self) -> dict[str, Json] | None:
        data, more = b"", True
        while more:
            message = await self._receive()
            data, more = data + message.get("body", b""), message.get("more_body", False)
        try:
            body = decode(data)
        except ParseError:
            return None
        return body if is_object(body) else None

    async def gone(self) -> None:
        await client_left(self._receive)

    async def fail(self, failure: Fails) -> None:
        error = {"type": "error", "message": failure.message}
        await self.respond(failure.status, {"type": "error", "error": error}, failure.headers)

    async def respond(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        await self._begin(status, "application/json", headers or {})
        await self._send({"type": "http.response.body", "body": encode(body)})

    async def stream(self, events: Iterable[Event], *, ends: bool = True) -> None:
        await self._begin(200, "text/event-stream", {})
        for name, data in events:
            text = data if isinstance(data, bytes) else encode(data)
            head = b"event: %b\n" % name.encode() if name else b""
            await self._send(
                {"type": "http.response.body", "body": b"%bdata: %b\n\n" % (head, text), "more_body": True}
            )
        if ends:
            await self.end()

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b""})

    async def _begin(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
        raw_headers = [
            (name.lower().encode(), value.encode()) for name, value in {"content-type": kind, **headers}.items()
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": raw_headers})

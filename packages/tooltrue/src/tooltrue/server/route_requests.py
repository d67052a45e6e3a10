"""The request and the response of an author's HTTP route."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import parse_qsl

from tooltrue.errors import RpcError
from tooltrue.jsonrpc.messages import Json, decode, encode, encode_failure, is_array, is_object
from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.http_server import Receive, Reply, Scope, Send, local_path, send_reply

__all__ = ["BodyNotJson", "RouteRequest", "RouteResponse", "respond"]

_TEXT = ("content-type", "text/plain; charset=utf-8")
_BYTES = ("content-type", "application/octet-stream")


class _Headers(Mapping[str, str]):
    """Headers by name, in any case; those that are repeated are joined as a list (RFC 9110, section 5.3)."""

    def __init__(self, fields: list[tuple[bytes, bytes]]) -> None:
        self._values: dict[str, str] = {}
        for name, value in fields:
            key, text = name.decode("latin-1").lower(), value.decode("latin-1")
            self._values[key] = f"{self._values[key]}, {text}" if key in self._values else text

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class RouteRequest:
    """A request to a route. ``path`` is that below the place where the server is mounted, ``query_params`` has the last
    value of each name. ``principal`` is the authenticated caller; ``None`` at a public route.

    ``scope`` and ``receive`` are those of ASGI: ``Request(request.scope, request.receive)`` is Starlette's.
    """

    def __init__(self, scope: Scope, receive: Receive, principal: Principal | None) -> None:
        self.scope = scope
        self.receive = receive
        self.principal = principal
        self.method: str = scope["method"]
        self.path = local_path(scope)
        self.headers: Mapping[str, str] = _Headers(scope["headers"])
        self._body: bytes | None = None

    @property
    def query_params(self) -> Mapping[str, str]:
        return dict(parse_qsl(self.scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))

    async def body(self) -> bytes:
        """The whole body. Raises ``ConnectionError`` if the client leaves, or the body is refused."""
        if self._body is None:
            parts: list[bytes] = []
            more = True
            while more:
                event = await self.receive()
                if event["type"] != "http.request":
                    raise ConnectionError("the client has left before the end of the body")
                parts.append(event.get("body", b""))
                more = event.get("more_body", False)
            self._body = b"".join(parts)
        return self._body

    async def json(self) -> Json:
        """The body as JSON. For any other body it raises :class:`BodyNotJson`, which the client gets as 400."""
        try:
            return decode(await self.body())
        except RpcError as error:
            raise BodyNotJson(error) from None


class BodyNotJson(ValueError):
    """The body of a request is not JSON; ``response`` tells the client."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(str(error))
        self.response = RouteResponse(encode_failure(None, error), 400, {"content-type": "application/json"})


class RouteResponse(Value, frozen=True):
    """A response of a route: text, bytes, or a value that is sent as JSON. ``status`` is 200 to 599; 204 and 304 are
    sent without content. ``headers`` may be those of another response: the ones that frame a message are left out.
    """

    content: Any = b""
    status: int = 200
    headers: Mapping[str, str] | None = None


async def respond(answer: object, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the return value of a route: a response of ours or of Starlette (an ASGI application), or content for one.
    ``None`` is 204."""
    if callable(answer):
        application = cast(Callable[[Scope, Receive, Send], Awaitable[None]], answer)
        return await application(scope, receive, send)
    response = answer if isinstance(answer, RouteResponse) else RouteResponse(answer, 204 if answer is None else 200)
    return await send_reply(send, _reply(response))


_FRAMING: Final = frozenset(
    {"connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""The headers of one connection (RFC 9110, section 7.6.1), and the length, which is that of our own body."""
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_EMPTY: Final = (204, 304)


def _reply(response: RouteResponse) -> Reply:
    if not 200 <= response.status <= 599:
        raise ValueError(f"a route returned the status {response.status}: return one from 200 to 599")
    fields = ((name.lower(), value) for name, value in (response.headers or {}).items())
    headers = [(name, value) for name, value in fields if name not in _FRAMING]
    for name, value in headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"a route returned an invalid header, {name[:80]!r}: no part of it may be a line end")
    has_kind = any(name == "content-type" for name, _ in headers)
    body, kind = _encoded(None if response.status in _EMPTY else response.content)
    kinds = [] if has_kind or kind is None or not body else [kind]
    return Reply(response.status, body, (*kinds, *headers))


def _encoded(content: object) -> tuple[bytes, tuple[str, str] | None]:
    """The bytes of some content, and the header with its kind; JSON is the kind of a reply that has no other."""
    if content is None:
        return b"", None
    if isinstance(content, str):
        return content.encode(), _TEXT
    if isinstance(content, bytes):
        return content, _BYTES
    if is_object(content) or is_array(content) or isinstance(content, bool | int | float):
        return encode(content), None
    raise TypeError(f"a route returned {type(content).__name__}: return text, bytes, JSON or a response")

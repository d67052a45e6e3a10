"""The least Python that answers the call rows: it decodes, finds the tool and encodes, with the libraries of
tooltrue, without any checks. Not for production use.

stdio without arguments; with a port, HTTP on uvicorn.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

PRODUCTS = [
    {
        "id": f"p-{number}",
        "title": f"lamp {number}",
        "category": "tool",
        "price": 10.0 + number,
        "in_stock": number % 2 == 0,
        "tags": ["new", "sale"],
    }
    for number in range(100)
]
# The texts of 1 MB: prose in lines, rows of JSON, digits without a line break.
PROSE = (Path(__file__).parents[1] / "prose.txt").read_text()
LARGE_PROSE = (PROSE * (1_000_000 // len(PROSE) + 1))[:1_000_000]
ROWS = [
    f'{{"id":"p-{row:05}","title":"lamp #{row:05}","category":"tool","tags":["new","sale"]}}' for row in range(12_500)
]
LARGE_JSON = "[" + ",\n".join(ROWS) + "]"
LARGE_HEX = "".join(sha256(str(number).encode()).hexdigest() for number in range(15_625))
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


async def echo(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": arguments["text"]}]}


async def search_products(arguments: dict[str, Any]) -> dict[str, Any]:
    rows = {"total": 1_000, "products": PRODUCTS[: arguments["limit"]]}
    return {"content": [{"type": "text", "text": _encode(rows).decode()}], "structuredContent": rows}


async def large_prose(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": LARGE_PROSE}]}


async def large_json(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": LARGE_JSON}]}


async def large_hex(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": LARGE_HEX}]}


TOOLS: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
    "echo": echo,
    "large_prose": large_prose,
    "large_json": large_json,
    "large_hex": large_hex,
    "search_products": search_products,
}


# The answers to the requests that a client makes before its first call.
_ECHO = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
_LISTED = {"ttlMs": 60_000, "cacheScope": "public"}
FIRST: dict[str, dict[str, Any]] = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **_LISTED},
    "tools/list": {"tools": [_ECHO], **_LISTED},
}


async def answer(body: bytes) -> bytes:
    request = _decode(body)
    if (result := FIRST.get(request["method"])) is None:
        params = request["params"]
        result = await TOOLS[params["name"]](params["arguments"])
    return _encode({"jsonrpc": "2.0", "id": request["id"], "result": {**result, "resultType": "complete"}})


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    body = (await receive())["body"]
    said = await answer(body)
    headers = [(b"content-length", b"%d" % len(said)), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})


def pipe() -> None:
    """Run one coroutine after the other, without an event loop: no coroutine has to wait."""
    rest = b""
    while chunk := os.read(0, 65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        said = memoryview(b"".join(finished(answer(line)) + b"\n" for line in lines))
        while said:  # a pipe takes no more than fits at once
            said = said[os.write(1, said) :]


def finished(coroutine: Any) -> bytes:
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it has waited")


if __name__ == "__main__":
    if sys.argv[1:]:
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False, lifespan="off")
    else:
        pipe()

"""Requests of revision 2026-07-28, built before the clock starts, and what a right answer to each looks like."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0"},
}
_DISTINCT = 1_024  # more than are ever in flight, so no id is used twice at a time

Expect = Callable[[dict[str, Any]], bool]


class WrongAnswer(Exception):
    """A server answered, but not with what was asked for. Its figures are worth nothing."""


@dataclass(frozen=True, slots=True)
class Message:
    """One request: `body` is its JSON, `expect` tells whether a `result` is right."""

    id: int
    method: str
    name: str | None
    body: bytes
    expect: Expect

    @property
    def line(self) -> bytes:
        return self.body + b"\n"


def verified(message: Message, answer: bytes) -> dict[str, Any]:
    """The `result` in `answer`; raises WrongAnswer unless it is the right one to `message`."""
    return checked(message, json.loads(answer))


def checked(message: Message, response: dict[str, Any]) -> dict[str, Any]:
    """The same for an answer that has been decoded."""
    result = response.get("result")
    if response.get("id") != message.id or result is None or not message.expect(result):
        raise WrongAnswer(f"{message.method} {message.name or ''}: {json.dumps(response)[:400]}")
    return result


def echoes(tool: str) -> tuple[Message, ...]:
    """Calls of a tool that returns its `text`, each with a text of its own."""
    return tuple(echo(tool, number) for number in range(_DISTINCT))


def echo(tool: str, number: int) -> Message:
    text = f"hello {number}"
    return _call(number, tool, {"text": text}, lambda result: _succeeded(result) and _texts(result) == [text])


def searches() -> tuple[Message, ...]:
    """Valid calls of `search_products`, each answered with 20 structured rows."""
    return tuple(_search(number, limit=20, expect=_twenty_products) for number in range(_DISTINCT))


def forbidden_search() -> Message:
    """A call out of range, which a server that validates answers with `isError`."""
    return _search(0, limit=101, expect=lambda result: result.get("isError") is True)


def tool_list(number: int, expect: Expect, cursor: str | None = None) -> Message:
    return _message(number, "tools/list", None, {} if cursor is None else {"cursor": cursor}, expect)


def _search(number: int, limit: int, expect: Expect) -> Message:
    arguments = {"query": "lamp", "price": {"low": 10, "high": 500}, "category": "tool", "limit": limit}
    return _call(number, "search_products", arguments, expect)


def _call(number: int, tool: str, arguments: dict[str, Any], expect: Expect) -> Message:
    return _message(number, "tools/call", tool, {"name": tool, "arguments": arguments}, expect)


def _message(number: int, method: str, name: str | None, params: dict[str, Any], expect: Expect) -> Message:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": _META}}
    return Message(number, method, name, json.dumps(request, separators=(",", ":")).encode(), expect)


def _twenty_products(result: dict[str, Any]) -> bool:
    structured = result.get("structuredContent", {})
    numbers = [product["id"] for product in structured.get("products", ())]
    same_as_text = [json.loads(text) for text in _texts(result)] == [structured]
    return _succeeded(result) and same_as_text and numbers == [f"p-{number}" for number in range(20)]


def _succeeded(result: dict[str, Any]) -> bool:
    return not result.get("isError", False) and result.get("resultType") == "complete"


def _texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"] if block["type"] == "text"]

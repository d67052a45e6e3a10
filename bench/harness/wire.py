"""Requests, built before the clock starts, and the shape of a correct answer to each.

They are of revision 2026-07-28, or of the last session-based revision for a peer that supports no other.
"""

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

MODERN = "2026-07-28"
LEGACY = "2025-06-18"
_CLIENT = {"name": "bench", "version": "1.0"}
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _CLIENT,
}
_TASKS = "io.modelcontextprotocol/tasks"
_META_TASKS = {**_META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {_TASKS: {}}}}
_DISTINCT = 1_024  # more than are ever in flight, so no id is used twice at a time

Expect = Callable[[dict[str, Any]], bool]


class WrongAnswer(Exception):
    """A server answered, but not with the requested result. Its figures are invalid."""


@dataclass(frozen=True, slots=True)
class Message:
    """One request: `body` is its JSON, `expect` tells whether a `result` is right."""

    id: int
    method: str
    name: str | None
    era: str
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


# The messages that open a connection, or a session, with a session-based peer.
HANDSHAKE = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


@functools.cache
def echoes(tool: str, era: str) -> tuple[Message, ...]:
    """Calls of a tool that returns its `text`, each with a text of its own."""
    return tuple(echo(tool, number, era) for number in range(1, _DISTINCT))


def echo(tool: str, number: int, era: str) -> Message:
    text = f"hello {number}"
    return _call(number, tool, {"text": text}, lambda result: _succeeded(result) and _texts(result) == [text], era)


LARGE = {
    "large_prose": "561458d13b7cae7281135e909ec0f02b7cd3f1201b1a6fc281aec989b0fc4959",
    "large_json": "1043e95887d459a56e4fb9159f1f594c3e236c91c4878ab15230a7109a37dd3b",
    "large_hex": "32b1e84306df3e612d3080447ba7b19ea90220d06066f52b9b46a86c9517eef7",
}
"""The SHA-256 of each text of 1 MB, by the tool that returns it."""


@functools.cache
def larges(tool: str, era: str) -> tuple[Message, ...]:
    """Calls that are answered with a text of 1 MB."""

    def is_right(result: dict[str, Any]) -> bool:
        return _succeeded(result) and [sha256(text.encode()).hexdigest() for text in _texts(result)] == [LARGE[tool]]

    return tuple(_call(number, tool, {}, is_right, era) for number in range(1, 8))


@functools.cache
def searches(era: str) -> tuple[Message, ...]:
    """Valid calls of `search_products`, each answered with 20 structured rows."""
    return tuple(_search(number, 20, _twenty_products, era) for number in range(1, _DISTINCT))


@functools.cache
def notes(era: str) -> tuple[Message, ...]:
    """Calls of different tools among a thousand."""
    return tuple(_note(number, era) for number in range(1, 1_000))


def _note(number: int, era: str) -> Message:
    key = f"key {number}"
    arguments = {"key": key, "kind": "b", "count": 2}
    return _call(number, f"read_note_{number:04}", arguments, lambda said: _texts(said) == [f"{key} b 2"], era)


def forbidden_search(era: str) -> Message:
    """A call out of range, which a server that validates refuses."""
    return _search(1, 101, lambda result: False, era)


def check_refused(message: Message, answer: bytes) -> None:
    """Raises WrongAnswer unless it was: with an error of either kind."""
    response = json.loads(answer)
    if "error" not in response and response.get("result", {}).get("isError") is not True:
        raise WrongAnswer(f"{message.name} was not refused: {answer[:400]!r}")


def tool_list(number: int, expect: Expect, era: str, cursor: str | None = None) -> Message:
    return _message(number, "tools/list", None, {} if cursor is None else {"cursor": cursor}, expect, era)


def task_call(tool: str, number: int) -> Message:
    """A call that has to become a task, by a client that knows the extension."""

    def is_right(result: dict[str, Any]) -> bool:
        return result.get("resultType") == "task" and result["status"] == "working" and bool(result["taskId"])

    params = {"name": tool, "arguments": {"text": f"hello {number}"}}
    return _message(number, "tools/call", tool, params, is_right, MODERN, _META_TASKS)


def task_get(number: int, task: str) -> Message:
    """The request for the state of the task that began with the call of this number."""

    def is_right(result: dict[str, Any]) -> bool:
        if result["taskId"] != task:
            return False
        if result["status"] != "completed":
            return result["status"] == "working"
        return _succeeded(result["result"]) and _texts(result["result"]) == [f"hello {number}"]

    return _message(number, "tasks/get", task, {"taskId": task}, is_right, MODERN, _META_TASKS)


def _search(number: int, limit: int, expect: Expect, era: str) -> Message:
    arguments = {"query": "lamp", "price": {"low": 10, "high": 500}, "category": "tool", "limit": limit}
    return _call(number, "search_products", arguments, expect, era)


def _call(number: int, tool: str, arguments: dict[str, Any], expect: Expect, era: str) -> Message:
    return _message(number, "tools/call", tool, {"name": tool, "arguments": arguments}, expect, era)


def _message(
    number: int,
    method: str,
    name: str | None,
    params: dict[str, Any],
    expect: Expect,
    era: str,
    meta: Mapping[str, Any] = _META,
) -> Message:
    said = {**params, "_meta": meta} if era == MODERN else params
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": said}
    return Message(number, method, name, era, json.dumps(request, separators=(",", ":")).encode(), expect)


def _twenty_products(result: dict[str, Any]) -> bool:
    structured = result.get("structuredContent", {})
    numbers = [product["id"] for product in structured.get("products", ())]
    same_as_text = [json.loads(text) for text in _texts(result)] == [structured]
    return _succeeded(result) and same_as_text and numbers == [f"p-{number}" for number in range(20)]


def _succeeded(result: dict[str, Any]) -> bool:
    return not result.get("isError", False) and result.get("resultType", "complete") == "complete"


def _texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"] if block["type"] == "text"]

"""The official JSON Schemas of every revision, and a judge that holds a conversation to them.

The files are the published schemas without their prose. One known fault is mended on reading: the answer to a form may
hold any number, which the schema of 2026-07-28 takes for integers only.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema_rs

__all__ = ["REVISIONS", "Judge", "check"]

FOLDER = Path(__file__).parent
REVISIONS = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
MODERN = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"

RESULTS = {
    "completion/complete": "CompleteResult",
    "initialize": "InitializeResult",
    "logging/setLevel": "EmptyResult",
    "ping": "EmptyResult",
    "prompts/get": "GetPromptResult",
    "prompts/list": "ListPromptsResult",
    "resources/list": "ListResourcesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/unsubscribe": "EmptyResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
}
TASK_RESULTS = {
    "tasks/cancel": "CancelTaskResult",
    "tasks/get": "GetTaskResult",
    "tasks/list": "ListTasksResult",
    "tasks/result": "CallToolResult",
}
"""Of 2025-11-25; the later extension has a schema of its own."""


@functools.cache
def _document(revision: str) -> dict[str, Any]:
    text = (FOLDER / f"{revision}.json").read_text()
    return json.loads(text.replace('{"type":["string","integer","boolean"]}', '{"type":["string","number","boolean"]}'))


@functools.cache
def _compiled(revision: str, definition: str) -> jsonschema_rs.Validator:
    document = _document(revision)
    word = "$defs" if "$defs" in document else "definitions"
    return jsonschema_rs.validator_for(
        {"$schema": document["$schema"], "$ref": f"#/{word}/{definition}", word: document[word]}
    )


def check(revision: str, definition: str, value: Any) -> None:
    """Fails unless ``value`` is a ``definition`` of that revision."""
    problem = next(iter(_compiled(revision, definition).iter_errors(value)), None)
    assert problem is None, f"no {definition} of {revision}: {problem.message} at {problem.instance_path}: {value}"


class Judge:
    """Hears both ends of one conversation, and fails at the first message of the server that no schema has."""

    def __init__(self, revision: str) -> None:
        self._legacy = revision if revision != MODERN else "2025-11-25"
        self._revision = revision
        self._asked: dict[tuple[type, Any], tuple[str, str]] = {}

    def sent(self, frame: bytes) -> None:
        """Record the requests in a frame of the client, which may be malformed."""
        try:
            value = json.loads(frame)
        except (ValueError, RecursionError):
            return
        for message in value if isinstance(value, list) else [value]:
            if isinstance(message, dict) and "method" in message and isinstance(message.get("id"), int | str):
                self._asked[_key(message)] = (str(message["method"]), self._revision_of(message))

    def _revision_of(self, message: dict[str, Any]) -> str:
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        return MODERN if isinstance(meta, dict) and VERSION in meta else self._legacy

    def came(self, frame: bytes) -> None:
        """Check the messages in a frame of the server."""
        value = json.loads(frame)
        for message in value if isinstance(value, list) else [value]:
            self._judge(message)

    def _judge(self, message: dict[str, Any]) -> None:
        assert message.get("jsonrpc") == "2.0"
        if "method" in message:
            return self._judge_method(message)
        method, revision = self._asked.get(_key(message), ("", self._revision)) if "id" in message else ("", "")
        if "error" in message:
            # Before 2025-11-25 no schema has an error without an id.
            if "id" in message:
                check(revision, "JSONRPCErrorResponse" if revision >= "2025-11-25" else "JSONRPCError", message)
            return None
        result = message["result"]
        if method == "initialize":
            self._legacy = result["protocolVersion"]
            revision = self._legacy
        return check(revision, _definition_of(method, revision, result), result)

    def _judge_method(self, message: dict[str, Any]) -> None:
        if "id" in message:
            return check(self._legacy, "ServerRequest", message)
        params = message.get("params", {})
        modern = self._revision == MODERN or "io.modelcontextprotocol/subscriptionId" in params.get("_meta", {})
        return check(MODERN if modern else self._legacy, "ServerNotification", message)


def _definition_of(method: str, revision: str, result: dict[str, Any]) -> str:
    if revision == MODERN and result.get("resultType") == "input_required":
        return "InputRequiredResult"
    if revision == "2025-11-25" and method == "tools/call" and "task" in result:
        return "CreateTaskResult"
    results = {**RESULTS, **TASK_RESULTS} if revision == "2025-11-25" else RESULTS
    return results.get(method, "Result")


def _key(message: dict[str, Any]) -> tuple[type, Any]:
    return type(message.get("id")), message.get("id")

"""The calls of every client, and the comparison of the observed results with the expected ones."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from clients import Official

TOOLS = [
    "create_directory",
    "delete_file",
    "edit_file",
    "file_info",
    "list_directory",
    "list_roots",
    "move_file",
    "read_file",
    "read_media",
    "search_files",
    "write_file",
]
CALLS = {
    "write": ("write_file", {"path": "hello.txt", "content": "hello", "mode": "create"}),
    "read": ("read_file", {"path": "hello.txt"}),
    "refused": ("read_file", {"path": "../outside"}),
}

TASK_TOOLS = [["add", "optional"], ["archive", "required"], ["now", None], ["publish", "optional"]]
TASK_CALLS = {
    "add": ("add", {"a": 1, "b": 2}, "stream"),
    "archive": ("archive", {}, "stream"),
    "publish": ("publish", {}, "stream"),
    "now": ("now", {}, "stream"),
    "forbidden": ("now", {}, "task"),
    "cancelled": ("publish", {}, "cancel"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """The evaluated observations of one client over one transport. `trouble` is an error outside of the calls."""

    client: Official
    transport: str
    revision: str = "-"
    listed: bool = False
    called: bool = False
    refused: bool = False
    trouble: str = ""
    detail: str = ""
    seconds: float = 0.0

    @property
    def agreed(self) -> bool:
        return self.revision == self.client.revision

    @property
    def passed(self) -> bool:
        return self.agreed and self.listed and self.called and self.refused and not self.trouble


def calls_of(client: Official) -> dict:
    return TASK_CALLS if client.tasks else CALLS


def judged(client: Official, transport: str, seen: dict, stderr: str) -> Row:
    if client.tasks:
        return _judged_tasks(client, transport, seen, stderr)
    results = seen["results"]
    return Row(
        client,
        transport,
        revision=str(seen["revision"]),
        listed=sorted(seen["tools"]) == TOOLS,
        called=results["write"]["is_error"] is False and _says(results["read"], "hello"),
        refused=results["refused"]["is_error"] is True,
        detail=f"it saw: {json.dumps(seen)}\n{stderr}",
    )


def _judged_tasks(client: Official, transport: str, seen: dict, stderr: str) -> Row:
    results = seen["results"]
    as_task = {"as_task": True, "related": True}
    return Row(
        client,
        transport,
        revision=str(seen["revision"]),
        listed=sorted(seen["tools"]) == TASK_TOOLS,
        called=results["add"] == {"text": "3", **as_task}
        and results["archive"] == {"text": "archived", **as_task}
        and results["publish"] == {"text": "published", **as_task}
        and results["now"] == {"text": "now", "as_task": False, "related": False}
        and seen["asked"] == [True],
        refused=results["forbidden"] == {"error": -32601}
        and results["cancelled"] == {"status": "cancelled", "ttl": 60_000, "again": -32602},
        detail=f"it saw: {json.dumps(seen)}\n{stderr}",
    )


def _says(result: dict, text: str) -> bool:
    """Whether a value in the result is exactly `text`: in the structured content, or all of the text."""
    return result["is_error"] is False and text in {result["text"].strip(), *_strings(result["structured"])}


def _strings(value: object) -> Iterable[str]:
    match value:
        case str():
            yield value.strip()
        case dict():
            yield from _strings(list(value.values()))
        case list():
            for inner in value:
                yield from _strings(inner)

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


def judged(client: Official, transport: str, seen: dict, stderr: str) -> Row:
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

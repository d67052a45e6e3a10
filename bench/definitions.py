"""Files of real definitions: JSON Lines, also gzipped, one server a line, ``{"server": NAME, "tools": […]}``."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tooltrue_check.subject import Shelf, Subject


def servers(files: Iterable[Path]) -> Iterator[tuple[str, list[Any]]]:
    for file in files:
        data = file.read_bytes()
        for line in (gzip.decompress(data) if file.suffix == ".gz" else data).splitlines():
            row = json.loads(line)
            yield row["server"], row["tools"]


def shelf(server: str, tools: Iterable[Any]) -> list[Subject]:
    """The tools of one server, by themselves, also where two have one name."""
    found = Shelf()
    found.subjects.extend(Subject(server, tool, found) for tool in tools)
    return found.subjects


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)

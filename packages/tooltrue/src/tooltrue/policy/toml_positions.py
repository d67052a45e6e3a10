"""Line numbers of the keys in a TOML text: the parser reports none, so it is given more and more of the text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tooltrue.jsonrpc.messages import is_array, is_object

__all__ = ["Path", "lines_of"]

Path: TypeAlias = tuple[str | int, ...]


def lines_of(text: str) -> Mapping[Path, int]:
    """Map each key, header and item to the line on which it begins. ``text`` is valid TOML. Takes quadratic time, so
    use it only to report a problem."""
    lines: dict[Path, int] = {}
    whole = text.split("\n")
    begins = 1  # the line after the last complete value: a value may take several lines
    for number in range(1, len(whole) + 1):
        try:
            document = tomllib.loads("\n".join(whole[:number]))
        except tomllib.TOMLDecodeError:
            continue
        for path in _paths(document):
            lines.setdefault(path, begins)
        begins = number + 1
    return lines


def _paths(value: Any, at: Path = ()) -> Iterator[Path]:
    steps: list[tuple[str | int, Any]] = []
    if is_object(value):
        steps = [*value.items()]
    elif is_array(value):
        steps = [*enumerate(value)]
    for step, inner in steps:
        yield (*at, step)
        yield from _paths(inner, (*at, step))

"""Positions of the values in a JSON text, so that a finding can name a line and a fix can change one value only."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tooltrue.contract.contract import Path

__all__ = ["Positions"]

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(frozen=True)
class Positions:
    """The positions in ``text``, which is valid JSON."""

    text: str

    @cached_property
    def spans(self) -> Mapping[Path, tuple[int, int]]:
        """Path of each value → its start and end; ``()`` is the whole text."""
        return dict(_spans(self.text))

    @cached_property
    def last(self) -> Mapping[Path, int]:
        """Path of each container that is not empty → the end of its last member or item."""
        return {path[:-1]: end for path, (_, end) in self.spans.items() if path}

    @cached_property
    def _ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def line(self, path: Path) -> int:
        """The line, from 1, on which a value begins, or that of the nearest existing container around it."""
        if not self._ends:
            return 1  # dumps are often written as one line, and need not be scanned
        while path and path not in self.spans:
            path = path[:-1]
        start, _ = self.spans.get(path, (0, 0))
        return bisect_right(self._ends, start) + 1


def _spans(text: str) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Scan the tokens once. ``open_`` are the starts of the open containers, ``steps`` the next step within each."""
    open_: list[int] = []
    steps: list[str | int] = []
    key: str | None = None
    for token in _TOKEN.finditer(text):
        symbol, start = token[0], token.start()
        if symbol in "{[":
            open_.append(start)
            steps.append("" if symbol == "{" else 0)
        elif symbol in "}]":
            steps.pop()
            yield tuple(steps), (open_.pop(), token.end())
        elif symbol == ",":
            if isinstance(last := steps[-1], int):
                steps[-1] = last + 1
        elif symbol == ":":
            steps[-1] = key or ""
        else:
            if symbol[0] == '"' and _is_key(text, token.end(), steps):
                key = json.loads(symbol)
            else:
                yield tuple(steps), (start, token.end())


def _is_key(text: str, end: int, steps: list[str | int]) -> bool:
    after = _AFTER.match(text, end)
    return bool(steps) and isinstance(steps[-1], str) and after is not None


_AFTER: Final = re.compile(r"\s*:")

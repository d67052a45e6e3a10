"""Reads a TOML file of the operator, and tells the lines of its mistakes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import Json, is_array
from tooltrue.policy.toml_positions import Path as Keys
from tooltrue.policy.toml_positions import lines_of
from tooltrue.wording import REASON_FILE_NOT_FOUND, REASON_NESTED_TOO_DEEPLY, REASON_NOT_UTF8, Worded

__all__ = ["Keys", "TomlFault", "read_toml"]

T = TypeVar("T")

_LIST_HEADER: Final = re.compile(r"\s*\[\[")


class TomlFault(Exception):
    """A mistake in the file. ``keys`` lead to it; without them it is one of the whole file."""

    def __init__(self, problem: object, keys: Keys = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        self.keys = keys


def read_toml(file: Path, invalid: str, read: Callable[[Mapping[str, Json]], T]) -> T:
    """The value that ``read`` makes of the data of the file; it raises :class:`TomlFault`.

    Raises ``ConfigurationError`` of the code ``invalid`` for a mistake, with its place and the problem, and for a file
    that cannot be read.
    """
    text = ""
    try:
        text = file.read_bytes().decode().replace("\r\n", "\n")
        return read(tomllib.loads(text))
    except FileNotFoundError:
        fault = TomlFault(Worded(REASON_FILE_NOT_FOUND, {}))
    except OSError as error:
        fault = TomlFault(error.strerror or str(error))
    except UnicodeDecodeError:
        fault = TomlFault(Worded(REASON_NOT_UTF8, {}))
    except tomllib.TOMLDecodeError as error:
        fault = TomlFault(str(error))  # it has the line
    except RecursionError:
        fault = TomlFault(Worded(REASON_NESTED_TOO_DEEPLY, {}))
    except TomlFault as error:
        fault = error
    raise ConfigurationError.of(invalid, file=_place(file, text, fault.keys), problem=fault.problem)


def _place(file: Path, text: str, keys: Keys) -> str:
    """The name of the file, with the line on which the value at ``keys``, or the nearest one around it, begins."""
    lines = (_line(text, keys[:length]) for length in range(len(keys), 0, -1))
    line = next((line for line in lines if line is not None), None)
    return str(file) if line is None else f"{file}:{line}"


def _line(text: str, keys: Keys) -> int | None:
    """The line of the value at ``keys``. Table by table: the search for a line parses its text again and again."""
    name, *rest = keys
    passed = 0
    for first, table, data in _tables(text):
        inside: Keys = keys
        if rest and isinstance(rest[0], int) and is_array(items := data.get(str(name))):
            inside = (name, rest[0] - passed, *rest[1:])
            passed += len(items)
        if (line := lines_of(table).get(inside)) is not None:
            return first + line - 1
    return None


def _tables(text: str) -> Iterator[tuple[int, str, Mapping[str, Json]]]:
    """The text in parts of which each but the first begins with ``[[NAME]]``: the first line, the text, the data."""
    first, lines = 1, list[str]()
    for number, line in enumerate([*text.split("\n"), "[["], 1):
        if _LIST_HEADER.match(line) and lines:
            try:
                data = tomllib.loads(part := "\n".join(lines))
            except tomllib.TOMLDecodeError:
                pass  # the line is part of a text that goes on
            else:
                yield first, part, data
                first, lines = number, []
        lines.append(line)

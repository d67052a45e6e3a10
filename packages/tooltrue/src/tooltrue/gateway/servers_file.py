"""The file of the servers of a gateway: each mistake in it is told with its line, before a server starts."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from tooltrue.client.config import HostConfig, read_config, unset_variables
from tooltrue.errors import ConfigurationError, fact_of
from tooltrue.gateway.wording import GATEWAY_KEY_TWICE, GATEWAY_LABEL_REFUSED
from tooltrue.host.aliases import marks
from tooltrue.host.client_files.json_edit import EditRefused, JsonNode, parse
from tooltrue.policy import toml_positions

__all__ = ["missing_variables", "read_servers"]


def read_servers(file: str) -> HostConfig:
    """Read the file of the servers. Raises ``ConfigurationError`` with the line of the mistake."""
    try:
        config = read_config(file)
    except ConfigurationError as error:
        raise _key_twice(file) or _with_line(error, file) from None
    _check_labels(config)
    return replace(config, notes=tuple(_with_line(note, file) for note in config.notes))


def missing_variables(config: HostConfig, environ: Mapping[str, str]) -> Iterator[ConfigurationError]:
    """Yield a problem for each server of the file that refers to a variable which is not set. Such a server does not
    start; the others do."""
    for one in config.servers:
        if one.enabled and (problem := unset_variables(one, config, environ)) is not None:
            yield _with_line(problem, config.name)


def _check_labels(config: HostConfig) -> None:
    """Raise ``ConfigurationError`` for a label that deceives, or looks like one before it, with its line."""
    try:
        marks(one.label for one in config.servers)
    except ConfigurationError as error:
        refused = error.facts["label"]
        path = next(one.path for one in config.servers if refused in (one.label, ascii(one.label)[:140]))
        place = f"{config.name}:{_line_of(config.name, path)}"
        raise ConfigurationError.of(GATEWAY_LABEL_REFUSED, place=place, problem=fact_of(error)) from None


def _key_twice(file: str) -> ConfigurationError | None:
    """The error for a key that stands twice in one object of a JSON file."""
    if (text := _text_of(file)) is None:
        return None
    try:
        parse(text)
    except EditRefused as refused:
        if refused.at is not None:
            return ConfigurationError.of(
                GATEWAY_KEY_TWICE, place=f"{file}:{_line_at(text, refused.at)}", problem=refused.problem
            )
    return None


def _with_line(error: ConfigurationError, file: str) -> ConfigurationError:
    """Return an error about a place in the file with the line of that place."""
    if "path" not in error.facts:
        return error
    place = f"{file}:{_line_of(file, error.facts['path'])}"
    return ConfigurationError.of(error.code, **{**error.facts, "file": place})


# --- lines ------------------------------------------------------------------------------------------------------------

_STEP: Final = re.compile(r"\.([A-Za-z_$][A-Za-z0-9_$-]*)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]")


def _line_of(file: str, path: str) -> int:
    """Return the line of a place such as ``$.mcpServers.notes.args``, or of the nearest place around it."""
    text = _text_of(file) or ""
    steps = [_step(*match) for match in _STEP.findall(path)]
    try:
        if file.endswith(".toml"):
            lines = toml_positions.lines_of(text)
            return next((lines[at] for end in range(len(steps), 0, -1) if (at := tuple(steps[:end])) in lines), 1)
        return _line_at(text, _start_of(parse(text), steps))
    except (EditRefused, tomllib.TOMLDecodeError):  # it has changed since it was read
        return 1


def _step(name: str, number: str, quoted: str) -> str | int:
    return int(number) if number else ast.literal_eval(quoted) if quoted else name


def _start_of(node: JsonNode, steps: list[str | int]) -> int:
    start = node.start
    for step in steps:
        if isinstance(step, int):
            if step >= len(node.elements or ()):
                break
            node = (node.elements or [])[step]
            start = node.start
        elif (member := node.member(step)) is None:
            break
        else:
            node, start = member.value, member.start
    return start


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _text_of(file: str) -> str | None:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None

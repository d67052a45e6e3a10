"""Edits of TOML text: one table such as ``[mcp_servers.notes]`` is added, replaced or removed, and the rest stays.

Only tables that have a header of their own are edited. The caller verifies the result by parsing it: a text that this
module misreads is not written.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tooltrue.host.client_files.json_edit import EditRefused, same
from tooltrue.host.wording import REASON_TABLE_WITHOUT_HEADER
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.wording import Worded

__all__ = ["string_of", "with_table", "without_table"]

_MARK: Final = "\ufeff"


def with_table(text: str, path: Sequence[str], value: Mapping[str, Json]) -> str:
    """The text with the table ``value`` at ``path``: in the place of an existing one, or at the end.

    Raises :class:`EditRefused` if a table of that name stands there without a header of its own.
    """
    line = "\r\n" if "\r\n" in text else "\n"
    block = line.join(_lines(path, value)) + line
    if spans := list(_spans(text, path)):
        if same(_at(text, path), dict(value)):
            return text
        start, end = spans[0]
        rest = _without(text, spans[1:])
        return rest[:start] + block + rest[end:]
    _check_absent(text, path)
    if not text.removeprefix(_MARK).strip():
        return text.rstrip("\r\n \t") + block
    ends = text if text.endswith("\n") else text + line
    return (ends if re.search(r"\n[ \t\r]*\n\Z", ends) else ends + line) + block


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without the table at ``path`` and its own tables; the same text if there is none. Raises
    :class:`EditRefused` as :func:`with_table` does."""
    spans = list(_spans(text, path))
    if not spans:
        _check_absent(text, path)
    return _without(text, spans)


def _at(text: str, path: Sequence[str]) -> Any:
    """The value at ``path``; None if there is none."""
    value: Any = tomllib.loads(text.removeprefix(_MARK))
    for key in path:
        value = value.get(key) if is_object(value) else None
    return value


def _check_absent(text: str, path: Sequence[str]) -> None:
    if _at(text, path) is not None:
        raise EditRefused(Worded(REASON_TABLE_WITHOUT_HEADER, {"path": ".".join(path)}))


# --- the spans of tables ----------------------------------------------------------------------------------------------


class _Span(NamedTuple):
    start: int
    end: int


_PIECE: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'|#[^\n]*|[\[{]|[\]}]|\n",
    re.DOTALL,
)


def _spans(text: str, path: Sequence[str]) -> Iterator[_Span]:
    """The spans of the table at ``path`` and of the tables within it, in order. Comments and blank lines before the
    next header belong to that one."""
    headers = list(_headers(text))
    for place, (start, name) in enumerate(headers):
        if name[: len(path)] == list(path):
            end = headers[place + 1][0] if place + 1 < len(headers) else len(text)
            yield _Span(start, start + _content_end(text[start:end]))


def _content_end(section: str) -> int:
    """The end of the last line of a section that is neither blank nor a comment."""
    lines = section.splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return sum(map(len, lines))


def _headers(text: str) -> Iterator[tuple[int, list[str]]]:
    """The place and the name of each table header: a bracket that opens a line outside of values and texts."""
    depth, line = 0, 1 if text.startswith(_MARK) else 0
    at = line
    while (match := _PIECE.search(text, at)) is not None:
        sign, at = match[0], match.end()
        if sign == "\n":
            line = at
        elif sign in ("[", "{"):
            if not depth and sign == "[" and not text[line : match.start()].strip(" \t"):
                end = text.find("\n", match.start())
                header = text[match.start() : end if end >= 0 else len(text)]
                yield line, _name(header)
                at = match.start() + len(header)
                continue
            depth += 1
        elif sign in ("]", "}"):
            depth = max(depth - 1, 0)


def _name(header: str) -> list[str]:
    """The keys of a header; empty for an array of tables."""
    if header.startswith("[["):
        return []
    try:
        table: Any = tomllib.loads(header.rstrip("\r"))
    except tomllib.TOMLDecodeError:
        return []
    keys: list[str] = []
    while is_object(table) and table:
        ((key, table),) = table.items()
        keys.append(key)
    return keys


def _without(text: str, spans: Sequence[_Span]) -> str:
    """The text without these spans, and without one of the two blank lines around each."""
    for start, end in reversed(spans):
        before, after = text[:start], text[end:]
        blank = re.compile(r"[ \t]*\r?\n").match(after)
        if not before.removeprefix(_MARK) or re.search(r"\n[ \t\r]*\n\Z", before):
            after = after if blank is None else after[blank.end() :]
        text = before + after
    return text


# --- writing ----------------------------------------------------------------------------------------------------------


def _lines(path: Sequence[str], value: Mapping[str, Json]) -> Iterator[str]:
    yield f"[{'.'.join(map(_key, path))}]"
    for key, one in value.items():
        if not is_object(one):
            yield f"{_key(key)} = {_value(one)}"
    for key, one in value.items():
        if is_object(one):
            yield ""
            yield from _lines((*path, key), one)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else string_of(key)


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_of(value)
    if is_array(value):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def string_of(text: str) -> str:
    """A basic TOML string. Its escapes are those of JSON, and the delete character has one as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

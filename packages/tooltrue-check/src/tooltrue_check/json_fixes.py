"""Fixes in the text of a JSON file, which change only the fixed values; and a check that no other part of a contract
has changed."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tooltrue.contract.contract import Contract, Path
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue_check.positions import Positions

__all__ = ["arrived", "is_only", "put"]


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def put(text: str, values: Iterable[tuple[Path, Json]]) -> tuple[str, int]:
    """Put values at paths of a JSON text; return the new text and the number of values put.

    A value without a place (an index beyond the end of a list, a member of a value that is not an object) is skipped,
    and so is one whose edit would overlap an earlier edit.
    """
    positions = Positions(text)
    edits: list[_Edit] = []
    for path, value in values:
        edit = _edit(positions, path, value)
        if edit is not None and not any(_meet(edit, other) for other in edits):
            edits.append(edit)
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text, len(edits)


def _meet(one: _Edit, other: _Edit) -> bool:
    return one.start <= other.end and other.start <= one.end


def _edit(positions: Positions, path: Path, value: Json) -> _Edit | None:
    spans = positions.spans
    if path in spans:
        return _Edit(*spans[path], _become(positions, path, value))
    there = next(length for length in range(len(path) - 1, -1, -1) if path[:length] in spans)
    key, *rest = path[there:]
    for step in reversed(rest):
        value = {step: value}
    start, end = spans[path[:there]]
    if positions.text[start] != "{" or not all(isinstance(step, str) for step in (key, *rest)):
        return None
    member = f"{_encode(key)}: {_encode(value)}"
    last = positions.last.get(path[:there])
    if last is None:
        return _Edit(start + 1, end - 1, member)
    blank = re.match(r"\{(\s*)", positions.text[start:])
    return _Edit(last, last, f",{(blank[1] if blank else '') or ' '}{member}")


def _become(positions: Positions, path: Path, value: Json) -> str:
    """The text at ``path`` rewritten to mean ``value``. Parts that stay keep their formatting."""
    text, (start, end) = positions.text, positions.spans[path]
    old = json.loads(text[start:end])
    if _exact_form(old) == _exact_form(value):
        return text[start:end]
    stays = _staying(old, value)
    if stays is None:
        return _encode(value)
    blank = re.match(r"\s*", text[start + 1 :])
    margin = blank[0] if blank and old else ""
    body, at = "", start + 1
    for step in old if is_object(old) else range(len(old)):
        begin, after = positions.spans[*path, step]
        if step in stays:
            before = text[at:begin]
            if at > start + 1 and not body:  # it is now the first
                before = margin + before.partition(",")[2].lstrip()
            body += before + _become(positions, (*path, step), stays[step])
        at = after
    for key in value if is_object(value) else ():
        if key not in stays:
            body += f",{margin or ' '}" if body else margin
            body += f"{_encode(key)}: {_encode(value[key])}"
    return text[start] + body + text[at:end]


def _staying(old: Json, value: Json) -> Mapping[str | int, Json] | None:
    """The members or items of ``old`` that remain in ``value``, with their new values; ``None``
    if ``value`` is neither another object nor the list with some items removed."""
    if is_object(old) and is_object(value):
        return {key: value[key] for key in old if key in value}
    if not is_array(old) or not is_array(value):
        return None
    stays: dict[str | int, Json] = {}
    for index, item in enumerate(old):
        if len(stays) < len(value) and _exact_form(item) == _exact_form(value[len(stays)]):
            stays[index] = item
    return stays if len(stays) == len(value) else None


def _encode(value: Json) -> str:
    """Encode as readable JSON; in ASCII if a character would not be visible."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


# -- results -----------------------------------------------------------------------------------------------------------


def is_only(values: Iterable[tuple[str, Path, Json]], before: Contract, after: Contract) -> bool:
    """Whether these values, and no others, have changed in the contract. ``1`` and ``1.0`` are different here."""
    expected = copy.deepcopy(before.data())
    for tool, path, value in values:
        inner = _inside(expected, ("tools", tool, *path[:-1]))
        if inner is not None:
            inner[str(path[-1])] = value
    return _exact_form(expected) == _exact_form(after.data())


def arrived(values: Iterable[tuple[str, Path, Json]], contract: Contract) -> list[tuple[str, Path, Json]]:
    """The values that are present in the contract."""
    there = contract.data()
    return [
        (tool, path, value)
        for tool, path, value in values
        if (inner := _inside(there, ("tools", tool, *path[:-1]))) is not None
        and _exact_form(inner.get(str(path[-1]))) == _exact_form(value)
    ]


def _inside(node: Json, steps: Iterable[str | int]) -> dict[str, Json] | None:
    for step in steps:
        if is_object(node):
            node = node.get(str(step))
        elif is_array(node) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            return None
    return node if is_object(node) else None


def _exact_form(value: Json) -> str:
    return json.dumps(value, sort_keys=True)

"""Truncation of a value or text that is too large, where its schema permits it.

A list loses its last items, a string its end; no other part is changed. A string may be cut only if no schema
constrains its form. The caller checks the outcome against the whole schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tooltrue.jsonrpc.messages import encode, is_array, is_object
from tooltrue.protocol.types import Value

__all__ = ["MARK", "Truncation", "cut_text", "cuts"]

MARK = " […]"
"""Marks the end of a string that was cut."""

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]


class Truncation(Value, frozen=True):
    """A smaller value, and a note on how much is left of which part: ``$.rows: 40 of 2000 items``."""

    value: Any
    note: str


def cut_text(text: str, room: int) -> str:
    """Return the beginning of a text, of at most ``room`` bytes, up to the end of a line if one is near."""
    head = text.encode()[: max(0, room)].decode(errors="ignore")
    line = head.rfind("\n", len(head) - len(head) // 4)
    return head if line < 0 else head[: line + 1]


def cuts(value: Any, schema: Mapping[str, Any] | None, room: int) -> Iterator[Truncation]:
    """Yield ways to bring ``value`` down to ``room`` bytes as JSON, cutting the outermost parts first."""
    excess = len(encode(value)) - room
    emptied: list[Truncation] = []
    for path, part, schemas in _heaviest(value, schema or {}):
        size = len(encode(part))
        if is_array(part):
            head = _first(part, size - excess)
            cut = Truncation(_with(value, path, head), f"{_path_text(path)}: {len(head)} of {len(part)} items")
            if head:
                yield cut
            else:
                emptied.append(cut)  # a non-empty part is preferred
        elif isinstance(part, str) and not any(_FORMED.intersection(one) for one in schemas):
            head = _shortened(part, size - excess)
            yield Truncation(_with(value, path, head), f"{_path_text(path)}: {len(head)} of {len(part)} characters")
    yield from emptied


_FORMED = frozenset({"enum", "const", "pattern", "format", "contentEncoding", "contentMediaType"})
_DEEPEST = 12


def _heaviest(value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any, list[Mapping[str, Any]]]]:
    """Yield each part, with its schemas, on the way from the root to a leaf, always along the heaviest part."""
    path: Path = ()
    schemas = _alternatives([schema], schema)
    for _ in range(_DEEPEST):
        yield path, value, schemas
        inner = _inner(value)
        if not inner:
            return
        step, value = max(inner, key=_weight)
        path, schemas = (
            (*path, step),
            _alternatives([one for parent in schemas for one in _below(parent, step)], schema),
        )


def _inner(value: Any) -> list[tuple[Step, Any]]:
    if is_object(value):
        return list(value.items())
    return list(enumerate(value)) if is_array(value) else []


def _weight(item: tuple[Step, Any]) -> int:
    return len(encode(item[1]))


def _below(schema: Mapping[str, Any], step: Step) -> Iterator[Any]:
    """Yield the schemas that a member or an item has to fit."""
    if isinstance(step, str):
        properties = schema.get("properties", {})
        yield properties[step] if step in properties else schema.get("additionalProperties")
        yield from schema.get("patternProperties", {}).values()
    else:
        yield schema.get("items")
        yield from schema.get("prefixItems", ())


def _alternatives(schemas: list[Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schemas with those that they refer to and are composed of."""
    alternatives: list[Mapping[str, Any]] = []
    waiting = schemas
    while waiting:
        schema = waiting.pop()
        if not is_object(schema) or any(schema is one for one in alternatives):
            continue
        alternatives.append(schema)
        for name in ("anyOf", "oneOf", "allOf"):
            waiting.extend(schema.get(name, ()))
        waiting.extend(schema.get(name) for name in ("then", "else"))
        waiting.append(_referred(schema.get("$ref"), root))
    return alternatives


def _referred(reference: Any, root: Mapping[str, Any]) -> Any:
    """Resolve a reference within the schema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    node: Any = root
    for step in reference[1:].split("/")[1:]:
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if is_object(node) else None
    return node


def _first(items: list[Any], room: int) -> list[Any]:
    size = 2
    for count, item in enumerate(items):
        size += len(encode(item)) + 1
        if size > room:
            return items[:count]
    return items


def _shortened(text: str, room: int) -> str:
    """Return the beginning of a string with a mark behind it, of at most ``room`` bytes as JSON."""
    head = cut_text(text, room - len(encode(MARK)))
    while head and len(encode(head + MARK)) > room:  # escapes make JSON longer than the text
        head = head[: len(head) - max(1, len(head) // 8)]
    return head + MARK


def _with(value: Any, path: Path, part: Any) -> Any:
    """Return a copy of the value with another part at this path."""
    if not path:
        return part
    step, *rest = path
    changed = {place: _with(item, tuple(rest), part) if place == step else item for place, item in _inner(value)}
    return changed if is_object(value) else list(changed.values())


def _path_text(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)

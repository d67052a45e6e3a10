"""Truncation of a value or text that is too large, where its schema permits it.

A list loses its last items, a string its end; no other part is changed. A string may be cut only if no schema
constrains its form. The caller checks the outcome against the whole schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from tooltrue.jsonrpc.messages import encode, is_array, is_object
from tooltrue.protocol.types import Value

__all__ = ["MARK", "Cut", "cut_text", "cuts"]

MARK = " […]"
"""Marks the end of a string that was cut."""

Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]


class Cut(Value, frozen=True):
    """A smaller value, and a note on how much is left of which part: ``$.rows: 40 of 2000 items``."""

    value: Any
    said: str


def cut_text(text: str, room: int) -> str:
    """Return the beginning of a text, of at most ``room`` bytes, up to the end of a line if one is near."""
    kept = text.encode()[: max(0, room)].decode(errors="ignore")
    line = kept.rfind("\n", len(kept) - len(kept) // 4)
    return kept if line < 0 else kept[: line + 1]


def cuts(value: Any, schema: Mapping[str, Any] | None, room: int) -> Iterator[Cut]:
    """Yield ways to bring ``value`` down to ``room`` bytes as JSON, cutting the outermost parts first."""
    excess = len(encode(value)) - room
    emptied: list[Cut] = []
    for path, part, schemas in _heaviest(value, schema or {}):
        size = len(encode(part))
        if is_array(part):
            kept = _first(part, size - excess)
            cut = Cut(_with(value, path, kept), f"{_said(path)}: {len(kept)} of {len(part)} items")
            if kept:
                yield cut
            else:
                emptied.append(cut)  # a non-empty part is preferred
        elif isinstance(part, str) and not any(_FORMED.intersection(one) for one in schemas):
            kept = _shortened(part, size - excess)
            yield Cut(_with(value, path, kept), f"{_said(path)}: {len(kept)} of {len(part)} characters")
    yield from emptied


_FORMED = frozenset({"enum", "const", "pattern", "format", "contentEncoding", "contentMediaType"})
_DEEPEST = 12


def _heaviest(value: Any, schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any, list[Mapping[str, Any]]]]:
    """Yield each part, with its schemas, on the way from the root to a leaf, always along the heaviest part."""
    path: Path = ()
    schemas = _meant([schema], schema)
    for _ in range(_DEEPEST):
        yield path, value, schemas
        inner = _inner(value)
        if not inner:
            return
        step, value = max(inner, key=_weight)
        path, schemas = (*path, step), _meant([one for known in schemas for one in _below(known, step)], schema)


def _inner(value: Any) -> list[tuple[Step, Any]]:
    if is_object(value):
        return list(value.items())
    return list(enumerate(value)) if is_array(value) else []


def _weight(item: tuple[Step, Any]) -> int:
    return len(encode(item[1]))


def _below(schema: Mapping[str, Any], step: Step) -> Iterator[Any]:
    """Yield the schemas that a member or an item has to fit."""
    if isinstance(step, str):
        known = schema.get("properties", {})
        yield known[step] if step in known else schema.get("additionalProperties")
        yield from schema.get("patternProperties", {}).values()
    else:
        yield schema.get("items")
        yield from schema.get("prefixItems", ())


def _meant(schemas: list[Any], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schemas with those that they refer to and are composed of."""
    meant: list[Mapping[str, Any]] = []
    waiting = schemas
    while waiting:
        schema = waiting.pop()
        if not is_object(schema) or any(schema is known for known in meant):
            continue
        meant.append(schema)
        for name in ("anyOf", "oneOf", "allOf"):
            waiting.extend(schema.get(name, ()))
        waiting.extend(schema.get(name) for name in ("then", "else"))
        waiting.append(_referred(schema.get("$ref"), root))
    return meant


def _referred(reference: Any, root: Mapping[str, Any]) -> Any:
    """Resolve a reference within the schema."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if is_object(found) else None
    return found


def _first(items: list[Any], room: int) -> list[Any]:
    size = 2
    for count, item in enumerate(items):
        size += len(encode(item)) + 1
        if size > room:
            return items[:count]
    return items


def _shortened(text: str, room: int) -> str:
    """Return the beginning of a string with a mark behind it, of at most ``room`` bytes as JSON."""
    kept = cut_text(text, room - len(encode(MARK)))
    while kept and len(encode(kept + MARK)) > room:  # escapes make JSON longer than the text
        kept = kept[: len(kept) - max(1, len(kept) // 8)]
    return kept + MARK


def _with(value: Any, path: Path, part: Any) -> Any:
    """Return a copy of the value with another part at this path."""
    if not path:
        return part
    step, *rest = path
    changed = {place: _with(item, tuple(rest), part) if place == step else item for place, item in _inner(value)}
    return changed if is_object(value) else list(changed.values())


def _said(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)

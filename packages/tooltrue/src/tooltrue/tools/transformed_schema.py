"""The input schema of a transformed tool: arguments hidden, renamed, described anew, or given a default.

Pure: a schema and the changes come in, a schema comes out. Arguments are hidden or renamed only where each place that
could name them is known; other schemas are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.protocol.types import UNSET, UnsetType, Value
from tooltrue.tools.wording import TRANSFORM_KEYWORD_UNSUPPORTED, TRANSFORMED_ARGUMENT_TWICE

__all__ = ["Change", "transformed_schema", "visible_names"]


class Change(Value, frozen=True):
    """The change of one argument: its new name, texts and default, or that it is hidden."""

    hidden: bool = False
    name: str | None = None
    title: str | None = None
    description: str | None = None
    default: Any | UnsetType = UNSET


def visible_names(tool: str, schema: Mapping[str, Any], changes: Mapping[str, Change]) -> dict[str, str]:
    """Return the new name of each argument that is not hidden. Raises ``DefinitionError`` if two would be the same."""
    names: dict[str, str] = {}
    for name in schema.get("properties", {}):
        change = changes.get(name, _UNCHANGED)
        if change.hidden:
            continue
        new = change.name or name
        if new in names.values():
            raise DefinitionError.of(TRANSFORMED_ARGUMENT_TWICE, tool=tool, name=new)
        names[name] = new
    return names


_UNCHANGED = Change()


def transformed_schema(tool: str, schema: Mapping[str, Any], changes: Mapping[str, Change]) -> dict[str, Any]:
    """Return the schema of the visible arguments. Raises ``DefinitionError`` where another part of the schema may name
    an argument that is hidden or renamed.

    A schema that is open to further arguments is closed if an argument is hidden or renamed: its old name would be
    open to a model otherwise.
    """
    names = visible_names(tool, schema, changes)
    properties: Mapping[str, Any] = schema.get("properties", {})
    affected = {name for name in properties if names.get(name) != name}
    made = dict(schema)
    if properties:
        made["properties"] = {names[name]: _property(properties[name], changes.get(name)) for name in names}
    optional = {name for name in properties if name not in names or _has_default(changes.get(name))}
    required = [names.get(name, name) for name in schema.get("required", ()) if name not in optional]
    _replace_list(made, "required", required)
    if not affected:
        return made
    _check_keywords(tool, schema, affected, names)
    if "dependentRequired" in schema:
        made["dependentRequired"] = {
            names[name]: [names.get(needed, needed) for needed in needs]
            for name, needs in schema["dependentRequired"].items()
        }
    made.pop("default", None)
    _replace_list(made, "examples", [_example(one, names) for one in schema.get("examples", ()) if is_object(one)])
    made["additionalProperties"] = False
    return _without_unused(made) if len(names) < len(properties) else made


def _has_default(change: Change | None) -> bool:
    return change is not None and not isinstance(change.default, UnsetType)


def _replace_list(schema: dict[str, Any], keyword: str, items: list[Any]) -> None:
    """Set the keyword if the schema has it, or leave it out where no item remains."""
    if items:
        schema[keyword] = items
    else:
        schema.pop(keyword, None)


def _property(schema: Any, change: Change | None) -> Any:
    if change is None:
        return schema
    texts = {"title": change.title, "description": change.description}
    edits: dict[str, Any] = {keyword: text for keyword, text in texts.items() if text is not None}
    if not isinstance(change.default, UnsetType):
        edits["default"] = change.default
    if not edits:
        return schema
    if is_object(schema):
        return {**schema, **edits}
    return edits if schema else {"not": {}, **edits}


def _example(example: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names[name]: value for name, value in example.items() if name in names}


_HANDLED: Final = frozenset(
    {
        *("$schema", "$comment", "type", "title", "description", "properties", "required", "dependentRequired"),
        *("examples", "default", "additionalProperties", "$defs", "definitions"),
    }
)
"""The keywords that are rewritten, or name no argument."""
_OF_THE_WHOLE: Final = frozenset(
    {
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const"),
        *("dependentSchemas", "dependencies", "patternProperties", "propertyNames", "unevaluatedProperties"),
        *("minProperties", "maxProperties", "$ref", "$dynamicRef"),
    }
)
"""The keywords at the root that depend on the names or the number of arguments."""
_REFERENCES: Final = ("$ref", "$dynamicRef")
_DEFINITIONS: Final = ("$defs", "definitions")


def _check_keywords(tool: str, schema: Mapping[str, Any], affected: set[str], visible: Mapping[str, str]) -> None:
    for keyword, value in schema.items():
        if keyword in _OF_THE_WHOLE or (keyword not in _HANDLED and _mentions(value, affected)):
            raise DefinitionError.of(TRANSFORM_KEYWORD_UNSUPPORTED, tool=tool, keyword=keyword)
    if is_object(schema.get("additionalProperties")):
        raise DefinitionError.of(TRANSFORM_KEYWORD_UNSUPPORTED, tool=tool, keyword="additionalProperties")
    for reference in _references(schema):
        if _definition_of(reference) is None:
            raise DefinitionError.of(TRANSFORM_KEYWORD_UNSUPPORTED, tool=tool, keyword=f"$ref {reference!r}")
    needs: Mapping[str, Any] = schema.get("dependentRequired", {})
    if not {*needs, *(name for names in needs.values() for name in names)}.issubset(visible):
        raise DefinitionError.of(TRANSFORM_KEYWORD_UNSUPPORTED, tool=tool, keyword="dependentRequired")
    if not set(schema.get("required", ())).issubset(schema.get("properties", {})):
        raise DefinitionError.of(TRANSFORM_KEYWORD_UNSUPPORTED, tool=tool, keyword="required")


def _mentions(value: Any, names: set[str]) -> bool:
    if is_object(value):
        return any(key in names or _mentions(inner, names) for key, inner in value.items())
    if is_array(value):
        return any(_mentions(inner, names) for inner in value)
    return isinstance(value, str) and value in names


def _references(value: Any) -> Iterator[str]:
    if is_object(value):
        for keyword in _REFERENCES:
            if isinstance(reference := value.get(keyword), str):
                yield reference
        for inner in value.values():
            yield from _references(inner)
    elif is_array(value):
        for inner in value:
            yield from _references(inner)


def _definition_of(reference: str) -> tuple[str, str] | None:
    """Return the keyword and name of the definition that a reference leads into, or ``None``."""
    start, *steps = reference.split("/")
    if start != "#" or len(steps) < 2 or steps[0] not in _DEFINITIONS:
        return None
    return steps[0], steps[1].replace("~1", "/").replace("~0", "~")


def _without_unused(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out the definitions that only hidden arguments have used."""
    used: set[tuple[str, str]] = set()
    waiting: list[Any] = [{keyword: value for keyword, value in schema.items() if keyword not in _DEFINITIONS}]
    while waiting:
        for reference in _references(waiting.pop()):
            if (target := _definition_of(reference)) is not None and target not in used:
                used.add(target)
                waiting.append(schema.get(target[0], {}).get(target[1]))
    definitions = {
        keyword: {name: inner for name, inner in schema[keyword].items() if (keyword, name) in used}
        for keyword in _DEFINITIONS
        if keyword in schema
    }
    made = {**schema, **definitions}  # in the order of the schema
    return {keyword: value for keyword, value in made.items() if value or keyword not in _DEFINITIONS}

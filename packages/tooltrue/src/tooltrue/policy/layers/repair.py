"""Arguments that miss their schema by spelling alone, repaired where that is declared: text that holds JSON, a number
in text, ``"null"``.

No value is guessed. A text is replaced by the value that it spells only if the schema allows no text there, it spells
exactly one JSON value of an allowed type, and the whole then fits. Otherwise the arguments stay as they came, and the
model is told what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tooltrue.errors import RpcError
from tooltrue.jsonrpc.messages import decode, is_array, is_object
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.rules.globs import Globs
from tooltrue.protocol.types import CallToolResult, ToolOutcome, replaced
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Principal, Tool, ToolCall

__all__ = ["REPAIRED", "mended", "repair"]

REPAIRED = "tooltrue/repaired"
"""The key of ``_meta`` under which a result lists the arguments that were repaired."""

_DEEPEST = 16


def repair(tools: Globs | None) -> Callable[[Provider], Provider]:
    """Repair the arguments of these ``tools``, and of those that opt in themselves; each repair is recorded."""
    return lambda inner: _Repair(inner, tools)


class _Repair(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    tools: Globs | None

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        if not (tool.repair or (self.tools is not None and self.tools.match(tool.name))):
            return None

        def before(call: ToolCall) -> None:
            arguments, repairs = mended(tool, call.arguments)
            if not repairs:
                return
            if call.context.trail is not None:
                call.context.trail.note(f"repaired: {', '.join(repairs)}")
            call.arguments = arguments
            call.keep(REPAIRED, repairs)

        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
            repairs = call.recall(REPAIRED)
            if not repairs or not isinstance(outcome, CallToolResult):
                return outcome
            return replaced(outcome, meta={**(outcome.meta or {}), REPAIRED: repairs})

        return Step(before, after)


def mended(tool: Tool, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return arguments that fit, and the repairs; unchanged arguments if they fit already, or cannot be repaired."""
    filled = {**tool.defaults, **arguments}
    if tool.input.accepts(filled):
        return arguments, []
    root = tool.definition.inputSchema
    repairs: list[str] = []
    made = _walk(arguments, [root], root, "$", repairs, 0)
    return (made, repairs) if repairs and tool.input.accepts({**tool.defaults, **made}) else (arguments, [])


def _walk(value: Any, schemas: list[Any], root: Any, path: str, repairs: list[str], depth: int) -> Any:
    alternatives = _alternatives(schemas, root)
    if depth > _DEEPEST or not alternatives:
        return value
    if isinstance(value, str) and (types := _types(alternatives)) and "string" not in types:
        parsed = _spelt(value, types)
        if parsed is _NOTHING:
            return value
        repairs.append(f"{path}: {_type(parsed)} in text")
        value = parsed
    if is_object(value):
        return {
            name: _walk(one, _members(alternatives, name), root, f"{path}.{name}", repairs, depth + 1)
            for name, one in value.items()
        }
    if is_array(value):
        items = [schema["items"] for schema in alternatives if "items" in schema]
        return [_walk(one, items, root, f"{path}[{place}]", repairs, depth + 1) for place, one in enumerate(value)]
    return value


_NOTHING = object()


def _spelt(text: str, types: frozenset[str]) -> Any:
    """Return the JSON value that a text spells, if it is of one of these types."""
    if text != text.strip():
        return _NOTHING
    try:
        value = decode(text.encode(errors="surrogatepass"))
    except RpcError:
        return _NOTHING
    kind = _type(value)
    return value if kind in types or (kind == "integer" and "number" in types) else _NOTHING


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case _:
            return "array" if is_array(value) else "object"


def _types(schemas: list[Mapping[str, Any]]) -> frozenset[str]:
    """Return the allowed types; empty if they are not stated plainly."""
    types: set[str] = set()
    for schema in schemas:
        kind = schema.get("type")
        if isinstance(kind, str):
            types.add(kind)
        elif is_array(kind):
            types.update(one for one in kind if isinstance(one, str))
        elif "enum" in schema or "const" in schema:
            types.update(_type(one) for one in schema.get("enum", [schema.get("const")]))
        elif not ({"anyOf", "oneOf", "allOf", "$ref"} & schema.keys()):
            return frozenset()  # it accepts any value, text too
    return frozenset(types)


def _members(schemas: list[Mapping[str, Any]], name: str) -> list[Any]:
    members: list[Any] = []
    for schema in schemas:
        properties = schema.get("properties")
        if is_object(properties) and name in properties:
            members.append(properties[name])
        elif "additionalProperties" in schema:
            members.append(schema["additionalProperties"])
    return members


def _alternatives(schemas: list[Any], root: Any) -> list[Mapping[str, Any]]:
    """Return the schemas with those that they refer to, and their alternatives."""
    alternatives: list[Mapping[str, Any]] = []
    waiting = list(schemas)
    while waiting:
        schema = waiting.pop()
        if not is_object(schema) or any(schema is one for one in alternatives):
            continue
        alternatives.append(schema)
        for word in ("anyOf", "oneOf", "allOf"):
            waiting.extend(schema.get(word, ()))
        waiting.append(_referred(schema.get("$ref"), root))
    return alternatives


def _referred(reference: Any, root: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    node = root
    for step in reference[1:].split("/")[1:]:
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if is_object(node) else None
    return node

"""The OpenAPI 3.1 description of tools as operations: one ``POST /tools/NAME`` each.

A tool's schemas stand among the components, since their references start at the root of a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tooltrue.protocol.name_rules import DEPRECATED, is_name
from tooltrue.protocol.result_wrapping import at_pointer
from tooltrue.protocol.types import Implementation, ToolDefinition
from tooltrue.rest.failures import STATUSES

__all__ = ["described_tools"]

_OPENAPI: Final = "3.1.0"
_SCHEMAS: Final = "#/components/schemas/"
_JSON: Final = "application/json"

_ERROR: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "A refusal or a failure. A refusal of the head of a request is a JSON-RPC error.",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string", "description": "The problem, and the next step."},
                "code": {"type": ["string", "integer"], "description": "TT and four digits, or a number of JSON-RPC."},
                "problems": {
                    "type": "array",
                    "description": "422: each problem of the arguments.",
                    "items": {
                        "type": "object",
                        "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
                        "required": ["path", "message"],
                    },
                },
                "ticket": {"type": "string", "description": "409: the ticket that a person approves."},
                "result": {"description": "424: the structured content of the error, if there is some."},
            },
            "required": ["message"],
        }
    },
    "required": ["error"],
}
_RESULT: Final[Mapping[str, Any]] = {
    "description": "The structured content of the result; without one, an object with its content blocks as `content`."
}
_WAIT: Final[Mapping[str, Any]] = {
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
}


def described_tools(
    info: Implementation,
    tools: Sequence[ToolDefinition],
    *,
    instructions: str | None = None,
    security: Mapping[str, Mapping[str, Any]] | None = None,
    scopes: Mapping[str, Sequence[str]] | None = None,
    base: str = "",
) -> dict[str, Any]:
    """Return the description of ``tools``. ``security`` are the schemes by name, of which any admits a caller, and
    ``scopes`` those that tools require. ``base`` is the URL or path before ``/tools``. Tools without a name that a path
    can hold are left out."""
    schemes = security or {}
    named = [tool for tool in tools if is_name(tool.name) and set(tool.name) != {"."}]
    schemas: dict[str, Any] = {"Error": _ERROR, "Result": _RESULT}
    for tool in named:
        for part, schema in (("input", tool.inputSchema), ("output", tool.outputSchema)):
            if schema is not None:
                name = _component(tool, part)
                schemas[name] = at_pointer(schema, f"{_SCHEMAS}{name}")
    return {
        "openapi": _OPENAPI,
        "info": {
            "title": info.title or info.name,
            "version": info.version,
            **({"description": text} if (text := instructions or info.description) else {}),
        },
        **({"servers": [{"url": base}]} if base else {}),
        "paths": {
            f"/tools/{tool.name}": {"post": _operation(tool, schemes, (scopes or {}).get(tool.name, ()))}
            for tool in named
        },
        "components": {
            "schemas": schemas,
            "responses": {str(status): _failure(status) for status in STATUSES},
            **({"securitySchemes": dict(schemes)} if schemes else {}),
        },
    }


def _component(tool: ToolDefinition, part: str) -> str:
    return f"{tool.name}.{part}"


def _operation(tool: ToolDefinition, schemes: Mapping[str, Any], scopes: Sequence[str]) -> dict[str, Any]:
    output = "Result" if tool.outputSchema is None else _component(tool, "output")
    return {
        "operationId": tool.name,
        **({"summary": tool.title} if tool.title else {}),
        **({"description": tool.description} if tool.description else {}),
        **({"deprecated": True} if DEPRECATED in (tool.meta or {}) else {}),
        "requestBody": {"required": True, "content": _content(_component(tool, "input"))},
        "responses": {
            "200": {"description": "The result.", "content": _content(output)},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in STATUSES},
        },
        **({"security": [{name: list(scopes)} for name in schemes]} if schemes else {}),
    }


def _content(schema: str) -> dict[str, Any]:
    return {_JSON: {"schema": {"$ref": f"{_SCHEMAS}{schema}"}}}


def _failure(status: int) -> dict[str, Any]:
    return {
        "description": STATUSES[status],
        **({"headers": _WAIT} if status in (429, 503) else {}),
        "content": _content("Error"),
    }

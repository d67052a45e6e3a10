"""Converts Swagger 2.0 to OpenAPI 3.0: where a body stands, how arrays are written, where schemas and schemes are.

References to other files lead to schemas alone when it is converted: parameters and responses stand in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue_toolbox.openapi.description_files import NO_FILES, DescriptionFiles, value_at

__all__ = ["METHODS", "as_openapi", "moved"]

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

_PLACES: Final = {"#/definitions/": "#/components/schemas/", "#/responses/": "#/components/responses/"}
_OF_PARAMETER: Final = frozenset(
    ("name", "in", "description", "required", "collectionFormat", "allowEmptyValue", "schema", "x-deprecated")
)
_STYLES: Final[Mapping[str, tuple[str, bool]]] = {
    "csv": ("form", False),
    "ssv": ("spaceDelimited", False),
    "pipes": ("pipeDelimited", False),
    "multi": ("form", True),
    "tsv": ("tabDelimited", False),  # OpenAPI 3 has none such: an operation with it is left out
}
_MAX_REFERENCES: Final = 16
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")

_Object = dict[str, Any]


def as_openapi(root: Mapping[str, Any], files: DescriptionFiles = NO_FILES) -> _Object:
    """The description as OpenAPI 3.0. ``root`` is valid Swagger 2.0, and is not changed. References to ``files`` have
    their form."""
    conversion = _Conversion(root, files)
    return {
        "openapi": "3.0.3",
        "info": root["info"],
        "servers": _servers(root),
        "tags": root.get("tags", []),
        "security": root.get("security", []),
        "paths": {path: conversion.path_item(item) for path, item in root["paths"].items() if path.startswith("/")},
        "components": {
            "schemas": moved(root.get("definitions", {})),
            "responses": {
                name: conversion.response(response, root.get("produces", []))
                for name, response in root.get("responses", {}).items()
            },
            "securitySchemes": {name: _scheme(scheme) for name, scheme in root.get("securityDefinitions", {}).items()},
        },
    }


def _servers(root: Mapping[str, Any]) -> list[_Object]:
    path = root.get("basePath", "")
    if "host" not in root:
        return [{"url": path or "/"}]
    schemes = sorted(root.get("schemes", ["https"]), key=lambda scheme: scheme != "https")
    return [{"url": f"{scheme}://{root['host']}{path}"} for scheme in schemes if scheme in ("http", "https")]


def moved(value: Json) -> Any:
    """The value with its references changed to the places of OpenAPI 3."""
    if is_object(value):
        return {
            key: _new_place(below) if key == "$ref" and isinstance(below, str) else moved(below)
            for key, below in value.items()
        }
    return [moved(below) for below in value] if is_array(value) else value


def _new_place(reference: str) -> str:
    for old, new in _PLACES.items():
        if reference.startswith(old):
            return new + reference.removeprefix(old)
    return reference


class _Conversion:
    """The conversion of what may be referred to."""

    def __init__(self, root: Mapping[str, Any], files: DescriptionFiles) -> None:
        self._root = dict(root)
        self._files = files.contents

    def path_item(self, item: Mapping[str, Any]) -> _Object:
        shared = item.get("parameters", [])
        return {
            method: self._operation(shared, operation)
            for method, operation in item.items()
            if method in METHODS and is_object(operation)
        }

    def _operation(self, shared: Iterable[Json], operation: Mapping[str, Any]) -> _Object:
        parameters = dict[tuple[str, str], _Object]()
        for reference in (*shared, *operation.get("parameters", [])):
            parameter = self._followed(reference)
            parameters[str(parameter.get("name")), str(parameter.get("in"))] = parameter
        produced = operation.get("produces", self._root.get("produces", []))
        consumed = operation.get("consumes", self._root.get("consumes", []))
        made = {
            key: operation[key]
            for key in ("operationId", "summary", "description", "tags", "deprecated", "security")
            if key in operation
        }
        of_body = [one for one in parameters.values() if one.get("in") in ("body", "formData")]
        made["parameters"] = [_parameter(one) for one in parameters.values() if one not in of_body]
        if body := _body(of_body, consumed):
            made["requestBody"] = body
        made["responses"] = {
            status: self.response(response, produced) for status, response in operation.get("responses", {}).items()
        }
        return made

    def _followed(self, node: Json) -> _Object:
        """The target of a reference. One that leads nowhere is left for the reader of operations, which names it."""
        for _ in range(_MAX_REFERENCES):
            if not is_object(node):
                break
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            name, _, pointer = reference.partition("#")
            try:
                node = value_at(self._files[name] if name else self._root, pointer)
            except LookupError:
                return {"$ref": reference, "name": reference}
        return {}

    def response(self, response: Mapping[str, Any], produced: list[str]) -> _Object:
        reference = response.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/responses/"):
            return moved(response)
        followed = self._followed(response)
        made: _Object = {"description": followed.get("description", "")}
        schema = followed.get("schema")
        if is_object(schema) and schema.get("type") != "file":
            made["content"] = {media: {"schema": moved(schema)} for media in produced or ["application/json"]}
        return made


def _parameter(parameter: Mapping[str, Any]) -> _Object:
    if "$ref" in parameter:
        return {"$ref": parameter["$ref"]}
    schema = {key: moved(value) for key, value in parameter.items() if key not in _OF_PARAMETER}
    made: _Object = {key: parameter[key] for key in ("name", "in", "description", "required") if key in parameter}
    made["schema"] = schema if schema.get("type") != "file" else {"type": "string", "format": "binary"}
    if schema.get("type") == "array":
        style, explode = _STYLES.get(parameter.get("collectionFormat", "csv"), ("tabDelimited", False))
        is_query = parameter.get("in") == "query"
        made |= {"style": style if is_query or style == "tabDelimited" else "simple", "explode": explode and is_query}
    return made


def _body(parameters: list[_Object], consumed: list[str]) -> _Object | None:
    if not parameters:
        return None
    if parameters[0].get("in") == "body":
        (body, *_) = parameters
        content = {media: {"schema": moved(body.get("schema", {}))} for media in consumed or ["application/json"]}
        return {
            "description": body.get("description", ""),
            "required": body.get("required", False),
            "content": content,
        }
    made = {str(one["name"]): _parameter(one) for one in parameters}
    properties = {
        name: {**one["schema"], **({"description": one["description"]} if "description" in one else {})}
        for name, one in made.items()
    }
    required = [name for name, one in made.items() if one.get("required")]
    schema: _Object = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    encoding = {
        name: {"style": "form", "explode": parameter.get("collectionFormat") == "multi"}
        for name, parameter in zip(made, parameters, strict=True)
        if parameter.get("type") == "array"
    }
    has_file = any(one.get("type") == "file" for one in parameters)
    forms = [media for media in consumed if media in _FORMS] or [_FORMS[0]]
    media = _FORMS[1] if has_file else forms[0] if _FORMS[0] not in forms else _FORMS[0]
    return {"required": bool(required), "content": {media: {"schema": schema, "encoding": encoding}}}


def _scheme(scheme: Mapping[str, Any]) -> _Object:
    if scheme.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    return dict(scheme)

"""``openapi-core`` as the judge of requests to real APIs, with one operation or a few at a time: a description may have
a thousand."""

from __future__ import annotations

import email.parser
import email.policy
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import unquote

import yaml
from jsonschema.exceptions import best_match
from openapi_core import Config, OpenAPI
from werkzeug.datastructures import ImmutableMultiDict

from services.openapi import JudgedRequest
from support.website import Asked, Said
from tooltrue_toolbox.openapi.operation import ApiOperation
from tooltrue_toolbox.openapi.swagger import as_openapi

__all__ = ["METHODS", "OperationJudge", "PathJudge", "description_root", "first_page"]

METHODS: Final = ("get", "put", "post", "delete", "head", "patch")
HOST: Final = "http://api.invalid"
_IGNORED_HEADERS: Final = ("accept", "content-type", "authorization")
_COMPOSITES: Final = ("allOf", "anyOf", "oneOf")
_NO_VALIDATOR: Final = cast("Any", None)
"""The description was validated by the tools; the documentation of the judge has ``None`` for no second time."""


def description_root(file: Path) -> dict[str, Any]:
    """The description of a file, which is JSON or YAML."""
    text = file.read_text("utf-8")
    return json.loads(text) if text.lstrip().startswith("{") else yaml.load(text, yaml.CSafeLoader)


class _JudgedDescription:
    """A description as the judge reads it, at one server and without what it cannot read."""

    def __init__(self, root: dict[str, Any]) -> None:
        # openapi-core does not read Swagger 2.0, so that it is given what we make of it.
        described = as_openapi(root) if "swagger" in root else root
        self._root: dict[str, Any] = _without_lost_discriminators(described, described)
        components = self._root.get("components", {})
        bodies = for_judge(components.get("requestBodies", {}), described)
        schemas = {
            name: _with_recursion(schema, f"#/components/schemas/{name}")
            for name, schema in components.get("schemas", {}).items()
        }
        self._root["components"] = {**components, "requestBodies": bodies, "schemas": schemas}
        self._root["servers"] = [{"url": f"{HOST}/v1"}]
        text = json.dumps(root, default=str)
        self._readers = _readers(text)
        # Parts of other paths may be referred to: those stay, at a server that no request goes to.
        others = self._root["paths"] if '"#/paths/' in text else {}
        self._others = {path: {**item, "servers": [{"url": "http://other.invalid"}]} for path, item in others.items()}

    @property
    def paths(self) -> Mapping[str, Any]:
        return self._root["paths"]

    def with_paths(self, items: Mapping[str, Any], **more: Any) -> OpenAPI:
        """A judge of these path items alone."""
        judged = {path: for_judge(self._with_plain_parameters(item), self._root) for path, item in items.items()}
        config = Config(spec_validator_cls=_NO_VALIDATOR, extra_media_type_deserializers=self._readers)
        return OpenAPI.from_dict({**self._root, "paths": {**self._others, **judged}, **more}, config)

    def _with_plain_parameters(self, node: Any) -> Any:
        """A path item or an operation whose parameters may be written: ``readOnly`` counts for properties alone, and
        openapi-core takes it for the schema of a parameter too. It also judges the headers whose parameters OpenAPI
        ignores."""
        made = {key: self._with_plain_parameters(one) if key in METHODS else one for key, one in node.items()}
        if "parameters" in node:
            parameters = [self._plain_parameter(one) for one in node["parameters"]]
            made["parameters"] = [one for one in parameters if one["name"].lower() not in _IGNORED_HEADERS]
        return made

    def _plain_parameter(self, node: Any) -> Any:
        parameter = followed(self._root, node)
        return {**parameter, "schema": self._plain(parameter["schema"])} if "schema" in parameter else parameter

    def _plain(self, node: Any) -> Any:
        schema = {key: one for key, one in followed(self._root, node).items() if key != "readOnly"}
        branches = {key: [self._plain(one) for one in schema[key]] for key in _COMPOSITES if key in schema}
        return schema | branches


class OperationJudge:
    """Judges the requests of one operation at a time."""

    def __init__(self, file: Path) -> None:
        self._description = _JudgedDescription(description_root(file))
        self._openapi: OpenAPI | None = None
        self.operation = ""
        self.faults: list[str] = []
        self.right = 0

    def begin(self, operation: ApiOperation) -> None:
        self.operation = operation.key
        item = {key: value for key, value in self._description.paths[operation.path].items() if key != "servers"}
        method = {key: value for key, value in item[operation.method.lower()].items() if key != "servers"}
        self._openapi = self._description.with_paths({operation.path: {**item, operation.method.lower(): method}})

    def __call__(self, asked: Asked) -> Said:
        assert self._openapi is not None
        try:
            self._openapi.validate_request(JudgedRequest(asked, HOST))
            self.right += 1
        except Exception as error:  # noqa: BLE001 - whatever the judge says is the verdict
            request = f"{asked.path}?{asked.raw_query} {asked.body[:300]!r}"
            self.faults.append(f"{self.operation}: {_reason(error)}: {request[:400]}")
        return Said(200, {})


class PathJudge:
    """Judges each request by the operations whose paths it may have, without their security."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._description = _JudgedDescription(root)
        self._paths = [(_pattern(path), path, _bare(item)) for path, item in self._description.paths.items()]
        self.faults: list[str] = []

    def __call__(self, asked: Asked) -> Said:
        asked_path = asked.path.removeprefix("/v1")
        items = {path: item for pattern, path, item in self._paths if pattern.fullmatch(asked_path)}
        try:
            self._description.with_paths(items, security=[]).validate_request(JudgedRequest(asked, HOST))
        except Exception as error:  # noqa: BLE001 - whatever the judge says is the verdict
            self.faults.append(f"{asked.method} {asked.path}?{asked.raw_query[:200]}: {_reason(error)}")
        return Said(200, {})


def followed(root: Mapping[str, Any], node: Any) -> Any:
    """The node to which a reference leads."""
    while "$ref" in node:
        reference = node["$ref"]
        node = root
        for part in reference.removeprefix("#/").split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if isinstance(node, list) else node[key]
    return node


def _with_recursion(value: Any, reference: str) -> Any:
    """A schema with a reference to itself in place of ``$recursiveRef``, which openapi-core does not know."""
    if isinstance(value, list):
        return [_with_recursion(one, reference) for one in value]
    if not isinstance(value, dict):
        return value
    if "$recursiveRef" in value:
        return {"$ref": reference}
    return {key: _with_recursion(one, reference) for key, one in value.items()}


def _without_lost_discriminators(value: Any, root: Mapping[str, Any]) -> Any:
    """A description without the discriminators whose names lead to no schema. openapi-core takes each name for one,
    though branches judge a value as well, and though OpenAPI 3.1 has a discriminator for an annotation."""
    if isinstance(value, list):
        return [_without_lost_discriminators(one, root) for one in value]
    if not isinstance(value, dict):
        return value
    made = {key: _without_lost_discriminators(one, root) for key, one in value.items()}
    discriminator = value.get("discriminator")
    if isinstance(discriminator, dict) and "propertyName" in discriminator and _is_lost(value, discriminator, root):
        del made["discriminator"]
    return made


def _is_lost(schema: Mapping[str, Any], discriminator: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    if "mapping" not in discriminator:
        return "oneOf" in schema or "anyOf" in schema
    names = root.get("components", {}).get("schemas", {})
    known = {*names, *(f"#/components/schemas/{name}" for name in names)}
    return not known.issuperset(discriminator["mapping"].values())


def _reason(error: Exception) -> str:
    """The fault that the judge names, at the innermost place that it names."""
    errors = getattr(error.__cause__, "schema_errors", ())
    if not errors:
        return f"{error!r} {error.__cause__!r}"[:300]
    found = best_match(errors)
    return f"{error!r} {found.json_path}: {found.message[-200:]}"


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile("[^/]*".join(map(re.escape, re.split(r"\{[^{}]*\}", path))))


def _bare(item: Mapping[str, Any]) -> dict[str, Any]:
    """A path item without servers and security of its own."""
    left_out = ("servers", "security")
    return {
        key: {name: one for name, one in value.items() if name not in left_out} if key in METHODS else value
        for key, value in item.items()
        if key not in left_out
    }


def _readers(text: str) -> dict[str, Callable[..., Any]]:
    """The readers of bodies that the judge lacks: media types of JSON, and bytes, which schemas have as text."""
    return {
        **dict.fromkeys(re.findall(r"[\w.-]+/[\w.+-]+\+json", text), json.loads),
        **dict.fromkeys(re.findall(r"(?:audio|image|video)/[\w.+-]+", text), lambda body: body.decode("latin-1")),
        "application/json": lambda body: json.loads(body) if isinstance(body, str | bytes) else body,
        "application/octet-stream": lambda body: body.decode("latin-1") if isinstance(body, bytes) else body,
        "multipart/form-data": _parts,
    }


def for_judge(value: Any, root: Mapping[str, Any]) -> Any:
    """A part of a description without what OpenAPI leaves open, which the judge cannot read: ``deepObject`` of lists,
    and of objects in objects."""
    if isinstance(value, list):
        return [for_judge(one, root) for one in value if not _is_open(one)]
    if not isinstance(value, dict):
        return value
    if isinstance(every := value.get("*/*"), dict):
        # The judge reads no body of a type that it does not know.
        value = {"application/json": every, **{media: one for media, one in value.items() if media != "*/*"}}
    if isinstance(parts := value.get("multipart/form-data"), dict) and "schema" in parts:
        value = {**value, "multipart/form-data": _with_cast_parts(parts, root)}
    encodings = value.get("encoding")
    if not isinstance(encodings, dict) or "schema" not in value:
        return {key: for_judge(one, root) for key, one in value.items()}
    deep = {name for name, one in encodings.items() if one.get("style") == "deepObject"}
    if not deep:
        return value
    schema = {**value["schema"]}
    schema["properties"] = {name: one for name, one in schema.get("properties", {}).items() if name not in deep}
    schema["required"] = [name for name in schema.get("required", []) if name not in deep]
    return {**value, "encoding": {}, "schema": {**schema, "additionalProperties": True}}


def _with_cast_parts(media: dict[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """A multipart body whose numbers are numbers: openapi-core takes the text of a part for a text, unless it has a
    style."""
    properties = followed(root, media["schema"]).get("properties", {})
    styles = {name: {"style": "form"} for name, one in properties.items() if _is_cast(one, root)}
    return {**media, "encoding": {**styles, **media.get("encoding", {})}}


def _is_cast(node: Any, root: Mapping[str, Any]) -> bool:
    schema = followed(root, node)
    branches = [branch for key in _COMPOSITES for branch in schema.get(key, ())]
    return schema.get("type") in ("integer", "number", "boolean") or any(_is_cast(one, root) for one in branches)


def _parts(body: bytes, boundary: str = "", **_: str) -> ImmutableMultiDict[str, Any]:
    """The parts of a multipart body: JSON as values, files as bytes, and all others as texts. openapi-core has
    bytes of all, and reads JSON where a schema has the type of an object alone."""
    head = f"Content-Type: multipart/form-data; boundary={boundary}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    parts = [part for part in message.walk() if not part.is_multipart() and part["content-disposition"]]
    return ImmutableMultiDict([(part["content-disposition"].params["name"], _content(part)) for part in parts])


def _content(part: Any) -> Any:
    data = part.get_payload(decode=True)
    if part.get_content_type() == "application/json":
        return json.loads(data)
    return data if part.get_content_type() == "application/octet-stream" else data.decode()


def _is_open(parameter: Any) -> bool:
    schema = parameter.get("schema") if isinstance(parameter, dict) else None
    if not isinstance(schema, dict) or parameter.get("style") != "deepObject":
        return False
    kinds = [one.get("type") for one in schema.get("properties", {}).values()]
    return schema.get("type") != "object" or any(kind in ("object", "array", None) for kind in kinds)


def first_page(arguments: Any) -> Any:
    """The arguments of a first call: a next page is one of an earlier result."""
    return {name: value for name, value in arguments.items() if name != "next_page"}

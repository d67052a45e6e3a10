"""The definition of a tool of an operation: its name, its texts, its effect and the schema of its arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.operation import EFFECT_LEVELS, ApiEffect, ApiOperation, Parameter, Responses
from tooltrue_toolbox.openapi.pagination import has_pages
from tooltrue_toolbox.openapi.schema_conversion import SchemaConversion
from tooltrue_toolbox.openapi.texts import free_name, identifier, plain_text, shortened, without_orders

__all__ = [
    "MAX_NAME",
    "ToolForm",
    "argument_names",
    "arguments_of",
    "described",
    "effect_of",
    "effect_sentence",
    "input_schema",
    "least_effect",
    "object_schema",
    "page_argument",
    "strongest",
    "success_schemas",
    "tool_name",
]

MAX_NAME: Final = 48
"""The most characters of a name: clients put the name of the server before it, and take 64 in all."""
_MAX_ARGUMENT: Final = 60
_NUMBER: Final = 5
"""The characters of a number that tells names apart."""
_DESCRIPTION: Final = 900
_TITLE: Final = 80
_ARGUMENT_TEXT: Final = 300
_ERRORS: Final = 5
_EFFECTS: Final[Mapping[str, ApiEffect]] = {"GET": "read", "HEAD": "read", "QUERY": "read", "DELETE": "destructive"}
_VERB_EFFECTS: Final[Mapping[str, ApiEffect]] = {
    **dict.fromkeys(
        ("get", "list", "search", "find", "read", "show", "query", "describe", "fetch", "retrieve"), "read"
    ),
    **dict.fromkeys(
        (
            "delete",
            "remove",
            "destroy",
            "purge",
            "erase",
            "wipe",
            "truncate",
            "uninstall",
            "terminate",
            "kill",
            "revoke",
        ),
        "destructive",
    ),
}
_SENTENCES: Final[Mapping[ApiEffect, str]] = {
    "read": "Sends {}. Side effects: none.",
    "write": "Sends {}. Side effects: changes data at the API.",
    "destructive": "Sends {}. Side effects: may delete data at the API.",
}
_VERBS: Final = {
    "GET": "get",
    "HEAD": "check",
    "POST": "post",
    "PUT": "put",
    "PATCH": "patch",
    "DELETE": "delete",
    "QUERY": "query",
}
_JSON_MEDIA: Final = re.compile(r"(?:(?:application|text)/json|[^;]*\+json|[^;]*\*[^;]*)(?:;.*)?", re.DOTALL)
"""JSON as one value, and not a stream of values such as ``application/jsonl``."""
PAGE_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "The next page, from the last result; all other arguments as before",
}
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class ToolForm:
    """How an operation becomes a tool. ``hidden`` arguments are never sent, and ``fixed`` ones always have this value;
    neither is shown. Both are by the names of arguments. ``fields``: those of an answer that are returned; without them
    all are. ``responses``: what happens to an answer that differs from the description; without it, what the settings
    of the server say."""

    operation: ApiOperation
    name: str
    title: str
    description: str
    effect: ApiEffect
    hidden: frozenset[str] = frozenset()
    fixed: Mapping[str, Json] = field(default_factory=dict[str, Json])
    fields: tuple[str, ...] = ()
    responses: Responses | None = None


def tool_name(operation: ApiOperation, used_names: Collection[str]) -> str:
    """The name of the tool: the operation id, or else the method and the path, in snake case."""
    from_path = f"{_VERBS[operation.method]}_{operation.path.replace('{', 'by_')}"
    name = identifier(operation.id, MAX_NAME) or identifier(from_path, MAX_NAME) or _VERBS[operation.method]
    return free_name(name if name not in used_names else name[: MAX_NAME - _NUMBER].rstrip("_"), used_names)


def least_effect(operation: ApiOperation) -> ApiEffect:
    """The effect of the method, GET, HEAD and QUERY read, DELETE destroys, and the others write; or that of the
    extension ``x-tooltrue-effect``, if it is higher."""
    return strongest((_EFFECTS.get(operation.method, "write"), operation.effect))


def strongest(effects: Iterable[ApiEffect]) -> ApiEffect:
    return max(effects, key=EFFECT_LEVELS.index)


def effect_of(operation: ApiOperation) -> ApiEffect:
    """The least effect; of a GET whose name has another verb, such as ``apps.uninstall``, that of the verb."""
    verb = next((word for word in tool_name(operation, ()).split("_") if word in _VERB_EFFECTS), "")
    return _VERB_EFFECTS[verb] if verb and least_effect(operation) == "read" else least_effect(operation)


def described(operation: ApiOperation, effect: ApiEffect) -> tuple[str, str]:
    """The title and the description of the tool: what the API says, the request, the answer, and the errors
    that it documents."""
    summary = without_orders(plain_text(operation.summary))
    text = without_orders(shortened(plain_text(operation.description), _DESCRIPTION))
    parts = [_sentence(summary)] if summary and not text.startswith(summary.rstrip(".")) else []
    parts += [_sentence(text)] if text else []
    own = " ".join(parts) or f"Call {operation.key} of the API."
    errors = [
        f"{response.status} {shortened(plain_text(response.description), 80).rstrip('.')}"
        for response in operation.responses
        if response.status[:1] == "4" and response.description
    ]
    returned = [
        shortened(plain_text(response.description), 120).rstrip(".")
        for response in operation.responses
        if response.status[:1] == "2" and response.description
    ]
    lines = [own, "Deprecated by the API." if operation.deprecated else "", effect_sentence(operation.key, effect)]
    lines += [f"Returns: {returned[0]}."] if returned else []
    lines += [f"Errors: {'; '.join(errors[:_ERRORS])}."] if errors else []
    return shortened(summary, _TITLE) or operation.key[:_TITLE], "\n\n".join(filter(None, lines))


def _sentence(text: str) -> str:
    return text if text[-1:] in ".!?…。！？:" else f"{text}."


def effect_sentence(requests: str, effect: ApiEffect) -> str:
    return _SENTENCES[effect].format(requests)


def argument_names(operation: ApiOperation) -> tuple[dict[str, Parameter], str | None]:
    """The parameters by the names of their arguments, and the name for the body, if there is one.

    A name has the characters that all model providers accept, and two parameters never share one.
    """
    names = dict[str, Parameter]()
    for parameter in operation.parameters:
        plain = _UNSAFE.sub("_", parameter.name).strip("_.-")[:_MAX_ARGUMENT] or parameter.location
        if plain in names:
            plain = free_name(f"{plain[: _MAX_ARGUMENT - _NUMBER - 10]}_in_{parameter.location}", names)
        names[plain] = parameter
    return names, None if operation.body is None else free_name("body", names)


def page_argument(operation: ApiOperation) -> str | None:
    """The name of the argument for a next page; ``None`` if the operation has no pages."""
    return free_name("next_page", argument_names(operation)[0]) if has_pages(operation) else None


def arguments_of(conversion: SchemaConversion, form: ToolForm) -> tuple[dict[str, Json], list[str]]:
    """The schemas of the arguments by their names, and the names of the required ones. Raises ``UnusablePart`` for a
    schema that cannot be converted."""
    names, body_name = argument_names(form.operation)
    properties, required = dict[str, Json](), list[str]()
    absent = form.hidden | form.fixed.keys()
    for name, parameter in names.items():
        if name in absent:
            continue
        properties[name] = _argument(conversion.convert(dict(parameter.schema)), parameter)
        if parameter.required:
            required.append(name)
    body = form.operation.body
    if body is not None and body_name is not None and body_name not in absent:
        schema = conversion.convert(dict(body.schema)) if body.kind != "text" else {"type": "string"}
        text = shortened(plain_text(body.description), _ARGUMENT_TEXT) or _body_text(schema)
        properties[body_name] = {**schema, "description": text}
        if body.required:
            required.append(body_name)
    if (page_name := page_argument(form.operation)) is not None:
        properties[page_name] = dict(PAGE_SCHEMA)
    return properties, required


def input_schema(description: ApiDescription, form: ToolForm, *, patterns: bool) -> dict[str, Json]:
    """The schema of the arguments. Raises ``UnusablePart`` for a schema that cannot be converted."""
    conversion = SchemaConversion(description, "request", patterns=patterns)
    properties, required = arguments_of(conversion, form)
    return object_schema(properties, required, conversion.definitions)


def object_schema(
    properties: Mapping[str, Json], required: Sequence[str], definitions: Mapping[str, Json]
) -> dict[str, Json]:
    """The schema of an object with these properties and no others."""
    made: dict[str, Json] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        made["required"] = list(required)
    if definitions:
        made["$defs"] = dict(definitions)
    return made


def _argument(schema: dict[str, Json], parameter: Parameter) -> dict[str, Json]:
    if not _may_be_empty(parameter):
        schema = _without_empty_text(schema)
    if schema.get("type") == "array" and parameter.required and parameter.location != "header":
        # An empty list is written as no parameter, or as an empty segment.
        schema = {**schema, "minItems": max(1, int(cast("float", schema.get("minItems", 0))))}
    text = shortened(plain_text(parameter.description), _ARGUMENT_TEXT)
    if text or "description" not in schema:
        schema = {**schema, "description": text or _parameter_text(parameter)}
    return {**schema, "deprecated": True} if parameter.deprecated else schema


def _without_empty_text(schema: dict[str, Json]) -> dict[str, Json]:
    """The schema without the empty text, also where there are several. A default that is empty means that the parameter
    is not sent."""
    made = dict(schema)
    for keyword in ("anyOf", "oneOf"):
        if is_array(branches := schema.get(keyword)):
            made[keyword] = [_without_empty_text(one) if is_object(one) else one for one in branches]
    kinds = schema.get("type")
    if "enum" in schema or "string" not in (kinds if is_array(kinds) else [kinds]):
        return made
    made = {key: value for key, value in made.items() if (key, value) not in (("default", ""), ("examples", [""]))}
    return {**made, "minLength": max(1, int(cast("float", schema.get("minLength", 0))))}


def _may_be_empty(parameter: Parameter) -> bool:
    """Whether the description permits an empty text: none in a path, which would be another path, and in a query where
    it says so."""
    return parameter.location in ("header", "cookie") or (parameter.location == "query" and parameter.empty)


def _parameter_text(parameter: Parameter) -> str:
    return f"The {parameter.location} parameter {plain_text(parameter.name)} of the API"


def _body_text(schema: Mapping[str, Json]) -> str:
    own = schema.get("description")
    if isinstance(own, str):
        return own
    properties = schema.get("properties")
    names = ", ".join(list(properties)[:8]) if is_object(properties) else ""
    return f"The content of the request: {names}" if names else "The content of the request"


def success_schemas(operation: ApiOperation) -> list[tuple[str, Json]] | None:
    """The status and the schema of each answer that tells of success; ``None`` if one of them promises no JSON."""
    schemas = list[tuple[str, Json]]()
    for response in operation.responses:
        if response.status[:1] not in ("2", "d"):
            continue
        schema = next((schema for media, schema in response.schemas.items() if _JSON_MEDIA.fullmatch(media)), None)
        if response.status[:1] == "d" and schemas:
            continue  # the default of an operation that describes its success is that of errors
        if schema is None:
            return None
        schemas.append((response.status, dict(schema)))
    return schemas or None

"""Bodies of the media type ``multipart/form-data`` (RFC 7578): which parts of a description are files, and how the
parts are written. The common parts of the forms of both media types are here too.

A file is an argument by reference (``file_references.py``), whatever its schema in the description. Pure.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue_toolbox.openapi.document import ApiDescription, Node, UnusablePart
from tooltrue_toolbox.openapi.file_references import BYTES, SentFile
from tooltrue_toolbox.openapi.operation import Body, BodyPart
from tooltrue_toolbox.openapi.parameter_styles import scalar_text
from tooltrue_toolbox.openapi.wording import REASON_FORM_NOT_OBJECT

__all__ = [
    "FILE_SCHEMA",
    "content_type_of",
    "file_references",
    "file_text",
    "form_schema",
    "multipart_content",
    "multipart_schema",
]

FILE_SCHEMA: Final[Node] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 4096,
    "description": "A file: a path under the folders of this server, or the URI of a stored result (kept:…)",
}
_JSON: Final = "application/json"


# --- the description --------------------------------------------------------------------------------------------------


def form_schema(description: ApiDescription, schema: Json) -> Node:
    """The schema of an object whose properties become fields or parts. A list that is required has an item: an empty
    one is written as no field. Raises :class:`UnusablePart` for a schema of something else than an object."""
    node = _followed(description, schema)
    if node.get("type", "object") not in ("object", ["object"]):
        raise UnusablePart(REASON_FORM_NOT_OBJECT)
    required, properties = node.get("required"), node.get("properties")
    if not is_array(required) or not is_object(properties):
        return node
    lists = {name: _followed(description, properties[name]) for name in required if name in properties}
    filled = {
        name: {**one, "minItems": max(1, one.get("minItems", 0))}
        for name, one in lists.items()
        if one.get("type") == "array"
    }
    return {**node, "properties": {**properties, **filled}}


def multipart_schema(
    description: ApiDescription, schema: Json, encodings: Mapping[str, Json]
) -> tuple[Node, dict[str, BodyPart]]:
    """The schema of the argument for a multipart body, in which each file is a reference, and the parts that are more
    than a plain text. Raises ``UnusablePart``."""
    object_schema = dict(form_schema(description, dict(_merged(description, schema))))
    properties, parts = dict[str, Json](), dict[str, BodyPart]()
    for name, node in _members(object_schema.get("properties")):
        encoding = encodings.get(name)
        declared = encoding.get("contentType") if is_object(encoding) else None
        content_type = declared if isinstance(declared, str) else ""
        properties[name], is_file = _argument(description, node, content_type)
        if is_file or content_type:
            parts[name] = BodyPart(content_type, is_file)
    return {**object_schema, "type": "object", "properties": properties}, parts


def _merged(description: ApiDescription, schema: Json) -> Node:
    """A schema of an object with the properties of the schemas in its ``allOf``."""
    node = _followed(description, schema)
    members = node.get("allOf")
    if not is_array(members):
        return node
    merged = {key: value for key, value in node.items() if key != "allOf"}
    for member in (_merged(description, one) for one in members):
        merged["properties"] = {**dict(_members(member.get("properties"))), **dict(_members(merged.get("properties")))}
        merged["required"] = [*merged.get("required", ()), *member.get("required", ())]
    return {key: value for key, value in merged.items() if value or key != "required"}


def _followed(description: ApiDescription, node: Json) -> Node:
    return description.followed(node) if is_object(node) else {}


def _argument(description: ApiDescription, node: Json, content_type: str) -> tuple[Json, bool]:
    """The schema of an argument, and whether it is a file or a list of files."""
    followed = _followed(description, node)
    if _is_file(description, followed, content_type):
        return {**FILE_SCHEMA, "description": file_text(followed.get("description"))}, True
    items = followed.get("items") if followed.get("type") == "array" else None
    if is_object(items) and _is_file(description, description.followed(items), content_type):
        return {**followed, "items": dict(FILE_SCHEMA)}, True
    return node, False


def file_text(text: Json) -> str:
    """The description of a file: that of the API, and what a reference is."""
    return f"{text} ({FILE_SCHEMA['description']})" if isinstance(text, str) and text else FILE_SCHEMA["description"]


def _is_file(description: ApiDescription, node: Node, content_type: str) -> bool:
    for keyword in ("anyOf", "oneOf"):
        if is_array(branches := node.get(keyword)):
            return any(
                _is_file(description, description.followed(one), content_type) for one in branches if is_object(one)
            )
    if node.get("type") not in ("string", ["string", "null"], None) or "contentEncoding" in node or "enum" in node:
        return False
    media_type = node.get("contentMediaType") or content_type
    is_text = not media_type or media_type.startswith("text/") or media_type.endswith(("json", "xml"))
    return node.get("format") == "binary" or (not is_text and node.get("format") is None)


def _members(value: Json) -> Iterable[tuple[str, Json]]:
    return value.items() if is_object(value) else ()


# --- the request ------------------------------------------------------------------------------------------------------


def file_references(body: Body, value: Json) -> list[str]:
    """The references to files in the argument for a body."""
    if body.kind == "bytes":
        return [value] if isinstance(value, str) else []
    if not is_object(value):
        return []
    files = [value[name] for name, part in body.parts.items() if part.is_file and name in value]
    return [one for file in files for one in (file if is_array(file) else [file]) if isinstance(one, str)]


@dataclass(frozen=True, slots=True)
class _FormPart:
    name: str
    content_type: str
    data: bytes
    filename: str | None = None


def multipart_content(
    body: Body,
    value: Json,
    files: Mapping[str, SentFile],
    boundary: Callable[[], str] = lambda: secrets.token_hex(16),
) -> tuple[str, bytes]:
    """The media type and the bytes of a multipart body. Raises ``NotWritable`` for a value that has no form."""
    parts = [part for name, one in _members(value) for part in _parts(name, one, body.parts.get(name), files)]
    mark = boundary()
    while any(mark.encode() in part.data for part in parts):
        mark = boundary()
    lines = list[bytes]()
    for part in parts:
        filename = "" if part.filename is None else f'; filename="{_quoted(part.filename)}"'
        lines.append(f'--{mark}\r\nContent-Disposition: form-data; name="{_quoted(part.name)}"{filename}\r\n'.encode())
        lines.append(f"Content-Type: {part.content_type}\r\n\r\n".encode() if part.content_type else b"\r\n")
        lines += [part.data, b"\r\n"]
    return f"multipart/form-data; boundary={mark}", b"".join([*lines, f"--{mark}--\r\n".encode()])


def _parts(name: str, value: Json, part: BodyPart | None, files: Mapping[str, SentFile]) -> Iterator[_FormPart]:
    """The parts of one property: one for each item of a list, and none for null, which has no form outside of JSON."""
    declared = "" if part is None else part.content_type
    for item in value if is_array(value) else [value]:
        if item is None:
            continue
        if part is not None and part.is_file:
            file = files[str(item)]
            yield _FormPart(name, content_type_of(declared, file), file.data, file.name)
        elif is_object(item) or is_array(item) or declared.endswith("json"):
            yield _FormPart(name, declared if declared.endswith("json") else _JSON, encode(item))
        else:
            yield _FormPart(name, declared, scalar_text(item).encode())


def content_type_of(declared: str, file: SentFile) -> str:
    """The media type of a file: its own if the description accepts it, or else the first that the description names."""
    accepted = [one.partition(";")[0].strip().lower() for one in declared.split(",") if one.strip()]
    own = file.media_type.partition(";")[0].strip().lower()
    if not accepted or any(one in (own, "*/*", f"{own.partition('/')[0]}/*") for one in accepted):
        return own or BYTES
    return next((one for one in accepted if "*" not in one), BYTES)


def _quoted(name: str) -> str:
    """A name as browsers write it, so that it ends neither its quotes nor its line (HTML, multipart form data)."""
    return "".join(f"%{ord(sign):02X}" if sign in '"\r\n\0' else sign for sign in name)

"""Makes a request of an operation and its arguments.

The address is the operator's, and the path is that of the description: arguments fill the places for them and nothing
more. The URL is parsed again, and held against the description, before it is sent.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.transport.urls import origin_of
from tooltrue_toolbox.openapi.file_references import SentFile
from tooltrue_toolbox.openapi.multipart import content_type_of, multipart_content
from tooltrue_toolbox.openapi.operation import ApiOperation, Body, Parameter, Writing
from tooltrue_toolbox.openapi.parameter_styles import (
    NotWritable,
    header_text,
    leaves_segment,
    path_text,
    query_pairs,
    scalar_text,
)
from tooltrue_toolbox.openapi.wording import API_HEADER_VALUE_INVALID, PATH_VALUE_LEAVES_SEGMENT, VALUE_NOT_WRITABLE

__all__ = ["ApiRequest", "build_request", "is_header_text"]

_TEMPLATE: Final = re.compile(r"\{([^{}]*)\}")
_PARAMETER_TEXT: Final = re.compile(r"[\x20-\x7e\t]*")
_LITERAL: Final = "!$&'()*+,;=:@/~%"
_FORM: Final = Writing("form", explode=True)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None


def build_request(
    base: str,
    operation: ApiOperation,
    values: Mapping[str, Json],
    parameters: Mapping[str, Parameter],
    body: str | None,
    files: Mapping[str, SentFile] | None = None,
) -> ApiRequest:
    """The request of a call. ``base`` is the address of the operator. ``parameters`` are those of the names in
    ``values``, and ``body`` is the name under which the body stands there. ``files`` are those that the body refers to.

    Raises ``ToolError`` for a value that cannot be written where it belongs.
    """
    places: dict[str, str] = {}
    query, cookies, headers = list[str](), list[str](), dict[str, str]()
    for name, parameter in parameters.items():
        value = values.get(name)
        if value is None and parameter.location != "path":
            continue  # null has no form outside of JSON: it means that there is no value
        try:
            match parameter.location:
                case "path":
                    places[parameter.name] = _path_part(name, value, parameter, operation)
                case "query":
                    query += _query_parts(value, parameter)
                case "cookie":
                    cookies += _query_parts(value, parameter)
                case "header":
                    headers[parameter.name.lower()] = _header_value(name, value, parameter)
        except NotWritable:
            style = "" if parameter.writing is None else parameter.writing.style
            raise ToolError.of(VALUE_NOT_WRITABLE, name=name, style=style) from None
    if cookies:
        headers["cookie"] = "; ".join(cookies)
    content = None
    if operation.body is not None and body is not None and body in values:
        headers["content-type"], content = _content(operation.body, values[body], body, files or {})
    return ApiRequest(operation.method, _url(base, operation, places, query), headers, content)


def _path_part(name: str, value: Json, parameter: Parameter, operation: ApiOperation) -> str:
    if parameter.writing is None:
        value = encode(value).decode()
    if leaves_segment(value):
        text = value if isinstance(value, str) else encode(value).decode()
        raise ToolError.of(PATH_VALUE_LEAVES_SEGMENT, name=name, value=text[:100], path=operation.path)
    if parameter.writing is None:
        return quote(str(value), safe="")
    return path_text(parameter.name, value, parameter.writing)


def _query_parts(value: Json, parameter: Parameter) -> list[str]:
    if parameter.writing is None:
        return [f"{quote(parameter.name, safe='')}={quote(encode(value).decode(), safe='')}"]
    return list(query_pairs(parameter.name, value, parameter.writing))


def _header_value(name: str, value: Json, parameter: Parameter) -> str:
    text = encode(value).decode() if parameter.writing is None else header_text(value, parameter.writing)
    if not is_header_text(text):
        raise ToolError.of(API_HEADER_VALUE_INVALID, name=name)
    return text


def is_header_text(text: str) -> bool:
    """Whether a header may hold the text: ASCII in one line, without control characters and blanks at its ends."""
    return _PARAMETER_TEXT.fullmatch(text) is not None and text == text.strip()


# --- the address ------------------------------------------------------------------------------------------------------


def _url(base: str, operation: ApiOperation, places: Mapping[str, str], query: list[str]) -> str:
    literal = [quote(part, safe=_LITERAL) for part in _TEMPLATE.split(operation.path)[::2]]
    names = _TEMPLATE.findall(operation.path)
    path = literal[0] + "".join(places[name] + after for name, after in zip(names, literal[1:], strict=True))
    url = base.rstrip("/") + path + (f"?{'&'.join(query)}" if query else "")
    _check_url(url, base, operation)
    return url


def _check_url(url: str, base: str, operation: ApiOperation) -> None:
    """Raise ``ToolError`` unless the URL, parsed again, is that of this operation at this address."""
    parts, whole = urlsplit(url), urlsplit(base.rstrip("/") + operation.path)
    segments, template = parts.path.split("/"), whole.path.split("/")
    same_place = origin_of(url) == origin_of(base) and not parts.fragment and len(segments) == len(template)
    if not same_place or not all(map(_fits, segments, template)):
        raise ToolError.of(PATH_VALUE_LEAVES_SEGMENT, name="path", value=parts.path[:100], path=operation.path)


def _fits(segment: str, template: str) -> bool:
    """Whether a segment of a URL is the one of the description, with its places filled."""
    pattern = ".+".join(re.escape(quote(part, safe=_LITERAL)) for part in _TEMPLATE.split(template)[::2])
    return re.fullmatch(pattern, segment) is not None and (segment == template or unquote(segment) not in (".", ".."))


# --- the body ---------------------------------------------------------------------------------------------------------


def _content(body: Body, value: Json, name: str, files: Mapping[str, SentFile]) -> tuple[str, bytes]:
    """The media type and the bytes of the body."""
    try:
        match body.kind:
            case "json":
                return body.media_type, encode(value)
            case "text":
                return body.media_type, scalar_text(value).encode()
            case "bytes":
                file = files[str(value)]
                data = base64.b64encode(file.data) if body.is_base64 else file.data
                return content_type_of(body.media_type, file), data
            case "multipart":
                return multipart_content(body, value, files)
            case "form":
                pairs = [
                    pair for key, one in (value.items() if is_object(value) else ()) for pair in _form(key, one, body)
                ]
                return body.media_type, "&".join(pairs).encode()
    except NotWritable:
        raise ToolError.of(VALUE_NOT_WRITABLE, name=name, style=body.kind) from None


def _form(key: str, value: Json, body: Body) -> list[str]:
    writing = body.encodings.get(key)
    if writing is None and (is_object(value) or (is_array(value) and any(map(is_object, value)))):
        items = value if is_array(value) else [value]  # without a style, an object within a form is JSON
        return [f"{quote(key, safe='')}={quote(encode(one).decode(), safe='')}" for one in items]
    return list(query_pairs(key, value, writing or _FORM))

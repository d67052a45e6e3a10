"""The HTTP headers that mirror a message on Streamable HTTP (2026-07-28, basic/transports/streamable-http; server/tools
"x-mcp-header"). Header names are lower case here. A server only compares headers with the body; it never acts on them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.errors import DefinitionError, HeaderMismatch, InvalidArguments
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.protocol.wording import (
    HEADER_BODY_MISMATCH,
    HEADER_NOT_DECODABLE,
    HEADER_NUMBER_OUT_OF_RANGE,
    LABEL_NO_VALUE,
    LABEL_VALUE_OF_ARGUMENT,
    MCP_HEADER_SETTING_INVALID,
    MISSING_HEADER,
    REASON_HEADER_INTEGER_TOO_LARGE,
    REASON_HEADER_NAME_NO_TOKEN,
    REASON_HEADER_NAME_TWICE,
    REASON_HEADER_NOT_ASCII,
    REASON_HEADER_NOT_BASE64,
    REASON_HEADER_PLACE,
    REASON_HEADER_TYPE,
)
from tooltrue.wording import Worded

__all__ = [
    "METHOD_HEADER",
    "NAMED",
    "NAMED_OF_TASKS",
    "NAME_HEADER",
    "PARAM_PREFIX",
    "VERSION_HEADER",
    "Mirrors",
    "check_call",
    "check_mirrored",
    "check_params",
    "check_present",
    "check_task",
    "decode_value",
    "encode_value",
    "find_mirrors",
    "param_headers",
    "params_of",
    "request_headers",
]

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
PARAM_PREFIX = "mcp-param-"

# method → the parameter mirrored in Mcp-Name
NAMED: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

# The same for the tasks extension. A server without tasks does not know these methods, and checks no header of theirs.
NAMED_OF_TASKS: Mapping[str, str] = dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId")

Mirrors = tuple[tuple[str, tuple[str, ...], str], ...]
"""For each annotated property: header suffix, path in the arguments, JSON type."""

_SENTINEL = LazyPattern(r"=\?base64\?(.*)\?=", re.DOTALL)
_TOKEN = LazyPattern(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = LazyPattern(r"[\x20-\x7e]*")


def encode_value(value: str) -> str:
    """Encode a header value: ``value`` itself where that is safe, otherwise ``=?base64?…?=`` of its UTF-8."""
    is_plain = value.isascii() and value.isprintable() and value == value.strip()
    if is_plain and not (value.startswith("=?base64?") and _SENTINEL.compiled.fullmatch(value)):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def decode_value(header: str, value: str) -> str:
    """Decode a header value. A malformed sentinel raises ``HeaderMismatch``; it is never taken literally."""
    value = value.strip(" \t")
    sentinel = _SENTINEL.compiled.fullmatch(value)
    if sentinel is None:
        if not _PLAIN.compiled.fullmatch(value):
            raise HeaderMismatch.of(HEADER_NOT_DECODABLE, header=header, problem=Worded(REASON_HEADER_NOT_ASCII, {}))
        return value
    try:
        return base64.b64decode(sentinel[1], validate=True).decode()
    except (binascii.Error, ValueError):
        raise HeaderMismatch.of(
            HEADER_NOT_DECODABLE, header=header, problem=Worded(REASON_HEADER_NOT_BASE64, {})
        ) from None


def check_present(headers: Mapping[str, str], method: str) -> None:
    """Raise ``HeaderMismatch`` if a stateless request lacks its version, method or (for some methods) name header."""
    needed = (VERSION_HEADER, METHOD_HEADER, NAME_HEADER) if method in NAMED else (VERSION_HEADER, METHOD_HEADER)
    for header in needed:
        if header not in headers:
            raise HeaderMismatch.of(MISSING_HEADER, header=_spelt(header))


def check_mirrored(headers: Mapping[str, str], method: str, params: Mapping[str, Json], version: str) -> None:
    """Raise ``HeaderMismatch`` unless the headers equal the values in the body. Comparison is case-sensitive."""
    _same(VERSION_HEADER, headers[VERSION_HEADER].strip(" \t"), version)
    _same(METHOD_HEADER, headers[METHOD_HEADER].strip(" \t"), method)
    if method in NAMED:
        name = params.get(NAMED[method])
        if isinstance(name, str):  # other types fail the validation of the parameters
            _same(NAME_HEADER, decode_value(_spelt(NAME_HEADER), headers[NAME_HEADER]), name)


def check_task(headers: Mapping[str, str], task: str) -> None:
    """Raise ``HeaderMismatch`` unless the name header is there, and names this task."""
    if NAME_HEADER not in headers:
        raise HeaderMismatch.of(MISSING_HEADER, header=_spelt(NAME_HEADER))
    _same(NAME_HEADER, decode_value(_spelt(NAME_HEADER), headers[NAME_HEADER]), task)


def check_call(headers: Mapping[str, str], name: str, version: str) -> None:
    """Do as :func:`check_present` and :func:`check_mirrored` for a ``tools/call`` of a known version; quick if
    all values are plainly equal."""
    if (
        headers.get(NAME_HEADER) == name
        and headers.get(METHOD_HEADER) == _CALL
        and headers.get(VERSION_HEADER) == version
        and _is_literal(name)
    ):
        return
    check_present(headers, _CALL)
    check_mirrored(headers, _CALL, {"name": name}, version)


def _is_literal(value: str) -> bool:
    """Whether ``decode_value`` returns the same text; ``False`` also for some others that it does."""
    return value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?")


_CALL = "tools/call"


def _same(header: str, got: str, expected: str) -> None:
    if got != expected:
        raise HeaderMismatch.of(HEADER_BODY_MISMATCH, header=_spelt(header), got=got[:80], expected=expected[:80])


def _spelt(header: str) -> str:
    return "-".join("MCP" if part == "mcp" and "version" in header else part.title() for part in header.split("-"))


def request_headers(method: str, params: Mapping[str, Json], version: str) -> dict[str, str]:
    """The headers of a client's stateless request, except the parameter headers."""
    headers = {VERSION_HEADER: version, METHOD_HEADER: method}
    parameter = NAMED.get(method) or NAMED_OF_TASKS.get(method)
    if parameter is not None and isinstance(name := params.get(parameter), str):
        headers[NAME_HEADER] = encode_value(name)
    return headers


def find_mirrors(schema: Mapping[str, Any]) -> Mirrors:
    """The ``x-mcp-header`` annotations of an input schema. ``DefinitionError`` names a rule that is broken."""
    if _ANNOTATION not in encode(schema):  # most have none
        return ()
    mirrors = tuple(_reachable(schema, ()))
    suffixes = [suffix.lower() for suffix, _, _ in mirrors]
    if len(set(suffixes)) < len(suffixes):
        raise DefinitionError.of(MCP_HEADER_SETTING_INVALID, problem=Worded(REASON_HEADER_NAME_TWICE, {}))
    if _count(schema) != len(mirrors):
        raise DefinitionError.of(MCP_HEADER_SETTING_INVALID, problem=Worded(REASON_HEADER_PLACE, {}))
    return mirrors


def _reachable(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    properties = schema.get("properties")
    for name, inner in properties.items() if is_object(properties) else ():
        if not is_object(inner):
            continue
        if "x-mcp-header" in inner:
            yield _mirror(inner, (*path, name))
        yield from _reachable(inner, (*path, name))


def _mirror(schema: Mapping[str, Any], path: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    suffix, kind = schema["x-mcp-header"], schema.get("type")
    if not isinstance(suffix, str) or not _TOKEN.compiled.fullmatch(suffix):
        raise DefinitionError.of(
            MCP_HEADER_SETTING_INVALID, problem=Worded(REASON_HEADER_NAME_NO_TOKEN, {"path": ".".join(path)})
        )
    if kind not in ("string", "integer", "boolean"):
        raise DefinitionError.of(
            MCP_HEADER_SETTING_INVALID, problem=Worded(REASON_HEADER_TYPE, {"path": ".".join(path)})
        )
    return suffix, path, kind


def _count(schema: Any) -> int:
    """Count the annotations at any depth, to detect those in unsupported places."""
    if is_array(schema):
        return sum(map(_count, schema))
    if not is_object(schema):
        return 0
    return ("x-mcp-header" in schema) + sum(_count_below(key, value) for key, value in schema.items())


def _count_below(keyword: str, value: Any) -> int:
    if keyword in _SCHEMAS_BY_NAME and is_object(value):
        return sum(map(_count, value.values()))  # keys are property names, not keywords
    return 0 if keyword in _VALUES else _count(value)


_ANNOTATION = b'"x-mcp-header"'
_VALUES = frozenset({"enum", "const", "default", "examples"})
_SCHEMAS_BY_NAME = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)


def _value_at(arguments: Json, path: tuple[str, ...]) -> Json:
    for name in path:
        if not is_object(arguments):
            return None
        arguments = arguments.get(name)
    return arguments


def _header_text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_MAX_INTEGER = 2**53 - 1


def _is_too_large(value: Json) -> bool:
    """Whether a number is outside the range that all JSON parsers read exactly (server/tools "x-mcp-header")."""
    return isinstance(value, int | float) and not -_MAX_INTEGER <= value <= _MAX_INTEGER


def param_headers(mirrors: Mirrors, arguments: Mapping[str, Json]) -> dict[str, str]:
    """The ``Mcp-Param-*`` headers of a client's call. Absent and null arguments have no header.

    Raises ``InvalidArguments`` for a number beyond ±(2^53 - 1): no header may mirror it.
    """
    headers: dict[str, str] = {}
    for suffix, path, _ in mirrors:
        value = _value_at(arguments, path)
        if _is_too_large(value):
            raise InvalidArguments.of(HEADER_NUMBER_OUT_OF_RANGE, name=".".join(path), value=value, limit=_MAX_INTEGER)
        if value is not None:
            headers[PARAM_PREFIX + suffix.lower()] = encode_value(_header_text(value))
    return headers


def params_of(headers: Mapping[str, str]) -> dict[str, str]:
    """The ``Mcp-Param-*`` headers among those of a request."""
    if PARAM_PREFIX not in " ".join(headers):  # few requests have one
        return {}
    return {name: value for name, value in headers.items() if name.startswith(PARAM_PREFIX)}


def check_params(headers: Mapping[str, str], mirrors: Mirrors, arguments: Mapping[str, Json]) -> None:
    """Raise ``HeaderMismatch`` unless each annotated argument agrees with its header, in presence and in value."""
    for suffix, path, kind in mirrors:
        header, value = PARAM_PREFIX + suffix.lower(), _value_at(arguments, path)
        spelt = f"Mcp-Param-{suffix}"
        if value is None:
            if header in headers:
                raise HeaderMismatch.of(
                    HEADER_BODY_MISMATCH, header=spelt, got=headers[header][:80], expected=Worded(LABEL_NO_VALUE, {})
                )
        elif header not in headers:
            raise HeaderMismatch.of(MISSING_HEADER, header=spelt)
        elif _is_too_large(value):
            raise HeaderMismatch.of(
                HEADER_NOT_DECODABLE,
                header=spelt,
                problem=Worded(REASON_HEADER_INTEGER_TOO_LARGE, {"limit": _MAX_INTEGER}),
            )
        else:
            got = decode_value(spelt, headers[header])
            if got != _header_text(value) and not (kind == "integer" and _same_number(got, value)):
                raise HeaderMismatch.of(
                    HEADER_BODY_MISMATCH, header=spelt, got=got[:80], expected=Worded(LABEL_VALUE_OF_ARGUMENT, {})
                )


def _same_number(text: str, value: Json) -> bool:
    # "42.0" equals 42 (server/tools, x-mcp-header: integers compare numerically).
    return re.fullmatch(r"-?[0-9]{1,16}(\.0+)?", text) is not None and int(text.partition(".")[0]) == value

"""Reads the file of a description, validates it, and follows its references.

``openapi-spec-validator`` has the schemas of OpenAPI, and judges the form of the whole document. Its walk over the
references is not used: it has no bound. References are followed here, operation by operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote

from tooltrue.errors import ConfigurationError, RpcError, fact_of
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue.wording import REASON_FILE_NOT_FOUND, REASON_NOT_UTF8, Worded
from tooltrue_toolbox.openapi.swagger import as_openapi
from tooltrue_toolbox.openapi.validation import first_problem
from tooltrue_toolbox.openapi.wording import (
    DESCRIPTION_INVALID,
    DESCRIPTION_LEAVES_FILE,
    DESCRIPTION_UNREADABLE,
    DESCRIPTION_VERSION_UNKNOWN,
    REASON_DESCRIPTION_NOT_OBJECT,
    REASON_DESCRIPTION_TOO_DEEP,
    REASON_DESCRIPTION_TOO_LARGE,
    REASON_FILE_TOO_LARGE,
    REASON_REFERENCE_CYCLE,
    REASON_REFERENCE_NOT_FOUND,
)
from tooltrue_toolbox.openapi.yaml_reader import YamlRefused, read_yaml

__all__ = ["ApiDescription", "Node", "UnusablePart", "read_description"]

Node: TypeAlias = Mapping[str, Any]
"""An object of the description."""
Version: TypeAlias = Literal["3.0", "3.1"]

MAX_BYTES: Final = 32 << 20
MAX_DEPTH: Final = 90
MAX_NODES: Final = 3_000_000
_MAX_REFERENCES: Final = 16
"""The references in a row from a place to a value."""

_OUTWARD: Final = frozenset(("$ref", "$dynamicRef", "$recursiveRef"))
_RENAMING: Final = frozenset(("$id", "$anchor", "$dynamicAnchor"))
"""Keywords that change to where a reference leads."""
_DIALECTS: Final = frozenset(
    ("https://json-schema.org/draft/2020-12/schema", "https://spec.openapis.org/oas/3.1/dialect/base")
)


class UnusablePart(Exception):
    """The reason why a part of a description cannot be served."""

    def __init__(self, code: str, **facts: object) -> None:
        self.problem = Worded(code, facts)
        super().__init__(self.problem)


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """A description of an HTTP API as OpenAPI 3, valid in its form. It refers to nothing outside of itself."""

    root: Node
    version: Version

    @property
    def title(self) -> str:
        title = self.root["info"].get("title")
        return title if isinstance(title, str) else ""

    def at(self, reference: str) -> Json:
        """The value to which ``#/…`` leads. Raises :class:`UnusablePart`."""
        value: Json = dict(self.root)
        for part in reference.removeprefix("#").split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if is_object(value) and key in value:
                value = value[key]
            elif is_array(value) and key.isdecimal() and len(key) < 9 and int(key) < len(value):
                value = value[int(key)]
            else:
                raise UnusablePart(REASON_REFERENCE_NOT_FOUND, reference=reference[:200])
        return value

    def followed(self, node: Json) -> Node:
        """``node``, or the object to which it refers. Raises :class:`UnusablePart`."""
        for _ in range(_MAX_REFERENCES):
            if not is_object(node):
                raise UnusablePart(REASON_DESCRIPTION_NOT_OBJECT)
            reference = node.get("$ref")
            if not isinstance(reference, str):
                return node
            node = self.at(reference)
        raise UnusablePart(REASON_REFERENCE_CYCLE)


def read_description(file: Path) -> ApiDescription:
    """Read a description, as JSON or YAML: OpenAPI 3.0 or 3.1, or Swagger 2.0, which is converted.

    Raises ``ConfigurationError``: it cannot be read, its form is not valid, or it refers to another file or address,
    none of which is ever opened.
    """
    root = _parsed(file)
    _check_within_file(root, file)
    version = _version(root, file)
    if (problem := first_problem(root, version)) is not None:
        place, text = problem
        raise ConfigurationError.of(DESCRIPTION_INVALID, file=str(file), place=place, problem=text)
    return ApiDescription(as_openapi(root), "3.0") if version == "2.0" else ApiDescription(root, version)


def _parsed(file: Path) -> dict[str, Json]:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise YamlRefused(Worded(REASON_FILE_TOO_LARGE, {"limit": MAX_BYTES >> 20}))
        is_json = data.lstrip()[:1] == b"{"
        text = data if is_json else data.decode("utf-8-sig")
        value = decode(data) if isinstance(text, bytes) else read_yaml(text, max_depth=MAX_DEPTH, max_nodes=MAX_NODES)
    except FileNotFoundError:
        raise _unreadable(file, Worded(REASON_FILE_NOT_FOUND, {})) from None
    except OSError as error:
        raise _unreadable(file, error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise _unreadable(file, Worded(REASON_NOT_UTF8, {})) from None
    except RpcError as error:
        raise _unreadable(file, fact_of(error)) from None
    except YamlRefused as error:
        raise _unreadable(file, error.problem) from None
    if not is_object(value):
        raise _unreadable(file, Worded(REASON_DESCRIPTION_NOT_OBJECT, {}))
    return value


def _unreadable(file: Path, problem: object) -> ConfigurationError:
    return ConfigurationError.of(DESCRIPTION_UNREADABLE, file=str(file), problem=problem)


def _version(root: Node, file: Path) -> Literal["2.0", "3.0", "3.1"]:
    text = str(root.get("openapi") or root.get("swagger") or "")
    for version in ("2.0", "3.0", "3.1"):
        if text == version or text.startswith(f"{version}."):
            return version
    raise ConfigurationError.of(DESCRIPTION_VERSION_UNKNOWN, file=str(file), version=text[:40])


def _check_within_file(root: Node, file: Path) -> None:
    """``ConfigurationError`` for a reference to another file or address, or a keyword that could make one of it.

    This is the wall before libraries that would open them; so it looks at every place, examples too.
    """
    for place, key, value in _keywords(root, file):
        leaves = key in _OUTWARD and not value.startswith("#")
        if leaves or key in _RENAMING or (key in ("$schema", "jsonSchemaDialect") and value not in _DIALECTS):
            raise ConfigurationError.of(
                DESCRIPTION_LEAVES_FILE, file=str(file), place=place, keyword=key, value=value[:200]
            )


def _keywords(root: Node, file: Path) -> Iterator[tuple[str, str, str]]:
    """The place, the name and the value of each text under a key that begins with ``$``, and that of the dialect."""
    levels: list[tuple[str, Json]] = [("#", dict(root))]
    nodes = depth = 0
    while levels:
        depth += 1
        inner: list[tuple[str, Json]] = []
        for place, value in levels:
            nodes += 1
            pairs = value.items() if is_object(value) else enumerate(value) if is_array(value) else ()
            for key, below in pairs:
                if is_object(below) or is_array(below):
                    inner.append((f"{place}/{key}", below))
                elif isinstance(key, str) and isinstance(below, str) and (key[:1] == "$" or key == "jsonSchemaDialect"):
                    yield place, key, below
        levels = inner
        if nodes > MAX_NODES:
            raise _unreadable(file, Worded(REASON_DESCRIPTION_TOO_LARGE, {"limit": MAX_NODES}))
        if depth > MAX_DEPTH:
            raise _unreadable(file, Worded(REASON_DESCRIPTION_TOO_DEEP, {"limit": MAX_DEPTH}))

"""Reads the file of a description, validates it, and follows its references.

``openapi-spec-validator`` has the schemas of OpenAPI, and judges the form of the whole document. Its walk over the
references is not used: it has no bound. References are followed here, operation by operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from tooltrue.errors import ConfigurationError, RpcError, fact_of
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue.wording import REASON_FILE_NOT_FOUND, REASON_NOT_UTF8, Worded
from tooltrue_toolbox.openapi.description_files import (
    DescriptionFiles,
    FileRefused,
    Read,
    gather_files,
    read_beneath,
    value_at,
)
from tooltrue_toolbox.openapi.swagger import as_openapi, moved
from tooltrue_toolbox.openapi.validation import first_problem
from tooltrue_toolbox.openapi.wording import (
    DESCRIPTION_DIALECT_UNKNOWN,
    DESCRIPTION_INVALID,
    DESCRIPTION_UNREADABLE,
    DESCRIPTION_VERSION_UNKNOWN,
    REASON_DESCRIPTION_NOT_OBJECT,
    REASON_DESCRIPTION_TOO_DEEP,
    REASON_DESCRIPTION_TOO_LARGE,
    REASON_FILE_CLOSED,
    REASON_FILE_TOO_LARGE,
    REASON_REFERENCE_CYCLE,
    REASON_REFERENCE_LEAVES,
    REASON_REFERENCE_NOT_FOUND,
    REASON_REFERENCE_UNREAD,
)
from tooltrue_toolbox.openapi.yaml_reader import YamlRefused, read_yaml

__all__ = ["ApiDescription", "Node", "UnusablePart", "description_of", "read_description"]

Node: TypeAlias = Mapping[str, Any]
"""An object of the description."""
Version: TypeAlias = Literal["3.0", "3.1", "3.2"]

MAX_BYTES: Final = 32 << 20
MAX_DEPTH: Final = 90
MAX_NODES: Final = 3_000_000
_MAX_REFERENCES: Final = 16
"""The references in a row from a place to a value."""

_DIALECTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://spec.openapis.org/oas/3.1/dialect/base",
    "https://spec.openapis.org/oas/3.2/dialect/2025-09-17",
)


class UnusablePart(Exception):
    """The reason why a part of a description cannot be served."""

    def __init__(self, code: str, **facts: object) -> None:
        self.problem = Worded(code, facts)
        super().__init__(self.problem)


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """A description of an HTTP API as OpenAPI 3. ``root`` is valid in its form; what ``files`` have is not judged.
    ``conversions`` has the schemas that were converted for a tool, for the next one."""

    root: Node
    version: Version
    files: DescriptionFiles = field(default_factory=DescriptionFiles)
    conversions: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False, compare=False)

    @property
    def title(self) -> str:
        title = self.root["info"].get("title")
        return title if isinstance(title, str) else ""

    def at(self, reference: str) -> Json:
        """The value to which ``#/…`` leads, or ``FILE#/…`` for a file of the description. Raises
        :class:`UnusablePart`."""
        name, _, pointer = reference.partition("#")
        if name and name not in self.files.contents:
            problem = self.files.unread.get(name, Worded(REASON_REFERENCE_LEAVES, {}))
            raise UnusablePart(REASON_REFERENCE_UNREAD, reference=reference[:200], problem=problem)
        try:
            return value_at(self.files.contents[name] if name else dict(self.root), pointer)
        except LookupError:
            raise UnusablePart(REASON_REFERENCE_NOT_FOUND, reference=reference[:200]) from None

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
    """Read a description, as JSON or YAML: OpenAPI 3.0 to 3.2, or Swagger 2.0, which is converted.

    References to files in the folder of the description, and below it, are followed. All other files and every address
    stay closed: what refers to them cannot be used. Raises ``ConfigurationError``: it cannot be read, or
    its form is not valid.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        root = _root(data)
    except OSError as error:
        raise _unreadable(str(file), _problem_of(error)) from None
    except FileRefused as error:
        raise _unreadable(str(file), error.problem) from None
    reader = _FolderReader(file.parent, MAX_BYTES - len(data))
    return _description(root, str(file), file.name, reader.read)


def description_of(data: bytes, place: str) -> ApiDescription:
    """The same of a description that came from ``place``, which is no folder: no reference leads to another file."""
    try:
        root = _root(data)
    except FileRefused as error:
        raise _unreadable(place, error.problem) from None
    return _description(root, place, "", None)


def _description(root: dict[str, Json], place: str, own_name: str, content_of: Read | None) -> ApiDescription:
    version, files = _version(root, place), DescriptionFiles()
    if (dialect := root.get("jsonSchemaDialect", _DIALECTS[0])) not in _DIALECTS:
        raise ConfigurationError.of(DESCRIPTION_DIALECT_UNKNOWN, file=place, dialect=str(dialect)[:200])
    if content_of is not None and _has_outward_reference(root):
        root, files = gather_files(root, own_name, content_of)
    if (problem := first_problem(root, version)) is not None:
        where, text = problem
        raise ConfigurationError.of(DESCRIPTION_INVALID, file=place, place=where, problem=text)
    if version != "2.0":
        return ApiDescription(root, version, files)
    contents = {name: moved(content) for name, content in files.contents.items()}
    return ApiDescription(as_openapi(root, files), "3.0", DescriptionFiles(contents, files.unread))


class _FolderReader:
    """Reads the other files of a folder, as many bytes in all as are left."""

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder
        self._room = room

    def read(self, name: str) -> Json:
        try:
            data = read_beneath(self._folder, name, self._room)
        except (OSError, ValueError) as error:
            raise FileRefused(Worded(REASON_FILE_CLOSED, {"problem": _problem_of(error)})) from None
        if len(data) > self._room:
            raise FileRefused(Worded(REASON_FILE_TOO_LARGE, {"limit": MAX_BYTES >> 20}))
        self._room -= len(data)
        return _value(data)


def _problem_of(error: OSError | ValueError) -> object:
    if isinstance(error, FileNotFoundError):
        return Worded(REASON_FILE_NOT_FOUND, {})
    return getattr(error, "strerror", None) or str(error)


def _root(data: bytes) -> dict[str, Json]:
    if len(data) > MAX_BYTES:
        raise FileRefused(Worded(REASON_FILE_TOO_LARGE, {"limit": MAX_BYTES >> 20}))
    value = _value(data)
    if not is_object(value):
        raise FileRefused(Worded(REASON_DESCRIPTION_NOT_OBJECT, {}))
    return value


def _value(data: bytes) -> Json:
    """The value of a text as JSON or YAML, within the bounds of depth and size."""
    try:
        if data.lstrip()[:1] in (b"{", b"["):
            value = decode(data)
            _check_bounds(value)
            return value
        return read_yaml(data.decode("utf-8-sig"), max_depth=MAX_DEPTH, max_nodes=MAX_NODES)
    except UnicodeDecodeError:
        raise FileRefused(Worded(REASON_NOT_UTF8, {})) from None
    except RpcError as error:
        raise FileRefused(Worded(REASON_FILE_CLOSED, {"problem": fact_of(error)})) from None
    except YamlRefused as error:
        raise FileRefused(error.problem) from None


def _unreadable(place: str, problem: object) -> ConfigurationError:
    return ConfigurationError.of(DESCRIPTION_UNREADABLE, file=place, problem=problem)


def _version(root: Node, place: str) -> Literal["2.0", "3.0", "3.1", "3.2"]:
    text = str(root.get("openapi") or root.get("swagger") or "")
    for version in ("2.0", "3.0", "3.1", "3.2"):
        if text == version or text.startswith(f"{version}."):
            return version
    raise ConfigurationError.of(DESCRIPTION_VERSION_UNKNOWN, file=place, version=text[:40])


def _has_outward_reference(root: Json) -> bool:
    """Whether a reference leads to another file or an address, in examples too."""
    return any(
        isinstance(reference := one.get("$ref"), str) and not reference.startswith("#")
        for level in _levels(root)
        for one in level
        if is_object(one)
    )


def _check_bounds(value: Json) -> None:
    nodes = 0
    for depth, level in enumerate(_levels(value), 1):
        nodes += len(level)
        if nodes > MAX_NODES:
            raise FileRefused(Worded(REASON_DESCRIPTION_TOO_LARGE, {"limit": MAX_NODES}))
        if depth > MAX_DEPTH:
            raise FileRefused(Worded(REASON_DESCRIPTION_TOO_DEEP, {"limit": MAX_DEPTH}))


def _levels(value: Json) -> Iterator[list[Json]]:
    """The objects and lists of a value, by their depth."""
    level: list[Json] = [value]
    while level:
        yield level
        level = [
            below
            for one in level
            for below in (one.values() if is_object(one) else one if is_array(one) else ())
            if isinstance(below, dict | list)
        ]

"""Gathers a description that lies in several files: those in the folder of the first one, and below it.

References are changed to ``NAME#POINTER``, with the name of the file in that folder; in the first file to ``#POINTER``.
A reference that leads out of the folder, or to an address, stays as it is, and nothing is opened for it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from tooltrue._internal.platform.confined_open import open_beneath, parts_beneath
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.wording import Worded
from tooltrue_toolbox.openapi.wording import REASON_TOO_MANY_FILES

__all__ = ["NO_FILES", "DescriptionFiles", "FileRefused", "Read", "gather_files", "read_beneath", "value_at"]

_MAX_FILES: Final = 5_000
_MAX_REFERENCES: Final = 16
_ENDINGS: Final = (".json", ".yaml", ".yml")
_OPERATION_LEVEL: Final = 4
"""The level of the parts of an operation, below the root. OpenAPI has references from there on; many descriptions have
them above, to other files."""


class FileRefused(Exception):
    """The reason why a file is not read."""

    def __init__(self, problem: Worded) -> None:
        super().__init__(problem)
        self.problem = problem


Read = Callable[[str], Json]
"""The content of a file by its name below the folder. Raises :class:`FileRefused`."""


@dataclass(frozen=True, slots=True)
class DescriptionFiles:
    """The other files by their names, and the reasons for those that are not read."""

    contents: Mapping[str, Json] = field(default_factory=dict[str, Json])
    unread: Mapping[str, Worded] = field(default_factory=dict[str, Worded])


NO_FILES: Final = DescriptionFiles()


def read_beneath(folder: Path, name: str, limit: int) -> bytes:
    """At most ``limit`` + 1 bytes of a file below ``folder``. ``OSError`` for one that is not there, for a name that
    leads elsewhere, and for a link in any part of it."""
    parts = parts_beneath(name)
    if parts is None:
        raise FileNotFoundError(name)
    with os.fdopen(open_beneath(str(folder), parts), "rb") as file:
        return file.read(limit + 1)


def gather_files(root: dict[str, Json], own_name: str, content_of: Read) -> tuple[dict[str, Json], DescriptionFiles]:
    """The root with full references, and all files to which references lead."""
    gathering = _Gathering(own_name, content_of)
    with_full_references = gathering.with_full_references(root, own_name)
    if not is_object(with_full_references):
        return root, DescriptionFiles()
    gathering.read_all()
    return gathering.with_structure(with_full_references), DescriptionFiles(gathering.contents, gathering.unread)


class _Gathering:
    def __init__(self, own_name: str, content_of: Read) -> None:
        self._own_name = own_name
        self._content_of = content_of
        self._waiting: list[str] = []
        self._known = set[str]()
        self.contents: dict[str, Json] = {}
        self.unread: dict[str, Worded] = {}

    def read_all(self) -> None:
        while self._waiting:
            name = self._waiting.pop()
            try:
                if len(self.contents) >= _MAX_FILES:
                    raise FileRefused(Worded(REASON_TOO_MANY_FILES, {"limit": _MAX_FILES}))
                self.contents[name] = self.with_full_references(self._content_of(name), name)
            except FileRefused as error:
                self.unread[name] = error.problem

    def with_full_references(self, value: Json, base: str) -> Json:
        """The value with full references. Its depth is bounded by the reader."""
        if is_array(value):
            return [self.with_full_references(one, base) for one in value]
        if not is_object(value):
            return value
        made = {key: self.with_full_references(below, base) for key, below in value.items()}
        if isinstance(reference := value.get("$ref"), str):
            made["$ref"] = self._full(reference, base)
        if is_object(mapping := value.get("mapping")) and "propertyName" in value:
            made["mapping"] = {
                name: self._full(target, base) if isinstance(target, str) and _is_location(target) else target
                for name, target in mapping.items()
            }
        return made

    def _full(self, reference: str, base: str) -> str:
        try:
            parts = urlsplit(reference)
        except ValueError:
            return reference
        if parts.scheme or parts.netloc:
            return reference
        name = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(parts.path))) if parts.path else base
        if name == self._own_name:
            return f"#{parts.fragment}"
        if parts_beneath(name) is None:
            return reference
        if name not in self._known:
            self._known.add(name)
            self._waiting.append(name)
        return f"{name}#{parts.fragment}"

    def with_structure(self, root: dict[str, Json]) -> dict[str, Json]:
        """The root with its structure in place of the references that lead there: paths, operations, texts."""
        in_place = {
            key: self._structure(value, 1, _OPERATION_LEVEL if key == "paths" else _OPERATION_LEVEL - 1)
            for key, value in root.items()
        }
        return {key: self._with_properties(value) for key, value in in_place.items()}

    def _structure(self, value: Json, level: int, deepest: int) -> Json:
        value = self._in_place(value)
        if level >= deepest:
            return value
        if is_array(value):
            return [self._structure(one, level + 1, deepest) for one in value]
        if is_object(value):
            return {key: self._structure(one, level + 1, deepest) for key, one in value.items()}
        return value

    def _with_properties(self, value: Json) -> Json:
        """The value with maps of properties in place of references to them, which OpenAPI does not have either."""
        if is_array(value):
            return [self._with_properties(one) for one in value]
        if not is_object(value):
            return value
        made = {key: self._with_properties(below) for key, below in value.items()}
        if is_object(properties := value.get("properties")) and isinstance(properties.get("$ref"), str):
            made["properties"] = self._in_place(properties)
        return made

    def _in_place(self, value: Json) -> Json:
        """The value to which a reference to another file leads; the value itself if it leads nowhere."""
        node = value
        for _ in range(_MAX_REFERENCES):
            reference = node.get("$ref") if is_object(node) else None
            if not isinstance(reference, str) or reference.startswith("#"):
                return node
            name, _, pointer = reference.partition("#")
            try:
                node = value_at(self.contents[name], pointer)
            except LookupError:
                return value
        return value


def value_at(value: Json, pointer: str) -> Json:
    """The value to which a JSON pointer leads. ``LookupError`` if it leads nowhere."""
    if pointer and not pointer.startswith("/"):
        raise LookupError(pointer)
    for part in pointer.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if is_object(value):
            value = value[key]
        elif is_array(value) and key.isdecimal() and len(key) < 9:
            value = value[int(key)]
        else:
            raise LookupError(pointer)
    return value


def _is_location(target: str) -> bool:
    return "#" in target or "/" in target or target.endswith(_ENDINGS)

"""A reader of YAML for untrusted files. Owner of PyYAML, of which it uses the parser of events alone.

The values are those of JSON: the core schema of YAML 1.2, in which ``yes`` is text, and a date too. Keys are always
text. The tree is built without recursion, and within bounds on depth and size; an alias counts as often as it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from tooltrue.jsonrpc.messages import Json
from tooltrue.wording import Worded
from tooltrue_toolbox.openapi.wording import (
    REASON_DESCRIPTION_TOO_DEEP,
    REASON_DESCRIPTION_TOO_LARGE,
    REASON_YAML_ALIAS_CYCLE,
    REASON_YAML_DUPLICATE_KEY,
    REASON_YAML_INVALID,
    REASON_YAML_KEY_NOT_TEXT,
    REASON_YAML_TAG,
)

__all__ = ["YamlRefused", "read_yaml"]

_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,40}")
_BASED: Final = re.compile(r"0o[0-7]{1,20}|0x[0-9a-fA-F]{1,16}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)(?:[eE][-+]?[0-9]{1,2})?")
_TAGS: Final = frozenset((None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"))


class YamlRefused(Exception):
    """The reason why a file is not read."""

    def __init__(self, problem: Worded) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(slots=True)
class _OpenCollection:
    """A collection whose end has not been read. ``key`` is the key of a mapping whose value comes next."""

    value: dict[str, Json] | list[Json]
    anchor: str | None
    begun_at: int
    key: str | None = None


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Json
    size: int


def read_yaml(text: str, *, max_depth: int, max_nodes: int) -> Json:
    """The value of the one document in ``text``. Raises :class:`YamlRefused`."""
    try:
        return _Builder(max_depth, max_nodes).build(_events(text))
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        facts = {"line": 0 if mark is None else mark.line + 1, "problem": str(getattr(error, "problem", None) or error)}
        raise YamlRefused(Worded(REASON_YAML_INVALID, facts)) from None


def _events(text: str) -> Iterator[Any]:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a wheel has the C parser, a source build may not
    parse: Any = vars(yaml)["parse"]  # it has no types
    return iter(parse(text, Loader=loader))


class _Builder:
    def __init__(self, max_depth: int, max_nodes: int) -> None:
        self._max_depth = max_depth
        self._max_nodes = max_nodes
        self._nodes = 0
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, _Anchored] = {}
        self._root: Json = None

    def build(self, events: Iterator[Any]) -> Json:
        for event in events:
            match event:  # scalars first: most events are such
                case yaml.ScalarEvent():
                    self._scalar(event)
                case yaml.MappingStartEvent():
                    self._begin({}, event)
                case yaml.SequenceStartEvent():
                    self._begin([], event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._end()
                case yaml.AliasEvent():
                    self._alias(str(event.anchor))
                case _:
                    pass
        return self._root

    def _begin(self, value: dict[str, Json] | list[Json], event: Any) -> None:
        self._check_tag(event)
        self._count(1)
        if len(self._open) >= self._max_depth:
            raise YamlRefused(Worded(REASON_DESCRIPTION_TOO_DEEP, {"limit": self._max_depth}))
        if self._expects_key():
            raise YamlRefused(Worded(REASON_YAML_KEY_NOT_TEXT, {"line": event.start_mark.line + 1}))
        self._open.append(_OpenCollection(value, event.anchor, self._nodes))

    def _end(self) -> None:
        done = self._open.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = _Anchored(done.value, self._nodes - done.begun_at + 1)
        self._add(done.value)

    def _scalar(self, event: Any) -> None:
        self._check_tag(event)
        self._count(1)
        if self._expects_key():
            self._set_key(str(event.value), event)
            return
        value = _plain(event.value) if event.implicit[0] else str(event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, 1)
        self._add(value)

    def _alias(self, anchor: str) -> None:
        anchored = self._anchors.get(anchor)
        if anchored is None or self._expects_key():  # the parser accepts an alias within the value that it names
            raise YamlRefused(Worded(REASON_YAML_ALIAS_CYCLE, {"name": anchor[:80]}))
        self._count(anchored.size)
        self._add(anchored.value)

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _set_key(self, key: str, event: Any) -> None:
        holder = self._open[-1]
        if key in holder.value:
            facts = {"key": key[:80], "line": event.start_mark.line + 1}
            raise YamlRefused(Worded(REASON_YAML_DUPLICATE_KEY, facts))
        holder.key = key

    def _add(self, value: Json) -> None:
        if not self._open:
            self._root = value
            return
        holder = self._open[-1]
        if isinstance(holder.value, dict):
            holder.value[holder.key or ""] = value
            holder.key = None
        else:
            holder.value.append(value)

    def _check_tag(self, event: Any) -> None:
        if event.tag not in _TAGS:
            raise YamlRefused(Worded(REASON_YAML_TAG, {"tag": str(event.tag)[:80], "line": event.start_mark.line + 1}))

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > self._max_nodes:
            raise YamlRefused(Worded(REASON_DESCRIPTION_TOO_LARGE, {"limit": self._max_nodes}))


def _plain(text: str) -> Json:
    """The value of a plain scalar, by the core schema of YAML 1.2. A value without a form in JSON stays text."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text

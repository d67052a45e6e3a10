"""Changes between two contracts, classified by their effect on callers of the old one.

The class of a change is its possible harm to a caller, never its size. A change that cannot be decided is ``NARROWED``.
Schemas are compared by :mod:`tooltrue.contract.schema_diff`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any

from tooltrue.contract.contract import Contract, Path, place
from tooltrue.contract.digests import Definition, canonical
from tooltrue.contract.display import display_safe
from tooltrue.contract.finding import Severity
from tooltrue.contract.scan import scan
from tooltrue.contract.schema_diff import ABSENT, Effect, SchemaChange, compare, same_words
from tooltrue.contract.wording import (
    CHANGE_ALIASES_ADDED,
    CHANGE_ALIASES_REMOVED,
    CHANGE_DEPRECATION_ADDED,
    CHANGE_DEPRECATION_REMOVED,
    CHANGE_EFFECT_UNKNOWN,
    CHANGE_ENTRY_ADDED,
    CHANGE_ENTRY_REMOVED,
    CHANGE_HINT_LOOSENED,
    CHANGE_HINT_PROMISE_WITHDRAWN,
    CHANGE_HINT_REWORDED,
    CHANGE_ICONS,
    CHANGE_NEWLY_SUSPICIOUS,
    CHANGE_OUTPUT_SCHEMA_ADDED,
    CHANGE_OUTPUT_SCHEMA_REMOVED,
    CHANGE_TEXT_FIELD,
    CHANGE_TOOL_RENAMED,
)
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.name_rules import DEPRECATED, REPLACES
from tooltrue.wording import sentence

__all__ = ["Bump", "Class", "ContractChange", "Diff", "diff", "diff_tools"]


class Class(Enum):
    """The class of a change, from harmless to a likely rug pull."""

    COSMETIC = "cosmetic"
    """White space, an icon, the case of a title: no caller behaves differently."""
    TEXT = "text"
    """Wording, which guides a model."""
    WIDENED = "widened"
    """All that was accepted is still accepted, and all promises are kept."""
    ADDED = "added"
    """A new tool, prompt or resource."""
    NARROWED = "narrowed"
    """Accepted values may now be refused, or promised values may be missing; also any change that could not be
    decided."""
    REMOVED = "removed"
    """A tool, prompt or resource is gone."""
    LOOSENED = "loosened"
    """An annotation now claims that less care is needed: read-only now, or no longer destructive."""
    POISONED = "poisoned"
    """A text now gives orders to the model or hides something, and did not before."""

    @property
    def rank(self) -> int:
        return list(Class).index(self)


class Bump(Enum):
    """The part of a version that has to be increased."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"


_BUMPS = {
    Class.COSMETIC: Bump.PATCH,
    Class.TEXT: Bump.PATCH,
    Class.WIDENED: Bump.MINOR,
    Class.ADDED: Bump.MINOR,
}


@dataclass(frozen=True, slots=True)
class ContractChange:
    """One difference. ``path`` leads to it from the contract; ``before`` or ``after`` is ABSENT if there is no such
    value."""

    path: Path
    kind: Class
    code: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    before: Json = ABSENT
    after: Json = ABSENT

    @property
    def subject(self) -> str:
        """The tool, prompt or resource that has changed; empty for the instructions of the server."""
        return str(self.path[1]) if len(self.path) > 1 else ""

    @property
    def place(self) -> str:
        return place(self.path)

    def say(self, language: str = "en") -> str:
        return display_safe(sentence(self.code, language, self.facts))

    def data(self) -> dict[str, Json]:
        """The change as JSON. ``before`` and ``after`` are left out if they are ABSENT."""
        data: dict[str, Json] = {"class": self.kind.value, "path": self.place, "code": self.code, "text": self.say()}
        if self.before is not ABSENT:
            data["before"] = self.before
        if self.after is not ABSENT:
            data["after"] = self.after
        return data


@dataclass(frozen=True, slots=True)
class Diff:
    """All differences, in the order of the contract: first the instructions of the server, then each tool by name."""

    changes: tuple[ContractChange, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    @property
    def worst(self) -> Class | None:
        return max((one.kind for one in self.changes), key=lambda kind: kind.rank, default=None)

    @property
    def bump(self) -> Bump:
        """The part of the version that has to be increased under semantic versioning."""
        bumps = [_BUMPS.get(one.kind, Bump.MAJOR) for one in self.changes]
        return max(bumps, key=list(Bump).index, default=Bump.NONE)

    def of(self, subject: str, section: str = "tools") -> Diff:
        """The changes of one tool, or of a definition in another ``section``."""
        return Diff(tuple(one for one in self.changes if one.path[:2] == (section, subject)))

    def counts(self) -> dict[str, int]:
        """The number of changes by class, for classes that occur."""
        kinds = [one.kind for one in self.changes]
        return {kind.value: kinds.count(kind) for kind in Class if kind in kinds}

    def data(self) -> dict[str, Json]:
        return {
            "changes": [one.data() for one in self.changes],
            "counts": self.counts(),
            "worst": None if self.worst is None else self.worst.value,
            "bump": self.bump.value,
        }

    def lines(self, language: str = "en") -> Iterator[str]:
        """Lines for a terminal: each change with its class, place and effect, followed by its lines before and after.
        Characters of the contracts that would be invisible are escaped."""
        for one in self.changes:
            yield f"{one.kind.value:<9} {one.place}  {one.say(language)}"
            yield from (f"    {line}" for line in _unified(one.before, one.after))


def _unified(before: Json, after: Json) -> Iterator[str]:
    old, new = ([] if value is ABSENT else _lines(value) for value in (before, after))
    if len(old) + len(new) > _MAX_MATCHED:
        return iter([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    lines = islice(difflib.unified_diff(old, new, lineterm="", n=0), 2, None)
    return (line for line in lines if not line.startswith("@@"))


_MAX_MATCHED = 1_000  # untrusted text of more lines is not matched line by line


def _lines(value: Json) -> list[str]:
    if isinstance(value, str):
        return [display_safe(line) for line in value.split("\n")]
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) > 100:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2)
    return [display_safe(line) for line in text.split("\n")]


def diff(old: Contract, new: Contract) -> Diff:
    """Compare two contracts."""
    return Diff(tuple(_changes(old, new)))


def diff_tools(old: Definition, new: Definition) -> Diff:
    """Compare two definitions of one tool, which may have been renamed."""
    name = str(new.get("name"))
    return Diff(tuple(_definitions(old, new, ("tools", name))))


def _changes(old: Contract, new: Contract) -> Iterator[ContractChange]:
    yield from _poisoned(
        ("instructions",), {"description": old.instructions or ""}, {"description": new.instructions or ""}
    )
    yield from _text(("instructions",), old.instructions, new.instructions)
    for section, before, after in (
        ("tools", old.tools, new.tools),
        ("prompts", old.prompts, new.prompts),
        ("resources", old.resources, new.resources),
    ):
        now = {was: name for name, was in _renamed(before, after)} if section == "tools" else {}
        for name in sorted(before.keys() | after.keys()):
            path = (section, name)
            if name in now:
                yield from _moved(name, now[name], before[name], after[now[name]])
            elif name in now.values():
                continue
            elif name not in after:
                yield ContractChange(path, Class.REMOVED, CHANGE_ENTRY_REMOVED, {"name": name}, dict(before[name]))
            elif name not in before:
                yield ContractChange(path, Class.ADDED, CHANGE_ENTRY_ADDED, {"name": name}, ABSENT, dict(after[name]))
                yield from _poisoned(path, {}, after[name])
            else:
                yield from _definitions(before[name], after[name], path)


def _renamed(before: Mapping[str, Definition], after: Mapping[str, Definition]) -> Iterator[tuple[str, str]]:
    """The new and the old name of each renamed tool: the new one declares the old name, which is no longer listed."""
    for name in sorted(after.keys() - before.keys()):
        was = next((old for old in _names(_meta_of(after[name]), REPLACES) if old in before and old not in after), None)
        if was is not None:
            yield name, was


def _moved(was: str, name: str, old: Definition, new: Definition) -> Iterator[ContractChange]:
    path = ("tools", name)
    yield ContractChange((*path, "name"), Class.WIDENED, CHANGE_TOOL_RENAMED, {"was": was, "now": name}, was, name)
    for one in _definitions({**old, "name": name}, new, path):
        if (
            one.code != CHANGE_ALIASES_ADDED or one.facts["names"] != was
        ):  # TT9041 for this name would report the same rename again
            yield one


def _definitions(old: Definition, new: Definition, path: Path) -> Iterator[ContractChange]:
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if before is ABSENT or after is ABSENT or canonical(before) != canonical(after):
            yield from _FIELDS.get(name, _other)((*path, name), before, after)
    yield from _poisoned(path, old, new)


def _poisoned(path: Path, old: Definition, new: Definition) -> Iterator[ContractChange]:
    """New findings in the texts of a definition, by the same scan that checks and hosts use."""
    if old == new:
        return
    old_findings = (
        {(one.code, one.excerpt) for one in scan({**old, "name": new.get("name")})} if old else set[tuple[str, str]]()
    )
    for one in scan(new):
        if one.severity is not Severity.NOTE and (one.code, one.excerpt) not in old_findings:
            inner = () if path == ("instructions",) else one.path
            facts = {"code": one.code}
            yield ContractChange((*path, *inner), Class.POISONED, CHANGE_NEWLY_SUSPICIOUS, facts, ABSENT, one.excerpt)


def _other(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    """A field unknown to this code."""
    yield ContractChange(path, Class.NARROWED, CHANGE_EFFECT_UNKNOWN, {"field": str(path[-1])}, before, after)


def _text(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    before, after = (ABSENT if value is None else value for value in (before, after))
    if before is after or (isinstance(before, str) and before == after):
        return
    kind = Class.COSMETIC if same_words(before, after) else Class.TEXT
    yield ContractChange(path, kind, CHANGE_TEXT_FIELD, {"field": str(path[-1])}, before, after)


def _title(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    alike = all(isinstance(one, str) for one in (before, after)) and same_words(before.casefold(), after.casefold())
    yield ContractChange(
        path, Class.COSMETIC if alike else Class.TEXT, CHANGE_TEXT_FIELD, {"field": "title"}, before, after
    )


def _icons(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    yield ContractChange(path, Class.COSMETIC, CHANGE_ICONS, {}, before, after)


def _input(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    return _schema(path, before, after, gives=False)


def _output(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    if before is ABSENT:
        yield ContractChange(path, Class.WIDENED, CHANGE_OUTPUT_SCHEMA_ADDED, {}, before, after)
    elif after is ABSENT:
        yield ContractChange(path, Class.NARROWED, CHANGE_OUTPUT_SCHEMA_REMOVED, {}, before, after)
    else:
        yield from _schema(path, before, after, gives=True)


# Inputs and outputs are judged in opposite ways: a server may accept more and return less.
_INPUT_CLASSES = {Effect.MORE: Class.WIDENED, Effect.LESS: Class.NARROWED, Effect.UNCLEAR: Class.NARROWED}
_OUTPUT_CLASSES = {Effect.MORE: Class.NARROWED, Effect.LESS: Class.WIDENED, Effect.UNCLEAR: Class.NARROWED}
_TEXT_CLASSES = {Effect.COSMETIC: Class.COSMETIC, Effect.TEXT: Class.TEXT}


def _schema(path: Path, before: Json, after: Json, *, gives: bool) -> Iterator[ContractChange]:
    classes = {**(_OUTPUT_CLASSES if gives else _INPUT_CLASSES), **_TEXT_CLASSES}
    for one in compare(before, after, gives=gives):
        yield _of_schema(path, one, classes[one.effect])


def _of_schema(path: Path, one: SchemaChange, kind: Class) -> ContractChange:
    return ContractChange((*path, *one.path), kind, one.code, one.facts, one.before, one.after)


# A hint → its default when absent (2026-07-28, server/tools "ToolAnnotations"), and the value that asks for less care.
_HINTS = {
    "readOnlyHint": (False, True),
    "destructiveHint": (True, False),
    "idempotentHint": (False, True),
    "openWorldHint": (True, False),
}


def _annotations(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    hints = [value if is_object(value) else {} for value in (before, after)]
    for name in sorted(hints[0].keys() | hints[1].keys()):
        one, other = (each.get(name, ABSENT) for each in hints)
        if canonical([] if one is ABSENT else [one]) == canonical([] if other is ABSENT else [other]):
            continue
        yield from _title((*path, name), one, other) if name == "title" else _hint((*path, name), one, other)
    if not hints[0].keys() | hints[1].keys():
        yield ContractChange(path, Class.COSMETIC, CHANGE_HINT_REWORDED, {"hint": "annotations"}, before, after)


def _hint(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    name = str(path[-1])
    absent, careless = _HINTS.get(name, (None, None))
    was, now = (absent if value in (ABSENT, None) else value for value in (before, after))
    if careless is None or not isinstance(was, bool) or not isinstance(now, bool):
        yield from _other(path, before, after)
    elif was is now:
        yield ContractChange(path, Class.COSMETIC, CHANGE_HINT_REWORDED, {"hint": name}, before, after)
    elif now is careless:
        yield ContractChange(
            path, Class.LOOSENED, CHANGE_HINT_LOOSENED, {"hint": name, "now": json.dumps(now)}, before, after
        )
    else:
        yield ContractChange(
            path, Class.NARROWED, CHANGE_HINT_PROMISE_WITHDRAWN, {"hint": name, "was": json.dumps(was)}, before, after
        )


def _meta_of(definition: Definition) -> Mapping[str, Json]:
    meta = definition.get("_meta")
    return meta if is_object(meta) else {}


def _names(meta: Mapping[str, Json], key: str) -> list[str]:
    names = meta.get(key)
    return [name for name in names if isinstance(name, str)] if is_array(names) else []


def _meta(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    """Compare ``_meta``: old names and deprecation are understood, any other change is not."""
    yield from [*_known_meta(path, before, after)] or _other(path, before, after)


def _known_meta(path: Path, before: Json, after: Json) -> Iterator[ContractChange]:
    old, new = (value if is_object(value) else {} for value in (before, after))
    was, now = (set(_names(meta, REPLACES)) for meta in (old, new))
    for names, kind, code in (
        (now - was, Class.WIDENED, CHANGE_ALIASES_ADDED),
        (was - now, Class.NARROWED, CHANGE_ALIASES_REMOVED),
    ):
        if names:
            yield ContractChange(
                (*path, REPLACES), kind, code, {"names": ", ".join(sorted(names))}, sorted(was), sorted(now)
            )
    one, other = (meta.get(DEPRECATED, ABSENT) for meta in (old, new))
    if canonical([] if one is ABSENT else [one]) != canonical([] if other is ABSENT else [other]):
        yield ContractChange(
            (*path, DEPRECATED),
            Class.TEXT,
            CHANGE_DEPRECATION_REMOVED if other is ABSENT else CHANGE_DEPRECATION_ADDED,
            {},
            one,
            other,
        )
    rest = [{key: value for key, value in meta.items() if key not in (REPLACES, DEPRECATED)} for meta in (old, new)]
    if canonical(rest[0]) != canonical(rest[1]):
        yield from _other(path, before, after)


_FIELDS = {
    "_meta": _meta,
    "title": _title,
    "description": _text,
    "icons": _icons,
    "inputSchema": _input,
    "outputSchema": _output,
    "annotations": _annotations,
}

"""A definition as a client or provider accepts it, with a word on everything that was changed; or why there is none.

A schema is only ever made weaker: what a provider refuses is left out where all that fitted still fits, and the whole
schema judges the arguments when they come. Where that cannot be done, the definition is quarantined, so that the others
can be used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from toolwright.contract.contract import Definition, Path, definition_of, place
from toolwright.contract.profile import Profile
from toolwright.contract.shown import shown
from toolwright.errors import DefinitionError
from toolwright.jsonrpc.messages import Json, encode, is_array, is_object
from toolwright.protocol.types import Tool, replaced
from toolwright.wording import sentence

__all__ = ["Adjustment", "Fitted", "Quarantined", "alias", "aliases", "check", "fit", "fitting", "joined", "legal"]


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One thing that was changed, or that stands in the way."""

    code: str
    path: Path
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def place(self) -> str:
        return place(self.path)

    def say(self, language: str = "en") -> str:
        return shown(sentence(self.code, language, self.facts))


@dataclass(frozen=True, slots=True)
class Fitted:
    """A definition that is accepted: ``name`` for the model, ``original`` for the wire."""

    original: str
    name: str
    description: str
    schema: Mapping[str, Json]
    adjustments: tuple[Adjustment, ...] = ()


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A definition that cannot be said to this client or provider."""

    original: str
    reasons: tuple[Adjustment, ...]


def fit(definition: Tool | Definition, profile: Profile, *, server: str = "") -> Fitted | Quarantined:
    """A tool as ``profile`` accepts it, under a name that begins with that of its server, where there is one."""
    said = definition_of(definition)
    original = str(said.get("name", ""))
    name = alias(server, original, profile)
    work = _Work(profile)
    if name != (f"{server}_{original}" if server and not profile.name_template else original):
        work.adjust("TW9060", ("name",), name=original, alias=name)
    description = work.description(said.get("description"))
    schema = work.whole(said.get("inputSchema"))
    if schema is None or work.reasons:
        return Quarantined(original, tuple(work.reasons))
    return Fitted(original, name, description, schema, tuple(work.adjustments))


def fitting(profile: Profile) -> Callable[[Tool], Tool]:
    """What makes of each tool the one that ``profile`` accepts. ``DefinitionError`` says why there is none."""

    def fitted(tool: Tool) -> Tool:
        found = fit(tool, profile)
        if isinstance(found, Quarantined):
            reasons = " ".join(f"{one.place}: {one.say()}" for one in found.reasons[:3])
            raise DefinitionError.of("TW9070", name=tool.name, profile=profile.title, reasons=reasons)
        return replaced(tool, name=found.name, description=found.description or None, inputSchema=dict(found.schema))

    return fitted


# -- names -------------------------------------------------------------------------------------------------------------


def aliases(tools: Iterable[tuple[str, str]], profile: Profile) -> dict[tuple[str, str], str]:
    """A name for each (server, tool), no two alike, the same whatever the order they come in."""
    found: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    known = sorted(set(tools), key=lambda one: (alias(*one, profile) != joined(*one, profile), one))
    for server, tool in known:  # those that can be called as they are first: nobody takes their names from them
        digits = _DIGITS
        name = alias(server, tool, profile)
        while name in taken:
            name = _cut(joined(server, tool, profile), profile, digits)
            digits += 4
        taken.add(name)
        found[server, tool] = name
    return found


_DIGITS: Final = 8


def joined(server: str, tool: str, profile: Profile) -> str:
    """The name that is made of a server and a tool, whether it is accepted or not."""
    if profile.name_template and server:
        return profile.name_template.format(server=server, tool=tool)
    return f"{server}_{tool}" if server else tool


def alias(server: str, tool: str, profile: Profile) -> str:
    """The name itself where it is accepted; otherwise what is left of it, and digits that no other name has."""
    name = joined(server, tool, profile)
    return name if legal(name, profile) == name and name else _cut(name, profile, _DIGITS)


def legal(name: str, profile: Profile) -> str:
    """A name as far as it is accepted: other characters are ``_``, and what is too long is cut."""
    separator = profile.name_template.replace("{server}", "").replace("{tool}", "")
    plain = re.sub(f"[^{re.escape(separator)}{profile.name_characters}]", "_", name)
    if profile.name_first and not re.match(f"[{profile.name_first}]", plain):
        plain = f"t_{plain}"
    return plain[: profile.name_length]


def _cut(name: str, profile: Profile, digits: int) -> str:
    ending = "_" + hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:digits]
    return legal(name, profile)[: profile.name_length - len(ending)] + ending


# -- schemas -----------------------------------------------------------------------------------------------------------

_MAX_NODES: Final = 5_000
_MAX_DEPTH: Final = 60
_CUT: Final = " […]"
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf", "not", "enum")
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE: Final = frozenset({"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else"})
_SAYS_NOTHING: Final = frozenset({"$schema", "$id", "$comment", "$anchor", "examples", "deprecated"})
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
# A keyword whose absence would make another one stricter takes that one with it.
_TAKES_ALONG: Final = {
    "patternProperties": ("additionalProperties",),
    "prefixItems": ("items", "additionalItems"),
    "minContains": ("contains", "maxContains"),
    "properties": ("additionalProperties",),
    "then": ("if", "else"),
    "else": ("if", "then"),
    "if": ("then", "else", *_UNEVALUATED),
    "contains": ("minContains", "maxContains"),
    "allOf": _UNEVALUATED,  # which look at what those evaluate
    "anyOf": _UNEVALUATED,
    "oneOf": _UNEVALUATED,
    "dependentSchemas": _UNEVALUATED,
}

_DEFINITIONS: Final = ("$defs", "definitions")
_WORDS: Final = frozenset({"title", "description", "default", "examples", "deprecated", "$comment"})
# What is read together with keywords that may stand in the schema beside.
_ENTANGLED: Final = frozenset(
    {"if", "then", "else", "contains", "minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems"}
)
_FIXED: Final = frozenset({"not", "if", "oneOf", "contains"})

_Node: TypeAlias = dict[str, Json]


class _TooMuch(Exception):
    """A schema that cannot be written out."""


@dataclass(slots=True)
class _Work:
    """One definition on its way, and what has been done to it."""

    profile: Profile
    adjustments: list[Adjustment] = field(default_factory=list[Adjustment])
    reasons: list[Adjustment] = field(default_factory=list[Adjustment])
    root: _Node = field(default_factory=dict[str, Any])
    nodes: int = 0

    def adjust(self, code: str, path: Path, **facts: Any) -> None:
        self.adjustments.append(Adjustment(code, path, facts))

    def refuse(self, code: str, path: Path, **facts: Any) -> None:
        self.reasons.append(Adjustment(code, path, facts))

    def description(self, said: Json) -> str:
        text, most = said if isinstance(said, str) else "", self.profile.description_length
        if most is None or len(text) <= most:
            return text
        self.adjust("TW9061", ("description",), length=len(text), limit=most)
        return text[: most - len(_CUT)].rstrip() + _CUT

    def whole(self, schema: Json) -> _Node | None:
        """The input schema, or None when there is a reason."""
        if not is_object(schema):
            self.refuse("TW9068", ("inputSchema",))
            return None
        self.root = schema
        try:
            found = self.node(schema, ("inputSchema",), ())
        except _TooMuch:
            self.refuse("TW9067", ("inputSchema",), limit=_MAX_NODES)
            return None
        return self.top(found if is_object(found) else dict[str, Json]())

    def top(self, schema: _Node) -> _Node:
        """Arguments are always an object, and some want nothing else to be said at the top."""
        refers_to_itself = b'"#"' in encode(schema)  # then the top judges what is no argument, too
        if not refers_to_itself and (self.profile.type_beside_alternatives or "anyOf" not in schema):
            schema = {"type": "object", **schema}
        properties = schema.get("properties")
        if properties is None:
            properties = schema["properties"] = {}
        found = [keyword for keyword in _ALTERNATIVES if keyword in schema]
        if self.profile.top_level_alternatives or not found:
            return schema
        if not properties:
            self.refuse("TW9065", ("inputSchema",), keywords=", ".join(found))
        found += [other for keyword in found for other in _TAKES_ALONG.get(keyword, ()) if other in schema]
        for keyword in dict.fromkeys(found):
            self.adjust("TW9062", ("inputSchema", keyword), keyword=keyword)
        return {keyword: value for keyword, value in schema.items() if keyword not in found}

    def node(self, schema: Json, path: Path, followed: tuple[str, ...]) -> Json:
        """One schema, by the profile. What is no schema goes as it is: whoever judges it will say so."""
        if not is_object(schema):
            return schema
        self.nodes += 1
        if self.nodes > _MAX_NODES or len(path) > _MAX_DEPTH * 2:
            raise _TooMuch
        if not self.profile.references:
            schema, followed = self.written_out(schema, path, followed)
        found = self.without_refused(dict(schema), path)
        for rewrite in (self.values, self.kinds, self.alternatives):
            found = rewrite(found, path)
        for keyword in list(found):
            if keyword not in found:  # it went with another
                continue
            before = self.weakened()
            found[keyword] = self.inside(keyword, found[keyword], (*path, keyword), followed)
            if keyword in _FIXED and self.weakened() > before:
                found = _without(found, keyword, *_TAKES_ALONG.get(keyword, ()))
                self.adjust("TW9062", (*path, keyword), keyword=keyword)  # weaker inside is stricter as a whole
        return self.completed(found, path)

    def weakened(self) -> int:
        return sum(one.code == "TW9062" for one in self.adjustments)

    def inside(self, keyword: str, value: Json, path: Path, followed: tuple[str, ...]) -> Json:
        if keyword in _MAPS and is_object(value):
            return {name: self.node(inner, (*path, name), followed) for name, inner in value.items()}
        if keyword in _LISTS and is_array(value):
            return [self.node(inner, (*path, index), followed) for index, inner in enumerate(value)]
        if keyword in ("$defs", "definitions") and is_object(value) and self.profile.references:
            return {name: self.node(inner, (*path, name), followed) for name, inner in value.items()}
        return self.node(value, path, followed) if keyword in _SINGLE else value

    def written_out(self, schema: _Node, path: Path, followed: tuple[str, ...]) -> tuple[_Node, tuple[str, ...]]:
        """What a reference refers to in its place, and what a list of one holds; definitions are needed no longer."""
        found = _without(schema, *_DEFINITIONS)
        while True:
            if "$ref" in found:
                reference = found.pop("$ref")
                target = self.target(reference)
                if not isinstance(reference, str) or reference in followed or not is_object(target):
                    self.refuse("TW9064", path, ref=str(reference)[:80])
                    return found, followed
                followed = (*followed, reference)
                found = self.joined(_without(target, *_DEFINITIONS), found, path)
            elif "allOf" in self.profile.refused and is_object(only := _only(found.get("allOf"))):
                found = self.joined(_without(only, *_DEFINITIONS), _without(found, "allOf"), path)
            else:
                return found, followed

    def joined(self, schema: _Node, beside: _Node, path: Path) -> _Node:
        """A schema and the conditions beside it as one. Where they meet in a keyword, or would be read as belonging
        together, the schema stays and these go; words beside it are always the nearer ones."""
        words = {keyword: value for keyword, value in beside.items() if keyword in _WORDS}
        conditions = _without(beside, *words)
        clashing = any(keyword in schema and schema[keyword] != value for keyword, value in conditions.items())
        if clashing or _ENTANGLED & conditions.keys():
            for keyword in sorted(conditions):
                self.adjust("TW9062", (*path, keyword), keyword=keyword)
            conditions = {}
        return {**schema, **conditions, **words}

    def target(self, reference: Json) -> Json:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        node: Json = self.root
        for step in reference[1:].split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            node = node.get(name) if is_object(node) else None
        return node

    def without_refused(self, schema: _Node, path: Path) -> _Node:
        gone: set[str] = set()
        for keyword in schema.keys() & self.profile.refused:
            gone |= {keyword, *(other for other in _TAKES_ALONG.get(keyword, ()) if other in schema)}
        if "oneOf" in gone and is_array(schema["oneOf"]) and "anyOf" not in schema.keys() | self.profile.refused:
            gone.remove("oneOf")
            schema = {("anyOf" if keyword == "oneOf" else keyword): value for keyword, value in schema.items()}
            self.adjust("TW9062", (*path, "oneOf"), keyword="oneOf")  # any of them, where it was exactly one
        for keyword in sorted(gone - _SAYS_NOTHING):
            self.adjust("TW9062", (*path, keyword), keyword=keyword)
        return {keyword: value for keyword, value in schema.items() if keyword not in gone}

    def values(self, schema: _Node, path: Path) -> _Node:
        """``const`` as a value of an enum; an enum of what is no text left out, where only text is taken."""
        if "const" in schema and not self.profile.const:
            schema = {**_without(schema, "const"), "enum": [schema["const"]]}
            self.adjust("TW9063", (*path, "const"), keyword="const")
        values = schema.get("enum")
        if self.profile.text_enums and is_array(values) and not all(isinstance(one, str) for one in values):
            self.adjust("TW9062", (*path, "enum"), keyword="enum")
            return {keyword: value for keyword, value in schema.items() if keyword != "enum"}
        return schema

    def kinds(self, schema: _Node, path: Path) -> _Node:
        """A list of types as alternatives that have one each."""
        kinds = schema.get("type")
        if self.profile.type_lists or not is_array(kinds):
            return schema
        self.adjust("TW9063", (*path, "type"), keyword="type")
        named = [kind for kind in kinds if kind != "null"]
        rest = {keyword: value for keyword, value in schema.items() if keyword != "type"}
        if len(named) == 1 and len(named) == len(kinds):
            return {"type": named[0], **rest}
        if len(named) == 1 and "anyOf" not in rest:
            return {"type": named[0], "nullable": True, **rest}
        if "anyOf" in rest:
            self.adjust("TW9062", (*path, "type"), keyword="type")
            return rest
        words = {keyword: rest.pop(keyword) for keyword in ("title", "description", "default") if keyword in rest}
        return {**words, "anyOf": [{"type": kind, **_of_kind(rest, str(kind))} for kind in kinds]}

    def alternatives(self, schema: _Node, path: Path) -> _Node:
        """A type that stands beside alternatives goes into those that have none."""
        branches = schema.get("anyOf")
        if self.profile.type_beside_alternatives or "type" not in schema or not is_array(branches):
            return schema
        self.adjust("TW9063", (*path, "type"), keyword="type")
        said = [{"type": schema["type"], **one} if is_object(one) else one for one in branches]
        return {**{keyword: value for keyword, value in schema.items() if keyword != "type"}, "anyOf": said}

    def completed(self, schema: _Node, path: Path) -> _Node:
        """What has to be said, where it follows from the rest; a reason, where it does not."""
        if self.profile.items_needed and schema.get("type") == "array" and "items" not in schema:
            schema = {**schema, "items": {}}
            self.adjust("TW9063", (*path, "items"), keyword="items")
        if self.profile.types_needed and not schema.keys() & {"type", "anyOf", "oneOf", "allOf", "$ref", "not"}:
            kind = _kind_of(schema)
            if kind is None and len(path) > 1:
                self.refuse("TW9066", path)
            elif kind is not None:
                schema = {"type": kind, **schema}
                self.adjust("TW9063", (*path, "type"), keyword="type")
        return schema


_ONLY_OF: Final = {
    "object": {"properties", "required", "minProperties", "maxProperties", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum"},
}


def _of_kind(schema: Mapping[str, Json], kind: str) -> _Node:
    """The conditions that say something of values of this type."""
    kind = "number" if kind == "integer" else kind
    others = set[str]().union(*(said for name, said in _ONLY_OF.items() if name != kind))
    return {keyword: value for keyword, value in schema.items() if keyword not in others}


def _kind_of(schema: Mapping[str, Json]) -> str | None:
    """The type that follows from the values that are allowed; from nothing else, for that would refuse others."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if is_array(values) and values:
        kinds = {_name_of(value) for value in values}
        return kinds.pop() if len(kinds) == 1 else None
    return None


def _name_of(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list():
            return "array"
        case _:
            return "object"


def check(profile: Profile, tools: int) -> tuple[Adjustment, ...]:
    """What stands in the way of so many tools."""
    if profile.tools is None or tools <= profile.tools:
        return ()
    return (Adjustment("TW9069", (), {"count": tools, "limit": profile.tools, "profile": profile.title}),)


def _without(schema: Mapping[str, Json], *keywords: str) -> _Node:
    return {keyword: value for keyword, value in schema.items() if keyword not in keywords}


def _only(branches: Json) -> Json:
    return branches[0] if is_array(branches) and len(branches) == 1 else None

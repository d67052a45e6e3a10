"""Adaptation of a definition to a client or provider, with a note on every change; or the reasons why it cannot be
done.

A schema is only ever made weaker: a keyword that a provider refuses is left out if every valid value stays valid, and
arguments are validated against the full schema when they arrive. Where that cannot be done, the definition is
quarantined, so that the others can be used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from tooltrue.contract.contract import Path, place
from tooltrue.contract.digests import Definition, definition_of
from tooltrue.contract.display import display_safe
from tooltrue.contract.profile import Profile
from tooltrue.contract.wording import (
    PORTABILITY_DESCRIPTION_CUT,
    PORTABILITY_INPUT_NOT_OBJECT,
    PORTABILITY_KEYWORD_REWRITTEN,
    PORTABILITY_KEYWORD_WEAKENED,
    PORTABILITY_NAME_ALIASED,
    PORTABILITY_REFERENCE_NOT_EXPANDABLE,
    PORTABILITY_SCHEMA_TOO_LARGE,
    PORTABILITY_TOO_MANY_TOOLS,
    PORTABILITY_TOP_LEVEL_ALTERNATIVES,
    PORTABILITY_TYPE_MISSING,
    TOOL_NOT_OFFERED_TO_CLIENT,
)
from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.protocol.types import ToolDefinition, replaced
from tooltrue.wording import sentence

__all__ = ["Adjustment", "Fitted", "UnportableTool", "alias", "aliases", "check", "fit", "fitting", "joined", "legal"]


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One change to a definition, or one obstacle."""

    code: str
    path: Path
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def place(self) -> str:
        return place(self.path)

    def say(self, language: str = "en") -> str:
        return display_safe(sentence(self.code, language, self.facts))


@dataclass(frozen=True, slots=True)
class Fitted:
    """A definition that is accepted: ``name`` for the model, ``original`` for the wire."""

    original: str
    name: str
    description: str
    schema: Mapping[str, Json]
    adjustments: tuple[Adjustment, ...] = ()


@dataclass(frozen=True, slots=True)
class UnportableTool:
    """A definition that this client or provider cannot accept."""

    original: str
    reasons: tuple[Adjustment, ...]


def fit(definition: ToolDefinition | Definition, profile: Profile, *, server: str = "") -> Fitted | UnportableTool:
    """Adapt a tool to ``profile``. Its name is prefixed with that of its server, if one is given."""
    fields = definition_of(definition)
    original = str(fields.get("name", ""))
    name = alias(server, original, profile)
    work = _Work(profile)
    if name != (f"{server}_{original}" if server and not profile.name_template else original):
        work.adjust(PORTABILITY_NAME_ALIASED, ("name",), name=original, alias=name)
    description = work.description(fields.get("description"))
    schema = work.whole(fields.get("inputSchema"))
    if schema is None or work.reasons:
        return UnportableTool(original, tuple(work.reasons))
    return Fitted(original, name, description, schema, tuple(work.adjustments))


def fitting(profile: Profile) -> Callable[[ToolDefinition], ToolDefinition]:
    """Return a function that adapts a tool to ``profile``. It raises ``DefinitionError`` with the reasons if that
    cannot be done."""

    def fitted(tool: ToolDefinition) -> ToolDefinition:
        fit_result = fit(tool, profile)
        if isinstance(fit_result, UnportableTool):
            reasons = " ".join(f"{one.place}: {one.say()}" for one in fit_result.reasons[:3])
            raise DefinitionError.of(TOOL_NOT_OFFERED_TO_CLIENT, name=tool.name, profile=profile.title, reasons=reasons)
        return replaced(
            tool, name=fit_result.name, description=fit_result.description or None, inputSchema=dict(fit_result.schema)
        )

    return fitted


# -- names -------------------------------------------------------------------------------------------------------------


def aliases(tools: Iterable[tuple[str, str]], profile: Profile) -> dict[tuple[str, str], str]:
    """A unique name for each (server, tool), independent of their order."""
    by_tool: dict[tuple[str, str], str] = {}
    used_names: set[str] = set()
    in_order = sorted(set(tools), key=lambda one: (alias(*one, profile) != joined(*one, profile), one))
    for server, tool in in_order:  # names that are legal as they are come first: no alias takes them
        digits = _DIGITS
        name = alias(server, tool, profile)
        while name in used_names:
            name = _cut(joined(server, tool, profile), profile, digits)
            digits += 4
        used_names.add(name)
        by_tool[server, tool] = name
    return by_tool


_DIGITS: Final = 8


def joined(server: str, tool: str, profile: Profile) -> str:
    """The name built from a server and a tool, whether it is accepted or not."""
    if profile.name_template and server:
        return profile.name_template.format(server=server, tool=tool)
    return f"{server}_{tool}" if server else tool


def alias(server: str, tool: str, profile: Profile) -> str:
    """The name itself if it is accepted; otherwise a shortened legal form with digits of its hash."""
    name = joined(server, tool, profile)
    return name if legal(name, profile) == name and name else _cut(name, profile, _DIGITS)


def legal(name: str, profile: Profile) -> str:
    """Make a name legal: other characters become ``_``, and a long name is cut."""
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
# Leaving out the key would make the listed keywords stricter, so they are left out with it.
_TAKES_ALONG: Final = {
    "patternProperties": ("additionalProperties",),
    "prefixItems": ("items", "additionalItems"),
    "minContains": ("contains", "maxContains"),
    "properties": ("additionalProperties",),
    "then": ("if", "else"),
    "else": ("if", "then"),
    "if": ("then", "else", *_UNEVALUATED),
    "contains": ("minContains", "maxContains"),
    "allOf": _UNEVALUATED,  # which depend on the properties and items that those evaluate
    "anyOf": _UNEVALUATED,
    "oneOf": _UNEVALUATED,
    "dependentSchemas": _UNEVALUATED,
}

_DEFINITIONS: Final = ("$defs", "definitions")
_WORDS: Final = frozenset({"title", "description", "default", "examples", "deprecated", "$comment"})
# Keywords that interact with others, which the schema to be merged with may contain.
_ENTANGLED: Final = frozenset(
    {"if", "then", "else", "contains", "minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems"}
)
_FIXED: Final = frozenset({"not", "if", "oneOf", "contains"})

_Node: TypeAlias = dict[str, Json]


class _TooMuch(Exception):
    """The schema becomes too large when its references are inlined."""


@dataclass(slots=True)
class _Work:
    """One definition in progress, and the changes made to it."""

    profile: Profile
    adjustments: list[Adjustment] = field(default_factory=list[Adjustment])
    reasons: list[Adjustment] = field(default_factory=list[Adjustment])
    root: _Node = field(default_factory=dict[str, Any])
    nodes: int = 0

    def adjust(self, code: str, path: Path, **facts: Any) -> None:
        self.adjustments.append(Adjustment(code, path, facts))

    def refuse(self, code: str, path: Path, **facts: Any) -> None:
        self.reasons.append(Adjustment(code, path, facts))

    def description(self, description: Json) -> str:
        text, most = description if isinstance(description, str) else "", self.profile.description_length
        if most is None or len(text) <= most:
            return text
        self.adjust(PORTABILITY_DESCRIPTION_CUT, ("description",), length=len(text), limit=most)
        return text[: most - len(_CUT)].rstrip() + _CUT

    def whole(self, schema: Json) -> _Node | None:
        """The adapted input schema, or None if there is a reason against it."""
        if not is_object(schema):
            self.refuse(PORTABILITY_INPUT_NOT_OBJECT, ("inputSchema",))
            return None
        self.root = schema
        try:
            result = self.node(schema, ("inputSchema",), ())
        except _TooMuch:
            self.refuse(PORTABILITY_SCHEMA_TOO_LARGE, ("inputSchema",), limit=_MAX_NODES)
            return None
        return self.top(result if is_object(result) else dict[str, Json]())

    def top(self, schema: _Node) -> _Node:
        """Complete the top level: arguments are always an object, and some providers allow no alternatives there."""
        refers_to_itself = b'"#"' in encode(schema)  # then the top also judges values that are not arguments
        if not refers_to_itself and (self.profile.type_beside_alternatives or "anyOf" not in schema):
            schema = {"type": "object", **schema}
        properties = schema.get("properties")
        if properties is None:
            properties = schema["properties"] = {}
        keywords = [keyword for keyword in _ALTERNATIVES if keyword in schema]
        if self.profile.top_level_alternatives or not keywords:
            return schema
        if not properties:
            self.refuse(PORTABILITY_TOP_LEVEL_ALTERNATIVES, ("inputSchema",), keywords=", ".join(keywords))
        keywords += [other for keyword in keywords for other in _TAKES_ALONG.get(keyword, ()) if other in schema]
        for keyword in dict.fromkeys(keywords):
            self.adjust(PORTABILITY_KEYWORD_WEAKENED, ("inputSchema", keyword), keyword=keyword)
        return {keyword: value for keyword, value in schema.items() if keyword not in keywords}

    def node(self, schema: Json, path: Path, followed: tuple[str, ...]) -> Json:
        """Adapt one schema to the profile. A value that is not a schema stays as it is: its validator will report
        it."""
        if not is_object(schema):
            return schema
        self.nodes += 1
        if self.nodes > _MAX_NODES or len(path) > _MAX_DEPTH * 2:
            raise _TooMuch
        if not self.profile.references:
            schema, followed = self.written_out(schema, path, followed)
        result = self.without_refused(dict(schema), path)
        for rewrite in (self.values, self.kinds, self.alternatives):
            result = rewrite(result, path)
        for keyword in list(result):
            if keyword not in result:  # removed along with another keyword
                continue
            before = self.weakened()
            result[keyword] = self.inside(keyword, result[keyword], (*path, keyword), followed)
            if keyword in _FIXED and self.weakened() > before:
                result = _without(result, keyword, *_TAKES_ALONG.get(keyword, ()))
                self.adjust(
                    PORTABILITY_KEYWORD_WEAKENED, (*path, keyword), keyword=keyword
                )  # weaker inside is stricter overall
        return self.completed(result, path)

    def weakened(self) -> int:
        return sum(one.code == PORTABILITY_KEYWORD_WEAKENED for one in self.adjustments)

    def inside(self, keyword: str, value: Json, path: Path, followed: tuple[str, ...]) -> Json:
        if keyword in _MAPS and is_object(value):
            return {name: self.node(inner, (*path, name), followed) for name, inner in value.items()}
        if keyword in _LISTS and is_array(value):
            return [self.node(inner, (*path, index), followed) for index, inner in enumerate(value)]
        if keyword in ("$defs", "definitions") and is_object(value) and self.profile.references:
            return {name: self.node(inner, (*path, name), followed) for name, inner in value.items()}
        return self.node(value, path, followed) if keyword in _SINGLE else value

    def written_out(self, schema: _Node, path: Path, followed: tuple[str, ...]) -> tuple[_Node, tuple[str, ...]]:
        """Inline references and ``allOf`` lists of one; definitions are then no longer needed."""
        result = _without(schema, *_DEFINITIONS)
        while True:
            if "$ref" in result:
                reference = result.pop("$ref")
                target = self.target(reference)
                if not isinstance(reference, str) or reference in followed or not is_object(target):
                    self.refuse(PORTABILITY_REFERENCE_NOT_EXPANDABLE, path, ref=str(reference)[:80])
                    return result, followed
                followed = (*followed, reference)
                result = self.joined(_without(target, *_DEFINITIONS), result, path)
            elif "allOf" in self.profile.refused and is_object(only := _only(result.get("allOf"))):
                result = self.joined(_without(only, *_DEFINITIONS), _without(result, "allOf"), path)
            else:
                return result, followed

    def joined(self, schema: _Node, beside: _Node, path: Path) -> _Node:
        """Merge a schema with the conditions beside it. If they conflict in a keyword, or would be read together, the
        conditions are dropped; annotations beside the schema always take precedence."""
        words = {keyword: value for keyword, value in beside.items() if keyword in _WORDS}
        conditions = _without(beside, *words)
        clashing = any(keyword in schema and schema[keyword] != value for keyword, value in conditions.items())
        if clashing or _ENTANGLED & conditions.keys():
            for keyword in sorted(conditions):
                self.adjust(PORTABILITY_KEYWORD_WEAKENED, (*path, keyword), keyword=keyword)
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
        removed_keywords: set[str] = set()
        for keyword in schema.keys() & self.profile.refused:
            removed_keywords |= {keyword, *(other for other in _TAKES_ALONG.get(keyword, ()) if other in schema)}
        if (
            "oneOf" in removed_keywords
            and is_array(schema["oneOf"])
            and "anyOf" not in schema.keys() | self.profile.refused
        ):
            removed_keywords.remove("oneOf")
            schema = {("anyOf" if keyword == "oneOf" else keyword): value for keyword, value in schema.items()}
            self.adjust(
                PORTABILITY_KEYWORD_WEAKENED, (*path, "oneOf"), keyword="oneOf"
            )  # weaker: any of them, not exactly one
        for keyword in sorted(removed_keywords - _SAYS_NOTHING):
            self.adjust(PORTABILITY_KEYWORD_WEAKENED, (*path, keyword), keyword=keyword)
        return {keyword: value for keyword, value in schema.items() if keyword not in removed_keywords}

    def values(self, schema: _Node, path: Path) -> _Node:
        """Turn ``const`` into an enum; drop an enum with values that are not strings if only strings are allowed."""
        if "const" in schema and not self.profile.const:
            schema = {**_without(schema, "const"), "enum": [schema["const"]]}
            self.adjust(PORTABILITY_KEYWORD_REWRITTEN, (*path, "const"), keyword="const")
        values = schema.get("enum")
        if self.profile.text_enums and is_array(values) and not all(isinstance(one, str) for one in values):
            self.adjust(PORTABILITY_KEYWORD_WEAKENED, (*path, "enum"), keyword="enum")
            return {keyword: value for keyword, value in schema.items() if keyword != "enum"}
        return schema

    def kinds(self, schema: _Node, path: Path) -> _Node:
        """Turn a list of types into alternatives of one type each."""
        kinds = schema.get("type")
        if self.profile.type_lists or not is_array(kinds):
            return schema
        self.adjust(PORTABILITY_KEYWORD_REWRITTEN, (*path, "type"), keyword="type")
        types = [kind for kind in kinds if kind != "null"]
        rest = {keyword: value for keyword, value in schema.items() if keyword != "type"}
        if len(types) == 1 and len(types) == len(kinds):
            return {"type": types[0], **rest}
        if len(types) == 1 and "anyOf" not in rest:
            return {"type": types[0], "nullable": True, **rest}
        if "anyOf" in rest:
            self.adjust(PORTABILITY_KEYWORD_WEAKENED, (*path, "type"), keyword="type")
            return rest
        words = {keyword: rest.pop(keyword) for keyword in ("title", "description", "default") if keyword in rest}
        return {**words, "anyOf": [{"type": kind, **_of_kind(rest, str(kind))} for kind in kinds]}

    def alternatives(self, schema: _Node, path: Path) -> _Node:
        """Move a type beside alternatives into those alternatives that have no type."""
        branches = schema.get("anyOf")
        if self.profile.type_beside_alternatives or "type" not in schema or not is_array(branches):
            return schema
        self.adjust(PORTABILITY_KEYWORD_REWRITTEN, (*path, "type"), keyword="type")
        typed_branches = [{"type": schema["type"], **one} if is_object(one) else one for one in branches]
        return {**{keyword: value for keyword, value in schema.items() if keyword != "type"}, "anyOf": typed_branches}

    def completed(self, schema: _Node, path: Path) -> _Node:
        """Add required keywords that follow from the rest of the schema; refuse it if a required type does not
        follow."""
        if self.profile.items_needed and schema.get("type") == "array" and "items" not in schema:
            schema = {**schema, "items": {}}
            self.adjust(PORTABILITY_KEYWORD_REWRITTEN, (*path, "items"), keyword="items")
        if self.profile.types_needed and not schema.keys() & {"type", "anyOf", "oneOf", "allOf", "$ref", "not"}:
            kind = _kind_of(schema)
            if kind is None and len(path) > 1:
                self.refuse(PORTABILITY_TYPE_MISSING, path)
            elif kind is not None:
                schema = {"type": kind, **schema}
                self.adjust(PORTABILITY_KEYWORD_REWRITTEN, (*path, "type"), keyword="type")
        return schema


_ONLY_OF: Final = {
    "object": {"properties", "required", "minProperties", "maxProperties", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum"},
}


def _of_kind(schema: Mapping[str, Json], kind: str) -> _Node:
    """The conditions that apply to values of this type."""
    kind = "number" if kind == "integer" else kind
    others = set[str]().union(*(keywords for name, keywords in _ONLY_OF.items() if name != kind))
    return {keyword: value for keyword, value in schema.items() if keyword not in others}


def _kind_of(schema: Mapping[str, Json]) -> str | None:
    """The type implied by the allowed values. Other keywords imply no type: a type would refuse values they accept."""
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
    """The obstacles to using this many tools."""
    if profile.tools is None or tools <= profile.tools:
        return ()
    return (
        Adjustment(PORTABILITY_TOO_MANY_TOOLS, (), {"count": tools, "limit": profile.tools, "profile": profile.title}),
    )


def _without(schema: Mapping[str, Json], *keywords: str) -> _Node:
    return {keyword: value for keyword, value in schema.items() if keyword not in keywords}


def _only(branches: Json) -> Json:
    return branches[0] if is_array(branches) and len(branches) == 1 else None

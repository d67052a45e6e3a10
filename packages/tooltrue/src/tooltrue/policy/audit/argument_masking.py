"""Redaction of arguments for audit records: values that are secret by schema or name are masked, the rest is scanned.

Whether a tool's arguments can hold a secret at all is decided once for each tool; most cannot, and need no walk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.caching import cache_short_texts
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.characters import cleaned, may_hide
from tooltrue.protocol.types import Mutable, Value, field
from tooltrue.tools.vocabulary import Tool

__all__ = ["MASKED", "Masks", "secret_names", "secret_names_in"]

MASKED = "[masked]"

_SECRET = LazyPattern(
    r"pass(word|wd|phrase|code)|\bpwd\b|secret(?!ar)|token\b(?! (count|limit|budget|type|url)\b)"
    r"|\b(access|api|auth|bearer|refresh) ?tokens\b|credential|\b(api|access|private|secret|signing) ?key"
    r"|\bauth\b|authorization|\bcookies?\b|\bbearer\b|\bcv[cv]2?\b"
)
_QUERY = LazyPattern(r"([?&;#](\w[\w.-]*)=)[^&;#]*")
_HUMPS = LazyPattern(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+")
_KEPT_TOOLS = 10_000


def _plain(text: str) -> str:
    """Remove hidden characters, which would keep a secret from being found."""
    return cleaned(text, {}) if may_hide(text) else text


def _without_secrets(text: str) -> str:
    from tooltrue.policy.sanitize.prescan import suspected  # noqa: PLC0415 - loaded with the first call
    from tooltrue.policy.sanitize.secrets import SHORTEST, mask_secrets  # noqa: PLC0415 - loaded with the first call

    if len(text) < SHORTEST:
        return text
    patterns = suspected(text.encode(errors="replace"))
    return mask_secrets(text, patterns, []) if patterns else text


@cache_short_texts(4096)
def _is_secret(name: str) -> bool:
    """Return whether a value of this name is secret: ``apiKey``, ``db_password``, ``X-Auth-Token``; not ``author``."""
    return _SECRET.compiled.search(_HUMPS.compiled.sub(" ", name).lower()) is not None


class Masks(Value, frozen=True):
    """Masks for audit records. ``detect`` returns a text with its secrets masked; without it, our own detector does."""

    detect: Callable[[str], str] | None = None
    _plain: set[int] = field(default_factory=set[int])
    _tools: dict[int, tuple[Tool, _Secrets]] = field(default_factory=dict[int, "tuple[Tool, _Secrets]"])

    def is_plain(self, tool: Tool | None) -> bool:
        """Return whether arguments that fit the tool's schema need no mask unless ``prescan`` finds something in
        them."""
        return self.detect is None and tool is not None and (id(tool) in self._plain or self._of(tool).is_plain)

    def mask(self, arguments: Json, tool: Tool | None) -> tuple[Json, list[str]]:
        """Return the arguments without secrets, and the JSON Pointers of those that were masked."""
        walk = _Walk(self._of(tool) if tool is not None else _NOTHING, self._detected)
        return walk.masked(arguments, "", ""), walk.paths

    def mask_named(self, arguments: Json, names: Collection[str]) -> Json:
        """Return the arguments without secrets; ``names`` are those that the schema declares secret."""
        return _Walk(_Secrets(frozenset(names), is_plain=False), self._detected).masked(arguments, "", "")

    def text(self, text: str) -> str:
        """Mask secrets in a text such as a name or a URI, including query parameters with secret names."""
        plain = _plain(text)
        clean = _QUERY.compiled.sub(lambda match: match[1] + MASKED if _is_secret(match[2]) else match[0], plain)
        return self._detected(text if clean == plain else clean)

    def _detected(self, text: str) -> str:
        """Mask the secrets that the detector finds; a text without any is returned unchanged."""
        plain = _plain(text)
        clean = (self.detect or _without_secrets)(plain)
        return text if clean == plain else clean

    def _of(self, tool: Tool) -> _Secrets:
        entry = self._tools.get(id(tool))
        if entry is None or entry[0] is not tool:
            if len(self._tools) >= _KEPT_TOOLS:
                self._plain.clear()
                self._tools.clear()
            entry = (tool, _secrets(tool.definition.inputSchema))
            self._tools[id(tool)] = entry  # keeps the tool alive, so that its id stays its own
            if entry[1].is_plain:
                self._plain.add(id(tool))
        return entry[1]


class _Secrets(Value, frozen=True):
    """``names`` are those that the schema declares secret. ``is_plain``: no value is secret, and none can come
    undeclared."""

    names: frozenset[str]
    is_plain: bool


_NOTHING = _Secrets(frozenset(), is_plain=False)


class _Walk(Mutable):
    secrets: _Secrets
    detect: Callable[[str], str]
    paths: list[str] = field(default_factory=list[str])

    def masked(self, value: Json, name: str, path: str) -> Json:
        if value is not None and (name in self.secrets.names or (name and _is_secret(name))):
            self.paths.append(path)
            return MASKED
        if is_object(value):
            return {key: inner for name, one in value.items() for key, inner in self._member(name, one, path)}
        if is_array(value):
            return [self.masked(inner, "", f"{path}/{index}") for index, inner in enumerate(value)]
        if not isinstance(value, str):
            return value
        if (clean := self.detect(value)) != value:
            self.paths.append(path)
        return clean

    def _member(self, name: str, value: Json, path: str) -> Iterator[tuple[str, Json]]:
        key = self.detect(name)
        path = f"{path}/{_escaped(key)}"
        if key != name:
            self.paths.append(path)
        yield key, self.masked(value, _plain(name), path)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


# --- schemas ---------------------------------------------------------------------------------------------------------


def secret_names(tool: Tool) -> frozenset[str]:
    """Return the names of the arguments that the schema declares secret."""
    return secret_names_in(tool.definition.inputSchema)


def secret_names_in(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the members that a schema declares secret."""
    return _secrets(schema).names


_SCALARS = {"string", "integer", "number", "boolean", "null"}
_INNER = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "unevaluatedProperties")
_INNERS = ("anyOf", "oneOf", "allOf", "prefixItems")


def _secrets(schema: Mapping[str, Any]) -> _Secrets:
    names, is_plain, visited = set[str](), True, set[tuple[int, str]]()
    rest: list[tuple[str, Any]] = [("", schema)]
    while rest:
        name, node = rest.pop()
        if not is_object(node):
            is_plain = is_plain and node is False
            continue
        if (id(node), name) in visited:
            continue
        visited.add((id(node), name))
        if node.get("format") == "password" or node.get("writeOnly") is True:
            names.add(name)
        is_plain = is_plain and _is_closed(node) and not _is_secret(name)
        rest.extend(_inside(node, name, schema))
    return _Secrets(frozenset(names), is_plain and not names)


def _inside(node: Mapping[str, Any], name: str, root: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the nested schemas, each with its property name; the items of a list have the name of the list."""
    properties = node.get("properties")
    yield from properties.items() if is_object(properties) else ()
    for word in _INNER:
        if isinstance(node.get(word), dict):
            yield name, node[word]
    for word in _INNERS:
        inner = node.get(word)
        yield from ((name, one) for one in inner) if is_array(inner) else ()
    patterns = node.get("patternProperties")
    yield from ((name, one) for one in patterns.values()) if is_object(patterns) else ()
    reference = node.get("$ref")
    if isinstance(reference, str):
        yield name, _target(reference, root)


def _target(reference: str, root: Any) -> Any:
    """Resolve a reference of the usual kind, ``#/$defs/Name``. A reference of another kind gives ``True``: any
    value."""
    node = root
    if reference != "#" and not reference.startswith("#/"):
        return True
    for step in reference.split("/")[1:]:
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if is_object(node) else None
    return node if is_object(node) else True


def _is_closed(node: Mapping[str, Any]) -> bool:
    """Return whether a schema accepts only values that it, and the schemas inside it, name."""
    if "enum" in node or "const" in node or "$ref" in node or any(word in node for word in ("anyOf", "oneOf")):
        return True
    declared = node.get("type")
    kinds = set(declared if is_array(declared) else [declared])
    if not kinds <= _SCALARS | {"object", "array"}:
        return False
    if "object" in kinds and (node.get("additionalProperties") is not False or "patternProperties" in node):
        return False
    return "array" not in kinds or isinstance(node.get("items"), dict)

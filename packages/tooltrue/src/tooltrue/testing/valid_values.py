"""Proposes values for a JSON Schema. They probably match it; the compiled schema decides."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, product
from random import Random
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import unquote

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.testing.patterns import text_maker

__all__ = [
    "DEEP",
    "FORMATS",
    "MOST_FORMS",
    "MOST_ITEMS",
    "MOST_LETTERS",
    "TRIES",
    "Beyond",
    "Maker",
    "Node",
    "Path",
    "json_path",
    "kinds_of",
    "named_values",
    "text_of",
]

Node: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]


def named_values(node: Node) -> Iterator[tuple[Literal["example", "default"], Json]]:
    """The values that the schema itself names as examples or default."""
    examples = node.get("examples")
    for example in examples if is_array(examples) else ():
        yield "example", example
    if "default" in node:
        yield "default", node["default"]


def text_of(value: Json) -> str:
    """A canonical text: equal values have equal texts."""
    return json.dumps(value, sort_keys=True)


def json_path(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


class Beyond(Exception):
    """This subschema has a rule that the maker cannot satisfy; ``rule`` is the keyword that it failed at."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


TRIES = 12
_ROOM = 1_000
DEEP = 4
MOST_FORMS = 16
MOST_LETTERS = 100_000
MOST_ITEMS = 1_000
_WORDS = ("tea", "Green tea", "a", "zürich", "日本", "x-1", "42", "true", "two words", "it's", "50%", "naïve")


class Maker:
    """Makes values that probably match. ``fullness`` is the probability that an optional property is present;
    ``given_up`` holds the rule and path of each optional value that it could not make."""

    def __init__(self, root: Node, random: Random) -> None:
        self.root = root
        self.fullness = 0.5
        self.given_up: dict[tuple[str, str], None] = {}
        self._random = random
        self._makers: dict[str, Callable[[Node, Path], Json]] = {
            "null": lambda node, path: None,
            "boolean": lambda node, path: random.random() < 0.5,
            "integer": self._integer,
            "number": self._number,
            "string": self._string,
            "array": self._array,
            "object": self._object,
        }

    def forms(self, node: Any) -> Iterator[Node]:
        """Flatten a subschema and all others for the same value into one node, for each choice that they allow."""
        if not is_object(node):
            if node is not False:
                yield {}
            return
        here = {key: int(value) if key in _COUNTS else value for key, value in node.items() if key not in _COMBINING}
        parts: list[list[Any]] = [[self._target(node["$ref"])]] if "$ref" in node else []
        parts += [[part] for part in node.get("allOf", ())]
        parts += [node[key] for key in ("anyOf", "oneOf") if key in node]
        if "if" in node:
            parts.append([{"allOf": [node["if"], node.get("then", True)]}, node.get("else", True)])
        for choice in product(*parts):
            for inner in product(*(tuple(islice(self.forms(part), MOST_FORMS)) for part in choice)):
                form = here
                for other in inner:
                    form = _merged(form, other)
                yield form

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#/") and reference != "#":
            raise Beyond("$ref")
        node: Any = self.root
        for step in reference[1:].split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if is_array(node) else node[key]
        return node

    def make(self, node: Any, path: Path) -> Json:
        """A value for a subschema. Raises ``Beyond``."""
        forms = list(islice(self.forms(node), MOST_FORMS))
        if not forms or len(path) > 3 * DEEP:
            raise Beyond("type")
        if len(path) >= DEEP:  # where a schema is recursive, the plain forms end it
            forms.sort(key=lambda form: kinds_of(form)[:1] in (["object"], ["array"]))
            return self._of_form(forms[0], path)
        return self._of_form(self._random.choice(forms), path)

    def _of_form(self, form: Node, path: Path) -> Json:
        if "const" in form:
            return copy.deepcopy(form["const"])
        if "enum" in form:
            if not form["enum"]:
                raise Beyond("enum")
            return copy.deepcopy(self._random.choice(form["enum"]))
        declared = [value for _, value in named_values(form)] if path else []
        if declared and self._random.random() < 0.6:
            return copy.deepcopy(self._random.choice(declared))
        kinds = kinds_of(form)
        if not kinds:
            raise Beyond("type")
        return self._makers[self._random.choice(kinds)](form, path)

    def _integer(self, node: Node, path: Path) -> int:
        step = node.get("multipleOf", 1)
        if step != int(step):
            raise Beyond("multipleOf")
        return int(step) * self._steps(node, int(step), 1)

    def _number(self, node: Node, path: Path) -> float:
        if "multipleOf" in node:
            return node["multipleOf"] * self._steps(node, node["multipleOf"], 0)
        low, high = _range(node, 1e-9)
        return self._random.choice((low, high, round(self._random.uniform(low, high), 3), (low + high) / 2))

    def _steps(self, node: Node, step: float, gap: float) -> int:
        """A multiple of ``step`` as its factor: the least, the greatest, one, or a random factor between."""
        low, high = _range(node, gap)
        first, last = math.ceil(low / step), math.floor(high / step)
        if first > last:
            raise Beyond("multipleOf" if "multipleOf" in node else "minimum")
        return self._random.choice((first, last, max(first, min(last, 1)), self._random.randint(first, last)))

    def _string(self, node: Node, path: Path) -> str:
        least = node.get("minLength", 0)
        most = max(least, min(node.get("maxLength", least + 40), MOST_LETTERS))
        if least > MOST_LETTERS:
            raise Beyond("minLength")
        if "pattern" in node:
            return self._matching(node["pattern"], least, most)
        if node.get("format") in FORMATS:
            return self._random.choice(FORMATS[node["format"]])
        text = self._random.choice(_WORDS)
        while len(text) < least:
            text += self._random.choice(_WORDS)
        return text[: self._random.choice((most, most, max(least, min(1, most))))]

    def _matching(self, pattern: str, least: int, most: int) -> str:
        try:
            make = text_maker(pattern)
        except ValueError:
            raise Beyond("pattern") from None
        tries = [make(self._random) for _ in range(TRIES)]
        return next((text for text in tries if least <= len(text) <= most), tries[0])

    def _array(self, node: Node, path: Path) -> list[Json]:
        first = cast("list[Any]", node.get("prefixItems", []))
        rest = node.get("items", node.get("contains", True))
        least = max(node.get("minItems", 0), node.get("minContains", 1) if "contains" in node else 0)
        least = max(least, len(first) if self.fullness else 0)
        most = max(least, min(node.get("maxItems", least + 3), least + 3))
        if least > MOST_ITEMS:
            raise Beyond("minItems")
        size = least if rest is False or len(path) >= DEEP else self._random.randint(least, most)
        items: list[Json] = []
        for index in range(size * (3 if node.get("uniqueItems") else 1)):
            if len(items) == size:
                break
            item = self.make(first[index] if index < len(first) else rest, (*path, index))
            if not node.get("uniqueItems") or text_of(item) not in map(text_of, items):
                items.append(item)
        return items

    def _object(self, node: Node, path: Path) -> dict[str, Json]:
        properties = cast("Node", node.get("properties", {}))
        required = [name for name in node.get("required", ()) if name not in properties]
        members: dict[str, Json] = {}
        for name, child in (
            *properties.items(),
            *((name, node.get("additionalProperties", True)) for name in required),
        ):
            is_required = name in node.get("required", ())
            if not is_required and (len(path) >= DEEP or self._random.random() >= self.fullness):
                continue
            try:
                members[name] = self.make(child, (*path, name))
            except Beyond as beyond:
                self.given_up[beyond.rule, json_path((*path, name))] = None
                if is_required:
                    raise
        for name in [name for name in members if name in node.get("dependentRequired", {})]:
            for needed in node["dependentRequired"][name]:
                members.setdefault(needed, self.make(properties.get(needed, True), (*path, needed)))
        self._fill(members, node, path)
        return members

    def _fill(self, members: dict[str, Json], node: Node, path: Path) -> None:
        """Add properties with free names: as many as required, and sometimes one more."""
        free = node.get("additionalProperties", True)
        least = node.get("minProperties", 0)
        if is_object(free) and len(path) < DEEP and self._random.random() < self.fullness:
            least = max(least, len(members) + 1)
        for number in range(least):
            if len(members) >= least or free is False or len(members) >= node.get("maxProperties", least):
                break
            members.setdefault(self._name(node, number), self.make(free, (*path, f"p{number}")))

    def _name(self, node: Node, number: int) -> str:
        names = node.get("propertyNames")
        name = self.make({"type": "string", **names}, (str(number),)) if is_object(names) else f"p{number}"
        return name if isinstance(name, str) else f"p{number}"


_COMBINING = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "$defs", "definitions"})
# JSON may write 2.0 for two.
_COUNTS = frozenset(
    ("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties")
)
# A keyword of one type only → that type; a schema with such keywords and no type probably means it.
_HINTS = {
    "properties": "object", "required": "object", "additionalProperties": "object", "minProperties": "object",
    "items": "array", "prefixItems": "array", "minItems": "array", "contains": "array",
    "minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
    "minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number",
    "multipleOf": "number",
}  # fmt: skip
FORMATS: Mapping[str, tuple[str, ...]] = {
    "date": ("2024-02-29", "1999-12-31"),
    "date-time": ("2024-02-29T23:59:59Z", "1999-12-31T00:00:00.5+02:00"),
    "time": ("09:30:00Z", "23:59:59+01:00"),
    "duration": ("PT1H30M", "P3D"),
    "email": ("name@example.org", "a.b+c@example.com"),
    "idn-email": ("name@example.org",),
    "hostname": ("example.org", "a.b-c.example"),
    "idn-hostname": ("example.org",),
    "ipv4": ("192.0.2.1", "198.51.100.255"),
    "ipv6": ("2001:db8::1", "::1"),
    "uri": ("https://example.org/a?b=c#d", "urn:isbn:0451450523"),
    "uri-reference": ("/a/b", "https://example.org/"),
    "iri": ("https://example.org/ü",),
    "iri-reference": ("/ü",),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "regex": ("^a+$",),
    "json-pointer": ("/a/0",),
    "relative-json-pointer": ("1/a",),
    "uri-template": ("https://example.org/{id}",),
}


def kinds_of(form: Node) -> list[str]:
    """The types that a value may have; likely ones for a schema without ``type``."""
    types = form.get("type")
    if isinstance(types, str):
        return [types]
    if is_array(types):
        return [str(kind) for kind in types]
    hints = sorted({_HINTS[key] for key in form if key in _HINTS})
    return hints or ["string", "integer", "boolean"]


def _range(node: Node, gap: float) -> tuple[float, float]:
    """The least and the greatest number, with a wide default. ``gap`` is the distance from an excluded bound."""
    lows: list[float] = [node[key] + off for key, off in (("minimum", 0), ("exclusiveMinimum", gap)) if key in node]
    highs: list[float] = [node[key] - off for key, off in (("maximum", 0), ("exclusiveMaximum", gap)) if key in node]
    if not lows and not highs:
        return -_ROOM, _ROOM
    low = max(lows) if lows else min(highs) - _ROOM
    return low, max(low, min(highs) if highs else low + _ROOM)


def _merged(one: Node, other: Node) -> Node:
    """A node with the rules of both, as far as one node can express them."""
    merged = {**one, **other}
    for key in one.keys() & other.keys():
        if key in _MERGES:
            merged[key] = _MERGES[key](one[key], other[key])
    return merged


def _both_kinds(one: Any, other: Any) -> list[str]:
    first, second = kinds_of({"type": one}), kinds_of({"type": other})
    if "number" in first and "integer" in second:
        first = [*first, "integer"]
    if "number" in second and "integer" in first:
        second = [*second, "integer"]
    return [kind for kind in first if kind in second]


def _both_schemas(one: Any, other: Any) -> Any:
    return False if False in (one, other) else {"allOf": [one, other]}


_MERGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": _both_kinds,
    "enum": lambda one, other: [value for value in one if value in other],
    "required": lambda one, other: list(dict.fromkeys((*one, *other))),
    "properties": lambda one, other: {
        name: _both_schemas(one.get(name, True), other.get(name, True)) for name in (*one, *other)
    },
    "items": _both_schemas,
    "additionalProperties": _both_schemas,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}

"""The text of problems: the wording for each keyword, and helpers that make values safe to show.

Strings of the validated value are never repeated, only measured; property names are cut and cleaned.
"""

from __future__ import annotations

import difflib
import heapq
import json
import math
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import NoneType
from typing import Any, Final, NamedTuple, cast

from tooltrue.protocol.types import Value

Path = tuple[str | int, ...]
Node = dict[str, Any]


class SchemaProblem(Value, frozen=True):
    """One reason why a value was refused, worded for a model that has to correct itself.

    ``path`` is a JSON path (``$.a[0].b``), ``rule`` the keyword that refused, ``expected`` completes "the value …".
    ``allowed`` and ``nearest`` are JSON texts or, for property names, the names; all come from the schema.
    """

    path: str
    rule: str
    expected: str
    got: str = ""
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    hint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The non-empty parts as a dictionary, for structured use."""
        parts = {name: getattr(self, name) for name in self.__struct_fields__} | {"allowed": list(self.allowed[:100])}
        return {name: part for name, part in parts.items() if part}

    def __str__(self) -> str:
        got = f", not {self.got}" if self.got else ""
        allowed = f" {_list(self.allowed)}" if self.allowed else ""
        nearest = f"; nearest: {self.nearest}" if self.nearest is not None else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.path} {self.expected}{allowed}{got}{nearest}{hint}"


def explain(problems: Sequence[SchemaProblem], limit_chars: int = 2_000) -> str:
    """The problems as lines, at most ``limit_chars`` long. Problems that do not fit are left out and counted."""
    lines = [f"- {problem}" for problem in problems]
    for count in range(len(lines), -1, -1):
        rest = len(lines) - count
        text = "\n".join([*lines[:count], *([f"- and {rest} more"] if rest else [])])
        if len(text) <= limit_chars:
            return text
    return ""


# -- the words for each keyword ----------------------------------------------------------------------------------------

NONE: Final = object()


class ProblemDraft(NamedTuple):
    """A problem without its location. ``nearest`` is a value that is not validated yet, or ``NONE``."""

    expected: str
    got: str = ""
    allowed: tuple[str, ...] = ()
    hint: str = ""
    nearest: Any = NONE


# (the keyword's value, the refused value, the subschema)
_Words = Callable[[Any, Any, Node], ProblemDraft]


def _type(expected: Any, value: Any, _: Node) -> ProblemDraft:
    kinds = _kinds(expected)
    nearest = round(value) if "integer" in kinds and _is_modest(value) else NONE
    return ProblemDraft(f"must be {_either(kinds)}", got(value), hint=_repair(kinds, value), nearest=nearest)


def _enum(options: list[Any], value: Any, _: Node) -> ProblemDraft:
    expected = "must be one of" if len(options) > 1 else "must be"
    return ProblemDraft(expected, allowed=tuple(map(json_text, options)), nearest=_nearest_option(value, options))


def _const(expected: Any, value: Any, node: Node) -> ProblemDraft:
    return _enum([expected], value, node)


def _bound(words: str, whole: Callable[[Any], int], step: int = 0) -> _Words:
    """For numeric limits: ``step`` is an integer's distance from the limit, ``whole`` rounds a fractional limit."""

    def draft(limit: Any, value: Any, node: Node) -> ProblemDraft:
        nearest = limit
        if node.get("type") == "integer":
            nearest = limit + step if limit == int(limit) else whole(limit)
        return ProblemDraft(f"must be {words} {_number(limit)}", _number(value), nearest=nearest)

    return draft


def _multiple(factor: Any, value: Any, _: Node) -> ProblemDraft:
    whole = isinstance(factor, int) and _is_modest(factor) and _is_modest(value)
    nearest = round(value / factor) * factor if whole else NONE
    return ProblemDraft(f"must be a multiple of {_number(factor)}", _number(value), nearest=nearest)


def _size(words: str, one: str, many: str) -> _Words:
    return lambda limit, value, _: ProblemDraft(
        f"must have {words} {_number(limit)} {one if limit == 1 else many}", str(len(value))
    )


def _pattern(pattern: str, *_: object) -> ProblemDraft:
    return ProblemDraft(f"must match the pattern {printable(pattern, 120)}")


def _format(name: str, *_: object) -> ProblemDraft:
    name = printable(name, 40)
    example = _EXAMPLES.get(name)
    return ProblemDraft(f"must be in the format {name}", hint=f"for example {example}" if example else "")


def _unique(*_: object) -> ProblemDraft:
    return ProblemDraft("must not hold the same item twice")


ASSERTIONS: Final[dict[str, _Words]] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "minimum": _bound("at least", math.ceil),
    "maximum": _bound("at most", math.floor),
    "exclusiveMinimum": _bound("more than", math.ceil, 1),
    "exclusiveMaximum": _bound("less than", math.floor, -1),
    "multipleOf": _multiple,
    "minLength": _size("at least", "character", "characters"),
    "maxLength": _size("at most", "character", "characters"),
    "pattern": _pattern,
    "format": _format,
    "minItems": _size("at least", "item", "items"),
    "maxItems": _size("at most", "item", "items"),
    "uniqueItems": _unique,
    "minProperties": _size("at least", "property", "properties"),
    "maxProperties": _size("at most", "property", "properties"),
}
# A value that fails one of these is of a different kind: further problems would mislead.
DECISIVE: Final = frozenset({"type", "const", "enum"})

_EXAMPLES: Final = {
    "date": "2026-07-28",
    "date-time": "2026-07-28T09:30:00Z",
    "duration": "PT1H30M",
    "email": "name@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "09:30:00Z",
    "uri": "https://example.org/a",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}


def absent(node: Any, name: str, at: Path, why: str) -> SchemaProblem:
    """The problem of a missing property ``name``; ``node`` is its subschema."""
    kind = described(node)
    purpose = _first_words(node)
    expected = "is required" + (f" {why}" if why else "") + (f": {kind}" if kind else "")
    return SchemaProblem(json_path((*at, name)), "required", expected, hint=f"it means: {purpose}" if purpose else "")


def unknown_property(rule: str, name: str, properties: list[str], at: Path) -> SchemaProblem:
    near = _nearest_text(name, properties)
    return SchemaProblem(
        json_path((*at, name)),
        rule,
        "is an unknown property" + ("; known:" if properties else ""),
        allowed=tuple(printable(each, 40) for each in properties),
        nearest=None if near is None else printable(near, 40),
    )


def wrong_count(form: Any, words: str, limit: Any, matching: int, at: Path) -> SchemaProblem:
    """The problem of too few or too many items of a form."""
    kind = described(form)
    items = f"{words} {_number(limit)} {'item' if limit == 1 else 'items'}"
    expected = f"must hold {items} of {f'this kind: {kind}' if kind else 'the required form'}"
    return SchemaProblem(json_path(at), "contains", expected, str(matching))


# -- descriptions of subschemas ----------------------------------------------------------------------------------------


def described(node: Any) -> str:
    """A short description of the values that a subschema accepts; empty if it does not say."""
    if not isinstance(node, dict):
        return ""
    node = cast("Node", node)
    if "enum" in node or "const" in node:
        options = cast("list[Any]", node["enum"] if "enum" in node else [node["const"]])
        return ("one of " if len(options) > 1 else "") + _list([json_text(option) for option in options[:50]])
    return _either(_kinds(node.get("type")))


def _first_words(node: Any) -> str:
    """The first sentence of the first line of a subschema's description, as far as its end can be detected."""
    text = cast("Node", node).get("description") if isinstance(node, dict) else None
    if not isinstance(text, str):
        return ""
    # A sentence ends before a capital letter; "e.g. x" does not.
    return printable(re.split(r"\.(?=\s+[A-Z]|$)|\n|。", text.strip(), maxsplit=1)[0], 80)


def _kinds(expected: Any) -> list[str]:
    """The types that ``type`` names."""
    return (
        cast("list[str]", expected) if isinstance(expected, list) else [expected] if isinstance(expected, str) else []
    )


def _either(kinds: list[str]) -> str:
    return " or ".join(ARTICLE.get(kind, kind) for kind in kinds)


# -- suggestions -------------------------------------------------------------------------------------------------------


def _repair(kinds: list[str], value: Any) -> str:
    """A hint on the probable intention behind a value of the wrong type, without repeating the value."""
    if isinstance(value, str):
        intended = _meant_by(value)
        if intended in kinds or (intended == "integer" and "number" in kinds):
            return _UNQUOTE[intended]
    if "array" in kinds and not isinstance(value, (list, dict)):
        return "put a single value into an array: [value]"
    return "put it in quotes" if "string" in kinds and _is_number(value) else ""


_UNQUOTE: Final = {
    "integer": "send the number without quotes",
    "number": "send the number without quotes",
    "boolean": "send true or false without quotes",
    "null": "send null without quotes",
    "array": "send the array itself, not a string that holds JSON",
    "object": "send the object itself, not a string that holds JSON",
}


def _meant_by(text: str) -> str:
    """The JSON type of the value that a short string spells out; ``string`` if it spells out no other."""
    if (text[:1], text[-1:]) in (("[", "]"), ("{", "}")):
        return "array" if text[0] == "[" else "object"
    if re.fullmatch(r"-?[0-9]{1,30}(\.[0-9]{1,30})?", text):
        return "number" if "." in text else "integer"
    return {"true": "boolean", "false": "boolean", "null": "null"}.get(text.lower() if len(text) < 6 else "", "string")


def _nearest_option(value: Any, options: list[Any]) -> Any:
    """The option that the value was probably intended to be; ``NONE`` if no option is close."""
    if isinstance(value, str):
        texts = {option if isinstance(option, str) else json_text(option): option for option in options[:500]}
        nearest = _nearest_text(value, list(texts))
        return NONE if nearest is None else texts[nearest]
    if not _is_modest(value):
        return NONE
    numbers = [option for option in options if _is_modest(option)]
    if numbers:
        return min(numbers, key=lambda option: abs(option - value))
    return str(value) if str(value) in options else NONE


def _nearest_text(text: str, options: Sequence[str]) -> str | None:
    """The closest of ``options``, ignoring case; None if no option is close. Long texts are not compared."""
    if len(text) > 64:
        return None
    folded = {option[:64].casefold(): option for option in reversed(options[:500])}
    folded_text = text.casefold().strip()
    pairs = _pairs(folded_text)
    # difflib is exact and slow: it is given the few options that share the most pairs of letters.
    likely = heapq.nlargest(8, folded, key=lambda option: len(pairs & _pairs(option)) / (len(option) + 1))
    matches = difflib.get_close_matches(folded_text, likely, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def _pairs(text: str) -> set[str]:
    """The letters and adjacent pairs of a text, ends included: a typo leaves most of them unchanged."""
    padded = f" {text} "
    return {*padded, *map("".join, pairwise(padded))}


# -- values, names and paths as text -----------------------------------------------------------------------------------

ARTICLE: Final = {
    "array": "an array",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
# The order matters: a bool is also an int.
_KINDS: Final[tuple[tuple[Any, str], ...]] = (
    (NoneType, "null"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    ((list, tuple), "array"),
    (dict, "object"),
)


def kind(value: Any) -> str:
    """The JSON type of a value, or the name of its Python type if JSON has none."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return next((name for types, name in _KINDS if isinstance(value, types)), type(value).__name__)


def got(value: Any) -> str:
    return _either([kind(value)])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_modest(value: Any) -> bool:
    """Whether this is a number that a float represents exactly enough to calculate with."""
    return _is_number(value) and abs(value) < 2**53


def _number(value: Any) -> str:
    """A number as text, unless it is too long."""
    if not _is_number(value):
        return got(value)
    return str(value) if abs(value) < 10**20 else "a huge number"


def json_text(value: Any) -> str:
    """A value of the schema as JSON text, cut if it is long."""
    try:
        return printable(json.dumps(value, ensure_ascii=False), 80)
    except ValueError:  # numbers with thousands of digits
        return "a huge number"


def _list(values: Sequence[str]) -> str:
    return ", ".join(values[:20]) + (f" and {len(values) - 20} more" if len(values) > 20 else "")


def printable(text: str, most: int = 160) -> str:
    """``text`` on one line without control characters, cut at ``most`` characters."""
    clean = "".join(char if char.isprintable() else "?" for char in text[: most + 1])
    return clean if len(clean) <= most else clean[: most - 1] + "…"


def json_path(path: Sequence[str | int]) -> str:
    """``$.a[0]["b c"]``, at most a few hundred characters: the middle of a long path is left out."""
    steps = [_step(step) for step in path]
    if len(steps) > 16:
        steps = [*steps[:8], "…", *steps[-8:]]
    return "$" + "".join(steps)


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    text = printable(step, 40)
    return f".{text}" if re.fullmatch(r"[\w$-]+…?", text) else f"[{json.dumps(text, ensure_ascii=False)}]"

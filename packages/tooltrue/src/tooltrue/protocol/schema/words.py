"""The text of problems: the wording for each keyword, and helpers that make values safe to show.

Strings of the validated value are never repeated, only measured; property names are cut and cleaned.
"""

from __future__ import annotations

import heapq
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from types import NoneType
from typing import Any, Final, cast

from tooltrue.protocol.schema import wording as words
from tooltrue.protocol.types import Value, replaced
from tooltrue.wording import LABEL_AND_MORE, LABEL_ONE_OF, LABEL_ONE_OR_OTHER, Phrase, Worded

Path = tuple[str | int, ...]
Node = dict[str, Any]


class SchemaProblem(Value, Phrase, frozen=True):
    """One reason why a value was refused, worded for a model that has to correct itself. ``str()`` of it is English.

    ``path`` is a JSON path (``$.a[0].b``), ``rule`` the keyword that refused, ``expected`` completes "the value …".
    ``allowed`` and ``nearest`` are JSON texts or, for property names, the names; all come from the schema.
    """

    path: str
    rule: str
    expected: str | Worded
    got: str | Worded = ""
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    hint: str | Worded = ""

    def as_dict(self) -> dict[str, Any]:
        """The non-empty parts as a dictionary, for structured use."""
        parts = {name: getattr(self, name) for name in self.__struct_fields__} | {"allowed": list(self.allowed[:100])}
        return {name: str(part) if isinstance(part, Worded) else part for name, part in parts.items() if part}

    @property
    def without_path(self) -> SchemaProblem:
        """The same of a value that the sentence around it names."""
        return replaced(self, path="")

    def say(self, language: str) -> str:
        expected = _said(self.expected, language)
        parts = [expected]
        if self.allowed:
            allowed = _list([_said(_HUGE if each == str(_HUGE) else each, language) for each in self.allowed])
            parts.append(("" if expected.endswith("：") else " ") + _said(allowed, language))
        if self.got:
            parts.append(Worded(words.LABEL_GOT, {"got": self.got}).say(language))
        if self.nearest is not None:
            nearest = _HUGE if self.nearest == str(_HUGE) else self.nearest
            parts.append(Worded(words.LABEL_NEAREST, {"nearest": nearest}).say(language))
        if self.hint:
            parts += [_BETWEEN[language], _said(self.hint, language)]
        return f"{self.path} {''.join(parts)}" if self.path else "".join(parts)

    def __str__(self) -> str:
        return self.say("en")


_BETWEEN: Final = {"en": "; ", "zh": "；"}
_HUGE: Final = Worded(words.LABEL_HUGE_NUMBER, {})


def _said(text: str | Worded, language: str) -> str:
    return text.say(language) if isinstance(text, Worded) else text


class ProblemLines(Value, Phrase, frozen=True):
    """:func:`explain` of the problems, in the language of the sentence that holds it."""

    problems: tuple[SchemaProblem, ...]
    limit_chars: int = 2_000

    def say(self, language: str) -> str:
        return explain(self.problems, self.limit_chars, language)

    def __str__(self) -> str:
        return self.say("en")


class ProblemClauses(Value, Phrase, frozen=True):
    """All problems on one line, in the language of the sentence that holds it."""

    problems: tuple[SchemaProblem, ...]

    def say(self, language: str) -> str:
        return _BETWEEN[language].join(problem.say(language) for problem in self.problems)

    def __str__(self) -> str:
        return self.say("en")


def explain(problems: Sequence[SchemaProblem], limit_chars: int = 2_000, language: str = "en") -> str:
    """The problems as lines, at most ``limit_chars`` long. Problems that do not fit are left out and counted."""
    lines = [f"- {problem.say(language)}" for problem in problems]
    for count in range(len(lines), -1, -1):
        rest = len(lines) - count
        more = [f"- {Worded(words.LABEL_MORE_PROBLEMS, {'count': rest}).say(language)}"] if rest else []
        text = "\n".join([*lines[:count], *more])
        if len(text) <= limit_chars:
            return text
    return ""


# -- the words for each keyword ----------------------------------------------------------------------------------------

NONE: Final = object()


class ProblemDraft(Value, frozen=True):
    """A problem without its location. ``nearest`` is a value that is not validated yet, or ``NONE``."""

    expected: str | Worded
    got: str | Worded = ""
    allowed: tuple[str, ...] = ()
    hint: str | Worded = ""
    nearest: Any = NONE


# (the keyword's value, the refused value, the subschema)
_Words = Callable[[Any, Any, Node], ProblemDraft]


def _type(expected: Any, value: Any, _: Node) -> ProblemDraft:
    kinds = _kinds(expected)
    nearest = round(value) if "integer" in kinds and _is_modest(value) else NONE
    return ProblemDraft(must_be(map(_article, kinds)), got(value), hint=_repair(kinds, value), nearest=nearest)


def _enum(options: list[Any], value: Any, _: Node) -> ProblemDraft:
    expected = words.PROBLEM_ENUM if len(options) > 1 else words.PROBLEM_CONST
    return ProblemDraft(
        Worded(expected, {}), allowed=tuple(map(json_text, options)), nearest=_nearest_option(value, options)
    )


def _const(expected: Any, value: Any, node: Node) -> ProblemDraft:
    return _enum([expected], value, node)


def _bound(code: str, whole: Callable[[Any], int], step: int = 0) -> _Words:
    """For numeric limits: ``step`` is an integer's distance from the limit, ``whole`` rounds a fractional limit."""

    def draft(limit: Any, value: Any, node: Node) -> ProblemDraft:
        nearest = limit
        if node.get("type") == "integer":
            nearest = limit + step if limit == int(limit) else whole(limit)
        return ProblemDraft(Worded(code, {"limit": _number(limit)}), _number(value), nearest=nearest)

    return draft


def _multiple(factor: Any, value: Any, _: Node) -> ProblemDraft:
    whole = isinstance(factor, int) and _is_modest(factor) and _is_modest(value)
    nearest = round(value / factor) * factor if whole else NONE
    return ProblemDraft(Worded(words.PROBLEM_MULTIPLE_OF, {"factor": _number(factor)}), _number(value), nearest=nearest)


def _size(code: str, one: str, many: str) -> _Words:
    return lambda limit, value, _: ProblemDraft(Worded(code, {"count": _count(limit, one, many)}), str(len(value)))


def _count(limit: Any, one: str, many: str) -> Worded:
    return Worded(one if limit == 1 else many, {"number": _number(limit)})


def _pattern(pattern: str, *_: object) -> ProblemDraft:
    return ProblemDraft(Worded(words.PROBLEM_PATTERN, {"pattern": printable(pattern, 120)}))


def _format(name: str, *_: object) -> ProblemDraft:
    name = printable(name, 40)
    example = _EXAMPLES.get(name)
    hint = Worded(words.HINT_EXAMPLE, {"example": example}) if example else ""
    return ProblemDraft(Worded(words.PROBLEM_FORMAT, {"name": name}), hint=hint)


def _unique(*_: object) -> ProblemDraft:
    return ProblemDraft(Worded(words.PROBLEM_UNIQUE_ITEMS, {}))


_CHARACTERS: Final = (words.COUNT_ONE_CHARACTER, words.COUNT_CHARACTERS)
_ITEMS: Final = (words.COUNT_ONE_ITEM, words.COUNT_ITEMS)
_PROPERTIES: Final = (words.COUNT_ONE_PROPERTY, words.COUNT_PROPERTIES)

ASSERTIONS: Final[dict[str, _Words]] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "minimum": _bound(words.PROBLEM_MINIMUM, math.ceil),
    "maximum": _bound(words.PROBLEM_MAXIMUM, math.floor),
    "exclusiveMinimum": _bound(words.PROBLEM_EXCLUSIVE_MINIMUM, math.ceil, 1),
    "exclusiveMaximum": _bound(words.PROBLEM_EXCLUSIVE_MAXIMUM, math.floor, -1),
    "multipleOf": _multiple,
    "minLength": _size(words.PROBLEM_TOO_FEW, *_CHARACTERS),
    "maxLength": _size(words.PROBLEM_TOO_MANY, *_CHARACTERS),
    "pattern": _pattern,
    "format": _format,
    "minItems": _size(words.PROBLEM_TOO_FEW, *_ITEMS),
    "maxItems": _size(words.PROBLEM_TOO_MANY, *_ITEMS),
    "uniqueItems": _unique,
    "minProperties": _size(words.PROBLEM_TOO_FEW, *_PROPERTIES),
    "maxProperties": _size(words.PROBLEM_TOO_MANY, *_PROPERTIES),
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


def absent(node: Any, name: str, at: Path, trigger: str | None) -> SchemaProblem:
    """The problem of a missing property ``name``, required because of ``trigger`` or always; ``node`` is its
    subschema."""
    kind = described(node)
    purpose = _first_words(node)
    expected = (
        Worded(words.PROBLEM_REQUIRED, {})
        if trigger is None
        else Worded(words.PROBLEM_REQUIRED_BECAUSE, {"name": printable(trigger, 40)})
    )
    if kind:
        expected = Worded(words.PROBLEM_REQUIRED_KIND, {"problem": expected, "kind": kind})
    hint = Worded(words.HINT_MEANING, {"purpose": purpose}) if purpose else ""
    return SchemaProblem(json_path((*at, name)), "required", expected, hint=hint)


def unknown_property(rule: str, name: str, properties: list[str], at: Path) -> SchemaProblem:
    near = _nearest_text(name, properties)
    return SchemaProblem(
        json_path((*at, name)),
        rule,
        Worded(words.PROBLEM_UNKNOWN_OF_PROPERTIES if properties else words.PROBLEM_UNKNOWN_PROPERTY, {}),
        allowed=tuple(printable(each, 40) for each in properties),
        nearest=None if near is None else printable(near, 40),
    )


def wrong_count(form: Any, code: str, limit: Any, matching: int, at: Path) -> SchemaProblem:
    """The problem of too few or too many items of a form."""
    kind = described(form)
    label = Worded(words.LABEL_THIS_KIND, {"kind": kind}) if kind else Worded(words.LABEL_REQUIRED_FORM, {})
    expected = Worded(code, {"items": _count(limit, *_ITEMS), "form": label})
    return SchemaProblem(json_path(at), "contains", expected, str(matching))


# -- descriptions of subschemas ----------------------------------------------------------------------------------------


def described(node: Any) -> str | Worded:
    """A short description of the values that a subschema accepts; empty if it does not say."""
    if not isinstance(node, dict):
        return ""
    node = cast("Node", node)
    if "enum" in node or "const" in node:
        options = cast("list[Any]", node["enum"] if "enum" in node else [node["const"]])
        names = _list([json_text(option) for option in options[:50]])
        return Worded(LABEL_ONE_OF, {"names": names}) if len(options) > 1 else names
    return _either(map(_article, _kinds(node.get("type"))))


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


def must_be(kinds: Iterable[str | Worded]) -> Worded:
    """The problem of a value of a type that is none of these."""
    return Worded(words.PROBLEM_TYPE, {"kinds": _either(kinds)})


def _article(kind: str) -> str | Worded:
    return Worded(ARTICLE[kind], {}) if kind in ARTICLE else kind


def _either(kinds: Iterable[str | Worded]) -> str | Worded:
    either: str | Worded = ""
    for kind in kinds:
        either = Worded(LABEL_ONE_OR_OTHER, {"one": either, "other": kind}) if either else kind
    return either


# -- suggestions -------------------------------------------------------------------------------------------------------


def _repair(kinds: list[str], value: Any) -> str | Worded:
    """A hint on the probable intention behind a value of the wrong type, without repeating the value."""
    if isinstance(value, str):
        intended = _meant_by(value)
        if intended in kinds or (intended == "integer" and "number" in kinds):
            return Worded(_UNQUOTE[intended], {})
    if "array" in kinds and not isinstance(value, (list, dict)):
        return Worded(words.HINT_SINGLE_INTO_ARRAY, {})
    return Worded(words.HINT_QUOTE, {}) if "string" in kinds and _is_number(value) else ""


_UNQUOTE: Final = {
    "integer": words.HINT_UNQUOTE_NUMBER,
    "number": words.HINT_UNQUOTE_NUMBER,
    "boolean": words.HINT_UNQUOTE_BOOLEAN,
    "null": words.HINT_UNQUOTE_NULL,
    "array": words.HINT_SEND_ARRAY,
    "object": words.HINT_SEND_OBJECT,
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
    import difflib  # noqa: PLC0415 - most values are valid

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
    "array": words.KIND_ARRAY,
    "boolean": words.KIND_BOOLEAN,
    "integer": words.KIND_INTEGER,
    "null": words.KIND_NULL,
    "number": words.KIND_NUMBER,
    "object": words.KIND_OBJECT,
    "string": words.KIND_STRING,
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


def got(value: Any) -> str | Worded:
    return _article(kind(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_modest(value: Any) -> bool:
    """Whether this is a number that a float represents exactly enough to calculate with."""
    return _is_number(value) and abs(value) < 2**53


def _number(value: Any) -> str | Worded:
    """A number as text, unless it is too long."""
    if not _is_number(value):
        return got(value)
    return str(value) if abs(value) < 10**20 else _HUGE


def json_text(value: Any) -> str:
    """A value of the schema as JSON text, cut if it is long."""
    try:
        return printable(json.dumps(value, ensure_ascii=False), 80)
    except ValueError:  # numbers with thousands of digits
        return str(_HUGE)


def _list(values: Sequence[str]) -> str | Worded:
    names = ", ".join(values[:20])
    return Worded(LABEL_AND_MORE, {"names": names, "count": len(values) - 20}) if len(values) > 20 else names


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

"""A form made from a JSON Schema, and the value that a filled form stands for.

The schema and its texts may be those of a hostile server. A form decides nothing: the value is validated by the
schema, and each problem stands beside its field. The same walk over the schema makes the fields and reads their
entries, so that what is shown and what is read cannot differ. Every part that has no fields of its own kind, is too
deep, or is too long is a field for JSON.

The name of an entry is a letter and the place in the form, a JSON Pointer in which ``|`` and a number choose a variant
of a union: ``v`` has a value, ``c`` a choice, ``n`` the number of items, ``p`` is there if an optional object is, ``u``
has the variant, and ``j`` the JSON text of a whole part, which counts before all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tooltrue.errors import ConfigurationError, ParseError
from tooltrue.jsonrpc.messages import decode, is_array, is_finite, is_object
from tooltrue.protocol.schema import Schema, SchemaProblem
from tooltrue.protocol.schema.words import json_path
from tooltrue.protocol.terminal import one_line, printable
from tooltrue_console.wording import CONSOLE_JSON_INVALID

__all__ = [
    "ABSENT",
    "FormField",
    "changed_entries",
    "entries_of",
    "form_entries",
    "initial_value",
    "read_form",
    "validated",
]

ABSENT: Final[Any] = object()
"""The value of a field that is left out."""

_MOST_FIELDS: Final = 150
_MOST_CHOICES: Final = 300
_MOST_ITEMS: Final = 50
_MOST_STEPS: Final = 7
_MOST_REFERENCES: Final = 10
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?(?:[eE][+-]?[0-9]{1,4})?")
_LIMITS: Final = ("format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength")

Node = Mapping[str, Any]
Entries = Mapping[str, str]


@dataclass(slots=True)
class FormField:
    """A field, as a template shows it. ``kind`` is ``text``, ``number``, ``choice``, ``constant``, ``json``,
    ``object``, ``array`` or ``union``; ``name`` is its place in the form, ``path`` that in the value. ``children`` are
    the members, the items or the variant that is chosen. ``text`` is the entry as it came, or the index of a choice.
    ``problems`` are sentences."""

    kind: str
    name: str
    path: str
    label: str
    description: str
    hint: str
    is_required: bool
    value: Any = ABSENT
    text: str = ""
    choices: Sequence[tuple[str, str]] = ()
    children: list[FormField] = field(default_factory=list["FormField"])
    is_present: bool = True
    is_full: bool = False
    problems: list[str] = field(default_factory=list[str])

    def walk(self) -> Iterator[FormField]:
        yield self
        for child in self.children:
            yield from child.walk()


def read_form(schema: Node, entries: Entries, language: str = "en") -> FormField:
    """Return the form of a schema, filled with ``entries``. Its ``value`` is what they stand for."""
    return _FormReader(schema, entries, language).field(schema, "", (), "", is_required=True)


def validated(form: FormField, schema: Schema, language: str) -> bool:
    """Put each problem of the value beside its field. Returns whether there is none."""
    fields = list(form.walk())
    own = any(one.problems for one in fields)
    problems = schema.problems({} if form.value is ABSENT else form.value, 100)
    for problem in problems:
        _nearest(fields, problem).problems.append(problem.without_path.say(language))
    return not (own or problems)


def _nearest(fields: Sequence[FormField], problem: SchemaProblem) -> FormField:
    """The innermost field that holds the place of a problem."""
    places = [
        one for one in fields if problem.path == one.path or problem.path.startswith((f"{one.path}.", f"{one.path}["))
    ]
    # Of a union and its variant, which have the same place, the variant is the inner one.
    return max(places, key=lambda one: (len(one.path), len(one.name)), default=fields[0])


# --- reading ----------------------------------------------------------------------------------------------------------


class _FormReader:
    """One walk over a schema. ``root`` has the targets of references."""

    def __init__(self, root: Node, entries: Entries, language: str) -> None:
        self._root = root
        self._entries = entries
        self._language = language
        self._budget = _MOST_FIELDS

    def field(
        self, schema: Any, name: str, steps: tuple[str | int, ...], label: str, *, is_required: bool
    ) -> FormField:
        node = resolved(schema, self._root)
        self._budget -= 1
        one = FormField(
            shape_of(node, len(steps), self._budget),
            name,
            json_path(steps),
            _text(node.get("title")) or label,
            _text(node.get("description")),
            _hint(node),
            is_required,
        )
        if f"j{name}" in self._entries:
            one.kind = "json"
        getattr(self, f"_{one.kind}")(one, node, steps)
        return one

    def _text(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        one.text = self._entries.get(f"v{one.name}", "").replace("\r\n", "\n")
        if one.text or one.is_required:
            one.value = one.text

    def _number(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        one.text = self._entries.get(f"v{one.name}", "")
        if text := one.text.strip():
            number = json.loads(text) if _NUMBER.fullmatch(text) else text
            one.value = number if is_finite(number) else text

    def _choice(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        options = options_of(node)
        one.choices = [(str(place), label) for place, (_, label) in enumerate(options)]
        one.text = self._entries.get(f"c{one.name}", "")
        if (place := _index(one.text, len(options))) is not None:
            one.value = options[place][0]

    def _constant(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        value = None if node.get("type") == "null" else node["const"]
        one.text = _json(value)
        one.is_present = one.is_required or f"p{one.name}" in self._entries
        if one.is_present:
            one.value = value

    def _json(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        one.text = self._entries.get(f"j{one.name}", "").replace("\r\n", "\n")
        if one.text.strip():
            try:
                one.value = decode(one.text.encode())
                if not is_finite(one.value):
                    raise ValueError
            except (ParseError, ValueError):
                one.value = ABSENT
                one.problems.append(ConfigurationError.of(CONSOLE_JSON_INVALID).say(self._language))

    def _object(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        one.is_present = one.is_required or f"p{one.name}" in self._entries
        if not one.is_present:
            return
        required = node.get("required")
        names: Sequence[Any] = required if is_array(required) else ()
        for member, schema in _members(node).items():
            place = f"{one.name}/{_escaped(member)}"
            one.children.append(self.field(schema, place, (*steps, member), member, is_required=member in names))
        members = zip(_members(node), one.children, strict=True)
        one.value = {member: child.value for member, child in members if child.value is not ABSENT}

    def _array(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        count = _index(self._entries.get(f"n{one.name}", ""), _MOST_ITEMS + 1) or 0
        one.is_full = count >= _MOST_ITEMS
        for place in range(count):
            label = f"{one.label} {place + 1}"
            one.children.append(
                self.field(node["items"], f"{one.name}/{place}", (*steps, place), label, is_required=True)
            )
        one.text = str(count)
        if count or one.is_required:
            one.value = [child.value for child in one.children if child.value is not ABSENT]

    def _union(self, one: FormField, node: Node, steps: tuple[str | int, ...]) -> None:
        variants = variants_of(node)
        named = [resolved(variant, self._root) for variant in variants]
        one.choices = [(str(place), _variant(variant, place)) for place, variant in enumerate(named)]
        one.text = self._entries.get(f"u{one.name}", "")
        if (place := _index(one.text, len(variants))) is not None:
            child = self.field(variants[place], f"{one.name}|{place}", steps, one.choices[place][1], is_required=True)
            one.children.append(child)
            one.value = child.value


def _index(text: str, count: int) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,4}", text) and int(text) < count else None


def _variant(node: Node, place: int) -> str:
    if "const" in node:
        return _json(node["const"])
    return _text(node.get("title")) or _text(node.get("type")) or f"{place + 1}"


def _hint(node: Node) -> str:
    kind = node.get("type")
    parts = [kind] if isinstance(kind, str) else []
    parts += [f"{name}: {_json(node[name])}" for name in _LIMITS if name in node]
    return ", ".join(parts)[:200]


def _text(value: object) -> str:
    return value[:1000] if isinstance(value, str) else ""


def _json(value: Any) -> str:
    return json.dumps(value)


def _escaped(member: str) -> str:
    return member.replace("~", "~0").replace("/", "~1").replace("|", "~2")


# --- the shape of a schema --------------------------------------------------------------------------------------------


def resolved(schema: Any, root: Node) -> Node:
    """Return a schema with its local references followed; one that allows everything if it cannot be followed."""
    node: Node = schema if is_object(schema) else {}
    for _ in range(_MOST_REFERENCES):
        reference, parts = node.get("$ref"), node.get("allOf")
        if isinstance(reference, str):
            target = _target(reference, root)
            node = {**target, **{name: value for name, value in node.items() if name != "$ref"}}
        elif is_array(parts) and len(parts) == 1 and "type" not in node and is_object(parts[0]):
            node = {**parts[0], **{name: value for name, value in node.items() if name != "allOf"}}
        else:
            return node
    return {}


def _target(reference: str, root: Node) -> Node:
    place: Any = root
    if not re.match(r"#(/|$)", reference):
        return {}
    for step in reference[2:].split("/") if len(reference) > 1 else ():
        name = step.replace("~1", "/").replace("~0", "~")
        if not is_object(place) or name not in place:
            return {}
        place = place[name]
    return place if is_object(place) else {}


def shape_of(node: Node, depth: int, budget: int) -> str:
    """Return the kind of the field for a schema at this depth, where ``budget`` fields more may be shown."""
    kind = node.get("type")
    if "const" in node or kind == "null":
        return "constant"
    if 0 < len(options_of(node)) <= _MOST_CHOICES:
        return "choice"
    if depth >= _MOST_STEPS or budget <= 0:
        return "json"
    members = _members(node)
    if members or (kind == "object" and not variants_of(node)):
        return "object" if _has_fields(node, members, budget) else "json"
    if kind in ("string", "integer", "number"):
        return "text" if kind == "string" else "number"
    if kind == "array":
        return "array" if is_object(node.get("items")) and "prefixItems" not in node else "json"
    return "union" if variants_of(node) else "json"


def _members(node: Node) -> Node:
    members = node.get("properties")
    return members if is_object(members) else {}


def _has_fields(node: Node, members: Node, budget: int) -> bool:
    """Whether each member of an object can have a field: there are not too many, and a browser sends back their names
    as they are."""
    if not members and node.get("additionalProperties", False) is not False:
        return False
    return len(members) <= budget and all(one_line(member) == member for member in members)


def options_of(node: Node) -> list[tuple[Any, str]]:
    """Return the values that a schema allows one by one, with their labels; none if it does not list them."""
    if is_array(values := node.get("enum")):
        names = node.get("enumNames")
        labels: Sequence[Any] = names if is_array(names) and len(names) == len(values) else values
        return [
            (value, label if isinstance(label, str) else _json(label))
            for value, label in zip(values, labels, strict=True)
        ]
    if node.get("type") == "boolean":
        return [(True, "true"), (False, "false")]
    for word in ("oneOf", "anyOf"):
        parts = node.get(word)
        if is_array(parts) and parts and all(is_object(part) and "const" in part for part in parts):
            return [
                (part["const"], _text(part.get("title")) or _json(part["const"])) for part in parts if is_object(part)
            ]
    return []


def variants_of(node: Node) -> list[Any]:
    """Return the variants of a union; none if it has no, or too many."""
    kinds = node.get("type")
    parts: Any = (
        [{**node, "type": kind} for kind in kinds] if is_array(kinds) else node.get("anyOf") or node.get("oneOf")
    )
    return parts if is_array(parts) and len(parts) <= _MOST_CHOICES else []


# --- values to entries ------------------------------------------------------------------------------------------------


def initial_value(schema: Node) -> dict[str, Any]:
    """Return the defaults of the members of a schema."""
    properties = resolved(schema, schema).get("properties")
    members = properties.items() if is_object(properties) else ()
    nodes = {name: resolved(member, schema) for name, member in members}
    return {name: node["default"] for name, node in nodes.items() if "default" in node}


def entries_of(schema: Node, value: Any) -> dict[str, str]:
    """Return entries that :func:`read_form` reads as ``value``, and required parts that it lacks. A value that no
    field can show as it is becomes JSON, with all hidden characters escaped."""
    entries = dict(_entries(schema, schema, "", value))
    return entries if _holds(read_form(schema, entries).value, value) else {"j": _json(value)}


def _entries(root: Node, schema: Any, name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    node = resolved(schema, root)
    kind = shape_of(node, depth, _MOST_FIELDS)
    if kind == "text" and isinstance(value, str) and _is_plain(value):
        yield f"v{name}", value
    elif kind == "number" and not isinstance(value, str):
        yield f"v{name}", _json(value)
    elif kind == "choice" and (place := _place(value, [one for one, _ in options_of(node)])) is not None:
        yield f"c{name}", str(place)
    elif kind == "constant":
        yield f"p{name}", "1"
    elif kind == "object" and is_object(value) and value.keys() <= _members(node).keys():
        yield f"p{name}", "1"
        for member, one in value.items():
            yield from _entries(root, _members(node)[member], f"{name}/{_escaped(member)}", one, depth + 1)
    elif kind == "array" and is_array(value) and len(value) <= _MOST_ITEMS:
        yield f"n{name}", str(len(value))
        for place, one in enumerate(value):
            yield from _entries(root, node["items"], f"{name}/{place}", one, depth + 1)
    elif kind == "union" and (entries := _variant_entries(root, node, name, value, depth)) is not None:
        yield from entries
    else:
        yield f"j{name}", _json(value)


def _variant_entries(root: Node, node: Node, name: str, value: Any, depth: int) -> list[tuple[str, str]] | None:
    """The entries of the first variant that reads as ``value`` without JSON."""
    for place, variant in enumerate(variants_of(node)):
        inner = f"{name}|{place}"
        entries = list(_entries(root, variant, inner, value, depth))
        form = _FormReader(root, dict(entries), "en").field(variant, inner, (), "", is_required=True)
        if form.kind != "json" and not any(entry.startswith("j") for entry, _ in entries) and _same(form.value, value):
            return [(f"u{name}", str(place)), *entries]
    return None


def _is_plain(text: str) -> bool:
    """Whether a browser sends a text back as it was shown, and a person sees all of it."""
    return printable(text) == text


def _place(value: Any, options: Sequence[Any]) -> int | None:
    return next((place for place, one in enumerate(options) if _same(one, value)), None)


def _holds(one: Any, part: Any) -> bool:
    """Whether a value is ``part``, or an object with more members than it."""
    if is_object(one) and is_object(part):
        return all(name in one and _holds(one[name], inner) for name, inner in part.items())
    if is_array(one) and is_array(part):
        return len(one) == len(part) and all(map(_holds, one, part))
    return _same(one, part)


def _same(one: Any, other: Any) -> bool:
    return one is not ABSENT and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# --- changes of the form ----------------------------------------------------------------------------------------------


def form_entries(fields: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The entries of a form among the fields of a page, by their prefix: those of the page itself are longer words."""
    names = {name.removeprefix(prefix): text for name, text in fields.items() if name.startswith(prefix)}
    return {name: text for name, text in names.items() if name[1:2] in ("", "/", "|") and name[:1] in "vcnpuj"}


def changed_entries(schema: Node, entries: Entries, act: str) -> dict[str, str]:
    """Return the entries after a button: ``add:NAME`` and ``remove:NAME/PLACE`` change the items of an array, ``json:``
    and ``form:`` the whole form. Any other act changes nothing."""
    verb, _, name = act.partition(":")
    form = read_form(schema, entries)
    if verb == "json" and not any(one.problems for one in form.walk()):
        return {"j": json.dumps({} if form.value is ABSENT else form.value, indent=2)}
    if verb == "form" and form.value is not ABSENT:
        return entries_of(schema, form.value)
    arrays = {one.name: one for one in form.walk() if one.kind == "array"}
    if verb == "add" and (array := arrays.get(name)) is not None and not array.is_full:
        return {**entries, f"n{name}": str(len(array.children) + 1)}
    holder, _, number = name.rpartition("/")
    if verb != "remove" or (array := arrays.get(holder)) is None:
        return dict(entries)
    place = _index(number, len(array.children))
    return dict(entries) if place is None else _without_item(entries, array, place)


def _without_item(entries: Entries, array: FormField, place: int) -> dict[str, str]:
    """The entries without an item of an array: those behind it move up."""
    pattern = re.compile(r"([a-z])" + re.escape(array.name) + r"/([0-9]+)(?=[/|]|$)(.*)", re.DOTALL)
    others: dict[str, str] = {}
    for name, text in entries.items():
        match = pattern.fullmatch(name)
        number = -1 if match is None else int(match[2])
        if match is not None and number > place:
            others[f"{match[1]}{array.name}/{number - 1}{match[3]}"] = text
        elif number != place:
            others[name] = text
    return {**others, f"n{array.name}": str(len(array.children) - 1)}

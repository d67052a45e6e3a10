"""Edits of JSON text with comments: one member of one object changes, and every other character stays.

The text is parsed into nodes that know their place. Comments, trailing commas, a byte order mark and any line ends are
accepted. A key that stands twice in one object is refused, since readers disagree on the one that counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tooltrue.host.wording import (
    REASON_KEY_TWICE,
    REASON_NO_OBJECT_AT,
)
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.wording import REASON_NESTED_TOO_DEEPLY, REASON_UNEXPECTED_TEXT, REASON_UNFINISHED, Worded

__all__ = ["EditRefused", "JsonNode", "Member", "parse", "same", "with_member", "without_member"]

_DEPTH: Final = 100
_MARK: Final = "\ufeff"


class EditRefused(Exception):
    """The text cannot be edited. ``problem`` is a clause that says why, and ``at`` the place of a key that stands
    twice."""

    def __init__(self, problem: Worded, at: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at


@dataclass(slots=True)
class Member:
    """A key and its value. ``start`` is the place of the key, and ``comma`` the end of the comma behind the value, or
    0."""

    key: str
    start: int
    value: JsonNode
    comma: int = 0


@dataclass(slots=True)
class JsonNode:
    """A value: its place in the text; the members of an object, the elements of an array, or else a plain ``value``."""

    start: int
    end: int = 0
    members: list[Member] | None = None
    elements: list[JsonNode] | None = None
    value: Json = None

    def plain(self) -> Any:
        """The value without its places."""
        if self.members is not None:
            return {member.key: member.value.plain() for member in self.members}
        if self.elements is not None:
            return [element.plain() for element in self.elements]
        return self.value

    def member(self, key: str) -> Member | None:
        return next((member for member in self.members or () if member.key == key), None)


# --- parsing ----------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"[ \t\r\n]*"
    r"(?:(?P<skip>//[^\n]*|/\*.*?\*/|\Z)"
    r"|(?P<text>\"(?:[^\"\\\x00-\x1f]|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4}))*\")"
    r"|(?P<sign>[{}\[\]:,])"
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>true|false|null))",
    re.DOTALL,
)
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}


def parse(text: str) -> JsonNode:
    """The value of the text. Raises :class:`EditRefused` if it is no JSON with comments, or has a key twice."""
    reader = _Reader(text)
    node = reader.value(0)
    if reader.kind:
        raise reader.unexpected()
    return node


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    end: int = 0
    kind: str = ""
    """The kind of the current token, which stands from ``at`` to ``end``; empty at the end of the text."""

    def __post_init__(self) -> None:
        self.end = 1 if self.text.startswith(_MARK) else 0
        self.advance()

    def advance(self) -> None:
        while (match := _TOKEN.match(self.text, self.end)) is not None and match.lastgroup == "skip":
            self.end = match.end()
            if self.end == len(self.text):
                self.at, self.kind = self.end, ""
                return
        if match is None:
            rest = self.text[self.end :]
            self.at = self.end + len(rest) - len(rest.lstrip(" \t\r\n"))
            raise self.unexpected()
        self.kind = match.lastgroup or ""
        self.at, self.end = match.span(self.kind)

    @property
    def token(self) -> str:
        return self.text[self.at : self.end]

    def is_sign(self, sign: str) -> bool:
        return self.kind == "sign" and self.token == sign

    def unexpected(self) -> EditRefused:
        if self.at >= len(self.text):
            return EditRefused(Worded(REASON_UNFINISHED, {}))
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        return EditRefused(Worded(REASON_UNEXPECTED_TEXT, {"line": line, "column": column}))

    def value(self, depth: int) -> JsonNode:
        if depth > _DEPTH:
            raise EditRefused(Worded(REASON_NESTED_TOO_DEEPLY, {}))
        node = JsonNode(self.at)
        if self.is_sign("{"):
            node.members = self._members(depth)
        elif self.is_sign("["):
            node.elements = self._elements(depth)
        elif self.kind == "text":
            node.value = _text_of(self.token)
        elif self.kind == "number":
            node.value = json.loads(self.token)
        elif self.kind == "word":
            node.value = _WORDS[self.token]
        else:
            raise self.unexpected()
        node.end = self.end
        self.advance()
        return node

    def _members(self, depth: int) -> list[Member]:
        """Read the members of an object, up to its closing sign, which stays the current token."""
        members: list[Member] = []
        keys: set[str] = set()
        self.advance()
        while not self.is_sign("}"):
            if self.kind != "text":
                raise self.unexpected()
            key, start = _text_of(self.token), self.at
            if key in keys:
                raise EditRefused(Worded(REASON_KEY_TWICE, {"key": key[:80]}), start)
            keys.add(key)
            self.advance()
            if not self.is_sign(":"):
                raise self.unexpected()
            self.advance()
            member = Member(key, start, self.value(depth + 1))
            member.comma = self._comma("}")
            members.append(member)
        return members

    def _elements(self, depth: int) -> list[JsonNode]:
        elements: list[JsonNode] = []
        self.advance()
        while not self.is_sign("]"):
            elements.append(self.value(depth + 1))
            self._comma("]")
        return elements

    def _comma(self, closing: str) -> int:
        if self.is_sign(","):
            end = self.end
            self.advance()
            return end
        if not self.is_sign(closing):
            raise self.unexpected()
        return 0


def _text_of(token: str) -> str:
    return json.loads(token) if "\\" in token else token[1:-1]


def same(one: Any, other: Any) -> bool:
    """Whether two values read from text are the same: true is not 1, and not-a-number is itself."""
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))


# --- editing ----------------------------------------------------------------------------------------------------------


def with_member(text: str, path: Sequence[str], value: Json) -> str:
    """The text with ``value`` at ``path``. Missing objects on the way are made; a value that stands there is replaced.

    Raises :class:`EditRefused` if the text cannot be read, or a value on the way is no object.
    """
    if not text.lstrip(_MARK).strip():
        document = _nested(path, value)
        return (text if text.startswith(_MARK) else "") + _Style().rendered(document, "") + "\n"
    root = parse(text)
    node = _object(root, path[:0])
    for depth, key in enumerate(path):
        member = node.member(key)
        if member is None:
            return _inserted(text, root, node, key, _nested(path[depth + 1 :], value))
        if depth == len(path) - 1:
            return _replaced(text, root, node, member, value)
        node = _object(member.value, path[: depth + 1])
    raise ValueError("an empty path")


def without_member(text: str, path: Sequence[str]) -> str:
    """The text without the member at ``path``; the same text if there is none. Raises :class:`EditRefused` as
    :func:`with_member` does."""
    node = parse(text)
    for depth, key in enumerate(path):
        member = _object(node, path[:depth]).member(key)
        if member is None:
            return text
        if depth == len(path) - 1:
            return _removed(text, node, member)
        node = member.value
    raise ValueError("an empty path")


def _object(node: JsonNode, path: Sequence[str]) -> JsonNode:
    if node.members is None:
        raise EditRefused(Worded(REASON_NO_OBJECT_AT, {"path": ".".join(("$", *path))}))
    return node


def _nested(path: Sequence[str], value: Json) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


@dataclass(frozen=True, slots=True)
class _Style:
    """The layout of the neighbours: ``unit`` is one level of indentation, or empty for a value on a single line."""

    unit: str = "  "
    line: str = "\n"
    colon: str = ": "
    comma: str = ", "
    has_short_arrays: bool = False

    def rendered(self, value: Json, margin: str) -> str:
        """The value, whose first line stands at the indentation ``margin``."""
        if is_object(value) and value:
            parts = [f"{_text(key)}{self.colon}{self.rendered(one, margin + self.unit)}" for key, one in value.items()]
            return self._block("{", parts, "}", margin, self.unit)
        if is_array(value) and value:
            parts = [self.rendered(one, margin + self.unit) for one in value]
            return self._block("[", parts, "]", margin, "" if self.has_short_arrays else self.unit)
        return json.dumps(value, ensure_ascii=False)

    def _block(self, opening: str, parts: Sequence[str], closing: str, margin: str, unit: str) -> str:
        if not unit:
            return opening + self.comma.join(parts) + closing
        inner = self.line + margin + unit
        return opening + inner + ("," + inner).join(parts) + self.line + margin + closing


def _text(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _style(text: str, root: JsonNode, around: JsonNode) -> _Style:
    """The layout at ``around``: of its own members, or of those of the whole file."""
    line = "\r\n" if "\r\n" in text else "\n"
    unit = next((unit for node in (around, root) if (unit := _unit(text, node)) is not None), "  ")
    members = (around.members or []) + (root.members or [])
    spaced = [text[member.start : member.value.start] for member in members]
    is_tight = bool(spaced) and all(one.endswith(":") for one in spaced)
    colon, comma = (":", ",") if is_tight else (": ", ", ")
    arrays = [text[node.start : node.end] for node in _arrays(around) or _arrays(root) if node.elements]
    return _Style(unit, line, colon, comma, bool(arrays) and all("\n" not in one for one in arrays))


def _unit(text: str, node: JsonNode) -> str | None:
    """The indentation of the members of ``node`` beyond its own line: empty if they stand on one line, None if there
    are no members."""
    if not node.members:
        return None
    margin = _margin_before(text, node.members[0].start)
    if margin is None:
        return ""
    own = _margin(text, node.start)
    return margin[len(own) :] if margin.startswith(own) and len(margin) > len(own) else "  "


def _arrays(node: JsonNode) -> list[JsonNode]:
    children = [member.value for member in node.members or ()] + (node.elements or [])
    return [one for child in children for one in (([child] if child.elements is not None else []) + _arrays(child))]


def _margin(text: str, at: int) -> str:
    """The indentation of the line at this place."""
    line = text.rfind("\n", 0, at) + 1
    match = re.compile(r"\ufeff?([ \t]*)").match(text, line)
    return match[1] if match is not None else ""


def _margin_before(text: str, at: int) -> str | None:
    """The indentation before this place; None if something else stands before it on its line."""
    line = text.rfind("\n", 0, at) + 1
    return text[line:at] if line and not text[line:at].strip(" \t") else None


def _replaced(text: str, root: JsonNode, around: JsonNode, member: Member, value: Json) -> str:
    if same(member.value.plain(), value):
        return text
    style = _style(text, root, around)
    start, end = member.value.start, member.value.end
    return text[:start] + style.rendered(value, _margin(text, member.start)) + text[end:]


def _inserted(text: str, root: JsonNode, around: JsonNode, key: str, value: Json) -> str:
    style = _style(text, root, around)
    if not around.members:
        return _first(text, around, style, key, value)
    last = around.members[-1]
    margin = _margin_before(text, last.start)
    if not style.unit or margin is None:
        return _on_the_line(text, last, style, key, value)
    end = last.comma or last.value.end
    line_end = _line_end(text, end)
    entry = f"{style.line}{margin}{_text(key)}{style.colon}{style.rendered(value, margin)}"
    if last.comma:  # the commas of this file are trailing
        return text[:line_end] + entry + "," + text[line_end:]
    return text[:end] + "," + text[end:line_end] + entry + text[line_end:]


def _on_the_line(text: str, last: Member, style: _Style, key: str, value: Json) -> str:
    flat = _Style("", style.line, style.colon, style.comma)
    entry = f"{_text(key)}{flat.colon}{flat.rendered(value, '')}"
    if last.comma:
        gap = style.comma.removeprefix(",")
        return text[: last.comma] + gap + entry + "," + text[last.comma :]
    return text[: last.value.end] + style.comma + entry + text[last.value.end :]


def _first(text: str, around: JsonNode, style: _Style, key: str, value: Json) -> str:
    """Insert the first member of an empty object, behind the comments that stand in it."""
    closing = around.end - 1
    inside = text[around.start + 1 : closing]
    if not style.unit:
        place = around.start + 1 + len(inside.rstrip())
        gap = style.line if inside.strip() else ""
        return text[:place] + gap + f"{_text(key)}{style.colon}{style.rendered(value, '')}" + text[place:]
    margin = _margin(text, around.start)
    inner = margin + style.unit
    place = around.start + 1 + len(inside.rstrip())
    entry = f"{style.line}{inner}{_text(key)}{style.colon}{style.rendered(value, inner)}{style.line}{margin}"
    return text[:place] + entry + text[closing:]


_REST: Final = re.compile(r"[ \t]*(?:/\*[^\n]*?\*/[ \t]*)*(?://[^\n]*?)?(?=\r?\n)")


def _line_end(text: str, end: int) -> int:
    """The end of the line at ``end``, if only comments follow on it; otherwise ``end``."""
    match = _REST.match(text, end)
    return end if match is None else match.end()


def _removed(text: str, around: JsonNode, member: Member) -> str:
    members = around.members or []
    place = members.index(member)
    start, end = member.start, member.comma or member.value.end
    if not member.comma and place:  # the comma before it separates nothing any more
        before = members[place - 1]
        comma = before.comma - 1
        gap = text[before.comma : start]
        if not gap.strip(" \t"):
            return text[:comma] + text[end:]
        text = text[:comma] + text[before.comma :]
        start, end = start - 1, end - 1
    return _without_span(text, start, end)


def _without_span(text: str, start: int, end: int) -> str:
    """Remove a span, and its lines if nothing else stands on them."""
    margin = _margin_before(text, start)
    line = re.compile(r"[ \t]*\r?\n").match(text, end)
    if margin is not None and line is not None:
        return text[: start - len(margin)] + text[line.end() :]
    if margin is None and line is None:
        gap = re.compile(r"[ \t]*").match(text, end)
        return text[:start] + text[gap.end() if gap is not None else end :]
    return text[:start] + text[end:]

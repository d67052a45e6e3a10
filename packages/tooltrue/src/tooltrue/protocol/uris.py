"""URIs and URI templates: validation, matching and expansion (RFC 3986, RFC 6570).

Of RFC 6570, ``{name}`` (level 1: one segment) and ``{+path}`` (several segments) are supported. A template matches a
URI to recover its variables; a value that could be read as a different file than it spells does not match. Every value
has exactly one spelling, so that a rule that approves a URI has approved the resource that is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote_to_bytes

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.errors import DefinitionError
from tooltrue.protocol.types import Value
from tooltrue.protocol.wording import (
    REASON_URI_DEEP_VARIABLE_NOT_LAST,
    REASON_URI_EXPRESSION_INVALID,
    REASON_URI_VARIABLE_TWICE,
    REASON_URI_VARIABLES_ADJACENT,
    URI_NOT_ABSOLUTE,
    URI_TEMPLATE_AMBIGUOUS,
)
from tooltrue.wording import Worded

__all__ = ["MAX_URI", "Template", "is_template", "is_uri", "read_template"]

MAX_URI = 8_192

_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:"
_URI = LazyPattern(_SCHEME + r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
_STARTS_WITH_SCHEME = LazyPattern(_SCHEME)
_EXPRESSION = LazyPattern(r"\{([^{}]*)\}")
_VARIABLE = LazyPattern(r"(\+?)([A-Za-z_][A-Za-z0-9_]*)")


def is_uri(text: str) -> bool:
    """Whether ``text`` is an absolute URI (RFC 3986, section 3) of at most ``MAX_URI`` characters."""
    return len(text) <= MAX_URI and _URI.compiled.fullmatch(text) is not None


def is_template(text: str) -> bool:
    return "{" in text or "}" in text


class Template(Value, frozen=True):
    """A parsed template. ``variables`` are in order, between ``literals``; the values of the names in ``deep`` may hold
    slashes."""

    text: str
    variables: tuple[str, ...]
    literals: tuple[str, ...]
    deep: frozenset[str]
    pattern: re.Pattern[str]

    def match(self, uri: str) -> Mapping[str, str] | None:
        """The decoded variables of ``uri``; ``None`` if its form, or the spelling of a value, is not that of
        :meth:`expand`.

        A variable is never empty and ends where the text that follows it in the template first occurs. A value holds no
        control characters and no backslash. A single segment holds no slash; of several segments, each is non-empty,
        and the first does not start like a drive (``c:``). No segment is ``.`` or ``..``. The rules for several
        segments also apply to their values decoded repeatedly.
        """
        match = self.pattern.fullmatch(uri)
        if match is None:
            return None
        values = {name: _decoded(match[name]) for name in self.variables}
        if not all(_is_path(value) if name in self.deep else _is_segment(value) for name, value in values.items()):
            return None
        return values if self.expand(values) == uri else None

    def expand(self, values: Mapping[str, str]) -> str:
        """The URI with these values, in its only spelling (RFC 6570, section 3.2).

        All characters but unreserved ones are encoded; in several segments reserved ones stay too, except ``?`` and
        ``#``, which would end a path. ``%`` is always encoded.
        """
        parts = [self.literals[0]]
        for name, after in zip(self.variables, self.literals[1:], strict=True):
            parts += quote(values[name], safe=_RESERVED if name in self.deep else ""), after
        return "".join(parts)


_RESERVED = ":/[]@!$&'()*+,;="
_UNSAFE = LazyPattern(r"[\x00-\x1f\x7f-\x9f\\]")
_DRIVE = LazyPattern("[A-Za-z]:")
_MAX_DECODED = 3


def _is_segment(value: str) -> bool:
    return value not in ("", ".", "..") and "/" not in value and _UNSAFE.compiled.search(value) is None


def _is_path(value: str) -> bool:
    """Whether the path stays in its folder even if decoded again; no real file name is encoded that many times."""
    for _ in range(_MAX_DECODED):
        if _DRIVE.compiled.match(value) is not None or not all(map(_is_segment, value.split("/"))):
            return False
        before, value = value, _decoded(value)
        if value == before:
            return True
    return False


def _decoded(text: str) -> str:
    return unquote_to_bytes(text).decode(errors="replace") if "%" in text else text


def read_template(text: str) -> Template:
    """Parse a template. Raises ``DefinitionError`` if ``text`` is not a template or is ambiguous."""
    pieces = _EXPRESSION.compiled.split(text)  # text, expression, text, expression, … text
    literals, expressions = pieces[::2], pieces[1::2]
    variables = [_variable(text, expression) for expression in expressions]
    names = tuple(name for _, name in variables)
    if not _STARTS_WITH_SCHEME.compiled.match(literals[0]) or not is_uri("x".join(literals)):
        raise DefinitionError.of(URI_NOT_ABSOLUTE, uri=text)
    if len(set(names)) < len(names):
        raise DefinitionError.of(URI_TEMPLATE_AMBIGUOUS, uri=text, problem=Worded(REASON_URI_VARIABLE_TWICE, {}))
    if "" in literals[1:-1]:
        raise DefinitionError.of(URI_TEMPLATE_AMBIGUOUS, uri=text, problem=Worded(REASON_URI_VARIABLES_ADJACENT, {}))
    # Followed by another variable it could end in many places, and finding the right one could take unbounded time.
    if any(plus for plus, _ in variables[:-1]):
        raise DefinitionError.of(
            URI_TEMPLATE_AMBIGUOUS, uri=text, problem=Worded(REASON_URI_DEEP_VARIABLE_NOT_LAST, {})
        )
    parts = [_part(plus, name, after) for (plus, name), after in zip(variables, literals[1:], strict=True)]
    pattern = re.escape(literals[0]) + "".join(parts)
    deep = frozenset(name for plus, name in variables if plus)
    return Template(text, names, tuple(literals), deep, re.compile(pattern))


def _variable(text: str, expression: str) -> tuple[str, str]:
    match = _VARIABLE.compiled.fullmatch(expression)
    if match is None:
        raise DefinitionError.of(
            URI_TEMPLATE_AMBIGUOUS, uri=text, problem=Worded(REASON_URI_EXPRESSION_INVALID, {"expression": expression})
        )
    return match[1], match[2]


def _part(plus: str, name: str, after: str) -> str:
    """The pattern of a variable and the text that follows it. It never backtracks, so it takes linear time."""
    if plus:
        return f"(?P<{name}>[^?#]+){re.escape(after)}"
    end = f"(?={re.escape(after)})" if after else r"\Z"
    return f"(?>(?P<{name}>[^/?#]+?){end}){re.escape(after)}"

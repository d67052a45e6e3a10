"""URIs, and templates of URIs: which text is one, and which variables a URI gives a template (RFC 3986, RFC 6570).

Of RFC 6570 there are ``{name}`` (level 1: one segment) and ``{+path}`` (several segments). A template is read backwards
here: what a URI says becomes values, and whatever could be read as another file than it says does not match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from toolwright.errors import DefinitionError
from toolwright.protocol.types import Value

__all__ = ["MAX_URI", "Template", "is_template", "is_uri", "read_template"]

MAX_URI = 8_192

_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:"
_URI = re.compile(_SCHEME + r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
_STARTS_WITH_SCHEME = re.compile(_SCHEME)
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"(\+?)([A-Za-z_][A-Za-z0-9_]*)")


def is_uri(text: str) -> bool:
    """Whether ``text`` is an absolute URI (RFC 3986, section 3) of at most ``MAX_URI`` characters."""
    return len(text) <= MAX_URI and _URI.fullmatch(text) is not None


def is_template(text: str) -> bool:
    return "{" in text or "}" in text


class Template(Value, frozen=True):
    """A template that was read. ``variables`` are in order; the names in ``deep`` may hold slashes."""

    text: str
    variables: tuple[str, ...]
    deep: frozenset[str]
    pattern: re.Pattern[str]
    after_slash: frozenset[str]

    def match(self, uri: str) -> Mapping[str, str] | None:
        """What the variables are in ``uri``, decoded; ``None`` where it has another form.

        A variable is never empty and ends where the text that follows it in the template first stands. No value holds
        NUL; one segment holds no slash or backslash and is not ``.`` or ``..``; of several, none is ``..``, and what
        follows a slash does not begin with another one.
        """
        found = self.pattern.fullmatch(uri)
        if found is None:
            return None
        values: dict[str, str] = {}
        for name in self.variables:
            value = _decoded(found[name])
            if value is None or not self._is_safe(name, value):
                return None
            values[name] = value
        return values

    def _is_safe(self, name: str, value: str) -> bool:
        segments = re.split(r"[/\\]", value)
        if "\0" in value:
            return False
        if name not in self.deep:
            return len(segments) == 1 and value not in (".", "..")
        return ".." not in segments and not (name in self.after_slash and not segments[0])


def _decoded(value: str) -> str | None:
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        return None


def read_template(text: str) -> Template:
    """The template that ``text`` is. ``DefinitionError`` for what is none, or could be read in two ways."""
    pieces = _EXPRESSION.split(text)  # text, expression, text, expression, … text
    literals, expressions = pieces[::2], pieces[1::2]
    variables = [_variable(text, expression) for expression in expressions]
    names = tuple(name for _, name in variables)
    if not _STARTS_WITH_SCHEME.match(literals[0]) or not is_uri("x".join(literals)):
        raise DefinitionError.of("TW3022", uri=text)
    if len(set(names)) < len(names):
        raise DefinitionError.of("TW3023", uri=text, problem="a variable stands in it twice")
    if "" in literals[1:-1]:
        raise DefinitionError.of("TW3023", uri=text, problem="nothing separates two of its variables")
    # Followed by others it could end in many places, and finding the one that fits could take for ever.
    if any(plus for plus, _ in variables[:-1]):
        raise DefinitionError.of("TW3023", uri=text, problem="only its last variable may be a {+path}")
    parts = [_part(plus, name, after) for (plus, name), after in zip(variables, literals[1:], strict=True)]
    pattern = re.escape(literals[0]) + "".join(parts)
    deep = frozenset(name for plus, name in variables if plus)
    slashed = frozenset(
        name for (_, name), before in zip(variables, literals[:-1], strict=True) if before.endswith("/")
    )
    return Template(text, names, deep, re.compile(pattern), slashed)


def _variable(text: str, expression: str) -> tuple[str, str]:
    found = _VARIABLE.fullmatch(expression)
    if found is None:
        raise DefinitionError.of("TW3023", uri=text, problem=f"{{{expression}}} is neither {{name}} nor {{+name}}")
    return found[1], found[2]


def _part(plus: str, name: str, after: str) -> str:
    """The pattern of a variable and of the text that follows it. It never looks back, so that it takes linear time."""
    if plus:
        return f"(?P<{name}>[^?#]+){re.escape(after)}"
    end = f"(?={re.escape(after)})" if after else r"\Z"
    return f"(?>(?P<{name}>[^/?#]+?){end}){re.escape(after)}"

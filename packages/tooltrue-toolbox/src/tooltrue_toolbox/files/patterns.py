"""Path patterns as in shells and ``.gitignore``, matched in time bounded by the length of the path.

A pattern becomes one regular expression that never backtracks: between two stars the first fit is final, since the
second star takes all that may follow. So ``**/**/**/x`` costs no more than ``x``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tooltrue.errors import ToolError
from tooltrue_toolbox.files.wording import GLOB_INVALID, GLOB_TOO_MANY_ALTERNATIVES
from tooltrue_toolbox.rooted_paths import Names

__all__ = ["Glob", "Ignores"]

_MOST_ALTERNATIVES = 64
_MOST_RULES = 2_000
_MOST_CHARS = 1_000
_POSIX = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "punct": r"!-\/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}
_NEVER = "(?!)"


def _expression(pattern: str) -> str:
    """A regular expression for whole paths. A ``**`` segment takes any number of names, ``*`` anything within a
    name."""
    chunks: list[list[str]] = [[]]
    for segment in pattern.split("/"):
        if segment == "**":
            chunks.append([])
        else:
            chunks[-1].append(_segment(segment))
    first, *rest = ["/".join(chunk) for chunk in chunks]
    if not rest:
        return first
    *between, last = rest
    made = first + "/" if first else ""
    for chunk in filter(None, between):
        made += f"(?>(?:[^/]+/)*?{chunk}/)"
    return made + (f"(?:[^/]+/)*{last}" if last else ".+")


def _segment(segment: str) -> str:
    pieces = [""]
    for token in _tokens(segment):
        if token == "*":
            pieces.append("")
        else:
            pieces[-1] += token
    first, *rest = pieces
    if not rest:
        return first
    *between, last = rest
    return first + "".join(f"(?>[^/]*?{piece})" for piece in between if piece) + f"[^/]*{last}"


def _tokens(segment: str) -> Iterator[str]:
    """One regular expression per character that ``segment`` describes; ``*`` stands for any number of characters."""
    at = 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "*":
            yield "*"
        elif char == "?":
            yield "[^/]"
        elif char == "\\":
            yield re.escape(segment[at]) if at < len(segment) else _NEVER
            at += 1
        elif char == "[":
            made, at = _class(segment, at)
            yield made
        else:
            yield re.escape(char)


def _class(segment: str, at: int) -> tuple[str, int]:
    """The character class that opens before ``at``, and the index after it. An unclosed class matches nothing, as in
    git."""
    negated = segment[at : at + 1] in ("!", "^")
    begin = at = at + negated
    members: list[str] = []
    while at < len(segment) and (segment[at] != "]" or at == begin):
        if named := re.compile(r"\[:(\w+):\]").match(segment, at):
            if named[1] not in _POSIX:
                return _NEVER, len(segment)
            members.append(_POSIX[named[1]])
            at = named.end()
            continue
        low, at = _member(segment, at)
        if segment[at : at + 1] == "-" and segment[at + 1 : at + 2] not in ("]", ""):
            high, at = _member(segment, at + 1)
            if low <= high:
                members.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            members.append(re.escape(low))
    if at >= len(segment):
        return _NEVER, at
    inner = "".join(members)
    if not inner:
        return ("[^/]" if negated else _NEVER), at + 1
    return f"(?!/)[{'^' if negated else ''}{inner}]", at + 1


def _member(segment: str, at: int) -> tuple[str, int]:
    if segment[at] == "\\" and at + 1 < len(segment):
        at += 1
    return segment[at], at + 1


# Which files to look for


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern for names, or, when it has a ``/``, for paths relative to the start of the search."""

    whole: bool
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> Glob:
        """``{a,b}`` means either. ``ToolError`` for a pattern with too many alternatives, or one that can never
        match."""
        alternatives = _alternatives(text)
        expression = "|".join(_expression(each.removeprefix("/")) for each in alternatives)
        if _NEVER in expression or not all(alternatives):
            raise ToolError.of(GLOB_INVALID, pattern=text)
        return cls("/" in text, re.compile(f"(?s:{expression})"))

    def fits(self, way: Names) -> bool:
        return self.pattern.fullmatch("/".join(way) if self.whole else way[-1]) is not None


def _alternatives(text: str) -> list[str]:
    parts: list[list[str]] = []
    for part in re.split(r"(?<!\\)(\{[^{}]*\})", text):
        inner = part[1:-1] if part.startswith("{") and part.endswith("}") else None
        if inner is None and re.search(r"(?<!\\)[{}]", re.sub(r"\[[^]]*\]", "", part)):
            raise ToolError.of(GLOB_INVALID, pattern=text)
        parts.append([part] if inner is None else inner.split(","))
        if _count(parts) > _MOST_ALTERNATIVES:
            raise ToolError.of(GLOB_TOO_MANY_ALTERNATIVES, pattern=text, limit=_MOST_ALTERNATIVES)
    return ["".join(each) for each in product(*parts)]


def _count(parts: Sequence[Sequence[str]]) -> int:
    made = 1
    for part in parts:
        made *= len(part)
    return made


# Which files to leave out


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    negated: bool
    directories: bool
    whole: bool


class Ignores:
    """The rules of one ``.gitignore`` file (gitignore(5)) for the paths below its directory."""

    def __init__(self, text: str) -> None:
        rules = [rule for line in text.split("\n")[:_MOST_RULES] if (rule := _rule(line))]
        self._rules = tuple(reversed(rules))
        # Most entries match no rule, which one combined expression decides at once.
        self._names = _any(rule for rule in rules if not rule.whole)
        self._paths = _any(rule for rule in rules if rule.whole)

    def verdict(self, way: Names, is_directory: bool) -> bool | None:
        """Whether ``way`` is ignored; ``None`` when no rule matches it. The last matching rule decides."""
        name, path = way[-1], "/".join(way)
        if not self._names.fullmatch(name) and not self._paths.fullmatch(path):
            return None
        for rule in self._rules:
            if (is_directory or not rule.directories) and rule.pattern.fullmatch(path if rule.whole else name):
                return not rule.negated
        return None


def _any(rules: Iterator[_Rule]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{rule.pattern.pattern})" for rule in rules) or _NEVER)


def _rule(line: str) -> _Rule | None:
    line = re.sub(r"(?<!\\)((?:\\\\)*) +$", r"\1", line.removesuffix("\r"))
    if line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!")
    directories = line.endswith("/")
    body = line.removesuffix("/")
    if not body or len(line) > _MOST_CHARS:
        return None
    whole = "/" in body
    pattern = re.compile(f"(?s:{_expression(body.removeprefix('/'))})")
    return _Rule(pattern, negated, directories, whole)

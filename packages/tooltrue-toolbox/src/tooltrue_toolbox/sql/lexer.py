"""The tokens of a written statement, read by a scanner of our own that knows far less than the parser.

It is a second reading of the text for the engine: quoted text must begin and end where the engine sees it, and only
plain words, numbers and operators may occur outside of quotes. Comments, a second statement, dollar quotes, variables
and escapes that only some engines know are errors here, in every dialect.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["PARAMETER", "quote_ends"]

PARAMETER = re.compile("\x02(\\d+)\x03")
"""The marker of a parameter in a written statement."""

_STRING = "'(?:[^'\x00-\x08\x0e-\x1f]|'')*'(?!')"
_ESCAPED = r"'(?:[^'\\\x00-\x08\x0e-\x1f]|''|\\[^\x00-\x1f])*'(?!')"
_WORD = r"[^\W\d][\w$]*(?!['\"`$])"
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w$])"
_SIGN = r"--|/\*|\*/|[-+*/%<>=!~^&|?:.,()\[\]{}@#]"


def _scanner(string: str, identifier: str, prefixed: str) -> re.Pattern[str]:
    return re.compile(
        f"(?P<blank> +)|(?P<parameter>(?<![\\w$]){PARAMETER.pattern}(?![\\w$]))"
        f"|(?P<quoted>{prefixed}|{string}|{identifier})"
        f"|(?P<number>{_NUMBER})|(?P<word>{_WORD})|(?P<sign>{_SIGN})"
    )


_BITS = "[xX]'[0-9a-fA-F]*'|[bB]'[01]*'"
_NAME = r'"(?:[^"\x00-\x1f]|"")+"(?!")'
_SCANNERS = {
    "sqlite": _scanner(_STRING, _NAME, _BITS),
    "duckdb": _scanner(_STRING, _NAME, f"{_BITS}|[eE]{_ESCAPED}"),
    "postgres": _scanner(_STRING, _NAME, f"{_BITS}|[eE]{_ESCAPED}|[nN]{_STRING}"),
    "mysql": _scanner(_ESCAPED, r"`(?:[^`\x00-\x1f]|``)+`(?!`)", f"{_BITS}|[nN]{_ESCAPED}"),
}
_NEVER = {
    "sqlite": ("--", "/*", "*/", "@", "#"),
    "duckdb": ("--", "/*", "*/", "#"),
    "postgres": ("--", "/*", "*/"),
    "mysql": ("--", "/*", "*/", "@", "#"),
}
"""Signs that begin a comment or a variable, or would be a part of one."""


def quote_ends(text: str, dialect: Literal["sqlite", "duckdb", "postgres", "mysql"]) -> list[int] | None:
    """The index at which each quoted text ends, in order; ``None`` for a statement that is not plain."""
    ends: list[int] = []
    place = 0
    while place < len(text):
        token = _SCANNERS[dialect].match(text, place)
        if token is None or token[0] in _NEVER[dialect]:
            return None
        place = token.end()
        if token["quoted"] is not None:
            ends.append(place - 1)
    return ends

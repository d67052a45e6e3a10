"""Secrets in the arguments of a tool that sends them, as the receiver could put them together.

A token need not stand in one piece to leave: in two labels of a host name, in two parameters of a query, or in two
arguments it arrives just as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.policy.sanitize.secrets import kinds_in
from tooltrue.protocol.characters import cleaned

__all__ = ["kinds_sent"]

_URL = LazyPattern(r"[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s\"'<>]+")
_NAMES = LazyPattern(r"[?&;#](?:[^=&;#]{0,200}=)?")
_BETWEEN = LazyPattern(r"[./:@,+|~ ]+")


def kinds_sent(arguments: Mapping[str, Json]) -> list[str]:
    """Return the kinds of secrets that would leave with these arguments, whole or in pieces."""
    names, values = list[str](), list[str]()
    _collect(arguments, names, values)
    readings = ["\n".join([*names, *values]), "".join(values)]
    for url in (match[0] for text in values for match in _URL.compiled.finditer(text)):
        readings += _put_together(unquote(url.partition("://")[2]))
    return sorted({kind for reading in readings for kind in kinds_in(reading.encode(errors="replace"))})


def _collect(value: Json, names: list[str], values: list[str]) -> None:
    """Collect the names and texts of a JSON value, without hidden characters."""
    if isinstance(value, str):
        values.append(cleaned(value, {}))
    elif is_object(value):
        names += [cleaned(name, {}) for name in value]
        for inner in value.values():
            _collect(inner, names, values)
    elif is_array(value):
        for inner in value:
            _collect(inner, names, values)


def _put_together(url: str) -> Iterator[str]:
    """Yield the text of a URL without separators: its host, its path and query, and all of it."""
    for without_names in (_NAMES.compiled.sub("", url), _NAMES.compiled.sub(" ", url), url):
        yield _BETWEEN.compiled.sub("", without_names)
    host, _, rest = url.partition("/")
    yield from (_BETWEEN.compiled.sub("", host), _BETWEEN.compiled.sub("", _NAMES.compiled.sub("", rest)))

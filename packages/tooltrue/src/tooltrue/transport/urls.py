"""Conversion of URLs as written by people and pages to their form on the wire. Pure; no lookups."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from tooltrue.protocol.types import Value
from tooltrue.transport.wording import (
    REASON_NOT_PLAIN_HTTP_URL,
    REASON_URL_CHARACTERS,
    REASON_URL_PORT_ZERO,
    REASON_URL_TEXT_AFTER_HOST,
    REASON_URL_WITH_USER,
)
from tooltrue.wording import Worded

__all__ = ["Origin", "ascii_url", "check_place", "joined", "origin_of", "shown_url"]

_PORTS = {"https": 443, "http": 80}
_SAFE = "!$%&'()*+,-./:;=?@_~[]|"


def ascii_url(url: str) -> str:
    """``url`` in ASCII, without its fragment: the host in IDNA, other characters quoted.

    Raises ``ValueError`` for parts that parsers read differently: a user before the host, white space, control
    characters, backslashes.
    """
    if any(ord(sign) <= 0x20 or ord(sign) == 0x7F or sign == "\\" for sign in url):
        raise ValueError(Worded(REASON_URL_CHARACTERS, {}))
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError(Worded(REASON_URL_WITH_USER, {}))
    check_place(parts)
    host = parts.hostname or ""
    place = f"[{host}]" if ":" in host else host.encode("idna").decode("ascii")
    netloc = place if parts.port is None else f"{place}:{parts.port}"
    path, query = quote(parts.path, safe=_SAFE), quote(parts.query, safe=_SAFE)
    return parts._replace(netloc=netloc, path=path or "/", query=query, fragment="").geturl()


def check_place(parts: SplitResult) -> None:
    """Raise ``ValueError`` if the host and port of a URL could be read differently by two parsers."""
    _, bracket, behind = parts.netloc.rpartition("]")
    if bracket and behind[:1] not in ("", ":"):
        raise ValueError(Worded(REASON_URL_TEXT_AFTER_HOST, {}))
    if parts.port == 0:
        raise ValueError(Worded(REASON_URL_PORT_ZERO, {}))


def joined(url: str, location: str) -> str:
    """Resolve ``location`` relative to the page ``url``. Raises ``ValueError`` as above."""
    return ascii_url(urljoin(url, location))


class Origin(Value, frozen=True):
    scheme: str
    host: str
    port: int


def origin_of(url: str) -> Origin:
    """The origin of a URL. Raises ``ValueError`` for anything but a plain ``http(s)`` URL."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or parts.username is not None or not url.isascii():
        raise ValueError(Worded(REASON_NOT_PLAIN_HTTP_URL, {}))
    check_place(parts)
    return Origin(parts.scheme, parts.hostname.lower(), parts.port or _PORTS[parts.scheme])


_PARAMETER = re.compile(r"(?<=[?&;])([^=&;#]*)=[^&;#]*")


def shown_url(url: str) -> str:
    """``url`` for a message: without its user and password, and without the values of its query, any of which may be a
    key. A text that is no URL keeps nothing before an ``@``."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _PARAMETER.sub(r"\1=…", url.rpartition("@")[2])
    query = _PARAMETER.sub(r"\1=…", f"?{parts.query}")[1:]
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment="").geturl()

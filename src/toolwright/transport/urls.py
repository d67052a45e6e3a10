"""URLs as people and pages write them, made into what goes over the wire. Pure; nothing is looked up."""

from __future__ import annotations

from urllib.parse import SplitResult, quote, urljoin, urlsplit

__all__ = ["ascii_url", "check_place", "joined"]

_KEPT = "!$%&'()*+,-./:;=?@_~[]|"


def ascii_url(url: str) -> str:
    """``url`` in ASCII, without its fragment: the host as IDNA has it, other letters quoted.

    ``ValueError`` for what two readers might read differently: a user before the host, white space, control characters,
    backslashes.
    """
    if any(ord(sign) <= 0x20 or ord(sign) == 0x7F or sign == "\\" for sign in url):
        raise ValueError("it holds white space, a control character or a backslash")
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("it names a user")
    check_place(parts)
    host = parts.hostname or ""
    place = f"[{host}]" if ":" in host else host.encode("idna").decode("ascii")
    netloc = place if parts.port is None else f"{place}:{parts.port}"
    path, query = quote(parts.path, safe=_KEPT), quote(parts.query, safe=_KEPT)
    return parts._replace(netloc=netloc, path=path or "/", query=query, fragment="").geturl()


def check_place(parts: SplitResult) -> None:
    """``ValueError`` where a URL has a host and a port that two readers might read differently."""
    _, bracket, behind = parts.netloc.rpartition("]")
    if bracket and behind[:1] not in ("", ":"):
        raise ValueError("text stands behind the brackets of its host")
    if parts.port == 0:
        raise ValueError("no port has the number 0")


def joined(url: str, location: str) -> str:
    """Where ``location`` leads that stands on the page ``url``. ``ValueError`` as above."""
    return ascii_url(urljoin(url, location))

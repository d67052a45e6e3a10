"""Parses the challenges of ``WWW-Authenticate``: the credentials that a server requires (RFC 9110, section 11.6.1).
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tooltrue.protocol.types import Value

__all__ = ["Challenge", "challenge_of"]

_MAX_LENGTH = 16_384
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_PART = re.compile(
    rf"""[\s,]*(?:
        (?P<name>{_TOKEN})[ \t]*=[ \t]*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>{_TOKEN}))
      | (?P<scheme>{_TOKEN})(?:[ \t]+[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$)))?
    )""",
    re.VERBOSE,
)


class Challenge(Value, frozen=True):
    """A challenge that we can meet. ``scopes`` are all that this operation needs; ``None`` if the server names none."""

    scheme: str = "bearer"
    error: str | None = None
    scopes: tuple[str, ...] | None = None
    metadata: str | None = None


def challenge_of(headers: Mapping[str, str]) -> Challenge:
    """Return the challenge in these response headers; an empty one if there is none that we can meet.

    Tokens that are bound to a key (DPoP) are preferred to plain ones, if a server accepts both.
    """
    challenges = dict(_challenges(headers.get("www-authenticate", "")))
    scheme = next((scheme for scheme in ("dpop", "bearer") if scheme in challenges), "bearer")
    parameters = {**challenges.get("bearer", {}), **challenges.get(scheme, {})}
    scopes = parameters.get("scope")
    return Challenge(
        scheme,
        parameters.get("error"),
        None if scopes is None else tuple(scopes.split()),
        parameters.get("resource_metadata"),
    )


def _challenges(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each scheme with its parameters, names in lower case; parsing stops at the first unreadable part."""
    parameters: dict[str, str] = {}
    place = 0
    header = header[:_MAX_LENGTH]
    while (part := _PART.match(header, place)) is not None:
        place = part.end()
        if part["scheme"] is not None:
            parameters = {}
            yield part["scheme"].lower(), parameters
        else:
            quoted = part["quoted"]
            value = part["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(part["name"].lower(), value)

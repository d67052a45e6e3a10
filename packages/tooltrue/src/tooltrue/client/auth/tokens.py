"""Data from an authorization server: tokens, and our client id there. Each is for that issuer alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from tooltrue.client.wording import REASON_TOKEN_NOT_SENDABLE, REASON_TOKEN_TYPE_MISMATCH
from tooltrue.jsonrpc.messages import Json, encode
from tooltrue.wording import Worded

__all__ = ["Registered", "Tokens", "Unusable", "from_json", "read_tokens", "to_json"]

_PLAIN = re.compile(r"[\x21-\x7e]{1,16384}")  # goes into a header: no other characters may
_LONG_SECONDS = 10 * 365 * 86_400
T = TypeVar("T")


class Unusable(Exception):
    """The reason why received or published data is unusable. It contains no secrets."""

    def __init__(self, problem: Worded) -> None:
        super().__init__(problem)


class Registered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Our client id at ``issuer``. ``expires_at`` is 0 if its secret does not expire."""

    issuer: str
    client_id: str
    client_secret: str | None = None
    method: str | None = None
    redirect_uri: str | None = None
    expires_at: float = 0.0

    def __repr__(self) -> str:
        return f"Registered({self.client_id!r} at {self.issuer!r}, …)"


class Tokens(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of ``issuer`` for ``resource``. ``requested`` and ``granted`` are scopes; the store calls the former
    ``asked``. ``key`` is the private key that the tokens are bound to, as JSON, if there is one.
    """

    issuer: str
    resource: str
    client_id: str
    access: str
    refresh: str | None = None
    expires_at: float | None = None
    requested: tuple[str, ...] = msgspec.field(default=(), name="asked")
    granted: tuple[str, ...] = ()
    key: str | None = None

    def __repr__(self) -> str:
        return f"Tokens(of {self.issuer!r} for {self.resource!r}, …)"


def to_json(value: Tokens | Registered) -> str:
    return encode(value).decode()


def from_json(text: str | None, shape: type[T]) -> T | None:
    """Read the text that :func:`to_json` has written. Returns ``None`` for any other text, as if there were no
    entry.
    """
    try:
        return None if text is None else msgspec.json.decode(text, type=shape)
    except (msgspec.MsgspecError, UnicodeError):
        return None


def read_tokens(
    answer: Mapping[str, Json],
    *,
    issuer: str,
    resource: str,
    client_id: str,
    requested: tuple[str, ...],
    now: float,
    key: str | None,
    before: Tokens | None = None,
) -> Tokens:
    """Read the tokens of a token endpoint's answer (RFC 6749, section 5.1). Missing members are as they were
    ``before``, or else as requested. Raises :class:`Unusable`.
    """
    refresh_token = None if before is None else before.refresh
    granted = requested if before is None else before.granted
    token_type = "bearer" if key is None else "dpop"
    if str(answer.get("token_type")).lower() != token_type:
        raise Unusable(Worded(REASON_TOKEN_TYPE_MISMATCH, {"type": token_type}))
    scope = answer.get("scope")
    return Tokens(
        issuer=issuer,
        resource=resource,
        client_id=client_id,
        access=_plain(answer.get("access_token"), "access_token"),
        refresh=_plain(answer["refresh_token"], "refresh_token") if answer.get("refresh_token") else refresh_token,
        expires_at=_ends(answer.get("expires_in"), now),
        requested=requested,
        granted=tuple(scope.split()) if isinstance(scope, str) else granted,
        key=key,
    )


def _plain(token: Any, name: str) -> str:
    if not isinstance(token, str) or _PLAIN.fullmatch(token) is None:
        raise Unusable(Worded(REASON_TOKEN_NOT_SENDABLE, {"name": name}))
    return token


def _ends(seconds: Any, now: float) -> float | None:
    """Return the time of expiry; some issuers send the number as text."""
    try:
        return None if seconds is None else now + min(max(float(seconds), 0.0), _LONG_SECONDS)
    except (TypeError, ValueError):
        return None

"""How the issuer of an opaque token is asked about it: the request, and the claims that its answer makes.

Introspection (RFC 7662) is the standard. GitHub and Google have endpoints of their own, which also tell for which
client a token was issued; a token of any other client is refused like one that is not valid.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.types import Value
from tooltrue.transport.fetch import Fetched, Fetcher

__all__ = ["TOKEN_CHECKS", "TokenCheck", "TokenCheckKind"]

TokenCheckKind: TypeAlias = Literal["introspection", "github", "google"]
_Login: TypeAlias = tuple[str, str]


class TokenCheck(Value, frozen=True):
    """``ask`` requests; ``claims`` reads a successful answer: ``None`` if the token is not valid. An answer with a
    status in ``invalid`` says the same.
    """

    ask: Callable[[Fetcher, str, str, _Login], Awaitable[Fetched]]
    claims: Callable[[Json], Mapping[str, Any] | None]
    invalid: frozenset[int] = frozenset()


async def _ask_introspection(fetcher: Fetcher, endpoint: str, token: str, login: _Login) -> Fetched:
    return await fetcher.post(endpoint, {"token": token, "token_type_hint": "access_token"}, login)


def _introspected(answer: Json) -> Mapping[str, Any] | None:
    return answer if is_object(answer) and answer.get("active") is True else None


async def _ask_github(fetcher: Fetcher, endpoint: str, token: str, login: _Login) -> Fetched:
    """Check a token (GitHub REST API, "Check a token"): only of the application that logs in."""
    return await fetcher.post_json(endpoint, {"access_token": token}, login)


def _of_github(answer: Json) -> Mapping[str, Any] | None:
    if not is_object(answer) or not is_object(answer.get("app")) or not is_object(answer.get("user")):
        return None
    number, scopes = answer["user"].get("id"), answer.get("scopes")
    if not isinstance(number, int) or isinstance(number, bool) or not is_array(scopes):
        return None
    # The number stays; a person may change the login, and another one may take it.
    claims: dict[str, Any] = {"aud": answer["app"].get("client_id"), "sub": str(number)}
    claims["scope"] = " ".join(scope for scope in scopes if isinstance(scope, str))
    ends = answer.get("expires_at")
    if ends is not None:
        claims["exp"] = _seconds(ends)
    return claims


def _seconds(moment: Json) -> int:
    """A moment in ISO 8601 as seconds; 0, which is in the past, for one that cannot be read."""
    try:
        return int(datetime.fromisoformat(moment).timestamp())
    except (TypeError, ValueError, OverflowError):
        return 0


async def _ask_google(fetcher: Fetcher, endpoint: str, token: str, login: _Login) -> Fetched:
    """Ask for the facts of a token (tokeninfo); in the body, because URLs end up in logs."""
    return await fetcher.post(endpoint, {"access_token": token})


def _of_google(answer: Json) -> Mapping[str, Any] | None:
    if not is_object(answer) or "error" in answer:
        return None
    ends = answer.get("exp")
    seconds = int(ends) if isinstance(ends, str) and ends.isascii() and ends.isdecimal() and len(ends) < 13 else 0
    return {name: answer[name] for name in ("aud", "azp", "sub", "scope") if name in answer} | {"exp": seconds}


TOKEN_CHECKS: Final[Mapping[TokenCheckKind, TokenCheck]] = MappingProxyType(
    {
        "introspection": TokenCheck(_ask_introspection, _introspected),
        "github": TokenCheck(_ask_github, _of_github, frozenset({404, 422})),
        "google": TokenCheck(_ask_google, _of_google, frozenset({400, 401})),
    }
)

"""An authorization server, seen by its resource server: its metadata, its keys, and its answers about tokens.

Keys are cached for a limited time while the issuer cannot be reached; after it every token is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tooltrue.errors import RpcError, fact_of
from tooltrue.jsonrpc.messages import decode, is_object
from tooltrue.protocol.types import Value
from tooltrue.protocol.wellknown import issuer_places
from tooltrue.server.identity import Refused
from tooltrue.server.jwt import BadToken, Claims, read_keys
from tooltrue.server.token_checks import TOKEN_CHECKS, TokenCheck
from tooltrue.server.wording import (
    REASON_ISSUER_METADATA_FOREIGN,
    REASON_ISSUER_METADATA_MEMBER,
    REASON_ISSUER_STATUS,
    REASON_ISSUER_WITHOUT_METADATA,
    REASON_TOKEN_INACTIVE,
    REASON_TOKEN_UNREADABLE,
)
from tooltrue.transport.fetch import Fetched, Fetcher, NotFetched
from tooltrue.wording import Worded

__all__ = ["TokenIssuer"]

FRESH_SECONDS = 300.0
KEPT_SECONDS = 3_600.0
AGAIN_SECONDS = 30.0
_MAX_ASKED = 16
_MAX_WAITING = 256

_log = logging.getLogger("tooltrue")


class _Unusable(Exception):
    """The reason why a published document is unusable."""


class _KeySet(Value, frozen=True):
    keys: Sequence[Any]
    at: float


class TokenIssuer:
    """``jwks_uri`` and ``introspection_endpoint`` come from its metadata, unless they are given. ``login`` is the
    client that may introspect tokens; without it no token is introspected. ``check`` is how the endpoint is asked.
    """

    def __init__(
        self,
        url: str,
        fetcher: Fetcher,
        clock: Callable[[], float],
        *,
        jwks_uri: str | None = None,
        introspection_endpoint: str | None = None,
        login: tuple[str, str] | None = None,
        check: TokenCheck = TOKEN_CHECKS["introspection"],
    ) -> None:
        self.url = url
        self._fetcher = fetcher
        self._clock = clock
        self._jwks_uri = jwks_uri
        self._introspection_endpoint = introspection_endpoint
        self._login = login
        self._check = check
        self._metadata: Mapping[str, Any] | None = None
        self._key_set: _KeySet | None = None
        self._tried = self._complained = float("-inf")
        self._one = asyncio.Lock()
        self._slots = asyncio.Semaphore(_MAX_ASKED)
        self._waiting = 0

    async def keys(self, name: str | None) -> Sequence[Any]:
        """Return the keys called ``name``; without a name, the only key there is. Keys that are stale, or lack the
        name, are fetched again, at a limited rate. Raises :class:`Refused` if no usable keys are left.
        """
        if self._keys_for(name) is None or self._age() > FRESH_SECONDS:
            await self._refresh(name)
        if self._age() > KEPT_SECONDS:
            raise Refused.unknowable()
        return self._keys_for(name) or ()

    def _age(self) -> float:
        return float("inf") if self._key_set is None else self._clock() - self._key_set.at

    def _keys_for(self, name: str | None) -> Sequence[Any] | None:
        keys = () if self._key_set is None else self._key_set.keys
        if name is None:
            return keys if len(keys) == 1 else None
        return [key for key in keys if key.kid == name] or None

    async def _refresh(self, name: str | None) -> None:
        """Fetch the keys, once for all waiting callers. A caller that finds its key in the cache does not wait for
        fresher ones.
        """
        if self._one.locked() and self._keys_for(name) is not None and self._age() <= KEPT_SECONDS:
            return
        async with self._one:
            now = self._clock()
            if now - self._tried < AGAIN_SECONDS:
                return
            self._tried = now
            try:
                self._key_set = _KeySet(await self._fetch_keys(), now)
            except (NotFetched, _Unusable, BadToken) as error:
                self._metadata = None  # it may have changed
                _log.error("the keys of %s cannot be had: %s", self.url, error)

    async def _fetch_keys(self) -> Sequence[Any]:
        uri = self._jwks_uri or await self._place("jwks_uri")
        return read_keys(_json(await self._fetcher.get(uri)))

    async def _place(self, name: str) -> str:
        if self._metadata is None:
            self._metadata = await self._discover()
        place = self._metadata.get(name)
        if not isinstance(place, str):
            raise _Unusable(Worded(REASON_ISSUER_METADATA_MEMBER, {"name": name}))
        return place

    async def _discover(self) -> Mapping[str, Any]:
        """Fetch its metadata, which must name this issuer (RFC 8414, section 3.3)."""
        failed: Exception = _Unusable(Worded(REASON_ISSUER_WITHOUT_METADATA, {}))
        for url in issuer_places(self.url):
            try:
                document = _json(await self._fetcher.get(url))
            except (NotFetched, _Unusable) as error:
                failed = error
                continue
            if not is_object(document) or document.get("issuer") != self.url:
                raise _Unusable(Worded(REASON_ISSUER_METADATA_FOREIGN, {"url": url}))
            return document
        raise failed

    async def introspect(self, token: str) -> Claims:
        """Return the issuer's claims about a token that it calls active. Raises :class:`BadToken`, and :class:`Refused`
        if the issuer cannot be asked.
        """
        if self._login is None:
            raise BadToken(Worded(REASON_TOKEN_UNREADABLE, {}))
        if self._waiting >= _MAX_WAITING:
            raise Refused.unknowable()
        self._waiting += 1
        try:
            async with self._slots:
                return await self._ask(token, self._login)
        except (NotFetched, _Unusable) as error:
            self._complain(error)
            raise Refused.unknowable() from None
        finally:
            self._waiting -= 1

    def _complain(self, error: Exception) -> None:
        """Log the failure, at a limited rate."""
        now = self._clock()
        if now - self._complained >= AGAIN_SECONDS:
            self._complained = now
            _log.error("%s cannot be asked about tokens: %s", self.url, error)

    async def _ask(self, token: str, login: tuple[str, str]) -> Claims:
        endpoint = self._introspection_endpoint or await self._place("introspection_endpoint")
        answer = await self._check.ask(self._fetcher, endpoint, token, login)
        claims = None if answer.status in self._check.invalid else self._check.claims(_json(answer))
        if claims is None:
            raise BadToken(Worded(REASON_TOKEN_INACTIVE, {}))
        return claims


def _json(answer: Fetched) -> Any:
    if answer.status != 200:
        raise _Unusable(Worded(REASON_ISSUER_STATUS, {"status": answer.status}))
    try:
        return decode(answer.body)
    except RpcError as error:
        raise _Unusable(fact_of(error)) from None

"""Our client id at an issuer: a pre-registered one, the URL of a metadata document, or one from dynamic registration
(2026-07-28, basic/authorization/client-registration), in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tooltrue.client.auth.credentials import Credentials
from tooltrue.client.auth.metadata import IssuerMetadata, is_loopback_url
from tooltrue.client.auth.token_endpoint import problem_of
from tooltrue.client.auth.tokens import Registered, from_json, to_json
from tooltrue.client.wording import (
    CLIENT_NOT_REGISTERED,
    CLIENT_REGISTRATION_FAILED,
    REASON_HTTP_STATUS,
    REGISTERED_ISSUER_MISMATCH,
)
from tooltrue.errors import AuthorizationFailed, RpcError
from tooltrue.jsonrpc.messages import Json, decode, is_object
from tooltrue.protocol.types import Value
from tooltrue.transport.fetch import Fetched, Fetcher
from tooltrue.wording import Worded

__all__ = ["ClientIdentity", "Registry", "registration"]

_REFUSED_URIS = ("invalid_redirect_uri", "invalid_client_metadata")


class ClientIdentity(Value, frozen=True):
    """The client's identity from settings. ``client_id`` and ``client_secret`` were registered with ``issuer``, or are
    used with any issuer if none is named. ``metadata_url`` is the URL of a published client metadata document.
    """

    name: str = "tooltrue"
    client_id: str | None = None
    client_secret: str | None = None
    issuer: str | None = None
    metadata_url: str | None = None

    def __repr__(self) -> str:
        return f"ClientIdentity({self.client_id or self.metadata_url or self.name!r}, …)"


@dataclass(frozen=True, slots=True)
class Registry:
    """Our client ids, each stored under its issuer, and used with no other."""

    identity: ClientIdentity
    credentials: Credentials
    clock: Callable[[], float]

    def preferred(self, issuers: tuple[str, ...]) -> str:
        """Choose among the issuers that a server names: the one of our settings, if it is there, else the first."""
        agreed = self.identity.issuer
        return agreed if agreed in issuers else issuers[0]

    async def existing(self, issuer: IssuerMetadata) -> Registered | None:
        """Return the existing client id, if any. Raises ``AuthorizationFailed`` for one that belongs to another
        issuer.
        """
        identity = self.identity
        if identity.client_id is not None:
            if identity.issuer not in (None, issuer.issuer):
                raise AuthorizationFailed.of(
                    REGISTERED_ISSUER_MISMATCH, issuer=issuer.issuer, registered=identity.issuer
                )
            return Registered(issuer=issuer.issuer, client_id=identity.client_id, client_secret=identity.client_secret)
        if identity.metadata_url is not None and issuer.client_id_metadata_document_supported:
            return Registered(issuer=issuer.issuer, client_id=identity.metadata_url)
        stored = from_json(await self.credentials.read(_key(issuer.issuer)), Registered)
        if stored is None or stored.issuer != issuer.issuer or 0 < stored.expires_at <= self.clock():
            return None
        return stored

    async def keep(self, registered: Registered) -> None:
        """Store an id that has worked: a process that refreshes its tokens later may not have our settings."""
        await self.credentials.write(_key(registered.issuer), to_json(registered))

    async def forget(self, issuer: IssuerMetadata) -> None:
        """Delete a dynamically registered id that the issuer no longer knows."""
        await self.credentials.write(_key(issuer.issuer), None)

    async def register(self, fetcher: Fetcher, issuer: IssuerMetadata, redirect_uri: str) -> Registered:
        """Register this client (RFC 7591). Raises ``AuthorizationFailed`` and ``NotFetched``."""
        if issuer.registration_endpoint is None:
            raise AuthorizationFailed.of(CLIENT_NOT_REGISTERED, issuer=issuer.issuer)
        answer = await self._ask(fetcher, issuer, redirect_uri)
        if answer.status == 400 and _members(answer).get("error") in _REFUSED_URIS:
            # Some issuers accept loopback by its name only.
            redirect_uri = redirect_uri.replace("//127.0.0.1:", "//localhost:")
            answer = await self._ask(fetcher, issuer, redirect_uri)
        fields = _members(answer)
        id, secret, method = (
            fields.get("client_id"),
            fields.get("client_secret"),
            fields.get("token_endpoint_auth_method"),
        )
        if answer.status not in (200, 201) or not isinstance(id, str) or not id:
            problem = Worded(REASON_HTTP_STATUS, {"status": answer.status, "problem": problem_of(fields)})
            raise AuthorizationFailed.of(CLIENT_REGISTRATION_FAILED, issuer=issuer.issuer, problem=problem)
        ends = fields.get("client_secret_expires_at")
        registered = Registered(
            issuer=issuer.issuer,
            client_id=id,
            client_secret=secret if isinstance(secret, str) and secret else None,
            method=method if isinstance(method, str) else None,
            redirect_uri=redirect_uri,
            expires_at=float(ends) if isinstance(ends, int | float) else 0.0,
        )
        await self.keep(registered)
        return registered

    async def _ask(self, fetcher: Fetcher, issuer: IssuerMetadata, redirect_uri: str) -> Fetched:
        supported = issuer.token_endpoint_auth_methods_supported
        method = next(
            (one for one in ("none", "client_secret_basic", "client_secret_post") if one in (supported or ())), ""
        )
        metadata = registration(self.identity.name, [redirect_uri], method or "none")
        return await fetcher.post_json(issuer.registration_endpoint or "", metadata)


def registration(name: str, redirect_uris: Sequence[str], method: str) -> dict[str, Json]:
    """Return the registration metadata of a client: of one on a person's machine, if the browser comes back to it
    there."""
    return {
        "client_name": name,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native" if is_loopback_url(redirect_uris[0]) else "web",
    }


def _key(issuer: str) -> str:
    return f"client of {issuer}"


def _members(answer: Fetched) -> dict[str, Json]:
    try:
        members = decode(answer.body)
    except RpcError:
        return {}
    return members if is_object(members) else {}

"""Who gives out tokens for a server: what the server says of it, and what that issuer says of itself.

Everything here is said by others: it is fetched by the guarded fetcher, and believed only of whoever said it.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from toolwright.client.auth.tokens import Unusable
from toolwright.errors import RpcError
from toolwright.jsonrpc.messages import decode
from toolwright.protocol.wellknown import RESOURCE, issuer_places, resource_place
from toolwright.transport.fetch import Fetched, Fetcher, origin_of

__all__ = ["Issuer", "Resource", "canonical", "find_issuer", "find_resource", "is_loopback_url"]

T = TypeVar("T")


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself (RFC 9728)."""

    resource: str
    authorization_servers: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None


class Issuer(msgspec.Struct, frozen=True, kw_only=True):
    """What an authorization server says of itself (RFC 8414, OpenID Connect Discovery)."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    grant_types_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_signing_alg_values_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool | None = None
    client_id_metadata_document_supported: bool | None = None
    dpop_signing_alg_values_supported: tuple[str, ...] | None = None


async def find_resource(fetcher: Fetcher, url: str, named: str | None) -> Resource | None:
    """What the server at ``url`` says of itself: where it has said that this is, else at the places well known.

    ``None`` where there is nothing, as with servers of 2025-03-26. Raises :class:`Unusable` for what is no metadata of
    this server, and ``NotFetched``.
    """
    if named is not None:
        return _of_this_server(_read(await fetcher.get(named), Resource), url)
    root = urlsplit(url)._replace(path=RESOURCE, query="", fragment="").geturl()
    for place in dict.fromkeys((resource_place(canonical(url)), root)):
        answer = await fetcher.get(place)
        if answer.status == 200 and _is_json(answer):
            return _of_this_server(_read(answer, Resource), url)
    return None


def _of_this_server(resource: Resource, url: str) -> Resource:
    """Metadata of another server would have tokens made for that one, and brought here (RFC 9728, section 3.3)."""
    try:
        said, asked = urlsplit(resource.resource), urlsplit(url)
        same = origin_of(resource.resource.lower()) == origin_of(url.lower()) and not said.fragment
    except ValueError:
        same = False
        said = asked = urlsplit("")
    path = said.path.rstrip("/")
    if not same or not (asked.path == said.path or f"{asked.path}/".startswith(f"{path}/")):
        raise Unusable(f"the metadata is of another server, {resource.resource[:200]!r}")
    return resource


async def find_issuer(fetcher: Fetcher, issuer: str) -> Issuer | None:
    """What ``issuer`` says of itself; ``None`` where it says nothing. Raises :class:`Unusable` and ``NotFetched``."""
    for place in issuer_places(issuer):
        answer = await fetcher.get(place)
        if answer.status == 200 and _is_json(answer):
            found = _read(answer, Issuer)
            if found.issuer != issuer:  # to the letter: RFC 8414, section 3.3
                raise Unusable(f"{issuer[:200]} publishes metadata of another issuer, {found.issuer[:200]!r}")
            return found
    return None


def _is_json(answer: Fetched) -> bool:
    """Whether it is an object of JSON: some servers answer all paths with a page."""
    return answer.body.lstrip()[:1] == b"{"


def _read(answer: Fetched, shape: type[T]) -> T:
    if answer.status != 200:
        raise Unusable(f"its metadata is answered with HTTP status {answer.status}")
    try:
        return msgspec.convert(decode(answer.body), shape)
    except (RpcError, msgspec.ValidationError) as error:
        raise Unusable(f"its metadata is not valid: {error}".replace("`", "'")) from None


def canonical(url: str) -> str:
    """The URL of a server as tokens name it: scheme and host in lower case, nothing after the path (RFC 8707)."""
    parts = urlsplit(url)
    path = "" if parts.path == "/" else parts.path
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), path=path, fragment="").geturl()


def is_loopback_url(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, whatever it begins with
        return False

"""Discovery of the issuer of tokens for a server: the server's metadata, and that of the issuer.

All of it comes from others: it is fetched by the guarded fetcher, and each document counts only for its publisher.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from tooltrue.client.auth.tokens import Unusable
from tooltrue.client.wording import (
    REASON_METADATA_INVALID,
    REASON_METADATA_OF_OTHER_ISSUER,
    REASON_METADATA_OF_OTHER_SERVER,
    REASON_METADATA_STATUS,
)
from tooltrue.errors import RpcError, fact_of
from tooltrue.jsonrpc.messages import decode
from tooltrue.protocol.wellknown import RESOURCE, issuer_places, resource_place
from tooltrue.transport.fetch import Fetched, Fetcher
from tooltrue.transport.urls import origin_of
from tooltrue.wording import Worded

__all__ = ["IssuerMetadata", "ResourceMetadata", "canonical", "find_issuer", "find_resource", "is_loopback_url"]

T = TypeVar("T")


class ResourceMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Protected resource metadata of a server (RFC 9728)."""

    resource: str
    authorization_servers: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None


class IssuerMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """Metadata of an authorization server (RFC 8414, OpenID Connect Discovery)."""

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


async def find_resource(fetcher: Fetcher, url: str, named: str | None) -> ResourceMetadata | None:
    """Return the metadata of the server at ``url``: from the place that it has ``named``, else from the well-known
    places.

    Returns ``None`` if there is none, as with servers of 2025-03-26. Raises :class:`Unusable` for invalid metadata or
    that of another server, and ``NotFetched``.
    """
    if named is not None:
        return _of_this_server(_read(await fetcher.get(named), ResourceMetadata), url)
    root = urlsplit(url)._replace(path=RESOURCE, query="", fragment="").geturl()
    for place in dict.fromkeys((resource_place(canonical(url)), root)):
        answer = await fetcher.get(place)
        if answer.status == 200 and _is_json(answer):
            return _of_this_server(_read(answer, ResourceMetadata), url)
    return None


def _of_this_server(resource: ResourceMetadata, url: str) -> ResourceMetadata:
    """Refuse metadata of another server: tokens would be issued for that one, and sent here (RFC 9728, section 3.3)."""
    try:
        declared, requested = urlsplit(resource.resource), urlsplit(url)
        same = origin_of(resource.resource.lower()) == origin_of(url.lower()) and not declared.fragment
    except ValueError:
        same = False
        declared = requested = urlsplit("")
    path = declared.path.rstrip("/")
    if not same or not (requested.path == declared.path or f"{requested.path}/".startswith(f"{path}/")):
        raise Unusable(Worded(REASON_METADATA_OF_OTHER_SERVER, {"resource": resource.resource[:200]}))
    return resource


async def find_issuer(fetcher: Fetcher, issuer: str) -> IssuerMetadata | None:
    """Return the metadata of ``issuer``, or ``None`` if it publishes none. Raises :class:`Unusable` and
    ``NotFetched``.
    """
    for place in issuer_places(issuer):
        answer = await fetcher.get(place)
        if answer.status == 200 and _is_json(answer):
            metadata = _read(answer, IssuerMetadata)
            if metadata.issuer != issuer:  # to the letter: RFC 8414, section 3.3
                raise Unusable(
                    Worded(REASON_METADATA_OF_OTHER_ISSUER, {"issuer": issuer[:200], "other": metadata.issuer[:200]})
                )
            return metadata
    return None


def _is_json(answer: Fetched) -> bool:
    """Whether the body may be a JSON object: some servers answer all paths with a page."""
    return answer.body.lstrip()[:1] == b"{"


def _read(answer: Fetched, shape: type[T]) -> T:
    if answer.status != 200:
        raise Unusable(Worded(REASON_METADATA_STATUS, {"status": answer.status}))
    try:
        return msgspec.convert(decode(answer.body), shape)
    except RpcError as error:
        raise Unusable(Worded(REASON_METADATA_INVALID, {"problem": fact_of(error)})) from None
    except msgspec.ValidationError as error:
        problem = str(error).replace("`", "'")
        raise Unusable(Worded(REASON_METADATA_INVALID, {"problem": problem})) from None


def canonical(url: str) -> str:
    """The URL of a server as tokens name it: scheme and host in lower case, no fragment, no bare slash (RFC 8707)."""
    parts = urlsplit(url)
    path = "" if parts.path == "/" else parts.path
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), path=path, fragment="").geturl()


def is_loopback_url(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, even if it begins like an address
        return False

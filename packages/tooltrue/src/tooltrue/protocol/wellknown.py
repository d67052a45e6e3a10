"""Well-known URLs of authorization metadata (RFC 8414, OpenID Connect Discovery, RFC 9728). Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["RESOURCE", "issuer_places", "resource_place"]

RESOURCE = "/.well-known/oauth-protected-resource"


def issuer_places(issuer: str) -> tuple[str, ...]:
    """The candidate URLs of an issuer's metadata, in order (basic/authorization/authorization-server-discovery)."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    places = (
        f"/.well-known/oauth-authorization-server{path}",
        f"/.well-known/openid-configuration{path}",
        *([f"{path}/.well-known/openid-configuration"] if path else []),
    )
    return tuple(parts._replace(path=place).geturl() for place in places)


def resource_place(resource: str) -> str:
    """The URL of a resource's metadata: the well-known path, followed by the resource's own path."""
    parts = urlsplit(resource)
    return parts._replace(path=RESOURCE + parts.path.rstrip("/")).geturl()

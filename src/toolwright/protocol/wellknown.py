"""Where the metadata of authorization is published (RFC 8414, OpenID Connect Discovery, RFC 9728). Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["RESOURCE", "issuer_places", "resource_place"]

RESOURCE = "/.well-known/oauth-protected-resource"


def issuer_places(issuer: str) -> tuple[str, ...]:
    """Where an issuer's metadata may be, in this order (basic/authorization/authorization-server-discovery)."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    places = (
        f"/.well-known/oauth-authorization-server{path}",
        f"/.well-known/openid-configuration{path}",
        *([f"{path}/.well-known/openid-configuration"] if path else []),
    )
    return tuple(parts._replace(path=place).geturl() for place in places)


def resource_place(resource: str) -> str:
    """Where the metadata of a resource is, its path behind the well-known one."""
    parts = urlsplit(resource)
    return parts._replace(path=RESOURCE + parts.path.rstrip("/")).geturl()

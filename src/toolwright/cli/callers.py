"""Who may call over HTTP, as the command line says it. Plain data, for workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolwright.errors import ConfigurationError
from toolwright.loading import load

if TYPE_CHECKING:  # each is loaded when it is asked for
    from toolwright.app import Server
    from toolwright.server.identity import Authentication

__all__ = ["Callers"]


@dataclass(frozen=True, slots=True)
class Callers:
    """``keys`` is a file; tokens are ``oauth``'s for ``resource``, with ``scopes``; ``public`` is whoever comes."""

    keys: str | None = None
    oauth: str | None = None
    resource: str | None = None
    scopes: Sequence[str] = ()
    public: bool = False

    @property
    def said(self) -> str | None:
        """The option that says something, if any does."""
        options = {"--keys": self.keys, "--oauth": self.oauth, "--resource": self.resource, "--scope": self.scopes}
        return next((option for option, value in {**options, "--public": self.public}.items() if value), None)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The name under which clients know the server."""
        name = urlsplit(self.resource or "").hostname
        return (name,) if name else ()

    def let_into(self, server: Server) -> None:
        """Have ``server`` know its callers so. ``ConfigurationError`` where that cannot be, or is decided already."""
        ways = self._ways()
        if ways and server.authenticate is not None:
            raise ConfigurationError.of("TW4206", target=server.name, option=self.said)
        if ways:
            server.authenticate = ways

    def _ways(self) -> list[Authentication]:
        if (self.oauth is None) != (self.resource is None) or (self.scopes and self.oauth is None):
            raise ConfigurationError.of("TW4205", option="--resource URL", other="--oauth ISSUER")
        ways: list[Authentication] = []
        if self.keys is not None:
            ways.append(load("server.keys:ApiKeys")(self.keys))
        if self.oauth is not None:
            ways.append(load("server.oauth:OAuth")(issuer=self.oauth, resource=self.resource, scopes=self.scopes))
        if self.public:
            ways.append(load("server.proxies:Public")())
        return ways

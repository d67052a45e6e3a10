"""Who calls, as a proxy before us says, and whoever comes, by address. The proxy is believed by its own address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolwright.errors import ConfigurationError
from toolwright.server.identity import Authentication, Refused
from toolwright.tools.toolset import Principal
from toolwright.transport.addresses import IpAddress, Networks, caller_of, networks, parse
from toolwright.transport.carrier import Carrier

__all__ = ["Public", "TrustedProxy"]

_FORWARDED = "x-forwarded-for"
_MAX_NAME = 512


class TrustedProxy(Authentication):
    """A proxy that has authenticated the caller (single sign-on, mTLS), and says so in a header.

    ``addresses`` are the proxy's, or networks; from elsewhere the header means nothing. ``user_header`` names the
    caller, who is ``user:NAME``; ``scopes_header`` what it may, with spaces between. ``demand`` are headers that have
    to say just this, such as ``{"x-client-verify": "SUCCESS"}`` where a proxy passes the subject of a certificate on
    before it has verified it. The proxy has to remove all of them from what clients send.
    """

    def __init__(
        self,
        addresses: Iterable[str],
        *,
        user_header: str = "x-forwarded-user",
        scopes_header: str | None = None,
        demand: Mapping[str, str] | None = None,
    ) -> None:
        self._trusted = _networks("TrustedProxy(addresses=…)", addresses)
        self.shown = f"who the proxy at {', '.join(map(str, self._trusted))} says"
        self._user = user_header.lower()
        self._scopes = None if scopes_header is None else scopes_header.lower()
        self._demand = {name.lower(): value for name, value in (demand or {}).items()}
        self.headers = (self._user, *([self._scopes] if self._scopes else []), *self._demand)

    async def principal(self, carrier: Carrier) -> Principal | None:
        headers = carrier.headers or {}
        name = headers.get(self._user, "").strip()
        if not name or not _is_in(self._trusted, parse(carrier.peer or "")):
            return None
        if any(headers.get(header) != value for header, value in self._demand.items()):
            return None
        if len(name) > _MAX_NAME or not name.isprintable():
            raise Refused.token("the proxy gives no name that can be one")
        scopes = headers.get(self._scopes, "") if self._scopes else ""
        return Principal(f"user:{name}", frozenset(scopes.split()))


class Public(Authentication):
    """Whoever comes, known by address alone: an explicit choice. IPv6 counts by /64, ``address:2001:db8::/64``.

    Behind a proxy all come from one address: ``proxies`` are believed about whom they forward for.
    """

    shown = "whoever comes, by address"

    def __init__(self, *, proxies: Iterable[str] = ()) -> None:
        self._trusted = _networks("Public(proxies=…)", proxies)

    async def principal(self, carrier: Carrier) -> Principal | None:
        address = parse(carrier.peer or "")
        if address is not None and _is_in(self._trusted, address):
            address = self._forwarded((carrier.headers or {}).get(_FORWARDED, ""), address)
        return Principal("address:unknown" if address is None else f"address:{caller_of(address)}")

    def _forwarded(self, said: str, peer: IpAddress) -> IpAddress:
        """The last address that a trusted proxy has not; whatever stands before it, the caller may have written."""
        for text in reversed(said.split(",")):
            address = parse(text.strip())
            if address is None:
                return peer
            if not _is_in(self._trusted, address):
                return address
            peer = address
        return peer


def _networks(setting: str, texts: Iterable[str]) -> Networks:
    try:
        return networks(texts)
    except ValueError as error:
        raise ConfigurationError.of("TW4009", name=setting, wanted=f"addresses and networks ({error})") from None


def _is_in(trusted: Networks, address: IpAddress | None) -> bool:
    return address is not None and any(address in network for network in trusted)

"""Callers identified by a trusted proxy in front of the server, or by address alone. The proxy is trusted by its
address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tooltrue.errors import ConfigurationError
from tooltrue.server.identity import Authentication, Refused
from tooltrue.server.wording import LABEL_ADDRESSES_AND_NETWORKS, REASON_PROXY_NAME_INVALID
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.addresses import IpAddress, Networks, caller_of, networks, parse
from tooltrue.transport.carrier import Carrier
from tooltrue.wording import SETTING_INVALID, Worded

__all__ = ["Public", "TrustedProxy"]

_FORWARDED = "x-forwarded-for"
_MAX_NAME = 512


class TrustedProxy(Authentication):
    """A proxy that has authenticated the caller (single sign-on, mTLS), and names it in a header.

    ``addresses`` are the proxy's addresses or networks; headers from other addresses are ignored. ``user_header`` names
    the caller, who becomes ``user:NAME``; ``scopes_header`` lists its scopes, separated by spaces. ``demand`` are
    headers that must have exactly these values, such as ``{"x-client-verify": "SUCCESS"}`` for a proxy that passes the
    subject of a certificate on before it has verified it. The proxy has to remove all of them from the requests of
    clients.
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
            raise Refused.token(Worded(REASON_PROXY_NAME_INVALID, {}))
        scopes = headers.get(self._scopes, "") if self._scopes else ""
        return Principal(f"user:{name}", frozenset(scopes.split()))


class Public(Authentication):
    """Any caller, identified by address alone: an explicit choice. IPv6 counts by /64, ``address:2001:db8::/64``.

    Behind a proxy all requests have one address: ``proxies`` are trusted to name the address that they forward for.
    """

    shown = "whoever comes, by address"

    def __init__(self, *, proxies: Iterable[str] = ()) -> None:
        self._trusted = _networks("Public(proxies=…)", proxies)

    async def principal(self, carrier: Carrier) -> Principal | None:
        address = parse(carrier.peer or "")
        if address is not None and _is_in(self._trusted, address):
            address = self._forwarded((carrier.headers or {}).get(_FORWARDED, ""), address)
        return Principal("address:unknown" if address is None else f"address:{caller_of(address)}")

    def _forwarded(self, header: str, peer: IpAddress) -> IpAddress:
        """The last address that is not a trusted proxy; the caller may have written any address before it."""
        for text in reversed(header.split(",")):
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
        raise ConfigurationError.of(
            SETTING_INVALID, name=setting, wanted=Worded(LABEL_ADDRESSES_AND_NETWORKS, {"problem": error})
        ) from None


def _is_in(trusted: Networks, address: IpAddress | None) -> bool:
    return address is not None and any(address in network for network in trusted)

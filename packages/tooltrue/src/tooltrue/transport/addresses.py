"""Classification of IP addresses: loopback, private, public, and the unit that counts as one caller. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

__all__ = ["IpAddress", "Networks", "caller_of", "is_local", "is_loopback", "is_public", "networks", "parse"]

IpAddress: TypeAlias = IPv4Address | IPv6Address
Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]

# Networks that `is_global` admits although they lead inside a network, or to any host that announces them: a cloud
# metadata service, and the encodings of IPv4 addresses in IPv6.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "168.63.129.16/32",
            "192.0.0.0/24",
            "192.88.99.0/24",
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "2001::/23",
            "2002::/16",
            "3fff::/20",  # for documentation; unknown to older Pythons
            "fec0::/10",
            "::/96",
        ),
    )
)
_PRIVATE = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))
# Cloud metadata services within private IPv6 networks: Amazon's for machines and for pods, and Google's.
_METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254")))
_OF_A_CALLER = 64


def parse(text: str) -> IpAddress | None:
    """The address, unwrapped if it is an IPv4-mapped IPv6 address; ``None`` for other text. The zone is ignored."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def is_loopback(text: str) -> bool:
    address = parse(text)
    return address is not None and address.is_loopback


def is_public(address: IpAddress) -> bool:
    """Whether the address is on the public internet and cannot lead into a private network."""
    return (
        address.is_global
        and not (address.is_multicast or address.is_reserved)
        and not any(address in network for network in _NOT_PUBLIC)
    )


def is_local(address: IpAddress) -> bool:
    """Whether the address is loopback or private. Link-local ones do not count: clouds serve credentials there."""
    return address not in _METADATA and (address.is_loopback or any(address in network for network in _PRIVATE))


def networks(texts: Iterable[str]) -> Networks:
    """Parse addresses and networks (``10.0.0.0/8``). Raises ``ValueError`` for other text."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def caller_of(address: IpAddress) -> str:
    """The unit that counts as one caller: an IPv4 address, or the /64 network of an IPv6 one (one customer)."""
    if isinstance(address, IPv4Address):
        return str(address)
    return f"{IPv6Address(int(address) >> _OF_A_CALLER << _OF_A_CALLER)}/{_OF_A_CALLER}"

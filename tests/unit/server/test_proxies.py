"""Principals from a proxy's headers or from an address, accepted from the configured source only."""

from __future__ import annotations

import asyncio

import pytest

from tooltrue import ConfigurationError, Principal, Public, TrustedProxy
from tooltrue.server.identity import Authentication, Refused, methods_of, principal_of
from tooltrue.transport.carrier import Carrier


def caller(way: Authentication, peer: str | None, **headers: str) -> Principal | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(way.principal(Carrier("http", named, peer)))


PROXY = TrustedProxy(["10.0.0.0/8", "::1"], scopes_header="X-Scopes")


@pytest.mark.parametrize("peer", ["10.1.2.3", "::ffff:10.1.2.3", "::1"])
def test_the_user_and_scopes_in_the_headers_of_a_trusted_proxy_are_accepted(peer: str):
    found = caller(PROXY, peer, x_forwarded_user="ada", x_scopes="read write")
    assert found == Principal("user:ada", frozenset({"read", "write"}))


@pytest.mark.parametrize("peer", ["11.0.0.1", "192.0.2.1", "::2", None, "", "10.0.0.1.evil"])
def test_from_elsewhere_the_header_means_nothing(peer: str | None):
    assert caller(PROXY, peer, x_forwarded_user="ada") is None


@pytest.mark.parametrize("name", ["x" * 513, "a\tb", "a\u202eb"])
def test_a_name_that_is_none_is_refused(name: str):
    with pytest.raises(Refused):
        caller(PROXY, "10.0.0.1", x_forwarded_user=name)


@pytest.mark.parametrize("name", ["", "  "])
def test_a_proxy_request_without_a_user_name_is_unauthenticated(name: str):
    assert caller(PROXY, "10.0.0.1", x_forwarded_user=name) is None


@pytest.mark.parametrize("verified", ["NONE", "FAILED:expired", "success", ""])
def test_a_certificate_that_the_proxy_has_not_verified_authenticates_no_principal(verified: str):
    way = TrustedProxy(["10.0.0.1"], user_header="X-Subject", demand={"X-Verified": "SUCCESS"})
    assert caller(way, "10.0.0.1", x_subject="CN=ada,O=Acme", x_verified=verified) is None
    assert caller(way, "10.0.0.1", x_subject="CN=ada,O=Acme", x_verified="SUCCESS") == Principal("user:CN=ada,O=Acme")


def test_the_headers_of_a_proxy_may_not_stand_twice():
    way = TrustedProxy(["10.0.0.1"], user_header="X-Subject", scopes_header="X-Scopes", demand={"X-Verified": "1"})
    assert way.headers == ("x-subject", "x-scopes", "x-verified")


@pytest.mark.parametrize(
    ("peer", "forwarded", "principal"),
    [
        ("192.0.2.1", "198.51.100.9", "address:192.0.2.1"),
        ("10.0.0.1", "198.51.100.9", "address:198.51.100.9"),
        ("10.0.0.1", "203.0.113.1, 198.51.100.9", "address:198.51.100.9"),
        ("10.0.0.1", "198.51.100.9, 10.0.0.2", "address:198.51.100.9"),
        ("10.0.0.1", "198.51.100.9, nonsense", "address:10.0.0.1"),
        ("10.0.0.1", "", "address:10.0.0.1"),
        ("2001:db8::1", "", "address:2001:db8::/64"),
        (None, "", "address:unknown"),
    ],
)
def test_a_public_principal_is_an_address_that_the_caller_cannot_spoof(
    peer: str | None, forwarded: str, principal: str
):
    assert caller(Public(proxies=["10.0.0.0/8"]), peer, x_forwarded_for=forwarded) == Principal(principal)


@pytest.mark.parametrize("address", ["10.0.0.1/8", "proxy.example", ""])
def test_an_invalid_proxy_address_is_refused_at_once(address: str):
    with pytest.raises(ConfigurationError):
        TrustedProxy([address])
    with pytest.raises(ConfigurationError):
        Public(proxies=[address])


def test_of_several_ways_the_first_that_applies_counts():
    def either(peer: str, **headers: str) -> Principal:
        ways = methods_of([PROXY, Public()])
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(principal_of(Carrier("http", named, peer), ways))

    assert either("10.0.0.1", x_forwarded_user="ada") == Principal("user:ada")
    assert either("10.0.0.1") == Principal("address:10.0.0.1")


def test_an_authentication_function_may_be_asynchronous():
    async def ask(carrier: Carrier) -> Principal | None:
        return Principal("ada") if carrier.peer == "10.0.0.1" else None

    assert asyncio.run(principal_of(Carrier("http", {}, "10.0.0.1"), methods_of(ask))) == Principal("ada")
    with pytest.raises(Refused) as caught:
        asyncio.run(principal_of(Carrier("http", {}, "10.0.0.2"), methods_of(ask)))
    assert caught.value.code == "TT1101"

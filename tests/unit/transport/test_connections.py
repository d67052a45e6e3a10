"""Places for connections: in all, and of one address."""

from __future__ import annotations

import pytest

from tooltrue.transport.connection_limit import ConnectionLimit


def entered(connections: ConnectionLimit, *addresses: str) -> list[bool]:
    return [connections.enter(address) is not None for address in addresses]


def test_b54_one_address_does_not_take_the_places_of_all():
    assert entered(ConnectionLimit(4), *["192.0.2.1"] * 3, "192.0.2.2") == [True, True, False, True]
    assert entered(ConnectionLimit(9, 1), "192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1") == [True, False, False]


def test_b54_a_network_that_one_customer_has_is_one_address():
    addresses = ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")
    assert entered(ConnectionLimit(9, 1), *addresses) == [True, False, True]


def test_b54_there_is_an_end_of_places_for_all_together():
    assert entered(ConnectionLimit(2), "192.0.2.1", "192.0.2.2", "192.0.2.3") == [True, True, False]


def test_b54_twin_a_closed_connection_frees_its_slot():
    connections = ConnectionLimit(2, 1)
    for _ in range(1_000):
        caller = connections.enter("192.0.2.1")
        assert caller is not None
        connections.leave(caller)


@pytest.mark.parametrize("address", ["10.0.3.7", ""])
def test_b54_twin_a_proxy_and_a_local_socket_speak_for_many(address: str):
    assert entered(ConnectionLimit(3, 1, ["10.0.3.0/24"]), *[address] * 4) == [True, True, True, False]


@pytest.mark.needs("limits")
def test_there_are_fewer_places_than_files_that_may_be_open(monkeypatch: pytest.MonkeyPatch):
    import resource  # noqa: PLC0415 - where it is

    for limit, most in ((1_024, 896), (100_000, 2_000), (resource.RLIM_INFINITY, 2_000), (64, 1)):
        limits = {resource.RLIMIT_NOFILE: (limit, limit)}
        monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
        assert ConnectionLimit().most == most

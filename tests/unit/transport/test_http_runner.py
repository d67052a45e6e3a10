"""Where an HTTP server may listen, and the companion of its workers."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import uvicorn

from tooltrue.errors import ConfigurationError
from tooltrue.transport import http_runner
from tooltrue.transport.http_runner import Address, check_bind, hosts_of, parse_address


@pytest.mark.parametrize(
    ("text", "address", "shown"),
    [
        ("127.0.0.1:80", Address("127.0.0.1", 80), "127.0.0.1:80"),
        (":8000", Address("127.0.0.1", 8000), "127.0.0.1:8000"),
        ("[::1]:0", Address("::1", 0), "[::1]:0"),
        ("localhost:65535", Address("localhost", 65535), "localhost:65535"),
        ("example.org:1", Address("example.org", 1), "example.org:1"),
    ],
)
def test_an_address_is_read_and_shown(text: str, address: Address, shown: str):
    assert parse_address(text) == address
    assert address.netloc == shown


@pytest.mark.parametrize(
    "text", ["", "8000", "localhost", "localhost:", "a:b", ":65536", ":-1", ":+1", ": 1", ":1_0", ":²"]
)
def test_an_invalid_address_is_refused_with_the_accepted_forms(text: str):
    with pytest.raises(ConfigurationError) as caught:
        parse_address(text)
    assert caught.value.code == "TT4003"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "::1"])
def test_a_loopback_address_needs_no_authentication(host: str):
    check_bind(Address(host, 1), authenticates=False)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.evil.org", "LOCALHOST.", "127.1", "0", "2130706433"]
)
def test_anything_else_is_refused_without_authentication(host: str):
    with pytest.raises(ConfigurationError) as caught:
        check_bind(Address(host, 1), authenticates=False)
    assert caught.value.code == "TT4005"
    check_bind(Address(host, 1), authenticates=True)


def test_an_endpoint_answers_to_loopback_names_and_to_its_own():
    assert hosts_of(Address("127.0.0.1", 1)) == ("localhost", "127.0.0.1", "[::1]")
    assert hosts_of(Address("Example.org", 1))[-1] == "example.org"
    assert hosts_of(Address("fd00::1", 1))[-1] == "[fd00::1]"


class CountingCompanion:
    """Counts how often it is to be kept alive."""

    def __init__(self) -> None:
        self.times = 0

    def start(self) -> None: ...

    def keep_alive(self) -> None:
        self.times += 1

    def end(self) -> None: ...


@pytest.fixture
def signal_handlers() -> Iterator[None]:
    """The handlers of this process are restored."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield
    for number, handler in before.items():
        if handler is not None and handler != signal.getsignal(number):
            signal.signal(number, handler)


@pytest.mark.needs("signals")
@pytest.mark.usefixtures("signal_handlers")
def test_a_companion_that_the_stop_signal_has_ended_too_is_not_started_again() -> None:
    companion = CountingCompanion()
    workers = http_runner._Supervisor(uvicorn.Config("none:none", workers=2), [], companion)  # pyright: ignore[reportPrivateUsage]
    workers.keep_subprocess_alive()
    workers.signal_queue.append(signal.SIGTERM)
    workers.keep_subprocess_alive()
    assert companion.times == 1

"""The guarded fetcher: accepted responses, permitted addresses, and timeouts. Attacks are in tests/security."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.certificates import certificate
from tooltrue.testing.state import LIMIT
from tooltrue.transport.addresses import caller_of, is_local, is_public, networks, parse
from tooltrue.transport.fetch import Fetched, Fetcher, NotFetched
from tooltrue.transport.urls import origin_of


def fetched(
    answer: bytes, *, seconds: float = LIMIT, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> tuple[Fetched, list[bytes]]:
    """The result of a fetch from a loopback server with this answer, and the requests that the server received."""
    asked: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.suppress(OSError))
            connection = stack.enter_context(connection)
            if tls is not None:
                connection = stack.enter_context(tls.wrap_socket(connection, server_side=True))
            asked.append(connection.recv(65_536))
            connection.sendall(answer)
            while seconds < 1 and connection.recv(65_536):  # until the other end has had enough
                pass

    async def names(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve, args=[listening])
        server.start()
        url = f"{'http' if tls is None else 'https'}://{host}:{listening.getsockname()[1]}/a?b=c"
        try:
            return asyncio.run(Fetcher([url], resolve=names, seconds=seconds).get(url)), asked
        finally:
            # If the fetcher gave up before it connected, the server still waits for a connection.
            with contextlib.suppress(OSError):
                socket.create_connection(listening.getsockname()).close()
            server.join()


def test_a_host_is_asked_by_its_name_at_the_address_that_was_looked_at():
    answer, [asked] = fetched(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", host="issuer.example")
    assert answer == Fetched(200, b"hi")
    assert asked.startswith(b"GET /a?b=c HTTP/1.1\r\nhost: issuer.example:")


@pytest.mark.parametrize("name", ["issuer.example", "other.example"])
def test_the_certificate_has_to_be_that_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    pem = certificate(tmp_path, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pem)
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    if name == "issuer.example":
        assert fetched(answer, host="issuer.example", tls=tls)[0].body == b"hi"
    else:
        with pytest.raises(NotFetched, match=r"issuer\.example"):
            fetched(answer, host="issuer.example", tls=tls)


def test_no_redirect_is_followed():
    answer, asked = fetched(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n")
    assert (answer.status, len(asked)) == (302, 1)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_100_000,
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n" + b"x" * 1_100_000,
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"nonsense\r\n\r\n",
        b"",
    ],
    ids=["without end", "huge", "short", "nonsense", "nothing"],
)
def test_an_answer_that_is_too_large_or_broken_is_none(answer: bytes):
    with pytest.raises(NotFetched) as caught:
        fetched(answer)
    assert caught.value.code == "TT4211"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nx"])
def test_an_answer_that_does_not_come_is_not_waited_for(answer: bytes):
    with pytest.raises(NotFetched):
        fetched(answer, seconds=0.05)


def test_an_unresolvable_host_is_not_fetched():
    async def nowhere(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    with pytest.raises(NotFetched, match="Name or service"):
        asyncio.run(Fetcher(resolve=nowhere).get("https://nowhere.example/"))


def test_a_name_that_the_operator_set_may_be_inside_but_never_link_local():
    async def names(host: str, port: int) -> list[str]:
        return {"inside.example": ["10.0.0.1"], "metadata.example": ["169.254.169.254"]}[host]

    with pytest.raises(NotFetched) as caught:
        asyncio.run(Fetcher(["https://metadata.example"], resolve=names).get("https://metadata.example/"))
    assert caught.value.code == "TT4210"
    with pytest.raises(NotFetched) as caught:
        asyncio.run(Fetcher(["https://inside.example:8443"], resolve=names).get("https://inside.example/"))
    assert caught.value.code == "TT4210"


@given(st.ip_addresses())
def test_no_address_is_both_public_and_of_a_private_network(address: object):
    found = parse(str(address))
    assert found is not None
    assert not (is_public(found) and is_local(found))


@given(st.ip_addresses(v=4))
def test_an_address_in_other_clothes_is_the_same_caller(address: object):
    plain, dressed = parse(str(address)), parse(f"::ffff:{address}")
    assert plain is not None
    assert dressed is not None
    assert plain == dressed
    assert caller_of(plain) == caller_of(dressed) == str(address)


@given(st.ip_addresses(v=6), st.integers(0, 2**64 - 1))
def test_all_of_a_64_are_one_caller(address: object, host: int):
    [network] = networks([f"{address}/128"])
    other = parse(str(network.supernet(new_prefix=64)[host]))
    first = parse(str(address))
    if first is not None and other is not None and first.version == other.version == 6:
        assert caller_of(first) == caller_of(other)


@pytest.mark.parametrize("url", ["https://a@b/", "https://", "ftp://a/", "https://ä.example/", "https://a:x/", "a"])
def test_an_invalid_url_has_no_origin(url: str):
    with pytest.raises(ValueError):  # noqa: PT011 - of the standard library, or ours
        origin_of(url)

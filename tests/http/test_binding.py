"""Where a server may listen: beyond loopback only with authentication."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tooltrue.errors import ConfigurationError
from tooltrue.testing.state import LIMIT
from tooltrue.transport.http_runner import Address, check_bind, hosts_of, parse_address


@pytest.mark.requirement("HTTP-04")
@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8000", Address("127.0.0.1", 8000)),
        ("localhost:1", Address("localhost", 1)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[::1]:65535", Address("::1", 65535)),
        ("0.0.0.0:80", Address("0.0.0.0", 80)),
        ("tools.example:80", Address("tools.example", 80)),
    ],
)
def test_an_address_is_read(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "8000", "localhost", "localhost:", "localhost:x", ":65536", ":-1", ":²"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_address(text)
    assert caught.value.code == "TT4003"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1"])
def test_loopback_needs_no_authentication(host: str) -> None:
    check_bind(Address(host, 80), authenticates=False)


@pytest.mark.requirement("HTTP-04", "HTTP-05")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "8.8.8.8", "tools.example", "localhost.example", ""])
def test_anywhere_else_does(host: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_bind(Address(host, 80), authenticates=False)
    assert caught.value.code == "TT4005"
    check_bind(Address(host, 80), authenticates=True)


def test_the_address_itself_is_a_name_of_the_endpoint() -> None:
    assert hosts_of(Address("::1", 80)) == ("localhost", "127.0.0.1", "[::1]")
    assert hosts_of(Address("Tools.example", 80)) == ("localhost", "127.0.0.1", "[::1]", "tools.example")


@pytest.mark.process
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_the_command_line_refuses_with_a_sentence(tmp_path: Path, address: str) -> None:
    command = [Path(sys.executable).with_name("tooltrue"), "serve", "files", "--root", tmp_path, "--http", address]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env={"LANG": "C"}, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "[TT4005]" in ended.stderr
    assert "Traceback" not in ended.stderr

"""The console beside the endpoint of a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tooltrue import Server
from tooltrue.cli import plugins
from tooltrue.cli.plugins import CONSOLES, not_installed
from tooltrue.errors import ConfigurationError
from tooltrue.server.keys import ApiKeys, Key, new_key
from tooltrue.transport.lifespans import lifespan_of
from tooltrue_console.beside import CONSOLE
from tooltrue_console.sessions import READ
from tooltrue_console.web import HEADERS


def asked(server: Server, *requests: tuple[str, str, dict[str, Any]]) -> list[httpx2.Response]:
    async def main() -> list[httpx2.Response]:
        app = server.http_app(signals=False)
        transport = httpx2.ASGITransport(app)
        async with (
            lifespan_of(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost:8000") as client,
        ):
            return [await client.request(method, path, **more) for method, path, more in requests]

    return asyncio.run(main())


def test_the_console_stands_beside_the_endpoint_with_its_own_sign_in(tmp_path: Path):
    key, digest = new_key("ann")
    server = Server("attic", authenticate=ApiKeys({"ann": Key(digest, frozenset({READ}))}), audit=False)
    CONSOLE.mount(server, is_loopback=False)
    start, sign_in, other, endpoint = asked(
        server,
        ("GET", "/console/approvals", {}),
        ("GET", "/console/sign-in", {}),
        ("GET", "/console/sign-in", {"headers": {"host": "evil.example"}}),
        ("POST", "/mcp", {"json": {}}),
    )
    assert (start.status_code, start.headers["location"]) == (303, "/console/sign-in")
    assert HEADERS.items() <= dict(sign_in.headers).items()
    assert 'name="key"' in sign_in.text
    assert 'id="link"' not in sign_in.text
    assert (other.status_code, endpoint.status_code) == (403, 401)
    assert key not in sign_in.text


def test_beyond_this_machine_there_is_no_console_without_a_way_to_sign_in():
    server = Server("attic", audit=False)
    with pytest.raises(ConfigurationError) as caught:
        CONSOLE.announce(server, "http://10.0.0.1:8000", is_loopback=False)
    assert caught.value.code == "TT9411"


def test_the_link_goes_to_no_stream_that_is_no_terminal(capsys: pytest.CaptureFixture[str]):
    CONSOLE.announce(Server("attic", audit=False), "http://127.0.0.1:8000", is_loopback=True)
    output = capsys.readouterr()
    assert "/sign-in#" not in output.err + output.out
    assert "tooltrue console --link" in output.err


def test_a_missing_distribution_is_told_with_the_command_that_adds_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plugins, "_plugins", lambda group: {})
    error = not_installed(CONSOLES, "console")
    assert error is not None
    assert error.code == "TT4072"
    assert "tooltrue-console" in error.say()

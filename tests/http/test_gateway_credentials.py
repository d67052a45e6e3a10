"""The credentials of a gateway at its servers: a secret header, and client credentials, each for its own server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.issuing.server import Issuing
from support.issuing.visiting import serving
from support.wire.mounting import Mounts
from tooltrue import ApiKeys, Client, ConfigurationError, Context, Server
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.keys import Key, new_key
from tooltrue.testing.state import LIMIT

KEY, DIGEST = new_key("gateway")
PATIENCE = {"patience": Patience(ready=LIMIT)}


def behind(gateway: Gateway, tool: str) -> Any:
    """The value of a tool, called through the gateway."""

    async def run() -> Any:
        async with Client(gateway) as client:
            return (await client.call_tool(tool)).value

    return asyncio.run(run())


def gateway_of(text: str, **urls: str) -> Gateway:
    servers = tuple(ServerConfig(label, label, url=url) for label, url in urls.items())
    operator = read_operator_config("tooltrue.toml", text)
    return Gateway(HostConfig("", Path(), servers), operator=operator, confirm=Confirm.never(), host_settings=PATIENCE)


def keyed() -> Server:
    server = Server("keyed", authenticate=ApiKeys({"gateway": Key(DIGEST, frozenset())}))

    @server.tool(effect="read")
    def who(context: Context) -> str:
        """Return the name of the caller."""
        return context.principal.id

    return server


HEADER = '[servers.up.auth.header]\nname = "{name}"\n{scheme}secret_env = "UP_KEY"\n'


@pytest.mark.parametrize(("name", "scheme"), [("X-API-Key", ""), ("Authorization", 'scheme = "Bearer"\n')])
def test_a_header_from_a_secret_authenticates_the_gateway(
    mounts: Mounts, monkeypatch: pytest.MonkeyPatch, name: str, scheme: str
) -> None:
    monkeypatch.setenv("UP_KEY", KEY)
    with mounts.mounted(keyed().http_app()) as path:
        url = f"http://127.0.0.1:{mounts.port}{path}"
        assert behind(gateway_of(HEADER.format(name=name, scheme=scheme), up=url), "up_who") == "key:gateway"


def test_a_server_that_is_given_by_its_url_gets_the_credentials_too(
    mounts: Mounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UP_KEY", KEY)
    with mounts.mounted(keyed().http_app()) as path:
        servers = {"up": f"http://127.0.0.1:{mounts.port}{path}"}
        operator = read_operator_config("tooltrue.toml", HEADER.format(name="X-API-Key", scheme=""))
        gateway = Gateway(servers, operator=operator, confirm=Confirm.never(), host_settings=PATIENCE)
        assert behind(gateway, "up_who") == "key:gateway"


def test_a_secret_comes_from_a_file(mounts: Mounts, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    text = f'[servers.up.auth.header]\nname = "X-API-Key"\nsecret_file = {str(tmp_path / "key")!r}\n'
    with mounts.mounted(keyed().http_app()) as path:
        assert behind(gateway_of(text, up=f"http://127.0.0.1:{mounts.port}{path}"), "up_who") == "key:gateway"


def test_client_credentials_authenticate_the_gateway_at_the_issuer(
    mounts: Mounts, issuer: Issuing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UP_SECRET", "secret")
    text = f'[servers.up.auth.client]\nclient_id = "agent"\nissuer = "{issuer.url}"\nsecret_env = "UP_SECRET"\n'
    with serving(mounts, issuer) as url:
        assert behind(gateway_of(text, up=url), "up_who") == [f"{issuer.url}#agent"]
    assert issuer.sent("/token")[0]["grant_type"] == "client_credentials"


def test_credentials_of_one_server_reach_no_other(mounts: Mounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_KEY", KEY)
    seen: list[dict[bytes, bytes]] = []
    app = keyed().http_app()

    async def other(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope["headers"]))
        await app(scope, receive, send)

    with mounts.mounted(app) as one, mounts.mounted(other) as two:
        urls = {"up": f"http://127.0.0.1:{mounts.port}{one}", "other": f"http://127.0.0.1:{mounts.port}{two}"}
        assert behind(gateway_of(HEADER.format(name="X-API-Key", scheme=""), **urls), "up_who") == "key:gateway"
    assert seen
    assert not any(KEY.encode() in headers.values() for headers in seen)


# --- a mistake is found before anything starts ------------------------------------------------------------------------


def problem(text: str, one: ServerConfig | None = None) -> str:
    one = one or ServerConfig("up", "up", url="https://up.example/mcp")
    with pytest.raises(ConfigurationError) as found:
        Gateway(HostConfig("", Path(), (one,)), operator=read_operator_config("tooltrue.toml", text))
    assert str(found.value).startswith("tooltrue.toml:1: ")
    assert "s3cret" not in str(found.value)
    return found.value.code


NAMED = '[servers.up.auth.header]\nname = "{}"\nsecret_env = "UP_KEY"\n'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (NAMED.format("X-Key"), "TT4800"),
        ('[servers.up.auth.header]\nname = "X-Key"\n', "TT4800"),
        ('[servers.up.auth.header]\nname = "X-Key"\nsecret_env = "A"\nsecret_file = "b"\n', "TT4800"),
        ('[servers.up.auth.header]\nname = "X-Key"\nsecret_file = "absent"\n', "TT4800"),
        ("[servers.up.auth]\n", "TT4802"),
    ],
)
def test_a_secret_that_is_missing_is_named_with_its_place(
    text: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UP_KEY", raising=False)
    assert problem(text) == code


@pytest.mark.parametrize("name", ["Host", "Mcp-Session-Id", "a b", "X-Key\r\nX-Other"])
def test_a_header_of_our_own_carries_no_secret(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_KEY", "s3cret")
    assert problem(NAMED.format(name.encode("unicode_escape").decode())) == "TT4802"


def test_a_secret_that_a_header_cannot_carry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_KEY", "s3cret\nX-Other: 1")
    assert problem(NAMED.format("X-Key")) == "TT4802"


def test_a_header_is_set_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_KEY", "s3cret")
    one = ServerConfig("up", "up", url="https://up.example/mcp", headers={"x-key": "other"})
    assert problem(NAMED.format("X-Key"), one) == "TT4802"


@pytest.mark.parametrize(
    "one",
    [
        ServerConfig("up", "up", command="serve"),
        ServerConfig("up", "up", target=["serve"]),
        ServerConfig("up", "up", target=keyed()),
    ],
    ids=["a command", "words of a command", "an object"],
)
def test_a_program_gets_its_credentials_by_its_environment(one: ServerConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_KEY", "s3cret")
    assert problem(NAMED.format("X-Key"), one) == "TT4801"


def test_a_secret_does_not_travel_in_the_clear(mounts: Mounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_KEY", "s3cret")
    gateway = gateway_of(NAMED.format("X-Key"), up="http://up.example/mcp")

    async def run() -> str:
        async with gateway.host:
            (status,) = gateway.host.servers
            assert status.reason is not None
            return status.reason.code

    assert asyncio.run(run()) == "TT5111"

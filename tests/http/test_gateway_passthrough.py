"""The credentials of a caller end at the gateway: none of them is in anything that a server behind it receives."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import TypedDict

from support.issuing.calling import RESOURCE, oauth
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from tooltrue import ApiKeys, Client, Context, Form, QuestionLimits, Server, ToolError
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.errors import TooltrueError
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.keys import Key, new_key
from tooltrue.testing.state import LIMIT

KEY, DIGEST = new_key("ada")
OWN = "own-secret-of-the-gateway"
SENT: dict[str, Callable[[str], dict[str, str]]] = {
    "a token": lambda token: {"Authorization": f"Bearer {token}"},
    "a token, its scheme in small letters": lambda token: {"authorization": f"bearer {token}"},
    "a key": lambda token: {"Authorization": f"Bearer {KEY}"},
    "a key in a header of its own": lambda token: {"X-API-KEY": KEY},
}
REVISIONS = ("2026-07-28", "2025-11-25", "2024-11-05")
PATIENCE = {"patience": Patience(ready=LIMIT)}


class Answer(TypedDict):
    name: str


def upstream() -> Server:
    server = Server("upstream", confirm=Confirm.never())

    @server.tool(effect="read")
    def echo(text: str) -> str:
        """Echo a text."""
        return text

    @server.tool(effect="read")
    def ask(context: Context) -> str:
        """Ask for a name."""
        return str(context.ask(Form("Who are you?", Answer)).value)

    @server.tool(effect="read")
    def report(context: Context) -> str:
        """Report, and fail."""
        context.progress(1, 2, "half")
        context.log("info", "half")
        raise ToolError("failed")

    @server.resource("notes://{name}")
    def note(name: str) -> str:
        return name

    @server.prompt
    def greet(name: str) -> str:
        return f"Greet {name}."

    return server


class Recorder:
    """Everything that a server receives. ``refusal`` answers the first calls of tools."""

    def __init__(self, refusal: tuple[int, dict[str, str]] | None = None) -> None:
        self._app = upstream().http_app()
        self.serving = self._app.serving
        self._refusal = refusal
        self._left = 0 if refusal is None else 3
        self.seen: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)
        self.seen.append(f"{scope['path']} {scope['query_string']} {scope['headers']} {body}")
        if self._left and self._refusal is not None and b'"tools/call"' in body:
            self._left -= 1
            status, headers = self._refusal
            fields = [(name.encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": status, "headers": fields})
            await send({"type": "http.response.body", "body": b""})
            return

        async def again() -> Any:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, again, send)


def told(mounts: Mounts, headers: dict[str, str], recorder: Recorder, issuer: Issuing, of_server: str, own: str) -> str:
    """All that a server receives while a caller does everything that it can."""

    async def use(client: Client) -> None:
        for work in (
            lambda: client.call_tool("up_echo", text="hello"),
            lambda: client.call_tool("up_echo", text="again"),
            lambda: client.call_tool("up_ask"),
            lambda: client.call_tool("up_report"),
            lambda: client.read_resource("notes://a"),
            lambda: client.get_prompt("up_greet", name="Ada"),
            client.list_tools,
        ):
            try:
                await work()
            except TooltrueError as error:  # what a server refuses is no matter here
                logging.getLogger("tooltrue").info("%s", error)

    async def run(url: str) -> None:
        limits = QuestionLimits(per_minute=100)
        async with Client(url, headers=headers, elicit=lambda question: {"name": "Ada"}, questions=limits) as client:
            await use(client)

    with mounts.mounted(recorder) as path:
        one = ServerConfig("up", "up", url=f"http://127.0.0.1:{mounts.port}{path}", revision=of_server)
        gateway = Gateway(
            HostConfig("", Path(), (one,)),
            operator=read_operator_config("tooltrue.toml", own) if own else None,
            confirm=Confirm.never(),
            host_settings=PATIENCE,
            authenticate=[ApiKeys({"ada": Key(DIGEST, frozenset({"read"}))}), oauth(issuer)],
        )
        with mounts.mounted(gateway.http_app()) as served:
            asyncio.run(run(f"http://127.0.0.1:{mounts.port}{served}"))
    return "\n".join(recorder.seen)


def leaked(headers: dict[str, str], text: str) -> list[str]:
    parts: list[str] = []
    for value in headers.values():
        secret = value.rpartition(" ")[2]
        parts += [secret[:40], secret[-20:], base64.b64encode(secret.encode()).decode()[:40]]
    return [part for part in parts if part in text]


OWN_HEADER = '[servers.up.auth.header]\nname = "X-Own"\nsecret_env = "UP_KEY"\n'


@pytest.mark.attack("B38")
@pytest.mark.parametrize("of_server", REVISIONS)
@pytest.mark.parametrize("how", SENT)
def test_b38_a_gateway_passes_no_credentials_of_its_caller_on(
    mounts: Mounts, issuer: Issuing, caplog: pytest.LogCaptureFixture, how: str, of_server: str
) -> None:
    caplog.set_level(logging.DEBUG)
    token = issuer.for_ada(RESOURCE)
    headers = SENT[how](token) | {"Cookie": f"s={KEY}-cookie", "X-Forwarded-Access-Token": f"{KEY}-forwarded"}
    said = told(mounts, headers, Recorder(), issuer, of_server, "")
    assert "hello" in said
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("authlib")]  # the issuer
    assert leaked(headers, "\n".join([said, *logged])) == []


REFUSALS: dict[str, tuple[int, dict[str, str]]] = {
    "it asks for a token": (401, {"www-authenticate": "Bearer"}),
    "it asks for more": (403, {"www-authenticate": 'Bearer error="insufficient_scope", scope="admin"'}),
    "it asks for basic credentials": (401, {"www-authenticate": 'Basic realm="up"'}),
    "it redirects": (307, {"location": "/elsewhere"}),
    "it is busy": (503, {"retry-after": "0"}),
    "it knows no session": (404, {}),
}


@pytest.mark.attack("B38")
@pytest.mark.parametrize("own", ["", OWN_HEADER], ids=["no credentials", "credentials of its own"])
@pytest.mark.parametrize("of_server", REVISIONS[:2])
@pytest.mark.parametrize("refusal", REFUSALS)
def test_b38_a_server_that_refuses_a_gateway_gets_no_credentials_of_the_caller(
    mounts: Mounts, issuer: Issuing, monkeypatch: pytest.MonkeyPatch, refusal: str, of_server: str, own: str
) -> None:
    monkeypatch.setenv("UP_KEY", OWN)
    headers = {"Authorization": f"Bearer {KEY}"}
    said = told(mounts, headers, Recorder(REFUSALS[refusal]), issuer, of_server, own)
    assert "tools/call" in said
    assert leaked(headers, said) == []


@pytest.mark.twin("B38")
def test_b38_twin_the_credentials_of_the_gateway_itself_arrive(
    mounts: Mounts, issuer: Issuing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UP_KEY", OWN)
    recorder = Recorder()
    told(mounts, {"Authorization": f"Bearer {KEY}"}, recorder, issuer, REVISIONS[0], OWN_HEADER)
    assert recorder.seen
    assert all(OWN in request for request in recorder.seen)

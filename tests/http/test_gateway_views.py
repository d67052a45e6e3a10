"""Views of a gateway on the wire: paths, audiences and metadata of their own."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import serving
from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from support.wire.raw_http import Endpoint, modern
from tooltrue import Client, ConfigurationError, Route, Server
from tooltrue.client.config import ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.auth_settings import AuthSettings

ORIGIN = "https://tools.example"
METADATA = "/.well-known/oauth-protected-resource"
VIEWS = '[views.docs]\ntools = "*_read"\nscopes = "write"\n[views.dev]\n[views.whole]\ndefault = true\n'


def upstream() -> Server:
    server = Server("notes", confirm=Confirm.never())
    server.add_raw_tool("read", {"type": "object"}, lambda arguments: "read", effect="read")
    server.add_raw_tool("find", {"type": "object"}, lambda arguments: "found", effect="read")
    return server


def test_a_token_for_one_view_is_refused_by_another(mounts: Mounts, issuer: Issuing) -> None:
    operator = read_operator_config("tooltrue.toml", VIEWS)
    gateway = Gateway({"notes": ServerConfig("notes", "notes", target=upstream())}, operator=operator, audit=False)
    gateway.use_auth(AuthSettings({"oauth": {"resource": f"{ORIGIN}/mcp", "issuers": [{"url": issuer.url}]}}))
    tokens = {
        path: issuer.for_ada(f"{ORIGIN}{path}", "read write" if path == "/docs/mcp" else "read")
        for path in ("/docs/mcp", "/dev/mcp", "/mcp")
    }
    tokens["no scope"] = issuer.for_ada(f"{ORIGIN}/docs/mcp", "read")

    async def status(port: int, root: str, path: str, token: str) -> tuple[int, str]:
        message, headers = modern("tools/list")
        answer = await Endpoint(port, root + path).post(message, (*headers, ("Authorization", f"Bearer {token}")))
        return answer.status, answer.headers.get("www-authenticate", "")

    async def run(port: int, root: str) -> dict[tuple[str, str], tuple[int, str]]:
        paths = [path for path in tokens if path.startswith("/")]
        return {(path, of): await status(port, root, path, token) for path in paths for of, token in tokens.items()}

    async def metadata(port: int, root: str, path: str) -> Any:
        answer = await Endpoint(port, f"{root}{METADATA}{path}").ask("GET")
        return answer.json["resource"] if answer.status == 200 else answer.status

    with mounts.mounted(gateway.http_app(signals=False)) as endpoint:
        root = endpoint.removesuffix("/mcp")
        seen = asyncio.run(run(mounts.port, root))
        pages = [
            asyncio.run(metadata(mounts.port, root, path))
            for path in ("/docs/mcp", "/dev/mcp", "/mcp", "", "/whole/mcp")
        ]
    assert {(path, of) for (path, of), (status, _) in seen.items() if status == 200} == {
        ("/docs/mcp", "/docs/mcp"),
        ("/dev/mcp", "/dev/mcp"),
        ("/mcp", "/mcp"),
    }
    status_without_scope, challenge = seen["/docs/mcp", "no scope"]
    assert status_without_scope == 403
    assert 'scope="write"' in challenge
    assert f'resource_metadata="{ORIGIN}{METADATA}/docs/mcp"' in challenge
    assert pages == [f"{ORIGIN}/docs/mcp", f"{ORIGIN}/dev/mcp", f"{ORIGIN}/mcp", f"{ORIGIN}/mcp", 404]


@pytest.fixture(name="files")
def files_of_a_gateway(mounts: Mounts, tmp_path: Path) -> Any:
    """A file of servers with one that runs, and an operator's file with views."""
    with mounts.mounted(upstream().http_app(signals=False)) as path:
        server = {"url": f"http://127.0.0.1:{mounts.port}{path}"}
        (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}), encoding="utf-8")
        (tmp_path / "tooltrue.toml").write_text(
            '[audit]\non = false\n[views.docs]\ntools = "*_read"\n', encoding="utf-8"
        )
        yield [str(tmp_path / "servers.json"), "--config", str(tmp_path / "tooltrue.toml")], tmp_path


@pytest.mark.parametrize("path", ["/tools", "/tools/x", "/openapi.json", "/docs/tools", "/docs/openapi.json"])
def test_a_route_at_a_path_of_programs_without_mcp_is_a_mistake(path: str) -> None:
    async def hook(request: object) -> str:
        return ""

    operator = read_operator_config("tooltrue.toml", VIEWS)
    servers = {"notes": ServerConfig("notes", "notes", target=upstream())}
    gateway = Gateway(servers, operator=operator, audit=False, routes=[Route(path, hook)])
    gateway.http_app(signals=False)
    with pytest.raises(ConfigurationError, match="would cover"):
        gateway.http_app(rest=True, signals=False)


async def names(target: Any) -> list[str]:
    async with Client(target) as client:
        return [tool.name for tool in await client.list_tools()]


def test_the_command_serves_a_view_on_each_transport(files: Any) -> None:
    arguments, home = files
    environment = serving.environment(HOME=str(home), XDG_STATE_HOME=str(home))
    program = serving.command("gateway", *arguments, "--view", "docs")
    port = serving.free_port()
    http = serving.command("gateway", *arguments, "--http", f"127.0.0.1:{port}", "--workers", "2")
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with serving.started(http, env=environment, **quiet) as process:
        process.wait_for(f"http://127.0.0.1:{port}/docs/mcp (2 workers)")
        serving.wait_for_port(port, process)
        assert asyncio.run(names(f"http://127.0.0.1:{port}/docs/mcp")) == ["notes_read"]
        serving.ask_to_end(process.popen)
        process.popen.wait(30)
    with serving.started(program, env=environment) as process:
        process.say("tools/list", {"_meta": serving.META}, 1)
        assert [tool["name"] for tool in process.read()["result"]["tools"]] == ["notes_read"]


def test_a_choice_that_cannot_be_is_refused(files: Any) -> None:
    arguments, home = files
    environment = serving.environment(HOME=str(home), XDG_STATE_HOME=str(home))
    for more, told in (
        ((), "--view NAME"),
        (("--view", "dosc"), "docs"),
        (("--view", "docs", "--http", ":0"), "stdio"),
    ):
        ended = subprocess.run(
            serving.command("gateway", *arguments, *more), env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 2
        assert told in ended.stderr

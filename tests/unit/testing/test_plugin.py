"""The pytest plugin and the client behind it, in tests as users write them."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys

import pytest

from tooltrue import Server, ToolError, TransportError, testing
from tooltrue.protocol import versions
from tooltrue.testing.plugin import Connect

server = Server("sums")


@server.tool(effect="read")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_a_tool_is_called_without_async(mcp_client: Connect):
    client = mcp_client(server)
    assert [tool.name for tool in client.tools()] == ["add"]
    assert client.call("add", a=1, b=2).value == 3
    assert client.call("add", {"a": 1, "b": 2}).structured == 3
    with pytest.raises(ToolError, match=r"\$\.b is required"):
        _ = client.call("add", a=1).value
    client.ping()


def test_two_clients_of_either_era_at_once(mcp_client: Connect):
    new, old = mcp_client(server), mcp_client(server, revision=versions.NEWEST_LEGACY)
    assert (new.facts.revision, old.facts.revision) == (versions.LATEST, versions.NEWEST_LEGACY)
    assert new.call("add", a=1, b=2).text == old.call("add", a=1, b=2).text


def test_a_closed_client_refuses_requests(mcp_client: Connect):
    client = mcp_client(server)
    client.close()
    with pytest.raises(TransportError):
        client.ping()
    client.close()


def test_a_failed_connection_of_a_test_client_raises_a_transport_error(mcp_client: Connect):
    with pytest.raises(TransportError):
        mcp_client([sys.executable, "-c", ""], timeout=5.0)


def test_a_running_loop_is_refused_at_once():
    async def main() -> None:
        with pytest.raises(RuntimeError, match="running event loop"):
            testing.BlockingClient(server).__enter__()

    asyncio.run(main())


# --- loaded modules --------------------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import tooltrue.testing.plugin", ["asyncio", "msgspec", "pydantic", "jsonschema_rs", "httpx2"]),
        ("from tooltrue.testing import check_server, samples, BlockingClient", ["pytest", "hypothesis", "uvicorn"]),
    ],
)
def test_an_import_does_not_load_unused_modules(statement: str, unwanted: list[str]):
    before = "import pytest" if "plugin" in statement else "pass"
    loaded = f"(name for name in {unwanted!r} if name in sys.modules.keys() - had)"
    code = f"import sys; {before}; had = set(sys.modules); {statement}; print(*{loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", testing.__all__)
def test_each_export_is_the_object_of_its_module(name: str):
    home = importlib.import_module(testing._EXPORTS[name])  # pyright: ignore[reportPrivateUsage]
    assert getattr(testing, name) is getattr(home, name)
    assert name in home.__all__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = testing.nonsense

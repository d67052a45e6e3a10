"""Headers of the request in a tool: by declaration only, without the credentials of the caller unless it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import Endpoint
from tooltrue import Client, Context, Depends, Header, LocalLibrary, LocalToolset, Server, TrustedProxy
from tooltrue.errors import DefinitionError
from tooltrue.protocol import versions
from tooltrue.protocol.types import ToolOutcome
from tooltrue.testing.state import LIMIT
from tooltrue.tools.library import shelved
from tooltrue.tools.toolset import Wrapper
from tooltrue.tools.vocabulary import Principal, ToolCall
from tooltrue.transport.carrier import Carrier

Tenant = Annotated[str, Header("x-tenant")]
REVISIONS = pytest.mark.parametrize("revision", [versions.LATEST, versions.NEWEST_LEGACY])


def shard(tenant: Tenant) -> Iterator[str]:
    yield f"shard of {tenant}"


def server(**settings: Any) -> Server:
    made = Server("t", **settings)

    @made.tool(effect="read")
    def required(tenant: Tenant) -> str:
        return tenant

    @made.tool(effect="read")
    async def optional(x_tenant: Annotated[str | None, Header]) -> str:
        return str(x_tenant)

    @made.tool(effect="read")
    async def defaulted(tenant: Tenant = "nobody") -> str:
        return tenant

    @made.tool(effect="read")
    def nested(shard: Annotated[str, Depends(shard)]) -> str:
        return shard

    @made.resource("tenant://name")
    async def resource(tenant: Tenant) -> str:
        return tenant

    @made.prompt
    def prompt(tenant: Tenant) -> str:
        return tenant

    return made


def run(mounts: Mounts, made: Server, scenario: Any, **settings: Any) -> Any:
    async def main(path: str) -> Any:
        url = f"http://127.0.0.1:{mounts.port}{path}"
        async with asyncio.timeout(LIMIT), Client(url, **settings) as client:
            return await scenario(client)

    with mounts.mounted(made.http_app()) as path:
        return asyncio.run(main(path))


async def all_of(client: Client) -> list[Any]:
    results = [await client.call_tool(name) for name in ("required", "optional", "defaulted", "nested")]
    return [result.text for result in results]


@REVISIONS
def test_a_tool_a_dependency_a_resource_and_a_prompt_get_a_header(mounts: Mounts, revision: str) -> None:
    async def scenario(client: Client) -> Any:
        page: Any = (await client.read_resource("tenant://name"))[0]
        prompt: Any = (await client.get_prompt("prompt")).messages[0].content
        return [*await all_of(client), page.text, prompt.text]

    given = run(mounts, server(), scenario, revision=revision, headers={"X-Tenant": "acme"})
    assert given == ["acme", "acme", "acme", "shard of acme", "acme", "acme"]


@REVISIONS
def test_a_missing_header_is_the_default_or_none_or_a_refusal(mounts: Mounts, revision: str) -> None:
    required, optional, defaulted, nested = run(mounts, server(), all_of, revision=revision)
    assert (optional, defaulted) == ("None", "nobody")
    for refused in (required, nested):
        assert refused.startswith("This needs the HTTP header x-tenant")
        assert refused.endswith("[TT2500]")


def test_over_http_and_sse_they_are_those_of_the_stream(mounts: Mounts) -> None:
    async def main(path: str) -> Any:
        url = f"http://127.0.0.1:{mounts.port}{path.removesuffix('/mcp')}/sse"
        async with Client(url, transport="sse", headers={"X-Tenant": "acme"}) as client:
            return (await client.call_tool("required")).text

    with mounts.mounted(server().http_app(sse=True)) as path:
        assert asyncio.run(main(path)) == "acme"


def test_there_are_no_headers_in_memory() -> None:
    async def main() -> Any:
        async with Client(server()) as client:
            return await all_of(client)

    required, optional, defaulted, _ = asyncio.run(main())
    assert "over stdio there are no headers" in required
    assert (optional, defaulted) == ("None", "nobody")


def test_a_header_is_not_visible_and_a_model_cannot_set_it(mounts: Mounts) -> None:
    async def scenario(client: Client) -> Any:
        tools = await client.list_tools()
        forged = [await client.call_tool("required", {name: "root"}) for name in ("tenant", "x-tenant", "x_tenant")]
        return [tool.inputSchema["properties"] for tool in tools], forged

    properties, forged = run(mounts, server(), scenario, headers={"X-Tenant": "acme"})
    assert properties == [{}] * 4
    assert all(result.is_error and "root" not in result.text for result in forged)


@pytest.mark.parametrize("value", ["a\tb" * 2_000, "x" * 4_097, "caf\x85"])
def test_a_header_that_is_too_long_or_has_control_characters_is_refused(mounts: Mounts, value: str) -> None:
    made = server()

    async def scenario(endpoint: Endpoint) -> Any:
        return await endpoint.modern("tools/call", {"name": "required"}, **{"X-Tenant": value})

    with mounts.mounted(made.http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    result = answer.json["result"]
    assert result["isError"]
    assert "TT2501" in result["content"][0]["text"]
    assert value[:6] not in result["content"][0]["text"]


# --- credentials ------------------------------------------------------------------------------------------------------

CREDENTIALS = ["authorization", "Authorization", "proxy-authorization", "cookie", "x-api-key"]


@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_header_with_credentials_is_refused_at_registration_without_the_flag(name: str) -> None:
    def tool(token: Any) -> str:
        return str(token)

    tool.__annotations__ = {"token": Annotated[str | None, Header(name)], "return": str}
    with pytest.raises(DefinitionError) as caught:
        Server("t").add_tool(tool)
    assert caught.value.code == "TT3424"


def test_only_a_tool_may_get_credentials() -> None:
    def text(token: Any) -> str:
        return str(token)

    text.__annotations__ = {"token": Annotated[str | None, Header("authorization", credentials=True)], "return": str}
    with pytest.raises(DefinitionError) as caught:
        Server("t").add_prompt(text)
    assert caught.value.code == "TT3425"


def sesame(carrier: Carrier) -> Principal | None:
    return Principal("ada") if (carrier.headers or {}).get("authorization") == "Bearer sesame" else None


SENT = {"Authorization": "Bearer sesame", "Cookie": "a=b"}


def with_credentials() -> Server:
    made = Server("t", authenticate=sesame)

    @made.tool(effect="read")
    async def token(
        token: Annotated[str | None, Header("authorization", credentials=True)],
    ) -> str:
        return "there" if token == "Bearer sesame" else str(token)

    return made


@REVISIONS
def test_a_tool_that_declares_credentials_gets_those_and_no_others(mounts: Mounts, revision: str) -> None:
    made = with_credentials()

    @made.tool(effect="read")
    async def seen(context: Context) -> str:
        return str(context.carried)

    async def scenario(client: Client) -> Any:
        return [(await client.call_tool(name)).text for name in ("token", "seen")]

    assert run(mounts, made, scenario, revision=revision, headers=SENT) == ["there", "None"]


def test_inspect_shows_who_gets_credentials() -> None:
    assert asyncio.run(with_credentials().exceptions()) == [("token", "credentials=authorization")]


class Watching(Wrapper, frozen=True):
    """A toolset that keeps the headers of the calls that it gets."""

    seen: list[Any]

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        self.seen.append(call.context.carried)
        return await self.inner.call_tool(call)


@REVISIONS
def test_without_such_a_tool_no_toolset_gets_the_credentials(mounts: Mounts, revision: str) -> None:
    tools, seen = LocalToolset(), list[Any]()
    tools.add(lambda: "done", name="tool")
    made = Server("t", authenticate=sesame, toolsets=[Watching(shelved(tools, LocalLibrary()), seen)])

    async def scenario(client: Client) -> Any:
        return (await client.call_tool("tool")).text

    assert run(mounts, made, scenario, revision=revision, headers={**SENT, "X-Tenant": "acme"}) == "done"
    [headers] = seen
    assert headers["x-tenant"] == "acme"
    assert not {"authorization", "cookie"} & headers.keys()


def test_a_header_by_which_a_proxy_names_the_caller_is_withheld_too(mounts: Mounts) -> None:
    made = Server("t", authenticate=TrustedProxy(["127.0.0.1"], user_header="x-remote-user"))

    @made.tool(effect="read")
    async def name(user: Annotated[str | None, Header("x-remote-user")], context: Context) -> str:
        return f"{context.principal.id} {user}"

    async def scenario(client: Client) -> Any:
        return (await client.call_tool("name")).text

    assert run(mounts, made, scenario, headers={"X-Remote-User": "ada"}) == "user:ada None"

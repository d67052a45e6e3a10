"""Resources and prompts between our client and our server; links in results can be followed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from support.wire import servers
from tooltrue import Client, ResourceLink, RpcError, Server, TextContent
from tooltrue.errors import InvalidParams, MethodNotFound
from tooltrue.protocol.types import BlobResource, TextResource
from tooltrue.testing.state import LIMIT


def session(server: Server, test: Callable[[Client], Any]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            return await test(client)

    return asyncio.run(main())


def test_a_client_lists_reads_and_prompts():
    async def test(client: Client) -> None:
        assert "test://text" in [resource.uri for resource in await client.list_resources()]
        [file, item] = await client.list_templates()
        assert (file.uriTemplate, item.name) == ("test://files/{+path}", "item")
        [file_part] = await client.read_resource("test://files/a/b")
        assert isinstance(file_part, TextResource)
        assert file_part.text == "a/b for local"
        [blob] = await client.read_resource("test://binary")
        assert isinstance(blob, BlobResource)
        assert (blob.blob, blob.mimeType) == ("AP8=", "image/png")
        prompts = {prompt.name: prompt for prompt in await client.list_prompts()}
        said = await client.get_prompt("recommend", {"tea": "sencha"})
        assert said.messages[0].content == TextContent(text="Recommend 1 x sencha, iced: False, to somebody calm.")
        assert (await client.complete(prompts["recommend"], "mood", "w")).values == ["wide awake"]
        assert (await client.complete(item, "number", "4", {"a": "b"})).values == ["40", "41"]

    session(servers.make("library"), test)


@pytest.mark.requirement("ADJ-02")
def test_lists_are_the_same_on_every_connection_regardless_of_earlier_requests():
    server = servers.make("library")

    async def listed(client: Client) -> Any:
        return await client.list_resources(), await client.list_templates(), await client.list_prompts()

    async def busy(client: Client) -> Any:
        before = await listed(client)
        await client.read_resource("test://items/7")
        await client.get_prompt("talk")
        await client.complete(before[2][1], "mood", "")
        assert await listed(client) == before
        return before

    assert session(server, listed) == session(server, busy) == session(server, listed)


def test_every_page_is_listed():
    async def test(client: Client) -> Any:
        lists = [await client.list_resources(), await client.list_templates(), await client.list_prompts()]
        return [[item.name for item in items] for items in lists]

    assert session(servers.make("shelves"), test) == [["a", "b", "c"]] * 3


def test_a_link_in_a_result_can_be_followed():
    server = Server("links")

    @server.tool
    def report() -> ResourceLink:
        return ResourceLink(uri="reports://7", name="report")

    @server.resource("reports://{number}")
    def read(number: int) -> str:
        return f"Report {number}."

    async def test(client: Client) -> Any:
        [link] = (await client.call_tool("report")).content
        [part] = await client.read_resource(link.uri)
        assert isinstance(part, TextResource)
        return part.text

    assert session(server, test) == "Report 7."


@pytest.mark.parametrize("uri", ["test://nix", "test://secret"])
def test_reading_an_absent_resource_is_an_error(uri: str):
    with pytest.raises(InvalidParams):
        session(servers.make("library"), lambda client: client.read_resource(uri))


def test_a_server_without_prompts_says_so():
    with pytest.raises(MethodNotFound):
        session(Server("none"), lambda client: client.list_prompts())


def test_a_server_without_resources_has_those_that_calls_keep():
    assert session(Server("none"), lambda client: client.list_resources()) == []


def test_a_removed_resource_is_no_longer_listed():
    server = Server("t")
    server.add_resource("a:b", lambda: "")
    server.remove_resource("a:b")
    assert session(server, lambda client: client.list_resources()) == []


@pytest.mark.twin("J07")
def test_words_of_an_author_are_told_and_those_of_a_crash_are_not():
    async def test(client: Client) -> list[str]:
        said: list[str] = []
        for uri in ("test://refuses", "test://crash"):
            with pytest.raises(RpcError) as caught:
                await client.read_resource(uri)
            said.append(str(caught.value))
        return said

    told, masked = session(servers.make("library"), test)
    assert told == "Out of tea. Ask again tomorrow."
    assert "hunter2" not in masked
    assert "[TT1020]" in masked

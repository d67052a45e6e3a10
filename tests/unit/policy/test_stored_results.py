"""Stored results of a caller: their owner, TTL, size limits and chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import Context, LocalToolset, Principal, ResourceLink
from tooltrue.errors import UnknownEntry
from tooltrue.policy.layers.stored_results import BUDGET
from tooltrue.policy.pipeline import standard
from tooltrue.protocol.types import BlobResource, CallToolResult, ReadResourceResult, TextResource
from tooltrue.server.service import SILENT
from tooltrue.state.facts import MemoryFacts
from tooltrue.testing.state import StoppedClock
from tooltrue.tools.stored_results import CHUNK_BYTES, StoredResult, chunks_of
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import RequestContext, ResourceRead, ToolCall

ANN, BOB = Principal("ann"), Principal("bob")


class Archive:
    """A tool that stores the given values, behind the full pipeline."""

    def __init__(self, *values: Any) -> None:
        self.clock = StoppedClock()
        self.facts = MemoryFacts(self.clock)
        self.provider = self.worker(values)

    def worker(self, values: tuple[Any, ...]) -> Provider:
        tools = LocalToolset()

        @tools.tool(effect="read")
        def export(context: Context) -> list[ResourceLink]:
            """Export."""
            return [context.keep(value, f"value {number}") for number, value in enumerate(values)]

        return standard(tools, facts=self.facts)

    async def export(self, principal: Principal = ANN) -> list[ResourceLink]:
        result = await self.provider.call_tool(ToolCall("export", {}, RequestContext(principal, SILENT)))
        assert isinstance(result, CallToolResult)
        assert not result.isError, result
        return [block for block in result.content if isinstance(block, ResourceLink)]

    async def read(self, uri: str, principal: Principal = ANN, provider: Provider | None = None) -> list[Any]:
        result = await (provider or self.provider).read_resource(ResourceRead(uri, RequestContext(principal, SILENT)))
        assert isinstance(result, ReadResourceResult)
        return list(result.contents)

    async def whole(self, link: ResourceLink) -> tuple[list[Any], int]:
        """The parts' contents, each as the one before it said."""
        parts, uri = list[Any](), link.uri
        while uri:
            part, *more = await self.read(uri)
            parts.append(part)
            uri = more[0].uri if more else ""
        return parts, len(parts)


def run(archive: Archive, test: Callable[[Archive], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test(archive))


@pytest.mark.parametrize(
    ("value", "mime_type", "read"),
    [("plain", "text/plain", "plain"), ({"a": [1, None]}, "application/json", '{"a":[1,null]}')],
)
def test_text_stays_text_and_other_values_become_json(value: Any, mime_type: str, read: str):
    async def test(archive: Archive) -> None:
        [link] = await archive.export()
        assert (link.mimeType, link.size) == (mime_type, len(read))
        assert await archive.read(link.uri) == [TextResource(uri=link.uri, text=read, mimeType=mime_type)]

    run(Archive(value), test)


def test_bytes_stay_bytes():
    async def test(archive: Archive) -> None:
        [link] = await archive.export()
        assert await archive.read(link.uri) == [BlobResource.of(link.uri, b"\x00\xff", "application/octet-stream")]

    run(Archive(b"\x00\xff"), test)


def test_b29_a_stored_result_of_one_caller_is_unknown_to_another():
    async def test(archive: Archive) -> None:
        [link] = await archive.export(ANN)
        for uri in (link.uri, link.uri + "/2", "kept:", "kept:AAAAAAAAAAAAAAAAAAAAAA"):
            with pytest.raises(UnknownEntry) as caught:
                await archive.read(uri, BOB)
            assert caught.value.code == "TT1025"

    run(Archive("mine"), test)


def test_b29_twin_the_caller_reads_its_stored_result_repeatedly_and_at_another_worker():
    async def test(archive: Archive) -> None:
        [link] = await archive.export()
        for worker in (archive.provider, archive.worker(())):
            for _ in range(2):
                assert (await archive.read(link.uri, provider=worker))[0].text == "mine"

    run(Archive("mine"), test)


def test_a_stored_result_expires_after_its_ttl():
    async def test(archive: Archive) -> None:
        [link] = await archive.export()
        await archive.clock.elapse(899)
        await archive.read(link.uri)
        await archive.clock.elapse(2)
        with pytest.raises(UnknownEntry):
            await archive.read(link.uri)

    run(Archive("mine"), test)


def test_a_long_stored_result_is_read_in_chunks_that_name_the_next():
    lines = "".join(f"{number} – Zeile\n" for number in range(150_000))

    async def test(archive: Archive) -> None:
        [link] = await archive.export()
        assert link.size == len(lines.encode())
        parts, count = await archive.whole(link)
        assert "".join(part.text for part in parts) == lines
        assert count > 2
        assert all(part.text.endswith("\n") for part in parts)

    run(Archive(lines), test)


def test_a_caller_cannot_have_more_kept_than_the_budget_at_once():
    async def test(archive: Archive) -> None:
        await archive.export()
        for principal, code in ((ANN, "TT2018"), (BOB, None)):
            result = await archive.provider.call_tool(ToolCall("export", {}, RequestContext(principal, SILENT)))
            assert isinstance(result, CallToolResult)
            assert (code in result.content[0].text) if code else not result.isError
        await archive.clock.elapse(900)
        await archive.export()

    run(Archive(b"x" * (BUDGET - 100_000)), test)


def test_a_result_over_the_storage_budget_is_refused():
    async def test(archive: Archive) -> None:
        result = await archive.provider.call_tool(ToolCall("export", {}, RequestContext(ANN, SILENT)))
        assert isinstance(result, CallToolResult)
        assert "TT2017" in result.content[0].text

    run(Archive(b"x" * (BUDGET + 1)), test)


@given(st.text(alphabet="aé漢🙂\n", min_size=1, max_size=40), st.integers(1, 60_000))
def test_no_part_is_too_large_and_together_they_are_the_whole(piece: str, times: int):
    kept = StoredResult.of(piece * times, "x", None, None, 1)
    parts = chunks_of(kept)
    assert "".join(part.data.decode() for part in parts) == piece * times
    assert all(len(part.data) <= CHUNK_BYTES for part in parts)
    assert [part.next_uri is None for part in parts] == [False] * (len(parts) - 1) + [True]


def test_a_tool_that_declares_it_reads_a_stored_result_of_its_caller_alone():
    long = "a line\n" * 200_000

    async def read(principal: Principal, uri: str) -> str:
        result = await provider.call_tool(ToolCall("size", {"uri": uri}, RequestContext(principal, SILENT)))
        assert isinstance(result, CallToolResult)
        return result.content[0].text

    archive = Archive(long, b"\x00\x01")
    tools = LocalToolset()

    @tools.tool(effect="read", reads_stored=True)
    async def size(uri: str, context: Context) -> str:
        """The size of a stored result."""
        stored = await context.read_stored(uri)
        return "none" if stored is None else f"{stored.name}, {stored.mime_type}, {len(stored.data)}"

    @tools.tool(effect="read")
    async def undeclared(uri: str, context: Context) -> bool:
        """Whether there is a stored result."""
        return await context.read_stored(uri) is not None

    provider = standard(tools, facts=archive.facts)

    async def use() -> None:
        text, data = await archive.export()
        assert await read(ANN, text.uri) == f"value 0, text/plain, {len(long)}"
        assert await read(ANN, f"{text.uri}/2") == f"value 0, text/plain, {len(long)}"
        assert await read(ANN, data.uri) == "value 1, application/octet-stream, 2"
        for uri in ("kept:other", "kept:", "file:///etc/passwd", text.uri.removeprefix("kept:")):
            assert await read(ANN, uri) == "none"
        assert await read(BOB, text.uri) == "none"
        silent = ToolCall("undeclared", {"uri": text.uri}, RequestContext(ANN, SILENT))
        result = await provider.call_tool(silent)
        assert isinstance(result, CallToolResult)
        assert result.structuredContent is False
        archive.clock.now += 10_000
        assert await read(ANN, text.uri) == "none"

    asyncio.run(use())

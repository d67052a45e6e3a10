"""Storage of results that calls hand out by reference: stored for the caller, and readable by no other.

There are two layers, with the layers for cleaning and limits between them: a stored result is treated like any other
when it is read, and a result that is too large to leave can be stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import LABEL_RESULT_CHUNK, STORED_RESULT_TOO_LARGE, STORED_RESULTS_QUOTA_EXCEEDED
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import (
    BlobResource,
    InputRequiredResult,
    ReadOutcome,
    ReadResourceResult,
    TextResource,
    ToolOutcome,
    replaced,
)
from tooltrue.state.facts import Facts
from tooltrue.tools.stored_results import SCHEME, Chunk, StoredContent, StoredResult, chunks_of
from tooltrue.tools.toolset import Provider, Wrapper, unknown
from tooltrue.tools.vocabulary import (
    Entry,
    LibraryOperation,
    Operation,
    Principal,
    ResourceFollow,
    ResourceRead,
    Tool,
    ToolCall,
)
from tooltrue.wording import sentence

__all__ = ["BUDGET", "store_results", "stored_results"]

BUDGET = 64 * 1_048_576
"""Bytes that a principal may store at once, approximately: granted as a burst, and regained within ``_REGAIN``."""
_REGAIN = 900.0
_UNIT = 1024

OperationT = TypeVar("OperationT", bound=Operation)
OutcomeT = TypeVar("OutcomeT")


def store_results(facts: Facts) -> Callable[[Provider], Provider]:
    """Store the results of an operation before its answer links to them. An operation that fails, or asks, stores
    none. A tool that declares it reads stored results of its caller."""
    return lambda inner: _StoreResults(inner, facts)


def stored_results(facts: Facts, language: str) -> Callable[[Provider], Provider]:
    """Serve stored results to the caller that they belong to. They are not listed: their links are in the results. A
    subscription is let through to here, and reads no content."""
    return lambda inner: _StoredResults(inner, facts, language)


class _StoreResults(StepLayer, frozen=True):
    facts: Facts

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome | Awaitable[ToolOutcome]:
            things = call.context.stored
            return store(things, outcome) if things and not isinstance(outcome, InputRequiredResult) else outcome

        async def store(things: list[StoredResult], outcome: ToolOutcome) -> ToolOutcome:
            await self._store(principal, things)
            return outcome

        def give_reader(call: ToolCall) -> None:
            call.context = replaced(call.context, reader=partial(self._read, principal))

        return Step(give_reader if tool.reads_stored else None, after)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        outcome = await proceed(operation)
        things = operation.context.stored
        if things and not isinstance(outcome, InputRequiredResult):
            await self._store(operation.context.principal, things)
        return outcome

    async def _read(self, principal: Principal, uri: str) -> StoredContent | None:
        """The whole of a stored result, whichever of its parts ``uri`` names."""
        next_uri, chunks = uri.partition("/")[0] if uri.startswith(SCHEME) else None, list[Chunk]()
        while next_uri is not None:
            record = await self.facts.get(_key(principal, next_uri))
            if record is None:
                return None
            chunks.append(_decode_chunk(next_uri, record))
            next_uri = chunks[-1].next_uri
        if not chunks:
            return None
        return StoredContent(chunks[0].name, chunks[0].mime_type, b"".join(chunk.data for chunk in chunks))

    async def _store(self, principal: Principal, things: list[StoredResult]) -> None:
        cost = sum(-(-len(thing.data) // _UNIT) or 1 for thing in things)
        units = BUDGET // _UNIT
        if cost > units:
            raise ToolError.of(STORED_RESULT_TOO_LARGE, size=cost * _UNIT, limit=BUDGET)
        key = f"kept {principal.id}"
        if wait := await self.facts.take(key, per_second=units / _REGAIN, burst=units, cost=cost):
            raise ToolError.of(STORED_RESULTS_QUOTA_EXCEEDED, seconds=round(wait + 0.5))
        for thing in things:
            for part in chunks_of(thing):
                await self.facts.put(_key(principal, part.uri), _encode_chunk(part), thing.seconds)


class _StoredResults(Wrapper, frozen=True):
    facts: Facts
    language: str

    def offers(self) -> frozenset[str]:
        return self.inner.offers() | {"resources"}

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        if not isinstance(operation, ResourceRead) or not _is_ours(operation):
            return await self.inner.find_entries(operation)
        part = await self._find(operation)
        return (wire.ResourceDefinition(part.uri, part.name, mimeType=part.mime_type, size=len(part.data)),)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        if not _is_ours(request):
            return await self.inner.read_resource(request)
        part = await self._find(request)
        if isinstance(request, ResourceFollow):
            return ReadResourceResult([])
        contents: list[TextResource | BlobResource] = [_content(part)]
        if part.next_uri is not None:
            contents.append(TextResource(uri=part.next_uri, text=_goes_on(part, self.language), mimeType="text/plain"))
        return ReadResourceResult(contents)

    async def _find(self, request: ResourceRead) -> Chunk:
        record = await self.facts.get(_key(request.context.principal, request.uri))
        if record is None:
            raise unknown(request)
        return _decode_chunk(request.uri, record)


def _is_ours(request: ResourceRead) -> bool:
    return request.uri.startswith(SCHEME)


def _key(principal: Principal, uri: str) -> str:
    """Return the storage key of a principal and URI, so that other callers get the same not-found as for an unknown
    URI."""
    whose = hashlib.sha256(principal.id.encode(errors="surrogatepass")).hexdigest()[:32]
    return f"kept {whose} {uri.encode(errors='replace').decode()}"


def _goes_on(part: Chunk, language: str) -> str:
    facts = {"uri": part.next_uri, "number": part.number, "count": part.count, "size": part.size}
    return sentence(LABEL_RESULT_CHUNK, language, facts)


def _encode_chunk(part: Chunk) -> bytes:
    head = [part.name, part.mime_type, part.is_text, part.number, part.count, part.size]
    return encode(head) + b"\n" + part.data


def _decode_chunk(uri: str, record: bytes) -> Chunk:
    head, _, data = record.partition(b"\n")
    name, mime_type, is_text, number, count, size = decode(head)
    return Chunk(uri, name, mime_type, data, is_text, number, count, size)


def _content(part: Chunk) -> TextResource | BlobResource:
    if part.is_text:
        return TextResource(uri=part.uri, text=part.data.decode(), mimeType=part.mime_type)
    return BlobResource.of(part.uri, part.data, part.mime_type)

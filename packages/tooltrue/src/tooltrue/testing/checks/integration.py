"""Integration: the server is the same, however it is reached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from tooltrue.client.client import Client
from tooltrue.errors import RpcError, TransportError, fact_of
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol import versions
from tooltrue.testing.checks.bench import Bench, ToolUnderTest
from tooltrue.testing.report import Finding, failed, not_run, passed
from tooltrue.testing.wording import (
    FINDING_REVISION_RESULTS_DIFFER,
    FINDING_REVISION_UNUSABLE,
    FINDING_REVISIONS_LIST_DIFFERENT_TOOLS,
    FINDING_TOOLS_CAPABILITY_UNDECLARED,
    FINDING_TRANSPORT_TOOLS_DIFFER,
    FINDING_TRANSPORT_UNREACHABLE,
    SKIPPED_NO_CALLABLE_TOOL,
    SKIPPED_SINGLE_REVISION,
    SKIPPED_SINGLE_TRANSPORT,
)

__all__ = ["capabilities", "carriers_agree", "eras_agree", "revisions"]


async def capabilities(bench: Bench) -> AsyncIterator[Finding]:
    """A server with tools declares the capability (server/tools "Capabilities")."""
    is_said = "tools" in bench.facts.capabilities
    yield passed() if is_said or not bench.subjects else failed(FINDING_TOOLS_CAPABILITY_UNDECLARED)


async def revisions(bench: Bench) -> AsyncIterator[Finding]:
    """Every supported revision works, and has the same tools."""
    names = sorted(subject.name for subject in bench.subjects)
    supported = [name for name in versions.ALL if name in (*bench.facts.supported, bench.facts.revision)]
    wrong = 0
    for revision in supported:
        try:
            async with Client(bench.target, timeout=bench.plan.seconds, revision=revision) as client:
                tool_names = sorted(tool.name for tool in await client.list_tools())
        except (RpcError, TransportError) as error:
            wrong += 1
            yield failed(FINDING_REVISION_UNUSABLE, revision=revision, problem=fact_of(error, is_clause=False))
            continue
        if tool_names != names:
            wrong += 1
            yield failed(
                FINDING_REVISIONS_LIST_DIFFERENT_TOOLS,
                revision=revision,
                names=", ".join({*tool_names} ^ {*names}) or "…",
            )
    if not wrong:
        yield passed(revisions=len(supported))


async def eras_agree(bench: Bench) -> AsyncIterator[Finding]:
    """The same call has the same answer in the newest stateless and the newest session-based revision.

    Separate connections are compared, since a command is another process each time. A tool whose answers differ between
    two connections in one revision (a clock, a process number) is not compared.
    """
    supported = (*bench.facts.supported, bench.facts.revision)
    newest = [[name for name in era if name in supported][:1] for era in (versions.MODERN, versions.LEGACY)]
    if [] in newest:
        yield not_run(SKIPPED_SINGLE_REVISION)
        return
    [modern], [legacy] = newest
    subjects = list(bench.callable())
    first, second, other = [await _answers(bench, subjects, revision) for revision in (modern, modern, legacy)]
    comparable = [subject.name for subject in subjects if first[subject.name] == second[subject.name]]
    different = [name for name in comparable if other[name] != first[name]]
    for name in different:
        yield failed(FINDING_REVISION_RESULTS_DIFFER, name, other=legacy, revision=modern)
    if not different:
        yield passed(compared=len(comparable)) if comparable else not_run(SKIPPED_NO_CALLABLE_TOOL)


async def _answers(bench: Bench, subjects: Sequence[ToolUnderTest], revision: str) -> dict[str, Json]:
    async with Client(bench.target, timeout=bench.plan.seconds, revision=revision, elicit=bench.elicit) as client:
        await client.list_tools()  # over HTTP, a client needs the schemas for its headers
        return {subject.name: (await bench.call(subject, subject.good or {}, client)).content for subject in subjects}


async def carriers_agree(bench: Bench) -> AsyncIterator[Finding]:
    """The server is reached over each carrier of the plan, and has the same tools there."""
    here = await bench.client.list_tools()
    for name, target in bench.plan.carriers.items():
        try:
            async with Client(target, timeout=bench.plan.seconds) as client:
                there = await client.list_tools()
        except (RpcError, TransportError) as error:
            yield failed(FINDING_TRANSPORT_UNREACHABLE, carrier=name, problem=fact_of(error, is_clause=False))
            continue
        yield passed(tools=len(there)) if there == here else failed(FINDING_TRANSPORT_TOOLS_DIFFER, carrier=name)
    if not bench.plan.carriers:
        yield not_run(SKIPPED_SINGLE_TRANSPORT)

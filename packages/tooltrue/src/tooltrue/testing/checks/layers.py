"""Listed tools exist, and the author's layers of a server in this process keep the contract of layers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tooltrue.app import Server
from tooltrue.errors import RpcError, TransportError
from tooltrue.testing.checks.bench import Bench
from tooltrue.testing.checks.functional import short
from tooltrue.testing.layers import layer_findings
from tooltrue.testing.report import Finding, failed, not_run, passed
from tooltrue.testing.wording import FINDING_LISTED_TOOL_UNKNOWN, SKIPPED_NO_LAYERS

__all__ = ["layers", "listed"]

_MISSING = "no_such_tool"


async def listed(bench: Bench) -> AsyncIterator[Finding]:
    """No listed tool is refused in the words for a tool that does not exist."""
    unknown = await _words_for_unknown(bench)
    called = [subject for subject in bench.subjects if subject.answers]
    wrong = 0
    for subject in called if unknown else ():
        expected = unknown.replace(_MISSING, subject.name)
        if all(answer.words == expected for answer in subject.answers):
            wrong += 1
            yield failed(FINDING_LISTED_TOOL_UNKNOWN, subject.name, words=short(expected))
    if called and not wrong:
        yield passed(tools=len(called))


async def _words_for_unknown(bench: Bench) -> str:
    """What the server says of a tool that does not exist; empty if that does not name the tool."""
    try:
        result = await bench.client.call_tool(_MISSING, {}, timeout=bench.plan.seconds)
    except RpcError as error:
        words = f"{error} {'' if error.data is None else error.data}"
    except TransportError:
        return ""
    else:
        words = result.text if result.is_error else ""
    return words if _MISSING in words else ""


async def layers(bench: Bench) -> AsyncIterator[Finding]:
    """Each layer of the author lists, finds and calls the same tools, and lets a cancellation through."""
    server = bench.target
    if not isinstance(server, Server) or not (own := server.settings.layers):
        yield not_run(SKIPPED_NO_LAYERS)
        return
    arguments = {subject.name: subject.good or {} for subject in bench.callable()}
    found = layer_findings(server.bare_provider, own, arguments, bench.plan.seconds)
    problems = [problem async for problem in found]
    for problem in problems:
        yield problem
    if not problems:
        yield passed(layers=len(own))

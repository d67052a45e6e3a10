"""Listed tools exist, and the author's layers of a server in this process keep the contract of layers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tooltrue.app import Server
from tooltrue.errors import RpcError, TransportError
from tooltrue.testing.checks.bench import Bench
from tooltrue.testing.checks.functional import short
from tooltrue.testing.layers import layer_findings
from tooltrue.testing.report import Finding, failed, passed
from tooltrue.testing.wording import FINDING_LISTED_TOOL_UNKNOWN

__all__ = ["listed"]

_MISSING = "no_such_tool"


async def listed(bench: Bench) -> AsyncIterator[Finding]:
    """No listed tool is refused in the words for a tool that does not exist. Each layer of the author, which a server
    in this process shows, lists, finds and calls the same tools, and lets a cancellation through."""
    unknown = await _words_for_unknown(bench)
    called = [subject for subject in bench.subjects if subject.answers]
    problems: list[Finding] = []
    for subject in called if unknown else ():
        expected = unknown.replace(_MISSING, subject.name)
        if all(answer.words == expected for answer in subject.answers):
            problems.append(failed(FINDING_LISTED_TOOL_UNKNOWN, subject.name, words=short(expected)))
    server = bench.target
    own = server.settings.layers if isinstance(server, Server) else ()
    if isinstance(server, Server) and own:
        arguments = {subject.name: subject.good or {} for subject in bench.callable()}
        problems += [one async for one in layer_findings(server.bare_provider, own, arguments, bench.plan.seconds)]
    for problem in problems:
        yield problem
    if (called or own) and not problems:
        yield passed(tools=len(called), **({"layers": len(own)} if own else {}))


async def _words_for_unknown(bench: Bench) -> str:
    """The server's sentence on a tool that does not exist; empty if it does not name the tool."""
    try:
        result = await bench.client.call_tool(_MISSING, {}, timeout=bench.plan.seconds)
    except RpcError as error:
        words = f"{error} {'' if error.data is None else error.data}"
    except TransportError:
        return ""
    else:
        words = result.text if result.is_error else ""
    return words if _MISSING in words else ""

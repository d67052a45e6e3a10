"""The checks of a tool server's promises, from outside, over a real connection.

``await examine(target)`` runs them all and returns the report; ``await check_server(target)`` raises AssertionError if
one failed. In reading order: ``bench`` has the server and its tools, then a module for each section of the report.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TypeAlias

from tooltrue.client.client import Target
from tooltrue.errors import RpcError, TransportError, fact_of
from tooltrue.testing.checks import errors, functional, integration, layers, performance, read_only_tools, security
from tooltrue.testing.checks.bench import Bench, Plan
from tooltrue.testing.report import Finding, Report, failed, not_run
from tooltrue.testing.wording import FINDING_CHECK_ABORTED, FINDING_TOOL_LISTING_FAILED, SKIPPED_TOOL_LISTING_FAILED

__all__ = ["CHECKS", "Plan", "check_server", "examine"]

Check: TypeAlias = Callable[[Bench], AsyncIterator[Finding]]
Progress: TypeAlias = Callable[[str, str], None]

# section, name, check; in this order, since later checks use results of earlier ones
CHECKS: tuple[tuple[str, str, Check], ...] = (
    ("functional", "definitions", functional.definitions),
    ("functional", "list", functional.listing),
    ("functional", "schemas covered", functional.covered),
    ("functional", "examples", functional.examples),
    ("functional", "valid calls", functional.valid_calls),
    ("functional", "listed tools", layers.listed),
    ("functional", "output schema", functional.output_schema),
    ("functional", "text and structure", functional.text_and_structure),
    ("functional", "repeated calls", read_only_tools.repeatable),
    ("functional", "reading only", read_only_tools.reads_only),
    ("functional", "idempotence", functional.idempotence),
    ("functional", "limits", read_only_tools.limits),
    ("functional", "other arguments", read_only_tools.heeds),
    ("integration", "capabilities", integration.capabilities),
    ("integration", "revisions", integration.revisions),
    ("integration", "eras agree", integration.eras_agree),
    ("integration", "carriers agree", integration.carriers_agree),
    ("security", "invalid calls", security.invalid_calls),
    ("security", "arguments no object", security.arguments_no_object),
    ("security", "unknown tool", security.unknown_tool),
    ("security", "hostile texts", security.hostile_texts),
    ("security", "deep nesting", security.deep_nesting),
    ("performance", "latency", performance.latency),
    ("performance", "in flight", performance.in_flight),
    ("error handling", "time-out", errors.time_out),
    ("error handling", "cancellation", errors.cancellation),
    ("error handling", "malformed messages", errors.malformed),
    ("error handling", "cleaning up", errors.cleaning_up),
    ("error handling", "flat under calls", errors.flat),
    ("security", "leaks in errors", security.leaks),
)


async def examine(target: Target, plan: Plan | None = None, *, progress: Progress | None = None) -> Report:
    """Run all checks at ``target``, which is any target of ``Client``, and report the findings.

    ``progress(section, check)`` is called before each check. Raises ``TransportError`` or ``RpcError`` if the first
    connection fails; later failures are in the report.
    """
    async with Bench(target, plan or Plan()) as bench:
        findings: list[Finding] = []
        for section, name, check in CHECKS:
            if progress is not None:
                progress(section, name)
            findings += [replace(finding, section=section, check=name) for finding in await _run(check, bench)]
        facts = bench.facts
        return Report(f"{facts.name} {facts.version}".strip(), facts.revision, bench.plan.seed, tuple(findings))


async def check_server(target: Target, plan: Plan | None = None) -> Report:
    """The report, or AssertionError with its text if a check failed."""
    report = await examine(target, plan)
    assert report.ok, report.text()
    return report


async def _run(check: Check, bench: Bench) -> list[Finding]:
    if bench.trouble:
        return [
            failed(FINDING_TOOL_LISTING_FAILED, problem=bench.trouble)
            if check is functional.listing
            else not_run(SKIPPED_TOOL_LISTING_FAILED)
        ]
    findings: list[Finding] = []
    try:
        async for finding in check(bench):
            findings.append(finding)
    except (RpcError, TransportError) as error:
        findings.append(failed(FINDING_CHECK_ABORTED, problem=fact_of(error, is_clause=False)))
    return findings

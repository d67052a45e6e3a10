"""Performance: how long calls take, alone and many at once. Only the limits of the plan are asserted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from tooltrue.testing.checks.bench import Bench, CallOutcome, ToolUnderTest
from tooltrue.testing.report import Finding, failed, not_run, passed
from tooltrue.testing.wording import (
    FINDING_CONCURRENT_CALLS_FAILED,
    FINDING_CONCURRENT_RESULTS_DIFFER,
    FINDING_LATENCY_LIMIT_EXCEEDED,
    SKIPPED_NO_CALLABLE_TOOL,
)

__all__ = ["in_flight", "latency", "quantile"]


async def latency(bench: Bench) -> AsyncIterator[Finding]:
    """The duration of each tool's calls, one after the other."""
    has_calls = False
    for subject in bench.callable():
        has_calls = True
        again = 0 if subject.is_slow else bench.plan.calls  # its duration is known
        answers = [await bench.call(subject, subject.good or {}) for _ in range(again)] or subject.answers
        yield _measured(bench, subject.name, answers)
    if not has_calls:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)


async def in_flight(bench: Bench) -> AsyncIterator[Finding]:
    """Concurrent calls are all answered, each with its own answer.

    Only read-only tools are called: the right answer of others is not known.
    """
    alone: dict[str, CallOutcome] = {}
    for subject in list(bench.callable()):
        if subject.reads and await bench.is_stable(subject):
            # Checked again: texts that other checks have stored may be too long for one answer by now.
            first, second = [await bench.call(subject, subject.good or {}) for _ in range(2)]
            if first.content == second.content:
                alone[subject.name] = first
    subjects = [subject for subject in bench.callable() if subject.name in alone]
    if not subjects:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)
        return
    start = bench.plan.clock()
    turns = [subjects[number % len(subjects)] for number in range(bench.plan.in_flight * bench.plan.calls)]
    answers = await _together(bench, turns)
    seconds = bench.plan.clock() - start
    pairs = list(zip(turns, answers, strict=True))
    unanswered = [subject for subject, answer in pairs if answer.result is None]
    mixed = [subject for subject, answer in pairs if answer.result and answer.content != alone[subject.name].content]
    if unanswered:
        yield failed(FINDING_CONCURRENT_CALLS_FAILED, unanswered[0].name, count=len(unanswered), total=len(turns))
    elif mixed:
        yield failed(FINDING_CONCURRENT_RESULTS_DIFFER, mixed[0].name, count=len(mixed), total=len(turns))
    else:
        took = [answer.seconds for answer in answers]
        yield passed(
            calls=len(turns), at_once=bench.plan.in_flight, per_second=len(turns) / seconds, p95_ms=_ms(took, 0.95)
        )


async def _together(bench: Bench, turns: Sequence[ToolUnderTest]) -> list[CallOutcome]:
    free = asyncio.Semaphore(bench.plan.in_flight)

    async def one(subject: ToolUnderTest) -> CallOutcome:
        async with free:
            return await bench.call(subject, subject.good or {}, bench.client)

    return await asyncio.gather(*map(one, turns))


def _measured(bench: Bench, tool: str, answers: Sequence[CallOutcome]) -> Finding:
    took = [answer.seconds for answer in answers]
    limit, p95 = bench.plan.p95, quantile(took, 0.95)
    if limit is not None and p95 > limit:
        return failed(FINDING_LATENCY_LIMIT_EXCEEDED, tool, p95=p95, limit=limit)
    return passed(tool, calls=len(took), p50_ms=_ms(took, 0.5), p95_ms=_ms(took, 0.95))


def _ms(seconds: Sequence[float], share: float) -> float:
    return 1_000 * quantile(seconds, share)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that ``share`` of them do not exceed; 0 for an empty sequence."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0

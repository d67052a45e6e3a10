"""Each check reports the fault that it covers, and no finding for a correct server."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import sys
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support.wire.scripted import SkippingLoop
from tooltrue import Server, ToolError
from tooltrue.protocol.types import InputRequiredResult
from tooltrue.testing.checks import CHECKS, Check, Plan, check_server, errors, examine, functional
from tooltrue.testing.checks.bench import Bench
from tooltrue.testing.report import SECTIONS, Report
from tooltrue.transport import stdio_client
from unit.testing import bad
from unit.testing.seeded import BUGS, Clock, seeded

T = TypeVar("T")

# Long enough for a busy machine: a test reaches this limit only when the awaited event never occurs.
SECONDS = 60.0
QUICK = Plan(calls=4, in_flight=4, seconds=SECONDS, effects="write")


@pytest.fixture(autouse=True, scope="module")
def objects_of_other_tests_are_frozen() -> None:
    """Excludes the objects of earlier tests from the repeated garbage collections of the kit."""
    gc.collect()
    gc.freeze()


def skipping(work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work`` on a loop whose time advances only when every task waits."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)


def examined(target: Any, plan: Plan = QUICK) -> Report:
    """The report. A server on bare messages has no threads, and needs no clock but that of its loop."""
    if not isinstance(target, bad.Honest) or plan.carriers:
        return asyncio.run(examine(target, plan))
    return skipping(examine(target, plan))


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.failures}


def test_an_honest_server_has_no_findings():
    report = examined(bad.Honest())
    assert report.ok, report.text()
    assert {finding.section for finding in report.findings} == set(SECTIONS)
    assert {(finding.section, finding.check) for finding in report.findings} == {row[:2] for row in CHECKS}


@pytest.mark.parametrize("server", [bad.SpeaksOldOnly, bad.SpeaksNewOnly])
def test_a_server_of_one_era_is_as_good(server: type[bad.Honest]):
    report = examined(server())
    assert report.ok, report.text()
    assert "TT8907" in {finding.code for finding in report.findings}


def test_a_limit_that_is_heeded_is_no_finding():
    report = examined(bad.ListsAsAsked())
    assert report.ok, report.text()
    assert [one.tool for one in report.findings if one.check == "limits"] == ["lists"]


def test_a_tool_that_may_vary_is_named():
    assert examined(bad.TellsAnotherEachTime(), replace(QUICK, varies=frozenset({"told"}))).ok


@pytest.mark.parametrize("name", sorted(bad.FAULTS))
def test_a_fault_is_found_and_called_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KIT_TEST_SECRET", "correct-horse-battery")
    server, expected = bad.FAULTS[name]
    report = examined(server())
    assert codes(report) == expected, report.text()
    assert "correct-horse-battery" not in report.text() + str(report.as_json())


def fails(check: str, target: Any, plan: Plan = QUICK) -> list[str]:
    """The codes that one check reports."""
    return [finding.code for finding in examined(target, plan).failures if finding.check == check]


def test_a_limit_on_times_is_kept_by_an_injected_clock():
    ticks = itertools.count()
    slow = replace(QUICK, p95=0.5, clock=lambda: float(next(ticks)))
    assert fails("latency", bad.Honest(), slow) == ["TT8401"] * 3


def test_another_way_to_the_server_is_tried():
    gone, other = [sys.executable, "-c", ""], bad.HasTwins()
    plan = Plan(calls=1, in_flight=1, seconds=SECONDS, carriers={"same": bad.Honest(), "gone": gone, "other": other})
    assert fails("carriers agree", bad.Honest(), plan) == ["TT8204", "TT8205"]


def test_a_crash_behind_our_own_pipeline_is_found():
    server = Server("crashes")

    @server.tool(effect="read")
    def crash(text: str) -> str:
        """Crash."""
        raise ValueError(text)

    assert "TT8134" in fails("valid calls", server)


def test_eight_seeded_bugs_are_found_and_told_on_a_line_each():
    clock = Clock()
    report = examined(seeded(clock), Plan(seconds=SECONDS, effects="write", p95=1.0, clock=clock))
    # pytest stores the log records, so that memory grows with each failure.
    failures = [finding for finding in report.failures if finding.check != "flat under calls"]
    assert {(finding.tool, finding.code) for finding in failures} == {*BUGS.items()}, report.text()
    kinds = [line.split("  ")[1:3] for line in report.text().splitlines() if line.startswith("  FAILED")]
    assert len(kinds) == len({*map(tuple, kinds)}) <= len(BUGS) + 2


def test_only_errors_prove_nothing():
    server = Server("empty")

    @server.tool(effect="read", examples=[{"name": "tea"}])
    def find(name: str) -> str:
        """Find nothing."""
        raise ToolError("There is no such thing.")

    report = examined(server)
    reasons = {(finding.check, finding.code) for finding in report.findings if finding.status == "not run"}
    assert {("examples", "TT8917"), ("valid calls", "TT8905")} <= reasons


def test_a_tool_that_asks_the_user_is_left_alone():
    server = Server("asks")
    server.add_raw_tool("buy", {"type": "object"}, _question, description="Buy tea.", effect="read")
    report = examined(server)
    assert report.ok, report.text()
    assert ("valid calls", "TT8919") in {(finding.check, finding.code) for finding in report.findings}


def _question(arguments: dict[str, Any]) -> InputRequiredResult:
    schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
    params = {"mode": "form", "message": "Sure?", "requestedSchema": schema}
    return InputRequiredResult(inputRequests={"sure": {"method": "elicitation/create", "params": params}})


# --- calls by effect -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "called"),
    [
        ({}, {"reads"}),
        ({"effects": "write"}, {"reads", "writes"}),
        ({"destructive": frozenset({"destroys"})}, {"reads", "destroys"}),
        ({"destructive": frozenset({"says_nothing"})}, {"reads", "says_nothing"}),
        ({"effects": "write", "tools": ("*s_nothing", "w*")}, {"writes"}),
    ],
)
def test_a_check_calls_only_tools_with_an_allowed_effect(settings: dict[str, Any], called: set[str]):
    server = Server("effects")
    ran: set[str] = set()

    def note(name: str, /) -> str:
        ran.add(name)
        return name

    effects: dict[str, Any] = {"reads": "read", "writes": "write", "destroys": "destructive", "says_nothing": None}
    for name, effect in effects.items():
        server.add_tool(partial(note, name), name=name, description=name, effect=effect)
    report = examined(server, Plan(calls=1, in_flight=1, seconds=SECONDS, **settings))
    assert report.ok, report.text()
    assert ran == called
    excused = {finding.tool for finding in report.findings if finding.code in ("TT8901", "TT8902", "TT8903")}
    assert excused == {"reads", "writes", "destroys", "says_nothing"} - called


def test_a_check_does_not_call_an_open_world_tool_unless_allowed():
    server = Server("outside")
    ran: list[str] = []
    server.add_tool(partial(ran.append, "asked"), name="ask", description="Asks.", effect="read", open_world=True)
    report = examined(server, Plan(calls=1, in_flight=1, seconds=SECONDS))
    assert (report.ok, ran) == (True, [])
    assert "TT8920" in {finding.code for finding in report.findings}
    examined(server, Plan(calls=1, in_flight=1, seconds=SECONDS, open_world=True))
    assert ran


# --- processes -------------------------------------------------------------------------------------------------------


def process(server: type[bad.Honest]) -> list[str]:
    return [sys.executable, str(Path(bad.__file__)), server.__name__]


@pytest.mark.process
@pytest.mark.parametrize(
    ("server", "check", "expected"),
    [
        (bad.Honest, errors.cleaning_up, set()),
        (bad.NeverEnds, errors.cleaning_up, {"TT8506"}),
        (bad.LeavesAChild, errors.cleaning_up, {"TT8507"}),
        (bad.Honest, errors.flat, set()),
        (bad.OpensFiles, errors.flat, {"TT8508"}),
        (bad.Dies, functional.valid_calls, {"TT8133"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_faults_of_processes_are_found(
    server: type[bad.Honest], check: Check, expected: set[str], monkeypatch: pytest.MonkeyPatch
):
    async def main() -> set[str]:
        async with Bench(process(server), Plan(calls=2, seconds=SECONDS)) as bench:
            return {finding.code async for finding in check(bench) if finding.status == "failed"}

    # How long an end may take: a server that ends has time for it, and one that never ends is not waited for.
    monkeypatch.setattr(stdio_client, "_PATIENCE_SECONDS", 0.1 if server is bad.NeverEnds else SECONDS)
    assert asyncio.run(main()) == expected


# --- the report ------------------------------------------------------------------------------------------------------


def test_check_server_raises_with_the_report():
    with pytest.raises(AssertionError, match=r"\[TT8102\]"):
        skipping(check_server(bad.SaysNothing(), QUICK))
    assert skipping(check_server(bad.Honest(), QUICK)).ok


def test_a_report_says_the_same_in_both_languages_and_as_json():
    report = examined(bad.SaysNothing())
    assert "缺少供模型选用的描述" in report.text("zh")
    shown = json.loads(json.dumps(report.as_json("zh")))
    assert list(shown["sections"]) == list(SECTIONS)
    assert shown["ok"] is False
    [finding] = [one for one in shown["sections"]["functional"] if one["status"] == "failed"]
    assert (finding["check"], finding["tool"], finding["code"]) == ("definitions", "look", "TT8102")
    assert sum(map(len, shown["sections"].values())) == len(report.findings)


def test_progress_is_told_of_every_check():
    told: list[tuple[str, str]] = []
    skipping(examine(bad.Honest(), QUICK, progress=lambda section, check: told.append((section, check))))
    assert told == [(section, name) for section, name, _ in CHECKS]

"""The suite's own judgement is lenient; ours must not be."""

from pathlib import Path

import pytest

from conformance.verdicts import EXCUSED, expected_failures, judged, rows_in, with_expected

BESIDE = {"id": "wire-schema-valid", "status": "SUCCESS", "description": "valid messages"}


def check(status, name="ping"):
    return {"id": name, "status": status, "description": "it answers"}


def row(*checks, scenario="ping"):
    return judged("2025-11-25", scenario, [*checks, BESIDE])


def test_a_scenario_whose_checks_all_succeed_has_passed():
    assert row(check("SUCCESS"), check("SUCCESS", "pong")).passed


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED", "INFO"])
def test_one_check_that_did_otherwise_is_a_failure(status):
    found = row(check("SUCCESS", "pong"), check(status))

    assert not found.passed
    assert found.troubles == (f"{status} ping: it answers: null",)
    assert found.counts[status] == 1


def test_a_scenario_that_checked_nothing_has_not_passed():
    assert not row().passed


def test_a_sent_request_does_not_count_as_a_check():
    sent = check("INFO", "outgoing-request")

    assert row(check("SUCCESS"), sent).passed
    assert not row(sent).passed


def test_a_check_that_is_content_with_a_tool_that_failed_has_not_passed():
    content = check("SUCCESS") | {"details": {"result": {"isError": True}}}

    assert not row(content).passed
    assert row(content, scenario="tools-call-error").passed


def test_an_excuse_holds_for_its_check_only_and_only_as_long_as_it_is_needed():
    scenario, name = next(iter(EXCUSED))

    assert row(check("SUCCESS"), check("INFO", name), scenario=scenario).passed
    assert not row(check("SUCCESS"), check("INFO", name)).passed
    assert not row(check("SUCCESS"), check("SUCCESS", name), scenario=scenario).passed


def test_the_folders_of_the_suite_are_read_in_the_order_in_which_they_were_made(tmp_path):
    for name in ("ping-2026-11-20T19-16-11-000Z", "tools-call-image-2026-11-20T19-16-10-987Z"):
        (tmp_path / f"server-{name}").mkdir()
        (tmp_path / f"server-{name}" / "checks.json").write_text("[]")
    (tmp_path / "server-caching-2026-11-20T19-16-11-000Z").mkdir()  # of another revision: not run, no checks

    assert [found.scenario for found in rows_in(tmp_path, "2025-11-25")] == ["tools-call-image", "ping"]


def test_an_expected_failure_passes_and_tells_its_reason():
    [found] = with_expected([row(check("FAILURE"))], {"ping": "not offered"}, is_whole=True)

    assert found.passed
    assert found.expected == "not offered"


def test_an_expected_failure_that_passes_fails_the_run():
    [found] = with_expected([row(check("SUCCESS"))], {"ping": "not offered"}, is_whole=True)

    assert not found.passed


def test_an_expected_failure_that_no_scenario_bears_fails_a_whole_run_only():
    rows = [row(check("SUCCESS"))]

    *_, unknown = with_expected(rows, {"pong": "not offered"}, is_whole=True)

    assert (unknown.scenario, unknown.passed) == ("pong", False)
    assert with_expected(rows, {"pong": "not offered"}, is_whole=False) == rows


def test_a_failure_that_is_not_expected_still_fails():
    [found] = with_expected([row(check("FAILURE"))], {}, is_whole=True)

    assert not found.passed


@pytest.mark.parametrize(
    "side", ["server", "client", "stateless", "session-based", "typescript", "typescript-checkout"]
)
def test_each_expected_failure_has_a_reason(side):
    file = Path(__file__).with_name("expected-failures.yml")

    reasons = [reason for part in expected_failures(file, side).values() for reason in part.values()]

    assert reasons
    assert all(isinstance(reason, str) and len(reason) > 20 for reason in reasons)

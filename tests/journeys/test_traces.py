"""OpenTelemetry traces in a process that has set it up, and the cost in a process that has not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

HERE = Path(__file__).parent
W3C = re.compile("00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
PARENT = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")

Span = dict[str, Any]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """The recorded traces by connection (``modern``, ``legacy``, ``http``), and the measured durations."""
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(HERE / "traced.py")], capture_output=True, text=True, timeout=LIMIT, env=env
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=["modern", "legacy"])
def spans(request: pytest.FixtureRequest, told: dict[str, Any]) -> list[Span]:
    return told[request.param]["spans"]


def one(spans: list[Span], name: str, kind: str = "SERVER") -> Span:
    (found,) = [span for span in spans if (span["name"], span["kind"]) == (name, kind)]
    return found


def test_a_call_is_one_trace_from_the_caller_down_to_the_work_of_the_tool(spans: list[Span]) -> None:
    caller, below = one(spans, "caller", "INTERNAL"), one(spans, "below", "INTERNAL")
    asked, served = one(spans, "tools/call inner", "CLIENT"), one(spans, "tools/call inner")
    assert (asked["parent"], served["parent"], below["parent"]) == (caller["id"], asked["id"], served["id"])
    assert {span["trace"] for span in (caller, asked, served, below)} == {caller["trace"]}


def test_spans_of_a_plain_function_are_children_of_its_call(spans: list[Span]) -> None:
    assert one(spans, "below-thread", "INTERNAL")["parent"] == one(spans, "tools/call in_thread")["id"]


@pytest.mark.requirement("META-19")
def test_a_request_carries_its_trace_as_w3c_writes_it(told: dict[str, Any]) -> None:
    for era in ("modern", "legacy"):
        assert W3C.fullmatch(told[era]["result"]["traceparent"])


def test_a_span_has_the_attributes_of_the_semantic_conventions(told: dict[str, Any]) -> None:
    modern = one(told["modern"]["spans"], "tools/call inner")["attributes"]
    assert modern.pop("jsonrpc.request.id").isdecimal()
    assert modern == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "inner",
        "tooltrue.outcome": "ok",
    }
    session = [span["attributes"] for span in told["http"]["spans"] if "mcp.session.id" in span["attributes"]]
    assert [
        (facts["mcp.protocol.version"], facts["network.transport"], facts["client.address"]) for facts in session
    ] == [("2025-11-25", "tcp", "127.0.0.1")]
    assert re.fullmatch("[0-9a-f]{64}", session[0]["mcp.session.id"]), "a hash, and not the session itself"
    assert one(told["modern"]["spans"], "resources/read")["attributes"]["mcp.resource.uri"] == "note://one"


def test_a_failure_is_an_error_of_its_kind_without_its_text(spans: list[Span]) -> None:
    for kind in ("SERVER", "CLIENT"):
        refused = one(spans, "tools/call refuse", kind)
        assert (refused["status"], refused["attributes"]["error.type"]) == ("ERROR", "tool_error")
    unknown = one(spans, "tools/call")["attributes"]
    assert (unknown["error.type"], unknown["rpc.response.status_code"]) == ("-32602", "-32602")
    assert unknown["tooltrue.code"] == "TT1010"
    assert "hunter2" not in json.dumps(spans)
    assert all(span["events"] == [] for span in spans)


def test_a_valid_traceparent_is_the_parent_span_in_each_revision_and_an_invalid_one_is_ignored(
    told: dict[str, Any],
) -> None:
    calls = [span for span in told["http"]["spans"] if span["name"] == "tools/call in_thread"]
    assert [(span["trace"], span["parent"]) == PARENT for span in calls] == [True, False, True]
    assert calls[1]["parent"] is None


def test_a_call_by_rest_is_a_span_below_that_of_its_header(told: dict[str, Any]) -> None:
    call = one(told["rest"]["spans"], "tools/call in_thread")
    assert (call["trace"], call["parent"]) == PARENT
    assert call["attributes"] == {
        "mcp.method.name": "tools/call",
        "network.transport": "tcp",
        "client.address": "127.0.0.1",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "in_thread",
        "tooltrue.outcome": "ok",
    }
    assert one(told["rest"]["spans"], "tools/call")["attributes"]["tooltrue.code"] == "TT1010"


@pytest.mark.attack("J11")
def test_j11_a_name_a_caller_invents_appears_in_no_span_and_no_metric(told: dict[str, Any]) -> None:
    assert one(told["http"]["spans"], "_OTHER")["attributes"]["mcp.method.name"] == "_OTHER"
    served = [entry for entry in told["durations"] if entry["name"].startswith("mcp.server")]
    assert "made" not in json.dumps(served)


@pytest.mark.attack("J11")
def test_j11_a_number_that_a_server_invents_is_no_label(told: dict[str, Any]) -> None:
    """The codes of its errors are a label; a server could have a new one for each call."""
    codes = {entry["attributes"].get("rpc.response.status_code") for entry in told["durations"]} - {None}
    kinds = {entry["attributes"].get("error.type") for entry in told["durations"]} - {None}
    defined = {"-32700", "-32600", "-32601", "-32602", "-32603", "-32002", "-32000"}
    assert codes == defined | {"_OTHER"}
    assert kinds <= codes | {"tool_error", "HttpStatus"}


@pytest.mark.twin("J11")
def test_j11_durations_are_measured_by_method_tool_and_kind_of_failure(told: dict[str, Any]) -> None:
    for side in ("server", "client"):
        mine = [entry for entry in told["durations"] if entry["name"] == f"mcp.{side}.operation.duration"]
        assert {entry["unit"] for entry in mine} == {"s"}
        (refused,) = [entry for entry in mine if entry["attributes"].get("gen_ai.tool.name") == "refuse"][:1]
        assert refused["attributes"]["error.type"] == "tool_error"


SILENT = """
import asyncio, sys
from tooltrue import Client, Server
from tooltrue.observe.setup import tracing
{first}
server = Server("silent")
server.add_tool(lambda: "x", name="tool")

async def main():
    async with Client(server) as client:
        assert (await client.call_tool("tool")).value == "x"

asyncio.run(main())
assert tracing() is None
sys.exit({wrong})
"""


@pytest.mark.parametrize(
    ("first", "wrong"),
    [
        ("", "'opentelemetry' in sys.modules"),
        ("import opentelemetry.trace", "'tooltrue.observe.telemetry' not in sys.modules"),
    ],
)
def test_a_program_loads_telemetry_only_if_it_uses_opentelemetry(first: str, wrong: str) -> None:
    program = SILENT.format(first=first, wrong=wrong)
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=LIMIT)

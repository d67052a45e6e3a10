"""A call has the same outcome by MCP and by REST: its value or its refusal, and its record."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st

from support.wire.raw_http import modern
from tooltrue import Confirm, Rate, Server, ToolError
from tooltrue.server.service import SILENT
from tooltrue.state.log import MemoryLog
from tooltrue.testing.generate import samples
from tooltrue.tools.vocabulary import LOCAL, RequestContext

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
SCALARS: Mapping[str, Mapping[str, Any]] = {
    "string": {"type": "string", "maxLength": 5},
    "integer": {"type": "integer", "minimum": -3, "maximum": 3},
    "boolean": {"type": "boolean"},
    "nothing": {"type": "null"},
    "one of": {"enum": ["a", "b", 1]},
}
SCHEMAS = st.dictionaries(
    st.sampled_from("abc"),
    st.sampled_from([*SCALARS.values(), *({"type": "array", "items": one, "maxItems": 3} for one in SCALARS.values())]),
    max_size=3,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
ENDINGS = ("value", "text", "error", "crash", "nothing", "wrong")
STATUSES = {
    "TT2001": 422, "TT2004": 500, "TT2005": 500, "TT2100": 429, "TT2103": 429, "TT2201": 403, "TT2403": 409,
    "TT1010": 404, "": 424,
}  # fmt: skip


def made(schema: Mapping[str, Any], ending: str, effect: Any, rate: Rate, log: MemoryLog) -> Server:
    """A server with one tool, which ends in this way."""

    def run(arguments: dict[str, Any]) -> Any:
        match ending:
            case "value":
                return {"got": arguments}
            case "text":
                return f"it is {sorted(arguments)}"
            case "error":
                raise ToolError("There is no such thing.")
            case "crash":
                raise ValueError("of the inside")
            case "nothing":
                return None
            case _:
                return ["not an object"]

    confirm = Confirm(effects=frozenset({"destructive"}), store="memory:")
    server = Server("generated", audit=log, confirm=confirm)
    output = {"type": "object"} if ending == "wrong" else None
    server.add_raw_tool("run", schema, run, effect=effect, output_schema=output, rate=rate)
    return server


async def by_mcp(client: httpx2.AsyncClient, name: str, arguments: Mapping[str, Any]) -> Any:
    """The value of the result, or its text and whether it is an error; the message of a protocol error."""
    message, headers = modern("tools/call", {"name": name, "arguments": arguments})
    answer = (
        await client.post(
            "/mcp", json=message, headers={**HEADERS, **{name: value for name, value in headers if value is not None}}
        )
    ).json()
    if "error" in answer:
        return "refused", answer["error"]["message"]
    result = answer["result"]
    if result["isError"]:
        return "refused", result["content"][0]["text"]
    return "value", result.get("structuredContent", {"content": result["content"]})


async def by_rest(client: httpx2.AsyncClient, name: str, arguments: Mapping[str, Any]) -> tuple[Any, int]:
    answer = await client.post(f"/tools/{name}", json=arguments)
    body = answer.json()
    return ("value", body) if answer.status_code == 200 else ("refused", body["error"]["message"]), answer.status_code


_ID = re.compile(r"\b[0-9a-f]{8}\b|\b[a-z0-9]{4}(?:-[a-z0-9]{4})+\b|ticket \S+|allow \S+")
_CODE = re.compile(r"\[(TT[0-9]{4})\]$")
_OF_ONE_CALL = ("at", "ms", "queue_ms", "id", "notes", "instance")


def _alike(outcome: tuple[str, Any]) -> tuple[str, Any]:
    """The outcome without the ids of crashes and tickets, and without the seconds until the next call."""
    kind, value = outcome
    return (kind, re.sub(r"[0-9]+ s\b", "N s", _ID.sub("ID", value))) if kind == "refused" else outcome


def _status_of(message: str) -> int:
    code = _CODE.search(message)
    return STATUSES[code[1] if code else ""]


def _record(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _OF_ONE_CALL}


@settings(deadline=None, max_examples=40)
@given(SCHEMAS, st.sampled_from(ENDINGS), st.sampled_from(["read", "write", "destructive"]), st.integers(1, 4), JSON)
def test_a_call_has_the_same_outcome_and_record_by_mcp_and_by_rest(
    properties: Mapping[str, Any], ending: str, effect: str, burst: int, other: Any
):
    schema = {"type": "object", "properties": properties, "required": sorted(properties)[:1]}
    logs = MemoryLog(), MemoryLog()
    servers = [made(schema, ending, effect, Rate(0.001, burst), log) for log in logs]

    async def calls() -> None:
        apps = [server.http_app(rest=True, signals=False) for server in servers]
        transports = [httpx2.ASGITransport(app=app) for app in apps]
        tool = await servers[0].provider.find_tool("run", RequestContext(LOCAL, SILENT))
        generated = samples(tool.input, count=3)
        given = [*(one.value for one in generated.valid[:3]), *(one.value for one in generated.invalid[:2])]
        sent = [("run", arguments) for arguments in given if isinstance(arguments, dict)]
        sent += [("run", {"a": other}), ("ran", {})]
        async with (
            apps[0].serving(),
            apps[1].serving(),
            httpx2.AsyncClient(transport=transports[0], base_url="http://localhost") as mcp,
            httpx2.AsyncClient(transport=transports[1], base_url="http://localhost") as rest,
        ):
            for name, arguments in sent:
                expected = await by_mcp(mcp, name, arguments)
                got, status = await by_rest(rest, name, arguments)
                assert _alike(got) == _alike(expected)
                assert status == (200 if got[0] == "value" else _status_of(got[1]))

    asyncio.run(calls())
    mine, theirs = ([json.loads(entry.text) for entry in asyncio.run(log.read())] for log in logs)
    assert [*map(_record, theirs)] == [*map(_record, mine)]
    assert all(record["notes"] == ["by REST"] for record in theirs if record["kind"] == "call")

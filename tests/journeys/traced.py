"""A process in which OpenTelemetry is set up: a client calls a server, in memory and over HTTP, and the traces are
printed as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from typing import Any

import httpx2
import uvicorn
from opentelemetry import baggage, context, metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from support.wire.foreign import Heard, Reply, foreign
from support.wire.raw_http import Endpoint
from tooltrue import Client, Context, RpcError, Server, ToolError

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracers)
metrics.set_meter_provider(MeterProvider([reader]))
tracer = trace.get_tracer("author")

server = Server("traced", version="1")


@server.tool
async def inner() -> str:
    """Do something below."""
    with tracer.start_as_current_span("below"):
        return str(baggage.get_baggage("who"))


@server.tool
def in_thread() -> str:
    """Do something below, on a thread."""
    with tracer.start_as_current_span("below-thread"):
        return "done"


@server.tool
def refuse() -> str:
    """Refuse."""
    raise ToolError("hunter2")


@server.tool
def carried(context: Context) -> dict[str, str]:
    """The values that came with the request."""
    return {key: value for key, value in context.meta.items() if isinstance(value, str)}


@server.resource("note://one")
def note() -> str:
    """A note."""
    return "hunter2"


async def in_memory(revision: str | None) -> dict[str, str]:
    async with Client(server, revision=revision) as client:
        with tracer.start_as_current_span("caller"):
            token = context.attach(baggage.set_baggage("who", "ada"))
            assert (await client.call_tool("inner")).value == "ada"
            context.detach(token)
            await client.call_tool("in_thread")
            await client.call_tool("refuse")
            await client.read_resource("note://one")
            told = (await client.call_tool("carried")).value
        with contextlib.suppress(RpcError):
            await client.call_tool("made-up")
        return told


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def over_http() -> None:
    app = server.http_app()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
        task = asyncio.create_task(running.serve([listener]))
        endpoint = Endpoint(listener.getsockname()[1], "/mcp")
        version = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        meta: dict[str, Any] = {**version, "io.modelcontextprotocol/clientCapabilities": {}}
        for more in ({"traceparent": PARENT, "tracestate": "a=b"}, {"traceparent": [], "baggage": "x" * 9_000}):
            await endpoint.modern("tools/call", {"name": "in_thread", "_meta": {**meta, **more}})
        session = await endpoint.initialize()
        await endpoint.legacy(session, "tools/call", {"name": "in_thread", "_meta": {"traceparent": PARENT}})
        await endpoint.modern("made/up", {"_meta": meta}, mcp_method="made/up")
        running.should_exit = True
        await task


async def by_rest() -> None:
    app = server.http_app(rest=True, signals=False)
    transport = httpx2.ASGITransport(app=app)
    async with app.serving(), httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        await client.post("/tools/in_thread", json={}, headers={"traceparent": PARENT})
        await client.post("/tools/made-up", json={})


CODES = [*range(1, 60), -1, 0, 2**31, -(2**53), -31999, -32100, -32768, -32700, -32603, -32602, -32600, -32002, -32000]
"""Codes of errors that a server makes up, and those that are defined."""


async def foreign_codes() -> None:
    """A server whose errors have these codes is called, by us and by a tool of ours that hands its errors on."""
    codes = iter(2 * CODES)

    async def answer(request: Heard, reply: Reply) -> None:
        if request.method == "server/discover":
            await reply.body(400)
        elif request.method == "initialize":
            await reply.result(
                {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "f", "version": "1"},
                }
            )
        elif "id" in request.said:
            await reply.error(next(codes))
        else:
            await reply.body(202)

    async with foreign(answer) as other, Client(other.url) as client:
        for _ in CODES:
            with contextlib.suppress(RpcError):
                await client.call_tool("theirs")
        through = Server("through", version="1")

        @through.tool
        async def handed_on() -> str:
            """Call the other server."""
            return (await client.call_tool("theirs")).text

        async with Client(through) as ours:
            for _ in CODES:
                with contextlib.suppress(RpcError):
                    await ours.call_tool("handed_on")


def said(span: Any) -> dict[str, Any]:
    return {
        "name": span.name,
        "kind": span.kind.name,
        "trace": trace.format_trace_id(span.context.trace_id),
        "id": trace.format_span_id(span.context.span_id),
        "parent": span.parent and trace.format_span_id(span.parent.span_id),
        "status": span.status.status_code.name,
        "attributes": dict(span.attributes),
        "events": [event.name for event in span.events],
    }


def durations() -> list[dict[str, Any]]:
    metrics = reader.get_metrics_data()
    assert metrics is not None
    data = json.loads(metrics.to_json())
    return [
        {"name": metric["name"], "unit": metric["unit"], "attributes": point["attributes"], "count": point["count"]}
        for resource in data["resource_metrics"]
        for scope in resource["scope_metrics"]
        for metric in scope["metrics"]
        for point in metric["data"]["data_points"]
    ]


async def main() -> None:
    logging.disable()
    told: dict[str, Any] = {}
    for name, part in (
        ("modern", in_memory(None)),
        ("legacy", in_memory("2025-11-25")),
        ("http", over_http()),
        ("rest", by_rest()),
        ("codes", foreign_codes()),
    ):
        spans.clear()
        result = await part
        told[name] = {"result": result, "spans": [said(span) for span in spans.get_finished_spans()]}
    print(json.dumps({**told, "durations": durations()}))


if __name__ == "__main__":
    asyncio.run(main())

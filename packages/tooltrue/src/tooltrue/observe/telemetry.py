"""Spans and durations by the semantic conventions for the Model Context Protocol. Owns the package ``opentelemetry``.

Uses its API only; the operator of the process sets up an SDK and exporters. Arguments and results are never recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Generator, Mapping
from time import perf_counter
from typing import Any

from opentelemetry import context, metrics, propagate, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, TracerProvider

from tooltrue.errors import RpcError
from tooltrue.jsonrpc.messages import is_object
from tooltrue.observe.meter import BOUNDS
from tooltrue.observe.tracing import OPERATION
from tooltrue.protocol import legacy, modern, versions
from tooltrue.version import __version__

__all__ = ["Telemetry", "tracing"]

_CARRIED = ("traceparent", "tracestate", "baggage")
_MAX_CARRIED = 8_192
_METHODS = frozenset({*modern.METHODS, *legacy.METHODS, "initialize"})
_OTHER = "_OTHER"
_ERROR_CODES = frozenset({-32700, *range(-32603, -32599), *range(-32099, -31999)})
"""The codes that JSON-RPC 2.0 defines, and those that it leaves to protocols. A server may make up others."""

# Attributes that the durations have too: each has few values.
_COUNTED = (
    "mcp.method.name",
    "mcp.protocol.version",
    "network.transport",
    "gen_ai.operation.name",
    "gen_ai.tool.name",
    "gen_ai.prompt.name",
    "error.type",
    "rpc.response.status_code",
)


def tracing() -> Telemetry | None:
    """The telemetry, or ``None`` if OpenTelemetry is imported but not set up."""
    tracers, meters = trace.get_tracer_provider(), metrics.get_meter_provider()
    is_set_up = not (isinstance(tracers, trace.ProxyTracerProvider) and type(meters).__name__ == "_ProxyMeterProvider")
    return _telemetry(tracers, meters) if is_set_up else None


@functools.cache
def _telemetry(tracers: TracerProvider, meters: MeterProvider) -> Telemetry:
    return Telemetry(tracers, meters)


class Telemetry:
    """Reports to these providers."""

    def __init__(self, tracers: TracerProvider, meters: MeterProvider) -> None:
        self._tracer = tracers.get_tracer("tooltrue", __version__)
        meter = meters.get_meter("tooltrue", __version__)
        self._served = meter.create_histogram(
            "mcp.server.operation.duration",
            unit="s",
            description="MCP request or notification duration as observed on the receiver",
            explicit_bucket_boundaries_advisory=BOUNDS,
        )
        self._requested = meter.create_histogram(
            "mcp.client.operation.duration",
            unit="s",
            description="The duration of the MCP request or notification as observed on the sender",
            explicit_bucket_boundaries_advisory=BOUNDS,
        )

    @contextlib.contextmanager
    def serve(self, method: str, id: object, params: Mapping[str, Any], facts: Mapping[str, str]) -> Generator[None]:
        """A span for a served request. Its parent is the span named in the request, which may be in another process; if
        so, the current local span is linked."""
        declared_meta = params.get("_meta")
        meta = declared_meta if is_object(declared_meta) else {}
        around = trace.get_current_span().get_span_context()
        parent = propagate.extract(_carried(meta))
        is_elsewhere = trace.get_current_span(parent).get_span_context() != around
        links = [Link(around)] if is_elsewhere and around.is_valid else None
        attributes = {**_attributes(method, params), **facts}
        if id is not None:  # a call that comes as no message of the protocol has none
            attributes["jsonrpc.request.id"] = str(id)
        if isinstance(version := meta.get(modern.VERSION), str):
            attributes["mcp.protocol.version"] = version if version in versions.BY_NAME else _OTHER
        span = self._tracer.start_span(attributes["mcp.method.name"], parent, SpanKind.SERVER, attributes, links)
        operation = _Operation(span, attributes)
        entered, operation_token = context.attach(trace.set_span_in_context(span, parent)), OPERATION.set(operation)
        began = perf_counter()
        try:
            yield
        except BaseException as error:
            operation.failed(error)
            raise
        finally:
            self._served.record(perf_counter() - began, operation.counted(), context.get_current())
            span.end()
            OPERATION.reset(operation_token)
            context.detach(entered)

    @contextlib.contextmanager
    def request(self, method: str, params: Mapping[str, Any], facts: Mapping[str, str]) -> Generator[_Operation]:
        """A span for an outgoing request, which must carry ``carried`` so that the server's span becomes a child."""
        attributes = {**_attributes(method, params), **facts}
        name = params.get("name")
        if method in _NAMES and isinstance(name, str):  # our own caller chose it
            attributes[_NAMES[method]] = name
            method = f"{method} {name}"
        began = perf_counter()
        with self._tracer.start_as_current_span(
            method, kind=SpanKind.CLIENT, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            operation = _Operation(span, attributes)
            carrier: dict[str, str] = {}
            propagate.inject(carrier)
            operation.carried = _carried(carrier)
            try:
                yield operation
            except BaseException as error:
                operation.failed(error)
                raise
            finally:
                self._requested.record(perf_counter() - began, operation.counted())


_NAMES = {"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}


class _Operation:
    """A running operation: its span and attributes."""

    def __init__(self, span: Span, attributes: dict[str, str]) -> None:
        self._span = span
        self._attributes = attributes
        self.carried: Mapping[str, str] = {}

    @property
    def trace_id(self) -> str:
        return trace.format_trace_id(self._span.get_span_context().trace_id)

    def record_outcome(self, name: str, outcome: str, code: str) -> None:
        """Record the outcome known to the guard's innermost layer; the name is that of an existing tool or prompt."""
        method = self._attributes["mcp.method.name"]
        if name and method in _NAMES:
            self._say(_NAMES[method], name)
            self._span.update_name(f"{method} {name}")
        self._span.set_attribute("tooltrue.outcome", outcome)
        if code:
            self._span.set_attribute("tooltrue.code", code)
        if method == "tools/call" and outcome not in ("ok", "asked", "cancelled"):
            self._fail("tool_error")

    def record_answer(self, *, is_error: bool) -> None:
        if is_error:
            self._fail("tool_error")

    def failed(self, error: BaseException) -> None:
        """Record an end without a result. The number of a JSON-RPC error takes precedence over other information."""
        if isinstance(error, RpcError):
            code = str(error.number) if error.number in _ERROR_CODES else _OTHER
            self._say("rpc.response.status_code", code)
            self._fail(code)
        elif isinstance(error, asyncio.CancelledError | GeneratorExit):
            self._fail("cancelled")
        else:
            self._fail(type(error).__name__)

    def counted(self) -> dict[str, str]:
        return {name: self._attributes[name] for name in _COUNTED if name in self._attributes}

    def _fail(self, kind: str) -> None:
        self._say("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))

    def _say(self, name: str, value: str) -> None:
        self._attributes[name] = value
        self._span.set_attribute(name, value)


def _attributes(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    attributes = {"mcp.method.name": method if method in _METHODS else _OTHER}
    if method == "tools/call":
        attributes["gen_ai.operation.name"] = "execute_tool"
    uri = params.get("uri")
    if isinstance(uri, str):
        attributes["mcp.resource.uri"] = uri[:1_024]
    return attributes


def _carried(meta: Mapping[str, Any]) -> dict[str, str]:
    """The trace context in a request. It is untrusted: values other than text of a reasonable length are ignored."""
    values = {key: meta.get(key) for key in _CARRIED}
    return {key: value for key, value in values.items() if isinstance(value, str) and len(value) <= _MAX_CARRIED}

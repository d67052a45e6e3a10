"""The endpoint for programs that speak no MCP: one ``POST /tools/NAME`` is one call of a tool.

The transport has checked Host, Origin, media type and size, and the endpoint of MCP has authenticated the caller. A
call passes the same pipeline as one by MCP. A program gets the structured content of the result, or an error with a
status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tooltrue.errors import InvalidParams, MissingCapability, RpcError, ScopeNeeded
from tooltrue.jsonrpc.messages import decode, encode, is_object
from tooltrue.jsonrpc.peer import internal_error
from tooltrue.protocol.types import UNSET, CallToolResult, InputRequiredResult, TextContent
from tooltrue.rest.description import described_tools
from tooltrue.rest.failures import details_of, status_of_code, status_of_error
from tooltrue.rest.wording import REST_BODY_NOT_OBJECT, REST_QUESTION_REFUSED, REST_TASK_REFUSED
from tooltrue.server.http import HttpCaller, HttpEndpoint
from tooltrue.server.service import SILENT, ServedProvider
from tooltrue.tools.rounds import Rounds
from tooltrue.tools.vocabulary import CallRecord, RequestContext, ToolCall
from tooltrue.transport.http_server import Reply

__all__ = ["RestEndpoint"]

BY_REST: Final = "by REST"
"""The note in the record of a call that came by this endpoint."""

_TEMPORARY: Final = (429, 503)
_TRACE: Final = ("traceparent", "tracestate")


class RestEndpoint:
    """Answers calls and requests for the description. ``endpoint`` is that of MCP, which has admitted the caller."""

    def __init__(self, served: ServedProvider, endpoint: HttpEndpoint) -> None:
        self._served = served
        self._endpoint = endpoint

    async def post(self, name: str, body: bytes, caller: HttpCaller) -> Reply:
        """Return the reply to a call of the tool ``name`` with the arguments in ``body``."""
        trail = CallRecord()
        trail.note(BY_REST)
        context = self._context(caller, trail)
        try:
            arguments = decode(body)
            if not is_object(arguments):
                raise InvalidParams.of(REST_BODY_NOT_OBJECT, tool=name)
            with self._endpoint.traced_call({"name": name, "_meta": context.meta}, caller.carrier):
                outcome = await self._served.provider.call_tool(ToolCall(name, arguments, context))
        except MissingCapability as error:
            is_task = trail.tool is not None and trail.tool.task == "required"
            return self._failed(MissingCapability.of(REST_TASK_REFUSED, tool=name) if is_task else error)
        except RpcError as error:
            return self._failed(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return self._failed(internal_error(error))
        match outcome:
            case CallToolResult(isError=False):
                return Reply(200, _body_of(outcome))
            case CallToolResult():
                return self._refused(outcome, trail)
            case InputRequiredResult():
                return self._failed(MissingCapability.of(REST_QUESTION_REFUSED, tool=name))
            case _:
                return self._failed(MissingCapability.of(REST_TASK_REFUSED, tool=name))

    async def describe(self, base: str, caller: HttpCaller) -> Reply:
        """Return the description of the tools that the caller sees. ``base`` is the path before ``/tools``."""
        served = self._served
        try:
            tools = await served.provider.list_tools(self._context(caller, CallRecord()))
            document = described_tools(
                served.info,
                [tool.definition for tool in tools],
                instructions=served.instructions(),
                security=self._endpoint.security,
                scopes={tool.name: sorted(tool.requires) for tool in tools if tool.requires},
                base=base,
            )
        except RpcError as error:
            return self._failed(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            return self._failed(internal_error(error))
        # It is that of this caller, and no cache may hand it to another.
        return Reply(200, encode(document), (("cache-control", "no-store"),))

    def _context(self, caller: HttpCaller, trail: CallRecord) -> RequestContext:
        headers = caller.carrier.headers or {}
        return RequestContext(
            caller.principal,
            SILENT,
            meta={name: headers[name] for name in _TRACE if name in headers},
            rounds=Rounds(),
            trail=trail,
            language=self._served.language,
            carried=caller.carrier.headers,
        )

    def _failed(self, error: RpcError) -> Reply:
        language = self._served.language
        headers = self._endpoint.challenged(None, error).headers if isinstance(error, ScopeNeeded) else ()
        body = _error(error.say(language), error.code, details_of(error.facts, language))
        return Reply(status_of_error(error), body, headers)

    def _refused(self, result: CallToolResult, trail: CallRecord) -> Reply:
        """The reply to a call whose result is an error."""
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        details = details_of(trail.facts, self._served.language)
        if result.structuredContent is not UNSET:
            details["result"] = result.structuredContent
        body, status = _error("\n\n".join(texts), trail.code, details), status_of_code(trail.code)
        return Reply(status, body, _retry_after(trail.facts) if status in _TEMPORARY else ())


def _body_of(result: CallToolResult) -> bytes:
    """The structured content, or without it the content blocks."""
    if result.structuredContent is UNSET:
        return encode({"content": result.content})
    return encode(result.structuredContent) if result.encoded is None else result.encoded


def _error(message: str, code: str, details: Mapping[str, Any]) -> bytes:
    return encode({"error": {"message": message, **({"code": code} if code else {}), **details}})


def _retry_after(facts: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The header of a refusal that ends by itself."""
    seconds = facts.get("seconds")
    return (("retry-after", str(max(1, round(seconds)))),) if isinstance(seconds, int | float) else ()

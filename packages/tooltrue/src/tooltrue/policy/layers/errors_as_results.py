"""Error boundary: every failure of a call becomes a result for the model; the text of a crash never leaves.

Protocol errors stay ``RpcError``, for the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, ClassVar

from tooltrue.crashes import log_crash, log_unfit
from tooltrue.errors import InternalError, InvalidResult, RpcError, ToolError
from tooltrue.jsonrpc.wording import INTERNAL_SERVER_ERROR
from tooltrue.policy.plan import Step
from tooltrue.policy.wording import TOOL_INTERNAL_ERROR, TOOL_RESULT_VIOLATES_SCHEMA
from tooltrue.protocol.types import CallToolResult, Completion, PromptOutcome, ReadOutcome, ToolOutcome, replaced
from tooltrue.tools.content import failed
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import UNTRUSTED, CompletionGet, Principal, PromptGet, ResourceRead, Tool, ToolCall

__all__ = ["as_result", "errors_as_results"]


def errors_as_results(language: str) -> Callable[[Provider], Provider]:
    return lambda inner: _ErrorsAsResults(inner, language)


_MAX_WORDS = 20_000


def _sayable(text: str) -> str:
    """Limit an author's message to a length that a model can read, and make it encodable as JSON."""
    return text[:_MAX_WORDS].encode(errors="replace").decode()


@contextlib.contextmanager
def _masking(what: str) -> Generator[None]:
    """Turn a failure of a resource or prompt, which have no error results, into an internal error.

    The message of an author or of a timeout is kept; any other failure gets an id, which the log explains.
    """
    try:
        yield
    except (RpcError, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
            raise
        if isinstance(error, ToolError) and not isinstance(error, InvalidResult):
            raise _as_internal_error(error) from None
        id = secrets.token_hex(4)
        log = log_unfit if isinstance(error, InvalidResult) else log_crash
        log("%s failed, internal error %s", what, id, error=error)
        raise InternalError.of(INTERNAL_SERVER_ERROR, id=id) from None


def _as_internal_error(error: ToolError) -> InternalError:
    return InternalError.of(error.code, **error.facts) if error.code else InternalError(_sayable(str(error)))


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class _ErrorsAsResults(Wrapper, frozen=True):
    same_for_all: ClassVar[bool] = True
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        try:
            return await self.inner.call_tool(call)
        except BaseException as error:
            left = as_result(self.language, call, error)
            if isinstance(left, BaseException):
                raise
            return left

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        return Step(failed=partial(as_result, self.language))

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        with _masking(f"resource {request.uri}"):
            return await self.inner.read_resource(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        with _masking(f"prompt {get.name}"):
            return await self.inner.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        with _masking(f"completion of {get.name}"):
            return await self.inner.complete(get)


def as_result(language: str, call: ToolCall, error: BaseException) -> CallToolResult | BaseException:
    """Return the result for the model, or the error itself where it is not for the model."""
    match error:
        case RpcError() | GeneratorExit():
            return error
        case asyncio.CancelledError() if _is_being_cancelled():
            return error
        case InvalidResult():
            return _masked(language, TOOL_RESULT_VIOLATES_SCHEMA, call, error, log_unfit)
        case ToolError():
            _leave(call, error.code, error.facts)
            result = failed(_sayable(error.say(language)))
            return replaced(result, meta={UNTRUSTED: True}) if error.untrusted else result
        case _:  # whatever a tool raises, the model gets an answer; also a cancellation of the tool's own making
            return _masked(language, TOOL_INTERNAL_ERROR, call, error)


def _masked(
    language: str, code: str, call: ToolCall, error: BaseException, log: Callable[..., None] = log_crash
) -> CallToolResult:
    _leave(call, code)
    id = secrets.token_hex(4)
    log("tool %s failed, error %s", call.name, id, error=error)
    return failed(ToolError.of(code, tool=call.name, id=id).say(language))


def _leave(call: ToolCall, code: str, facts: Mapping[str, Any] | None = None) -> None:
    """Note the error code for the audit record, and its facts: above this layer, a failure is a result without them."""
    if (trail := call.context.trail) is not None:
        trail.code, trail.facts = code, facts or {}

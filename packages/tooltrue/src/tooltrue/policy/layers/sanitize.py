"""Output sanitization: results leave clean, without secrets, within the size limit and valid, or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from tooltrue.errors import InvalidParams, InvalidResult, RpcError, ToolError, TooltrueError, UnknownEntry
from tooltrue.jsonrpc.messages import EncodedJson, encode
from tooltrue.policy.layers.stored_results import BUDGET
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import TOOL_RESULT_TOO_LARGE, TOOL_RESULT_WITHHELD
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.types import (
    UNSET,
    CallToolResult,
    Completion,
    InputRequiredResult,
    PromptOutcome,
    PromptResult,
    ReadOutcome,
    ReadResourceResult,
    TaskCreated,
    TextContent,
    ToolOutcome,
    replaced,
)
from tooltrue.tools.content import encoded_value
from tooltrue.tools.null import SILENT
from tooltrue.tools.stored_results import SCHEME
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import (
    UNTRUSTED,
    CompletionGet,
    Personal,
    Principal,
    PromptGet,
    RequestContext,
    ResourceRead,
    Secrets,
    Tool,
    ToolCall,
)

if TYPE_CHECKING:  # loaded with the first call, like the functions that search for secrets
    from tooltrue.policy.sanitize.prescan import PrescanResult, Wants
    from tooltrue.policy.sanitize.redactor import Redactor

__all__ = ["sanitize_output"]


Outcome = TypeVar("Outcome", ReadResourceResult, PromptResult)

_MOST_WORDS = 1_000
"""Characters of the message of a task at another server."""


def sanitize_output(
    max_bytes: int, secrets: Secrets = "mask", language: str = "en", personal: Personal = "keep"
) -> Callable[[Provider], Provider]:
    return lambda inner: _SanitizeOutput(inner, max_bytes, secrets, personal, language)


class _SanitizeOutput(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    max_bytes: int
    secrets: Secrets
    personal: Personal
    language: str

    @property
    def wants(self) -> Wants:
        from tooltrue.policy.sanitize.prescan import Wants  # noqa: PLC0415 - loaded with the first call

        return Wants(self.secrets == "mask", self.personal == "mask")

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        from tooltrue.policy.sanitize.fit import LEAST, MAX_BLOCKS, fit  # noqa: PLC0415 - loaded with the first call
        from tooltrue.policy.sanitize.prescan import Wants, prescan  # noqa: PLC0415 - loaded with the first call
        from tooltrue.policy.sanitize.result_bytes import all_text, scannable_bytes  # noqa: PLC0415 - loaded with the first call

        wants = Wants((tool.secrets or self.secrets) == "mask", (tool.personal or self.personal) == "mask")
        limit = tool.max_bytes or self.max_bytes

        def before(call: ToolCall) -> None:
            if call.context.channel is not SILENT:
                call.context = _with_clean_channel(call.context, wants)

        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome | Awaitable[ToolOutcome]:
            data = _plain_text(outcome, call.context) if tool.output is None else None
            if data is not None and len(data) <= limit and not prescan(data, *wants):
                # A single text that needs no change.
                return _marked(cast("CallToolResult", outcome)) if tool.untrusted else outcome
            return inspected(call, outcome)

        def inspected(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome | Awaitable[ToolOutcome]:
            if type(outcome) is InputRequiredResult:
                return _clean_question(outcome, wants)
            if type(outcome) is TaskCreated:  # of a server elsewhere
                return _clean_status(outcome, wants)
            result = outcome
            if result.encoded is None and result.undecoded is not UNSET:
                # Made by a server elsewhere: its structured value is scanned and counted too, whether its text repeats
                # it or not.
                result = replaced(result, encoded=encoded_value(result.structuredContent))
            if not result.isError:
                _check_output(tool, result)
            data, size = scannable_bytes(result)
            if size <= BUDGET and (
                (suspicion := prescan(data, *wants)) or call.context.slices or not all_text(result.content)
            ):
                return redacted(call, result, size, suspicion)
            return sized(call, result, size)

        async def redacted(
            call: ToolCall, result: CallToolResult, size: int, suspicion: PrescanResult
        ) -> CallToolResult:
            clean = await self._redacted_result(tool, result, call.context, suspicion, wants)
            # A mask may be longer than its secret.
            return sized(call, clean, size if clean is result else scannable_bytes(clean)[1])

        def sized(call: ToolCall, result: CallToolResult, size: int) -> CallToolResult:
            if size > BUDGET or (size > limit and limit < LEAST):
                raise ToolError.of(TOOL_RESULT_TOO_LARGE, tool=tool.name, size=size, limit=limit)
            _clean_kept(call.context, wants)
            if size > limit or len(result.content) > MAX_BLOCKS:
                result = fit(tool, result, limit, call.context, self.language)
            return _marked(result) if tool.untrusted else result

        def failed(call: ToolCall, error: BaseException) -> BaseException:
            if isinstance(error, TooltrueError):
                _clean_error(error, wants)
                if tool.untrusted and isinstance(error, ToolError):
                    error.untrusted = True
            return error

        return Step(before, after, failed)

    async def _redacted_result(
        self, tool: Tool, result: CallToolResult, context: RequestContext, suspicion: PrescanResult, wants: Wants
    ) -> CallToolResult:
        from tooltrue.policy.sanitize.slices import cut_secrets  # noqa: PLC0415 - loaded with the first call

        redactor = _redactor(suspicion)
        if wants.secrets:
            redactor.slices.update(cut_secrets(context.slices, redactor.secrets))
        content = await self._checked(result.content, context, redactor)
        if not (suspicion or redactor.left_out or redactor.slices):
            return result
        return _redacted(tool, replaced(result, content=content), redactor)

    async def _checked(self, content: list[Any], context: RequestContext, redactor: Redactor) -> list[Any]:
        from tooltrue.policy.sanitize.blocks import check_blocks  # noqa: PLC0415 - loaded with the first call

        async def serves(uri: str) -> bool:
            with contextlib.suppress(UnknownEntry):
                return bool(await self.inner.find_entries(ResourceRead(uri, context)))
            return False

        return await check_blocks(content, serves, self.language, redactor.left_out)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        outcome = await self.inner.read_resource(request)
        if isinstance(outcome, InputRequiredResult):
            return _clean_question(outcome, self.wants)
        if request.uri.startswith(SCHEME):
            return outcome  # it was cleaned when it was stored, and its chunks have a size of their own
        _clean_kept(request.context, self.wants)
        return self._cleaned(request.uri, outcome, lambda outcome: outcome.contents)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        outcome = await self.inner.get_prompt(get)
        if isinstance(outcome, InputRequiredResult):
            return _clean_question(outcome, self.wants)
        _clean_kept(get.context, self.wants)
        return self._cleaned(get.name, outcome, lambda outcome: [message.content for message in outcome.messages])

    async def complete(self, get: CompletionGet) -> Completion:
        completion = await self.inner.complete(get)
        encoded = encode(completion)
        _check_size(get.name, len(encoded), self.max_bytes)
        suspicion = _prescan(encoded, self.wants)
        if suspicion:
            completion = _redactor(suspicion).part(completion)
            _check_size(get.name, len(encode(completion)), self.max_bytes)
        return completion

    def _cleaned(self, name: str, outcome: Outcome, parts: Callable[[Outcome], Sequence[object]]) -> Outcome:
        """Clean the contents of a resource or a prompt; there is no schema that they could break."""
        from tooltrue.policy.sanitize.result_bytes import result_bytes  # noqa: PLC0415 - loaded with the first call

        data, size = result_bytes(parts(outcome))
        _check_size(name, size, self.max_bytes)
        suspicion = _prescan(data + encode(outcome.meta), self.wants)
        if not suspicion:
            return outcome
        redactor = _redactor(suspicion)
        clean = redactor.part(outcome)
        _check_size(name, result_bytes(parts(clean))[1], self.max_bytes)
        return replaced(clean, meta=redactor.note(clean.meta))


def _prescan(data: bytes, wants: Wants) -> PrescanResult:
    from tooltrue.policy.sanitize.prescan import prescan  # noqa: PLC0415 - loaded with the first call

    return prescan(data, *wants)


def _redactor(suspicion: PrescanResult) -> Redactor:
    from tooltrue.policy.sanitize.redactor import Redactor  # noqa: PLC0415 - loaded with the first call

    return Redactor(suspicion)


def _plain_text(outcome: ToolOutcome, context: RequestContext) -> bytes | None:
    """Return the text of a result that is one text and nothing else, of a call that has stored and cut nothing."""
    if (
        type(outcome) is not CallToolResult
        or len(outcome.content) != 1
        or outcome.undecoded is not UNSET
        or outcome.encoded is not None
        or outcome.meta
        or context.stored
        or context.slices
    ):
        return None
    block = outcome.content[0]
    if type(block) is not TextContent or block.meta or block.annotations:
        return None
    try:
        return block.text.encode()
    except UnicodeEncodeError:
        return None


def _check_size(name: str, size: int, limit: float) -> None:
    if size > limit:
        raise InvalidParams.of(TOOL_RESULT_TOO_LARGE, tool=name, size=size, limit=limit)


def _redacted(tool: Tool, result: CallToolResult, redactor: Redactor) -> CallToolResult:
    from tooltrue.policy.sanitize.result_bytes import is_text_copy  # noqa: PLC0415 - loaded with the first call

    is_copied = is_text_copy(result)
    value = redactor.value(result.structuredContent)
    if value is not result.structuredContent:
        result = replaced(result, structuredContent=value, encoded=encoded_value(value))
        if not (result.isError or tool.output is None or tool.output.accepts(value)):
            raise ToolError.of(TOOL_RESULT_WITHHELD, tool=tool.name, what=redactor.summary())
    if is_copied:
        text = (result.encoded or b"").decode()
        content = [replaced(block, text=text) for block in result.content]
    else:
        content = redactor.value(result.content)
    return replaced(result, content=content, meta=redactor.note(redactor.value(result.meta)))


def _marked(result: CallToolResult) -> CallToolResult:
    return replaced(result, meta={**(result.meta or {}), UNTRUSTED: True})


def _check_output(tool: Tool, result: CallToolResult) -> None:
    if tool.output is None:
        return
    if result.undecoded is UNSET:
        raise InvalidResult("an output schema is declared but no structured content was returned")
    if type(result.undecoded) is EncodedJson and tool.output.recognizes(bytes(result.undecoded)):
        return
    if not tool.output.accepts(result.structuredContent):
        problem = tool.output.problems(result.structuredContent)[0]
        raise InvalidResult(str(problem))


def _clean_question(question: InputRequiredResult, wants: Wants) -> InputRequiredResult:
    """Clean a question to a person. The page of a link is for the person alone, and may hold a key: it stays as it
    is."""
    requests = question.inputRequests or {}
    bare = {key: _with_page(request, None) for key, request in requests.items()}
    suspicion = _prescan(encode(bare), wants)
    if not suspicion:
        return question
    redactor = _redactor(suspicion)
    clean = {key: _with_page(redactor.value(bare[key]), request) for key, request in requests.items()}
    return replaced(question, inputRequests=clean, meta=redactor.note(question.meta))


def _clean_status(task: TaskCreated, wants: Wants) -> TaskCreated:
    """Clean the words of a task, and cut them then: half of a secret would not be found."""
    message = task.statusMessage
    if message is None:
        return task
    if suspicion := _prescan(encode(message), wants):
        message = _redactor(suspicion).text(message)
    return replaced(task, statusMessage=message[:_MOST_WORDS])


def _with_page(request: InputRequest, other: InputRequest | None) -> InputRequest:
    """Return a request with the page of the other one, or without a page."""
    params = {name: value for name, value in request.get("params", {}).items() if name != "url"}
    page = (other or {}).get("params", {}).get("url")
    return (
        {**request, "params": params if page is None else {**params, "url": page}} if "params" in request else request
    )


def _clean_error(error: TooltrueError, wants: Wants) -> None:
    """Clean the message and facts of an error in place, for the model or the caller."""
    data = error.data if isinstance(error, RpcError) else None
    message = "\n".join(map(str, (error, *error.facts.values()))).encode(errors="replace")
    suspicion = _prescan(message + encode(data), wants)
    if not suspicion:
        return
    redactor = _redactor(suspicion)
    error.args, error.facts = (
        (redactor.text(str(error)),),
        {name: _fact(redactor, it) for name, it in error.facts.items()},
    )
    if isinstance(error, RpcError):
        error.data = redactor.value(data)


def _fact(redactor: Redactor, fact: Any) -> Any:
    """Clean a fact of an error, which need not be JSON: the sentence writes it as text."""
    if isinstance(fact, str | list | dict):
        return redactor.value(fact)
    clean = redactor.text(text := str(fact))
    return fact if clean == text else clean


def _clean_kept(context: RequestContext, wants: Wants) -> None:
    """Clean each result that a call hands out by reference as a whole: a secret may lie across the chunks that it is
    split into."""
    for place, thing in enumerate(context.stored):
        if thing.is_text and (suspicion := _prescan(thing.data, wants)):
            text = _redactor(suspicion).text(thing.data.decode())
            context.stored[place] = replaced(thing, data=text.encode())


def _with_clean_channel(context: RequestContext, wants: Wants) -> RequestContext:
    from tooltrue.policy.sanitize.channel import CleanChannel  # noqa: PLC0415 - loaded with the first call

    return replaced(context, channel=CleanChannel(context.channel, wants))

"""Operations of callers at a server, and the way back to them: progress, log messages, questions.

A session-based server asks while its request runs (2025-11-25, client/elicitation), and a stateless client answers by
repeating its request (2026-07-28, basic/patterns/mrtr). So an operation outlives the request of its caller: it is held
between two rounds, with the request to the server open.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

from tooltrue.client.notifications import LogMessage
from tooltrue.client.question_limits import QuestionGate
from tooltrue.errors import DefinitionError, InvalidParams, MethodNotFound
from tooltrue.gateway.wording import LABEL_NO_CALL
from tooltrue.jsonrpc.messages import Json, encode, is_object
from tooltrue.protocol.input_requests import (
    ELICIT,
    LIST_ROOTS,
    METHODS,
    SAMPLE,
    InputRequest,
    check_request,
    lacking,
    malformed,
)
from tooltrue.protocol.modern import LOG_LEVELS
from tooltrue.protocol.wording import INVALID_METHOD_PARAMS
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.tools.wording import INVALID_INPUT_RESPONSE
from tooltrue.wording import UNKNOWN_METHOD, Worded

__all__ = ["CallerOperation", "RelayAnswers"]

_CAPABILITIES: Final[Mapping[str, Json]] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}

_current: contextvars.ContextVar[CallerOperation | None] = contextvars.ContextVar("operation", default=None)
"""The operation whose request to a server is running. Over HTTP, a message of the server that comes on the stream of
that request is handled in this context."""


class CallerOperation:
    """One operation of a caller at one server, from its request to its result, over all rounds of questions."""

    def __init__(self, context: RequestContext) -> None:
        self.context = context
        self._questions: dict[str, tuple[InputRequest, asyncio.Future[Json]]] = {}
        self._count = 0
        self._task: asyncio.Task[Any] | None = None
        self._change: asyncio.Future[None] | None = None  # that `until_asked` waits for

    # --- for the caller -----------------------------------------------------------------------------------------------

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start the request to the server."""
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(lambda task: self._changed())

    def _changed(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    def check(self, responses: Mapping[str, Json]) -> None:
        """Raise ``InvalidParams`` for a response that is no answer to its question."""
        for key in sorted(responses.keys() & self._questions.keys()):
            if problem := malformed(self._questions[key][0], responses[key]):
                raise InvalidParams.of(INVALID_INPUT_RESPONSE, key=key, problem=problem)

    def go_on(self, context: RequestContext, responses: Mapping[str, Json]) -> None:
        """Begin another round of the caller: its answers go to the server, and it gets the progress from now on."""
        self.context = context
        for key in responses.keys() & self._questions.keys():
            _, answer = self._questions.pop(key)
            if not answer.done():
                answer.set_result(responses[key])

    @property
    def principal(self) -> str:
        return self.context.principal.id

    async def until_asked(self) -> Mapping[str, InputRequest]:
        """Return the open questions of the server; empty once it has answered. If this is cancelled, so is the
        request."""
        task = self._task
        assert task is not None
        try:
            while not (task.done() or self._questions):
                self._change = asyncio.get_running_loop().create_future()
                await self._change
        except asyncio.CancelledError:
            self.cancel()
            raise
        return {} if task.done() else {key: request for key, (request, _) in self._questions.items()}

    def result(self) -> Any:
        """Return the result of the request, or raise its error."""
        assert self._task is not None
        return self._task.result()

    def cancel(self) -> None:
        """Give up: the server is told that its request is cancelled."""
        if self._task is not None:
            self._task.cancel()

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.context.channel.progress(progress, total, message)

    # --- for the server -----------------------------------------------------------------------------------------------

    def log(self, message: LogMessage) -> None:
        level = message.level if message.level in LOG_LEVELS else "info"
        self.context.channel.log(level, message.data, message.logger)

    async def ask(self, request: InputRequest) -> Json:
        """Put a question to the caller, and return the answer. Raises ``RpcError`` for a caller that has no way to
        answer."""
        method = str(request.get("method"))
        if lacking((request,), self.context.capabilities):
            raise MethodNotFound.of(UNKNOWN_METHOD, method=method[:128])
        self._count += 1
        key = f"{method.partition('/')[0]}-{self._count}"
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._questions[key] = request, answer
        self._changed()
        try:
            return await answer
        finally:
            self._questions.pop(key, None)


class _Running:
    """Context in which an operation runs on a connection."""

    __slots__ = ("_operation", "_operations", "_token")

    def __init__(self, operation: CallerOperation, operations: list[CallerOperation]) -> None:
        self._operation = operation
        self._operations = operations

    def __enter__(self) -> None:
        self._token = _current.set(self._operation)
        self._operations.append(self._operation)

    def __exit__(self, *_: object) -> None:
        self._operations.remove(self._operation)
        _current.reset(self._token)


class RelayAnswers:
    """Passes the questions and log messages of one connection on to the operation that they belong to.

    Where one channel carries all messages, a server does not say for which request it asks. Then it is the newest
    operation; if several callers have operations on this connection, it is none of them. A message on the stream of a
    request that has ended belongs to the newest operation of the same caller, while no other caller has any.
    """

    def __init__(self, gate: QuestionGate, capabilities: Mapping[str, Json] = _CAPABILITIES) -> None:
        self.gate = gate
        self._capabilities = capabilities
        self._operations: list[CallerOperation] = []

    def running(self, operation: CallerOperation) -> AbstractContextManager[None]:
        """Context in which the operation runs on this connection, so that messages of the server belong to it."""
        return _Running(operation, self._operations)

    @property
    def is_busy(self) -> bool:
        return bool(self._operations)

    @property
    def capabilities(self) -> dict[str, Json]:
        return dict(self._capabilities)

    def puts(self, method: Json) -> bool:
        return method in (ELICIT, SAMPLE)

    def asking(self, methods: Iterable[Json]) -> AbstractContextManager[None]:
        return self.gate.asking([method for method in methods if isinstance(method, str) and self.puts(method)])

    async def to(self, request: InputRequest) -> Json:
        method = request.get("method")
        if method not in METHODS:
            raise MethodNotFound.of(UNKNOWN_METHOD, method=str(method)[:128])
        operation = self._operation()
        if operation is None:
            if method == LIST_ROOTS:  # asked by many servers right after the handshake, when there is no caller yet
                return {"roots": []}
            raise InvalidParams.of(INVALID_METHOD_PARAMS, method=method, problem=Worded(LABEL_NO_CALL, {}))
        return await operation.ask(self.checked(request))

    def checked(self, request: InputRequest) -> InputRequest:
        """Return a question that a person may be shown. Raises ``RpcError`` for any other."""
        method, params = str(request.get("method")), request.get("params")
        self.gate.check_size(len(encode(params)))
        try:
            check_request(request)
        except DefinitionError as error:
            raise InvalidParams.of(
                INVALID_METHOD_PARAMS, method=method, problem=Worded(error.code, error.facts)
            ) from None
        return {"method": method, "params": params if is_object(params) else {}}

    def on_log(self, message: LogMessage) -> None:
        if (operation := self._operation()) is not None:
            operation.log(message)

    def _operation(self) -> CallerOperation | None:
        current = _current.get()
        if current in self._operations:
            return current
        callers = {operation.principal for operation in self._operations}
        is_clear = len(callers) == 1 and (current is None or current.principal in callers)
        return self._operations[-1] if is_clear else None

"""Error handling: abandoned calls, malformed messages, and resources left at the end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from functools import partial
from itertools import pairwise

from tooltrue._internal.platform import processes
from tooltrue.client.client import link_to
from tooltrue.errors import ConnectionLost, MethodNotFound, RequestTimeout, RpcError, fact_of
from tooltrue.jsonrpc.messages import Id, Json, is_object
from tooltrue.testing.checks.bench import Bench, ToolUnderTest
from tooltrue.testing.checks.functional import short
from tooltrue.testing.checks.performance import quantile
from tooltrue.testing.line import Line
from tooltrue.testing.report import Finding, failed, not_run, passed
from tooltrue.testing.wording import (
    FINDING_CANCELLED_CALL_ANSWERED,
    FINDING_LEFTOVER_PROCESSES,
    FINDING_LEFTOVER_TASKS,
    FINDING_RESOURCE_LEAK,
    FINDING_RUNS_AFTER_INPUT_END,
    FINDING_UNRESPONSIVE_AFTER_CANCELLATION,
    FINDING_UNRESPONSIVE_AFTER_INVALID_INPUT,
    FINDING_UNRESPONSIVE_AFTER_TIMEOUTS,
    FINDING_WRONG_ERROR_CODE,
    LABEL_JSON_NO_OBJECT,
    LABEL_MESSAGE_WITHOUT_METHOD,
    LABEL_MESSAGE_WITHOUT_VERSION,
    LABEL_METHOD_IS_NUMBER,
    LABEL_TEXT_NO_JSON,
    LABEL_UNKNOWN_METHOD,
    SKIPPED_ANSWER_BEFORE_CANCELLATION,
    SKIPPED_CANCELLATION_OVER_HTTP,
    SKIPPED_NO_CALLABLE_TOOL,
    SKIPPED_SERVER_NOT_IN_PROCESS,
    SKIPPED_SERVER_NOT_PROCESS,
    SKIPPED_TOOLS_TOO_SLOW,
)
from tooltrue.transport.memory import MemoryLink
from tooltrue.transport.stdio_client import StdioLink
from tooltrue.wording import Worded

__all__ = ["cancellation", "cleaning_up", "flat", "malformed", "time_out"]

_GIVEN_UP = 5


async def time_out(bench: Bench) -> AsyncIterator[Finding]:
    """Calls that time out at the client do no harm to the server: the next call is answered."""
    has_calls = False
    for subject in list(bench.callable()):
        has_calls = True
        for _ in range(_GIVEN_UP):
            with contextlib.suppress(RequestTimeout, RpcError):
                await bench.client.call_tool(subject.name, subject.good or {}, timeout=0.0)
        answer = await bench.call(subject, subject.good or {})
        if isinstance(answer.error, RequestTimeout | ConnectionLost):
            yield failed(
                FINDING_UNRESPONSIVE_AFTER_TIMEOUTS, subject.name, problem=fact_of(answer.error, is_clause=False)
            )
        else:
            yield passed(subject.name, given_up=_GIVEN_UP)
    if not has_calls:
        yield not_run(SKIPPED_NO_CALLABLE_TOOL)


async def cancellation(bench: Bench) -> AsyncIterator[Finding]:
    """A cancelled call gets no answer, and the server answers later requests (basic/patterns/cancellation)."""
    subjects = sorted(bench.callable(), key=_slowness, reverse=True)
    if not subjects or not link_to(bench.target).shared:
        yield not_run(SKIPPED_CANCELLATION_OVER_HTTP if subjects else SKIPPED_NO_CALLABLE_TOOL)
        return
    slowest = subjects[0]
    patience = min(bench.plan.seconds, 0.2 + 3 * _slowness(slowest))
    async with bench.line() as line:
        call = line.ask("tools/call", {"name": slowest.name, "arguments": slowest.good})
        line.tell("notifications/cancelled", {"requestId": call})
        life = line.ask(line.sign_of_life, {})
        order = await _order(line, (call, life), bench.plan.seconds, patience)
    if life not in order:
        yield failed(FINDING_UNRESPONSIVE_AFTER_CANCELLATION, slowest.name)
    elif order[-1] == call:
        yield failed(FINDING_CANCELLED_CALL_ANSWERED, slowest.name)
    elif call in order:
        yield not_run(SKIPPED_ANSWER_BEFORE_CANCELLATION, slowest.name)
    else:
        yield passed(slowest.name)


def _slowness(subject: ToolUnderTest) -> float:
    return max((answer.seconds for answer in subject.answers), default=0.0)


def _usual(subject: ToolUnderTest) -> float:
    return quantile([answer.seconds for answer in subject.answers], 0.5)


async def _order(line: Line, ids: tuple[Id, Id], seconds: float, patience: float) -> list[Id]:
    """The order in which two requests were answered. Once the second is, the first has ``patience`` seconds left."""
    order: list[Id] = []
    with contextlib.suppress(ConnectionLost):
        while len(order) < 2:
            message = await line.reply(patience if ids[1] in order else seconds)
            if message is None:
                break
            id = message.get("id")
            if id in ids:
                order.append(id)
    return order


# description → the bytes that are sent, and the number of the expected error (JSON-RPC 2.0, section 5.1)
MALFORMED: Mapping[str, tuple[bytes, int]] = {
    LABEL_TEXT_NO_JSON: (b'{"jsonrpc": "2.0", "id": 1, "method"', -32700),
    LABEL_JSON_NO_OBJECT: (b'"hello"', -32600),
    LABEL_MESSAGE_WITHOUT_VERSION: (b'{"id": 901, "method": "ping"}', -32600),
    LABEL_MESSAGE_WITHOUT_METHOD: (b'{"jsonrpc": "2.0", "id": 902}', -32600),
    LABEL_METHOD_IS_NUMBER: (b'{"jsonrpc": "2.0", "id": 903, "method": 7}', -32600),
}
_MALFORMED_SECONDS = 2.0


async def malformed(bench: Bench) -> AsyncIterator[Finding]:
    """A malformed message is answered with its error, and the server goes on."""
    wrong = 0
    async with bench.line() as line:
        for what, (frame, number) in MALFORMED.items():
            line.send(frame)
            answer = await line.reply(min(bench.plan.seconds, _MALFORMED_SECONDS))
            if _number(answer) != number:
                wrong += 1
                yield failed(FINDING_WRONG_ERROR_CODE, what=Worded(what, {}), number=number, answer=short(answer))
        answer = await line.answer(line.ask("no/such/method", {}))
        if answer is None:
            yield failed(FINDING_UNRESPONSIVE_AFTER_INVALID_INPUT)
        elif _number(answer) != MethodNotFound.number:
            yield failed(
                FINDING_WRONG_ERROR_CODE,
                what=Worded(LABEL_UNKNOWN_METHOD, {}),
                number=MethodNotFound.number,
                answer=short(answer),
            )
        elif not wrong:
            yield passed(messages=len(MALFORMED) + 1)


def _number(answer: Json) -> Json:
    error = answer.get("error") if is_object(answer) else None
    return error.get("code") if is_object(error) else None


async def cleaning_up(bench: Bench) -> AsyncIterator[Finding]:
    """A server that was started for the checks ends when its input does, with all its child processes."""
    links = [link_to(target) for target in (bench.target, *bench.plan.carriers.values())]
    started = [link for link in links if isinstance(link, StdioLink)]
    for link in started:
        async for finding in _check_exit(bench, link):
            yield finding
    if not started:
        yield not_run(SKIPPED_SERVER_NOT_PROCESS)


async def _check_exit(bench: Bench, link: StdioLink) -> AsyncIterator[Finding]:
    async with Line(link, bench.facts.revision, bench.plan.seconds) as line:
        for subject in bench.callable():
            await line.answer(line.ask("tools/call", {"name": subject.name, "arguments": subject.good}))
        family = link.family()
        has_ended = await link.end_input()
        survivors = [process for process in family if processes.is_alive(process)]
    if not has_ended:
        yield failed(FINDING_RUNS_AFTER_INPUT_END)
    if survivors:
        yield failed(FINDING_LEFTOVER_PROCESSES, count=len(survivors))
    if has_ended and not survivors:
        yield passed(processes=len(family) + 1)


_WINDOWS = 3
_CALLS = 100
_PATIENCE_IN_TIMEOUTS = 10


async def flat(bench: Bench) -> AsyncIterator[Finding]:
    """The resources of a server do not grow with each call: objects and tasks in this process, descriptors and
    processes in its own. Only read-only tools are called; others may well store their arguments."""
    readers = [subject for subject in bench.callable() if subject.reads]
    link = link_to(bench.target)
    if not readers or not isinstance(link, MemoryLink | StdioLink):
        yield not_run(SKIPPED_SERVER_NOT_IN_PROCESS if readers else SKIPPED_NO_CALLABLE_TOOL)
        return
    before = len(asyncio.all_tasks())
    async with Line(link, bench.facts.revision, bench.plan.seconds) as line, _new_objects_only():
        gauge = _in_this_process if isinstance(link, MemoryLink) else partial(_in_process, link)
        for subject in readers:
            if (_WINDOWS + 1) * _CALLS * _usual(subject) > _PATIENCE_IN_TIMEOUTS * bench.plan.seconds:
                yield not_run(SKIPPED_TOOLS_TOO_SLOW, subject.name)
            else:
                yield _growth(subject, await _marks(line, subject, gauge))
    extra_tasks = len(asyncio.all_tasks()) - before
    if extra_tasks > 0:
        yield failed(FINDING_LEFTOVER_TASKS, count=extra_tasks)


async def _marks(line: Line, subject: ToolUnderTest, gauge: Callable[[], Mapping[str, int]]) -> list[Mapping[str, int]]:
    """The resources after the first calls, which may fill caches, and after each hundred from there."""
    marks: list[Mapping[str, int]] = []
    for _ in range(_WINDOWS + 1):
        for _ in range(_CALLS):
            await line.answer(line.ask("tools/call", {"name": subject.name, "arguments": subject.good}))
        marks.append(gauge())
    return marks


def _growth(subject: ToolUnderTest, marks: list[Mapping[str, int]]) -> Finding:
    """A resource leaks if it grows by one a call in every window: less is noise."""
    more = {what: marks[-1][what] - marks[0][what] for what in marks[0]}
    for what in more:
        if all(later[what] - earlier[what] >= _CALLS for earlier, later in pairwise(marks)):
            return failed(FINDING_RESOURCE_LEAK, subject.name, what=what, count=more[what], calls=_WINDOWS * _CALLS)
    return passed(subject.name, calls=_WINDOWS * _CALLS, **{f"more_{what}": count for what, count in more.items()})


@contextlib.asynccontextmanager
async def _new_objects_only() -> AsyncGenerator[None]:
    """Context in which collections pass over older objects: in the process of a test suite there are millions, and each
    of the many collections would take seconds."""
    if gc.get_freeze_count():  # those of the author's own program stay frozen
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _in_this_process() -> Mapping[str, int]:
    gc.collect()
    return {"blocks": sys.getallocatedblocks(), "tasks": len(asyncio.all_tasks())}


def _in_process(link: StdioLink) -> Mapping[str, int]:
    return {**processes.figures(link.pid or 0), "processes": len(link.family())}

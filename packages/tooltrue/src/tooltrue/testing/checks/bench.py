"""The server under test: its tools with values for them, calls, and results so far."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final, Literal, Self

from tooltrue.app import Server
from tooltrue.client.answers import Elicit, Elicitation
from tooltrue.client.client import Client, Result, Target, link_to
from tooltrue.client.eras import ServerFacts
from tooltrue.errors import ConnectionLost, InvalidParams, InvalidResult, RpcError, SchemaError, TransportError
from tooltrue.jsonrpc.messages import Json
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.schema import Schema, compile_schema
from tooltrue.protocol.types import ToolDefinition
from tooltrue.testing.checks.leaks import leaked
from tooltrue.testing.generate import Samples, samples
from tooltrue.testing.line import Line
from tooltrue.testing.report import Finding, not_run
from tooltrue.testing.wording import (
    SKIPPED_DESTRUCTIVE_TOOL,
    SKIPPED_OPEN_WORLD_TOOL,
    SKIPPED_UNSELECTED_TOOL,
    SKIPPED_WRITING_TOOL,
)

__all__ = ["Bench", "CallOutcome", "Plan", "ToolUnderTest", "few"]


_SLOW: Final = 0.5
"""Seconds a call, on average."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a check run.

    - ``seed`` decides the generated values; ``calls`` is the number of valid ones that each tool is called with.
    - ``seconds`` is the timeout of each call.
    - ``tools`` are patterns of names, as in a shell; only these are called.
    - ``effects``: with ``read`` only tools declared as read-only are called; with ``write`` also those declared as not
      destructive. Any other tool, and one without annotations, is called only if ``destructive`` names it.
    - ``varies`` names the read-only tools that may answer the same call in two ways: the time, a random number.
    - ``open_world``: also call tools that declare to reach services beyond the server. These get every call of the
      checks, some hundreds for each tool.
    - ``in_flight`` is the number of concurrent calls in the check for that; ``p95`` the limit in seconds for nineteen
      calls of twenty, and ``None`` to measure only.
    - ``carriers`` are other ways to the same server, by name; over them the tools are listed and the server is ended.
    """

    seed: int = 0
    calls: int = 20
    seconds: float = 10.0
    tools: tuple[str, ...] = ("*",)
    effects: Literal["read", "write"] = "read"
    destructive: frozenset[str] = frozenset()
    varies: frozenset[str] = frozenset()
    open_world: bool = False
    in_flight: int = 16
    p95: float | None = None
    carriers: Mapping[str, Target] = field(default_factory=lambda: MappingProxyType({}))
    clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of one call: a result, or the error of the protocol or the carrier. ``seconds`` is its duration."""

    arguments: Json
    result: Result | None
    error: RpcError | TransportError | None
    seconds: float

    @property
    def succeeded(self) -> bool:
        return self.result is not None and not self.result.is_error

    @property
    def refused(self) -> bool:
        """Whether the call was refused as one with wrong arguments should be: an error for the model, or -32602."""
        return isinstance(self.error, InvalidParams) or (self.result is not None and self.result.is_error)

    @property
    def words(self) -> str:
        """The text of a failure; empty if there was none."""
        if isinstance(self.error, RpcError):
            return f"{self.error} {'' if self.error.data is None else self.error.data}"
        return self.result.text if self.result is not None and self.result.is_error else ""

    @property
    def content(self) -> Json:
        """The part that can be compared with another answer, also one in another revision."""
        return None if self.result is None else (self.result.is_error, self.result.raw.get("content"))


@dataclass(slots=True)
class ToolUnderTest:
    """A tool under test. ``excuse`` says why it is not called; ``hangs`` that one of its calls had no answer."""

    tool: ToolDefinition
    output: Schema | None
    samples: Samples
    problem: str = ""
    excuse: Finding | None = None
    hangs: bool = False
    answers: list[CallOutcome] = field(default_factory=list[CallOutcome])

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def is_out(self) -> bool:
        """Whether it is not called, or no longer called."""
        return self.hangs or self.excuse is not None

    @property
    def is_slow(self) -> bool:
        """Whether its calls are too slow to be repeated many times."""
        return sum(one.seconds for one in self.answers) > _SLOW * len(self.answers)

    @property
    def reads(self) -> bool:
        """Whether the tool declares that it is read-only."""
        hints = self.tool.annotations
        return hints is not None and hints.readOnlyHint is True

    @property
    def good(self) -> dict[str, Json] | None:
        """Arguments that have been answered without an error; otherwise any valid ones."""
        succeeded = (answer.arguments for answer in self.answers if answer.succeeded)
        return next(succeeded, next(iter(self.valid), None))

    @property
    def valid(self) -> list[dict[str, Json]]:
        return [sample.value for sample in self.samples.valid]


def _unguarded(target: Target) -> Target:
    """A server of ours without confirmation: the plan decides which tools are called, and a person would tire of it."""
    return target.with_guard(confirm=Confirm.never()) if isinstance(target, Server) else target


def _agree(question: Elicitation) -> bool:
    return not (question.fields or {"required": True}).get("required")


class Bench:
    """``async with Bench(target, plan) as bench``: a connection, the tools of the server, and values for them."""

    def __init__(self, target: Target, plan: Plan) -> None:
        self.target = _unguarded(target)
        self.plan = plan
        self.trouble = ""  # why the tools cannot be listed
        self.errors = 0
        self.leaks: dict[tuple[str, str], str] = {}  # tool and kind of leak → excerpt
        self.subjects: tuple[ToolUnderTest, ...] = ()
        self._client = Client(self.target, timeout=plan.seconds, elicit=self.elicit)
        self._facts: ServerFacts | None = None
        self._published_text = ""
        self._line: Line | None = None
        self._stable: dict[str, bool] = {}

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        try:
            self._facts = self._client.facts
            tools = await self._list_tools()
            self.subjects = tuple(subject_of(tool, self.plan) for tool in tools)
            self._published_text = " ".join(f"{tool.name} {tool.description} {tool.inputSchema}" for tool in tools)
        except BaseException:
            await self._client.close()
            raise
        return self

    async def _list_tools(self) -> list[ToolDefinition]:
        try:
            return await self._client.list_tools()
        except (RpcError, TransportError) as error:
            self.trouble = str(error)
            return []

    async def __aexit__(self, *_: object) -> None:
        if self._line is not None:
            await self._line.close()
        await self._client.close()

    @property
    def elicit(self) -> Elicit | None:
        """The callback that agrees to the destructive calls that the plan allows; ``None`` if it allows none."""
        return _agree if self.plan.destructive else None

    @property
    def client(self) -> Client:
        return self._client

    @property
    def facts(self) -> ServerFacts:
        if self._facts is None:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        return self._facts

    def callable(self) -> Iterator[ToolUnderTest]:
        """The tools that may be called, have valid arguments, and do not hang."""
        for subject in self.subjects:
            if subject.valid and not subject.is_out:
                yield subject

    async def call(
        self, subject: ToolUnderTest, arguments: dict[str, Json], client: Client | None = None
    ) -> CallOutcome:
        """Call a tool. If the call lost the connection, a new one is opened."""
        start = self.plan.clock()
        result, error = None, None
        try:
            result = await (client or self._client).call_tool(subject.name, arguments, timeout=self.plan.seconds)
        except InvalidResult as unfit:  # to be judged here, not there
            result = unfit.result
        except (RpcError, TransportError) as raised:
            error = raised
        answer = CallOutcome(arguments, result, error, self.plan.clock() - start)
        self.hear(subject.name, answer.words, arguments)
        if isinstance(error, ConnectionLost) and client is None:
            await self.reconnect()
        return answer

    def hear(self, tool: str, words: str, arguments: Json) -> None:
        """Record the leaks in the text of a failure."""
        if words:
            self.errors += 1
            for what, excerpt in leaked(words, arguments, self._published_text):
                self.leaks.setdefault((tool, what), excerpt)

    async def reconnect(self) -> None:
        await self._client.close()
        self._client = Client(self.target, timeout=self.plan.seconds, elicit=self.elicit)
        await self._client.__aenter__()

    @asynccontextmanager
    async def line(self) -> AsyncGenerator[Line]:
        """A raw connection, shared by all checks as long as it lives, since commands take time to start."""
        line, self._line = self._line, None
        if line is None:
            line = await Line(link_to(self.target), self.facts.revision, self.plan.seconds).__aenter__()
        lives = False
        try:
            yield line
            lives = await line.lives()
        finally:
            if lives:
                self._line = line
            else:
                await line.close()

    async def is_stable(self, subject: ToolUnderTest) -> bool:
        """Whether the same call is answered alike twice in a row, so that answers can be compared at all."""
        if subject.name not in self._stable:
            arguments = subject.good or {}
            answers = [await self.call(subject, arguments) for _ in range(2)]
            self._stable[subject.name] = answers[0].content is not None and answers[0].content == answers[1].content
        return self._stable[subject.name]

    def distrust(self, readers: Iterable[str]) -> None:
        """Exclude these tools as witnesses of an effect: their answers change after calls that should have none."""
        self._stable.update(dict.fromkeys(readers, False))

    async def picture(self) -> dict[str, Json]:
        """The current answers of the read-only tools, in which an effect would show."""
        answers: dict[str, Json] = {}
        for subject in self.callable():
            if subject.reads and await self.is_stable(subject):
                answers[subject.name] = (await self.call(subject, subject.good or {})).content
        return answers


def subject_of(tool: ToolDefinition, plan: Plan) -> ToolUnderTest:
    """A tool with values from its schema; without any if the schema is invalid."""
    excuse = _excuse(tool, plan)
    try:
        schema = compile_schema(tool.inputSchema)
        output = compile_schema(tool.outputSchema) if tool.outputSchema is not None else None
    except SchemaError as error:
        return ToolUnderTest(tool, None, Samples((), (), ()), str(error), excuse)
    return ToolUnderTest(tool, output, samples(schema, seed=plan.seed, count=plan.calls), "", excuse)


def _excuse(tool: ToolDefinition, plan: Plan) -> Finding | None:
    if not any(fnmatchcase(tool.name, pattern) for pattern in plan.tools):
        return not_run(SKIPPED_UNSELECTED_TOOL, tool.name)
    hints = tool.annotations
    if hints is not None and hints.openWorldHint is True and not plan.open_world:
        return not_run(SKIPPED_OPEN_WORLD_TOOL, tool.name)
    if hints is not None and hints.readOnlyHint:
        return None
    if hints is None or hints.destructiveHint is not False:
        return None if tool.name in plan.destructive else not_run(SKIPPED_DESTRUCTIVE_TOOL, tool.name, name=tool.name)
    return (
        None if plan.effects == "write" or tool.name in plan.destructive else not_run(SKIPPED_WRITING_TOOL, tool.name)
    )


def few(findings: list[Finding], most: int = 5) -> list[Finding]:
    """The first failures of one kind, as many as a person will read."""
    return findings[:most]

"""A host with a few tools behind its full pipeline, a scripted person, and a stopped clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tooltrue.errors import TooltrueError
from tooltrue.host.approval_prompts import ApprovalAnswer, ApprovalPrompter, ApprovalQuestion, No, Once
from tooltrue.host.host_guard import Hosting, hosted
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.protocol.types import CallToolResult, ReadResourceResult, TextContent
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.state.log import MemoryLog
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.tasks import Task
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ResourceRead, ToolCall

__all__ = ["Person", "Place", "text_of"]

Says: TypeAlias = str | Exception | CallToolResult | Callable[[dict[str, Any]], object]


class Person:
    """Answers each question with the next of ``answers``, and refuses after the last one."""

    def __init__(self, *answers: ApprovalAnswer | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalQuestion] = []

    async def __call__(self, question: ApprovalQuestion) -> ApprovalAnswer:
        self.asked.append(question)
        answer = self.answers.pop(0) if self.answers else No()
        if isinstance(answer, Exception):
            raise answer
        return answer

    @classmethod
    def willing(cls) -> Person:
        return cls(*(Once() for _ in range(100)))


class Place:
    """A host under test. ``ran`` records the tools that ran, with their arguments."""

    def __init__(
        self,
        front: ApprovalPrompter | None = None,
        *,
        guard: Guard | None = None,
        around: Callable[[Provider], Provider] = lambda provider: provider,
        facts: Facts | None = None,
        **settings: Any,
    ) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.says: Mapping[str, Any] = {}
        self.tools = LocalToolset()
        self.log = MemoryLog()
        self.facts = facts or MemoryFacts(self.clock)
        self.approvals = Approvals(self.facts, clock=self.clock)
        self.recorder = Recorder(Audit(self.log), clock=self.clock)
        self.hosting = Hosting(clock=self.clock, sleep=self.sleep, **settings)
        self.provider = hosted(
            around(self.tools),
            guard or Guard(server="desk"),
            self.hosting,
            self.facts,
            self.recorder,
            approvals=self.approvals,
            front=front,
        )

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def add(self, name: str, says: Says = "done", **settings: Any) -> None:
        """Add a tool with one optional text ``x``; ``says`` is its result, an exception, or a function of arguments."""

        async def handler(arguments: dict[str, Any]) -> Any:
            self.ran.append((name, arguments))
            said = says(arguments) if callable(says) else says
            if isinstance(said, Exception):
                raise said
            return said

        schema = settings.pop("schema", {"type": "object", "properties": {"x": {"type": "string"}}})
        closed = {"additionalProperties": False, **schema}
        self.tools.add_raw(name, closed, handler, description=f"Does {name}.", **settings)

    def task(self) -> Task:
        return self.hosting.task()

    def context(self, task: Task | None = None) -> RequestContext:
        return RequestContext(LOCAL, SILENT, task=task, stored=[])

    async def call(self, name: str, task: Task | None = None, **arguments: Any) -> CallToolResult:
        outcome = await self.provider.call_tool(ToolCall(name, arguments, self.context(task)))
        assert isinstance(outcome, CallToolResult)
        return outcome

    async def code(self, name: str, task: Task | None = None, **arguments: Any) -> str:
        """The code of the refusal, or an empty string after a successful call."""
        result = await self.call(name, task, **arguments)
        if not result.isError:
            return ""
        words = text_of(result).split("[TT")
        return f"TT{words[-1][:4]}" if len(words) > 1 else "error"

    async def read(self, uri: str, task: Task | None = None) -> str:
        try:
            outcome = await self.provider.read_resource(ResourceRead(uri, self.context(task)))
        except TooltrueError as error:
            return error.code
        assert isinstance(outcome, ReadResourceResult)
        return "\n".join(part.text for part in outcome.contents)

    async def records(self) -> list[dict[str, Any]]:
        return [json.loads(entry.text) for entry in await self.log.read(0, 1_000)]


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))

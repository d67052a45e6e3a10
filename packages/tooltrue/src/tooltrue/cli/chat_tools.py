"""The tools of a chat: the servers of a file, or a single one, behind the guard of a host."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.server_connection import target_of
from tooltrue.cli.targets import Spec, is_ours, load_server
from tooltrue.cli.terminal_host import is_config, opened
from tooltrue.client.client import Target
from tooltrue.contract.digests import pin
from tooltrue.errors import UnknownTool
from tooltrue.host.approval_prompts import ApprovalAnswer, ApprovalPrompter, ApprovalQuestion, Once
from tooltrue.host.host import Host
from tooltrue.host.logs import OnServerLog
from tooltrue.host.prompters import terminal
from tooltrue.policy.consent.approvals import ApprovalRequest
from tooltrue.policy.guard import Guard
from tooltrue.policy.tasks.lethal_trifecta import TRIFECTA
from tooltrue.state.log import Log
from tooltrue.tools.tasks import Task
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import RequestContext

__all__ = ["ChatPermissions", "Tools", "chat_tools", "unless"]


@dataclass(slots=True)
class ChatPermissions:
    """Tools that the person at the terminal has allowed to run without a question: names by pin, and for each pin the
    servers whose content had been read at the time. ``task`` is the newest task."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    task: Task | None = None
    _sources_then: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def add(self, pin: str, name: str) -> None:
        self.names[pin], self._sources_then[pin] = name, self._sources()

    def holds(self, request: ApprovalRequest) -> bool:
        """Whether exactly this tool was allowed, and no more is at stake than at the time: content of its own server
        may go back there; content of servers read since then, and secrets, require a question."""
        if self.names.get(request.pin) != request.tool or request.stake not in ("", TRIFECTA):
            return False
        return not request.stake or self._sources() <= self._sources_then[request.pin] | {request.server}

    def _sources(self) -> frozenset[str]:
        return frozenset() if self.task is None else frozenset(self.task.sources)


@dataclass(frozen=True, slots=True)
class Tools:
    host: Host
    allowed: ChatPermissions

    async def allow(self, name: str) -> bool:
        """Let this tool, as it is now, run without a question; return whether it exists."""
        try:
            tool = await self.provider.find_tool(name, self.host.context())
        except UnknownTool:
            return False
        self.allowed.add(pin(tool.definition), name)
        return True

    @property
    def provider(self) -> Provider:
        return self.host.provider

    @property
    def log(self) -> Log:
        return self.host.audit_log

    def origin(self, name: str, /) -> str:
        """The server of a tool."""
        return next((row.server for row in self.host.rows if row.alias == name), "")

    def context(self) -> RequestContext:
        """A context for one question, with a task of its own."""
        self.allowed.task = self.host.task()
        return self.host.context(task=self.allowed.task)


@contextlib.asynccontextmanager
async def chat_tools(
    target: str,
    family: FamilyOptions,
    rules: str | None,
    timeout: float,
    language: str,
    on_log: OnServerLog | None,
    *,
    asks: bool,
) -> AsyncGenerator[Tools]:
    """Open the tools of TARGET for the duration of the block. ``asks``: approvals are requested at this terminal;
    otherwise a call that needs one leaves a ticket. ``on_log``, if given, receives log messages of servers."""
    allowed = ChatPermissions()
    front = unless(allowed, terminal(language)) if asks else None
    source = target if is_config(target) else _one(target, family)
    guard = Guard(language=language, server="chat")
    async with opened(source, timeout, guard=guard, front=front, rules=rules, heard=on_log) as host:
        yield Tools(host, allowed)


def _one(target: str, family: FamilyOptions) -> dict[str, Target]:
    """One server under a label of its own. A tooltrue server does not ask for approvals itself, since the host
    does."""
    if is_ours(target):
        server = load_server(Spec.of(target, family, confirm=False))
        return {server.name: server}
    return {"server": target_of(target, family)}


def unless(allowed: ChatPermissions, front: ApprovalPrompter | None) -> ApprovalPrompter | None:
    """Skip the question for allowed tools."""
    if front is None:
        return None

    async def ask(question: ApprovalQuestion) -> ApprovalAnswer:
        return Once() if allowed.holds(question.request) else await front(question)

    return ask

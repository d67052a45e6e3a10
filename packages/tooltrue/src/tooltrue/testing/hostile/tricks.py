"""Tricks, the misbehaviours of a hostile server, and the interface of the visit they act on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

__all__ = ["Message", "Publishes", "ScriptedResult", "Take", "Trick", "Visit", "VisitState", "plain", "text"]

Message: TypeAlias = dict[str, Any]


class VisitState(Protocol):
    """The state of a visit: how often the tools have been listed, and how many visits there were before."""

    number: int
    looks: int


class Visit(Protocol):
    """One connection of one client, as a trick sees it."""

    @property
    def state(self) -> VisitState: ...

    def say(self, message: Message) -> None:
        """Send a message; ``jsonrpc`` is added."""
        ...

    def raw(self, frame: bytes) -> None:
        """Send bytes that need not be a message."""
        ...

    @property
    def drain(self) -> Callable[[], Awaitable[None]]:
        """Return when earlier messages have been sent, as far as is known; other tasks get to run."""
        ...

    def honest(self, message: Message) -> Message:
        """The answer of a well-behaved server: ``{"id": …, "result": …}`` or ``{"id": …, "error": …}``."""
        ...

    async def ask(self, method: str, params: Message) -> Message:
        """Send a request of the server's own, and return the whole answer."""
        ...

    async def hears(self, method: str) -> None:
        """Return once a message of this method has come."""
        ...


Take: TypeAlias = Callable[[Visit, Message], Awaitable[None]]
"""Acts in place of the honest answer to a message."""

Publishes: TypeAlias = Callable[[Visit], "list[Message]"]
"""The tools that are published in this listing."""

ScriptedResult: TypeAlias = Message | Callable[[], Message]


@dataclass(frozen=True, slots=True)
class Trick:
    """One misbehaviour. ``about`` describes it, ``rows`` are the attacks of the table of attacks that it tries.

    It publishes tools of its own, answers calls of tools that are named after it by ``result``, or handles messages by
    their method. ``takes`` of ``""`` handles every message. ``needs_process`` says that it acts on its own process;
    ``http`` that it exists over HTTP alone, and writes the whole answer to a POST itself.
    """

    name: str
    about: str
    rows: str = ""
    publishes: Publishes | None = None
    instructions: str | None = None
    result: ScriptedResult | None = None
    schema: Message | None = None
    takes: Mapping[str, Take] = field(default_factory=dict[str, Take])
    needs_process: bool = False
    http: Callable[[Callable[[bytes], Awaitable[None]], Message], Awaitable[None]] | None = None


def plain(name: str, description: str = "Look at the sky.", **more: Any) -> Message:
    """The definition of a harmless tool."""
    schema = {"type": "object", "properties": {"where": {"type": "string"}}, "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def text(words: str, **more: Any) -> Message:
    """A result with one text."""
    return {"content": [{"type": "text", "text": words}], **more}

"""Abuse events of the limit layers, for audit log and metrics: a caller asks too much, or for what is not its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import CompletionGet, Principal, PromptGet, ResourceFollow, ResourceRead, TaskRequest

__all__ = ["KINDS", "AbuseEvent", "AbuseEvents"]

_log = logging.getLogger("tooltrue")


# Library entries have URIs and names that callers make up: counting each by itself would be no limit. No tool can be
# called so, since a name has no slash.
KINDS: dict[type, str] = {
    ResourceRead: "resources/read",
    ResourceFollow: "resources/subscribe",
    TaskRequest: "tasks",
    PromptGet: "prompts/get",
    CompletionGet: "completion/complete",
}


class AbuseEvent(Value, frozen=True):
    """An abuse event. ``kind`` says which, ``subject`` is the name that was called; ``seconds`` is when to come
    back."""

    kind: Literal["rate", "busy", "refusals", "unknown", "repeated"]
    principal: Principal
    subject: str
    seconds: float = 0.0


class AbuseEvents:
    """Listeners for abuse events: each is called on the event loop with every event, and must be quick."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[AbuseEvent], None]] = []

    def listen(self, listener: Callable[[AbuseEvent], None]) -> None:
        self._listeners.append(listener)

    def publish(self, event: AbuseEvent) -> None:
        """Call each listener. One that fails is logged, and affects neither the call nor the others."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - whatever it is, the call is not its business
                _log.exception("a listener for abuse events failed")

"""What the limits have to say to whoever keeps records or counts: signs that somebody asks too much, or for what is not
his."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from toolwright.protocol.types import Value
from toolwright.tools.toolset import CompletionGet, Principal, PromptGet, ResourceFollow, ResourceRead

__all__ = ["KINDS", "Sign", "Signals"]

_log = logging.getLogger("toolwright")


# What a library offers is found by URIs and names that callers make up: to count each by itself would be no limit.
# No tool can be called so, for a name has no slash.
KINDS: dict[type, str] = {
    ResourceRead: "resources/read",
    ResourceFollow: "resources/subscribe",
    PromptGet: "prompts/get",
    CompletionGet: "completion/complete",
}


class Sign(Value, frozen=True):
    """``kind`` is what was noticed, ``subject`` the name that was called; ``seconds`` is when to come back."""

    kind: Literal["rate", "busy", "refusals", "unknown", "repeated"]
    principal: Principal
    subject: str
    seconds: float = 0.0


class Signals:
    """Whoever listens is called with each sign, on the event loop, and must be quick."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Sign], None]] = []

    def listen(self, listener: Callable[[Sign], None]) -> None:
        self._listeners.append(listener)

    def tell(self, sign: Sign) -> None:
        """A listener that fails is logged, and changes nothing for the call or for the others."""
        for listener in self._listeners:
            try:
                listener(sign)
            except Exception:  # noqa: BLE001 - whatever it is, the call is not its business
                _log.exception("a listener for signs failed")

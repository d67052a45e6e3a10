"""What servers want to be known, for whoever sits at the host: whose it is, clean, cut, and not too much of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from toolwright.client.hearing import LogMessage
from toolwright.jsonrpc.messages import encode
from toolwright.policy.masking import Masks
from toolwright.protocol.characters import cleaned
from toolwright.protocol.modern import LOG_LEVELS
from toolwright.protocol.types import Value

__all__ = ["Heard", "Listening", "ServerLog"]

MAX_TEXT: Final = 2_000
_MAX_LOGGER: Final = 100
_AT_ONCE: Final = 30
_PER_SECOND: Final = 1.0


class ServerLog(Value, frozen=True):
    """A log message of a server. ``text`` is a stranger's: nothing hides in it, secrets are masked, and of a long one
    there are the first 2,000 characters. ``left_out``: so many before it were too many to be told."""

    server: str
    level: str
    text: str
    logger: str = ""
    left_out: int = 0


Heard: TypeAlias = Callable[[ServerLog], None]


@dataclass(slots=True)
class Listening:
    """Hears one server and tells of it: 30 messages at once, and then one a second."""

    server: str
    told: Heard
    clock: Callable[[], float] = time.monotonic
    _masks: Masks = field(default_factory=Masks)
    _room: float = _AT_ONCE
    _at: float | None = None
    _left_out: int = 0

    def __call__(self, message: LogMessage) -> None:
        now = self.clock()
        passed = 0.0 if self._at is None else now - self._at
        self._at, self._room = now, min(_AT_ONCE, self._room + passed * _PER_SECOND)
        if self._room < 1:
            self._left_out += 1
            return
        self._room -= 1
        left_out, self._left_out = self._left_out, 0
        level = message.level if message.level in LOG_LEVELS else "info"
        said = message.data if isinstance(message.data, str) else encode(message.data).decode(errors="replace")
        logger = self._plain(message.logger or "", _MAX_LOGGER)
        self.told(ServerLog(self.server, level, self._plain(said, MAX_TEXT), logger, left_out))

    def _plain(self, text: str, most: int) -> str:
        return self._masks.text(cleaned(text[:most], {})) + (" […]" if len(text) > most else "")

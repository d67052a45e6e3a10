"""Log messages of servers for the user of the host: attributed, cleaned, truncated and rate limited."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tooltrue.client.notifications import LogMessage
from tooltrue.client.question_limits import TokenBucket
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.protocol.characters import cleaned
from tooltrue.protocol.modern import LOG_LEVELS
from tooltrue.protocol.types import Value

__all__ = ["LogForwarder", "OnServerLog", "ServerLog"]

MAX_TEXT: Final = 2_000
_MAX_LOGGER: Final = 100
_AT_ONCE: Final = 30
_PER_SECOND: Final = 1.0


class ServerLog(Value, frozen=True):
    """A log message of a server. ``text`` is untrusted: hidden characters are removed, secrets are masked, and a long
    one is cut to its first 2,000 characters. ``left_out`` counts the messages dropped before it by the rate limit."""

    server: str
    level: str
    text: str
    logger: str = ""
    left_out: int = 0


OnServerLog: TypeAlias = Callable[[ServerLog], None]


@dataclass(slots=True)
class LogForwarder:
    """Receives the log messages of one server and passes them on: a burst of 30, then one a second."""

    server: str
    on_log: OnServerLog
    clock: Callable[[], float] = time.monotonic
    _masks: Masks = field(default_factory=Masks)
    _bucket: TokenBucket = field(init=False)
    _left_out: int = 0

    def __post_init__(self) -> None:
        self._bucket = TokenBucket(_AT_ONCE, _PER_SECOND, self.clock)

    def __call__(self, message: LogMessage) -> None:
        if not self._bucket.take():
            self._left_out += 1
            return
        left_out, self._left_out = self._left_out, 0
        level = message.level if message.level in LOG_LEVELS else "info"
        text = message.data if isinstance(message.data, str) else encode(message.data).decode(errors="replace")
        logger = self._plain(message.logger or "", _MAX_LOGGER)
        self.on_log(ServerLog(self.server, level, self._plain(text, MAX_TEXT), logger, left_out))

    def _plain(self, text: str, most: int) -> str:
        return self._masks.text(cleaned(text[:most], {})) + (" […]" if len(text) > most else "")

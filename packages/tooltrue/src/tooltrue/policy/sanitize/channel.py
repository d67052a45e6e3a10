"""Progress and logs of a running tool, cleaned like its result."""

from __future__ import annotations

from typing import Any

from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.sanitize.prescan import Wants, prescan
from tooltrue.policy.sanitize.redactor import Redactor
from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import Channel

__all__ = ["CleanChannel"]


class CleanChannel(Value, frozen=True):
    """Cleans progress and logs on their way to the client. Thread-safe."""

    inner: Channel
    wants: Wants

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.inner.progress(progress, total, message and self._clean(message))

    def log(self, level: str, data: Any, logger: str | None) -> None:
        self.inner.log(level, self._clean(data), logger and self._clean(logger))

    def detach(self) -> None:
        self.inner.detach()

    def _clean(self, value: Any) -> Any:
        suspicion = prescan(encode(value), *self.wants)
        return Redactor(suspicion).value(value) if suspicion else value

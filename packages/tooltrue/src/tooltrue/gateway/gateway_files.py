"""The files that a gateway is made of, and their changes while it serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from tooltrue._internal.watched_files import WatchedFiles
from tooltrue.client.config import HostConfig
from tooltrue.errors import ConfigurationError, TooltrueError
from tooltrue.gateway.servers_file import read_servers
from tooltrue.gateway.wording import GATEWAY_FILES_REFUSED
from tooltrue.policy.config import OperatorConfig, read_operator_config
from tooltrue.wording import coded_sentence

__all__ = ["GatewayFiles"]

T = TypeVar("T")

_LOOK_SECONDS: Final = 0.5

_Content: TypeAlias = tuple[HostConfig, OperatorConfig | None]

_log = logging.getLogger("tooltrue")


class GatewayFiles:
    """The list of servers, the operator's file, and ``others``, whose changes count too: with the file of approvals, a
    server can start that had to wait for one. Changes count from when this object is made, or unpickled. ``last_good``
    is the last content of both files without a mistake."""

    def __init__(
        self,
        servers: str,
        operator: str | None = None,
        others: Sequence[Path] = (),
        last_good: _Content | None = None,
    ) -> None:
        self._servers = servers
        self._operator = operator
        self._others = tuple(others)
        self._last_good = last_good
        own = [Path(name) for name in (servers, operator) if name is not None]
        self._watched = WatchedFiles(files=[*own, *others])
        self.is_refused = False
        """Whether the files have a mistake, so that an earlier state of them is in use."""

    def __reduce__(self) -> tuple[Any, ...]:
        return GatewayFiles, (self._servers, self._operator, self._others, self._last_good)

    def read(self) -> _Content:
        """Read both. Raises ``ConfigurationError``."""
        operator = None if self._operator is None else read_operator_config(self._operator)
        return read_servers(self._servers), operator

    def begin(self, use: Callable[[HostConfig, OperatorConfig | None], T]) -> T:
        """Return what ``use`` makes of the files, or of their last good content while they have a mistake. Raises
        ``ConfigurationError`` where there has been none."""
        try:
            content = self.read()
            made = use(*content)
        except ConfigurationError as error:
            if self._last_good is None:
                raise
            _report(error)
            self.is_refused = True
            return use(*self._last_good)
        self._last_good = content
        return made

    def renew(self, check: Callable[[HostConfig, OperatorConfig | None], object]) -> None:
        """Look at the files once. Changed files are the last good content, if ``check`` does not raise."""
        if not self._watched.changes():
            return
        try:
            content = self.read()
            check(*content)
        except Exception:  # noqa: BLE001 - the processes that follow the files report it
            return
        self._last_good = content

    async def follow(
        self,
        use: Callable[[HostConfig, OperatorConfig | None], Awaitable[None]],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Look at the files twice a second until this is cancelled, and ``use`` them after each change. If that fails,
        the reason is logged, and all stays as it is until the next change."""
        while True:
            await sleep(_LOOK_SECONDS)
            if await asyncio.to_thread(self._watched.changes):
                await self._use(use)

    async def _use(self, use: Callable[[HostConfig, OperatorConfig | None], Awaitable[None]]) -> None:
        is_refused = True
        try:
            await use(*self.read())
            is_refused = False
        except TooltrueError as error:
            _report(error)
        except Exception as error:  # noqa: BLE001 - whatever is in the files, the gateway serves on
            _log.error("the files of the gateway: internal error", exc_info=error)
        self.is_refused = is_refused  # only now: servers may take their time to start


def _report(problem: TooltrueError) -> None:
    _log.warning("%s", coded_sentence(GATEWAY_FILES_REFUSED, "en", {"problem": problem}))

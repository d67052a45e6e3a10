"""The files that a gateway is made of, and their changes while it serves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tooltrue._internal.watched_files import WatchedFiles
from tooltrue.client.config import HostConfig
from tooltrue.errors import TooltrueError
from tooltrue.gateway.settings import read_servers
from tooltrue.gateway.wording import GATEWAY_FILES_REFUSED
from tooltrue.policy.config import OperatorConfig, read_operator_config
from tooltrue.wording import coded_sentence

__all__ = ["GatewayFiles"]

_LOOK_SECONDS: Final = 0.5

_log = logging.getLogger("tooltrue")


class GatewayFiles:
    """The list of servers, the operator's file, and ``others``, whose changes count too: with the file of approvals, a
    server can start that had to wait for one. Changes count from when this object is made, or unpickled."""

    def __init__(self, servers: str, operator: str | None = None, others: Sequence[Path] = ()) -> None:
        self._servers = servers
        self._operator = operator
        self._others = tuple(others)
        own = [Path(name) for name in (servers, operator) if name is not None]
        self._watched = WatchedFiles(files=[*own, *others])
        self.is_refused = False
        """Whether the files have a mistake, so that an earlier state of them is in use."""

    def __reduce__(self) -> tuple[Any, ...]:
        return GatewayFiles, (self._servers, self._operator, self._others)

    def read(self) -> tuple[HostConfig, OperatorConfig | None]:
        """Read both. Raises ``ConfigurationError``."""
        operator = None if self._operator is None else read_operator_config(self._operator)
        return read_servers(self._servers), operator

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
            _log.warning("%s", coded_sentence(GATEWAY_FILES_REFUSED, "en", {"problem": error}))
        except Exception as error:  # noqa: BLE001 - whatever is in the files, the gateway serves on
            _log.error("the files of the gateway: internal error", exc_info=error)
        self.is_refused = is_refused  # only now: servers may take their time to start

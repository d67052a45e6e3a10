"""The process of the supervisor, as the parent of the workers runs it: it begins before them and ends after them."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import secrets
import time
from collections.abc import Callable, Generator
from multiprocessing.process import BaseProcess
from typing import TypeAlias

from tooltrue._internal.platform.families import end_family, new_family, reap_orphans
from tooltrue._internal.platform.private_sockets import PrivateListener, bind_private, private_address
from tooltrue.client.config import HostConfig
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.gateway_files import GatewayFiles
from tooltrue.gateway.settings import bounds_of, question_limits_of
from tooltrue.gateway.supervisor import SupervisorSettings, programs_of, run
from tooltrue.gateway.wording import (
    GATEWAY_SUPERVISOR_ADDRESS_FAILED,
    GATEWAY_SUPERVISOR_ENDED,
)
from tooltrue.policy.config import OperatorConfig
from tooltrue.wording import coded_sentence

__all__ = ["SupervisorProcess", "supervising"]

_END_SECONDS = 2.0
_STEADY_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 60.0

_log = logging.getLogger("tooltrue")


Check: TypeAlias = Callable[[HostConfig, OperatorConfig | None], object]
"""Raises ``ConfigurationError`` for a mistake in the files of a gateway."""


@contextlib.contextmanager
def supervising(
    files: GatewayFiles, begin_log: Callable[[], None], check: Check = programs_of
) -> Generator[SupervisorProcess]:
    """The supervisor of the programs in ``files``, not started: of none too, as there may be some later. While it is
    kept alive, changed files that pass ``check`` are the last good content of ``files``. Raises ``ConfigurationError``
    where it cannot listen."""

    def settings_by(config: HostConfig, operator: OperatorConfig | None) -> SupervisorSettings:
        check(config, operator)
        bounds, questions = bounds_of(operator), question_limits_of(operator)
        return SupervisorSettings(files, bounds, questions, secrets.token_bytes(32), new_family(), begin_log)

    settings = files.begin(settings_by)
    with private_address() as address:
        try:
            listener = bind_private(address)
        except OSError as error:
            problem = error.strerror or str(error)
            raise ConfigurationError.of(GATEWAY_SUPERVISOR_ADDRESS_FAILED, address=address, problem=problem) from None
        with listener:
            yield SupervisorProcess(settings, listener, address, check=check)


def _begin(settings: SupervisorSettings, listener: PrivateListener) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(
        target=run, args=(settings, listener), name="supervisor", daemon=True
    )
    process.start()
    return process


class SupervisorProcess:
    """A companion of the workers (:class:`tooltrue.transport.http_runner.Companion`). Every process of it accepts from
    the same listener, so that workers which connect while there is none wait for the next one."""

    def __init__(
        self,
        settings: SupervisorSettings,
        listener: PrivateListener,
        address: str,
        *,
        check: Check = programs_of,
        begin: Callable[[SupervisorSettings, PrivateListener], BaseProcess] = _begin,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address = address
        self._settings = settings
        self._listener = listener
        self._check = check
        self._begin = begin
        self._clock = clock
        self._process: BaseProcess | None = None
        self._began = 0.0
        self._pause = _FIRST_PAUSE_SECONDS
        self._again_at: float | None = None

    def start(self) -> None:
        self._began = self._clock()
        self._again_at = None
        self._process = self._begin(self._settings, self._listener)

    def keep_alive(self) -> None:
        """Start another process if this one has ended: its programs end first, and a pause grows while it ends soon.
        The files are looked at in this process too: the next one may begin while they have a mistake."""
        self._settings.files.renew(self._check)
        if self._process is None or self._process.is_alive():
            return
        now = self._clock()
        if self._again_at is None:
            _log.warning("%s", coded_sentence(GATEWAY_SUPERVISOR_ENDED, "en", {"code": self._process.exitcode}))
            end_family(self._settings.family)
            if now - self._began >= _STEADY_SECONDS:
                self._pause = _FIRST_PAUSE_SECONDS
            self._again_at = now + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
        if now >= self._again_at:
            reap_orphans([child.pid for child in multiprocessing.active_children()])
            self.start()

    def end(self) -> None:
        """End the process, and all programs that it has started."""
        if self._process is None:
            return
        self._process.terminate()
        self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()
        end_family(self._settings.family)

"""The process of the supervisor: who starts it again, and when it is refused."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.client.question_limits import QuestionLimits
from tooltrue.errors import ConfigurationError
from tooltrue.gateway import supervisor_process
from tooltrue.gateway.callers import ConnectionBounds
from tooltrue.gateway.supervisor import SupervisorSettings
from tooltrue.gateway.supervisor_process import SupervisorProcess, supervising
from tooltrue.server.http_worker import no_log_format

PROGRAM = ServerConfig("up", "up", "true")
REMOTE = ServerConfig("far", "far", url="https://example.com/mcp")


class Ended:
    """A process that has ended already."""

    exitcode = -9

    def is_alive(self) -> bool:
        return False


def test_a_supervisor_that_ends_soon_is_started_after_a_pause_that_grows() -> None:
    now = 0.0
    starts: list[float] = []

    def begin(settings: SupervisorSettings, listener: socket.socket) -> Any:
        starts.append(now)
        return Ended()

    config = HostConfig("", Path(), (PROGRAM,))
    settings = SupervisorSettings(
        config, ConnectionBounds(), QuestionLimits(), b"k", "family-of-the-test", no_log_format
    )
    with socket.socket() as listener:
        process = SupervisorProcess(settings, listener, "", begin=begin, clock=lambda: now)
        process.start()
        while now < 10:
            now += 0.5
            process.keep_alive()
    assert starts == [0.0, 1.0, 2.5, 5.0, 9.5]


def supervisor_of(*servers: ServerConfig) -> SupervisorProcess | None:
    with supervising(HostConfig("", Path(), servers), None, no_log_format) as supervisor:
        return supervisor


def test_servers_that_have_an_address_need_no_supervisor() -> None:
    assert supervisor_of(REMOTE) is None


def test_several_workers_are_refused_where_there_is_no_private_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_process, "HAS_PRIVATE_SOCKETS", False)
    with pytest.raises(ConfigurationError, match="holds up, and") as refused:
        supervisor_of(PROGRAM, REMOTE)
    assert refused.value.code == "TT4795"


@pytest.mark.needs("local sockets")
def test_the_address_is_in_a_folder_of_this_user_and_ends_with_it() -> None:
    with supervising(HostConfig("", Path(), (PROGRAM,)), None, no_log_format) as supervisor:
        assert supervisor is not None
        folder = Path(supervisor.address).parent
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()

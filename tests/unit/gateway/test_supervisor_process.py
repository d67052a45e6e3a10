"""The process of the supervisor: who starts it again, and when it is refused."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tooltrue._internal.platform.private_sockets import PrivateListener, bind_private, connect_private, private_address
from tooltrue.client.question_limits import QuestionLimits
from tooltrue.gateway.callers import ConnectionBounds
from tooltrue.gateway.gateway_files import GatewayFiles
from tooltrue.gateway.supervised import entry_of
from tooltrue.gateway.supervisor import SupervisorSettings
from tooltrue.gateway.supervisor_process import SupervisorProcess, supervising
from tooltrue.jsonrpc.messages import encode
from tooltrue.server.http_worker import no_log_format
from tooltrue.testing.state import LIMIT
from tooltrue.transport.line_channel import LineChannel


class Ended:
    """A process that has ended already."""

    exitcode = -9

    def is_alive(self) -> bool:
        return False


def test_a_supervisor_that_ends_soon_is_started_after_a_pause_that_grows() -> None:
    now = 0.0
    starts: list[float] = []

    def begin(settings: SupervisorSettings, listener: PrivateListener) -> Any:
        starts.append(now)
        return Ended()

    settings = SupervisorSettings(
        GatewayFiles(""), ConnectionBounds(), QuestionLimits(), b"k", "family-of-the-test", no_log_format
    )
    with private_address() as address, bind_private(address) as listener:
        process = SupervisorProcess(settings, listener, address, begin=begin, clock=lambda: now)
        process.start()
        while now < 10:
            now += 0.5
            process.keep_alive()
    assert starts == [0.0, 1.0, 2.5, 5.0, 9.5]


def files_of(folder: Path, *commands: str) -> GatewayFiles:
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": {name: {"command": name} for name in commands}}))
    return GatewayFiles(str(file))


async def asked(address: str, label: str = "another", entry: str = "") -> bytes:
    """The answer of the supervisor to a worker whose file has this server; empty if it ends without one."""
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def on_end() -> None:
        if not answer.done():
            answer.set_result(b"")

    channel = await LineChannel.over(await connect_private(address), answer.set_result, on_end)
    channel.write(encode({"server": label, "entry": entry, "caller": None}))
    line = await answer
    await channel.close()
    return line


async def answered(address: str, label: str = "another", entry: str = "") -> bytes:
    """The first answer: a process that has been killed may leave connections without one."""
    while not (line := await asked(address, label, entry)):
        pass
    return line


def process_of(supervisor: SupervisorProcess) -> BaseProcess:
    """The process that runs, once it does."""
    while True:
        supervisor.keep_alive()
        for process in multiprocessing.active_children():
            if process.name == "supervisor":
                return process
        time.sleep(0.05)


@pytest.mark.process
@pytest.mark.parametrize("commands", [("true",), ()], ids=["a program", "none yet"])
def test_the_next_process_serves_at_the_same_address(tmp_path: Path, commands: tuple[str, ...]) -> None:
    with supervising(files_of(tmp_path, *commands), no_log_format) as supervisor:
        supervisor.start()
        try:
            for _ in range(2):
                process = process_of(supervisor)
                assert b"TT4797" in asyncio.run(asyncio.wait_for(answered(supervisor.address), 3 * LIMIT))
                process.kill()
                process.join()
        finally:
            supervisor.end()


MISTAKES = {
    "servers.json": '{"mcpServers": {"true": {"comand": "x"}}}',
    "tooltrue.toml": "[servers.absent]\nprefix = false\n",
}


@pytest.mark.process
@pytest.mark.parametrize("mistaken", MISTAKES)
def test_the_next_process_has_the_last_servers_of_files_without_a_mistake(tmp_path: Path, mistaken: str) -> None:
    files_of(tmp_path, "true")
    (tmp_path / "tooltrue.toml").write_text("")
    files = GatewayFiles(str(tmp_path / "servers.json"), str(tmp_path / "tooltrue.toml"))
    with supervising(files, no_log_format) as supervisor:
        supervisor.start()
        try:
            files_of(tmp_path, "true", "false")
            _, added = files.read()[0].servers
            for _ in range(2):  # a change is one that is there at two looks
                supervisor.keep_alive()
            (tmp_path / mistaken).write_text(MISTAKES[mistaken])
            for _ in range(2):
                supervisor.keep_alive()
            process = process_of(supervisor)
            process.kill()
            process.join()
            process_of(supervisor)
            line = asyncio.run(asyncio.wait_for(answered(supervisor.address, "false", entry_of(added)), 3 * LIMIT))
            assert b"TT4797" not in line  # it knows the server
            assert b"false" in line
        finally:
            supervisor.end()


@pytest.mark.needs("local sockets")
def test_the_address_is_in_a_folder_of_this_user_and_ends_with_it(tmp_path: Path) -> None:
    with supervising(files_of(tmp_path, "true"), no_log_format) as supervisor:
        folder = Path(supervisor.address).parent
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()

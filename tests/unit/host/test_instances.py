"""An approval for the server of one file holds for that server only, not for a server of the same name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.hosting import Published, tool
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.host.approval_prompts import Always, ApprovalQuestion, No
from tooltrue.host.host import Host
from tooltrue.host.pins import instance_of
from tooltrue.host.prompters import callback
from tooltrue.testing.state import LIMIT


class Projects:
    """Files that each have a server ``fs``; ``asked`` records the questions to a person, who gives ``answer``."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        patch.setenv("TOOLTRUE_APPROVALS", f"sqlite://{folder}/approvals.db")
        self.folder = folder
        self.asked: list[str] = []
        self.answer: Always | No = Always({"type": "object"})

    def _said(self, question: ApprovalQuestion) -> Always | No:
        self.asked.append(question.request.whose)
        return self.answer

    def write(self, file: str) -> bool:
        """Whether the call has run."""
        server = Published(tool("write"))

        async def main() -> None:
            config = HostConfig(str(self.folder / file), self.folder, (ServerConfig("fs", "fs", target=server),))
            host = Host(config, front=callback(self._said), pins=False, audit=False)
            async with asyncio.timeout(LIMIT), host:
                await host.call_tool("fs_write", {"n": 1})

        asyncio.run(main())
        return bool(server.called)


def test_a_yes_to_the_server_of_one_file_is_none_to_that_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = Projects(tmp_path, monkeypatch)
    assert projects.write("one.json")
    projects.answer = No()
    assert not projects.write("two.json")
    assert [whose.partition(" #")[0] for whose in projects.asked] == [
        f"fs ({tmp_path}/one.json",
        f"fs ({tmp_path}/two.json",
    ]


def test_a_yes_for_a_pattern_holds_when_the_same_server_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = Projects(tmp_path, monkeypatch)
    assert projects.write("one.json")
    projects.answer = No()
    assert projects.write("one.json")
    assert len(projects.asked) == 1


def test_a_server_that_is_reached_otherwise_is_another() -> None:
    ways = (
        ServerConfig("a", "a", command="x"),
        ServerConfig("a", "a", command="x", args=("/",)),
        ServerConfig("a", "a", url="https://x.example"),
        ServerConfig("a", "a", target="https://y.example"),
        ServerConfig("a", "a", target=["x", "/etc"]),
    )
    assert len({instance_of("f.json", way) for way in ways}) == len(ways)

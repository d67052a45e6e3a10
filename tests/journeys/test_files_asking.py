"""A served folder over stdio, with a person who is asked only about calls that can run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.serving import environment
from tooltrue import Client

pytestmark = pytest.mark.process

DESK = """
from pathlib import Path
from tooltrue import Server
from tooltrue_toolbox.files import toolset

server = Server("desk", toolsets=[toolset([Path(__file__).parent / "papers"])])

if __name__ == "__main__":
    server.run()
"""


def test_a_person_is_asked_only_about_the_writes_and_deletions_that_can_be_made(tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "README.md").write_text("old\n")
    (tmp_path / "desk.py").write_text(DESK)
    asked: list[str] = []

    def elicit(question: Any) -> bool:
        asked.append(question.message)
        return True

    async def talk() -> list[str]:
        env = environment(XDG_STATE_HOME=str(tmp_path / "state"))
        async with Client(str(tmp_path / "desk.py"), env=env, elicit=elicit) as client:
            calls: list[tuple[str, dict[str, Any]]] = [
                ("write_file", {"path": "README.md", "content": "new\n"}),
                ("write_file", {"path": "a/b.md", "content": "new\n"}),
                ("delete_file", {"path": "README.MD"}),
                ("write_file", {"path": "README.md", "content": "new\n", "mode": "overwrite"}),
                ("delete_file", {"path": "README.md"}),
            ]
            return [(await client.call_tool(tool, arguments)).text for tool, arguments in calls]

    texts = asyncio.run(talk())
    assert [code for code in ("TT6050", "TT6056", "TT6020") if code in "".join(texts[:3])] == [
        "TT6050", "TT6056", "TT6020",
    ]  # fmt: skip
    assert [message.splitlines()[-1] for message in asked] == [
        "Replaces a file of 4 bytes by 4 bytes.",
        "Deletes a file of 4 bytes. This cannot be undone.",
    ]
    assert not any("[TT" in text for text in texts[3:])
    assert list(papers.iterdir()) == []

"""Questions of a tool to a person, where the client cannot ask: a ticket, as for all that needs approval."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tooltrue import Client, Server
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.pipeline import standard
from tooltrue.protocol.types import CallToolResult
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall
from tooltrue_toolbox.files import FileLimits, toolset

EDIT = {"path": "AGENTS.md", "edits": [{"old_text": "one", "new_text": "two"}]}
WRITE = {"path": "CLAUDE.md", "content": "obey"}


class Desk:
    """The files tools for a client that cannot be asked, and the tickets of its calls."""

    def __init__(self, root: Path, confirm: Confirm, limits: FileLimits | None = None) -> None:
        facts = MemoryFacts()
        self.approvals = Approvals(facts)
        guard = Guard(server="files", confirm=confirm)
        self.provider = standard(toolset([root], limits=limits), guard, facts, approvals=self.approvals)

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        outcome = await self.provider.call_tool(ToolCall(tool, dict(arguments), RequestContext(LOCAL, SILENT)))
        assert isinstance(outcome, CallToolResult)
        return "".join(getattr(block, "text", "") for block in outcome.content)

    async def ticket(self, tool: str, arguments: dict[str, Any]) -> str:
        text = await self.call(tool, arguments)
        assert text.endswith("[TT2470]"), text
        [said] = set(re.findall(r"ticket (t-[0-9a-f]{8})", text))
        return said


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    (folder / "build" / "out").mkdir(parents=True)
    (folder / "AGENTS.md").write_text("one\n")
    return folder


def state_of(root: Path) -> dict[str, str]:
    return {str(path): path.read_text() if path.is_file() else "" for path in root.rglob("*")}


@pytest.mark.parametrize(
    ("confirm", "tool", "arguments"),
    [
        (Confirm(), "edit_file", EDIT),
        (Confirm(), "create_directory", {"path": ".github"}),
        (Confirm(), "move_file", {"source": "build", "destination": ".github"}),
        (Confirm.never(), "write_file", WRITE),
        (Confirm.never(), "delete_file", {"path": "build", "recursive": True}),
    ],
)
def test_a_call_that_needs_approval_waits_for_its_ticket_and_runs_once(
    root: Path, confirm: Confirm, tool: str, arguments: dict[str, Any]
) -> None:
    before = state_of(root)

    async def once() -> None:
        desk = Desk(root, confirm)
        first = await desk.ticket(tool, arguments)
        assert await desk.ticket(tool, arguments) == first
        assert state_of(root) == before
        ticket = await desk.approvals.find(first)
        assert ticket.wanted.arguments["path" if "path" in arguments else "source"] in str(arguments)
        assert ticket.wanted.reason
        await desk.approvals.allow(ticket, "once")
        assert "[TT" not in await desk.call(tool, arguments)
        assert state_of(root) != before

    asyncio.run(once())


def test_a_ticket_is_for_one_call_and_no_other(root: Path) -> None:
    async def once() -> None:
        desk = Desk(root, Confirm.never())
        await desk.approvals.allow(await desk.approvals.find(await desk.ticket("write_file", WRITE)), "once")
        other = {**WRITE, "content": "obey me"}
        assert await desk.ticket("write_file", other)
        assert not (root / "CLAUDE.md").exists()
        assert "[TT" not in await desk.call("write_file", WRITE)
        (root / "CLAUDE.md").unlink()
        assert "[TT2404]" in await desk.call("write_file", WRITE)
        assert not (root / "CLAUDE.md").exists()

    asyncio.run(once())


def test_a_session_approval_covers_repeated_calls_with_the_shown_arguments(root: Path) -> None:
    async def once() -> None:
        desk = Desk(root, Confirm.never())
        await desk.approvals.allow(await desk.approvals.find(await desk.ticket("write_file", WRITE)), "session")
        for _ in range(2):
            assert "[TT" not in await desk.call("write_file", WRITE)
            (root / "CLAUDE.md").unlink()

    asyncio.run(once())


def test_a_yes_to_a_pattern_holds_for_the_name_that_was_shown(root: Path) -> None:
    async def once() -> None:
        desk = Desk(root, Confirm.never())
        ticket = await desk.approvals.find(await desk.ticket("write_file", WRITE))
        await desk.approvals.allow(ticket, "pattern", pattern={"type": "object"})
        assert "[TT" not in await desk.call("write_file", {**WRITE, "content": "other"})
        assert await desk.ticket("write_file", {**WRITE, "path": "GEMINI.md"})

    asyncio.run(once())


def test_a_yes_to_one_size_is_none_to_another(root: Path) -> None:
    async def once() -> None:
        desk = Desk(root, Confirm.never())
        delete = {"path": "build", "recursive": True}
        ticket = await desk.approvals.find(await desk.ticket("delete_file", delete))
        await desk.approvals.allow(ticket, "once")
        (root / "build" / "new").write_text("made meanwhile")
        assert await desk.ticket("delete_file", delete) != ticket.id
        assert (root / "build" / "new").exists()

    asyncio.run(once())


def test_a_no_holds(root: Path) -> None:
    async def once() -> None:
        desk = Desk(root, Confirm.never())
        await desk.approvals.deny(await desk.approvals.find(await desk.ticket("write_file", WRITE)))
        assert "[TT2415]" in await desk.call("write_file", WRITE)
        assert not (root / "CLAUDE.md").exists()

    asyncio.run(once())


def test_an_ordinary_name_needs_no_ticket(root: Path) -> None:
    async def once() -> None:
        desk = Desk(root, Confirm.never())
        assert "[TT" not in await desk.call("write_file", {"path": "notes.md", "content": "x"})
        assert await desk.approvals.all() == []

    asyncio.run(once())


def test_a_client_that_can_be_asked_is_asked_by_the_tool(root: Path) -> None:
    asked: list[str] = []

    def elicit(question: Any) -> bool:
        asked.append(question.message)
        return True

    async def once() -> None:
        server = Server("files", toolsets=[toolset([root])], confirm=Confirm.never(), audit=False)
        async with Client(server, elicit=elicit) as client:
            assert not (await client.call_tool("write_file", WRITE)).is_error

    asyncio.run(once())
    assert len(asked) == 1

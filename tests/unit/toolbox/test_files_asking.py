"""The files tools and a person: calls that are known to fail are refused before a person is asked about them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Literal

import pytest

from tooltrue import Client, Server
from tooltrue.policy.layers.confirm import Confirm
from tooltrue_toolbox.files import FileLimits, toolset

BEFORE_ALL_CHANGES = Confirm(effects=frozenset({"write", "destructive"}))
EDITS = [{"old_text": "one", "new_text": "two"}]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    (folder / "d" / "in").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "AGENTS.md").write_text("one\n")
    (folder / "d" / ".git").mkdir()
    (folder / "binary").write_bytes(b"\0\1\2")
    os.symlink("a.txt", folder / "link")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
    return folder


def called(
    root: Path,
    tool: str,
    arguments: dict[str, Any],
    *,
    confirm: Confirm = BEFORE_ALL_CHANGES,
    language: Literal["en", "zh"] = "en",
    answer: bool = True,
    limits: FileLimits | None = None,
) -> tuple[list[str], str]:
    """The questions that a person was asked, and the text of the result."""
    asked: list[str] = []

    def elicit(question: Any) -> bool:
        asked.append(question.message)
        return answer

    async def once() -> str:
        server = Server(
            "files", toolsets=[toolset([root], limits=limits)], confirm=confirm, language=language, audit=False
        )
        async with Client(server, elicit=elicit) as client:
            return (await client.call_tool(tool, arguments)).text

    return asked, asyncio.run(once())


FAILING: list[Any] = [
    ("TT6050", "write_file", {"path": "a.txt", "content": "x"}),
    ("TT6050", "write_file", {"path": "AGENTS.md", "content": "x"}),
    ("TT6056", "write_file", {"path": "no/a.txt", "content": "x"}),
    ("TT6056", "write_file", {"path": "no/AGENTS.md", "content": "x", "mode": "overwrite"}),
    ("TT6055", "write_file", {"path": "a.txt", "content": "x", "mode": "overwrite", "if_version": "1-1-1"}),
    ("TT6055", "write_file", {"path": "new.txt", "content": "x", "if_version": "1-1-1"}),
    ("TT6055", "write_file", {"path": "n/new.txt", "content": "x", "create_parents": True, "if_version": "1-1-1"}),
    ("TT6032", "write_file", {"path": "link", "content": "x", "mode": "append"}),
    ("TT6023", "write_file", {"path": "d", "content": "x", "mode": "overwrite"}),
    pytest.param(
        "TT6024", "write_file", {"path": "pipe", "content": "x", "mode": "overwrite"}, marks=pytest.mark.needs("fifos")
    ),
    ("TT6022", "write_file", {"path": "a.txt/b", "content": "x", "create_parents": True}),
    ("TT6030", "write_file", {"path": ".env", "content": "x"}),
    ("TT6031", "write_file", {"path": "d/.git/config", "content": "x", "create_parents": True}),
    ("TT6052", "write_file", {"path": "new", "content": "!", "encoding": "base64"}),
    ("TT6053", "write_file", {"path": "new", "content": "é", "encoding": "ascii"}),
    ("TT6020", "edit_file", {"path": "none", "edits": EDITS}),
    ("TT6056", "edit_file", {"path": "no/none", "edits": EDITS}),
    ("TT6048", "edit_file", {"path": "a.txt", "edits": [{"old_text": "zzzz", "new_text": ""}]}),
    ("TT6048", "edit_file", {"path": "AGENTS.md", "edits": [{"old_text": "zzzz", "new_text": ""}]}),
    ("TT6057", "edit_file", {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "one"}]}),
    ("TT6055", "edit_file", {"path": "a.txt", "edits": EDITS, "if_version": "1-1-1"}),
    ("TT6046", "edit_file", {"path": "binary", "edits": EDITS}),
    ("TT6020", "move_file", {"source": "none", "destination": "AGENTS.md.new"}),
    ("TT6020", "move_file", {"source": "none", "destination": "CLAUDE.md"}),
    ("TT6067", "move_file", {"source": "a.txt", "destination": "AGENTS.md"}),
    ("TT6056", "move_file", {"source": "a.txt", "destination": "no/b"}),
    ("TT6032", "move_file", {"source": "link", "destination": "b"}),
    ("TT6070", "move_file", {"source": ".", "destination": "b"}),
    ("TT6067", "create_directory", {"path": "a.txt"}),
    ("TT6067", "create_directory", {"path": "AGENTS.md"}),
    ("TT6020", "delete_file", {"path": "none"}),
    ("TT6071", "delete_file", {"path": "d"}),
    ("TT6072", "delete_file", {"path": "d", "recursive": True}),
    ("TT6055", "delete_file", {"path": "a.txt", "if_version": "1-1-1"}),
    pytest.param("TT6024", "delete_file", {"path": "pipe"}, marks=pytest.mark.needs("fifos")),
]


@pytest.mark.parametrize(("code", "tool", "arguments"), FAILING)
def test_no_person_is_asked_about_a_call_that_is_known_to_fail(
    root: Path, code: str, tool: str, arguments: dict[str, Any]
) -> None:
    asked, text = called(root, tool, arguments)
    assert (asked, f"[{code}]" in text) == ([], True), text
    # The refusal is the one of a call that asks no person.
    assert called(root, tool, arguments, confirm=Confirm.never()) == ([], text)


@pytest.mark.parametrize(
    ("code", "limits", "arguments"),
    [
        ("TT6065", FileLimits(added_bytes=3), {"path": "new", "content": "xxxx"}),
        ("TT6066", FileLimits(added_entries=0), {"path": "new", "content": "x"}),
        ("TT6066", FileLimits(added_entries=0), {"path": "n/new", "content": "x", "create_parents": True}),
        ("TT6054", FileLimits(file_bytes=5), {"path": "a.txt", "content": "xxxx", "mode": "append"}),
        ("TT6051", FileLimits(write_bytes=3), {"path": "new", "content": "xxxx"}),
    ],
)
def test_no_person_is_asked_where_there_is_no_room(
    root: Path, code: str, limits: FileLimits, arguments: dict[str, Any]
) -> None:
    asked, text = called(root, "write_file", arguments, limits=limits)
    assert (asked, f"[{code}]" in text) == ([], True), text


@pytest.mark.parametrize(
    ("tool", "arguments", "preview"),
    [
        ("write_file", {"path": "new", "content": "é"}, "Makes a new file of 2 bytes."),
        ("write_file", {"path": "n/new", "content": "x", "create_parents": True}, "Makes a new file of 1 bytes."),
        (
            "write_file",
            {"path": "a.txt", "content": "x", "mode": "overwrite"},
            "Replaces a file of 4 bytes by 1 bytes.",
        ),
        ("write_file", {"path": "a.txt", "content": "x", "mode": "append"}, "Adds 1 bytes to a file of 4 bytes."),
        (
            "edit_file",
            {"path": "a.txt", "edits": EDITS},
            "Replaces text at 1 places of a file of 4 bytes, which then has 4 bytes.",
        ),
        ("move_file", {"source": "a.txt", "destination": "b"}, "Moves a file; no file is replaced."),
        ("delete_file", {"path": "a.txt"}, "Deletes a file of 4 bytes. This cannot be undone."),
        ("create_directory", {"path": "n/m"}, ""),
    ],
)
def test_a_person_is_asked_once_about_a_call_that_can_be_made(
    root: Path, tool: str, arguments: dict[str, Any], preview: str
) -> None:
    before = sorted(root.rglob("*"))
    asked, text = called(root, tool, arguments, answer=False)
    assert (len(asked), "[TT2401]" in text or "[TT2402]" in text) == (1, True), text
    assert asked[0].endswith(preview)
    assert sorted(root.rglob("*")) == before
    assert (root / "a.txt").read_text() == "one\n"
    asked, text = called(root, tool, arguments)
    assert (len(asked), "[TT" in text) == (1, False), text


def test_a_call_is_checked_again_when_it_runs(root: Path) -> None:
    asked: list[str] = []

    def elicit(question: Any) -> bool:
        asked.append(question.message)
        (root / "new").write_text("of another")  # while the question is open
        return True

    async def once() -> str:
        async with Client(Server("files", toolsets=[toolset([root])], audit=False), elicit=elicit) as client:
            return (await client.call_tool("write_file", {"path": "new", "content": "x"})).text

    assert "[TT6050]" in asyncio.run(once())
    assert len(asked) == 1
    assert (root / "new").read_text() == "of another"


def test_no_person_is_asked_about_a_dry_run(root: Path) -> None:
    for path in ("a.txt", "AGENTS.md"):
        asked, text = called(root, "edit_file", {"path": path, "edits": EDITS, "dry_run": True})
        assert (asked, "+two" in text) == ([], True), text
        assert (root / path).read_text() == "one\n"
        asked, _ = called(root, "edit_file", {"path": path, "edits": EDITS, "dry_run": False}, answer=False)
        assert len(asked) == 1
        assert (root / path).read_text() == "one\n"


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
def test_a_dry_run_or_a_preview_of_an_asked_name_asks_no_more_than_it_does(root: Path, tool: str) -> None:
    arguments = {"path": "AGENTS.md", "edits": EDITS, "dry_run": True}
    if tool == "write_file":
        arguments = {"path": "notes.md", "content": "x"}
    asked, _ = called(root, tool, arguments, confirm=Confirm.never())
    assert asked == []


def test_questions_are_in_the_language_of_the_server(root: Path) -> None:
    (root / "e").mkdir()
    quiet = Confirm.never()
    write = {"path": "CLAUDE.md", "content": "x"}
    asked, _ = called(root, "write_file", write, confirm=quiet, language="zh", answer=False)
    assert asked == ["是否写入 'CLAUDE.md'？代理、shell 或其他程序会遵从其内容。"]
    asked, _ = called(root, "delete_file", {"path": "e"}, confirm=quiet, language="zh", answer=False)
    assert asked == ["是否删除 'e'（directory，含 0 个条目，共 0 字节）？此操作无法撤销。"]
    asked, _ = called(root, "delete_file", {"path": "a.txt"}, language="zh", answer=False)
    assert asked[0].endswith("删除一个 file，4 字节。此操作无法撤销。")
    asked, _ = called(root, "delete_file", {"path": "e"}, confirm=quiet, answer=False)
    assert asked == ["Delete a directory with 0 entries, 0 bytes in all, at 'e'? This cannot be undone."]

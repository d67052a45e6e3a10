"""An operator's file: its settings for records and for approvals take effect."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tooltrue import Audit, Client, ConfigurationError, Confirm, Server
from tooltrue.cli.targets import Spec, load_server

FILE = """
[audit]
to = "sqlite:{folder}/records.db"
on_failure = "refuse"

[confirm]
effects = ["destructive", "write"]
questions = 3
store = "memory:"
"""


def written(folder: Path, text: str = FILE) -> Path:
    file = folder / "tooltrue.toml"
    file.write_text(text.replace("{folder}", str(folder)))
    return file


def test_each_table_sets_its_part_and_leaves_the_rest(tmp_path: Path):
    confirm = Confirm(session_seconds=60)
    guard = Server("t", rules=written(tmp_path), audit=Audit(seal="log"), confirm=confirm).settings
    assert guard.audit == Audit(f"sqlite:{tmp_path}/records.db", seal="log", on_failure="refuse")
    assert guard.confirm.effects == {"destructive", "write"}
    assert (guard.confirm.session_seconds, guard.confirm.questions, guard.confirm.store) == (60, 3, "memory:")


def test_records_go_where_the_file_says_also_those_of_a_server_that_keeps_none(tmp_path: Path):
    async def main() -> list[str]:
        server = Server("t", rules=written(tmp_path), audit=False)
        server.add_tool(lambda: 1, name="one", description="One.", effect="read")
        async with server.serving(), Client(server) as client:
            await client.call_tool("one")
        async with (again := Server("t", rules=written(tmp_path))).serving():
            return [entry.record["subject"] for entry in await again.audit_log.read()]

    assert asyncio.run(main()) == ["one"]


def test_the_file_says_where_records_do_not_go(tmp_path: Path):
    assert not Server("t", rules=written(tmp_path, "[audit]\non = false"), audit="memory:").settings.audit.is_on
    assert not Server("t", rules=written(tmp_path, "[audit]\nseal = 'log'"), audit=False).settings.audit.is_on


@pytest.mark.parametrize(("option", "asks"), [(True, True), (False, False)])
def test_the_command_line_goes_before_the_file(tmp_path: Path, option: bool, asks: bool):
    target = tmp_path / "target.py"
    target.write_text(
        "from tooltrue import Server\n"
        "server = Server('t')\n"
        "@server.tool(effect='write')\n"
        "async def note() -> str:\n"
        "    '''Note.'''\n"
        "    return 'noted'\n"
    )
    server = load_server(Spec.of(str(target), config=str(written(tmp_path)), confirm=option))
    assert server.settings.confirm.store == "memory:"

    async def main() -> bool:
        async with Client(server) as client:
            return (await client.call_tool("note")).is_error

    assert asyncio.run(main()) is asks


@pytest.mark.parametrize(
    "text",
    [
        "[audit]\nto = 5",
        "[audit]\non_failure = 'go home'",
        "[audit]\nmask = 'x'",
        "[confirm]\neffects = ['nice']",
        "[confirm]\nquestions = 0",
        "[confirm]\nsession_seconds = -1",
        "[auth]\nsecret = 'x'",
        "[auth.oauth]\nresource = 'https://a.example'",
    ],
)
def test_an_invalid_setting_is_refused_with_its_line(tmp_path: Path, text: str):
    line = 1 if "resource" in text else 2
    with pytest.raises(ConfigurationError, match=rf"tooltrue\.toml:{line}"):
        Server("t", rules=written(tmp_path, text))


def test_a_server_for_tests_goes_before_the_file(tmp_path: Path):
    server = Server("t", rules=written(tmp_path))
    assert server.with_guard(confirm=Confirm.never()).settings.confirm == Confirm.never()
    assert server.settings.confirm.questions == 3


@pytest.mark.parametrize("text", ["a = " + "[" * 3_000, "a = " + "{a = " * 3_000, "a" + ".a" * 3_000 + " = 1"])
def test_a_file_nested_too_deep_is_refused(tmp_path: Path, text: str):
    with pytest.raises(ConfigurationError, match="nested too deep"):
        Server("t", rules=written(tmp_path, text))

"""The servers of examples/ported answer as the originals did: each recorded call is made again, and compared."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from ported.replaying import MANY, Person, comparable, lines, perform, substitute
from ported.worlds import WORLDS, World, database, files, prometheus, sqlite
from tooltrue import Client
from tooltrue.cli.main import cli

PORTED = Path(__file__).parents[2] / "examples/ported"
NAMES = sorted(path.stem for path in (PORTED / "recorded").glob("*.json"))


def recording(name: str) -> dict[str, Any]:
    return json.loads((PORTED / "recorded" / f"{name}.json").read_text("utf-8"))


def port(name: str) -> ModuleType:
    """The module of a port, loaded anew: no state of another test is in it."""
    spec = importlib.util.spec_from_file_location(f"ported_{name}", PORTED / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def virtual(clock: type) -> type:
    """A clock that a sleep moves forward at once."""

    class VirtualClock(clock):
        def __init__(self) -> None:
            self.time = datetime.now()

        def now(self) -> datetime:
            return self.time

        async def sleep(self, seconds: float) -> None:
            self.time += timedelta(seconds=seconds)

    return VirtualClock


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("name", NAMES)
def test_answers_as_the_original(name: str, revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = recording(name)["steps"]
    monkeypatch.chdir(tmp_path)
    with WORLDS[name](tmp_path) as world:
        answers = asyncio.run(replay(name, revision, steps, world, monkeypatch))
    for step, answer in zip(steps, answers, strict=True):
        theirs, ours = comparable(step, step["answer"]), comparable(step, answer)
        if "differs" in step:
            assert ours != theirs, f"no difference any more: {step}"
        else:
            assert ours == theirs, f"{step}\n{answer}"


async def replay(
    name: str, revision: str, steps: list[Any], world: World, patch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    """The answers of a port to the steps of a recording, in a world of its own."""
    for key, value in world.env.items():
        patch.setenv(key, value)
    module, person = port(name), Person()
    if name == "timer":
        patch.setattr(module, "Clock", virtual(module.Clock))
    real = {new: old for old, new in world.names.items()}
    async with Client(module.server, revision=revision, elicit=person, questions=MANY) as client:
        return [substitute(await perform(client, person, substitute(step, real)), world.names) for step in steps]


@pytest.mark.parametrize("name", NAMES)
def test_is_shorter_than_the_original(name: str) -> None:
    assert lines(PORTED / f"{name}.py") < recording(name)["lines"]


def row(name: str) -> str:
    """The row of a port in the table of examples/ported/README.md."""
    of = recording(name)
    steps, ours = of["steps"], lines(PORTED / f"{name}.py")
    otherwise = sum("differs" in step for step in steps)
    unflagged = sum("without_flag" in step["answer"] for step in steps)
    return (
        f"| [{name}.py]({name}.py) | {of['package']} {of['version']} | {of['licence']} | {of['kind']} "
        f"| {of['lines']} | {ours} | {len(steps)} | {len(steps) - otherwise} | {unflagged} |"
    )


def test_the_table_has_the_figures_of_the_recordings() -> None:
    readme = (PORTED / "README.md").read_text("utf-8")
    missing = [line for line in map(row, NAMES) if line not in readme]
    assert not missing, "\n".join(missing)
    reasons = {step["differs"] for name in NAMES for step in recording(name)["steps"] if "differs" in step}
    assert [reason for reason in sorted(reasons) if reason not in " ".join(readme.split())] == []


@pytest.mark.parametrize("name", NAMES)
def test_names_the_package_and_has_no_finding_of_weight(name: str) -> None:
    of = recording(name)
    module = port(name)
    assert module.__doc__ is not None
    assert f"in place of {of['package']} {of['version']} ({of['licence']})" in " ".join(module.__doc__.split())
    checked = CliRunner().invoke(cli, ["check", str(PORTED / f"{name}.py"), "--level", "warning"])
    assert (checked.exit_code, "errors: 0, warnings: 0" in checked.output) == (0, True), checked.output


def text_of(name: str, world: World, patch: pytest.MonkeyPatch, tool: str, person: Person, **arguments: Any) -> str:
    """The text that a model reads of one call."""
    for key, value in world.env.items():
        patch.setenv(key, value)

    async def once() -> str:
        async with Client(port(name).server, elicit=person) as client:
            return (await client.call_tool(tool, arguments)).text

    return asyncio.run(once())


def test_a_refused_token_is_told_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with prometheus(tmp_path) as world:
        wrong = World({**world.env, "PROMETHEUS_TOKEN": "a-wrong-one"})
        text = text_of("prometheus", wrong, monkeypatch, "execute_query", Person(), query="up")
    assert "(401)" in text
    assert "a-wrong-one" not in text


def test_a_file_outside_the_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "in/link.txt").symlink_to(tmp_path / "secret.txt")
    with files(tmp_path / "in") as world:
        for path in (tmp_path / "secret.txt", tmp_path / "in/../secret.txt", tmp_path / "in/link.txt"):
            wanted = [{"file_path": str(path), "ranges": [{"start": 1}]}]
            text = text_of("text_editor", world, monkeypatch, "get_text_file_contents", Person(), files=wanted)
            assert "is no absolute path in" in text


def test_a_query_neither_writes_nor_opens_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.db"
    with sqlite(tmp_path) as world:
        for query in ("CREATE TABLE a (b)", f"ATTACH '{other}' AS other", f"VACUUM INTO '{other}'"):
            text = text_of("sqlite_memo", world, monkeypatch, "read_query", Person(), query=query)
            assert text.startswith("SQLite refuses this"), text
    assert not other.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; COMMIT; DELETE FROM books",
        "WITH gone AS (DELETE FROM books RETURNING id) SELECT count(*) FROM gone",
        "/* SELECT */ DELETE FROM books",
        "SELECT forget()",
        "COMMIT",
    ],
)
def test_no_statement_changes_rows_without_the_person(
    sql: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget = "CREATE FUNCTION forget() RETURNS integer LANGUAGE sql AS 'DELETE FROM books; SELECT 1'"
    with database(tmp_path) as world, psycopg.connect(world.url, autocommit=True) as db:
        db.execute(forget)
        text_of("postgres", world, monkeypatch, "execute_sql", Person(False), sql=sql)
        assert db.execute("SELECT count(*) FROM books").fetchall() == [(3,)]

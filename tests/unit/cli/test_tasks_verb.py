"""``tooltrue tasks``: the tasks of a server that serves meanwhile, in the words of a command line."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import sqlite3
import subprocess
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from click.testing import CliRunner
from pydantic import Field
from typing_extensions import TypedDict

from support.reading import read_soon
from support.serving import command, environment
from support.terminals import open_terminal
from tooltrue import Client, Context, Form, Link, Server, Tasks, ToolError
from tooltrue.cli.main import cli
from tooltrue.client.config import ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.sealed_tokens import new_key
from tooltrue.state.facts import MemoryFacts
from tooltrue.state.places import sqlite_url
from tooltrue.testing.state import LIMIT

CONTROL = "\x1b]0;owned\x07"


class Person(TypedDict):
    name: str
    age: int


class Word(TypedDict):
    word: str


class Consent(TypedDict):
    decision: Literal["once", "session", "deny"]


PERSON = Form("Your name, and your age?", Person)


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


def made(store: str | None = None, name: str = "desk", **settings: Any) -> Server:
    server = Server(name, tasks=Tasks(store=store), audit=False, **settings)

    @server.tool(effect="read", task=True)
    async def greet(context: Context) -> str:
        """Greet a person."""
        answer = context.ask(PERSON)
        return f"Hello {answer.value['name']}, {answer.value['age']}" if answer.value else "Hello nobody"

    @server.tool(effect="read", task=True)
    async def pair(context: Context) -> str:
        """Ask two things."""
        answers = context.ask_all({"one": Form("One?", Word), "two": Form("Two?", Word)})
        return " and ".join(answer.value["word"] for answer in answers.values() if answer.value)

    @server.tool(effect="read", task=True)
    async def agree(context: Context) -> str:
        """Ask as an approval does."""
        answer = context.ask(Form("Agreed?", Consent))
        return answer.value["decision"] if answer.value else "nothing"

    @server.tool(effect="read", task=True)
    async def visit(context: Context) -> str:
        """Send a person to a page."""
        return context.ask(Link("Sign in.", "https://example.org/")).action

    @server.tool(effect="read", task=True)
    async def wait(api_key: str = "", note: str = "") -> str:
        """Wait for ever."""
        return await asyncio.Event().wait() and "over"

    @server.tool(effect="read", task=True)
    async def unlock(door: str, combination: Annotated[str, Field(json_schema_extra={"format": "password"})]) -> str:
        """Try a combination, for ever."""
        return await asyncio.Event().wait() and f"{door}{combination}"

    @server.tool(effect="read", task=True)
    async def report(context: Context) -> str:
        """Report progress, and wait for ever."""
        context.progress(2, 4, "the second quarter")
        return await asyncio.Event().wait() and "over"

    @server.tool(effect="read", task=True)
    async def fail() -> str:
        """Fail."""
        raise ToolError(f"{CONTROL}no such thing")

    @server.tool(effect="read", task=True)
    async def long() -> str:
        """Say much."""
        return "x" * 5_000 + "the end"

    return server


class Desk:
    """An operator's command line, and the client of a server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options: tuple[str, ...] = ()

    async def run(self, *words: str, code: int = 0, **env: str) -> str:
        """The output of a command that ends with this code; that for errors, if it is not 0."""
        return await asyncio.to_thread(self._run, words, code, env)

    def _run(self, words: Sequence[str], code: int, env: Mapping[str, str]) -> str:
        done = CliRunner(env=env).invoke(cli, ["tasks", *self.options, *words])
        assert done.exit_code == code, (done.output, done.exception)
        return done.stderr if code else done.stdout

    async def listed(self, *words: str) -> list[dict[str, Any]]:
        return json.loads(await self.run("list", "--json", *words))

    async def until(self, tool: str, state: str) -> dict[str, Any]:
        """The newest task of a tool, in this state."""
        async with asyncio.timeout(LIMIT):
            while not (tasks := await self.listed("--tool", tool)) or tasks[0]["status"] != state:
                pass
        return tasks[0]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Desk(tmp_path)


@asynccontextmanager
async def serving(server: Server) -> AsyncGenerator[Client]:
    async with server.serving(), Client(server, elicit=lambda question: None) as client:
        yield client


def code_of(text: str) -> str:
    found = re.findall(r"\[(TT\d+)\]$", text.strip())
    assert found, text
    return found[0]


@on_a_loop
async def test_the_tasks_of_a_server_are_listed_and_shown(desk: Desk) -> None:
    async with serving(made()) as client:
        assert await desk.run("list") == "There are no tasks.\n"
        await client.start_task("greet")
        await client.start_task("fail")
        await client.start_task("wait", api_key="s3cr3t-of-mine", note=CONTROL)
        asking, failed = await desk.until("greet", "input_required"), await desk.until("fail", "completed")
        head, *rows = (await desk.run("list")).splitlines()
        assert head.split() == ["task", "tool", "caller", "state", "age", "message"]
        assert [row.split()[1:4] for row in rows] == [
            ["wait", "local", "working"],
            ["fail", "local", "completed"],
            ["greet", "local", "input_required"],
        ]
        assert rows[2].startswith(asking["id"][:8])
        assert rows[2].endswith(PERSON.message)
        assert "no such thing" in failed["message"]
        assert "\x1b" not in await desk.run("list")


@on_a_loop
async def test_the_list_is_filtered(desk: Desk) -> None:
    async with serving(made()) as client:
        for tool in ("greet", "fail", "wait"):
            await client.start_task(tool)
        await desk.until("greet", "input_required")
        await desk.until("fail", "completed")
        assert [one["tool"] for one in await desk.listed("--state", "working")] == ["wait"]
        assert [one["tool"] for one in await desk.listed("--tool", "fail")] == ["fail"]
        assert len(await desk.listed("--caller", "local")) == 3
        assert await desk.listed("--caller", "another") == []
        assert len(await desk.listed("--limit", "2")) == 2
        assert await desk.run("list", "--tool", "other") == "There is no such task.\n"


@on_a_loop
async def test_a_task_is_shown_with_its_secrets_masked_and_its_text_escaped(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("wait", api_key="s3cr3t-of-mine", note=CONTROL)
        task = (await desk.until("wait", "working"))["id"]
        for words in ((), ("--json",)):
            shown = await desk.run("show", task[:8], *words)
            assert task in shown
            assert "[masked]" in shown
            assert "s3cr3t" not in shown
            assert "owned" in shown
            assert "\x1b" not in shown
            assert "\x07" not in shown


@on_a_loop
async def test_arguments_that_the_schema_declares_secret_are_masked(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("unlock", door="front", combination="4711")
        task = (await desk.until("unlock", "working"))["id"]
        for words in ((), ("--json",)):
            shown = await desk.run("show", task, *words)
            assert "front" in shown
            assert "4711" not in shown


@on_a_loop
async def test_the_progress_of_a_task_is_listed_and_shown(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("report")
        async with asyncio.timeout(LIMIT):
            while not (task := await desk.until("report", "working"))["message"]:
                pass
        assert task["message"] == "2/4 the second quarter"
        assert task["progress"] == {"progress": 2.0, "total": 4.0}
        assert "2/4 the second quarter" in await desk.run("list")
        assert "progress 2/4 the second quarter" in await desk.run("show", task["id"])


@on_a_loop
async def test_a_damaged_task_is_listed_with_its_code_among_the_others(desk: Desk) -> None:
    async with serving(made()) as client:
        for tool in ("greet", "wait", "fail"):
            await client.start_task(tool)
        asking = (await desk.until("greet", "input_required"))["id"]
        failed = (await desk.until("fail", "completed"))["id"]
    with contextlib.closing(sqlite3.connect(desk.folder / "tooltrue" / "tasks" / "desk.db")) as db, db:
        db.execute("UPDATE workflow_input SET inputs = '[]' WHERE workflow_uuid = ?", (f"{asking}/0",))
        changed = 'replace(output, \'"outcome": "\', \'"outcome": "x\')'
        db.execute(f"UPDATE workflow_output SET output = {changed} WHERE workflow_uuid = ?", (f"{failed}/0",))
    listed = (await desk.run("list")).splitlines()
    assert [line.split()[:2] for line in listed[2:]] in (
        [[asking[:8], "damaged"], [failed[:8], "damaged"]],
        [[failed[:8], "damaged"], [asking[:8], "damaged"]],
    )
    codes = {one["id"]: one["message"].partition(":")[0] for one in await desk.listed() if one["status"] == "damaged"}
    assert codes == {asking: "TT5615", failed: "TT4844"}
    assert listed[1].split()[1] == "wait"
    assert code_of(await desk.run("show", asking, code=2)) == "TT5615"


@pytest.mark.parametrize("has_key_file", [False, True])
@on_a_loop
async def test_the_tasks_of_all_views_of_a_gateway_are_listed_answered_and_cancelled(
    desk: Desk, has_key_file: bool
) -> None:
    file = desk.folder / "tooltrue.toml"
    file.write_text('[servers.up]\ntasks = "always"\n[views.one]\nservers = "up"\n[views.two]\nservers = "up"\n')
    audit = sqlite_url(desk.folder / "audit.db")
    up = ServerConfig("up", "up", target=made(), revision="2025-11-25", hints=True)
    gateway = Gateway({"up": up}, operator=read_operator_config(str(file)), confirm=Confirm.never(), audit=audit)
    if has_key_file:
        key = new_key()
        (desk.folder / "key").write_text(base64.b64encode(key).decode())
        gateway.share(keys=[key], facts=MemoryFacts())
        desk.options = ("--sealing-key-file", str(desk.folder / "key"))
    async with (
        gateway.serving(),
        Client(gateway.view("one"), elicit=lambda question: None) as one,
        Client(gateway.view("two"), elicit=lambda question: None) as two,
    ):
        greeting, waiting = await one.start_task("up_greet"), await two.start_task("up_wait")
        asking = await desk.until("up_greet", "input_required")
        working = await desk.until("up_wait", "working")
        assert (asking["view"], working["view"]) == ("one", "two")
        head, *rows = (await desk.run("list", "--caller", "local")).splitlines()
        assert head.split() == ["task", "view", "tool", "caller", "state", "age", "message"]
        assert sorted(row.split()[1:3] for row in rows) == [["one", "up_greet"], ["two", "up_wait"]]
        assert "view     one\n" in await desk.run("show", asking["id"])
        await desk.run("answer", asking["id"][:8], "name=Ada", "age=36")
        await desk.run("cancel", working["id"][:8])
        assert (await greeting.result()).text == "Hello Ada, 36"
        assert [status.state async for status in waiting.updates()][-1] == "cancelled"
        acts = set[tuple[str, str]]()
        async with asyncio.timeout(LIMIT):  # the notes about both acts reach the log of the gateway
            while len(acts) < 2:
                records = [entry.record for entry in await gateway.audit_log.read(0, 100)]
                acts = {(one["kind"], one["subject"]) for one in records if one["kind"].startswith("operator ")}
                await asyncio.sleep(0)
        assert acts == {("operator answer", "up_greet"), ("operator cancel", "up_wait")}


@on_a_loop
async def test_a_result_is_clipped_and_whole_as_json(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("long")
        task = (await desk.until("long", "completed"))["id"]
        assert "the end" not in await desk.run("show", task)
        assert "3007 more characters" in await desk.run("show", task)
        assert json.loads(await desk.run("show", task, "--json"))["result"]["content"][0]["text"].endswith("the end")


@on_a_loop
async def test_an_error_of_a_tool_is_shown_without_its_control_characters(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("fail")
        shown = await desk.run("show", (await desk.until("fail", "completed"))["id"])
        assert "error of the tool" in shown
        assert "no such thing" in shown
        assert "\x1b" not in shown


@on_a_loop
async def test_a_task_is_cancelled(desk: Desk) -> None:
    async with serving(made()) as client:
        for tool, state in (("wait", "working"), ("greet", "input_required")):
            started = await client.start_task(tool)
            task = (await desk.until(tool, state))["id"]
            assert await desk.run("cancel", task) == f"{task[:8]} is cancelled.\n"
            assert (await desk.until(tool, "cancelled"))["id"] == task
            with pytest.raises(Exception, match="cancel"):
                await started.result()
            assert code_of(await desk.run("cancel", task, code=2)) == "TT4847"


@on_a_loop
async def test_an_answer_goes_on_with_the_task(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("greet")
        task = (await desk.until("greet", "input_required"))["id"]
        assert code_of(await desk.run("answer", task, "name=Ada", "age=old", code=2)) == "TT4006"
        assert code_of(await desk.run("answer", task, "name=Ada", code=2)) == "TT4006"
        assert code_of(await desk.run("answer", task, code=2)) == "TT4849"
        assert "it goes on" in await desk.run("answer", task, "name=Ada", "age=36")
        await desk.until("greet", "completed")
        assert "Hello Ada, 36" in await desk.run("show", task)
        assert code_of(await desk.run("answer", task, "name=Ada", "age=36", code=2)) == "TT4847"


@on_a_loop
async def test_a_question_is_declined(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("greet")
        task = (await desk.until("greet", "input_required"))["id"]
        await desk.run("answer", task, "name=Ada", "--decline", code=2)
        await desk.run("answer", task, "--decline")
        await desk.until("greet", "completed")


@pytest.mark.parametrize(("tool", "declined"), [("agree", "nothing"), ("visit", "decline")])
@on_a_loop
async def test_a_program_consents_to_nothing_in_place_of_a_person(desk: Desk, tool: str, declined: str) -> None:
    async with serving(made()) as client:
        await client.start_task(tool)
        task = (await desk.until(tool, "input_required"))["id"]
        assert code_of(await desk.run("answer", task, "decision=once", code=2)) == "TT4849"
        assert code_of(await desk.run("answer", task, code=2)) == "TT4849"
        await desk.run("answer", task, "--decline")
        await desk.until(tool, "completed")
        assert declined in await desk.run("show", task)


@on_a_loop
async def test_one_of_several_questions_has_to_be_named(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("pair")
        task = (await desk.until("pair", "input_required"))["id"]
        one, two = json.loads(await desk.run("show", task, "--json"))["questions"]
        refused = await desk.run("answer", task, "word=a", code=2)
        assert code_of(refused) == "TT4848"
        assert one in refused
        assert code_of(await desk.run("answer", task, "word=a", "--question", "3", code=2)) == "TT4848"
        assert "1 more to answer" in await desk.run("answer", task, "word=a", "--question", one)
        assert "One?" not in await desk.run("show", task)
        await desk.run("answer", task, "word=b")
        await desk.until("pair", "completed")
        assert "a and b" in await desk.run("show", task)
        assert two != one


@pytest.mark.process
@pytest.mark.needs("terminals")
@on_a_loop
async def test_a_person_at_the_terminal_fills_in_the_form(desk: Desk) -> None:
    async with serving(made()) as client:
        await client.start_task("greet")
        task = (await desk.until("greet", "input_required"))["id"]
        screen = await asyncio.to_thread(at_a_terminal, desk, ["Ada", "36", "y"], "answer", task)
        assert PERSON.message in screen
        await desk.until("greet", "completed")
        assert "Hello Ada, 36" in await desk.run("show", task)


def at_a_terminal(desk: Desk, lines: list[str], *words: str) -> str:
    """The output for a person who answers each prompt with the next of these lines."""
    ours, theirs = open_terminal()
    with subprocess.Popen(
        command("tasks", *words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(XDG_STATE_HOME=str(desk.folder)),
    ) as process:
        os.close(theirs)
        screen, shown = b"", b""
        while data := read_soon(ours):
            screen, shown = screen + data, shown + data
            if lines and shown.endswith(b": "):  # earlier input is no answer
                shown = b""
                os.write(ours, f"{lines.pop(0)}\n".encode())
        assert process.wait(LIMIT) == 0, screen.decode()
    os.close(ours)
    return screen.decode()


@on_a_loop
async def test_a_task_is_named_by_the_beginning_of_its_id(desk: Desk) -> None:
    async with serving(made()) as client:
        for _ in range(17):  # of which two begin alike
            await client.start_task("greet")
        ids = [one["id"] for one in await desk.listed()]
        first = next(id[0] for id in ids if sum(other[0] == id[0] for other in ids) > 1)
        assert code_of(await desk.run("show", first, code=2)) == "TT4846"
        for unknown in ("f" * 32, "", "%", "_", "0" * 33, "x'"):
            assert code_of(await desk.run("show", unknown, code=2)) == "TT4845"


@on_a_loop
async def test_a_server_is_named_if_there_are_several(desk: Desk) -> None:
    assert code_of(await desk.run("list", code=2)) == "TT4842"
    for name in ("desk", "attic"):
        async with serving(made(name=name)) as client:
            await client.start_task("fail")
            await desk.until("fail", "completed")
        desk.options = ("--server", "attic")
        if name == "desk":
            refused = await desk.run("list", code=2)
            assert code_of(refused) == "TT4841"
            assert "desk" in refused
    assert len(await desk.listed()) == 1
    desk.options = ()
    refused = await desk.run("list", code=2)
    assert code_of(refused) == "TT4842"
    assert "attic, desk" in refused
    desk.options = ("--store", f"sqlite://{desk.folder}/none.db")
    assert code_of(await desk.run("list", code=2)) == "TT4841"
    assert not (desk.folder / "none.db").exists()


@on_a_loop
async def test_keys_are_those_of_the_server(desk: Desk) -> None:
    key = "k" * 43
    desk.options = ("--store", f"sqlite://{desk.folder}/own.db")
    async with serving(made(f"sqlite://{desk.folder}/own.db", keys=[b"m" * 32])) as client:
        await client.start_task("fail")
        assert code_of(await desk.run("list", code=2)) == "TT4843"
        refused = await desk.run("list", code=2, TOOLTRUE_SEALING_KEY=key)
        assert code_of(refused) == "TT4844"
        assert "TOOLTRUE_SEALING_KEY" in refused
        assert key not in refused
        right = "bW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW1tbW0="
        assert "fail" in await desk.run("list", TOOLTRUE_SEALING_KEY=right)
        store, desk.options = desk.options[1], ()
        assert "fail" in await desk.run("list", TOOLTRUE_SEALING_KEY=right, TOOLTRUE_TASKS=store)
        desk.options = ("--store", store)
        (desk.folder / "keys").write_text(f"{key}\n{right}\n")
        desk.options = (*desk.options, "--sealing-key-file", str(desk.folder / "keys"))
        assert "fail" in await desk.run("list")

"""The page on tasks: those of a server that serves meanwhile, one of them, and its end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from browser.payloads import PAYLOADS
from support.console import House, Visitor, fields_of
from support.pages import hostile_markup, words
from tooltrue import Client, Context, Form, Server, Tasks
from tooltrue.client.config import ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.state.urls import open_log
from tooltrue.testing.state import LIMIT


class Word(TypedDict):
    word: Annotated[str, Field(min_length=2)]


class Working:
    """A console beside the tasks of the server ``desk``, which ``begin`` begins."""

    def __init__(self, folder: Path) -> None:
        self.house = House(folder)
        self.server = server = Server("desk", tasks=Tasks(poll_seconds=0.05), audit=False)

        @server.tool(effect="read", task=True)
        async def wait(note: str = "", api_key: str = "") -> str:
            """Wait for ever."""
            return await asyncio.Event().wait() and "over"

        @server.tool(effect="read", task=True)
        async def ask(context: Context, question: str = "Which word?") -> str:
            """Ask for a word."""
            answer = context.ask(Form(question, Word))
            return answer.value["word"] if answer.value else ""

        @server.tool(effect="read", task=True)
        async def say(text: str) -> str:
            """Say it."""
            return text

    def visited(self, scenario: Callable[[Client, Visitor], Awaitable[Any]], name: str = "operator") -> Any:
        async def run(house: House) -> Any:
            async with (
                asyncio.timeout(LIMIT),
                self.server.serving(),
                Client(self.server, elicit=lambda question: None) as client,
                house.visitor(name) as visitor,
            ):
                return await scenario(client, visitor)

        return self.house.visited(run)


@pytest.fixture
def working(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Working:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return Working(tmp_path)


async def path_of(visitor: Visitor, tool: str, state: str) -> str:
    """The address of the newest task of a tool, in this state."""
    while True:
        page = (await visitor.get("/tasks")).text
        for row in page.split("<tr>"):
            if f"<bdi>{tool}</bdi>" in row and f"<td>{state}</td>" in row:
                return re.findall(r'href="/console(/tasks/[^"]+)"', row)[0]
        await asyncio.sleep(0.01)


def test_tasks_are_listed_with_their_state_and_shown_one_by_one(working: Working):
    async def scenario(client: Client, visitor: Visitor) -> None:
        await client.start_task("wait", note="patience", api_key="s3cr3t-of-mine")
        await client.start_task("ask")
        await client.start_task("say", text="the end")
        waiting = words((await visitor.get(await path_of(visitor, "wait", "working"))).text)
        assert "patience" in waiting
        assert "s3cr3t" not in waiting
        assert "Which word?" in words((await visitor.get(await path_of(visitor, "ask", "input_required"))).text)
        ended = await visitor.get(await path_of(visitor, "say", "completed"))
        assert "the end" in words(ended.text)
        assert "Cancel the task" not in ended.text

    working.visited(scenario)


def test_a_cancelled_task_ends_and_is_recorded(working: Working):
    async def scenario(client: Client, visitor: Visitor) -> list[Any]:
        await client.start_task("wait")
        path = await path_of(visitor, "wait", "working")
        answer = await visitor.post(f"{path}/cancel", await visitor.form(path))
        assert answer.headers["hx-redirect"] == f"/console{path}"
        assert await path_of(visitor, "wait", "cancelled") == path
        async with open_log(working.house.settings.acts) as log:
            return [entry.record for entry in await log.read(0, 10)]

    intent, act = working.visited(scenario)
    assert (intent["kind"], act["kind"], act["outcome"]) == ("intent", "act", "ok")
    assert (act["decision"], act["subject"], act["instance"], act["who"]) == ("cancel task", "wait", "desk", "operator")


async def question_of(visitor: Visitor, tool: str = "ask") -> tuple[str, dict[str, str]]:
    """The address of a task that asks, and the hidden fields of the form of its question."""
    path = await path_of(visitor, tool, "input_required")
    page = (await visitor.get(path)).text
    return path, fields_of(page[page.index(f'hx-post="/console{path}/answer"') :])


def test_an_answer_of_the_page_goes_on_with_the_task_and_is_recorded(working: Working):
    async def scenario(client: Client, visitor: Visitor) -> list[Any]:
        await client.start_task("ask")
        path, form = await question_of(visitor)
        wrong = await visitor.post(f"{path}/answer", {**form, "a0": "accept", "q0.v/word": "x"})
        assert 'aria-invalid="true"' in wrong.text
        answer = await visitor.post(f"{path}/answer", {**form, "a0": "accept", "q0.v/word": "tooltrue"})
        assert answer.headers["hx-redirect"] == f"/console{path}"
        assert await path_of(visitor, "ask", "completed") == path
        assert "tooltrue" in words((await visitor.get(path)).text)
        again = await visitor.post(f"{path}/answer", {**form, "a0": "accept", "q0.v/word": "another"})
        assert "TT9449" in again.text
        async with open_log(working.house.settings.acts) as log:
            return [entry.record for entry in await log.read(0, 10)]

    intent, act = working.visited(scenario)
    assert (intent["kind"], act["kind"], act["outcome"]) == ("intent", "act", "ok")
    assert (act["decision"], act["subject"], act["instance"]) == ("answer task", "ask", "desk")
    assert "tooltrue" in str(act["answers"])
    assert "Which word?" in str(act["arguments"])


def test_a_question_of_a_task_of_a_view_of_a_gateway_is_answered_for_that_view(working: Working, tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text('[servers.up]\ntasks = "always"\n[views.one]\nservers = "up"\n[views.two]\nservers = "up"\n')
    up = ServerConfig("up", "up", target=working.server, revision="2025-11-25", hints=True)
    gateway = Gateway({"up": up}, operator=read_operator_config(str(file)), confirm=Confirm.never(), audit=False)

    async def scenario(house: House) -> list[str]:
        async with (
            asyncio.timeout(LIMIT),
            gateway.serving(),
            Client(gateway.view("one"), elicit=lambda question: None) as one,
            Client(gateway.view("two"), elicit=lambda question: None) as two,
            house.visitor("operator") as visitor,
        ):
            views = {"one": one, "two": two}
            asked = [await client.start_task("up_ask", question=f"Word of {view}?") for view, client in views.items()]
            for _ in asked:
                path, form = await question_of(visitor, "up_ask")
                view = re.findall(r"Word of (\w+)\?", words((await visitor.get(path)).text))[0]
                answer = await visitor.post(f"{path}/answer", {**form, "a0": "accept", "q0.v/word": f"word-{view}"})
                assert answer.headers["hx-redirect"] == f"/console{path}"
                assert f"View {view}" in words((await visitor.get(path)).text)
            return [(await task.result()).text for task in asked]

    assert working.house.visited(scenario) == ["word-one", "word-two"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [({"asked": "x"}, "TT9449"), ({"question": "x"}, "TT9449"), ({"a0": "perhaps"}, "TT9406")],
)
def test_an_answer_that_is_not_bound_to_what_was_shown_is_refused(working: Working, changed: dict[str, str], code: str):
    async def scenario(client: Client, visitor: Visitor) -> None:
        await client.start_task("ask")
        path, form = await question_of(visitor)
        answer = await visitor.post(f"{path}/answer", {**form, "a0": "decline", **changed})
        assert (answer.status_code, code in answer.text) == (400, True)
        assert await path_of(visitor, "ask", "input_required") == path

    working.visited(scenario)


def test_who_may_read_alone_answers_nothing(working: Working):
    async def scenario(client: Client, visitor: Visitor) -> None:
        await client.start_task("ask")
        path, form = await question_of(visitor)
        answer = await visitor.post(f"{path}/answer", {**form, "a0": "decline"})
        assert (answer.status_code, "TT9402" in answer.text) == (403, True)

    working.visited(scenario, "reader")


def test_a_task_that_has_changed_since_is_not_cancelled(working: Working):
    async def scenario(client: Client, visitor: Visitor) -> None:
        await client.start_task("wait")
        path = await path_of(visitor, "wait", "working")
        form = await visitor.form(path)
        answer = await visitor.post(f"{path}/cancel", {**form, "status": "input_required"})
        assert (answer.status_code, "TT9488" in answer.text) == (400, True)
        assert await path_of(visitor, "wait", "working") == path

    working.visited(scenario)


@pytest.mark.parametrize("missing", ["scope", "token"])
def test_a_cancellation_needs_the_scope_and_the_token_of_the_form(missing: str, working: Working):
    async def scenario(client: Client, visitor: Visitor) -> int:
        await client.start_task("wait")
        path = await path_of(visitor, "wait", "working")
        page = (await visitor.get(path)).text
        assert ("Cancel the task" in page) == (missing == "token")
        form = {"status": "working", "form_token": re.findall(r'name="form_token" value="([^"]*)"', page)[0]}
        answer = await visitor.post(f"{path}/cancel", form if missing == "scope" else {**form, "form_token": "x"})
        assert await path_of(visitor, "wait", "working") == path
        return answer.status_code

    assert working.visited(scenario, "reader" if missing == "scope" else "operator") == 403


def test_texts_of_callers_and_tools_are_shown_and_not_interpreted(working: Working):
    hostile = "".join(PAYLOADS)[:20_000].encode(errors="replace").decode()

    async def scenario(client: Client, visitor: Visitor) -> list[str]:
        await client.start_task("wait", note=hostile)
        await client.start_task("ask", question=hostile[:2_000])
        await client.start_task("say", text=hostile)
        paths = [
            await path_of(visitor, tool, state)
            for tool, state in (("wait", "working"), ("ask", "input_required"), ("say", "completed"))
        ]
        return [(await visitor.get(path)).text for path in ("/tasks", *paths)]

    assert [hostile_markup(page) for page in working.visited(scenario)] == [[]] * 4


@pytest.mark.parametrize("path", ["/tasks/nobody/" + "0" * 32, "/tasks/desk/" + "0" * 32, "/tasks/desk/%25"])
def test_a_task_that_is_not_there_is_told_in_a_sentence(path: str, working: Working):
    async def scenario(client: Client, visitor: Visitor) -> str:
        await client.start_task("wait")
        await path_of(visitor, "wait", "working")
        return (await visitor.get(path)).text

    assert "TT9487" in working.visited(scenario)


def test_a_database_without_its_keys_is_told_beside_those_that_open(working: Working, tmp_path: Path):
    async def scenario(client: Client, visitor: Visitor) -> str:
        await client.start_task("wait")
        await path_of(visitor, "wait", "working")
        (tmp_path / "tooltrue" / "tasks" / "alone.db").write_bytes(b"")
        return words((await visitor.get("/tasks")).text)

    text = working.visited(scenario)
    assert "TT4843" in text
    assert "working" in text


def test_without_tasks_the_page_says_so(working: Working):
    async def scenario(house: House) -> str:
        async with house.visitor("reader") as visitor:
            return words((await visitor.get("/tasks")).text)

    assert "No server of this user has run a task yet." in working.house.visited(scenario)

"""*Try*: tools are called through their guard as the person who fills the form, and their text is never markup."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

from browser.payloads import PAYLOADS
from support.console import House, Visitor, fields_of
from tooltrue import Context, Form, Server, ToolError
from tooltrue.client.call_results import Result
from tooltrue.errors import ConfigurationError
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.types import CallToolResult, ImageContent, TextContent
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_log
from tooltrue_console.results import picture, shown_result, table_of
from tooltrue_console.tried import TriedServers

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


@dataclass
class Label:
    label: str
    count: int


def attic(folder: Path, **settings: Any) -> Server:
    server = Server("attic", audit=sqlite_url(folder / "attic.db"), **settings)

    @server.tool(effect="read")
    async def find(text: str, context: Context, most: Annotated[int, Field(ge=1, le=9)] = 3) -> list[dict[str, str]]:
        """Find boxes."""
        context.progress(1, 4, "one <b>of</b> four")
        return [{"box": text, "caller": context.principal.id, "most": str(most)}]

    @server.tool(effect="destructive")
    def burn(box: str) -> str:
        """Burn a box."""
        return f"burnt {box}"

    @server.tool(effect="read")
    def label(context: Context) -> str:
        """Ask for a label."""
        answer = context.ask(Form("Which label? <script>", Label))
        return f"label {answer}"

    @server.tool(effect="read")
    def fail() -> str:
        raise ToolError("nothing <i>found</i>")

    @server.tool(effect="read")
    def login(password: str) -> str:
        return "in"

    return server


def tried(
    tmp_path: Path, scenario: Callable[[House], Awaitable[Any]], server: Server | None = None, **settings: Any
) -> Any:
    """The result of a scenario with a console that tries a server."""
    house = House(tmp_path, tried=TriedServers([server or attic(tmp_path, **settings)]))

    async def run(house: House) -> Any:
        async with house.desk.tried.serving():
            return await scenario(house)

    return house.visited(run)


async def form(visitor: Visitor, tool: str) -> dict[str, str]:
    return fields_of((await visitor.get(f"/try/attic/{tool}")).text.partition("<main")[2])


def events(text: str) -> list[tuple[str, str]]:
    """The parts of the page that an answer replaces, by name."""
    return [(name, json.loads(data)) for name, data in re.findall(r"event: (\w+)\ndata: (.*)\n\n", text)]


def text_of(part: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", part))


async def run(visitor: Visitor, tool: str, **entries: str) -> list[tuple[str, str]]:
    fields = {f"v/{name}": text for name, text in entries.items()}
    answer = await visitor.post(f"/try/attic/{tool}", {**await form(visitor, tool), **fields, "act": "run"})
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    return events(answer.text)


def calls_of(folder: Path) -> list[dict[str, Any]]:
    """The records of the server, once it has ended."""

    async def read() -> list[dict[str, Any]]:
        async with open_log(sqlite_url(folder / "attic.db")) as log:
            return [record_of(entry) for entry in await log.read()]

    return asyncio.run(read())


async def acts(house: House) -> list[dict[str, Any]]:
    async with open_log(house.settings.acts) as log:
        return [record_of(entry) for entry in await log.read()]


# --- running ----------------------------------------------------------------------------------------------------------


def test_a_tool_runs_as_the_person_with_progress_and_its_result_as_a_table(tmp_path: Path):
    async def scenario(house: House) -> tuple[list[tuple[str, str]], list[dict[str, Any]]]:
        async with house.visitor("admin") as visitor:
            return await run(visitor, "find", text="hats", most="2"), await acts(house)

    seen, (before, after) = tried(tmp_path, scenario)
    calls = calls_of(tmp_path)
    assert [name for name, _ in seen] == ["progress", "outcome"]
    assert "one &lt;b&gt;of&lt;/b&gt; four" in seen[0][1]
    assert 'value="0.25"' in seen[0][1]
    assert re.findall(r"<t[hd][^>]*><bdi>(.*?)</bdi>", seen[1][1]) == [
        "box",
        "caller",
        "most",
        "hats",
        "key:admin",
        "2",
    ]
    assert [(one["subject"], one["who"], one["outcome"]) for one in calls] == [("find", "key:admin", "ok")]
    assert (before["kind"], after["kind"], after["outcome"]) == ("intent", "act", "ok")
    assert (after["decision"], after["subject"], after["instance"], after["who"]) == (
        "run",
        "find",
        "attic",
        "key:admin",
    )
    assert (after["address"], after["agent"], after["how"]) == ("127.0.0.1", "Browser/1", "key")
    assert after["arguments"] == {"text": "hats", "most": 2}
    assert re.fullmatch("[0-9a-f]{64}", after["pin"])


def test_errors_of_the_schema_stand_beside_their_fields_and_nothing_runs(tmp_path: Path):
    async def scenario(house: House) -> tuple[str, int]:
        async with house.visitor("operator") as visitor:
            fields = {**await form(visitor, "find"), "v/text": "<b>", "v/most": "12", "act": "run"}
            answer = await visitor.post("/try/attic/find", fields)
        return answer.text, (tmp_path / "acts.db").exists()

    text, has_acted = tried(tmp_path, scenario)
    most = text.partition('name="v/most"')[2]
    assert re.match(r'[^>]*value="12"[^>]*aria-invalid', most)
    assert re.search(r'class="wrong">must be [^<]*9', most)
    assert "&lt;b&gt;</textarea>" in text  # nothing is lost
    assert not has_acted


def test_an_error_of_the_tool_is_shown(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor("operator") as visitor:
            return text_of((await run(visitor, "fail"))[-1][1])

    failed = tried(tmp_path, scenario)
    assert "the tool reports an error" in failed
    assert "nothing <i>found</i>" in failed


def test_rules_hold_for_a_person_too(tmp_path: Path):
    rules = '[[rules]]\nprincipal = "key:admin"\nthen = "allow"\n'
    (tmp_path / "rules.toml").write_text(rules)

    async def scenario(house: House) -> tuple[list[bool], str, list[str]]:
        async with house.visitor("operator") as operator, house.visitor("admin") as admin:
            pages = [await visitor.get("/try") for visitor in (operator, admin)]
            refused = await operator.get("/try/attic/find")
            ran = await run(admin, "find", text="x")
        return ["/try/attic/find" in page.text for page in pages], refused.text, [name for name, _ in ran]

    listed, refused, ran = tried(tmp_path, scenario, rules=tmp_path / "rules.toml")
    assert listed == [False, True]
    assert "TT9461" in refused
    assert ran == ["progress", "outcome"]


def test_a_question_of_the_guard_and_one_of_the_tool_are_answered(tmp_path: Path):
    async def answered(visitor: Visitor, tool: str, asked: str, **entries: str) -> Any:
        fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', asked)}
        return await visitor.post(f"/try/attic/{tool}", {**fields, "act": "answer", "a0": "accept", **entries})

    async def scenario(house: House) -> list[str]:
        async with house.visitor("operator") as visitor:
            burn = (await run(visitor, "burn", box="old"))[-1][1]
            burnt = events((await answered(visitor, "burn", burn, **{"q0.c/answer": "0"})).text)
            again = (await run(visitor, "burn", box="old"))[-1][1]
            denied = events((await answered(visitor, "burn", again, a0="decline")).text)
            ask = (await run(visitor, "label"))[-1][1]
            wrong = await answered(visitor, "label", ask, **{"q0.v/label": "red", "q0.v/count": "many"})
            right = await answered(visitor, "label", ask, **{"q0.v/label": "red", "q0.v/count": "3"})
        recorded = [one["decision"] for one in await acts(house) if one["kind"] == "act"]
        return [burn, burnt[-1][1], denied[-1][1], ask, wrong.text, events(right.text)[-1][1], *recorded]

    burn, burnt, denied, ask, wrong, right, *recorded = tried(tmp_path, scenario)
    assert "burn" in text_of(burn)
    assert "burnt old" in burnt
    assert "burnt" not in denied
    assert "Which label? &lt;script&gt;" in ask
    assert re.search(r'name="q0.v/count"[^>]*value="many".*?class="wrong"', wrong, re.DOTALL)
    assert "label" in right
    assert "red" in right
    assert recorded == ["run", "answer", "run", "answer", "run", "answer"]


def test_an_answer_holds_for_the_arguments_that_were_asked_about_only(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor("operator") as visitor:
            asked = (await run(visitor, "burn", box="old"))[-1][1]
            fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', asked)}
            fields |= {"act": "answer", "a0": "accept", "q0.c/answer": "0", "arguments": '{"box": "new"}'}
            return (await visitor.post("/try/attic/burn", fields)).text

    assert "burnt" not in tried(tmp_path, scenario)


@pytest.mark.parametrize(
    "entries",
    [
        {"arguments": "["},
        {"arguments": "[]"},
        {"questions": '{"a": {"method": "sampling/createMessage", "params": {}}}'},
        {"questions": '{"a": 1}', "state": "x"},
        {"a0": "maybe"},
        {"state": "forged"},
    ],
)
def test_a_forged_answer_is_one_sentence(tmp_path: Path, entries: Mapping[str, str]):
    async def scenario(house: House) -> str:
        async with house.visitor("operator") as visitor:
            asked = (await run(visitor, "label"))[-1][1]
            fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', asked)}
            fields |= {"act": "answer", "a0": "accept", "q0.v/label": "x", "q0.v/count": "1", **entries}
            return (await visitor.post("/try/attic/label", fields)).text

    text = tried(tmp_path, scenario)
    assert "TT9415" not in text
    assert "label {" not in text


# --- attacks, each with its benign twin -------------------------------------------------------------------------------


def test_a_session_without_the_scope_looks_and_does_not_run(tmp_path: Path):
    async def scenario(house: House) -> list[Any]:
        async with house.visitor("reader") as reader, house.visitor("admin") as admin:
            page = await reader.get("/try/attic/find")
            theirs = {**await form(reader, "find"), "v/text": "x", "act": "run"}
            refused = await reader.post("/try/attic/find", theirs)
            ran = await run(admin, "find", text="x")
        return [page.status_code, 'value="run"' in page.text, refused.status_code, "TT9402" in refused.text, len(ran)]

    assert tried(tmp_path, scenario) == [200, False, 403, True, 2]


@pytest.mark.parametrize(
    ("change", "headers", "code"),
    [
        ({"form_token": "0" * 64}, {}, "TT9405"),
        ({}, {"origin": "http://evil.example"}, "TT9404"),
        ({"pin": "0" * 64}, {}, "TT9462"),
        ({}, {}, ""),
    ],
)
def test_a_form_that_no_page_has_shown_runs_nothing(
    tmp_path: Path, change: Mapping[str, str], headers: Mapping[str, str], code: str
):
    async def scenario(house: House) -> tuple[str, list[dict[str, Any]]]:
        async with house.visitor("operator") as visitor:
            fields = {**await form(visitor, "find"), "v/text": "x", "act": "run", **change}
            answer = await visitor.post("/try/attic/find", fields, **headers)
        return answer.text, await acts(house)

    text, recorded = tried(tmp_path, scenario)
    assert code in text
    assert bool(recorded) == (not code)


def test_a_get_runs_nothing(tmp_path: Path):
    async def scenario(house: House) -> list[dict[str, Any]]:
        async with house.visitor("operator") as visitor:
            await visitor.get("/try/attic/find?act=run&arguments=%7B%22text%22%3A%22x%22%7D")
        return await acts(house)

    assert tried(tmp_path, scenario) == []


def test_a_call_that_cannot_be_recorded_does_not_run(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor("operator") as visitor:
            (tmp_path / "acts.db").mkdir()
            return (await run(visitor, "find", text="x"))[-1][1]

    assert re.search(r"\[TT\d{4}\]", tried(tmp_path, scenario))
    assert calls_of(tmp_path) == []


def test_a_secret_argument_is_masked_in_the_record_and_in_no_address(tmp_path: Path):
    async def scenario(house: House) -> tuple[str, list[dict[str, Any]]]:
        async with house.visitor("operator") as visitor:
            seen = await run(visitor, "login", password="correct horse")
        return seen[-1][1], await acts(house)

    shown, recorded = tried(tmp_path, scenario)
    assert "?arguments=" not in shown
    assert [one["arguments"] for one in recorded] == [{"password": "[masked]"}] * 2


async def hostile(text: str, arguments: Mapping[str, Any], context: Context) -> CallToolResult:
    """A tool that answers with a text wherever it may."""
    context.progress(1, 2, text)
    image = ImageContent(data=base64.b64encode(text.encode()).decode(), mimeType="image/png")
    return CallToolResult([image, TextContent(text=text)], [{text: text}])


def test_hostile_texts_of_a_server_are_shown_and_never_markup(tmp_path: Path):
    server = Server("attic", audit=False)
    for number, text in enumerate(PAYLOADS):
        if "\n" in text or not text.isprintable():
            continue
        member = {"type": "string", "title": text, "description": text, "default": text, "enum": [text, "y"]}
        tags = {"type": "array", "title": text, "items": {"type": "string"}}
        schema = {"type": "object", "properties": {"x": member, text: tags}}
        name = f"t{number}"
        server.add_raw_tool(name, schema, partial(hostile, text), effect="read", description=text, title=text)

    async def scenario(house: House) -> list[str]:
        pages: list[str] = []
        async with house.visitor("operator") as visitor:
            pages.append((await visitor.get("/try")).text)
            for name in re.findall(r"/try/attic/(t\d+)", pages[0]):
                pages.append((await visitor.get(f"/try/attic/{name}")).text)
                fields = {**fields_of(pages[-1].partition("<main")[2]), "c/x": "0", "act": "run"}
                pages += [part for _, part in events((await visitor.post(f"/try/attic/{name}", fields)).text)]
        return pages

    pages = tried(tmp_path, scenario, server)
    assert len(pages) > 100
    allowed = {
        *("main", "h1", "h2", "h3", "p", "div", "form", "label", "select", "option", "button", "bdi", "table", "thead"),
        *(
            "tbody",
            "tr",
            "th",
            "td",
            "a",
            "span",
            "ul",
            "li",
            "html",
            "body",
            "input",
            "textarea",
            "fieldset",
            "legend",
        ),
        *("abbr", "code", "pre", "section", "details", "summary", "progress"),
    }
    for page in pages:
        body = page.partition("<main")[2] or page
        assert set(re.findall(r"</?([a-z0-9]+)", body)) <= allowed, page
        assert not re.search(r"<[^>]*\s(on\w+|style|srcdoc|hx-\w+)=", re.sub(r'"[^"]*"', '""', body))


def test_pictures_are_shown_only_if_their_bytes_are_those_of_their_type():
    encoded = {name: base64.b64encode(data).decode() for name, data in (("png", PNG), ("gif", b"GIF89a..."))}
    assert picture(encoded["png"], "image/png") == f"data:image/png;base64,{encoded['png']}"
    assert picture(encoded["gif"], "image/gif") is not None
    assert picture(base64.b64encode(b"RIFF....WEBPVP8 ").decode(), "image/webp") is not None
    assert picture(base64.b64encode(b"\xff\xd8\xff\xe0").decode(), "image/jpeg") is not None
    svg = base64.b64encode(b"<svg onload=alert(1)>").decode()
    for data, kind in (
        (svg, "image/svg+xml"),
        (svg, "image/png"),
        (encoded["png"], "image/svg+xml"),
        (encoded["png"], "image/gif"),
        (encoded["png"], 'image/png" onerror="alert(1)'),
        (f'{encoded["png"]}"><script>', "image/png"),
        ("!", "image/png"),
        ("", "image/png"),
        ("", "image/webp"),
    ):
        assert picture(data, kind) is None, (data, kind)


def test_data_of_pictures_is_permitted_on_the_page_of_a_tool_and_no_other(tmp_path: Path):
    async def scenario(house: House) -> list[bool]:
        async with house.visitor("operator") as visitor:
            pages = [await visitor.get(path) for path in ("/try/attic/find", "/try", "/now", "/approvals", "/calls")]
        return ["data:" in page.headers["content-security-policy"] for page in pages]

    assert tried(tmp_path, scenario) == [True, False, False, False, False]


# --- what is shown ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "columns", "rows"),
    [
        ([{"a": 1}, {"b": "x"}], ["a", "b"], [["1", ""], ["", "x"]]),
        ({"result": [{"a": None}]}, ["a"], [["null"]]),
        ({"a": 1, "b": [2]}, [], [["a", "1"], ["b", "[2]"]]),
    ],
)
def test_structured_values_are_tables(value: Any, columns: list[str], rows: list[list[str]]):
    table = table_of(value)
    assert table is not None
    assert ([*table.columns], [[*row] for row in table.rows]) == (columns, rows)


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, [1, {"a": 1}]])
def test_other_values_are_json(value: Any):
    assert table_of(value) is None
    assert shown_result(Result.of(CallToolResult([], value))).value == json.dumps(value, indent=2)


def test_a_long_result_is_cut_and_says_so():
    shown = shown_result(Result.of(CallToolResult([], [{"n": number} for number in range(1000)])))
    assert shown.table is not None
    assert (len(shown.table.rows), shown.table.left_out) == (200, 800)


def test_the_address_of_a_call_fills_its_form(tmp_path: Path):
    async def scenario(house: House) -> list[str]:
        async with house.visitor("operator") as visitor:
            shown = (await run(visitor, "find", text="a\u00a0b\nc"))[-1][1]
            address = html.unescape(re.findall(r'href="/console(/try/[^"]*)"', shown)[0])
            pages = [
                address,
                "/try/attic/find?arguments=%7B",
                "/try/attic/none",
                "/try/x/y",
            ]
            return [(await visitor.get(page)).text for page in pages]

    filled, *refused = tried(tmp_path, scenario)
    assert "a\\u00a0b" in filled  # a character that is not seen is JSON
    assert [re.findall(r"TT\d{4}", text)[0] for text in refused] == ["TT9463", "TT9461", "TT9464"]


def test_without_a_server_the_page_says_how_to_give_one(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor("reader") as visitor:
            return await visitor.text("/try")

    assert "TT9460" in House(tmp_path).visited(scenario)


def test_two_servers_of_one_name_are_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError) as caught:
        TriedServers([Server("attic", audit=False), Server("attic", audit=False)])
    assert caught.value.code == "TT9466"


def test_items_are_added_and_removed_without_a_run(tmp_path: Path):
    server = Server("attic", audit=False, confirm=Confirm.never())

    @server.tool(effect="read")
    def tag(tags: list[str]) -> str:
        return ",".join(tags)

    async def scenario(house: House) -> list[list[str]]:
        async with house.visitor("operator") as visitor:
            fields: dict[str, str] = await form(visitor, "tag")
            seen: list[list[str]] = []
            for act in ("add:/tags", "add:/tags", "remove:/tags/0"):
                text = (await visitor.post("/try/attic/tag", {**fields, "act": act})).text
                names = re.findall(r'<textarea name="(v/[^"]*)"', text)
                seen.append(names)
                fields = {**fields_of(text), "n/tags": str(len(names)), **{name: name[-1] for name in names}}
        return seen

    assert tried(tmp_path, scenario, server) == [["v/tags/0"], ["v/tags/0", "v/tags/1"], ["v/tags/0"]]

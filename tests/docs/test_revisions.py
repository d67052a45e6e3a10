"""The tables of the pages on protocol revisions: each cell is compared with the wire of its revision."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from typing_extensions import TypedDict

from tooltrue import (
    Annotations,
    AudioContent,
    CallToolResult,
    Context,
    EmbeddedResource,
    Form,
    ImageContent,
    Link,
    ResourceLink,
    Roots,
    Sampling,
    Server,
    TextContent,
    TextResource,
)
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import Icon
from tooltrue.tools.rounds import ClientQuestion

DOCS = Path(__file__).parents[2] / "docs"
SECONDS = 30.0


def table(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, its head among them."""
    _, below = (DOCS / page).read_text("utf-8").split(f"\n## {heading}\n", 1)
    rows = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert rows is not None, heading
    head, _, *rest = rows[0].splitlines()
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in (head, *rest)]


async def first_answer(revision: str, server: Server, tool: str) -> Any:
    """The first message from a server after a call by a client of one revision that declares every capability."""
    said: asyncio.Queue[Any] = asyncio.Queue()
    session = server.connect(lambda frame: said.put_nowait(json.loads(frame)))
    capabilities = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}

    async def ask(method: str, params: Any) -> Any:
        session.feed(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        return await asyncio.wait_for(said.get(), SECONDS)

    facts: dict[str, Any] = {}
    if revision in versions.MODERN:
        facts = {"_meta": {modern.VERSION: revision, modern.CAPABILITIES: capabilities}}
    else:
        client = {"capabilities": capabilities, "clientInfo": {"name": "docs", "version": "1"}}
        await ask("initialize", {"protocolVersion": revision, **client})
        session.feed(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    answer = await ask("tools/call", {"name": tool, "arguments": {}, **facts})
    await session.close()
    return answer


# --- results ---------------------------------------------------------------------------------------------------------


ICON, META = Icon("https://example.com/i.png"), {"com.example/x": 1}
HINTS = Annotations(["user"], 1.0, "2026-01-01T00:00:00Z")
RETURNED = CallToolResult(
    [
        TextContent(text="a", annotations=HINTS, meta=META),
        ImageContent.of(b"a", "image/png"),
        AudioContent.of(b"a", "audio/wav"),
        EmbeddedResource(resource=TextResource("test://a", "a")),
        ResourceLink(uri="test://a", name="a", icons=[ICON]),
    ],
    {"a": 1},
    isError=True,
    meta=META,
)
SEEN: dict[str, tuple[str, tuple[str | int, ...]]] = {
    "text": ("everything", ("content", 0)),
    "image": ("everything", ("content", 1)),
    "audio": ("everything", ("content", 2)),
    "embedded resource": ("everything", ("content", 3)),
    "resource link": ("everything", ("content", 4)),
    "`icons` of a link": ("everything", ("content", 4, "icons")),
    "`audience` and `priority`": ("everything", ("content", 0, "annotations", "audience")),
    "`lastModified`": ("everything", ("content", 0, "annotations", "lastModified")),
    "`_meta` of a block": ("everything", ("content", 0, "_meta")),
    "`_meta` of the result": ("everything", ("_meta", "com.example/x")),
    "structured object": ("everything", ("structuredContent",)),
    "structured value that is no object": ("numbers", ("structuredContent",)),
    "… without an output schema": ("undeclared", ("structuredContent",)),
    "`isError`": ("everything", ("isError",)),
}
"""Row of the page → the tool that returns it, and where in the result it stands."""


def test_the_page_of_results_shows_the_result_of_each_revision() -> None:
    server = Server("seen")
    server.add_tool(lambda: RETURNED, name="everything", blocking=False)
    server.add_raw_tool("numbers", {"type": "object"}, lambda arguments: [1], output_schema={"type": "array"})
    server.add_raw_tool("undeclared", {"type": "object"}, lambda arguments: [1])
    results = {revision: asyncio.run(results_in(revision, server)) for revision in versions.ALL}

    def cell(revision: str, tool: str, place: tuple[str | int, ...]) -> str:
        newest, told = (at(results[name][tool], place) for name in (versions.LATEST, revision))
        if told == {"result": newest}:
            return "wrapped"
        if told == newest or (isinstance(told, dict) and told["type"] == newest["type"]):  # less its missing members
            return "yes"
        return "no" if told is None else f"as {told['type']}"

    head, *rows = table("results.md", "What each revision sees")
    assert head[1:] == list(versions.ALL)
    assert rows == [[what, *(cell(revision, *where) for revision in head[1:])] for what, where in SEEN.items()]


def at(value: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        if isinstance(step, str) and step not in value:
            return None
        value = value[step]
    return value


async def results_in(revision: str, server: Server) -> dict[str, Any]:
    """The result of each tool of the page on the wire of one revision."""
    tools = ("everything", "numbers", "undeclared")
    return {tool: (await first_answer(revision, server, tool))["result"] for tool in tools}


# --- questions -------------------------------------------------------------------------------------------------------


class Extras(TypedDict):
    extras: list[Literal["sugar", "cinnamon"]]


QUESTIONS: dict[str, ClientQuestion[Any]] = {
    "`Form`": Form("?"),
    "… with a list of choices": Form("?", Extras),
    "`Link`": Link("?", "https://example.com"),
    "`Sampling`": Sampling("?", 1),
    "`Roots`": Roots(),
}


def test_the_page_of_questions_says_which_of_them_each_revision_has() -> None:
    server = Server("asks")
    for name, question in QUESTIONS.items():
        server.add_tool(asks(question), name=slug(name))

    def cell(revision: str, name: str) -> str:
        return "yes" if is_asked(asyncio.run(first_answer(revision, server, slug(name)))) else "no"

    head, *rows = table("asking.md", "Clients that cannot be asked")
    assert head[1:] == list(versions.ALL)
    assert rows == [[name, *(cell(revision, name) for revision in head[1:])] for name in QUESTIONS]


def is_asked(answer: Any) -> bool:
    return "method" in answer or answer["result"].get("resultType") == "input_required"


@pytest.mark.parametrize("revision", versions.ALL)
@pytest.mark.parametrize("name", QUESTIONS)
def test_can_ask_agrees_with_the_result_of_asking_in_each_revision(name: str, revision: str) -> None:
    question, server = QUESTIONS[name], Server("asks")
    server.add_tool(asks(question), name="asks")

    @server.tool(name="can")
    async def _(context: Context) -> bool:
        """Whether it can."""
        return context.can_ask(question)

    [block] = asyncio.run(first_answer(revision, server, "can"))["result"]["content"]
    assert block["text"] == str(is_asked(asyncio.run(first_answer(revision, server, "asks")))).lower()


def asks(question: ClientQuestion[Any]) -> Callable[..., Any]:
    async def tool(context: Context) -> None:
        context.ask(question)

    return tool


def slug(name: str) -> str:
    return re.sub(r"\W", "", name)

"""The table of FastMCP's features: its states, and a small program for its rows."""

from __future__ import annotations

import asyncio
import datetime
import enum
import functools
import pathlib
import re
import threading
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest

import tooltrue
from tooltrue import (
    Argument,
    CallToolResult,
    Client,
    Context,
    DefinitionError,
    Depends,
    File,
    Form,
    Header,
    Image,
    Layer,
    Lifespan,
    Limits,
    LocalToolset,
    Rate,
    Sampling,
    Server,
    TextContent,
    ToolCall,
    ToolError,
    Transform,
    filtered,
    prefixed,
    renamed,
    transformed,
)
from tooltrue.errors import InternalError
from tooltrue.protocol.types import replaced
from tooltrue.testing import BlockingClient

PAGE = Path(__file__).parents[2] / "docs" / "migrating" / "fastmcp-features.md"
ROW = re.compile(r"^\| (.+?) \| (same|otherwise|no) \| (.+) \|$", re.MULTILINE)
TABLES = {
    section.partition("\n")[0]: ROW.findall(section)
    for section in re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
}
ROWS: dict[str, str] = {feature: state for rows in TABLES.values() for feature, state, _ in rows}
PROGRAMS: list[tuple[str, Callable[[], None]]] = []


def proves(*features: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Note that a program shows these rows, each named by the beginning of its first cell."""

    def noted(program: Callable[[], None]) -> Callable[[], None]:
        PROGRAMS.extend((feature, program) for feature in features)
        return program

    return noted


def test_each_row_has_a_state_and_none_stands_twice():
    for rows, count in zip(TABLES.values(), (39, 18, 17, 25, 17), strict=True):
        assert len(rows) == count
    assert len(ROWS) == sum(map(len, TABLES.values()))
    assert all(
        line.count("|") < 4 or ROW.match(line)
        for line in PAGE.read_text("utf-8").splitlines()
        if "---" not in line and "| feature" not in line
    )


def test_a_row_that_works_the_same_names_its_page():
    without = [
        feature for rows in TABLES.values() for feature, state, how in rows if state == "same" and "](" not in how
    ]
    assert without == []


@pytest.mark.parametrize(("feature", "program"), PROGRAMS, ids=[feature for feature, _ in PROGRAMS])
def test_a_row_works(feature: str, program: Callable[[], None]):
    [row] = [row for row in ROWS if row.startswith(feature)]
    assert ROWS[row] != "no"
    program()


def served(function: Callable[..., Any], **settings: Any) -> Server:
    server = Server("shop")
    named: dict[str, Any] = {"name": "tool", **settings}
    server.add_tool(function, **named)
    return server


def called(server: Server, tool: str = "tool", /, **arguments: Any) -> Any:
    with BlockingClient(server, elicit=lambda question: {"people": 3}) as client:
        return client.call(tool, **arguments)


def listed(server: Server) -> list[Any]:
    with BlockingClient(server) as client:
        return client.tools()


def names(server: Server) -> list[str]:
    return [tool.name for tool in listed(server)]


# --- tools ------------------------------------------------------------------------------------------------------------


@proves(
    "a decorator without",
    "`name=`, `title=`",
    "`tags=`",
    "descriptions of parameters",
    "descriptions as a string",
    "constraints by",
)
def _() -> None:
    server = Server("shop")

    @server.tool
    def price(item: str) -> int:
        """Look up a price.

        Args:
            item: The name of the article.
        """
        return 3

    def other(a: Annotated[str, "A word."], b: Annotated[int, pydantic.Field(ge=1)] = 1) -> str:
        return a

    server.tool(other, name="named", title="T", description="D.", meta={"com.example/a": 1}, tags={"x"})
    named, first = listed(server)
    assert (first.name, first.description) == ("price", "Look up a price.")
    assert first.inputSchema["properties"]["item"]["description"] == "The name of the article."
    assert (named.name, named.title, named.description) == ("named", "T", "D.")
    assert named.meta == {"com.example/a": 1, "tooltrue/tags": ["x"]}
    assert named.inputSchema["properties"]["a"]["description"] == "A word."
    assert named.inputSchema["properties"]["b"]["minimum"] == 1


@proves("`annotations=`")
def _() -> None:
    [tool] = listed(served(lambda: None, effect="read"))
    assert tool.annotations.readOnlyHint is True


@proves("methods:")
def _() -> None:
    class Till:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        def times(self, x: int) -> int:
            return self.factor * x

    assert called(served(Till(3).times), x=2).value == 6


@proves("the standalone decorator")
def _() -> None:
    tools = LocalToolset()

    @tools.tool(effect="read")
    def price() -> int:
        return 3

    assert names(Server("shop", toolsets=[tools])) == ["price"]


@proves("`async` functions", "`run_in_thread=False`")
def _() -> None:
    def where() -> int:
        return threading.get_ident()

    async def loop() -> int:
        return threading.get_ident()

    server = served(where)
    server.add_tool(loop, name="loop")
    server.add_tool(where, name="inline", blocking=False)
    with BlockingClient(server) as client:
        on_loop = client.call("loop").value
        assert client.call("tool").value != on_loop
        assert client.call("inline").value == on_loop


@proves("types: collections", "optional arguments")
def _() -> None:
    class Color(enum.Enum):
        RED = "red"

    class Box(pydantic.BaseModel):
        size: int

    def tool(
        color: Color,
        day: datetime.date,
        id: uuid.UUID,
        path: pathlib.Path,
        box: Box,
        kind: Literal["a", "b"],
        words: set[str],
        either: str | int,
        maybe: float | None = None,
    ) -> list[str]:
        return [type(one).__name__ for one in (color, day, id, path, box, kind, words, either, maybe)]

    tool.__annotations__ |= {"color": Color, "box": Box}  # classes of this function
    said = called(
        served(tool),
        color="red",
        day="2026-08-01",
        id=str(uuid.UUID(int=1)),
        path="a",
        box={"size": 1},
        kind="a",
        words=["a"],
        either=1,
    ).value
    assert said == ["Color", "date", "UUID", "PosixPath", "Box", "str", "set", "int", "NoneType"]


@proves("`bytes` parameters", "returned `bytes`")
def _() -> None:
    def tool(data: bytes) -> bytes:
        return data[::-1]

    assert called(served(tool), data="AQI=").value == "AgE="


@proves("`strict_input_validation=True`")
def _() -> None:
    def tool(a: int) -> int:
        return a

    assert called(served(tool), a="10").is_error


@proves("parameters hidden", "`= Depends(f)`", "an argument with the name", "bindings:")
def _() -> None:
    def account(plan: str) -> str:
        return plan

    async def tool(a: int, plan: str = Depends(functools.partial(account, plan="pro"))) -> str:
        return plan

    server = served(tool)
    [found] = listed(server)
    assert [*found.inputSchema["properties"]] == ["a"]
    assert called(server, a=1).value == "pro"
    assert called(server, a=1, plan="free").is_error


@proves("`$ref` is resolved")
def _() -> None:
    class Box(pydantic.BaseModel):
        size: int

    def tool(box: Box) -> int:
        return box.size

    tool.__annotations__["box"] = Box
    [found] = listed(served(tool))
    assert found.inputSchema["properties"]["box"] == {"$ref": "#/$defs/Box"}


@proves("returned text, blocks", "`Image`, `Audio`, `File`", "structured output", "primitives wrapped", "a serializer")
def _() -> None:
    @dataclass
    class Box:
        size: int

    def returned(value: Any) -> Any:
        return value

    for value, text in (("a", "a"), (None, ""), (TextContent("b"), "b"), (Box(1), '{"size":1}')):
        assert called(served(functools.partial(returned, value))).text == text

    def parts() -> list[str | Image | File]:
        return ["a", Image(data=b"\x89PNG\r\n\x1a\n"), File(data="a,b", name="a.csv")]

    assert [block.type for block in called(served(parts)).content] == ["text", "image", "resource"]

    def count() -> int:
        return 5

    for revision, structured in (("2026-07-28", 5), ("2025-11-25", {"result": 5})):
        with BlockingClient(served(count), revision=revision) as client:
            assert client.call("tool").raw["structuredContent"] == structured


@proves("`output_schema=`", "`ToolResult` with content")
def _() -> None:
    server = Server("shop")
    schema = {"type": "object", "properties": {"tea": {"type": "integer"}}, "required": ["tea"]}

    def tea(arguments: dict[str, Any]) -> CallToolResult:
        return CallToolResult([TextContent("Four.")], structuredContent={"tea": 4}, meta={"com.example/ms": 3})

    server.add_raw_tool("tool", {"type": "object", "properties": {}}, tea, output_schema=schema)
    result = called(server)
    assert (result.text, result.value) == ("Four.", {"tea": 4})
    assert result.raw["_meta"]["com.example/ms"] == 3


@proves("`ToolError`", "`mask_error_details=True`", "`ErrorHandlingMiddleware`")
def _() -> None:
    def tool(known: bool) -> None:
        raise ToolError("Try another city.") if known else ValueError("secret")

    assert called(served(tool), known=True).text == "Try another city."
    assert "secret" not in called(served(tool), known=False).text


@proves("`timeout=`")
def _() -> None:
    async def tool() -> None:
        await asyncio.Event().wait()

    assert "[TT2002]" in called(served(tool, seconds=0.05)).text


@proves(
    "`disable`, `enable` by",
    "notifications when",
    "tools are removed",
    "notifications sent by hand",
    "tags of the outer server",
)
def _() -> None:
    inner, outer = Server("inner"), Server("outer")
    inner.add_tool(lambda: "a", name="a", tags={"x"})
    outer.mount(inner, prefix="in")
    outer.add_tool(lambda: "b", name="b", tags={"x"})
    outer.add_tool(lambda: "c", name="c")

    async def changes() -> None:
        changed = asyncio.Event()
        async with Client(outer, on_tools_changed=changed.set) as client:
            await client.list_tools()
            outer.disable(tags={"x"})
            await changed.wait()
            assert [tool.name for tool in await client.list_tools(refresh=True)] == ["c"]
            outer.enable("b")
            outer.remove_tool("c")
            assert [tool.name for tool in await client.list_tools(refresh=True)] == ["b"]

    asyncio.run(changes())


@proves("`enable(only=True)`", "filtering lists", "visibility for one session")
def _() -> None:
    tools = LocalToolset()
    tools.add(lambda: "a", name="a", tags={"x"})
    tools.add(lambda: "b", name="b")
    assert names(Server("shop", toolsets=[filtered(tools, tags={"x"})])) == ["a"]
    assert names(Server("shop", toolsets=[filtered(tools, lambda tool, context: tool.name == "b")])) == ["b"]


@proves("a duplicate warns")
def _() -> None:
    server = served(lambda: None)
    with pytest.raises(DefinitionError, match="another name"):
        server.add_tool(lambda: None, name="tool")


@proves("`auth=` of a tool")
def _() -> None:
    def tool() -> str:
        return "in"

    server = served(tool, requires=["write"], visible=lambda principal: principal.id != "local")
    assert names(server) == []


# --- context ----------------------------------------------------------------------------------------------------------


@proves(
    "a parameter of the type",
    "`CurrentContext()`",
    "`ctx.debug`",
    "`ctx.report_progress`",
    "`ctx.client_id`",
    "metadata of a request",
    "`Progress()`",
    "`CurrentAccessToken()`",
)
def _() -> None:
    def tool(context: Context) -> str:
        context.log("info", "begun")
        context.progress(1, 1, "done")
        own = "io.modelcontextprotocol/protocolVersion" in context.meta
        return f"{context.principal.id} {sorted(context.principal.scopes)} {own}"

    async def followed() -> list[Any]:
        seen: list[Any] = []
        async with Client(served(tool)) as client:
            result = await client.call_tool("tool", progress=lambda *report: seen.append(report))
        return [result.value, *seen]

    assert asyncio.run(followed()) == ["local [] True", (1, 1, "done")]


@proves("`ctx.elicit`", "a question as a result", "rounds of a call")
def _() -> None:
    rounds: list[str] = []

    class Rounds(Layer, frozen=True):
        async def call_tool(self, call: ToolCall) -> Any:
            outcome = await self.inner.call_tool(call)
            rounds.append(type(outcome).__name__)
            return outcome

    class Table(pydantic.BaseModel):
        people: int

    def book(context: Context) -> str:
        answer = context.ask(Form("How many?", Table))
        return f"{answer.value.people}"

    for revision in ("2026-07-28", "2025-11-25"):
        server = Server("tables", layers=[Rounds])
        server.add_tool(book, effect="read")
        with BlockingClient(server, elicit=lambda question: {"people": 3}, revision=revision) as client:
            assert client.call("book").value == "3"
    assert rounds[-1] == "CallToolResult"
    assert rounds.count("CallToolResult") == 2


@proves("sampling and roots")
def _() -> None:
    def tool(context: Context) -> str:
        return context.ask(Sampling("Hello", 10)).text

    def model(params: Any) -> dict[str, Any]:
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}}

    async def sampled() -> Any:
        async with Client(served(tool), sample=model) as client:
            return (await client.call_tool("tool")).value

    assert asyncio.run(sampled()) == "Hi"


@proves("`ctx.list_resources`")
def _() -> None:
    server = Server("shop")

    @server.resource("shop://hours")
    def hours() -> str:
        return "9 to 5"

    server.add_tool(lambda: f"Open {hours()}", name="tool")
    assert called(server).value == "Open 9 to 5"


@proves(
    "state of a request", "a dependency is made once", "nested dependencies", "clean-up after", "state for the tools"
)
def _() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def database() -> AsyncGenerator[list[str]]:
        log.append("open")
        try:
            yield log
        finally:
            log.append("close")

    def users(db: list[str] = Depends(database)) -> list[str]:  # noqa: B008 - the form of FastMCP
        return db

    async def tool(
        users: list[str] = Depends(users),  # noqa: B008 - the form of FastMCP
        orders: list[str] = Depends(database),  # noqa: B008 - the form of FastMCP
    ) -> str:
        assert users is orders
        raise ToolError("no")

    assert called(served(tool)).is_error
    assert log == ["open", "close"]


# --- dependencies -----------------------------------------------------------------------------------------------------


@proves("`CurrentHeaders()`")
def _() -> None:
    def tool(tenant: Annotated[str | None, Header("x-tenant")]) -> str:
        return str(tenant)

    assert called(served(tool)).value == "None"  # tests/http/test_request_headers.py has requests with headers


@proves("`lifespan=`, entered", "`ctx.lifespan_context", "lifespans composed")
def _() -> None:
    entered: list[str] = []

    async def numbers(server: Server) -> AsyncGenerator[list[int]]:
        entered.append("numbers")
        yield [1]

    async def words(server: Server) -> AsyncGenerator[str]:
        entered.append("words")
        yield "one"

    def tool(numbers: Annotated[list[int], Lifespan], word: Annotated[str, Lifespan]) -> str:
        return f"{numbers} {word}"

    server = Server("shop", lifespan=[numbers, words])
    server.add_tool(tool)
    with BlockingClient(server) as client:
        assert [client.call("tool").value for _ in range(2)] == ["[1] one", "[1] one"]
    assert entered == ["numbers", "words"]


# --- middleware -------------------------------------------------------------------------------------------------------


class Marks(Layer, frozen=True):
    """Adds a mark to arguments and to results."""

    mark: str = "m"

    async def call_tool(self, call: ToolCall) -> Any:
        if call.tool is not None and "closed" in call.tool.tags:
            raise ToolError("closed")
        changed = replaced(call, arguments={**call.arguments, "word": call.arguments["word"] + self.mark})
        outcome = await self.inner.call_tool(changed)
        assert isinstance(outcome, CallToolResult)
        return replaced(outcome, content=[*outcome.content, TextContent(self.mark)])


def echo(word: str) -> CallToolResult:
    """Say it."""
    return CallToolResult([TextContent(word)])


@proves(
    "`add_middleware(M())`",
    "the first added",
    "`on_call_tool`",
    "changing arguments",
    "changing results",
    "parameters of the constructor",
)
def _() -> None:
    server = Server("shop", layers=[functools.partial(Marks, mark="1"), functools.partial(Marks, mark="2")])
    server.add_tool(echo)
    assert called(server, "echo", word="a").text == "a12\n2\n1"


@proves("refusing by", "tags of a tool")
def _() -> None:
    server = Server("shop", layers=[Marks])
    server.add_tool(echo, tags={"closed"})
    assert called(server, "echo", word="a").text == "closed"


@proves("`on_message`", "`MiddlewareContext`", "`RetryMiddleware`", "`on_list_tools`")
def _() -> None:
    seen: list[str] = []
    failures = iter([True, False])

    class Again(Layer, frozen=True):
        async def around(self, operation: Any, proceed: Any) -> Any:
            seen.append(f"{type(operation).__name__} {operation.context.principal.id}")
            try:
                return await proceed(operation)
            except ConnectionError:
                return await proceed(operation)

        async def list_tools(self, context: Any) -> Any:
            seen.append("list")
            return await self.inner.list_tools(context)

    def tool() -> str:
        if next(failures):
            raise ConnectionError
        return "done"

    server = Server("shop", layers=[Again])
    server.add_tool(tool)
    assert called(server).value == "done"
    assert names(server) == ["tool"]
    assert "ToolCall local" in seen
    assert "list" in seen


@proves("`LoggingMiddleware`")
def _() -> None:
    server = served(lambda: "a")
    called(server)
    assert any(name == "audit" for name, _, _ in server.guard())


@proves("`RateLimitingMiddleware`", "`ResponseLimitingMiddleware`")
def _() -> None:
    server = served(lambda: "a" * 500, rate=Rate(1 / 3600, 1))
    with BlockingClient(server.with_guard(limits=Limits(max_bytes=100))) as client:
        assert len(client.call("tool").content[0].text) < 500
        assert client.call("tool").is_error


@proves("`ResponseCachingMiddleware`")
def _() -> None:
    page = PAGE.parents[1] / "layers.md"
    assert "class Cached(Layer" in page.read_text("utf-8")  # which runs with its page


# --- composition ------------------------------------------------------------------------------------------------------


def stock() -> Server:
    server = Server("stock")

    @server.tool(effect="read")
    def search(q: str, token: str = "t") -> str:
        """Search."""
        return f"{q} {token}"

    return server


@proves("`mount(other)`", "`mount(other, namespace", "tools added", "`Namespace`")
def _() -> None:
    outer, inner = Server("outer"), stock()
    outer.mount(inner)
    assert names(outer) == ["search"]
    outer, inner = Server("outer"), stock()
    outer.mount(inner, prefix="x")
    inner.add_tool(lambda: "b", name="later")
    assert names(outer) == ["x_later", "x_search"]
    assert names(Server("outer", toolsets=[prefixed(stock(), "y")])) == ["y_search"]


@proves("middleware of a mounted")
def _() -> None:
    inner = Server("inner", layers=[Marks])
    inner.add_tool(echo)
    with pytest.raises(DefinitionError):
        Server("outer").mount(inner)
    outer = Server("outer")
    outer.mount(inner.provider)
    assert called(outer, "echo", word="a").text == "am\nm"


@proves("servers elsewhere")
def _() -> None:
    async def listed_by_host() -> list[str]:
        async with tooltrue.Host({"stock": stock()}, audit=False) as host:
            return [tool.name for tool in await host.list_tools()]

    assert asyncio.run(listed_by_host()) == ["stock_search"]


@proves("two components of one name")
def _() -> None:
    outer = Server("outer", toolsets=[stock(), stock()])
    with pytest.raises(InternalError):  # to a client; `tooltrue serve` says which name, and does not start
        names(outer)


@proves("`mount(tool_names", "`ToolTransform`", "arguments renamed", "`transform_fn`")
def _() -> None:
    async def louder(call: Any, proceed: Any) -> Any:
        return (await proceed(call)).content[0].text.upper()

    arguments = {"q": Argument(name="words"), "token": Argument(value="s")}
    view = transformed(renamed(stock(), {"search": "find"}), {"find": Transform(arguments=arguments, wrap=louder)})
    assert called(Server("outer", toolsets=[view]), "find", words="a").text == "A S"


@proves("a provider of one's own")
def _() -> None:
    provider: tooltrue.Provider = stock().provider  # checked by pyright: a protocol
    assert names(Server("outer", toolsets=[provider])) == ["search"]

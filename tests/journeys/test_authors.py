"""The forms in which an author may write tools, as a client receives them."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import functools
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired

import pydantic
import pytest
from annotated_types import Ge, MaxLen
from pydantic import Field
from typing_extensions import TypedDict

from tooltrue import (
    CallToolResult,
    Client,
    Context,
    DefinitionError,
    Depends,
    ImageContent,
    LocalToolset,
    Server,
    TextContent,
    prefixed,
)
from tooltrue.testing.state import LIMIT


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Item(pydantic.BaseModel):
    name: str
    price: decimal.Decimal = decimal.Decimal("1.50")
    tags: set[str] = set()


@dataclasses.dataclass
class Order:
    id: uuid.UUID
    items: list[Item]
    due: datetime.date | None = None


class Address(TypedDict):
    street: str
    number: NotRequired[int]


def session(server: Server, test: Callable[[Client], Any]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            return await test(client)

    return asyncio.run(main())


def call(function: Callable[..., Any] | Server, arguments: dict[str, Any] | None = None, **settings: Any) -> Any:
    """The result of one call of one tool, through client, wire, pipeline and function."""
    server = function if isinstance(function, Server) else Server("t")
    if not isinstance(function, Server):
        settings = {"name": "tool", **settings}
        server.add_tool(function, **settings)
    return session(server, lambda client: client.call_tool("tool", arguments or {}))


def definition(function: Callable[..., Any], **settings: Any) -> Any:
    server = Server("t")
    settings = {"name": "tool", **settings}
    server.add_tool(function, **settings)
    return session(server, lambda client: client.list_tools())[0]


# -- forms -------------------------------------------------------------------------------------------------------------


class Shop:
    def __init__(self, discount: int) -> None:
        self.discount = discount

    def price(self, amount: int) -> int:
        """The price after discount."""
        return amount - self.discount

    async def price_later(self, amount: int) -> int:
        return amount - self.discount

    def __call__(self, amount: int) -> int:
        return amount - self.discount


def price(amount: int, discount: int = 1) -> int:
    """The price after discount."""
    return amount - discount


async def price_later(amount: int, discount: int = 1) -> int:
    """The price after discount."""
    return amount - discount


@pytest.mark.parametrize(
    "function",
    [
        price,
        price_later,
        Shop(1).price,
        Shop(1).price_later,
        Shop(1),
        functools.partial(price, discount=1),
        functools.partial(price_later, discount=1),
    ],
    ids=["function", "async", "method", "async method", "object", "partial", "async partial"],
)
def test_every_form_of_a_function_is_called(function: Any):
    assert call(function, {"amount": 10}).value == 9


def test_the_decorator_works_with_and_without_arguments():
    server = Server("t")

    @server.tool
    def one() -> str:
        return "one"

    @server.tool(name="two", title="Two", effect="read")
    def other() -> str:
        return "two"

    tools = session(server, lambda client: client.list_tools())
    assert [(tool.name, tool.title) for tool in tools] == [("one", None), ("two", "Two")]
    assert tools[1].annotations.readOnlyHint is True
    assert (one(), other()) == ("one", "two")


def test_a_server_serves_its_own_tools_beside_other_toolsets():
    shop = LocalToolset()
    shop.add(price)
    server = Server("t", toolsets=[prefixed(shop, "shop")])
    server.add_tool(price, name="tool")

    async def test(client: Client) -> Any:
        names = [tool.name for tool in await client.list_tools()]
        return names, (await client.call_tool("shop_price", amount=3)).value

    assert session(server, test) == (["shop_price", "tool"], 2)


# -- types -------------------------------------------------------------------------------------------------------------


def test_a_function_receives_python_values_of_the_types_it_names():
    def tool(
        order: Order,
        address: Address,
        colour: Colour,
        kind: Literal["a", "b"],
        when: datetime.datetime,
        maybe: Item | None = None,
        ratio: float = 0.5,
    ) -> str:
        assert isinstance(order, Order)
        assert isinstance(order.id, uuid.UUID)
        assert isinstance(order.items[0], Item)
        assert order.items[0].price == decimal.Decimal("2.25")
        assert order.items[0].tags == {"x"}
        assert order.due == datetime.date(2030, 1, 2)
        assert address == {"street": "Main"}
        assert colour is Colour.RED
        assert when.tzinfo is not None
        assert (maybe, ratio) == (None, 0.5)
        return kind

    arguments = {
        "order": {
            "id": "12345678-1234-5678-1234-567812345678",
            "items": [{"name": "n", "price": "2.25", "tags": ["x"]}],
            "due": "2030-01-02",
        },
        "address": {"street": "Main"},
        "colour": "red",
        "kind": "b",
        "when": "2030-01-02T03:04:05Z",
    }
    assert call(tool, arguments).value == "b"


def test_defaults_reach_the_function_as_it_wrote_them():
    def tool(colour: Colour = Colour.BLUE, item: Item = Item(name="x"), names: list[str] | None = None) -> str:  # noqa: B008
        assert colour is Colour.BLUE
        assert isinstance(item, Item)
        assert names is None
        return "ok"

    assert call(tool).value == "ok"


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"n": 1, "s": "abc"}, True),
        ({"n": 0, "s": "abc"}, False),
        ({"n": 10, "s": "abc"}, False),
        ({"n": 1, "s": "abcd"}, False),
    ],
)
def test_constraints_are_kept(arguments: Any, fits: bool):
    def tool(n: Annotated[int, Ge(1), Field(lt=10)], s: Annotated[str, MaxLen(3)]) -> str:
        return "ok"

    assert call(tool, arguments).is_error is not fits


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


def test_an_authors_own_validator_is_heard_and_its_input_not_repeated():
    def tool(n: Annotated[int, pydantic.AfterValidator(even)]) -> int:
        return n

    result = call(tool, {"n": 70_001})
    assert result.is_error
    assert "must be even" in result.text
    assert "70001" not in result.text
    assert call(tool, {"n": 2}).value == 2


# -- descriptions ------------------------------------------------------------------------------------------------------


def google(query: str) -> str:
    """Find.

    Args:
        query: What to look for.
    """
    return query


def numpy(query: str) -> str:
    """Find.

    Parameters
    ----------
    query : str
        What to look for.
    """
    return query


def sphinx(query: str) -> str:
    """Find.

    :param query: What to look for.
    """
    return query


def annotated(query: Annotated[str, "What to look for."]) -> str:
    """Find."""
    return query


@pytest.mark.parametrize("function", [google, numpy, sphinx, annotated])
def test_a_description_comes_from_wherever_it_was_written(function: Any):
    tool = definition(function)
    assert tool.description == "Find."
    assert tool.inputSchema["properties"] == {"query": {"type": "string", "description": "What to look for."}}


def test_examples_are_checked_and_published():
    tool = definition(price, examples=[{"amount": 5}, {"amount": 5, "discount": 2}])
    assert tool.inputSchema["examples"] == [{"amount": 5}, {"amount": 5, "discount": 2}]
    with pytest.raises(DefinitionError, match="amount"):
        definition(price, examples=[{"amount": "five"}])


# -- injected parameters -----------------------------------------------------------------------------------------------


async def who(context: Context) -> str:
    return context.principal.id


async def later() -> int:
    return 2


def test_context_and_dependencies_are_given_and_no_client_can_set_them():
    def tool(
        a: int,
        context: Context,
        plain: Annotated[int, Depends(lambda: 1)],
        awaited: Annotated[int, Depends(later)],
        of_context: Annotated[str, Depends(who)],
    ) -> list[Any]:
        return [a, plain, awaited, of_context, context.principal.id]

    assert set(definition(tool).inputSchema["properties"]) == {"a"}
    assert call(tool, {"a": 0}).value == [0, 1, 2, "local", "local"]
    for name in ("context", "plain", "awaited", "of_context"):
        assert call(tool, {"a": 0, name: "root"}).is_error


def test_a_dependency_is_made_for_each_call():
    numbers = iter(range(1, 4))

    def tool(n: int) -> int:
        return n

    tool.__annotations__["n"] = Annotated[int, Depends(lambda: next(numbers))]

    server = Server("t")
    server.add_tool(tool)

    async def test(client: Client) -> Any:
        return [(await client.call_tool("tool")).value for _ in range(3)]

    assert session(server, test) == [1, 2, 3]


def test_progress_is_told_to_the_call_that_asks():
    async def tool(context: Context) -> str:
        context.progress(1, 2, "half")
        context.progress(2, 2)
        return "done"

    server, seen = Server("t"), []
    server.add_tool(tool)

    async def test(client: Client) -> Any:
        await client.call_tool("tool")
        return await client.call_tool("tool", progress=lambda *said: seen.append(said))

    assert session(server, test).value == "done"
    assert seen == [(1, 2, "half"), (2, 2, None)]


# -- results -----------------------------------------------------------------------------------------------------------


def test_a_result_is_made_of_the_value_and_checked_by_its_schema():
    def tool() -> Order:
        return Order(uuid.UUID(int=1), [Item(name="a", tags={"t"})], datetime.date(2030, 1, 2))

    result = call(tool)
    assert result.value == {
        "id": "00000000-0000-0000-0000-000000000001",
        "items": [{"name": "a", "price": "1.50", "tags": ["t"]}],
        "due": "2030-01-02",
    }
    assert result.text.startswith("{")
    assert definition(tool).outputSchema["type"] == "object"


@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2030, 1, 2, 3, 4, 5),
        datetime.datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC),
        datetime.date(2030, 1, 2),
        datetime.time(3, 4, 5),
        datetime.timedelta(hours=1, seconds=2),
        uuid.UUID(int=7),
        decimal.Decimal("1.50"),
        Colour.RED,
        b"bytes",
        {1, 2},
        (1, 2),
    ],
    ids=lambda value: type(value).__name__ + ("" if getattr(value, "tzinfo", 1) else " naive"),
)
def test_a_value_of_the_declared_type_leaves(value: Any):
    def tool() -> Any:
        return value

    tool.__annotations__["return"] = {set: set[int], tuple: tuple[int, int]}.get(type(value), type(value))
    result = call(tool)
    assert not result.is_error, result.text


def test_blocks_and_whole_results_leave_as_they_are():
    picture = ImageContent(data="eA==", mimeType="image/png")

    def block() -> ImageContent:
        return picture

    def blocks() -> list[TextContent | ImageContent]:
        return [TextContent(text="a"), picture]

    def whole() -> CallToolResult:
        return CallToolResult([TextContent(text="no")], isError=True)

    assert call(block).content == (picture,)
    assert call(blocks).content == (TextContent(text="a"), picture)
    assert call(whole).is_error
    assert call(lambda: None).content == ()


# -- raw schemas -------------------------------------------------------------------------------------------------------


def raw(schema: dict[str, Any], **more: Any) -> Server:
    server = Server("t")
    server.add_raw_tool("tool", {"type": "object", **schema}, lambda arguments: arguments, **more)
    return server


def test_a_raw_schema_is_enforced_as_it_is_published():
    server = raw({"properties": {"a": {"type": "array", "prefixItems": [{"type": "integer"}], "items": False}}})
    assert call(server, {"a": [1]}).value == {"a": [1]}
    assert call(server, {"a": [1, 2]}).is_error
    assert call(server, {"other": 1}).value == {"other": 1}, "open, because its author left it open"


@pytest.mark.requirement("SCH-04", "SCH-12")
def test_draft_07_is_enforced_where_it_is_declared():
    declared = {"$schema": "http://json-schema.org/draft-07/schema#"}
    server = raw({**declared, "properties": {"a": {"items": [{"type": "integer"}], "additionalItems": False}}})
    assert not call(server, {"a": [1]}).is_error
    assert call(server, {"a": ["x"]}).is_error


@pytest.mark.requirement("CALL-04", "SCH-12")
def test_a_raw_output_schema_is_enforced_too():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    server = raw({}, output_schema=schema)
    assert call(server, {"a": 1}).value == {"a": 1}
    result = call(server, {"a": "hunter2"})
    assert result.is_error
    assert "hunter2" not in result.text


def nowhere(a: Nowhere) -> str: ...  # noqa: F821  # pyright: ignore[reportUndefinedVariable] - the fault


@pytest.mark.requirement("SCH-06", "SCH-07", "TOOL-07")
@pytest.mark.parametrize(
    ("register", "told"),
    [
        (lambda server: server.add_tool(nowhere), "module level"),
        (lambda server: server.add_tool(lambda: 1), "name="),
        (lambda server: (server.add_tool(price), server.add_tool(price)), "another name"),
        (lambda server: server.add_tool(price, effect="bad"), "destructive"),
        (lambda server: server.add_raw_tool("t", {"type": "string"}, print), '"type": "object"'),
        (lambda server: server.add_raw_tool("t", {"type": "object", "$schema": "draft-03"}, print), "draft-03"),
        (lambda server: server.add_raw_tool("t", {"type": "object", "properties": 7}, print), "properties"),
        (lambda server: server.add_raw_tool("t", {"type": "object", "$ref": "http://x/y"}, print), "http://x/y"),
    ],
)
def test_a_wrong_definition_fails_at_registration_with_its_fix_and_leaves_the_server_whole(register: Any, told: str):
    server = Server("t")
    with pytest.raises(DefinitionError) as caught:
        register(server)
    assert told in str(caught.value)
    session(server, lambda client: client.list_tools())

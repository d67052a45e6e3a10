"""The types of tools: the decorator keeps that of the function, and refuses settings that it does not have."""

# pyright: strict

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Annotated, assert_type

from tooltrue import Context, Depends, Header, Lifespan, LocalToolset, Server, ToolError

server = Server("typing")
tools = LocalToolset()


@server.tool
def bare(city: str, days: int = 1) -> list[str]:
    return [city] * days


@server.tool(effect="read", idempotent=True)
def with_settings(city: str) -> str:
    return city


@server.tool(effect="write")
async def asynchronous(context: Context, city: str) -> int:
    return len(city)


@tools.tool(effect="destructive")
def of_a_toolset(city: str) -> None: ...


def plain(city: str) -> float:
    return float(len(city))


async def a_tool_keeps_the_type_of_its_function(context: Context) -> None:
    assert_type(bare("Oslo", days=2), list[str])
    assert_type(with_settings("Oslo"), str)
    assert_type(await asynchronous(context, "Oslo"), int)
    assert_type(of_a_toolset("Oslo"), None)
    assert_type(server.tool(plain)("Oslo"), float)
    assert_type(server.tool(plain, effect="read")("Oslo"), float)


def a_wrong_call_of_a_decorated_function_is_an_error(context: Context) -> None:
    bare(1)  # pyright: ignore[reportArgumentType]
    bare("Oslo", nights=1)  # pyright: ignore[reportCallIssue]
    with_settings()  # pyright: ignore[reportCallIssue]


def wrong_settings_are_an_error() -> None:
    server.tool(effect="harmless")(plain)  # pyright: ignore[reportArgumentType]
    server.tool(colour="red")(plain)  # pyright: ignore[reportCallIssue]
    server.add_tool(plain, seconds="soon")  # pyright: ignore[reportArgumentType]
    server.tool(1)  # pyright: ignore[reportArgumentType]


# -- dependencies ------------------------------------------------------------------------------------------------------


def user(context: Context) -> str:
    return context.principal.id


async def later() -> int:
    return 1


def opened() -> Iterator[int]:
    yield 1


async def opened_later() -> AsyncIterator[int]:
    yield 1


@contextmanager
def entered() -> Generator[int]:
    yield 1


@asynccontextmanager
async def entered_later() -> AsyncGenerator[int]:
    yield 1


User = Annotated[str, Depends(user)]


@server.tool
def with_dependencies(city: str, who: User, number: Annotated[int, Depends(later)]) -> str:
    assert_type(who, str)
    assert_type(number, int)
    return city


def wrong_default(who: int = Depends(user)) -> int:  # pyright: ignore[reportArgumentType]
    return who


@server.tool
def with_defaults(city: str, who: str = Depends(user), number: int = Depends(later)) -> str:
    assert_type(who, str)
    assert_type(number, int)
    return city


@server.tool
def with_opened_ones(
    one: int = Depends(opened),
    two: int = Depends(opened_later),
    three: int = Depends(entered),
    four: int = Depends(entered_later, use_cache=False),
) -> int:
    assert_type(four, int)
    return one + two + three + four


def wrong_opened(one: str = Depends(opened)) -> str:  # pyright: ignore[reportArgumentType]
    return one


@asynccontextmanager
async def lifespan(server: Server) -> AsyncGenerator[dict[str, int]]:
    yield {"a": 1}


with_lifespan = Server("lifespan", lifespan=lifespan)
with_several = Server("lifespan", lifespan=[lifespan, lifespan])


@with_lifespan.tool
def with_values(pool: Annotated[dict[str, int], Lifespan], tenant: Annotated[str | None, Header("x-tenant")]) -> str:
    assert_type(pool, dict[str, int])
    assert_type(tenant, str | None)
    return str(tenant)


def a_dependency_is_a_value_of_the_annotated_type() -> None:
    assert_type(with_dependencies("Oslo", "ada", 1), str)
    assert_type(with_defaults("Oslo"), str)
    with_dependencies("Oslo", 1, 1)  # pyright: ignore[reportArgumentType]
    Depends("user")  # pyright: ignore[reportCallIssue, reportArgumentType]


# -- errors ------------------------------------------------------------------------------------------------------------


@server.tool
def refusing(city: str) -> str:
    raise ToolError(f"No forecast for {city}. Ask for a city.")


def an_error_of_a_tool_is_an_exception_with_its_text() -> None:
    try:
        refusing("Atlantis")
    except ToolError as error:
        assert_type(str(error), str)
        assert_type(error.code, str)
    ToolError(7)  # pyright: ignore[reportArgumentType]

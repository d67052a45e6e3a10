"""The types of a client, and of the results of calls: ``returns=`` decides the type of ``value``."""

# pyright: strict

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from pydantic import BaseModel
from typing_extensions import TypedDict

from tooltrue import Client, Host, Server, TaskHandle, TaskStatus


@dataclass
class Point:
    x: int


class Row(TypedDict):
    name: str


class Forecast(BaseModel):
    celsius: float


async def a_client_is_its_own_context() -> None:
    async with Client(Server("typing")) as client:
        assert_type(client, Client)
    Client()  # pyright: ignore[reportCallIssue]
    Client(7)  # pyright: ignore[reportArgumentType]


async def a_value_has_the_type_that_was_asked_for(client: Client) -> None:
    assert_type((await client.call_tool("point", returns=Point)).value, Point)
    assert_type((await client.call_tool("row", {"number": 1}, returns=Row)).value, Row)
    assert_type((await client.call_tool("forecast", city="Oslo", returns=Forecast)).value, Forecast)
    assert_type((await client.call_tool("numbers", returns=list[int])).value, list[int])
    assert_type((await client.call_tool("count", returns=int)).value, int)


async def the_result_of_a_task_has_the_type_that_was_asked_for(client: Client) -> None:
    assert_type(await client.start_task("point", returns=Point), TaskHandle[Point])
    assert_type(client.task("id", returns=list[int]), TaskHandle[list[int]])
    assert_type((await client.task("id", returns=Point).result()).value, Point)
    assert_type((await (await client.start_task("point")).result()).value, Any)
    async for status in client.task("id").updates():
        assert_type(status, TaskStatus)
    client.task()  # pyright: ignore[reportCallIssue]


async def without_a_type_a_value_is_any(client: Client) -> None:
    result = await client.call_tool("point")
    assert_type(result.value, Any)
    assert_type(result.text, str)
    assert_type(result.is_error, bool)


async def a_wrong_use_is_an_error(client: Client) -> None:
    point = (await client.call_tool("point", returns=Point)).value
    _ = point.y  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    await client.call_tool()  # pyright: ignore[reportCallIssue]
    await client.call_tool(7)  # pyright: ignore[reportArgumentType]
    await client.call_tool("point", returns=Point, timeout="soon")  # pyright: ignore[reportCallIssue, reportArgumentType]


async def a_host_is_its_own_context() -> None:
    async with Host({"typing": Server("typing")}) as host:
        assert_type(host, Host)
        assert_type((await host.call_tool("typing_point")).text, str)

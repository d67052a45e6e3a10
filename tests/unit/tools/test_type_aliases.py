"""A type alias stands for its type, whether ``type Rows = …`` makes it, from Python 3.12 on, or typing_extensions."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, TypeVar, Union

import pandas
import PIL.Image
import pydantic
import pytest
import typing_extensions

from support.exchanges import REVISIONS, exchange
from tooltrue import Context, DefinitionError, Server
from tooltrue.tools.type_aliases import unaliased

OF_TYPING: Any = getattr(typing, "TypeAliasType", None)  # Python 3.12
MAKERS: list[Any] = [typing_extensions.TypeAliasType, *([OF_TYPING] if OF_TYPING is not None else [])]

T: Any = TypeVar("T")
K: Any = TypeVar("K")


@pytest.fixture(params=MAKERS, ids=lambda made: made.__module__)
def alias(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return request.param


class Row(pydantic.BaseModel):
    city: str


TYPES: list[Any] = [
    (str, "milk"),
    (None, None),
    (Any, "milk"),
    (dict[str, int], {"a": 1}),
    (Row, Row(city="Oslo")),
    (bytes, b"\xff"),
    (Iterator[int], iter([1, 2])),
    (Annotated[Row, "weather"], Row(city="Oslo")),
    (pandas.DataFrame, pandas.DataFrame({"city": ["Oslo"]})),
    (PIL.Image.Image, PIL.Image.new("RGB", (1, 1))),
]
SHAPES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda type_: type_,
    "optional": lambda type_: Union[type_, None],  # noqa: UP007 - at runtime
    "annotated": lambda type_: Annotated[type_, "the result"],
}


def seen(returns: Any, value: Any) -> Any:
    """What a client sees of a tool with this return type: the tool, and the result of a call."""
    server = Server("t")

    def tool() -> Any:
        return iter([1, 2]) if isinstance(value, Iterator) else value

    tool.__annotations__["return"] = returns
    server.add_tool(tool)

    async def both() -> Any:
        [listed] = (await exchange(server, REVISIONS[0], "tools/list", {}))["tools"]
        return listed, await exchange(server, REVISIONS[0], "tools/call", {"name": "tool", "arguments": {}})

    return asyncio.run(both())


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("type_", "value"), TYPES)
def test_an_alias_of_a_return_type_is_that_type(
    alias: Any, type_: Any, value: Any, shape: Callable[[Any], Any]
) -> None:
    assert seen(shape(alias("Name", type_)), value) == seen(shape(type_), value)


def test_an_alias_of_a_parameter_is_its_type(alias: Any) -> None:
    def plain(size: Annotated[int, pydantic.Field(ge=1), "How many"], kind: Literal["a"], context: Context) -> str: ...
    def aliased(size: Any, kind: Any, context: Any) -> str: ...

    aliased.__annotations__ |= {
        "size": alias("Size", Annotated[alias("Count", int), pydantic.Field(ge=1), "How many"]),
        "kind": alias("Kind", Literal["a"]),
        "context": alias("Ctx", Context),
    }
    server = Server("t")
    server.add_tool(plain)
    server.add_tool(aliased)
    first, second = asyncio.run(exchange(server, REVISIONS[0], "tools/list", {}))["tools"]
    assert first["inputSchema"] == second["inputSchema"]


def test_parameters_of_an_alias_are_filled_in(alias: Any) -> None:
    pairs = alias("Pairs", dict[K, list[T]], type_params=(T, K))
    assert unaliased(pairs[int, str]) == dict[str, list[int]]
    assert unaliased(alias("Same", T, type_params=(T,))[int]) is int
    assert unaliased(alias("Texts", list[str], type_params=(T,))[int]) == list[str]
    assert unaliased(list[alias("Maybe", T | None, type_params=(T,))[bytes]]) == list[bytes | None]


def test_an_alias_that_names_a_type_in_text_stays(alias: Any) -> None:
    name: Any = "Json"
    json = alias("Json", dict[str, name] | int)
    for type_ in (list[json], Annotated[json, "words"], alias("Rows", list[json])):
        assert unaliased(type_) == type_


@pytest.mark.skipif(OF_TYPING is None, reason="Python 3.11 has no statement for aliases")
def test_an_alias_that_contains_itself_stays() -> None:
    names: dict[str, Any] = {"bytes": bytes}
    exec("type Json = dict[str, Json] | int\ntype Tree[T] = T | list[Forest[T]]\ntype Forest[T] = Tree[T]", names)  # noqa: S102
    json, tree = names["Json"], names["Tree"]
    for type_ in (list[json], Annotated[json, "words"], tree[int], list[tree[int]]):
        assert unaliased(type_) == type_
    assert seen(json, {"a": {"b": 1}})[1]["structuredContent"] == {"a": {"b": 1}}


@pytest.mark.skipif(OF_TYPING is None, reason="Python 3.11 has no statement for aliases")
def test_an_alias_of_an_unknown_name_is_refused_at_registration() -> None:
    namespace: dict[str, Any] = {}
    exec("type Lost = Nowhere", namespace)  # noqa: S102 - a statement that Python 3.11 lacks

    def tool() -> Any: ...

    tool.__annotations__["return"] = namespace["Lost"]
    with pytest.raises(DefinitionError, match="Nowhere") as caught:
        Server("t").add_tool(tool)
    assert caught.value.code == "TT3003"

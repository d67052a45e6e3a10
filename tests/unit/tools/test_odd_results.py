"""Unusual return values: converted where the meaning is clear, otherwise the log names the value to return."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Callable
from typing import Any

import numpy
import pydantic
import pytest

from tooltrue import Client, ImageContent, Server, TextContent
from tooltrue.errors import DefinitionError, InternalError
from tooltrue.testing.state import LIMIT

PICTURE = ImageContent.of(b"\x89PNG\r\n\x1a\n", "image/png")


class Frame:
    columns = ("a",)

    def to_dict(self, orient: str) -> list[Any]:
        return []


class Picture:
    size, mode = (1, 1), "RGB"

    def save(self, to: Any, format: str) -> None: ...


class Figure:
    def savefig(self, to: Any) -> None: ...


class Own:
    pass


class Holder(pydantic.BaseModel):
    inside: bytes


def called(value: Any, returns: Any) -> Any:
    def tool() -> Any:
        return value

    tool.__annotations__ = {} if returns is None else {"return": returns}
    return outcome(tool)


def outcome(tool: Any) -> Any:
    server = Server("t")
    server.add_tool(tool, name="tool")

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            return await client.call_tool("tool")

    return asyncio.run(main())


SCALARS = [
    (numpy.float64(1.5), float, 1.5),
    (numpy.float32(0.5), float, 0.5),
    (numpy.int64(3), int, 3),
    (numpy.bool_(True), bool, True),
    (numpy.float64(1.5), None, 1.5),
    (numpy.int8(3), None, 3),
    (numpy.float64(1.5), float | None, 1.5),
]


@pytest.mark.parametrize(("value", "returns", "plain"), SCALARS)
def test_a_scalar_of_numpy_is_a_number(value: Any, returns: Any, plain: Any) -> None:
    result = called(value, returns)
    assert (result.value, type(result.value)) == (plain, type(plain))


NESTED = [
    ([numpy.float64(1.5), numpy.int64(2)], None, [1.5, 2]),
    ([numpy.float64(1.5)], list[float], [1.5]),
    ({"a": numpy.int64(2)}, dict[str, int], {"a": 2}),
    ({"a": {"b": [numpy.float32(0.5), "x"]}}, dict[str, Any], {"a": {"b": [0.5, "x"]}}),
    ((numpy.int64(1), numpy.bool_(False)), tuple[int, bool], [1, False]),
    ({numpy.int64(7)}, set[int], [7]),
    (frozenset({numpy.int64(7)}), None, [7]),
    ({numpy.int64(1): numpy.int64(2)}, None, {"1": 2}),
    (numpy.array([1.0, 2.0]), None, [1.0, 2.0]),
    (numpy.array([[1, 2], [3, 4]]), list[list[int]], [[1, 2], [3, 4]]),
    ({"a": numpy.array([1.0])}, dict[str, list[float]], {"a": [1.0]}),
    ({"a": numpy.array(["2026-01-02"], "datetime64[ns]")}, None, {"a": ["2026-01-02T00:00:00"]}),
]


@pytest.mark.parametrize(("value", "returns", "plain"), NESTED)
def test_so_it_is_within_lists_and_objects(value: Any, returns: Any, plain: Any) -> None:
    assert called(value, returns).structured == plain


@pytest.mark.parametrize(
    ("value", "returns"),
    [({1, 2}, None), ({1, 2}, set[int]), (frozenset({1, 2}), None), (frozenset({1, 2}), frozenset[int])],
)
def test_a_set_becomes_a_list_of_its_items(value: Any, returns: Any) -> None:
    assert sorted(called(value, returns).structured) == [1, 2]


def holds_itself() -> list[Any]:
    value: list[Any] = []
    value += [value, value]
    return value


def nested(levels: int = 5_000) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


ENDLESS = [(holds_itself, "Circular reference"), (nested, "Maximum serialization depth")]


@pytest.mark.parametrize("returns", [None, Any, list, list[Any], list[list[Any]]])
@pytest.mark.parametrize(("make", "problem"), ENDLESS, ids=["circle", "deep"])
def test_a_value_without_an_end_is_named(
    make: Callable[[], Any], problem: str, returns: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert "[TT2005]" in called(make(), returns).text
    [record] = caplog.records
    assert f"the function returned list, which is not JSON ({problem}" in record.getMessage()
    assert record.exc_info is None


@pytest.mark.parametrize(("make", "problem"), ENDLESS, ids=["circle", "deep"])
def test_so_is_one_of_a_resource(make: Callable[[], Any], problem: str, caplog: pytest.LogCaptureFixture) -> None:
    server = Server("t")
    value = make()

    @server.resource("docs://page")
    def page() -> Any:
        return value

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            with pytest.raises(InternalError):
                await client.read_resource("docs://page")

    asyncio.run(main())
    assert f"the function returned list, which is not JSON ({problem}" in caplog.text


async def later() -> int:
    return 1


@pytest.mark.parametrize("returns", [None, int])
def test_a_coroutine_that_a_plain_function_returns_is_awaited(returns: Any) -> None:
    def tool() -> Any:
        return later()

    tool.__annotations__ = {} if returns is None else {"return": returns}
    assert outcome(tool).structured == 1


def test_a_coroutine_that_was_not_awaited_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.closing(later()) as coroutine:

        async def tool() -> Any:
            return [coroutine]

        assert outcome(tool).is_error
    hint = "returned coroutine in a list, which has no JSON form; return the value that it gives when it is awaited"
    assert hint in caplog.text


@pytest.mark.parametrize("value", [None, 5, {"a": 1}, ["a", 5], b"x", numpy.int64(1)])
def test_a_prompt_that_returns_none_of_its_kinds_says_which_there_are(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("t")

    @server.prompt
    def odd() -> Any:
        return value

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            with pytest.raises(InternalError):
                await client.get_prompt("odd")

    asyncio.run(main())
    wrong: Any = 5 if isinstance(value, list) else value
    assert f"the prompt returned {type(wrong).__name__}; return text, content blocks" in caplog.text


@pytest.mark.parametrize("kind", [Holder, list[Holder], Holder | None])
def test_a_parameter_with_bytes_in_a_model_is_refused_with_the_way_out(kind: Any) -> None:
    def tool(good: int, bad: Any) -> None: ...

    tool.__annotations__["bad"] = kind
    with pytest.raises(DefinitionError, match=r"'bad' holds a model with a field of bytes.*Base64Bytes"):
        Server("t").add_tool(tool)


@pytest.mark.parametrize("kind", [Holder, list[Holder], Holder | None])
def test_so_is_a_result_with_bytes_in_a_model(kind: Any) -> None:
    with pytest.raises(DefinitionError, match=r"the return type holds a model with a field of bytes.*Base64Bytes"):
        called(None, kind)


def test_base64_is_decoded_for_a_parameter_that_says_so() -> None:
    server = Server("t")

    @server.tool(effect="read")
    def size(data: pydantic.Base64Bytes) -> int:
        return len(data)

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            return (await client.call_tool("size", data="aGk=")).value, (
                await client.call_tool("size", data="a")
            ).is_error

    assert asyncio.run(main()) == (2, True)


@pytest.mark.parametrize(
    "returns", [None, list, list[TextContent | ImageContent | str], list[str | ImageContent], list[Any]]
)
@pytest.mark.parametrize("value", [["before", PICTURE], [PICTURE, "after"], ["a", PICTURE, "b"]])
def test_text_may_stand_among_content_blocks(value: list[Any], returns: Any) -> None:
    if returns in (list, list[Any]):
        returns = None
    content = called(value, returns).content
    assert [getattr(block, "text", None) or block.data for block in content] == [
        item if isinstance(item, str) else item.data for item in value
    ]


ODD = [
    (Frame(), "df.to_dict('records')"),
    (Picture(), "ImageContent.of"),
    (Figure(), "ImageContent.of"),
    (Own(), "dataclass"),
    ({"a": Own()}, "dataclass"),
    ([b"\xff"], "base64"),
]


@pytest.mark.parametrize(("value", "fix"), ODD)
@pytest.mark.parametrize("returns", [None, Any, float, dict[str, float]])
def test_the_log_of_an_odd_result_gives_the_value_to_return_instead(
    value: Any, fix: str, returns: Any, caplog: pytest.LogCaptureFixture
) -> None:
    result = called(value, returns)
    assert result.is_error
    [record] = [record for record in caplog.records if "tool tool failed" in record.getMessage()]
    assert record.exc_info is None
    if returns in (None, Any):
        assert fix in record.getMessage()
        assert type(value).__name__ in record.getMessage()


@pytest.mark.parametrize("returns", [bytes, None, Any])
@pytest.mark.parametrize("value", [b"\x89PNG\xff", b"text", b""])
def test_bytes_are_base64_whatever_they_hold(value: bytes, returns: Any) -> None:
    assert called(value, returns).structured == base64.b64encode(value).decode()


@pytest.mark.parametrize("returns", [Own, list[Own]])
def test_a_return_type_without_a_json_form_is_refused_by_name(returns: Any) -> None:
    with pytest.raises(DefinitionError, match="the return type") as caught:
        called(None, returns)
    assert "arbitrary_types_allowed" not in str(caught.value)


def test_a_parameter_without_a_json_form_is_named() -> None:
    def tool(good: int, bad: Any) -> None: ...

    tool.__annotations__["bad"] = Own
    with pytest.raises(DefinitionError, match="'bad'") as caught:
        Server("t").add_tool(tool)
    assert "arbitrary_types_allowed" not in str(caught.value)

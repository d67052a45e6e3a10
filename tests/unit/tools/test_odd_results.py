"""An odd value that a tool returns works where that is plain, and otherwise the log says what to return instead."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy
import pytest

from toolwright import Client, ImageContent, Server, TextContent
from toolwright.errors import DefinitionError
from toolwright.testing.state import LIMIT

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


def called(value: Any, returns: Any) -> Any:
    def tool() -> Any:
        return value

    tool.__annotations__ = {} if returns is None else {"return": returns}
    server = Server("t")
    server.add_tool(tool)

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
    (numpy.array([1.0, 2.0]), "x.tolist()"),
    (Frame(), "df.to_dict('records')"),
    (Picture(), "ImageContent.of"),
    (Figure(), "ImageContent.of"),
    (b"\x89PNG\xff", "base64"),
    (Own(), "dataclass"),
    ({"a": Own()}, "dataclass"),
]


@pytest.mark.parametrize(("value", "fix"), ODD)
@pytest.mark.parametrize("returns", [None, Any, float, dict[str, float]])
def test_the_log_says_what_to_return_instead(
    value: Any, fix: str, returns: Any, caplog: pytest.LogCaptureFixture
) -> None:
    if returns is float and isinstance(value, numpy.ndarray):
        returns = None
    result = called(value, returns)
    assert result.is_error
    [record] = [record for record in caplog.records if "tool tool failed" in record.getMessage()]
    assert record.exc_info is None
    if returns in (None, Any):
        assert fix in record.getMessage()
        assert type(value).__name__ in record.getMessage()


def test_bytes_that_are_no_text_are_named(caplog: pytest.LogCaptureFixture) -> None:
    assert called(b"\x89PNG\xff", bytes).is_error
    assert "base64.b64encode" in caplog.text


@pytest.mark.parametrize("returns", [numpy.ndarray, Own, list[Own]])
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

"""The errors that a client receives when a call fails, and the details that it never receives."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest
from pydantic import Field

from tooltrue import (
    CallToolResult,
    Client,
    ConfigurationError,
    Context,
    DefinitionError,
    Depends,
    Limits,
    RpcError,
    Server,
    ToolError,
)
from tooltrue.testing.state import LIMIT
from tooltrue_toolbox import files

SECRET = "hunter2-" + "x" * 300


class Login(pydantic.BaseModel):
    user: str
    password: Annotated[str, Field(max_length=10)]


def session(server: Server, test: Callable[[Client], Any]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            return await test(client)

    return asyncio.run(main())


def call(
    function: Callable[..., Any], arguments: dict[str, Any] | None = None, *, server: Server | None = None, **more
):
    server = server or Server("t")
    server.add_tool(function, name="tool", **more)
    return session(server, lambda client: client.call_tool("tool", arguments or {}))


def must_not_run(n: int = 1, path: str = "", login: Login | None = None, rows: list[int] | None = None) -> str:
    raise AssertionError("this tool must not run")


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [5, 5.0])
def test_b07_twin_an_integral_number_is_the_integer_that_a_function_wants(value: Any):
    def tool(n: int) -> str:
        return f"{type(n).__name__} {n}"

    assert call(tool, {"n": value}).value == "int 5"


def test_b07_twin_integral_numbers_are_integers_at_any_depth_and_floats_stay_floats():
    def tool(rows: list[dict[str, int]], ratio: float, ratios: list[float]) -> str:
        assert [type(value) for row in rows for value in row.values()] == [int]
        return f"{ratio + 0.5} {sum(ratios)}"

    assert call(tool, {"rows": [{"a": 5.0}], "ratio": 1, "ratios": [1, 2.5]}).value == "1.5 3.5"


@pytest.mark.requirement("CALL-14")
@pytest.mark.parametrize(
    "arguments",
    [
        {"n": "5"},
        {"n": True},
        {"n": 5.5},
        {"n": None},
        {"path": 5},
        {"path": None},
        {"rows": "[1]"},
        {"rows": {"0": 1}},
        {"rows": ["1"]},
        {"login": "{}"},
        {"login": {"user": 1, "password": "p"}},
        {"login": {"user": "u", "password": "p", "admin": True}},
    ],
)
def test_b07_no_argument_is_coerced(arguments: dict[str, Any]):
    assert call(must_not_run, arguments).is_error


def test_b06_an_unknown_argument_is_refused_with_the_nearest_name():
    text = call(must_not_run, {"pth": "a"}).text
    assert "pth" in text
    assert "path" in text


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": SECRET},
        {"path": [SECRET] * 20},
        {"login": {"user": SECRET, "password": SECRET}},
        {"login": [SECRET, {"k": SECRET}]},
        {"rows": [SECRET] * 500},
        {"n": {"k": SECRET}, "path": {"k": SECRET}, "login": SECRET, "rows": SECRET},
    ],
)
def test_an_explanation_is_short_and_echoes_no_value(arguments: dict[str, Any]):
    result = call(must_not_run, arguments)
    assert result.is_error
    assert len(result.text) <= 600
    assert "hunter2" not in str(result.raw)
    assert "[TT2001]" in result.text


def check(login: Login) -> Login:
    raise ValueError("user and password do not belong together")


def test_a_validators_error_echoes_no_value_either():
    def tool(login: Annotated[Login, pydantic.AfterValidator(check)]) -> str:
        raise AssertionError("this tool must not run")

    result = call(tool, {"login": {"user": "hunter2", "password": "hunter2"}})
    assert result.is_error
    assert "do not belong together" in result.text
    assert len(result.text) <= 600
    assert "hunter2" not in str(result.raw)


def test_b14_twin_control_characters_arrive_as_they_are():
    def tool(path: str) -> str:
        return repr(path)

    assert call(tool, {"path": "a\x00b\x1b"}).value == repr("a\x00b\x1b")


@pytest.mark.requirement("CALL-10")
def test_an_unknown_tool_is_an_error_of_the_protocol():
    with pytest.raises(RpcError) as caught:
        session(Server("t"), lambda client: client.call_tool("none"))
    assert caught.value.number == -32602
    assert "none" in str(caught.value)


# -- results and crashes -----------------------------------------------------------------------------------------------


@pytest.mark.attack("C15")
@pytest.mark.requirement("CALL-04", "SCH-12")
def test_a_value_that_does_not_fit_the_output_schema_never_leaves(caplog: pytest.LogCaptureFixture):
    def tool() -> list[int]:
        return [1, "hunter2"]  # pyright: ignore[reportReturnType] - the fault

    result = call(tool)
    assert result.is_error
    assert "hunter2" not in str(result.raw)
    [record] = [record for record in caplog.records if record.name == "tooltrue"]
    assert isinstance(record.args, tuple)
    assert str(record.args[1]) in result.text


NAN, INFINITY = float("nan"), float("inf")
NO_JSON: list[Any] = [
    *(
        NAN,
        INFINITY,
        -INFINITY,
        [NAN],
        [INFINITY],
        {"a": NAN},
        {"a": [-INFINITY]},
        [[NAN]],
        [1.5, NAN],
        {"a": {"b": NAN}},
    ),
    *("\ud800", "\udfff", "a\udc80b", ["\ud800"], {"a": "\ud800"}, {"\ud800": 1}, [["\udc00"]]),
    *(object(), [object()], {"a": object()}, lambda: 1, int),
]


@pytest.mark.attack("C28")
@pytest.mark.parametrize("value", NO_JSON, ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", ascii(value)))
def test_a_value_that_json_lacks_is_never_sent(value: Any):
    def tool():
        return value

    assert call(tool).is_error


class Liar(pydantic.BaseModel):
    n: int


def test_a_model_whose_field_was_changed_behind_its_back_never_leaves():
    def tool() -> Liar:
        return Liar.model_construct(n="hunter2")

    result = call(tool)
    assert result.is_error
    assert "hunter2" not in str(result.raw)


class Bomb(Exception):
    def __str__(self) -> str:
        raise RuntimeError("hunter2")


def group() -> str:
    raise ExceptionGroup("hunter2", [ValueError("hunter2")])


def bomb() -> str:
    raise Bomb


def dsn() -> str:
    raise ConnectionError("postgres://root:hunter2@db")


async def dsn_later() -> str:
    raise ConnectionError("postgres://root:hunter2@db")


def recursion() -> str:
    return recursion()


@pytest.mark.parametrize("tool", [dsn, dsn_later, group, bomb, recursion])
def test_j07_a_crash_leaves_an_id_and_the_log_holds_the_rest(tool: Any, caplog: pytest.LogCaptureFixture):
    result = call(tool)
    assert result.is_error
    assert "hunter2" not in str(result.raw)
    assert "Traceback" not in str(result.raw)
    [record] = [record for record in caplog.records if record.name == "tooltrue"]
    assert isinstance(record.args, tuple)
    assert str(record.args[1]) in result.text
    assert record.exc_info


def explode() -> int:
    raise ValueError("hunter2")


def test_j07_a_dependency_that_crashes_is_a_crash():
    def tool(n: Annotated[int, Depends(explode)]) -> str:
        raise AssertionError("this tool must not run")

    assert "hunter2" not in str(call(tool).raw)


def test_a_crash_does_not_end_the_conversation():
    server = Server("t")
    server.add_tool(dsn)
    server.add_tool(lambda: "fine", name="fine")

    async def test(client: Client) -> Any:
        return [(await client.call_tool(name)).is_error for name in ("dsn", "fine", "dsn", "fine")]

    assert session(server, test) == [True, False, True, False]


def test_words_for_the_model_reach_it():
    def tool() -> str:
        raise ToolError("Ask for fewer rows.")

    result = call(tool)
    assert result.is_error
    assert result.text == "Ask for fewer rows."


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.attack("C13")
@pytest.mark.parametrize(
    "make",
    [lambda: "x" * 2_000, lambda: ["x" * 2_000], lambda: CallToolResult([], structuredContent=["x" * 2_000])],
    ids=["text", "json", "structured"],
)
def test_a_result_beyond_the_limit_leaves_in_part_with_the_way_to_the_rest(make: Any):
    def tool() -> Any:
        return make()

    result = call(tool, server=Server("t", limits=Limits(max_bytes=1_000)))
    assert not result.is_error
    assert "This is not all" in result.text
    assert result.content[-1].uri.startswith("kept:")
    assert len(str(result.raw)) < 2_000


def test_b36_an_async_tool_that_takes_too_long_is_stopped():
    ended = asyncio.Event()

    async def tool() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    result = call(tool, seconds=0.05)
    assert "[TT2002]" in result.text
    assert ended.is_set()


def test_b36_a_stuck_thread_is_answered_on_time_and_the_next_call_is_served():
    """The thread is stuck until the session is over: a server that waited for it would never answer."""
    gate = threading.Event()

    def stuck() -> str:
        gate.wait()
        return ""

    server = Server("t")
    server.add_tool(stuck, seconds=0.05)
    server.add_tool(lambda: "fine", name="fine")

    async def test(client: Client) -> Any:
        late = await client.call_tool("stuck")
        return late.text, (await client.call_tool("fine")).value

    try:
        text, fine = session(server, test)
    finally:
        gate.set()
    assert "[TT2003]" in text
    assert fine == "fine"


def test_b36_a_tool_that_swallows_its_cancellation_is_late_all_the_same():
    async def tool() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "hunter2"
        return ""

    result = call(tool, seconds=0.05)
    assert "[TT2002]" in result.text
    assert "hunter2" not in result.text


def test_b36_twin_slow_tools_do_not_hold_up_quick_answers():
    gate = threading.Event()
    server = Server("t", threads=2)

    @server.tool
    def slow() -> str:
        gate.wait(LIMIT)
        return "slow"

    async def test(client: Client) -> Any:
        slow = [asyncio.ensure_future(client.call_tool("slow")) for _ in range(10)]
        await client.ping()
        await client.list_tools()
        assert not any(task.done() for task in slow)
        gate.set()
        return {result.value for result in await asyncio.gather(*slow)}

    try:
        assert session(server, test) == {"slow"}
    finally:
        gate.set()


def test_the_server_says_its_errors_in_its_language():
    result = call(must_not_run, {"n": "x"}, server=Server("t", language="zh"))
    assert "参数无效" in result.text


# -- mistakes of authors ----------------------------------------------------------------------------------------------


def test_a_long_file_comes_in_parts_through_the_whole_server(tmp_path: Path):
    lines = [f'line {number} with "quotes"' for number in range(60_000)]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    server = Server("t", toolsets=[files.toolset([tmp_path])])

    async def main() -> list[str]:
        read: list[str] = []
        start: int | None = 1
        async with Client(server) as client:
            while start is not None:
                part = (await client.call_tool("read_file", path="long.txt", start_line=start)).value
                read += part["content"].splitlines()
                start = part.get("next_start_line")
        return read

    assert asyncio.run(main()) == lines


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"seconds": "5"}, "seconds must be a number above 0"),
        ({"seconds": 0}, "seconds must be a number above 0"),
        ({"max_bytes": -1}, "max_bytes must be a number above 0"),
        ({"title": 5}, "title must be text"),
        ({"examples": "abc"}, "examples must be a list of objects"),
        ({"excused": {"TT9710": " "}}, "excused must be reasons by the code of the rule"),
        ({"excused": ["TT9710"]}, "excused must be reasons by the code of the rule"),
    ],
)
def test_a_wrong_setting_fails_at_registration(settings: Any, words: str):
    with pytest.raises(DefinitionError, match=words):
        Server("t").add_tool(lambda: "", name="tool", **settings)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Limits(seconds=-1),
        lambda: Limits(max_bytes=0),
        lambda: Server("t", threads=0),
        lambda: Server("t", language="xx"),
        lambda: Server("t", keys=[b"short"]),
        lambda: Server("t", page_size=0),
    ],
)
def test_a_wrong_setting_of_the_server_fails_at_once(make: Any):
    with pytest.raises(ConfigurationError, match="must be"):
        make()


def test_a_raw_handler_gets_the_context_it_names():
    seen: list[Any] = []
    server = Server("t")
    server.add_raw_tool("one", {"type": "object"}, lambda arguments, context=None: seen.append(context))
    server.add_raw_tool("two", {"type": "object"}, lambda arguments, name="mine": seen.append(name))
    with pytest.raises(DefinitionError, match=r"handler\(arguments, context\)"):
        server.add_raw_tool("none", {"type": "object"}, lambda: None)

    async def main() -> None:
        async with Client(server) as client:
            await client.call_tool("one")
            await client.call_tool("two")

    asyncio.run(main())
    assert isinstance(seen[0], Context)
    assert seen[1] == "mine"


def test_words_within_a_type_describe_the_parameter():
    server = Server("t")

    def tool(a: Annotated[str, "First"] | None = None, b: list[Annotated[str, "Second"]] | None = None) -> str:
        return ""

    properties = server.add_tool(tool).definition.inputSchema["properties"]
    assert properties["a"]["description"] == "First"


class Boom(BaseException):
    """Not even an Exception."""


@pytest.mark.parametrize("error", [Boom("hunter2"), KeyboardInterrupt("hunter2")])
def test_j07_a_base_exception_is_a_crash_too(error: BaseException):
    async def tool() -> str:
        raise error

    result = call(tool)
    assert result.is_error
    assert "hunter2" not in result.text

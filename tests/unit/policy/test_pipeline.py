"""The standard pipeline: its order, and the effect of each layer on a call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tooltrue.errors import InternalError, RpcError, ToolError, UnknownTool
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.guard import Guard, Limits
from tooltrue.policy.layers.errors_as_results import errors_as_results
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.pipeline import described, standard
from tooltrue.policy.rules.rule import ALLOW, Decide, Deny, Subject
from tooltrue.protocol.types import (
    CallToolResult,
    EmbeddedResource,
    InputRequiredResult,
    ReadResourceResult,
    TextContent,
    TextResource,
    replaced,
)
from tooltrue.server.service import SILENT
from tooltrue.tools.bounds import Rate
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext, ResourceRead, ToolCall

CONTEXT = RequestContext(LOCAL, SILENT)
ROOT = RequestContext(Principal("root"), SILENT)


def guarded(tools: LocalToolset, decide: Decide | None = None, **limits: Any) -> Provider:
    return standard(tools, Guard(Limits(**limits)).with_settings("", decide=decide))


def call(provider: Provider, name: str = "tool", context: RequestContext = CONTEXT, **arguments: Any) -> CallToolResult:
    outcome = asyncio.run(provider.call_tool(ToolCall(name, arguments, context)))
    assert isinstance(outcome, CallToolResult)
    return outcome


def with_tool(function: Callable[..., Any], **settings: Any) -> LocalToolset:
    tools = LocalToolset()
    tools.add(function, name="tool", **settings)
    return tools


def must_not_run(*_: Any, **__: Any) -> Any:
    raise AssertionError("this tool must not run")


def test_the_pipeline_description_lists_the_layers_in_order():
    assert [name for name, _, _ in described(Guard())] == [
        "audit",
        "errors_as_results",
        "nested_calls",
        "observe",
        "abuse",
        "authorize",
        "renames",
        "rate",
        "sizes",
        "repair",
        "validate",
        "authorize_arguments",
        "confirm",
        "concurrency",
        "write_ahead_audit",
        "consume_grant",
        "tasks",
        "timeout",
        "store_results",
        "sanitize_output",
        "secrets",
        "personal data",
        "stored_results",
    ]


def test_inspect_shows_each_of_the_limits_of_a_rate():
    said = {name: what for name, what, _ in described(Guard(rate=RateLimits(Rate(1, 2), Rate(3, 4), Rate(5, 6))))}
    assert said["rate"] == (
        "on: 1/s after a burst of 2, per caller and tool; 3/s after a burst of 4, per caller; "
        "5/s after a burst of 6, in all"
    )


# -- authorize ---------------------------------------------------------------------------------------------------------


def takes(path: str = "a") -> str:
    return path


def hide(tool: Subject, context: RequestContext, arguments: Any) -> Any:
    return ALLOW if context.principal.id == "root" else Deny("secret reason", hidden=True)


@pytest.mark.attack("B01")
@pytest.mark.requirement("CACHE-18", "CACHE-19", "CALL-15")
def test_a_hidden_tool_is_not_listed_not_found_and_not_called():
    provider = guarded(with_tool(must_not_run_typed), hide)
    assert asyncio.run(provider.list_tools(CONTEXT)) == ()
    said: list[str] = []
    for name in ("tool", "none"):
        with pytest.raises(UnknownTool) as caught:
            call(provider, name)
        said.append(caught.value.say().replace(repr(name), "X"))
        with pytest.raises(UnknownTool):
            asyncio.run(provider.find_tool(name, CONTEXT))
    assert said[0] == said[1]
    assert "secret" not in said[0]


def must_not_run_typed(path: str = "a") -> str:
    raise AssertionError("this tool must not run")


@pytest.mark.twin("B01")
@pytest.mark.requirement("CALL-15", "TOOL-02")
def test_a_tool_hidden_from_one_principal_is_available_to_another():
    provider = guarded(with_tool(takes), hide)
    assert [tool.name for tool in asyncio.run(provider.list_tools(ROOT))] == ["tool"]
    assert call(provider, context=ROOT).content == [TextContent(text="a")]


@pytest.mark.requirement("CALL-15")
def test_a_denied_tool_is_listed_and_its_refusal_gives_the_reason():
    provider = guarded(with_tool(must_not_run_typed), lambda tool, context, arguments: Deny("not on Sundays"))
    assert len(asyncio.run(provider.list_tools(CONTEXT))) == 1
    result = call(provider)
    assert result.isError
    assert "not on Sundays" in result.content[0].text
    assert "[TT2007]" in result.content[0].text


def test_a_rule_sees_the_arguments_that_will_run_with_defaults_filled_in():
    seen: list[Any] = []

    def decide(tool: Subject, context: RequestContext, arguments: Any) -> Any:
        seen.append(arguments)
        return Deny("no") if arguments == {"path": "/etc"} else ALLOW

    provider = guarded(with_tool(takes), decide)
    assert call(provider).content[0].text == "a"
    assert call(provider, path="/etc").isError
    assert seen == [None, {"path": "a"}, None, {"path": "/etc"}]


def test_the_authorization_decision_never_sees_invalid_arguments():
    def decide(tool: Subject, context: RequestContext, arguments: Any) -> Any:
        assert arguments is None
        return ALLOW

    assert call(guarded(with_tool(must_not_run_typed), decide), path=7).isError


def test_an_outer_layer_that_found_the_tool_is_believed():
    async def main() -> Any:
        tools = with_tool(takes)
        provider = guarded(tools)
        tool = await provider.find_tool("tool", CONTEXT)
        return await provider.call_tool(ToolCall("tool", {}, CONTEXT, replaced(tool, seconds=1.0)))

    assert not asyncio.run(main()).isError


# -- answered ----------------------------------------------------------------------------------------------------------


def test_j07_the_text_of_a_crash_stays_in_the_log(caplog: pytest.LogCaptureFixture):
    def crash() -> str:
        raise ValueError("postgres://root:hunter2@db")

    result = call(guarded(with_tool(crash)))
    assert result.isError
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert "hunter2" in caplog.text
    assert "hunter2" not in result.content[0].text
    assert isinstance(record.args, tuple)
    assert str(record.args[1]) in result.content[0].text


def test_words_for_the_model_reach_it_and_only_they():
    def refuse() -> str:
        try:
            raise ValueError("hunter2")
        except ValueError as error:
            raise ToolError("Try a smaller file.") from error

    assert call(guarded(with_tool(refuse))) == CallToolResult([TextContent(text="Try a smaller file.")], isError=True)


def test_broken_protocol_stays_an_error_of_the_caller():
    def refuse() -> str:
        raise InternalError.of("TT1020", id="x")

    with pytest.raises(RpcError):
        call(guarded(with_tool(refuse)))


def test_a_tool_that_lets_a_cancellation_of_its_own_escape_is_still_answered():
    async def careless() -> str:
        task = asyncio.ensure_future(asyncio.Event().wait())
        await asyncio.sleep(0)
        task.cancel()
        await task
        return "unreachable"

    async def main() -> None:
        asked = asyncio.ensure_future(guarded(with_tool(careless)).call_tool(ToolCall("tool", {}, CONTEXT)))
        await asyncio.wait([asked])
        assert not asked.cancelled(), "whoever called would wait for ever"
        result = asked.result()
        assert isinstance(result, CallToolResult)
        assert result.isError

    asyncio.run(main())


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_plain_tool_that_would_end_the_process_is_an_error(error: type[BaseException]):
    def leave() -> str:
        raise error

    assert call(guarded(with_tool(leave))).isError


def test_an_error_is_said_in_the_language_of_the_server():
    provider = errors_as_results("zh")(standard(with_tool(takes), Guard(language="zh")))
    assert "参数无效" in call(provider, path=1).content[0].text


def test_a_question_passes():
    question = InputRequiredResult(requestState="s")

    def ask() -> Any:
        return question

    async def main() -> Any:
        return await guarded(with_tool(ask)).call_tool(ToolCall("tool", {}, CONTEXT))

    assert asyncio.run(main()) is question


# -- validate ----------------------------------------------------------------------------------------------------------


def test_the_callers_own_arguments_are_not_changed_by_filling_in():
    arguments: dict[str, Any] = {}

    async def main() -> Any:
        return await guarded(with_tool(takes)).call_tool(ToolCall("tool", arguments, CONTEXT))

    assert asyncio.run(main()).content[0].text == "a"
    assert arguments == {}


def test_a_mutable_default_is_fresh_for_every_call():
    def collect(items: list[int] = []) -> int:  # noqa: B006
        items.append(1)
        return len(items)

    provider = guarded(with_tool(collect))
    assert [call(provider).structuredContent for _ in range(3)] == [1, 1, 1]


def test_a_mutable_default_that_no_conversion_copies_is_fresh_too():
    def collect(items: list[str] = []) -> str:  # noqa: B006
        items.append("x")
        return "".join(items)

    provider = guarded(with_tool(collect))
    assert [call(provider).content[0].text for _ in range(3)] == ["x", "x", "x"]


# -- tidy --------------------------------------------------------------------------------------------------------------


def embedded(text: str) -> Any:
    return EmbeddedResource(resource=TextResource(uri="a:b", text=text))


@pytest.mark.attack("C13")
@pytest.mark.parametrize(
    "make",
    [
        lambda text: text,
        lambda text: [text],
        lambda text: CallToolResult([TextContent(text=text)]),
        lambda text: CallToolResult([], structuredContent={"a": text}),
        lambda text: embedded(text),
        lambda text: CallToolResult([TextContent(text=text)], isError=True),
    ],
    ids=["text", "json", "result", "structured", "embedded", "error"],
)
def test_no_more_of_a_result_leaves_than_the_limit_in_any_shape(make: Callable[[str], Any]):
    def large(size: int) -> Any:
        return make("é" * size)

    provider = guarded(with_tool(large), max_bytes=1_000)
    result = call(provider, size=600)
    assert sum(len(encode(block)) for block in result.content) <= 1_100
    assert str(result).count("é") < 600
    link = result.content[-1]
    whole = asyncio.run(provider.read_resource(ResourceRead(link.uri, CONTEXT)))
    assert isinstance(whole, ReadResourceResult)
    assert whole.contents[0].text.count("é") == 600
    assert "é" in str(call(provider, size=200))


def test_a_tool_has_a_limit_of_its_own():
    assert not call(guarded(with_tool(lambda: "x" * 50, max_bytes=100), max_bytes=10)).isError
    result = call(guarded(with_tool(lambda: "x" * 50, max_bytes=10), max_bytes=100))
    assert result.isError
    assert "[TT2006]" in result.content[0].text


@pytest.mark.parametrize("value", ["hunter2", {"id": "hunter2"}, None, [{"id": 1}], {"id": 1, "extra": "hunter2"}])
def test_a_value_that_breaks_its_schema_does_not_leave(value: Any, caplog: pytest.LogCaptureFixture):
    tools = LocalToolset()
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    tools.add_raw(
        "tool",
        {"type": "object"},
        lambda arguments: value,
        output_schema={**schema, "additionalProperties": False},
        blocking=False,
    )
    result = call(guarded(tools))
    assert result.isError
    assert "[TT2005]" in result.content[0].text
    assert "hunter2" not in str(result)
    assert len(caplog.records) == 1


def test_a_failure_need_not_fit_the_output_schema():
    failure = CallToolResult([TextContent(text="no")], isError=True)

    def tool() -> int:
        return failure  # pyright: ignore[reportReturnType] - the case

    assert call(guarded(with_tool(tool))) == failure

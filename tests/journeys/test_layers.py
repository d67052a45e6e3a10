"""An author's layers at every place of the pipeline, over the wire, for stateless and session-based clients."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.fake_secrets import FAKES
from tooltrue import (
    CallToolResult,
    Client,
    Form,
    Host,
    InputRequiredResult,
    Layer,
    Limits,
    LocalToolset,
    Operation,
    Principal,
    Provider,
    ReadResourceResult,
    ResourceRead,
    RpcError,
    Server,
    Step,
    StepLayer,
    TextContent,
    TextResource,
    Tool,
    ToolCall,
    ToolError,
    UnknownTool,
    guarded,
    placed,
)
from tooltrue.client.call_results import Result
from tooltrue.host.host_guard import STAGES as HOST_STAGES
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.pipeline import STAGES
from tooltrue.protocol import versions
from tooltrue.state.log import MemoryLog
from tooltrue.tools.vocabulary import RequestContext

STAGE_NAMES = [stage.name for stage in STAGES]
ERAS = (versions.MODERN[0], versions.LEGACY[0])
SECRET = next(text for kind, text in FAKES if kind == "github-token")

SMALL = Limits(max_bytes=2_000)

every_place = pytest.mark.parametrize("after", STAGE_NAMES)
every_era = pytest.mark.parametrize("revision", ERAS)


def is_inside(after: str, stage: str) -> bool:
    """Whether a layer at this place stands inside of a stage."""
    return STAGE_NAMES.index(after) >= STAGE_NAMES.index(stage)


class Does(Layer, frozen=True):
    """Treats each call and read by a function."""

    act: Callable[[Any, Any], Awaitable[Any]]

    async def around(self, operation: Any, proceed: Any) -> Any:
        return await self.act(operation, proceed)


class InSteps(StepLayer, frozen=True):
    """The same as a step, of a function that gives an early outcome, or ``None``."""

    early: Callable[[ToolCall], Any]

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        def before(call: ToolCall) -> Awaitable[Any] | None:
            outcome = self.early(call)
            return None if outcome is None else ready(outcome)

        return Step(before)


async def ready(value: Any) -> Any:
    return value


def layer_of(early: Callable[[ToolCall], Any], form: str) -> Callable[[Provider], Provider]:
    """A layer in the general form, or in steps, that ends a call early where ``early`` gives an outcome."""
    if form == "steps":
        return lambda inner: InSteps(inner, early)

    async def act(operation: Any, proceed: Any) -> Any:
        outcome = early(operation) if isinstance(operation, ToolCall) else None
        return await proceed(operation) if outcome is None else outcome

    return lambda inner: Does(inner, act)


def placements() -> list[Any]:
    """All places in the general form, and those inside of ``authorize`` as steps."""
    found = [(after, "general") for after in STAGE_NAMES]
    return found + [(after, "steps") for after in STAGE_NAMES if is_inside(after, "authorize")]


every_placement = pytest.mark.parametrize(("after", "form"), placements())


class Made:
    """A server with one author's layer, and what its tools and its log have seen."""

    def __init__(self, layer: Callable[[Provider], Provider], after: str, **settings: Any) -> None:
        self.log = MemoryLog()
        self.runs: list[str] = []
        self.server = Server("s", layers=[placed(layer, after=after)], audit=self.log, **settings)

        @self.server.tool(effect="read")
        def read(text: str = "x") -> str:
            """Read."""
            self.runs.append(text)
            return text

        @self.server.tool(effect="destructive")
        def wipe() -> str:
            """Wipe."""
            self.runs.append("wipe")
            return "wiped"

        @self.server.resource("a:b")
        def page() -> str:
            return "page"

        @self.server.prompt
        def hello(name: str = "you") -> str:
            return f"Hello {name}"

    def call(self, revision: str, name: str = "read", elicit: Any = None, **arguments: Any) -> Result[Any]:
        return self.during(revision, lambda client: client.call_tool(name, arguments), elicit)

    def during(self, revision: str, act: Callable[[Client], Awaitable[Any]], elicit: Any = None) -> Any:
        async def main() -> Any:
            async with self.server.serving(), Client(self.server, revision=revision, elicit=elicit) as client:
                return await act(client)

        return asyncio.run(main())

    @property
    def records(self) -> list[dict[str, Any]]:
        return [entry.record for entry in asyncio.run(self.log.read())]


# --- denying ----------------------------------------------------------------------------------------------------------


@every_placement
@every_era
def test_a_layer_that_denies_is_an_error_result_and_the_tool_does_not_run(after: str, form: str, revision: str):
    def deny(call: ToolCall) -> None:
        raise ToolError("Not on Sundays.")

    made = Made(layer_of(deny, form), after)
    result = made.call(revision)
    assert (result.is_error, result.text) == (True, "Not on Sundays.")
    assert made.runs == []


@every_placement
@every_era
def test_the_text_of_a_crash_in_a_layer_stays_in_the_log(
    after: str, form: str, revision: str, caplog: pytest.LogCaptureFixture
):
    def crash(call: ToolCall) -> None:
        raise ValueError("hunter2")

    made = Made(layer_of(crash, form), after)
    result = made.call(revision)
    assert result.is_error
    assert "[TT2004]" in result.text
    assert "hunter2" not in str(result.raw)
    assert "hunter2" in caplog.text
    assert made.runs == []


@every_place
@every_era
def test_a_layer_that_says_unknown_reads_like_a_missing_tool(after: str, revision: str):
    def hide(call: ToolCall) -> None:
        raise UnknownTool(call.name)

    made = Made(layer_of(hide, "general"), after)
    said = list[str]()
    for name in ("read", "none"):
        with pytest.raises(RpcError) as caught:
            made.call(revision, name)
        said.append(str(caught.value).replace(name, "X"))
    assert said[0] == said[1]


@every_place
@every_era
def test_a_layer_denies_reads_and_prompts_too(after: str, revision: str):
    async def deny(operation: Operation, proceed: Any) -> Any:
        raise ToolError("Not on Sundays.")

    made = Made(lambda inner: Does(inner, deny), after)
    for act in (lambda client: client.read_resource("a:b"), lambda client: client.get_prompt("hello")):
        with pytest.raises(RpcError, match=r"Not on Sundays\."):
            made.during(revision, act)


# --- an outcome of its own --------------------------------------------------------------------------------------------


@every_placement
@every_era
def test_an_outcome_of_a_layer_is_cleaned_where_it_stands_inside_of_sanitize_output(
    after: str, form: str, revision: str
):
    made = Made(layer_of(lambda call: CallToolResult([TextContent(text=SECRET)]), form), after)
    result = made.call(revision)
    assert not result.is_error
    assert (SECRET in result.text) == (not is_inside(after, "sanitize_output"))
    assert made.runs == []


@every_placement
def test_an_outcome_of_a_layer_is_limited_where_it_stands_inside_of_sanitize_output(after: str, form: str):
    made = Made(layer_of(lambda call: CallToolResult([TextContent(text="x" * 3_000)]), form), after, limits=SMALL)
    result = made.call(ERAS[0])
    assert (len(str(result.raw)) > 2_500) == (not is_inside(after, "sanitize_output"))


@every_placement
def test_a_destructive_call_ends_unasked_only_where_a_layer_stands_outside_of_confirm(after: str, form: str):
    asked: list[Any] = []

    def decline(question: Any) -> bool:
        asked.append(question)
        return False

    made = Made(layer_of(lambda call: CallToolResult([TextContent(text="cached")]), form), after)
    result = made.call(ERAS[0], "wipe", decline)
    assert (result.text == "cached") == (not is_inside(after, "confirm"))
    assert bool(asked) == is_inside(after, "confirm")
    assert made.runs == []


@every_place
def test_invalid_arguments_and_unknown_tools_reach_a_layer_only_outside_of_their_guards(after: str):
    seen: list[str] = []
    made = Made(layer_of(lambda call: seen.append(call.name), "general"), after)
    assert made.call(ERAS[0], text=7).is_error
    with pytest.raises(RpcError):
        made.call(ERAS[0], "none")
    assert ("read" in seen) == (not is_inside(after, "validate"))
    assert ("none" in seen) == (not is_inside(after, "authorize"))


# --- asking -----------------------------------------------------------------------------------------------------------


@every_placement
@every_era
def test_a_layer_asks_the_person_and_goes_on_with_the_answer(after: str, form: str, revision: str):
    answers: list[Any] = []

    def ask(call: ToolCall) -> None:
        answers.append(bool(call.context.ask(Form("From the layer?"), key="layer")))

    made = Made(layer_of(ask, form), after)
    questions: list[str] = []

    def elicit(question: Any) -> bool:
        questions.append(question.message)
        return True

    assert made.call(revision, elicit=elicit).value in ("x", {"result": "x"})
    assert questions == ["From the layer?"]
    assert answers == [True]
    assert made.runs == ["x"]


@every_place
@every_era
def test_a_layer_asks_before_a_read(after: str, revision: str):
    async def ask(operation: Operation, proceed: Any) -> Any:
        operation.context.ask(Form("Really?"), key="layer")
        return await proceed(operation)

    made = Made(lambda inner: Does(inner, ask), after)
    contents = made.during(revision, lambda client: client.read_resource("a:b"), lambda question: True)
    assert [part.text for part in contents] == ["page"]


# --- caching ----------------------------------------------------------------------------------------------------------


class Cached(Layer, frozen=True):
    results: dict[str, CallToolResult] = {}  # noqa: RUF012 - each layer gets its own

    async def around(self, operation: Any, proceed: Any) -> Any:
        if not isinstance(operation, ToolCall):
            return await proceed(operation)
        key = f"{operation.context.principal.id} {operation.name} {operation.arguments}"
        if key not in self.results:
            outcome = await proceed(operation)
            if isinstance(outcome, InputRequiredResult) or outcome.isError:
                return outcome
            self.results[key] = outcome
        return self.results[key]


@every_place
@every_era
def test_a_layer_that_caches_answers_twice_and_runs_once(after: str, revision: str):
    made = Made(Cached, after)

    async def twice(client: Client) -> list[Any]:
        return [(await client.call_tool("read", text="once")).text for _ in range(2)]

    assert made.during(revision, twice) == ["once", "once"]
    assert made.runs == ["once"]
    assert len(made.records) >= 2, "an operation that is answered from the cache is recorded too"


# --- mistakes ---------------------------------------------------------------------------------------------------------


@every_place
@every_era
def test_a_layer_that_forgets_to_return_the_outcome_is_named_in_the_log(
    after: str, revision: str, caplog: pytest.LogCaptureFixture
):
    async def forget(operation: Operation, proceed: Any) -> None:
        await proceed(operation)

    made = Made(lambda inner: Does(inner, forget), after)
    result = made.call(revision)
    assert "[TT2004]" in result.text
    assert "[TT3404]" in caplog.text


# --- lists, resources, settings ---------------------------------------------------------------------------------------


class OnlyListsReads(Layer, frozen=True):
    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return tuple(tool for tool in await self.inner.list_tools(context) if tool.effect == "read")


@every_era
def test_a_layer_may_change_lists_alone(revision: str):
    made = Made(OnlyListsReads, "stored_results")
    tools = made.during(revision, lambda client: client.list_tools())
    assert [tool.name for tool in tools] == ["read"]
    assert made.call(revision).text == "x"


class Signed(Layer, frozen=True):
    async def read_resource(self, request: ResourceRead) -> Any:
        outcome = await self.inner.read_resource(request)
        assert isinstance(outcome, ReadResourceResult)
        return ReadResourceResult([*outcome.contents, TextResource(uri=request.uri, text=SECRET)])


@every_era
def test_a_resource_that_a_layer_changes_is_cleaned(revision: str):
    made = Made(Signed, "stored_results")
    contents = made.during(revision, lambda client: client.read_resource("a:b"))
    assert contents[0].text == "page"
    assert SECRET not in str(contents)


def test_layers_stay_when_settings_are_exchanged_and_can_be_exchanged_themselves():
    made = Made(layer_of(lambda call: CallToolResult([TextContent(text="early")]), "general"), "audit")
    server = made.server

    async def said(server: Server) -> str:
        async with Client(server) as client:
            return (await client.call_tool("read")).text

    assert asyncio.run(said(server.with_guard(confirm=Confirm.never()))) == "early"
    assert asyncio.run(said(server.with_guard(layers=()))) == "x"


# --- a host -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [stage.name for stage in HOST_STAGES])
def test_a_host_has_a_layer_at_each_place(after: str):
    seen: list[str] = []
    server = Server("s")
    server.tool(lambda: "x", name="read", description="Read.", effect="read")
    layer = layer_of(lambda call: seen.append(call.name), "general")

    async def main() -> Any:
        async with Host({"s": server}, layers=[placed(layer, after=after)], audit=False) as host:
            [tool] = await host.list_tools()
            return await host.call_tool(tool.name, {})

    assert "x" in asyncio.run(main()).text
    assert len(seen) == 1


# --- without a pipeline -----------------------------------------------------------------------------------------------


def test_a_layer_can_be_put_around_one_toolset_alone():
    tools = LocalToolset()
    tools.add(lambda: "x", name="tool", description="Do.")
    seen: list[str] = []
    server = Server("s", toolsets=[guarded(tools, layer_of(lambda call: seen.append(call.name), "general"))])
    server.tool(lambda: "y", name="other", description="Do.")

    async def main() -> None:
        async with Client(server, elicit=lambda question: True) as client:
            await client.call_tool("tool")
            await client.call_tool("other")

    asyncio.run(main())
    assert seen == ["tool"]

"""``transformed``: the published schema is the one that is enforced, and a hidden argument does not exist."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, Field

from tooltrue import Argument, Client, Context, Form, Server, ToolError, Transform, prefixed, renamed, transformed
from tooltrue.contract.digests import pin
from tooltrue.errors import DefinitionError, InvalidArguments, UnknownTool
from tooltrue.protocol.types import CallToolResult, replaced
from tooltrue.server.service import SILENT
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.transforms import Proceed
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext, Tool, ToolCall

CONTEXT = RequestContext(LOCAL, SILENT)


def even(number: int) -> int:
    if number % 2:
        raise ValueError("it must be even")
    return number


Even = Annotated[int, AfterValidator(even)]


class Place(BaseModel):
    street: str
    number: Even = 2


class Key(BaseModel):
    text: str


def library() -> LocalToolset:
    tools = LocalToolset()

    @tools.tool(effect="read")
    def search(query: str, site: str, limit: Even = 10, near: Place | None = None, key: Key | None = None) -> str:
        """Search a site."""
        return f"{query}, {site}, {limit}, {near}, {key}"

    @tools.tool(effect="write", replaces="rm", read_when={"dry_run": True}, preview=lambda arguments: str(arguments))
    def remove(path: str, dry_run: bool = False) -> str:
        """Remove a file."""
        return f"{path}, {dry_run}"

    return tools


def echo(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


def raw(schema: dict[str, Any]) -> LocalToolset:
    tools = LocalToolset()
    tools.add_raw("raw", {"type": "object", **schema}, echo, blocking=False)
    return tools


def listed(provider: Provider, name: str) -> Tool:
    return asyncio.run(provider.find_tool(name, CONTEXT))


def call(provider: Provider, name: str, context: RequestContext = CONTEXT, /, **arguments: Any) -> str:
    outcome = asyncio.run(provider.call_tool(ToolCall(name, arguments, context)))
    assert isinstance(outcome, CallToolResult)
    return outcome.content[0].text


def through(*toolsets: Any, name: str, arguments: dict[str, Any]) -> Any:
    """The result of a call through the whole pipeline."""

    async def once() -> Any:
        async with Client(Server("s", version="1", audit=False, toolsets=toolsets)) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(once())


def search_by(arguments: dict[str, Argument], **more: Any) -> Provider:
    return transformed(library(), {"search": Transform(arguments=arguments, **more)})


DOCS = {"site": Argument(value="docs.example"), "query": Argument(name="words", description="Words to look for.")}


def test_the_published_schema_is_the_one_that_is_enforced():
    view = search_by(DOCS, title="Search the manual", description="Search the manual of the product.")
    tool = listed(view, "search")
    assert (tool.definition.title, tool.definition.description) == (
        "Search the manual",
        "Search the manual of the product.",
    )
    schema = tool.definition.inputSchema
    assert list(schema["properties"]) == ["words", "limit", "near", "key"]
    assert schema["properties"]["words"] == {"type": "string", "description": "Words to look for."}
    assert schema["required"] == ["words"]
    assert tool.input.definition == schema
    assert call(view, "search", words="a", limit=4) == "a, docs.example, 4, None, None"
    for arguments in ({"words": "a", "site": "x"}, {"query": "a"}, {}, {"words": 1}):
        with pytest.raises(InvalidArguments):
            call(view, "search", **arguments)
        assert through(view, name="search", arguments=arguments).is_error


def test_a_new_definition_has_a_new_pin_and_the_same_object_while_unchanged():
    tools = library()
    view = transformed(tools, {"search": Transform(arguments=DOCS)})
    tool = listed(view, "search")
    assert tool is listed(view, "search") is view.known_tool("search", CONTEXT)
    assert tool in asyncio.run(view.list_tools(CONTEXT))
    assert pin(tool.definition) != pin(listed(tools, "search").definition)


def test_a_problem_that_the_function_finds_has_the_names_of_the_caller():
    view = search_by({**DOCS, "limit": Argument(name="most"), "near": Argument(name="around")})
    with pytest.raises(InvalidArguments) as caught:
        call(view, "search", words="a", most=3, around={"street": "s", "number": 5})
    assert "- $.most: Value error, it must be even\n- $.around.Place.number: " in str(caught.value) or (
        "- $.most: Value error, it must be even\n- $.around.number: " in str(caught.value)
    )
    assert "limit" not in str(caught.value)


def test_a_problem_of_a_hidden_argument_is_for_the_author_alone():
    view = search_by({**DOCS, "limit": Argument(factory=lambda: 3)})
    result = through(view, name="search", arguments={"words": "a"})
    assert result.is_error
    assert result.text.startswith("search failed: internal error ")
    with pytest.raises(DefinitionError) as caught:
        call(search_by({**DOCS, "limit": Argument(factory=lambda: "many")}), "search", words="a")
    assert caught.value.code == "TT3450"


@pytest.mark.parametrize("hidden", ["city.key", "city:key", "city[key]"])
def test_a_hidden_argument_is_not_shown_under_a_name_that_it_begins_with(hidden: str):
    def refuse(value: str) -> str:
        raise ValueError(f"wrong: {value}")

    def find(city: str, key: str) -> str:
        """Find a city."""
        return city

    find.__annotations__["key"] = Annotated[str, Field(alias=hidden), AfterValidator(refuse)]
    find.__annotations__["city"] = find.__annotations__["return"] = str
    tools = LocalToolset()
    tools.add(find, effect="read")
    made = transformed(tools, {"find": Transform(arguments={hidden: Argument(value="fixed-value")})})
    result = through(made, name="find", arguments={"city": "x"})
    assert result.text.startswith("find failed: internal error ")
    assert "fixed-value" not in result.text


def test_a_prefixed_tool_reports_problems_under_its_own_name():
    result = through(prefixed(library(), "x"), name="x_search", arguments={"query": "a", "site": "b", "limit": 3})
    assert result.text.startswith("Invalid arguments for x_search:\n- $.limit: Value error")


def test_a_factory_makes_a_value_for_each_call():
    made: list[str] = []

    async def of_caller(context: Context) -> str:
        made.append(context.principal.id)
        return f"{context.principal.id}.example"

    view = search_by({"site": Argument(factory=of_caller)})
    for name in ("ann", "bob"):
        assert call(view, "search", RequestContext(Principal(name), SILENT), query="a").startswith(f"a, {name}.example")
    assert made == ["ann", "bob"]


def test_a_record_has_the_arguments_of_the_caller_alone():
    view = search_by({**DOCS, "key": Argument(factory=lambda: {"text": "sesame"})})
    server = Server("s", version="1", audit="memory:", toolsets=[view])

    async def act() -> list[Any]:
        async with server.serving(), Client(server) as client:
            assert "sesame" in (await client.call_tool("search", words="a")).text
            await client.call_tool("search", words="a", key={"text": "mine"})
        return [entry.record for entry in await server.audit_log.read()]

    good, refused = asyncio.run(act())
    assert "sesame" not in str(good)
    assert "docs.example" not in str(good)
    assert "words" in str(good)
    assert refused["outcome"] != good["outcome"]


def test_a_fixed_value_may_be_null_and_is_never_shared():
    tools = LocalToolset()

    def grow(items: list[int], note: str | None = "x") -> list[Any]:
        items.append(1)
        return [items, note]

    tools.add(grow)
    view = transformed(
        tools, {"grow": Transform(arguments={"items": Argument(value=[]), "note": Argument(value=None)})}
    )
    assert listed(view, "grow").definition.inputSchema["properties"] == {}
    assert [call(view, "grow") for _ in range(2)] == ["[[1],null]"] * 2


def test_definitions_that_only_hidden_arguments_use_are_not_published():
    schema = listed(search_by({**DOCS, "key": Argument(hidden=True)}), "search").definition.inputSchema
    assert list(schema["$defs"]) == ["Place"]
    assert "Key" not in json.dumps(schema)
    schema = listed(
        search_by({"key": Argument(hidden=True), "near": Argument(hidden=True)}), "search"
    ).definition.inputSchema
    assert "$defs" not in schema


def test_a_default_makes_an_argument_optional():
    view = search_by({"site": Argument(default="docs.example")})
    assert listed(view, "search").definition.inputSchema["required"] == ["query"]
    assert listed(view, "search").defaults["site"] == "docs.example"
    assert call(view, "search", query="a").startswith("a, docs.example")
    assert call(view, "search", query="a", site="b").startswith("a, b")


def test_an_open_schema_is_closed_where_a_name_is_taken_away():
    tools = raw({"properties": {"a": {"type": "string"}, "b": {}}})
    view = transformed(tools, {"raw": Transform(arguments={"a": Argument(value="x")})})
    assert listed(view, "raw").definition.inputSchema == {
        "type": "object",
        "properties": {"b": {}},
        "additionalProperties": False,
    }
    with pytest.raises(InvalidArguments):
        call(view, "raw", a="y")
    described = transformed(tools, {"raw": Transform(arguments={"a": Argument(description="A.")})})
    assert call(described, "raw", a="y", c=1) == '{"a": "y", "c": 1}'


def test_what_names_an_argument_follows_its_new_name():
    tools = raw(
        {
            "properties": {"a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string"}},
            "dependentRequired": {"a": ["b"], "b": ["a"]},
            "examples": [{"a": "x", "b": "y"}],
        }
    )
    tool = listed(transformed(tools, {"raw": Transform(arguments={"a": Argument(name="c")})}), "raw")
    assert tool.mirrors == (("Region", ("c",), "string"),)
    assert tool.definition.inputSchema["dependentRequired"] == {"c": ["b"], "b": ["c"]}
    assert tool.definition.inputSchema["examples"] == [{"c": "x", "b": "y"}]


def test_the_mirror_of_a_hidden_argument_is_gone():
    tools = raw({"properties": {"a": {"type": "string", "x-mcp-header": "Region"}}, "examples": [{"a": "x"}]})
    tool = listed(transformed(tools, {"raw": Transform(arguments={"a": Argument(value="eu")})}), "raw")
    assert tool.mirrors == ()
    assert "Region" not in json.dumps(tool.definition.inputSchema)
    assert call(transformed(tools, {"raw": Transform(arguments={"a": Argument(value="eu")})}), "raw") == '{"a": "eu"}'


A_STRING = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"dependentSchemas": {"b": {"required": ["a"]}}},
        {"patternProperties": {"^x": {}}},
        {"propertyNames": {"pattern": "^[ab]$"}},
        {"minProperties": 1},
        {"additionalProperties": {"type": "string"}},
        {"dependentRequired": {"b": ["a"]}},
        {"required": ["c"]},
        {"x-order": ["a", "b"]},
        {"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}},
        {"properties": {"a": {"type": "string"}, "b": {"items": {"$ref": "#"}}}},
    ],
)
def test_a_schema_that_may_name_the_argument_elsewhere_is_refused(schema: dict[str, Any]):
    with pytest.raises(DefinitionError) as caught:
        transformed(raw({**A_STRING, **schema}), {"raw": Transform(arguments={"a": Argument(value="x")})})
    assert caught.value.code == "TT3447"
    transformed(raw({**A_STRING, **schema}), {"raw": Transform(arguments={"a": Argument(description="A.")})})


@pytest.mark.parametrize(
    ("transforms", "code"),
    [
        (lambda: {"none": Transform()}, "TT3441"),
        (lambda: {"rm": Transform()}, "TT3441"),
        (lambda: {"search": Transform(arguments={"none": Argument(name="a")})}, "TT3442"),
        (lambda: {"search": Transform(arguments={"query": Argument(hidden=True)})}, "TT3443"),
        (lambda: {"search": Transform(arguments={"query": Argument(hidden=True, default="a")})}, "TT3444"),
        (lambda: {"search": Transform(arguments={"query": Argument(value=None, factory=str)})}, "TT3444"),
        (lambda: {"search": Transform(arguments={"query": Argument(value="a", name="b")})}, "TT3444"),
        (lambda: {"search": Transform(arguments={"query": Argument(name="limit")})}, "TT3445"),
        (lambda: {"search": Transform(arguments={"query": Argument(value=1)})}, "TT3446"),
        (lambda: {"search": Transform(arguments={"near": Argument(value={"street": 1})})}, "TT3446"),
        (lambda: {"search": Transform(arguments={"limit": Argument(default="x")})}, "TT3011"),
        (lambda: {"remove": Transform(effect="read")}, "TT3448"),
        (lambda: {"remove": Transform(confirm=False)}, "TT3448"),
        (lambda: {"remove": Transform(arguments={"path": Argument(factory=lambda: "a")})}, "TT3449"),
        (lambda: {"search": Transform(arguments={"query": Argument(factory=lambda a, b: "")})}, "TT3012"),
    ],
)
def test_a_transformation_that_does_not_fit_is_refused_where_it_is_made(transforms: Any, code: str):
    with pytest.raises(DefinitionError) as caught:
        transformed(library(), transforms())
    assert caught.value.code == code


def test_effects_and_consent_become_stricter_only():
    view = transformed(library(), {"search": Transform(effect="open-world", confirm=True, requires=["admin"])})
    tool = listed(view, "search")
    assert (tool.effect, tool.confirm, tool.requires) == ("open-world", True, frozenset({"admin"}))
    hints = tool.definition.annotations
    assert hints is not None
    assert (hints.readOnlyHint, hints.destructiveHint, hints.openWorldHint) == (False, True, True)


@pytest.mark.parametrize(
    ("argument", "marks"),
    [
        (Argument(name="try_only"), {"try_only": True}),
        (Argument(value=True), {}),
        (Argument(value=False), {}),
        (Argument(hidden=True), {}),
        (Argument(default=True), {"dry_run": True}),
    ],
)
def test_no_transformation_makes_a_call_look_harmless(argument: Argument, marks: dict[str, bool]):
    tool = listed(transformed(library(), {"remove": Transform(arguments={"dry_run": argument})}), "remove")
    assert tool.read_when == marks
    assert tool.effect_with({"path": "a", "dry_run": True}) == ("read" if "dry_run" in marks else "write")


def test_a_preview_gets_the_arguments_of_the_inner_tool():
    view = transformed(
        library(), {"remove": Transform(arguments={"path": Argument(name="file"), "dry_run": Argument(value=True)})}
    )
    preview = listed(view, "remove").preview
    assert preview is not None

    async def once() -> Any:
        return await preview({"file": "a"})

    assert asyncio.run(once()) == "{'dry_run': True, 'path': 'a'}"


def test_an_old_name_does_not_lead_past_the_transformation():
    view = transformed(library(), {"remove": Transform(arguments={"dry_run": Argument(value=True)})})
    assert call(view, "rm", path="a") == "a, True"
    with pytest.raises(InvalidArguments):
        call(view, "rm", path="a", dry_run=False)


def test_transformations_stack_with_other_views():
    inner = renamed(search_by(DOCS), {"search": "manual"})
    outer = transformed(
        inner, {"manual": Transform(arguments={"words": Argument(name="text"), "limit": Argument(value=4)})}
    )
    assert call(outer, "manual", text="a") == "a, docs.example, 4, None, None"
    with pytest.raises(InvalidArguments, match=r"\$\.text is required"):
        call(outer, "manual")


# --- wrapping


async def shouting(call: ToolCall, proceed: Proceed) -> Any:
    outcome = await proceed(replaced(call, arguments={**call.arguments, "words": call.arguments["words"].upper()}))
    assert isinstance(outcome, CallToolResult)
    return outcome.content[0].text + "!"


def test_a_call_is_wrapped_with_the_arguments_of_the_caller():
    view = search_by(DOCS, wrap=shouting)
    assert through(view, name="search", arguments={"words": "a"}).text == "A, docs.example, 10, None, None!"


def test_a_wrapper_can_refuse_and_answer_by_itself():
    async def refusing(call: ToolCall, proceed: Proceed) -> Any:
        if "secret" in call.arguments["words"]:
            raise ToolError("Do not search for that.")
        return "cached"

    view = search_by(DOCS, wrap=refusing)
    assert through(view, name="search", arguments={"words": "secret"}).text == "Do not search for that."
    assert through(view, name="search", arguments={"words": "a"}).text == "cached"


@pytest.mark.parametrize("changed", [{"site": "evil"}, {"words": 1}, {}])
def test_a_wrapper_cannot_set_a_hidden_argument_either(changed: dict[str, Any]):
    async def wrap(call: ToolCall, proceed: Proceed) -> Any:
        return await proceed(replaced(call, arguments=changed))

    with pytest.raises(DefinitionError) as caught:
        call(search_by(DOCS, wrap=wrap), "search", words="a")
    assert caught.value.code == "TT3453"


def test_a_wrapper_may_ask_the_person():
    class Sure(BaseModel):
        yes: bool

    async def asking(call: ToolCall, proceed: Proceed) -> Any:
        answer = call.context.ask(Form("Sure?", Sure))
        return await proceed(call) if answer and answer.value.yes else "no"

    server = Server("s", version="1", audit=False, toolsets=[search_by(DOCS, wrap=asking)])

    def accepting(question: object) -> dict[str, Any]:
        return {"yes": True}

    async def once() -> str:
        async with Client(server, elicit=accepting) as client:
            return (await client.call_tool("search", words="a")).text

    assert asyncio.run(once()).startswith("a, docs.example")


# --- tools that change, and servers elsewhere


class Elsewhere(Wrapper, frozen=True):
    """A provider whose tools are not known without waiting."""

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        return None


def test_a_tool_elsewhere_whose_definition_does_not_fit_is_withheld(caplog: pytest.LogCaptureFixture):
    view = transformed(
        Elsewhere(library()),
        {"search": Transform(arguments={"none": Argument(value=1)}), "later": Transform(description="Later.")},
    )
    for _ in range(2):
        assert [tool.name for tool in asyncio.run(view.list_tools(CONTEXT))] == ["remove"]
    with pytest.raises(UnknownTool):
        asyncio.run(view.find_tool("search", CONTEXT))
    with pytest.raises(UnknownTool):
        asyncio.run(view.call_tool(ToolCall("search", {}, CONTEXT)))
    assert [text[-8:] for text in caplog.messages] == ["[TT3452]", "[TT3451]"]


def test_a_tool_that_is_exchanged_is_transformed_anew_or_withheld(caplog: pytest.LogCaptureFixture):
    tools = raw(A_STRING)
    view = transformed(tools, {"raw": Transform(arguments={"a": Argument(value="x")})})
    before = listed(view, "raw")
    tools.remove("raw")
    tools.add_raw("raw", {"type": "object", "properties": {"a": {}, "c": {}}}, echo)
    after = listed(view, "raw")
    assert list(after.definition.inputSchema["properties"]) == ["c"]
    with pytest.raises(UnknownTool):
        asyncio.run(view.call_tool(ToolCall("raw", {"b": "y"}, CONTEXT, tool=before)))
    tools.remove("raw")
    tools.add_raw("raw", {"type": "object"}, echo)
    with pytest.raises(UnknownTool):
        view.known_tool("raw", CONTEXT)
    assert "TT3451" in caplog.text

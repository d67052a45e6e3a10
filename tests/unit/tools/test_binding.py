"""Binding a function as a tool: the schemas it produces, and the refusals with their fix."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import operator
from collections.abc import Awaitable
from typing import Annotated, Any, Literal

import pydantic
import pytest
from annotated_types import Ge, Len
from pydantic import Field
from typing_extensions import TypedDict

from tooltrue import Context, Depends, ImageContent, Server, TextContent
from tooltrue.errors import DefinitionError
from tooltrue.protocol import types as wire
from tooltrue.server.service import SILENT
from tooltrue.tools.binding import Bound, ToolOptions, bind, bind_raw
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

POOL = ThreadPool(4)
CONTEXT = RequestContext(LOCAL, SILENT)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(pydantic.BaseModel):
    x: int
    y: int = 0


@dataclasses.dataclass
class Box:
    at: Point
    name: str = "box"


class Row(TypedDict):
    id: int
    note: str | None


def bound(function: Any, **settings: Any) -> Bound:
    return bind(function, ToolOptions(**settings), POOL)


def properties(function: Any, **settings: Any) -> dict[str, Any]:
    return bound(function, **settings).tool.definition.inputSchema.get("properties", {})


def output(function: Any) -> Any:
    return bound(function).tool.definition.outputSchema


def finished(outcome: Awaitable[Any]) -> Any:
    async def main() -> Any:
        return await outcome

    return asyncio.run(main())


def outcome_of(function: Any, /, name: str = "t", **arguments: Any) -> Any:
    return finished(bound(function, name=name).run(ToolCall(name, arguments, CONTEXT)))


def run(function: Any, /, name: str = "t", **arguments: Any) -> Any:
    """The result of the function for valid arguments."""
    outcome = outcome_of(function, name, **arguments)
    return outcome.content[0].text if outcome.encoded is None else outcome.structuredContent


def refusal(function: Any, **settings: Any) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        bound(function, **settings)
    return caught.value


# -- the input schema --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SCH-03", "SCH-13")
def test_a_schema_is_closed_and_says_types_requirements_and_defaults():
    def tool(a: int, b: float, c: bool = True, d: list[str] | None = None) -> str: ...

    assert bound(tool).tool.definition.inputSchema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "number"},
            "c": {"type": "boolean", "default": True},
            "d": {"anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}], "default": None},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_takes_an_empty_object():
    def tool() -> str: ...

    assert bound(tool).tool.definition.inputSchema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


@pytest.mark.requirement("SCH-03")
def test_nested_objects_are_closed_unless_they_say_otherwise():
    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        a: int

    def tool(box: Box, row: Row, free: dict[str, int], open: Open) -> str: ...

    tool.__annotations__["open"] = Open
    schema = bound(tool).tool.definition.inputSchema
    closed = {name: definition["additionalProperties"] for name, definition in schema["$defs"].items()}
    assert closed == {"Box": False, "Point": False, "Row": False, "Open": True}
    assert schema["properties"]["free"]["additionalProperties"] == {"type": "integer"}


def test_generated_titles_are_not_published():
    class Named(pydantic.BaseModel):
        title: str
        value: Annotated[int, Field(title="The value")]

    def tool(title: str, named: Named) -> str: ...

    tool.__annotations__["named"] = Named
    schema = bound(tool).tool.definition.inputSchema
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["$defs"]["Named"]["properties"] == {
        "title": {"type": "string"},
        "value": {"type": "integer", "title": "The value"},
    }
    assert "title" not in schema["$defs"]["Named"]


def test_words_beside_a_type_describe_it_and_win_over_the_docstring():
    def tool(
        a: Annotated[str, "From the annotation"], b: str, c: Annotated[str, Field(description="From Field")]
    ) -> str:
        """Do.

        Args:
            a: From the docstring.
            b: From the docstring.
            c: From the docstring.
        """
        return a

    described = {name: schema["description"] for name, schema in properties(tool).items()}
    assert described == {"a": "From the annotation", "b": "From the docstring.", "c": "From Field"}


def test_constraints_are_published():
    def tool(
        a: Annotated[int, Field(ge=1, le=9)],
        b: Annotated[int, Ge(2)],
        c: Annotated[list[int], Len(1, 3)],
        d: int = Field(5, gt=0, description="Five"),
        e: Annotated[str, Field(pattern="^a")] = "a",
    ) -> str: ...

    assert properties(tool) == {
        "a": {"type": "integer", "minimum": 1, "maximum": 9},
        "b": {"type": "integer", "minimum": 2},
        "c": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
        "d": {"type": "integer", "exclusiveMinimum": 0, "description": "Five", "default": 5},
        "e": {"type": "string", "pattern": "^a", "default": "a"},
    }


def test_a_field_without_a_default_is_required():
    def tool(a: int = Field(ge=1)) -> str: ...

    assert bound(tool).tool.definition.inputSchema["required"] == ["a"]


def test_choices_are_published():
    def tool(a: Literal["x", "y"], b: Colour, c: Literal[1, 2]) -> str: ...

    schema = bound(tool).tool.definition.inputSchema
    assert schema["properties"]["a"]["enum"] == ["x", "y"]
    assert schema["$defs"]["Colour"]["enum"] == ["red", "blue"]
    assert schema["properties"]["c"]["enum"] == [1, 2]


def test_a_default_is_published_as_json_says_it():
    def tool(a: Colour = Colour.RED, b: Point = Point(x=1), c: Box = Box(Point(x=2))) -> str: ...  # noqa: B008

    defaults = {name: schema["default"] for name, schema in properties(tool).items()}
    assert defaults == {"a": "red", "b": {"x": 1, "y": 0}, "c": {"at": {"x": 2, "y": 0}, "name": "box"}}


def test_an_alias_is_the_name_on_the_wire_with_its_default():
    def tool(a: Annotated[int, Field(alias="from")] = 1) -> int:
        return a

    assert set(properties(tool)) == {"from"}
    assert run(tool, "t", **{"from": 2}) == 2


def test_context_and_dependencies_are_hidden():
    def tool(a: int, b: Annotated[int, Depends(lambda: 1)], context: Context | None = None) -> str: ...

    schema = bound(tool).tool.definition.inputSchema
    assert set(schema["properties"]) == {"a"}
    assert schema["required"] == ["a"]


# -- forms of functions ------------------------------------------------------------------------------------------------


class Counter:
    """Counts."""

    def method(self, a: int) -> int:
        """Adds one."""
        return a + 1

    async def later(self, a: int) -> int:
        return a + 2

    @classmethod
    def of_class(cls, a: int) -> int:
        return a + 3

    @staticmethod
    def static(a: int) -> int:
        return a + 4

    def __call__(self, a: int) -> int:
        return a + 5


class Later:
    async def __call__(self, a: int) -> int:
        return a + 6


def plain(a: int, b: int = 10) -> int:
    """Adds."""
    return a + b


async def coroutine(a: int, b: int = 10) -> int:
    """Adds."""
    return a + b


def positional(a: int, b: int = 2, /, c: int = 3) -> int:
    return a * 100 + b * 10 + c


def keyword(*, a: int) -> int:
    return a


@functools.wraps(plain)
def wrapped(*arguments: Any, **more: Any) -> Any:
    return plain(*arguments, **more)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (plain, 11),
        (coroutine, 11),
        (Counter().method, 2),
        (Counter().later, 3),
        (Counter.of_class, 4),
        (Counter.static, 5),
        (Counter(), 6),
        (Later(), 7),
        (functools.partial(plain, b=20), 21),
        (functools.partial(coroutine, b=20), 21),
        (functools.partial(functools.partial(plain), b=30), 31),
        (functools.partial(Counter().method), 2),
        (keyword, 1),
        (positional, 123),
        (wrapped, 11),
    ],
)
def test_every_form_of_a_function_is_a_tool(function: Any, expected: int):
    assert properties(function, name="t")["a"] == {"type": "integer"}
    assert run(function, a=1) == expected


@pytest.mark.parametrize(
    "function", [functools.partial(plain, b=1), functools.partial(coroutine, b=1), plain, coroutine]
)
def test_a_partial_is_described_by_its_function(function: Any):
    assert bound(function, name="t").tool.definition.description == "Adds."


def test_a_callable_object_is_described_by_its_class_and_a_method_by_itself():
    assert bound(Counter(), name="t").tool.definition.description == "Counts."
    assert bound(Counter().method).tool.definition.description == "Adds one."


def test_an_argument_that_a_partial_has_filled_is_not_asked_for():
    assert set(properties(functools.partial(plain, 1), name="t")) == {"b"}


# -- the output schema -------------------------------------------------------------------------------------------------


def test_a_return_type_with_a_shape_has_a_schema():
    def number() -> int: ...
    def rows() -> list[Row]: ...
    def box() -> Box: ...
    def maybe() -> Point | None: ...
    def mapping() -> dict[str, list[int]]: ...

    assert output(number) == {"type": "integer"}
    assert output(rows)["items"] == {"$ref": "#/$defs/Row"}
    assert output(box)["required"] == ["at"]
    assert {"type": "null"} in output(maybe)["anyOf"]
    assert output(mapping) == {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "integer"}},
    }


def test_a_list_of_strings_has_an_output_schema_under_any_annotation_of_its_items():
    def some() -> list[str | None]: ...
    def named() -> list[Annotated[str, Field(min_length=1)]]: ...

    assert output(some) == {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}
    assert output(named) == {"type": "array", "items": {"type": "string", "minLength": 1}}


@pytest.mark.parametrize(
    "returns", [str, None, Any, ImageContent, list[TextContent | ImageContent], TextContent | str, str | None]
)
def test_text_blocks_and_nothing_have_none(returns: Any):
    def tool() -> Any: ...

    tool.__annotations__["return"] = returns
    assert output(tool) is None


def test_a_result_with_its_own_content_blocks_has_the_schema_of_its_structured_value():
    def picture() -> dict[str, int] | wire.CallToolResult:
        return wire.CallToolResult([TextContent(text="two")], {"points": 2})

    def question() -> dict[str, int] | wire.InputRequiredResult: ...

    assert output(picture) == output(question) == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert (outcome_of(picture).content, outcome_of(picture).structuredContent) == (
        [TextContent(text="two")],
        {"points": 2},
    )


def test_a_list_of_blocks_that_is_empty_is_no_content_and_no_value():
    async def promised() -> list[ImageContent | TextContent]:
        return []

    async def anything() -> Any:
        return []

    assert outcome_of(promised) == wire.CallToolResult([])
    assert outcome_of(anything).structuredContent == []


# -- refused functions -------------------------------------------------------------------------------------------------


def generator() -> Any:
    yield 1


async def async_generator() -> Any:
    yield 1


def untyped(a, b: int) -> str: ...
def variable(*values: int) -> str: ...
def keywords(**values: int) -> str: ...
def two_contexts(one: Context, two: Context) -> str: ...
def shapeless(a: asyncio.Event) -> str: ...
def missing(a: Nowhere) -> str: ...  # noqa: F821  # pyright: ignore[reportUndefinedVariable] - the fault
def wrong_default(a: int = "x") -> str: ...  # pyright: ignore[reportArgumentType] - the fault
def out_of_range(a: Annotated[int, Field(ge=5)] = 1) -> str: ...
def greedy(a: Annotated[int, Depends(lambda one, two: 1)]) -> str: ...
def shapeless_result() -> asyncio.Event: ...


def of_builtin(a: Annotated[dict[str, int], Depends(dict)]) -> int:
    return 0


@pytest.mark.parametrize(
    ("function", "settings", "code", "fix"),
    [
        (generator, {}, "TT3001", "return one value"),
        (async_generator, {}, "TT3001", "return one value"),
        (variable, {}, "TT3002", "name each parameter"),
        (keywords, {}, "TT3002", "name each parameter"),
        (missing, {}, "TT3003", "module level"),
        (set[str]().add, {}, "TT3036", "wrap it"),
        (list[str]().append, {}, "TT3036", "wrap it"),
        (operator.itemgetter("a"), {"name": "a"}, "TT3036", "wrap it"),
        (two_contexts, {}, "TT3004", "only one parameter"),
        (untyped, {}, "TT3005", "a: str"),
        (shapeless, {}, "TT3038", "Depends"),
        (shapeless_result, {}, "TT3041", "JSON types"),
        (lambda: 1, {}, "TT3007", "name="),
        (plain, {"name": "no spaces"}, "TT3007", "read_file"),
        (functools.partial(plain, 1), {}, "TT3007", "name="),
        (plain, {"effect": "deadly"}, "TT3008", "destructive"),
        (plain, {"examples": [{"a": "x"}]}, "TT3010", "Correct"),
        (plain, {"examples": [{"a": 1, "z": 1}]}, "TT3010", "Correct"),
        (wrong_default, {}, "TT3011", "change the default or the type"),
        (out_of_range, {}, "TT3011", "change the default or the type"),
        (greedy, {}, "TT3012", "give each a type"),
        (of_builtin, {}, "TT3036", "wrap it"),
    ],
)
def test_a_wrong_definition_is_refused_at_once_with_its_fix(function: Any, settings: Any, code: str, fix: str):
    error = refusal(function, **settings)
    assert error.code == code
    assert fix in str(error)
    assert "Tool '" in str(error), "says which tool"


def test_a_refusal_names_the_file_and_the_line_of_the_function():
    assert f"{__file__}:{untyped.__code__.co_firstlineno}" in str(refusal(untyped))


# -- raw schemas -------------------------------------------------------------------------------------------------------


def raw(schema: Any, handler: Any = lambda arguments: arguments, output: Any = None) -> Bound:
    definition = wire.ToolDefinition(name="raw", inputSchema=schema, outputSchema=output)
    return bind_raw(handler, definition, ToolOptions(blocking=False), POOL)


@pytest.mark.requirement("TOOL-07")
@pytest.mark.parametrize("schema", [{}, {"type": "array"}, {"type": ["object", "null"]}, {"properties": {}}])
def test_a_raw_schema_that_is_not_an_objects_is_refused(schema: Any):
    with pytest.raises(DefinitionError) as caught:
        raw(schema)
    assert caught.value.code == "TT3009"


@pytest.mark.requirement("SCH-05")
def test_a_raw_schema_of_an_unsupported_dialect_is_refused_by_name():
    with pytest.raises(DefinitionError) as caught:
        raw({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"})
    assert caught.value.code == "TT3103"
    assert "draft-04" in str(caught.value)


@pytest.mark.requirement("SCH-13")
def test_a_raw_schema_of_another_dialect_is_published_with_its_name():
    declared = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    assert raw(declared).tool.definition.inputSchema == declared
    assert raw({"type": "object"}).tool.definition.inputSchema == {"type": "object"}


def test_a_raw_handler_takes_arguments_and_if_it_wants_the_context():
    async def with_context(arguments: Any, context: Any) -> Any:
        return [arguments["a"], context.principal.id]

    for handler, expected in ((lambda arguments: arguments["a"], 1), (with_context, [1, "local"])):
        outcome = finished(raw({"type": "object"}, handler).run(ToolCall("raw", {"a": 1}, CONTEXT)))
        assert outcome.structuredContent == expected


def test_a_raw_handler_with_an_output_schema_returns_json_even_when_it_is_text():
    handler = raw({"type": "object"}, lambda arguments: "text", {"type": "string"})
    assert finished(handler.run(ToolCall("raw", {}, CONTEXT))).structuredContent == "text"


# -- declared effects --------------------------------------------------------------------------------------------------


def hints(**settings: Any) -> Any:
    return ToolOptions(**settings).annotations()


def test_effects_become_hints_and_nothing_declared_says_nothing():
    assert hints() is None
    assert hints(idempotent=True) == wire.ToolAnnotations(idempotentHint=True)
    read, write, destructive = hints(effect="read"), hints(effect="write"), hints(effect="destructive")
    assert (read.readOnlyHint, read.destructiveHint, read.openWorldHint) == (True, None, False)
    assert (write.readOnlyHint, write.destructiveHint, write.openWorldHint) == (False, False, False)
    assert (destructive.readOnlyHint, destructive.destructiveHint) == (False, True)
    assert hints(effect="open-world").openWorldHint is True
    assert hints(effect="open-world").destructiveHint is True
    assert hints(effect="read", open_world=True).openWorldHint is True
    assert hints(effect="write", idempotent=True).idempotentHint is True


def test_a_plain_function_is_marked_as_not_stoppable():
    assert not bound(plain).tool.stoppable
    assert bound(plain, blocking=False).tool.stoppable
    assert bound(coroutine).tool.stoppable


# -- meta --------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("META-02", "META-03", "META-05")
@pytest.mark.parametrize("key", ["x y", "-a/x", "a/b/x", "x-", "", "io.modelcontextprotocol/x", "progressToken"])
def test_a_tool_is_published_with_no_key_that_is_none_or_not_its_authors(key: str):
    def tool() -> None: ...

    assert bound(tool, meta={"com.example/x": 1}).tool.definition.meta == {"com.example/x": 1}
    assert refusal(tool, meta={key: 1}).code == "TT3035"
    with pytest.raises(DefinitionError, match=r"test_binding\.py"):
        bind_raw(lambda arguments: None, wire.ToolDefinition("t", {"type": "object"}), ToolOptions(meta={key: 1}), POOL)


def test_a_method_in_the_body_of_its_class_says_how_to_register_it():
    server = Server("t")

    def define() -> None:
        class Calculator:
            @server.tool
            def add(self, a: int) -> int:
                return a

    with pytest.raises(DefinitionError, match=r"server\.add_tool\(Calculator\(\)\.add\)"):
        define()


@pytest.mark.parametrize("name", ["annotations", "readOnlyHint", "destructiveHint"])
def test_hints_of_other_libraries_point_to_the_effect(name: str):
    hint: dict[str, Any] = {name: True}
    with pytest.raises(DefinitionError, match="effect="):
        Server("t").add_tool(plain, **hint)

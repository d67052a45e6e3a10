"""Resources, templates and prompts of this process."""

from __future__ import annotations

import asyncio
import enum
import threading
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import quote
from uuid import UUID

import pydantic
import pytest

from tooltrue import Annotations, BlobResource, Completes, Context, Depends, TextContent, TextResource
from tooltrue.errors import DefinitionError, InvalidParams, InvalidResult, UnknownEntry
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import Completion, ImageContent, PromptMessage, PromptResult, ReadResourceResult
from tooltrue.server.service import SILENT
from tooltrue.tools.library import LocalLibrary, shelved
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.views import combined
from tooltrue.tools.vocabulary import LOCAL, CompletionGet, PromptGet, ProviderChange, RequestContext, ResourceRead

CONTEXT = RequestContext(LOCAL, SILENT)


def read(library: Any, uri: str) -> Any:
    return asyncio.run(library.read_resource(ResourceRead(uri, CONTEXT))).contents


def get(library: Any, name: str = "prompt", **arguments: str) -> PromptResult:
    return asyncio.run(library.get_prompt(PromptGet(name, arguments, CONTEXT)))


def complete(library: Any, argument: str, value: str, name: str = "prompt", **arguments: str) -> Completion:
    of: Any = "template" if "{" in name else "prompt"
    return asyncio.run(library.complete(CompletionGet(of, name, argument, value, arguments, CONTEXT)))


def with_resource(value: Any, **settings: Any) -> LocalLibrary:
    library = LocalLibrary()
    library.add_resource("a:b", lambda: value, **settings)
    return library


def with_prompt(function: Any, **settings: Any) -> LocalLibrary:
    library = LocalLibrary()
    library.add_prompt(function, name="prompt", **settings)
    return library


class Tea(pydantic.BaseModel):
    name: str


TEXT = TextResource(uri="a:1", text="x")
BLOB = BlobResource(uri="a:2", blob="AAA=", mimeType="image/png")

# -- reading -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "contents"),
    [
        ("x", [TextResource(uri="a:b", text="x", mimeType="text/plain")]),
        ("", [TextResource(uri="a:b", text="", mimeType="text/plain")]),
        (b"\xff", [BlobResource(uri="a:b", blob="/w==", mimeType="application/octet-stream")]),
        ({"a": [1, None]}, [TextResource(uri="a:b", text='{"a":[1,null]}', mimeType="application/json")]),
        ([], [TextResource(uri="a:b", text="[]", mimeType="application/json")]),
        (Tea(name="x"), [TextResource(uri="a:b", text='{"name":"x"}', mimeType="application/json")]),
        (TEXT, [TEXT]),
        ([TEXT, BLOB], [TEXT, BLOB]),
        (ReadResourceResult([BLOB]), [BLOB]),
    ],
)
def test_a_resource_has_the_contents_that_its_function_returns(value: Any, contents: Any):
    assert read(with_resource(value), "a:b") == contents


def test_the_declared_type_goes_before_the_one_of_the_value():
    for value in ("x", b"x", {"x": 1}):
        assert read(with_resource(value, mime_type="text/x"), "a:b")[0].mimeType == "text/x"


@pytest.mark.parametrize("value", [None, ReadResourceResult([])])
def test_a_resource_function_that_returns_none_makes_an_unknown_entry(value: Any):
    with pytest.raises(UnknownEntry) as caught:
        read(with_resource(value), "a:b")
    assert (caught.value.number, caught.value.data) == (-32602, {"uri": "a:b"})


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        object(),
        BlobResource(uri="a:b", blob="?"),
        ReadResourceResult(["x"]),
        {1: object()},
        ReadResourceResult([TEXT], {"x y": 1}),
        [TextResource(uri="a:b", text="", meta={"x y": 1})],
    ],
)
def test_a_resource_value_without_a_content_form_is_an_invalid_result(value: Any):
    with pytest.raises(InvalidResult):
        read(with_resource(value), "a:b")


def made(context: Context) -> str:
    return context.principal.id


def test_a_template_function_receives_its_typed_variables_and_injected_dependencies():
    library = LocalLibrary()

    @library.resource("a:{number}/{+path}")
    def item(number: int, path: str, context: Context, who: Annotated[str, Depends(made)], extra: bool = True) -> Any:
        return [number, path, context.principal.id, who, extra]

    assert read(library, "a:7/b/c")[0].text == '[7,"b/c","local","local",true]'
    assert item(1, "p", CONTEXT, "w") == [1, "p", "local", "w", True]
    for uri in ("a:x/b", "a:7/", "a:7"):
        with pytest.raises(UnknownEntry):
            read(library, uri)


def test_a_resource_goes_before_a_template_and_the_first_template_before_the_next():
    library = LocalLibrary()
    library.add_resource("a:{x}", _first)
    library.add_resource("a:{+x}", _second)
    library.add_resource("a:fixed", lambda: "fixed")
    assert [read(library, uri)[0].text for uri in ("a:fixed", "a:one", "a:one/two")] == ["fixed", "first", "second"]


class Size(enum.Enum):
    SMALL = "small"


Lower = Annotated[str, pydantic.AfterValidator(str.lower)]
Trimmed = Annotated[str, pydantic.StringConstraints(strip_whitespace=True)]
Named = Annotated[str, pydantic.AfterValidator(lambda text: PurePosixPath(text))]
NO_JSON = Annotated[str, pydantic.AfterValidator(lambda text: Version(text.lower()))]


class Version:
    """A type without a JSON representation."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


@pytest.mark.parametrize(
    ("type_", "read_as", "others"),
    [
        (int, "7", ["07", "+7", "7.0", " 7", "7 ", "0_7", "٧"]),
        (int, "-7", ["-07", "- 7"]),
        (int, "0", ["-0", "00"]),
        (float, "7", ["7.0", "07", "7e0", "+7", "7.00"]),
        (float, "7.5", ["7.50", "75e-1"]),
        (float, "0", ["-0", "-0.0", "0.0"]),
        (Decimal, "100", ["1E+2", "1e2", "100.0", "0100"]),
        (Decimal, "0.5", [".5", "0.50", "5E-1"]),
        (Decimal, "0", ["-0", "0E+5", "-0.0", "0e-5"]),
        (Decimal, "3", ["3E-0", "30e-1", "3e999999999"]),
        (bool, "true", ["True", "1", "yes", "on"]),
        (date, "2026-07-28", ["2026-07-28T00:00:00", "1785196800"]),
        (datetime, "2026-07-28T10:00:00Z", ["2026-07-28T12:00:00+02:00", "2026-07-28 10:00Z", "2026-07-28t10:00:00z"]),
        (timedelta, "PT1H", ["PT60M", "3600", "01:00:00"]),
        (UUID, "12345678-1234-5678-1234-567812345678", ["12345678123456781234567812345678"]),
        (Size, "small", ["SMALL", "Small"]),
        (Size | None, "small", ["SMALL"]),
        (int | None, "7", ["07"]),
        (Lower, "admin", ["Admin", "ADMIN"]),
        (Trimmed, "admin", [" admin", "admin "]),
        (Named, "admin", ["./admin"]),
        (NO_JSON, "v1", ["V1"]),
    ],
)
def test_a_value_is_read_under_one_uri_only(type_: Any, read_as: str, others: list[str]):
    def function(value):
        return "read"

    function.__annotations__["value"] = type_
    library = LocalLibrary()
    library.add_resource("a:{value}", function)
    assert read(library, f"a:{quote(read_as, safe='')}")[0].text == "read"
    for other in others:
        with pytest.raises(UnknownEntry):
            read(library, f"a:{quote(other, safe='')}")


def test_a_parameter_with_another_name_on_the_wire_is_spelt_under_that():
    library = LocalLibrary()

    @library.resource("a:{number}")
    def item(n: Annotated[int, pydantic.Field(alias="number")]) -> str:
        return str(n)

    assert read(library, "a:7")[0].text == "7"


def _first(x: str) -> str:
    return "first"


def _second(x: str) -> str:
    return "second"


def test_a_plain_function_reads_on_a_thread():
    assert read(with_resource_thread(blocking=True), "a:b")[0].text == "false"
    assert read(with_resource_thread(blocking=False), "a:b")[0].text == "true"


def with_resource_thread(**settings: Any) -> LocalLibrary:
    library = LocalLibrary()
    library.add_resource("a:b", lambda: threading.current_thread() is threading.main_thread(), **settings)
    return library


# -- prompts -----------------------------------------------------------------------------------------------------------

X = TextContent(text="x")
IMAGE = ImageContent(data="AAAA", mimeType="image/png")


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("x", [PromptMessage("user", X)]),
        (IMAGE, [PromptMessage("user", IMAGE)]),
        (PromptMessage("assistant", "x"), [PromptMessage("assistant", X)]),
        (["x", IMAGE], [PromptMessage("user", X), PromptMessage("user", IMAGE)]),
        ([], []),
    ],
)
def test_a_prompt_contains_the_messages_of_its_function(value: Any, messages: Any):
    assert get(with_prompt(lambda: value, description="D")) == PromptResult(messages, "D")


def test_a_complete_prompt_result_passes_unchanged():
    result = PromptResult([PromptMessage("user", X)], "own", {"m": 1})
    assert get(with_prompt(lambda: result, description="D")) == result


@pytest.mark.requirement("ADJ-11", "ADJ-12")
@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        {"a": 1},
        [None],
        PromptMessage("system", "x"),  # pyright: ignore[reportArgumentType] - the fault
        ImageContent(data="?", mimeType="image/png"),
        ImageContent(data="AAAA", mimeType="png"),
        PromptResult([], meta={"x y": 1}),
        TextContent(text="x", meta={"x y": 1}),
    ],
)
def test_an_invalid_prompt_message_is_an_invalid_result(value: Any):
    with pytest.raises(InvalidResult):
        get(with_prompt(lambda: value))


class Mood(enum.Enum):
    CALM = "calm"
    WILD = "wild"


def prompt(tea: Annotated[str, "Which."], mood: Mood = Mood.CALM, cups: int = 1, iced: bool | None = None) -> str:
    """Recommend.

    Args:
        cups: How many.
    """
    return f"{tea} {mood.value} {cups} {iced}"


def test_the_arguments_of_a_prompt_are_its_parameters():
    [listed] = asyncio.run(with_prompt(prompt).list_prompts(CONTEXT))
    assert listed.description == "Recommend."
    assert listed.arguments == [
        wire.PromptArgument("tea", description="Which.", required=True),
        wire.PromptArgument("mood", required=False),
        wire.PromptArgument("cups", description="How many.", required=False),
        wire.PromptArgument("iced", required=False),
    ]


def test_text_is_converted_to_the_types_of_the_parameters():
    library = with_prompt(prompt)
    said = get(library, tea="x", mood="wild", cups="3", iced="true").messages[0].content
    assert said == TextContent(text="x wild 3 True")
    assert get(library, tea="x").messages[0].content == TextContent(text="x calm 1 None")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({}, "tea"), ({"tea": "x", "cups": "hunter2"}, "cups"), ({"tea": "x", "milk": "hunter2"}, "milk")],
)
def test_a_wrong_argument_is_named_and_its_value_not_repeated(arguments: dict[str, str], named: str):
    with pytest.raises(InvalidParams) as caught:
        get(with_prompt(prompt), **arguments)
    assert (caught.value.code, caught.value.number) == ("TT1041", -32602)
    assert named in str(caught.value)
    assert "hunter2" not in str(caught.value)


# -- completion --------------------------------------------------------------------------------------------------------


def test_values_of_a_type_come_by_themselves():
    library = with_prompt(prompt)
    assert complete(library, "mood", "") == Completion(["calm", "wild"], 2, False)
    assert complete(library, "mood", "W") == Completion(["wild"], 1, False)
    assert complete(library, "iced", "").values == ["true", "false"]
    assert complete(library, "tea", "x") == complete(library, "cups", "1") == Completion([], 0, False)


def completed_by(suggest: Any) -> LocalLibrary:
    def function(a):
        return ""

    function.__annotations__["a"] = Annotated[str, Completes(suggest)]
    return with_prompt(function)


async def kinds(prefix: str) -> tuple[str, ...]:
    return (prefix + "!",)


def test_a_completion_function_receives_the_settled_arguments_and_returns_values():
    def many(prefix: str, arguments: Mapping[str, str]) -> list[str]:
        return [f"{prefix}-{arguments['kind']}-{number}" for number in range(101)]

    got = complete(completed_by(many), "a", "x", kind="green")
    assert (got.values[0], len(got.values), got.total, got.hasMore) == ("x-green-0", 100, 101, True)
    assert complete(completed_by(kinds), "a", "b").values == ["b!"]


def test_a_completion_function_may_read_the_principal_of_its_caller():
    def mine(prefix: str, arguments: Mapping[str, str], context: Context) -> list[str]:
        return [f"{prefix}-{context.principal.id}"]

    assert complete(completed_by(mine), "a", "x").values == ["x-local"]


def test_the_variables_of_a_template_are_completed():
    library = LocalLibrary()

    @library.resource("a:{mood}")
    def moods(mood: Literal["calm", "wild"]) -> str:
        return mood

    assert complete(library, "mood", "c", name="a:{mood}").values == ["calm"]
    with pytest.raises(InvalidParams) as caught:
        complete(library, "nix", "", name="a:{mood}")
    assert caught.value.code == "TT1042"
    for name in ("a:{x}", "nix"):
        with pytest.raises(UnknownEntry):
            complete(library, "mood", "", name=name)


@pytest.mark.parametrize("values", [None, "abc", [1], {"a": 1}])
def test_an_invalid_return_value_of_a_completion_function_is_an_invalid_result(values: Any):
    with pytest.raises(InvalidResult):
        complete(completed_by(lambda prefix: values), "a", "")


# -- registering -------------------------------------------------------------------------------------------------------


def untyped(a):
    return a


def of_list(a: list[str]) -> str:
    return ""


def of_numbers(a: Literal[1, 2]) -> str:
    return ""


def of_text(a: str) -> str:
    return a


@pytest.mark.requirement("ADJ-08", "META-02", "META-03", "META-05")
@pytest.mark.parametrize(
    ("register", "code"),
    [
        (lambda library: library.add_resource("no uri", lambda: ""), "TT3022"),
        (lambda library: library.add_resource("a:b", of_text), "TT3034"),
        (lambda library: library.add_resource("a:{b}", of_text), "TT3034"),
        (lambda library: library.add_resource("a:{a}/{b}", of_text), "TT3034"),
        (lambda library: library.add_resource("a:{a}", untyped), "TT3005"),
        (lambda library: library.add_resource("a:{a}", of_list), "TT3030"),
        (lambda library: library.add_resource("a:b", set().add), "TT3036"),
        (lambda library: completed_by(dict), "TT3036"),
        (lambda library: library.add_resource("taken:", lambda: ""), "TT3022"),
        (lambda library: library.add_resource("taken:a", lambda: ""), "TT3033"),
        (lambda library: library.add_resource("taken:{a}", of_text), "TT3033"),
        (lambda library: library.add_resource("a:b", lambda: "", visible=True), "TT3014"),
        (lambda library: library.add_prompt(lambda: "", name="taken"), "TT3033"),
        (lambda library: library.add_prompt(lambda: ""), "TT3032"),
        (lambda library: library.add_prompt(lambda: "", name=" a"), "TT3032"),
        (lambda library: library.add_prompt(of_list), "TT3030"),
        (lambda library: library.add_prompt(of_numbers), "TT3030"),
        (lambda library: completed_by(lambda a, b, c, d: []), "TT3031"),
        (lambda library: library.add_prompt(of_text, mime_type="a/b"), "TT3014"),
        (lambda library: library.add_resource("a:b", lambda: "", meta={"x y": 1}), "TT3035"),
        (lambda library: library.add_resource("a:{a}", of_text, meta={"io.mcp/x": 1}), "TT3035"),
        (lambda library: library.add_prompt(of_text, meta={"-x": 1}), "TT3035"),
    ],
)
def test_an_invalid_entry_is_refused_at_registration_and_leaves_the_library_unchanged(register: Any, code: str):
    library = LocalLibrary()
    library.add_resource("taken:a", lambda: "")
    library.add_resource("taken:{a}", of_text)
    library.add_prompt(lambda: "", name="taken")
    told: list[ProviderChange] = []
    library.watch(told.append)
    with pytest.raises(DefinitionError) as caught:
        register(library)
    assert caught.value.code == code
    assert told == []


def test_the_error_of_a_function_says_where_it_is():
    with pytest.raises(DefinitionError, match=r"Prompt 'of_list' \(.*test_library\.py:\d+\): "):
        LocalLibrary().add_prompt(of_list)


def test_the_declared_settings_of_an_entry_are_published():
    settings: Any = {"name": "n", "title": "t", "description": "d", "icons": [wire.Icon("i:i")], "meta": {"m": 1}}
    marked = Annotations(priority=0.5)
    library = LocalLibrary()
    library.add_resource("a:b", lambda: "", mime_type="x/y", size=3, annotations=marked, **settings)
    library.add_resource("a:{a}", of_text, mime_type="x/y", annotations=marked, **settings)
    library.add_prompt(lambda: "", **settings)
    rest: Any = {"title": "t", "description": "d", "icons": [wire.Icon("i:i")], "meta": {"m": 1}}
    more: Any = {**rest, "mimeType": "x/y", "annotations": marked}
    assert asyncio.run(library.list_resources(CONTEXT)) == (wire.ResourceDefinition("a:b", "n", size=3, **more),)
    assert asyncio.run(library.list_templates(CONTEXT)) == (wire.ResourceTemplate("a:{a}", "n", **more),)
    assert asyncio.run(library.list_prompts(CONTEXT)) == (wire.Prompt("n", **rest),)


def test_names_come_from_the_function_and_a_resource_without_one_is_called_by_its_uri():
    library = LocalLibrary()
    library.add_resource("a:b", lambda: "")
    library.add_resource("a:{a}", of_text)
    library.add_prompt(of_text, name="总结")
    assert [one.name for one in asyncio.run(library.list_resources(CONTEXT))] == ["a:b"]
    assert [one.name for one in asyncio.run(library.list_templates(CONTEXT))] == ["of_text"]
    assert [one.name for one in asyncio.run(library.list_prompts(CONTEXT))] == ["总结"]


def test_lists_are_sorted_and_the_same_tuple_until_something_changes():
    library = LocalLibrary()
    for name in "bac":
        library.add_resource(f"a:{name}", lambda: "")
    before = asyncio.run(library.list_resources(CONTEXT))
    assert [one.uri for one in before] == ["a:a", "a:b", "a:c"]
    assert asyncio.run(library.list_resources(CONTEXT)) is before
    library.remove_resource("a:b")
    assert [one.uri for one in asyncio.run(library.list_resources(CONTEXT))] == ["a:a", "a:c"]
    with pytest.raises(UnknownEntry):
        library.remove_resource("a:b")


def test_a_watcher_is_notified_of_added_and_removed_entries_until_it_leaves():
    library, told = LocalLibrary(), list[ProviderChange]()
    leave = library.watch(told.append)
    library.add_resource("a:b", lambda: "")
    library.add_resource("a:{a}", of_text)
    library.resource_updated("a:b")
    library.remove_resource("a:{a}")
    library.add_prompt(of_text)
    library.remove_prompt("of_text")
    leave()
    leave()
    library.remove_resource("a:b")
    with pytest.raises(UnknownEntry):
        library.remove_prompt("of_text")
    resources, prompts = ProviderChange("resources"), ProviderChange("prompts")
    assert told == [resources, resources, ProviderChange("resource", "a:b"), resources, prompts, prompts]


def test_a_capability_that_a_library_once_offered_stays_offered():
    library = LocalLibrary()
    assert library.offers() == frozenset()
    library.add_resource("a:{a}", of_text)
    assert library.offers() == {"resources"}
    library.add_prompt(prompt)
    assert library.offers() == {"resources", "prompts", "completions"}
    library.remove_resource("a:{a}")
    library.remove_prompt("prompt")
    assert library.offers() == {"resources", "prompts", "completions"}


# -- beside others -----------------------------------------------------------------------------------------------------


def test_tools_and_a_library_are_one_provider():
    tools, library, told = LocalToolset(), with_resource("x"), list[ProviderChange]()
    provider = shelved(tools, library)
    leave = provider.watch(told.append)
    tools.add(of_text)
    library.add_prompt(of_text)
    leave()
    library.remove_prompt("of_text")
    assert told == [ProviderChange("tools"), ProviderChange("prompts")]
    assert [tool.name for tool in asyncio.run(provider.list_tools(CONTEXT))] == ["of_text"]
    assert read(provider, "a:b")[0].text == "x"
    assert provider.offers() == {"resources", "prompts"}


def test_of_several_libraries_the_first_that_has_it_answers():
    one, other = with_resource("one"), with_resource("other")
    other.add_resource("a:{x}", _second)
    other.add_resource("a:a", lambda: "a")
    other.add_prompt(prompt, name="prompt")
    both = combined(one, other)
    assert [read(both, uri)[0].text for uri in ("a:b", "a:a", "a:c")] == ["one", "a", "second"]
    listed = asyncio.run(both.list_resources(CONTEXT))
    assert [resource.uri for resource in listed] == ["a:a", "a:b"]
    assert asyncio.run(both.list_resources(CONTEXT)) is listed
    assert get(both, tea="x").messages[0].content == TextContent(text="x calm 1 None")
    assert complete(both, "mood", "c").values == ["calm"]
    assert both.offers() == {"resources", "prompts", "completions"}
    for ask in (lambda: read(both, "b:b"), lambda: get(both, "nix"), lambda: complete(both, "a", "", name="nix")):
        with pytest.raises(UnknownEntry):
            ask()


def test_a_resource_of_any_library_goes_before_the_templates_of_all():
    one, other = LocalLibrary(), with_resource("fixed")
    one.add_resource("a:{x}", _first)
    other.add_resource("a:{+x}", _second)
    both = combined(one, other)
    assert [read(both, uri)[0].text for uri in ("a:b", "a:c", "a:c/d")] == ["fixed", "first", "second"]
    [entry] = asyncio.run(both.find_entries(ResourceRead("a:b", CONTEXT)))
    assert entry == asyncio.run(both.list_resources(CONTEXT))[0]

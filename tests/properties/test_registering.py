"""No setting is ever dropped, in whichever spelling an author registers a function."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import Client, Server
from tooltrue.errors import DefinitionError
from tooltrue.protocol.types import Annotations, Icon, replaced
from tooltrue.server.service import SILENT
from tooltrue.tools.binding import ToolOptions, bind
from tooltrue.tools.binding.text_functions import TextFunction
from tooltrue.tools.bounds import Rate
from tooltrue.tools.library import LocalLibrary
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.settings import PromptSettings, ResourceSettings, ToolSettings
from tooltrue.tools.views import combined, filtered, prefixed, renamed
from tooltrue.tools.vocabulary import LOCAL, RequestContext, Tool

CONTEXT = RequestContext(LOCAL, SILENT)


def hide(principal: object) -> bool:
    return False


def show(arguments: dict[str, Any]) -> str:
    return "would remove it"


SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["wiper", "a.b-c"]),
    "title": st.just("Wipe"),
    "description": st.just("Removes a thing."),
    "effect": st.sampled_from(["read", "destructive", "open-world"]),
    "idempotent": st.booleans(),
    "open_world": st.booleans(),
    "examples": st.just([{"path": "a"}]),
    "seconds": st.sampled_from([1, 0.5]),
    "max_bytes": st.just(10),
    "max_argument_bytes": st.just(11),
    "rate": st.just(Rate(3, 4)),
    "at_once": st.integers(1, 5),
    "blocking": st.just(False),
    "secrets": st.sampled_from(["mask", "keep"]),
    "personal": st.sampled_from(["mask", "keep"]),
    "untrusted": st.just(True),
    "sends": st.just(True),
    "reads_stored": st.just(True),
    "repair": st.just(True),
    "read_when": st.just({"path": True}),
    "visible": st.just(hide),
    "requires": st.just(["admin"]),
    "confirm": st.booleans(),
    "preview": st.just(show),
    "excused": st.just({"TT9710": "as agreed"}),
    "icons": st.just([Icon(src="https://example.com/i.png")]),
    "meta": st.just({"team": "storage"}),
    "replaces": st.sampled_from(["rm", ["rm", "del"]]),
    "deprecated": st.just("Use trash."),
    "tags": st.sampled_from([["admin"], {"admin", "beta"}]),
    "task": st.sampled_from([True, "when-slow", "manual", "required"]),
}
chosen: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({}, optional=SETTINGS)


def wipe(path: str) -> str:
    """Delete a file."""
    return path


async def wipe_later(path: str) -> str:
    """Delete a file."""
    return path


class Wiper:
    def __call__(self, path: str) -> str:
        """Delete a file."""
        return path

    def method(self, path: str) -> str:
        """Delete a file."""
        return path


def wipe_in(folder: str, path: str) -> str:
    """Delete a file."""
    return path


# each with whether it brings a name of its own
CALLABLES: list[tuple[Callable[..., str] | Any, bool]] = [
    (wipe, True),
    (wipe_later, True),
    (Wiper(), False),
    (Wiper().method, True),
    (partial(wipe_in, "here"), False),
]

Register = Callable[[Any, Callable[..., Any], Mapping[str, Any]], object]
SPELLINGS: dict[str, Register] = {
    "decorator": lambda tools, function, settings: tools.tool(**settings)(function),
    "direct": lambda tools, function, settings: tools.tool(function, **settings),
}


def add_to_server(server: Server, function: Callable[..., Any], settings: Mapping[str, Any]) -> object:
    return server.add_tool(function, **settings)


def add_to_toolset(tools: LocalToolset, function: Callable[..., Any], settings: Mapping[str, Any]) -> object:
    return tools.add(function, **settings)


TOOL_SPELLINGS: list[tuple[Callable[[], Any], Register]] = [
    *((lambda: Server("t"), register) for register in SPELLINGS.values()),
    *((LocalToolset, register) for register in SPELLINGS.values()),
    (lambda: Server("t"), add_to_server),
    (LocalToolset, add_to_toolset),
]


def bound(made: Any) -> Any:
    tools = made.tools if isinstance(made, Server) else made
    [one] = tools._bound.values()  # pyright: ignore[reportPrivateUsage] - the registered tool and its unlisted parts
    return one


def comparable(one: Any) -> tuple[Any, ...]:
    """A registered tool by its values: schemas by their text, functions by whether they are there."""
    tool: Tool = replaced(one.tool, input=None, output=None, preview=None)
    lane = None if one.lane is None else (one.lane.name, one.lane.share)
    return tool, one.tool.preview is None, one.visible, lane


def test_every_setting_is_tried() -> None:
    assert {*SETTINGS, "isolation"} == set(ToolSettings.__annotations__)


@given(chosen, st.sampled_from(CALLABLES), st.sampled_from(TOOL_SPELLINGS))
def test_no_spelling_drops_a_setting_of_a_tool(
    settings: dict[str, Any], function: tuple[Any, bool], spelling: tuple[Callable[[], Any], Register]
) -> None:
    written, has_name = function
    settings = settings if has_name else {"name": "wiper", **settings}
    make, register = spelling
    made = make()
    register(made, written, settings)
    reference = LocalToolset()
    assert comparable(bound(made)) == comparable(bind(written, ToolOptions.of(settings), reference.pool))


@pytest.mark.parametrize("setting", sorted(SETTINGS))
@given(st.data())
def test_each_setting_makes_a_difference(setting: str, data: st.DataObject) -> None:
    value = data.draw(SETTINGS[setting])
    without, having = LocalToolset(), LocalToolset()
    without.tool(wipe)
    having.tool(wipe, **{setting: value})
    assert comparable(bound(having)) != comparable(bound(without))


def test_isolation_is_honoured_with_a_function_given() -> None:
    tools = LocalToolset()
    tools.tool(wipe, isolation="process")
    assert bound(tools).tool.stoppable


raw = st.fixed_dictionaries({}, optional={key: value for key, value in SETTINGS.items() if key != "name"})


@given(raw)
def test_a_raw_tool_drops_no_setting(settings: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    typed_settings: dict[str, Any] = {"description": None, **settings}
    raw_tools, typed = LocalToolset(), LocalToolset()
    raw_tools.add_raw("wipe", schema, lambda arguments: "x", **settings)
    typed.tool(wipe, **typed_settings)
    raw_tool, typed_tool = bound(raw_tools).tool, bound(typed).tool
    left = {"definition": None, "input": None, "output": None, "preview": None, "source": None, "defaults": None}
    assert replaced(raw_tool, **left) == replaced(typed_tool, **left)
    for part in ("title", "annotations", "icons", "meta"):
        assert getattr(raw_tool.definition, part) == getattr(typed_tool.definition, part)
    with pytest.raises(DefinitionError, match="name"):
        raw_tools.add_raw("other", schema, lambda arguments: "x", name="another")


@given(st.fixed_dictionaries({}, optional={k: v for k, v in SETTINGS.items() if k not in ("name", "visible")}))
def test_no_view_drops_a_setting(settings: dict[str, Any]) -> None:
    tools = LocalToolset()
    tools.tool(wipe, **settings)
    names = {"definition": None, "replaces": ()}
    [own] = asyncio.run(tools.list_tools(CONTEXT))
    views = [
        prefixed(tools, "disk"),
        renamed(tools, {"wipe": "clear"}),
        filtered(tools, lambda tool, context: True),
        combined(tools, LocalToolset()),
    ]
    for view in views:
        [tool] = asyncio.run(view.list_tools(CONTEXT))
        assert replaced(tool, **names) == replaced(own, **names)
        left = replaced(tool.definition, name="", meta=None), replaced(own.definition, name="", meta=None)
        assert left[0] == left[1]


PROMPT_SETTINGS: dict[str, Any] = {
    "name": "say",
    "title": "Say it",
    "description": "Says it.",
    "icons": [Icon(src="https://example.com/i.png")],
    "meta": {"team": "words"},
    "blocking": False,
}
RESOURCE_SETTINGS: dict[str, Any] = {
    **PROMPT_SETTINGS,
    "mime_type": "text/x",
    "size": 3,
    "annotations": Annotations(priority=0.5),
    "untrusted": True,
}


def say() -> str:
    return str(threading.get_ident())


def some(of: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.sets(st.sampled_from(sorted(of))).map(lambda names: {name: of[name] for name in names})


def prompt_of(made: Any) -> tuple[Any, ...]:
    library = made.library if isinstance(made, Server) else made
    [prompt] = library._prompts.values()  # pyright: ignore[reportPrivateUsage]
    return prompt.definition, runs_on_a_thread(prompt.function)


def runs_on_a_thread(function: TextFunction) -> bool:
    return asyncio.run(function.call({}, CONTEXT)) != str(threading.get_ident())


@given(some(PROMPT_SETTINGS))
def test_no_spelling_drops_a_setting_of_a_prompt(settings: dict[str, Any]) -> None:
    assert set(PROMPT_SETTINGS) == set(PromptSettings.__annotations__)
    reference = LocalLibrary()
    reference.add_prompt(say, **settings)
    definition, blocking = prompt_of(reference)
    assert blocking == settings.get("blocking", True)
    for name in settings.keys() - {"blocking"}:
        assert getattr(definition, name) == settings[name]
    makes: list[Callable[[], Any]] = [lambda: Server("t"), LocalLibrary]
    for make in makes:
        decorated, direct = make(), make()
        decorated.prompt(**settings)(say)
        direct.prompt(say, **settings)
        assert prompt_of(decorated) == prompt_of(direct) == prompt_of(reference)


@given(some(RESOURCE_SETTINGS))
def test_no_spelling_drops_a_setting_of_a_resource(settings: dict[str, Any]) -> None:
    assert set(RESOURCE_SETTINGS) == set(ResourceSettings.__annotations__)
    decorated, added = Server("t"), Server("t")
    decorated.resource("docs://a", **settings)(say)
    added.add_resource("docs://a", say, **settings)
    [one] = decorated.library._resources.values()  # pyright: ignore[reportPrivateUsage]
    [other] = added.library._resources.values()  # pyright: ignore[reportPrivateUsage]
    assert (one.definition, one.untrusted) == (other.definition, other.untrusted)
    assert runs_on_a_thread(one.function) == runs_on_a_thread(other.function) == settings.get("blocking", True)
    assert one.untrusted == settings.get("untrusted", False)
    for name in settings.keys() - {"blocking", "untrusted"}:
        assert getattr(one.definition, {"mime_type": "mimeType"}.get(name, name)) == settings[name]


def test_a_size_of_a_template_is_refused_rather_than_dropped() -> None:
    def page(name: str) -> str:
        return name

    with pytest.raises(DefinitionError, match="size"):
        Server("t").add_resource("docs://{name}", page, size=3)


def test_a_destructive_tool_given_directly_is_guarded() -> None:
    server = Server("t")
    server.tool(wipe, effect="destructive", requires=["admin"], name="wiper")

    async def ask() -> Any:
        async with Client(server) as client:
            return await client.list_tools(), await client.call_tool("wiper", path="x")

    [tool], result = asyncio.run(ask())
    assert (tool.name, tool.annotations.destructiveHint) == ("wiper", True)
    assert result.is_error


@pytest.mark.parametrize(
    ("register", "advice"),
    [
        (lambda server: server.tool("adder"), "@server.tool(name='adder')"),
        (lambda server: server.tool("adder", effect="read"), "@server.tool(name='adder')"),
        (lambda server: server.add_tool("adder"), "@server.tool(name='adder')"),
        (lambda server: server.prompt("greet"), "@server.prompt(name='greet')"),
        (lambda server: server.resource(say), '@server.resource("docs://guide")'),
    ],
)
def test_a_name_where_a_function_belongs_says_how_to_name(register: Callable[[Server], Any], advice: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        register(Server("t"))
    assert advice in str(caught.value)

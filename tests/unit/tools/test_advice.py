"""Names and arguments of other libraries, and the error message with our name for each."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tooltrue import CallToolResult, Client, ConfigurationError, DefinitionError, Server, TransportError
from tooltrue.client.call_results import Result
from tooltrue.protocol.types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent
from tooltrue.server.service import SILENT
from tooltrue.tools.advice import CONTEXT, MOUNT, RESULT, RUN, SERVER, SETTINGS, TOOL
from tooltrue.tools.views import prefixed
from tooltrue.tools.vocabulary import LOCAL, RequestContext, for_author


@pytest.mark.parametrize("name", sorted(CONTEXT))
def test_a_name_of_another_librarys_context_leads_to_ours(name: str):
    with pytest.raises(AttributeError, match=r"^'Context' object .*TT3044"):
        getattr(for_author(RequestContext(LOCAL, SILENT)), name)


@pytest.mark.parametrize("name", sorted(SERVER))
def test_a_name_of_another_librarys_server_leads_to_ours(name: str):
    with pytest.raises(AttributeError, match="TT3044"):
        getattr(Server("notes"), name)


def test_any_other_name_is_simply_not_there():
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = Server("notes").nothing  # pyright: ignore[reportAttributeAccessIssue] - the fault
    assert not hasattr(for_author(RequestContext(LOCAL, SILENT)), "nothing")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tags": {"a"}}, "'tags'"),
    ],
)
def test_a_setting_that_a_server_has_not_is_named(settings: dict[str, Any], said: str):
    with pytest.raises(TypeError, match="TT3045") as raised:
        Server("notes", **settings)
    assert said in str(raised.value)


@pytest.mark.parametrize("setting", sorted(SETTINGS.keys() - {"lifespan"}))
def test_a_setting_of_another_librarys_server_leads_to_ours(setting: str):
    settings: Any = {setting: 1}
    with pytest.raises(TypeError, match="TT3045") as raised:
        Server("notes", **settings)
    assert SETTINGS[setting] in str(raised.value)


@pytest.mark.parametrize("setting", sorted(TOOL))
def test_a_setting_of_another_librarys_tool_leads_to_ours(setting: str):
    settings: Any = {setting: 1}
    with pytest.raises(DefinitionError) as caught:
        Server("notes").add_tool(lambda: None, name="none", **settings)
    assert caught.value.code == "TT3043"
    assert TOOL[setting] in str(caught.value)


def test_settings_of_a_server_have_names():
    make: Any = Server
    with pytest.raises(TypeError, match=r"'1\.0'"):
        make("notes", "1.0")


@pytest.mark.parametrize("setting", sorted(RUN))
def test_an_argument_of_another_librarys_run_leads_to_ours(setting: str):
    run: Any = Server("notes").run
    with pytest.raises(TypeError, match="TT3046") as raised:
        run("http", **{setting: 1})
    assert RUN[setting] in str(raised.value)


@pytest.mark.parametrize("setting", sorted(MOUNT))
def test_an_argument_of_another_librarys_mount_leads_to_ours(setting: str):
    mount: Any = Server("outer").mount
    with pytest.raises(TypeError, match="TT4644") as raised:
        mount(Server("inner"), **{setting: "x"})
    assert MOUNT[setting] in str(raised.value)


def test_the_order_of_another_librarys_mount_is_refused():
    mount: Any = Server("outer").mount
    with pytest.raises(TypeError, match=r"takes the other server, and prefix=.* \[TT4644\]$"):
        mount("weather", Server("inner"))


@pytest.mark.parametrize("name", sorted(RESULT))
def test_an_attribute_of_another_librarys_result_leads_to_ours(name: str):
    with pytest.raises(AttributeError, match=r"^'Result' object .*TT3044"):
        getattr(Result.of(CallToolResult([])), name)


@pytest.mark.parametrize("target", [None, 5, {"mcpServers": {}}, len, Path("notes.py")])
def test_a_client_of_a_value_that_is_no_target_names_its_type(target: Any):
    with pytest.raises(ConfigurationError) as caught:
        Client(target)
    assert caught.value.code == "TT4647"
    assert f"an object of {type(target).__name__};" in str(caught.value)


def test_a_client_outside_of_its_block_says_how_it_is_opened():
    client = Client(Server("notes"))
    for use in (client.list_tools, client.ping, lambda: client.call_tool("add", a=1)):
        with pytest.raises(TransportError) as caught:
            asyncio.run(use())
        assert caught.value.code == "TT4646"


def test_an_error_without_advice_has_no_gap_before_its_code():
    make: Any = Server
    with pytest.raises(TypeError, match=r"\. \[TT3045\]$"):
        make("notes", nothing=1)


@pytest.mark.parametrize("name", ["ctx", "context"])
def test_a_context_without_a_type_gets_the_type_to_write(name: str):
    space: dict[str, Any] = {}
    exec(f"def f(a: int, {name}): ...", space)  # noqa: S102 - the name is the parameter of the test
    with pytest.raises(DefinitionError) as caught:
        Server("notes").add_tool(space["f"])
    assert caught.value.code == "TT4641"
    assert f"write {name}: Context" in str(caught.value)


def test_a_default_of_none_leads_to_a_type_with_none():
    def f(a: str = None) -> str: ...  # type: ignore[assignment]  # noqa: RUF013 - the fault

    with pytest.raises(DefinitionError) as caught:
        Server("notes").add_tool(f)
    assert caught.value.code == "TT4642"
    assert "a: T | None = None" in str(caught.value)


def test_a_method_of_a_provider_on_a_server_names_its_provider():
    other: Any = Server("other")
    with pytest.raises(AttributeError, match=r"server\.provider"):
        other.list_tools()


def test_a_value_that_is_no_toolset_is_named():
    other: Any = object()
    with pytest.raises(DefinitionError) as caught:
        prefixed(other, "other")
    assert caught.value.code == "TT3440"


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        (TextContent("a"), "text"),
        (ImageContent.of(b"a", "image/png"), "image"),
        (AudioContent.of(b"a", "audio/wav"), "audio"),
        (ResourceLink("a:b", "b"), "resource_link"),
        (EmbeddedResource({}), "resource"),
    ],
)
def test_a_block_says_of_which_kind_it_is(block: Any, kind: str):
    assert block.type == kind


def test_a_prompt_takes_its_arguments_as_keywords_too():
    server = Server("notes")

    @server.prompt
    def ask(topic: str) -> str:
        """Ask."""
        return f"About {topic}?"

    async def asked() -> Any:
        async with Client(server) as client:
            return await client.get_prompt("ask", topic="tea")

    assert "About tea?" in str(asyncio.run(asked()).messages)


def test_a_text_that_is_no_date_is_told_by_its_format_alone():
    server = Server("notes")

    @server.tool(effect="read")
    def on(day: date) -> str:
        """Tell what is on."""
        raise AssertionError(day)

    async def refused() -> str:
        async with Client(server) as client:
            return (await client.call_tool("on", day="tomorrow")).text

    said = asyncio.run(refused())
    assert "date" in said
    assert "pattern" not in said

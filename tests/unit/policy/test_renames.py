"""Tools that had another name: they answer to it, and nothing that guards them goes by it."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright import Client, Confirm, LocalToolset, Rate, RateLimits, Server, combined, filtered, prefixed, renamed
from toolwright.client.results import Result
from toolwright.errors import DefinitionError, RpcError, ToolError
from toolwright.policy.deciding import by_each_name
from toolwright.policy.globs import globs
from toolwright.policy.rules import Deny, Rule, Rules, Then, Verdict
from toolwright.protocol.names import DEPRECATED, REPLACES
from toolwright.protocol.schema import compile_schema
from toolwright.protocol.types import Tool as Definition
from toolwright.server.served import SILENT
from toolwright.tools.toolset import LOCAL, Principal, Provider, RequestContext, Tool


def notes(**settings: Any) -> LocalToolset:
    tools = LocalToolset()
    tools.add(lambda: "text", name="get_note", replaces="read_note", **settings)
    return tools


def served(tools: Provider, **settings: Any) -> Server:
    return Server("notes", toolsets=[tools], **settings)


def use(server: Server, *names: str) -> list[Result[Any] | str]:
    """What each call comes to: its result, or the sentence of its error."""

    async def main() -> list[Result[Any] | str]:
        async with Client(server) as client:
            found: list[Result[Any] | str] = []
            for name in names:
                try:
                    found.append(await client.call_tool(name))
                except RpcError as error:
                    found.append(str(error))
            return found

    return asyncio.run(main())


def only(server: Server, name: str) -> Result[Any]:
    [result] = use(server, name)
    assert isinstance(result, Result)
    return result


def listed(server: Server) -> list[Definition]:
    async def main() -> list[Definition]:
        async with Client(server) as client:
            return list(await client.list_tools())

    return asyncio.run(main())


def test_a_renamed_tool_answers_to_both_names_and_is_listed_once():
    server = served(notes())
    assert [(tool.name, tool.meta) for tool in listed(server)] == [("get_note", {REPLACES: ["read_note"]})]
    assert only(server, "get_note").value == only(server, "read_note").value == "text"


def test_who_calls_by_the_old_name_is_told_and_the_content_is_as_it_was():
    server = served(notes())
    now, then = only(server, "get_note"), only(server, "read_note")
    assert now.content == then.content
    assert DEPRECATED not in now.raw["_meta"]
    assert "get_note" in then.raw["_meta"][DEPRECATED]


def test_a_deprecated_tool_says_so_to_models_and_programs():
    server = served(notes(deprecated="Use find_note.", description="Read a note."))
    [tool] = listed(server)
    assert tool.description == "Deprecated: Use find_note.\n\nRead a note."
    assert (tool.meta or {})[DEPRECATED] == "Use find_note."
    assert "Use find_note." in only(server, "get_note").raw["_meta"][DEPRECATED]


def test_inspect_shows_old_names_and_what_will_go():
    server = served(notes(deprecated="Use find_note."))
    assert asyncio.run(server.exceptions()) == [
        ("get_note", "replaces=read_note"),
        ("get_note", "deprecated=Use find_note."),
    ]


def test_the_log_has_both_names():
    server = served(notes())
    use(server, "read_note", "get_note")

    async def records() -> list[dict[str, Any]]:
        return [entry.record for entry in await server.audit_log.read()]

    said = [(record["subject"], record.get("called")) for record in asyncio.run(records())]
    assert said == [("get_note", "read_note"), ("get_note", None)]


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"name": "a", "replaces": "a"}, "TW3900"),
        ({"name": "b", "replaces": "one"}, "TW3901"),
        ({"name": "b", "replaces": ["c", "was"]}, "TW3901"),
        ({"name": "was"}, "TW3901"),
        ({"name": "b", "replaces": ["x y"]}, "TW3016"),
        ({"name": "b", "replaces": ["x", "x"]}, "TW3016"),
        ({"name": "b", "replaces": [1]}, "TW3016"),
        ({"name": "b", "deprecated": True}, "TW3016"),
    ],
)
def test_a_name_stands_for_one_tool(settings: dict[str, Any], code: str):
    tools = LocalToolset()
    tools.add(lambda: "first", name="one", replaces="was")
    with pytest.raises(DefinitionError) as caught:
        tools.add(lambda: "second", **settings)
    assert caught.value.code == code
    assert tools.names == ("one",)


def test_old_names_go_with_their_tool():
    tools = notes()
    tools.remove("get_note")
    assert "Unknown tool" in str(use(served(tools), "read_note")[0])
    tools.add(lambda: "another", name="read_note")
    assert only(served(tools), "read_note").value == "another"


def test_views_rename_old_names_too():
    view = prefixed(renamed(notes(), {"get_note": "show"}), "my")
    server = served(view)
    assert [(tool.name, tool.meta) for tool in listed(server)] == [("my_show", {REPLACES: ["my_read_note"]})]
    assert only(server, "my_read_note").value == "text"
    assert all("Unknown tool" in str(one) for one in use(server, "read_note", "get_note", "my_get_note"))


def test_who_is_called_so_now_goes_before_who_was():
    other = LocalToolset()
    other.add(lambda: "other", name="read_note")
    assert only(served(combined(notes(), other)), "read_note").value == "other"
    assert only(served(renamed(notes(), {"get_note": "read_note"})), "read_note").value == "text"


def _nobody(principal: Principal) -> bool:
    return False


def _hide(*_: object) -> Verdict:
    return Deny(hidden=True)


def _refuse(*_: object) -> Verdict:
    return Deny("not now")


# -- nothing that guards a tool goes by the name that it was called by -------------------------------------------------


@pytest.mark.attack("B01")
@pytest.mark.parametrize("name", ["get_note", "read_note"])
def test_b01_a_hidden_tool_is_hidden_under_its_old_names(tmp_path: Path, name: str):
    hiding: list[Server] = [
        served(notes(visible=_nobody)),
        served(filtered(notes(), lambda tool, context: tool.name != "get_note")),
        served(notes(), decide=_hide),
    ]
    rules = tmp_path / "toolwright.toml"
    rules.write_text(f'[[rules]]\ntools = "{name}"\nthen = "deny"\n[[rules]]\nthen = "allow"\n')
    hiding.append(served(notes(), rules=rules))
    for server in hiding:
        for called in ("get_note", "read_note"):
            assert use(server, called)[0] == str(use(server, "none")[0]).replace("none", called)


@pytest.mark.attack("B05")
def test_b05_rules_on_either_name_hold_for_both(tmp_path: Path):
    rules = tmp_path / "toolwright.toml"
    for one, other in itertools.permutations(("get_note", "read_note")):
        rules.write_text(
            f'[[rules]]\ntools = "{one}"\nthen = "allow"\n[[rules]]\ntools = "{other}"\nthen = "deny"\nreason = "no"\n'
        )
        for called in (one, other):
            assert "TW2200" in only(served(notes(), rules=rules), called).text


@pytest.mark.twin("B05")
@pytest.mark.parametrize("allowed", ["get_note", "read_note"])
def test_b05_twin_a_rule_that_allows_the_old_name_is_served_and_allows_the_tool(tmp_path: Path, allowed: str):
    rules = tmp_path / "toolwright.toml"
    rules.write_text(f'[[rules]]\ntools = "{allowed}"\neffect = "read"\nthen = "allow"\n')
    server = served(notes(effect="read"), rules=rules)
    asyncio.run(server.inventory())
    assert only(server, "read_note").value == only(server, "get_note").value == "text"


@pytest.mark.attack("B05")
def test_b05_scopes_consent_and_limits_are_those_of_the_tool():
    needing = served(notes(requires=["notes"]), decide=_refuse)
    assert only(needing, "read_note").text == only(needing, "get_note").text
    asking = served(notes(effect="destructive"))
    assert "TW2403" in only(asking, "read_note").text
    assert "get_note" in only(asking, "read_note").text
    limited = served(notes(rate=Rate(1e-6, 2)), confirm=Confirm.never(), rate=RateLimits.of(Rate(1e6, 1_000_000)))
    texts = [one.text for one in use(limited, "read_note", "get_note", "read_note") if isinstance(one, Result)]
    assert texts[:2] == ["text", "text"]
    assert "TW2100" in texts[2]


# -- by chance ---------------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object"}
HERE = RequestContext(LOCAL, SILENT)
NAMES = ("a", "b", "c")


def tool(name: str, *replaces: str) -> Tool:
    return Tool(Definition(name=name, inputSchema=SCHEMA), "read", compile_schema(SCHEMA), replaces=replaces)


RULES = st.lists(st.tuples(st.sampled_from([*NAMES, "*"]), st.sampled_from(["allow", "deny", "ask"])), max_size=5)


@pytest.mark.attack("B05")
@given(RULES)
def test_b05_a_tool_may_do_what_no_rule_denies_it_under_any_name(written: list[tuple[str, Then]]):
    """The oracle reads each name by itself: the first rule that matches. A no beats a question, that beats a yes."""
    rules = tuple(Rule(then, f"rule {n}", n, tools=globs([name])) for n, (name, then) in enumerate(written))
    firsts = [next((then for pattern, then in written if pattern in (name, "*")), "") for name in ("a", "b")]
    expected = next((then for then in ("deny", "ask", "allow") if then in firsts), "deny")
    decide = by_each_name(Rules(rules).decide)
    for subject in (tool("a", "b"), tool("b", "a")):
        assert type(decide(subject, HERE, {})).__name__.lower() == expected
        hidden = decide(subject, HERE, None)
        assert (isinstance(hidden, Deny) and hidden.hidden) == (expected == "deny")


def test_a_tool_error_is_not_covered_by_the_hint():
    def fail() -> str:
        raise ToolError("It is closed.")

    tools = LocalToolset()
    tools.add(fail, name="open", replaces="unlock", deprecated="Use enter.")
    result = only(served(tools), "unlock")
    assert result.is_error
    assert result.text == "It is closed."

"""Renamed tools: the old name still calls the tool, and each layer of the guard uses the current name."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import Client, Confirm, LocalToolset, Rate, RateLimits, Server, combined, filtered, prefixed, renamed
from tooltrue.client.call_results import Result
from tooltrue.errors import DefinitionError, RpcError, ToolError
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.rules.rule import Allow, Deny, Rule, Rules, Then, Verdict
from tooltrue.protocol.name_rules import DEPRECATED, REPLACES
from tooltrue.protocol.schema import compile_schema
from tooltrue.protocol.types import ToolDefinition as Definition
from tooltrue.protocol.types import replaced
from tooltrue.server.service import SILENT
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext, Tool


def notes(**settings: Any) -> LocalToolset:
    tools = LocalToolset()
    tools.add(lambda: "text", name="get_note", replaces="read_note", **settings)
    return tools


def served(tools: Provider, **settings: Any) -> Server:
    return Server("notes", toolsets=[tools], **settings)


def use(server: Server, *names: str) -> list[Result[Any] | str]:
    """The result of each call, or the message of its error."""

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


def test_a_call_by_the_old_name_reports_the_deprecation_and_has_the_same_content():
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


def test_inspect_shows_old_names_and_deprecations():
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
        ({"name": "a", "replaces": "a"}, "TT3900"),
        ({"name": "b", "replaces": "one"}, "TT3901"),
        ({"name": "b", "replaces": ["c", "was"]}, "TT3901"),
        ({"name": "was"}, "TT3901"),
        ({"name": "b", "replaces": ["x y"]}, "TT3016"),
        ({"name": "b", "replaces": ["x", "x"]}, "TT3016"),
        ({"name": "b", "replaces": [1]}, "TT3016"),
        ({"name": "b", "deprecated": True}, "TT3016"),
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


def test_a_current_tool_name_takes_precedence_over_a_former_one():
    other = LocalToolset()
    other.add(lambda: "other", name="read_note")
    assert only(served(combined(notes(), other)), "read_note").value == "other"
    assert only(served(renamed(notes(), {"get_note": "read_note"})), "read_note").value == "text"


def test_two_that_had_one_name_are_called_by_those_that_they_have():
    one, other = LocalToolset(), LocalToolset()
    one.add(lambda: "one", name="get_note", replaces="note")
    other.add(lambda: "other", name="set_note", replaces="note")
    server = served(combined(one, other))
    assert [only(server, name).value for name in ("get_note", "set_note")] == ["one", "other"]
    assert only(server, "note").is_error


@pytest.mark.attack("B05")
def test_b05_a_rule_for_the_current_tool_of_a_name_does_not_allow_the_tool_that_had_it(tmp_path: Path):
    other = LocalToolset()
    other.add(lambda: "other", name="read_note", effect="read")
    rules = tmp_path / "tooltrue.toml"
    rules.write_text('[[rules]]\ntools = "read_note"\nthen = "allow"\n')
    server = served(combined(notes(effect="read"), other), rules=rules)
    assert [(tool.name, tool.meta) for tool in listed(server)] == [("read_note", None)]
    assert "Unknown tool" in str(use(server, "get_note")[0])
    assert only(server, "read_note").value == "other"


def _nobody(principal: Principal) -> bool:
    return False


def _hide(*_: object) -> Verdict:
    return Deny(hidden=True)


def _refuse(*_: object) -> Verdict:
    return Deny("not now")


# -- no layer of the guard depends on the name in the call -------------------------------------------------------------


@pytest.mark.attack("B01")
@pytest.mark.parametrize("name", ["get_note", "read_note"])
def test_b01_a_hidden_tool_is_hidden_under_its_old_names(tmp_path: Path, name: str):
    hiding: list[Server] = [
        served(notes(visible=_nobody)),
        served(filtered(notes(), lambda tool, context: tool.name != "get_note")),
        served(notes(), decide=_hide),
    ]
    rules = tmp_path / "tooltrue.toml"
    rules.write_text(f'[[rules]]\ntools = "{name}"\nthen = "deny"\n[[rules]]\nthen = "allow"\n')
    hiding.append(served(notes(), rules=rules))
    for server in hiding:
        for called in ("get_note", "read_note"):
            assert use(server, called)[0] == str(use(server, "none")[0]).replace("none", called)


@pytest.mark.attack("B05")
def test_b05_rules_on_either_name_hold_for_both(tmp_path: Path):
    rules = tmp_path / "tooltrue.toml"
    for one, other in itertools.permutations(("get_note", "read_note")):
        rules.write_text(
            f'[[rules]]\ntools = "{one}"\nthen = "allow"\n[[rules]]\ntools = "{other}"\nthen = "deny"\nreason = "no"\n'
        )
        for called in (one, other):
            assert "TT2200" in only(served(notes(), rules=rules), called).text


@pytest.mark.twin("B05")
@pytest.mark.parametrize("allowed", ["get_note", "read_note"])
def test_b05_twin_a_rule_that_allows_the_old_name_is_served_and_allows_the_tool(tmp_path: Path, allowed: str):
    rules = tmp_path / "tooltrue.toml"
    rules.write_text(f'[[rules]]\ntools = "{allowed}"\neffect = "read"\nthen = "allow"\n')
    server = served(notes(effect="read"), rules=rules)
    asyncio.run(server.inventory())
    assert only(server, "read_note").value == only(server, "get_note").value == "text"


@pytest.mark.parametrize("allowed", ["get_note", "read_note"])
def test_a_tool_allowed_by_its_old_or_new_name_is_not_denied_by_a_final_rule_for_all_tools(
    tmp_path: Path, allowed: str
):
    rules = tmp_path / "tooltrue.toml"
    rules.write_text(f'[[rules]]\ntools = "{allowed}"\nthen = "allow"\n[[rules]]\nthen = "deny"\n')
    server = served(notes(effect="read"), rules=rules)
    assert [tool.name for tool in listed(server)] == ["get_note"]
    assert only(server, "read_note").value == only(server, "get_note").value == "text"


@pytest.mark.attack("B05")
def test_b05_scopes_consent_and_limits_are_those_of_the_tool():
    needing = served(notes(requires=["notes"]), decide=_refuse)
    assert only(needing, "read_note").text == only(needing, "get_note").text
    asking = served(notes(effect="destructive"))
    assert "TT2403" in only(asking, "read_note").text
    assert "get_note" in only(asking, "read_note").text
    limited = served(notes(rate=Rate(1e-6, 2)), confirm=Confirm.never(), rate=RateLimits.of(Rate(1e6, 1_000_000)))
    texts = [one.text for one in use(limited, "read_note", "get_note", "read_note") if isinstance(one, Result)]
    assert texts[:2] == ["text", "text"]
    assert "TT2100" in texts[2]


# -- by chance ---------------------------------------------------------------------------------------------------------

SCHEMA = {"type": "object"}
HERE = RequestContext(LOCAL, SILENT)
NAMES = ("a", "b", "c")


def tool(name: str, *replaces: str) -> Tool:
    return Tool(Definition(name=name, inputSchema=SCHEMA), "read", compile_schema(SCHEMA), replaces=replaces)


def who(*scopes: str) -> RequestContext:
    return RequestContext(Principal("ann", frozenset(scopes)), SILENT)


ANN = who()


def rule(number: int, then: Then, *said: str, **conditions: Any) -> Rule:
    return Rule(then, f"rule {number}", number, tools=globs(said), **conditions)


@pytest.mark.attack("B05")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("allow a, deny *", "allow"),
        ("allow b, deny *", "allow"),
        ("ask b, deny *", "ask"),
        ("allow a, ask *", "allow"),
        ("allow a, deny b", "deny"),
        ("allow *, deny b", "allow"),
        ("deny b, allow *", "deny"),
        ("allow a, deny a+b", "deny"),
        ("allow a, deny a+*", "allow"),
        ("ask b, allow *", "ask"),
        ("allow a, ask b", "ask"),
        ("allow a", "allow"),
        ("allow b", "allow"),
        ("allow c, deny *", "deny"),
        ("allow c", "deny"),
        ("allow a, deny b, allow *", "deny"),
        ("", "deny"),
    ],
)
def test_b05_the_first_rule_for_each_name_counts_but_not_one_for_every_tool_behind_another(said: str, expected: str):
    """The tool is named ``a`` and was named ``b``; a rule for ``*`` does not count as a rule for ``b``."""
    rules: list[Any] = [one.split() for one in said.split(", ") if one]
    decide = Rules(tuple(rule(n, then, *name.split("+")) for n, (then, name) in enumerate(rules))).decide
    for subject in (tool("a", "b"), tool("b", "a")):
        verdict, shown = decide(subject, HERE, {}), decide(subject, HERE, None)
        assert type(verdict).__name__.lower() == expected
        assert (isinstance(shown, Deny) and shown.hidden) == (expected == "deny")


def test_the_scopes_that_a_rule_on_the_old_name_needs_are_asked_for():
    decide = Rules((rule(0, "allow", "b", scopes=frozenset("x")), rule(1, "deny", "c"))).decide
    for arguments in ({}, None):
        assert decide(tool("a", "b"), ANN, arguments) == Deny(scopes=frozenset("x"))
        assert decide(tool("a", "b"), who("x"), arguments) == Allow("rule 0")


def test_a_rule_on_arguments_decides_about_all_names_where_they_match_it():
    small = compile_schema({"type": "object", "properties": {"n": {"maximum": 9}}, "required": ["n"]})
    decide = Rules((rule(0, "allow", "a", arguments=small), rule(1, "deny", "*"))).decide
    verdicts = [decide(tool("a", "b"), HERE, arguments) for arguments in (None, {"n": 1}, {"n": 10})]
    assert verdicts == [Allow("rule 0"), Allow("rule 0"), Deny(rule="rule 1")]


def test_rules_for_other_servers_effects_and_callers_say_nothing_of_any_name():
    others = (
        rule(0, "allow", "a", server=globs(["elsewhere"])),
        rule(1, "allow", "b", effect=frozenset({"write"})),
        rule(2, "allow", "b", principal=globs(["bob"])),
        rule(3, "deny", "*"),
    )
    assert Rules(others).decide(tool("a", "b"), ANN, {}) == Deny(rule="rule 3")


@dataclass(frozen=True)
class Written:
    then: Then
    said: tuple[str, ...]
    effect: str
    caller: str
    scope: str
    at_least: int | None

    def rule(self, number: int) -> Rule:
        at_least = {"type": "object", "properties": {"n": {"minimum": self.at_least}}, "required": ["n"]}
        return rule(
            number,
            self.then,
            *self.said,
            effect=frozenset({self.effect}) if self.effect else None,
            principal=globs([self.caller]) if self.caller else None,
            scopes=frozenset(self.scope),
            arguments=None if self.at_least is None else compile_schema(at_least),
        )

    def holds(self, caller: Principal, n: int) -> bool:
        return (
            self.effect in ("", "read")
            and self.caller in ("", caller.id)
            and (not self.scope or self.scope in caller.scopes)
            and (self.at_least is None or n >= self.at_least)
        )

    def says(self, name: str) -> bool:
        return not {name, f"{name[0]}*", "*"}.isdisjoint(self.said)


WRITTEN = st.lists(
    st.builds(
        Written,
        st.sampled_from(["allow", "deny", "ask", "hide"]),
        st.lists(st.sampled_from([*NAMES, "a*", "b*", "*"]), min_size=1, max_size=2, unique=True).map(tuple),
        st.sampled_from(["", "", "read", "write"]),
        st.sampled_from(["", "", "ann", "bob"]),
        st.sampled_from(["", "", "x", "y"]),
        st.sampled_from([None, None, 0, 1, 2]),
    ),
    max_size=6,
)
CALLED = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)


def by_name(written: list[Written], names: list[str], caller: Principal, n: int) -> str:
    """The oracle, as the page says it: the first rule for each name; without those for every tool, where another came
    before; and of the rest, the strictest."""
    matching = [(number, one) for number, one in enumerate(written) if one.holds(caller, n)]
    firsts = {name: next(((number, one) for number, one in matching if one.says(name)), None) for name in names}
    left = [
        first[1].then
        for first in firsts.values()
        if first and not ("*" in first[1].said and any(other and other[0] < first[0] for other in firsts.values()))
    ]
    verdicts = ["deny" if then == "hide" else then for then in left]
    return next((then for then in ("deny", "ask", "allow") if then in verdicts), "deny")


@pytest.mark.attack("B05")
@given(WRITTEN, CALLED, st.sampled_from(["", "x", "xy"]), st.integers(0, 3))
def test_b05_all_names_of_a_tool_are_judged_as_the_page_says(
    written: list[Written], names: list[str], scopes: str, n: int
):
    decide = Rules(tuple(one.rule(number) for number, one in enumerate(written))).decide
    caller, subject = who(*scopes), tool(*names)
    verdict, shown = decide(subject, caller, {"n": n}), decide(subject, caller, None)
    assert type(verdict).__name__.lower() == by_name(written, names, caller.principal, n)
    if isinstance(verdict, Allow):
        assert written[int(verdict.rule.split()[1])].then == "allow"
        assert any(map(written[int(verdict.rule.split()[1])].says, names))
    if not isinstance(verdict, Deny):  # a tool is visible if some arguments allow it
        assert not isinstance(shown, Deny)
    assert decide(tool(*sorted(names)), caller, {"n": n}) == decide(
        tool(*sorted(names, reverse=True)), caller, {"n": n}
    )


@given(WRITTEN, st.integers(0, 3))
def test_a_tool_that_is_never_allowed_is_hidden_and_old_names_without_a_rule_change_no_verdict(
    written: list[Written], n: int
):
    decide = Rules(tuple(one.rule(number) for number, one in enumerate(written))).decide
    plain = [one for one in written if "*" not in one.said]
    without = Rules(tuple(one.rule(number) for number, one in enumerate(plain))).decide
    for arguments in ({"n": n}, None):
        two, one = (without(subject, ANN, arguments) for subject in (tool("a", "none"), tool("a")))
        assert replaced(two, rule="") == replaced(one, rule="")
    if all(one.at_least is None for one in written):
        shown, called = decide(tool("a", "b"), ANN, None), decide(tool("a", "b"), ANN, {"n": n})
        assert type(shown) is type(called)


def test_a_tool_error_is_not_covered_by_the_hint():
    def fail() -> str:
        raise ToolError("It is closed.")

    tools = LocalToolset()
    tools.add(fail, name="open", replaces="unlock", deprecated="Use enter.")
    result = only(served(tools), "unlock")
    assert result.is_error
    assert result.text == "It is closed."

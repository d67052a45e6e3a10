"""The decision of rules: the first matching rule decides; without a match, the call is denied."""

from __future__ import annotations

from typing import Any

import pytest

from tooltrue.errors import ConfigurationError
from tooltrue.policy.config import examine
from tooltrue.policy.rules.lint import lenient
from tooltrue.policy.rules.rule import OPEN, Allow, Ask, Deny, Rules, Verdict
from tooltrue.protocol.schema import compile_schema
from tooltrue.protocol.types import Prompt, ResourceDefinition, ResourceTemplate, replaced
from tooltrue.protocol.types import ToolDefinition as Definition
from tooltrue.server.service import SILENT
from tooltrue.tools.vocabulary import LOCAL, Effect, Principal, RequestContext, Tool

HIDDEN = Deny(hidden=True)
ANN = Principal("https://id.example#ann", frozenset({"notes:read"}))


def rules(text: str, server: str = "s") -> Rules:
    config, problems = examine("tooltrue.toml", text)
    assert problems == []
    assert config.rules is not None
    return config.rules.on(server)


def tool(name: str = "get", effect: Effect = "read") -> Tool:
    schema = {"type": "object"}
    return Tool(Definition(name=name, inputSchema=schema), effect, compile_schema(schema))


def decide(text: str, subject: Any, arguments: Any = None, by: Principal = LOCAL, server: str = "s") -> Verdict:
    return rules(text, server).decide(subject, RequestContext(by, SILENT), arguments)


ORDER = """
[[rules]]
name = "first"
tools = "get*"
then = "allow"
[[rules]]
name = "second"
tools = ["set", "*t"]
then = "ask"
reason = "Really?"
"""


def test_the_first_rule_that_matches_decides():
    assert decide(ORDER, tool("get"), {}) == Allow("first")
    assert decide(ORDER, tool("set"), {}) == Ask("Really?", "second")
    assert decide(ORDER, tool("put"), {}) == Ask("Really?", "second")


def test_where_no_rule_matches_it_is_no_and_there_is_nothing_to_be_seen():
    assert decide(ORDER, tool("rm"), {}) == Deny()
    assert decide(ORDER, tool("rm")) == HIDDEN


@pytest.mark.parametrize(
    ("then", "reason", "listed"),
    [
        ("deny", 'reason = "Ask Bob."', Deny("Ask Bob.", rule="r")),
        ("deny", "", Deny(hidden=True, rule="r")),
        ("hide", "", Deny(hidden=True, rule="r")),
    ],
)
def test_a_tool_that_is_always_denied_is_hidden_unless_its_rule_has_a_reason(then: str, reason: str, listed: Verdict):
    text = f'[[rules]]\nname = "r"\nthen = "{then}"\n{reason}\n'
    assert decide(text, tool()) == listed


SOME = """
[[rules]]
name = "docs"
tools = "get"
arguments = { required = ["path"], properties.path.pattern = "^docs/" }
then = "THEN"
[[rules]]
name = "rest"
tools = "get"
then = "deny"
"""


def test_a_tool_is_there_when_some_arguments_are_allowed_or_asked_about():
    assert decide(SOME.replace("THEN", "allow"), tool()) == Allow("docs")
    assert decide(SOME.replace("THEN", "ask"), tool()) == Ask("docs", "docs")
    assert decide(SOME.replace("THEN", "deny"), tool()) == Deny(hidden=True, rule="docs")


def test_arguments_are_judged_by_their_schema():
    text = SOME.replace("THEN", "allow")
    assert decide(text, tool(), {"path": "docs/a"}) == Allow("docs")
    assert decide(text, tool(), {"path": "etc/a"}) == Deny(rule="rest")
    assert decide(text, tool(), {}) == Deny(rule="rest")


def test_a_rule_may_go_by_effect():
    text = '[[rules]]\neffect = ["destructive", "open-world"]\nthen = "ask"\n[[rules]]\nthen = "allow"\n'
    assert decide(text, tool(effect="destructive"), {}) == Ask("rule 1", "rule 1")
    assert decide(text, tool(effect="write"), {}) == Allow("rule 2")
    assert decide(text, Prompt("p")) == Allow("rule 2")


def test_a_rule_may_match_the_principal():
    text = '[[rules]]\nprincipal = "https://id.example#*"\nthen = "allow"\n'
    assert decide(text, tool(), {}, ANN) == Allow("rule 1")
    assert decide(text, tool(), {}) == Deny()


def test_a_rule_may_be_for_one_server_of_several():
    text = '[[rules]]\nserver = "disk"\nthen = "allow"\n'
    assert decide(text, tool(), {}, server="disk") == Allow("rule 1")
    assert decide(text, tool(), {}, server="mail") == Deny()


SCOPED = '[[rules]]\ntools = "get"\nscopes = ["notes:read", "notes:write"]\nthen = "allow"\n'


def test_a_principal_without_a_required_scope_learns_the_scopes_it_needs():
    needed = Deny(scopes=frozenset({"notes:read", "notes:write"}))
    assert decide(SCOPED, tool(), None, ANN) == needed
    assert decide(SCOPED, tool(), {}, ANN) == needed
    both = Principal("x", frozenset({"notes:read", "notes:write", "more"}))
    assert decide(SCOPED, tool(), {}, both) == Allow("rule 1")


def test_a_later_rule_that_refuses_stands_although_a_scope_would_open_the_way():
    text = SCOPED + '[[rules]]\nthen = "hide"\n'
    assert decide(text, tool(), None, ANN) == Deny(hidden=True, rule="rule 2")


def test_local_callers_hold_every_scope_unless_the_file_says_which():
    assert decide(SCOPED, tool(), {}) == Allow("rule 1")
    some = Rules(rules(SCOPED).rules, "s", {"local": frozenset({"notes:read"})})
    assert some.decide(tool(), RequestContext(LOCAL, SILENT), None) == HIDDEN
    assert some.decide(tool(), RequestContext(Principal("local:http"), SILENT), None) == Allow("rule 1")


LIBRARY = """
[[rules]]
resources = "docs://open/*"
then = "allow"
[[rules]]
prompts = ["review", "plan_*"]
then = "allow"
"""


def test_rules_for_resources_and_prompts_go_by_uri_and_name():
    assert decide(LIBRARY, ResourceDefinition("docs://open/a", "a")) == Allow("rule 1")
    assert decide(LIBRARY, ResourceDefinition("docs://shut/a", "docs://open/a")) == HIDDEN
    assert decide(LIBRARY, Prompt("plan_b")) == Allow("rule 2")
    assert decide(LIBRARY, Prompt("docs://open/a")) == HIDDEN
    assert decide(LIBRARY, tool("review"), {}) == Deny()


def test_a_template_is_there_when_some_of_its_resources_are():
    assert decide(LIBRARY, ResourceTemplate("docs://open/{name}", "t")) == Allow("rule 1")
    assert decide(LIBRARY, ResourceTemplate("docs://{+path}", "t")) == Allow("rule 1")
    assert decide(LIBRARY, ResourceTemplate("docs://shut/{name}", "t")) == HIDDEN
    none = '[[rules]]\nresources = "docs://open/*"\nthen = "deny"\n[[rules]]\nthen = "allow"\n'
    assert decide(none, ResourceTemplate("docs://open/{name}", "t")) == Deny(hidden=True, rule="rule 1")
    assert decide(none, ResourceTemplate("docs://{+path}", "t")) == Allow("rule 2")


def test_the_trace_ends_with_the_deciding_rule_and_gives_the_mismatch_of_each_earlier_rule():
    text = (
        '[[rules]]\nserver = "x"\nthen = "allow"\n[[rules]]\ntools = "b"\nthen = "allow"\n'
        '[[rules]]\neffect = "write"\nthen = "allow"\n[[rules]]\nprincipal = "x"\nthen = "allow"\n'
        '[[rules]]\narguments.required = ["a"]\nthen = "allow"\n[[rules]]\nthen = "deny"\n'
    )
    told = rules(text)
    stops = [step.stop for step in told.trace(tool(), LOCAL, {})]
    assert stops == ["server", "tools", "effect", "principal", "arguments", ""]
    assert [step.stop for step in told.trace(tool(), LOCAL, None)][-2:] == [OPEN, ""]
    assert [step.stop for step in told.trace(Prompt("p"), LOCAL, None)][1:3] == ["prompts", "effect"]
    assert [step.stop for step in rules(SCOPED).trace(tool(), ANN, {})] == ["scopes"]


def test_a_rule_for_a_view_holds_in_that_view_alone():
    told = rules('[[rules]]\nview = "docs*"\nthen = "hide"\n[[rules]]\nthen = "allow"\n')
    assert told.decide(tool(), RequestContext(ANN, SILENT), {}) == Allow("rule 2")
    stops = {view: [step.stop for step in replaced(told, view=view).trace(tool(), ANN, {})] for view in ("docs", "dev")}
    assert stops == {"docs": [""], "dev": ["view", ""]}
    assert [step.stop for step in told.trace(tool(), ANN, {})] == ["view", ""]


def test_a_rule_for_one_view_does_not_cover_one_for_all_views():
    one, all_views = '[[rules]]\nview = "docs"\nthen = "deny"\n', '[[rules]]\nthen = "allow"\n'
    assert not examine("tooltrue.toml", one + all_views)[1]
    assert examine("tooltrue.toml", all_views + one)[1]


def test_a_subject_that_comes_and_goes_does_not_fill_the_memory():
    told = rules(LIBRARY)
    for number in range(10_000):
        told.decide(ResourceDefinition(f"docs://open/{number}", "a"), RequestContext(LOCAL, SILENT), None)
    assert len(told._about) <= 4096  # pyright: ignore[reportPrivateUsage]


# -- errors in a file --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("[[rules]\n", "TT4301", 1),
        ('[[rules]]\nthen = "allow"\ntoolz = "a"\n', "TT4302", 3),
        ('[[rules]]\nthen = "alow"\n', "TT4302", 2),
        ('# a\n\n[[rules]]\ntools = "a"\n', "TT4302", 3),
        ('[[rules]]\nthen = "allow"\neffect = "raed"\n', "TT4302", 3),
        ("rules = []\n", "TT4302", 1),
        ("[limits]\nseconds = 0\n", "TT4302", 2),
        ("[limits]\nsecond = 1\n", "TT4302", 2),
        ("[limit]\n", "TT4302", 1),
        ('[scopes]\nlocal = "a"\n', "TT4302", 2),
        ('[[rules]]\nname = "a"\nthen = "deny"\ntools = "a"\n[[rules]]\nname = "a"\nthen = "deny"\n', "TT4310", 5),
        ('[[rules]]\nthen = "deny"\nresources = "a"\narguments.required = ["a"]\n', "TT4308", 4),
        ('[[rules]]\nthen = "deny"\nprompts = "a"\neffect = "read"\n', "TT4308", 4),
        ('[[rules]]\nthen = "allow"\nreason = "a"\n', "TT4308", 3),
        ('[[rules]]\nthen = "hide"\narguments.required = ["a"]\n', "TT4308", 3),
        ('[[rules]]\nthen = "deny"\n[rules.arguments.properties.a]\nenums = [1]\n', "TT4309", 4),
        ('[[rules]]\nthen = "deny"\narguments.anyOf = [{ enums = [1] }]\n', "TT4309", 3),
        ('[[rules]]\nthen = "deny"\narguments.properties.a.pattern = "("\n', "TT4307", 3),
        ('[[rules]]\nthen = "deny"\narguments.properties.a.pattern = "(?!x)"\n', "TT4307", 3),
        ('[[rules]]\nthen = "allow"\n[[rules]]\nthen = "deny"\n', "TT4303", 3),
    ],
)
def test_an_error_in_a_rules_file_is_reported_with_its_line(text: str, code: str, line: int):
    _, problems = examine("f.toml", text)
    assert [problem.code for problem in problems] == [code]
    assert problems[0].facts["place"] == f"f.toml:{line}"


def test_a_misspelt_key_is_told_the_nearest():
    _, [problem] = examine("f.toml", '[[rules]]\nthen = "allow"\neffects = "read"\n')
    assert "nearest: effect" in problem.say()


def test_everything_that_is_wrong_is_found_at_once():
    _, problems = examine("f.toml", '[[rules]]\nthen = "alow"\n[[rules]]\ntoolz = "a"\n')
    assert len(problems) == 3


def test_a_file_that_cannot_be_read_is_said_so(tmp_path: Any):
    (tmp_path / "latin").write_bytes(b"\xff")
    for name in ("latin", "none", "."):
        with pytest.raises(ConfigurationError) as caught:
            examine(tmp_path / name)
        assert caught.value.code == "TT4300"


def test_a_key_in_a_text_of_several_lines_is_no_key():
    text = '[[rules]]\nthen = "deny"\nreason = """\n[[rules]]\nthen = "alow"\n"""\n[[rules]]\nthen = "alow"\n'
    _, [problem] = examine("f.toml", text)
    assert problem.facts["place"] == "f.toml:8"


DEAD = [
    ('tools = "a"', 'tools = "a"'),
    ('tools = ["b", "a*"]', 'tools = ["a1", "a*b"]'),
    ("", 'tools = "a"'),
    ("", 'resources = "a"'),
    ('effect = ["read", "write"]', 'tools = "a"\neffect = "read"'),
    ('tools = "a"', 'tools = "a"\nprincipal = "x"\nserver = "s"\nscopes = "y"\narguments.required = ["p"]'),
    ('principal = "x*"', 'principal = ["x1", "x2*"]'),
    ('scopes = "a"', 'scopes = ["a", "b"]'),
    ('tools = "a"\narguments.required = ["p"]', 'tools = "a"\narguments.required = ["p"]\nscopes = "x"'),
]
ALIVE = [
    ('tools = "a"', 'tools = ["a", "b"]'),
    ('tools = "a*"', 'tools = "*a"'),
    ('tools = "*"', 'resources = "a"'),
    ('tools = "*"', ""),
    ('effect = "read"', 'tools = "a"'),
    ('effect = "read"', 'prompts = "a"'),
    ('principal = "x"', 'tools = "a"'),
    ('server = "x"', 'tools = "a"'),
    ('scopes = ["a", "b"]', 'scopes = "a"'),
    ('arguments.required = ["p"]', 'arguments.required = ["q"]'),
    ('arguments.required = ["p"]', 'tools = "a"'),
]


@pytest.mark.parametrize(("first", "second"), DEAD)
def test_a_rule_that_can_never_match_is_found(first: str, second: str):
    _, problems = examine("f", f'[[rules]]\nthen = "deny"\n{first}\n[[rules]]\nthen = "allow"\n{second}\n')
    assert [problem.code for problem in problems] == ["TT4303"]


@pytest.mark.parametrize(("first", "second"), ALIVE)
def test_a_rule_that_may_match_is_left_alone(first: str, second: str):
    _, problems = examine("f", f'[[rules]]\nthen = "deny"\n{first}\n[[rules]]\nthen = "allow"\n{second}\n')
    assert problems == []


KEPT = ResourceDefinition("kept:abc", "result")


def test_a_stored_result_of_an_allowed_call_is_readable_unless_a_rule_names_it():
    allowed = '[[rules]]\ntools = "big"\nthen = "allow"\n'
    assert decide(allowed, KEPT) == Allow()
    assert decide(allowed, ResourceDefinition("docs:abc", "result")) == HIDDEN
    assert decide(allowed + '[[rules]]\nthen = "deny"\n', KEPT) == Deny(hidden=True, rule="rule 2")
    named = allowed + '[[rules]]\nresources = "kept:*"\nprincipal = "someone"\nthen = "allow"\n'
    assert decide(named, KEPT) == HIDDEN
    assert decide(named, KEPT, by=Principal("someone")) == Allow("rule 2")


def test_a_rule_whose_arguments_an_older_dialect_would_judge_is_a_mistake():
    older, newest = "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"
    text = '[[rules]]\ntools = "get"\nthen = "allow"\n[rules.arguments]\n"$schema" = "{}"\nrequired = ["path"]\n'
    _, problems = examine("tooltrue.toml", text.format(older))
    assert [problem.code for problem in problems] == ["TT4330"]
    assert examine("tooltrue.toml", text.format(newest))[1] == []


MISSED: list[tuple[str, list[str]]] = [
    ('properties.path.pattern = "^a"', ["path"]),
    ('required = ["path"]\nproperties.path.pattern = "^a"', []),
    ('required = ["path"]\nproperties = { path.const = "a", to.const = "b" }', ["to"]),
    ('allOf = [{ required = ["path"] }, { properties.path.const = "a" }]\nproperties.path.type = "string"', []),
    ('required = ["path"]\nanyOf = [{ properties.path.const = "a" }, { properties.to.const = "b" }]', ["to"]),
    ('anyOf = [{ required = ["path"], properties.path.const = "a" }, { properties.path.const = "b" }]', ["path"]),
    ('if.required = ["path"]\nthen.properties.path.const = "a"', []),
    ('dependentSchemas.path.properties.path.const = "a"', []),
    ("properties = { path = false, to = true, from = {} }", []),
    ("not.properties.path.const = 1", []),
    ('required = ["path"]', []),
]


@pytest.mark.parametrize(("arguments", "names"), MISSED)
def test_an_argument_that_a_rule_passes_over_where_it_is_missing_is_noted(arguments: str, names: list[str]):
    config, problems = examine("f.toml", f'[[rules]]\nthen = "allow"\n[rules.arguments]\n{arguments}\n')
    assert problems == []
    assert config.rules is not None
    notes = [*lenient(config.rules.rules, None, config.place)]
    assert [note.facts["argument"] for note in notes] == names
    [rule] = config.rules.rules
    assert rule.arguments is not None
    others = {"path": "a", "to": "b"}
    for name in names:  # it is true
        assert rule.arguments.accepts({other: value for other, value in others.items() if other != name})


def test_a_note_names_the_line_and_stays_away_where_the_tool_has_the_argument_always():
    text = '[[rules]]\nthen = "allow"\n[rules.arguments]\nminProperties = 1\nproperties.path.pattern = "^a"\n'
    config, _ = examine("f.toml", text)
    assert config.rules is not None

    def taking(**schema: Any) -> Tool:
        schema = {"type": "object", **schema}
        return Tool(Definition(name="get", inputSchema=schema), "read", compile_schema(schema))

    def noted(*tools: Tool) -> list[str]:
        assert config.rules is not None
        return [note.facts["place"] for note in lenient(config.rules.rules, tools, config.place)]

    required, filled_in = taking(required=["path"]), taking(properties={"path": {"default": "b"}})
    assert noted(taking(properties={"path": {}})) == noted(required, taking()) == noted() == ["f.toml:5"]
    assert noted(required, filled_in) == []

"""Portability of tools across clients and providers: the verdict on each tool, its confidence, and the totals."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from properties.test_contracts import VALUES
from tooltrue.contract.contract import Contract
from tooltrue.contract.profile import Profile, profile, profile_names
from tooltrue.tools.search.token_estimate import estimated
from tooltrue_check.card import Level
from tooltrue_check.portability import ClientColumn, ClientOutcome, ToolVerdict, matrix
from tooltrue_check.reports import matrix_data, matrix_html, matrix_text
from tooltrue_check.source import ToolSource

PLAIN = {"type": "object", "properties": {"a": {"type": "string"}}}


def source(*tools: dict[str, Any], server: str = "notes") -> ToolSource:
    return ToolSource("dump.json", server, Contract.of({"inputSchema": PLAIN, **one} for one in tools))


def column(name: str, *tools: dict[str, Any], server: str = "notes", **settings_: Any) -> ClientColumn:
    [found] = matrix([source(*tools, server=server)], [replace(profile(name), **settings_)]).columns
    return found


def verdict(name: str, tool: dict[str, Any], **more: Any) -> ToolVerdict:
    [found] = column(name, tool, **more).verdicts
    return found


def codes(found: ToolVerdict) -> list[str]:
    return [one.code for one in found.changes]


# -- one tool ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", profile_names())
def test_a_plain_tool_is_accepted_by_everybody(name: str):
    found = verdict(name, {"name": "read", "description": "Read a note."})
    assert (found.outcome, found.level, found.changes) == (ClientOutcome.ACCEPTED, None, ())


def test_a_name_is_that_which_a_client_builds():
    assert verdict("claude-code", {"name": "read"}).name == "mcp__notes__read"
    assert verdict("cursor", {"name": "read"}).name == "notes:read"
    assert verdict("openai", {"name": "read"}).name == "read"


def test_an_unusual_server_label_is_no_fault_of_the_tool():
    found = verdict("claude-code", {"name": "read"}, server="My notes (new)")
    assert (found.outcome, found.name) == (ClientOutcome.ACCEPTED, "mcp__My_notes__new___read")


def test_a_name_that_a_client_mends_itself_is_changed():
    found = verdict("claude-code", {"name": "notes.read"})
    assert (found.outcome, found.level, found.name) == (ClientOutcome.CHANGED, Level.WARNING, "mcp__notes__notes_read")


def test_a_name_that_a_provider_refuses_is_another_one_there():
    found = verdict("openai", {"name": "读取"})
    assert (found.outcome, found.level, codes(found)) == (ClientOutcome.CHANGED, Level.WARNING, ["TT9060"])
    assert re.fullmatch("[A-Za-z0-9_-]{1,64}", found.name)


def test_an_invalid_name_that_a_client_does_not_rewrite_is_rejected():
    found = verdict("claude-desktop", {"name": "notes.read"})
    assert (found.outcome, found.level, codes(found)) == (ClientOutcome.REJECTED, Level.ERROR, ["TT9832"])
    assert "notes.read" in found.changes[0].say()


def test_a_tool_whose_name_is_too_long_is_not_seen_where_such_are_left_out():
    found = verdict("claude-code", {"name": "r" * 117})
    assert (found.outcome, found.level, codes(found)) == (ClientOutcome.UNSEEN, Level.ERROR, ["TT9830"])
    assert found.tokens == 0
    assert (
        verdict("claude-code", {"name": "r" * 116}).outcome is ClientOutcome.ACCEPTED
    )  # mcp__notes__ are the other twelve


def test_a_description_is_cut_and_the_lost_part_is_reported():
    found = verdict("claude-code", {"name": "read", "description": "a" * 2_048 + "the rest"})
    assert (found.outcome, found.level, found.lost) == (ClientOutcome.CUT, Level.WARNING, "the rest")
    assert not verdict("openai", {"name": "read", "description": "a" * 3_000}).lost


def test_a_keyword_that_is_left_out_is_a_hint_with_its_path():
    schema = {"type": "object", "properties": {"a": {"type": "integer", "multipleOf": 5}}}
    found = verdict("gemini", {"name": "read", "inputSchema": schema})
    assert (found.outcome, found.level) == (ClientOutcome.CHANGED, Level.HINT)
    assert [one.place for one in found.changes] == ["$.inputSchema.properties.a.multipleOf"]


def test_a_schema_that_cannot_be_said_is_rejected():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}},
    }
    found = verdict("gemini", {"name": "read", "inputSchema": schema})
    assert (found.outcome, found.level, codes(found)) == (ClientOutcome.REJECTED, Level.ERROR, ["TT9064"])


def test_a_client_rejects_a_schema_that_a_library_would_rewrite():
    schema = {**PLAIN, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert verdict("claude-code", {"name": "read", "inputSchema": schema}).outcome is ClientOutcome.REJECTED
    assert verdict("anthropic", {"name": "read", "inputSchema": schema}).outcome is ClientOutcome.CHANGED


def test_a_verdict_based_on_an_unverified_fact_is_no_error():
    sure = profile("claude-desktop")
    believed = replace(sure, facts=tuple(replace(one, verified=False) for one in sure.facts))
    [found] = matrix([source({"name": "notes.read"})], [believed]).columns[0].verdicts
    assert (found.outcome, found.level, found.is_known) == (ClientOutcome.REJECTED, Level.WARNING, False)


# -- all of them -------------------------------------------------------------------------------------------------------


def test_too_many_tools_are_an_error_of_all_together():
    found = column("openai", *({"name": f"t{number}"} for number in range(129)))
    assert [(level, one.code) for level, one in found.notes] == [(Level.ERROR, "TT9069")]
    assert not column("openai", {"name": "t"}).notes


def test_many_tokens_are_a_hint():
    found = column("claude-code", {"name": "read", "description": "many words " * 40}, definition_tokens=50)
    assert [(level, one.code) for level, one in found.notes] == [(Level.HINT, "TT9831")]


def test_it_fails_at_the_level_that_was_asked_for():
    found = matrix([source({"name": "notes.read"})], [profile("openai")])
    assert found.levels == {Level.ERROR: 0, Level.WARNING: 1, Level.HINT: 0}
    assert [found.fails(level) for level in (Level.ERROR, Level.WARNING, Level.HINT, None)] == [
        False,
        True,
        True,
        False,
    ]


# -- tokens ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),  # as o200k_base counts them
    [
        ("Read a note of the user, or all of them.", 12),
        ('{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}', 19),
        ("查询指定城市的天气预报，最多七天。", 12),
        ("", 0),
    ],
)
def test_an_estimate_is_near_the_count_of_a_tokenizer(text: str, tokens: int):
    assert abs(estimated(text) - tokens) <= max(1, tokens * 0.25)


# -- arbitrary definitions ---------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
@given(VALUES, VALUES)
def test_any_definition_gets_a_verdict_and_a_report(schema: Any, description: Any):
    every: list[Profile] = [profile(name) for name in profile_names()]
    found = matrix([source({"name": "t\u202e<b>", "description": description, "inputSchema": schema})], every)
    for language in ("en", "zh"):
        assert "\u202e" not in matrix_text.render(found, language, is_whole=True)
        assert "<b>" not in matrix_html.render(found, language)
        json.loads(matrix_data.render(found, language))

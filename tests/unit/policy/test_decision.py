"""Several decisions as one: all of them have to let a call pass."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tooltrue.policy.rules.decision import decision, fail_closed, required_only, strictest, together
from tooltrue.policy.rules.rule import ALLOW, Allow, Ask, Deny, Rules, Verdict, allow_all
from tooltrue.protocol.schema import compile_schema
from tooltrue.protocol.types import ToolDefinition as Definition
from tooltrue.server.service import SILENT
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext, Tool

ANN = RequestContext(Principal("ann", frozenset({"a"})), SILENT)
HERE = RequestContext(LOCAL, SILENT)
SCHEMA = {"type": "object"}


def tool(*requires: str) -> Tool:
    return Tool(Definition(name="t", inputSchema=SCHEMA), "read", compile_schema(SCHEMA), requires=frozenset(requires))


def test_a_tool_needs_all_the_scopes_that_it_requires():
    assert required_only(tool(), ANN, None) == ALLOW
    assert required_only(tool("a"), ANN, {}) == ALLOW
    assert required_only(tool("a", "b"), ANN, {}) == Deny(scopes=frozenset({"a", "b"}))


def test_a_local_principal_holds_every_scope_unless_the_configuration_limits_it():
    assert required_only(tool("a"), HERE, None) == ALLOW
    assert decision(None, allow_all, {"local": frozenset()})(tool("a"), HERE, None) == Deny(hidden=True)
    assert decision(None, allow_all, {"local": frozenset({"a"})})(tool("a"), HERE, None) == ALLOW
    assert decision(None, allow_all, {"local:http": frozenset()})(tool("a"), HERE, None) == ALLOW


def test_only_scopes_count_without_a_configured_decision():
    assert decision(None, allow_all, {}) is required_only


def test_rules_and_code_and_scopes_all_have_to_agree():
    none = Rules(())
    assert decision(none, allow_all, {})(tool(), ANN, {}) == Deny()
    assert decision(none, lambda *_: ALLOW, {})(tool(), ANN, {}) == Deny()
    assert decision(None, lambda *_: Deny("no"), {})(tool(), ANN, {}) == Deny("no")
    assert decision(None, lambda *_: ALLOW, {})(tool("b"), ANN, {}) == Deny(scopes=frozenset({"b"}))


ORDER: list[Verdict] = [Allow(), Ask("?"), Deny(scopes=frozenset("a")), Deny("no"), Deny(hidden=True)]


@pytest.mark.parametrize("one", range(5))
@pytest.mark.parametrize("other", range(5))
def test_the_stricter_of_two_counts(one: int, other: int):
    assert strictest([ORDER[one], ORDER[other]]) == ORDER[max(one, other)]
    assert together([lambda *_: ORDER[one], lambda *_: ORDER[other]])(tool(), ANN, {}) == ORDER[max(one, other)]


@pytest.mark.parametrize("wrong", [None, True, "allow", Allow])
def test_an_invalid_verdict_is_a_denial(wrong: Any, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.CRITICAL, "tooltrue"):
        verdict = fail_closed(lambda *_: wrong)(tool(), ANN, {})
    assert isinstance(verdict, Deny)
    assert verdict.fault


def test_a_decision_that_fails_hides_until_the_arguments_are_there_and_says_an_id_that_the_log_has(
    caplog: pytest.LogCaptureFixture,
):
    def broken(*_: Any) -> Verdict:
        raise KeyError("secret")

    with caplog.at_level(logging.ERROR, "tooltrue"):
        verdicts = [fail_closed(broken)(tool(), ANN, arguments) for arguments in (None, {})]
    logged: list[Any] = [record.args for record in caplog.records]
    assert verdicts == [Deny(hidden=True, fault=logged[0][1]), Deny(fault=logged[1][1])]

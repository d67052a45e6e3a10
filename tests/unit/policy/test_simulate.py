"""The decisions of other rules on audit records, and decisions that a record lacks the data for."""

from __future__ import annotations

from typing import Any

import pytest

from tooltrue.policy.config import examine
from tooltrue.policy.rules.rule import Rules
from tooltrue.policy.rules.simulate import replay


def rules(text: str) -> Rules:
    config, problems = examine("tooltrue.toml", text)
    assert problems == []
    assert config.rules is not None
    return config.rules


def record(**more: Any) -> dict[str, Any]:
    return {
        "kind": "call",
        "subject": "pay",
        "effect": "write",
        "who": "ann",
        "decision": "allow",
        "arguments": {},
        **more,
    }


def would(text: str, **more: Any) -> str:
    [one] = replay(rules(text), [record(**more)])
    return one.would


LIMIT = """
[[rules]]
tools = "pay"
arguments = { required = ["amount"], properties.amount.maximum = 10 }
then = "allow"
[[rules]]
tools = "pay"
then = "ask"
"""


def test_a_record_is_decided_about_with_its_arguments():
    assert would(LIMIT, arguments={"amount": 5}) == "allow"
    assert would(LIMIT, arguments={"amount": 50}) == "ask"
    assert would(LIMIT, subject="rob") == "deny"


def test_scopes_effects_and_callers_are_those_of_the_record():
    assert would('[[rules]]\neffect = "write"\nprincipal = "ann"\nscopes = "pay"\nthen = "allow"\n') == "deny"
    text = '[[rules]]\neffect = "write"\nprincipal = "ann"\nscopes = "pay"\nthen = "allow"\n'
    assert would(text, scopes=["pay"]) == "allow"
    assert would(text, scopes=["pay"], effect="read") == "deny"
    assert would(text, scopes=["pay"], who="bob") == "deny"


def test_resources_and_prompts_are_decided_about_too():
    text = '[[rules]]\nresources = "docs:*"\nprompts = "p"\nthen = "allow"\n'
    assert would(text, kind="read", subject="docs:a") == "allow"
    assert would(text, kind="get", subject="p") == "allow"
    assert would(text, kind="read", subject="p") == "deny"


def test_other_records_are_passed_over():
    assert [*replay(rules(LIMIT), [{"kind": "refusals", "count": 3}, {"kind": "intent", "subject": "pay"}, {}])] == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"arguments": {"amount": "[masked]"}, "masked": ["/amount"]}, "undecidable"),
        ({"arguments": {"amount": 5, "note": "[masked]"}, "masked": ["/note"]}, "allow"),
        ({"arguments": {"amount": 5, "note": {"a": "[masked]"}}, "masked": ["/note/a"]}, "allow"),
        ({"arguments": {"[cut]": {"bytes": 99999, "sha256": "…"}}}, "undecidable"),
        ({"arguments": "[masked]", "masked": [""]}, "undecidable"),
    ],
)
def test_a_rule_on_arguments_that_a_record_does_not_contain_is_undecidable(more: Any, expected: str):
    assert would(LIMIT, **more) == expected


@pytest.mark.parametrize(
    "schema",
    [
        "{ allOf = [{ properties.amount.maximum = 10 }] }",
        '{ not = { required = ["amount"], properties.amount.const = 1 } }',
        '{ patternProperties."^a" = { maximum = 10 } }',
        "{ additionalProperties = { maximum = 10 } }",
        "{ const = { amount = 1 } }",
        '{ "$ref" = "#/$defs/a", "$defs".a.properties.amount.maximum = 1 }',
    ],
)
def test_a_rule_on_a_masked_argument_is_undecidable_under_any_schema_keyword(schema: str):
    text = f'[[rules]]\narguments = {schema}\nthen = "allow"\n[[rules]]\nthen = "deny"\n'
    assert would(text, arguments={"amount": "[masked]"}, masked=["/amount"]) == "undecidable"


def test_where_every_answer_is_the_same_a_mask_does_not_matter():
    text = LIMIT.replace('then = "ask"', 'then = "allow"')
    assert would(text, arguments={"amount": "[masked]"}, masked=["/amount"]) == "allow"
    first = '[[rules]]\nprincipal = "ann"\nthen = "deny"\n' + LIMIT
    assert would(first, arguments={"amount": "[masked]"}, masked=["/amount"]) == "deny"


def test_a_rule_for_a_server_is_for_the_records_of_that_server():
    text = '[[rules]]\nserver = "bank"\nthen = "allow"\n'
    assert would(text, server="bank") == "allow"
    assert would(text, server="shop") == "deny"

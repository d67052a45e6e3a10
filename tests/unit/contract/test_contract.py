"""The canonical form: equal definitions, different definitions, and the field of a difference."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tooltrue.contract import contract, digests
from tooltrue.protocol.types import ToolAnnotations, ToolDefinition, replaced

TOOL = ToolDefinition(
    name="wipe",
    inputSchema={"type": "object", "properties": {"disk": {"type": "string"}}},
    description="Wipe a disk.",
    annotations=ToolAnnotations(destructiveHint=True),
)

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def turned(value: Any) -> Any:
    """An equal JSON value: keys in another order, and integers as floats where the conversion is exact."""
    if isinstance(value, dict):
        return {key: turned(inner) for key, inner in reversed(value.items())}
    if isinstance(value, list):
        return [turned(inner) for inner in value]
    if type(value) is int and abs(value) < 2**53:
        return float(value)
    return value


@given(VALUES.filter(lambda value: json.dumps(value).isascii()))
def test_the_order_of_keys_and_the_spelling_of_numbers_make_no_difference(value: Any):
    assert digests.canonical(turned(value)) == digests.canonical(value)


@given(VALUES)
def test_the_canonical_form_means_the_same_and_is_its_own(value: Any):
    said = json.loads(digests.canonical(value))
    assert said == value
    assert digests.canonical(said) == digests.canonical(value)


def test_yes_is_not_one_and_text_is_not_a_number():
    different: list[Any] = [1, True, "1", [1], {"1": 1}, None, 1.5]
    assert len({contract.digest(value) for value in different}) == len(different)


def test_a_change_is_seen_in_its_field_and_in_the_pin():
    for name, value in (
        ("name", "wash"),
        ("description", "Wipe it."),
        ("inputSchema", {"type": "object"}),
        ("outputSchema", {"type": "object"}),
        ("annotations", ToolAnnotations(destructiveHint=False)),
        ("title", "Wipe"),
        ("meta", {"a/b": 1}),
    ):
        changed = replaced(TOOL, **{name: value})
        before, after = contract.fields(TOOL), contract.fields(changed)
        differing = {one for one in before.keys() | after.keys() if before.get(one) != after.get(one)}
        assert differing == {"_meta" if name == "meta" else name}
        assert digests.pin(changed) != digests.pin(TOOL)


def test_the_same_definition_has_the_same_pin():
    again = replaced(TOOL, inputSchema={"properties": {"disk": {"type": "string"}}, "type": "object"})
    assert digests.pin(again) == digests.pin(TOOL)


def test_a_list_that_is_to_be_judged_has_each_tool_under_a_name_of_its_own():
    named = [{"name": name} for name in ("a", "a", "a#2", "b", "a")]
    assert list(contract.Contract.as_listed(named).tools) == ["a", "a#2", "a#2#2", "b", "a#3"]


def test_only_a_resource_is_known_by_its_address():
    tools = [{"name": "a", "uri": 5}, {"name": "b", "uri": "x://1"}, {"name": "c", "uri": "x://1"}]
    assert list(contract.Contract.of(tools).tools) == ["a", "b", "c"]
    resources = [{"name": "a", "uri": "x://1"}, {"name": "a", "uriTemplate": "x://{n}"}]
    assert list(contract.Contract.of([], resources=resources).resources) == ["x://1", "x://{n}"]

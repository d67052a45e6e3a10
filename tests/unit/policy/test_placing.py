"""The places of an author's layers: the order, the names, and the refusals."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import (
    ConfigurationError,
    DefinitionError,
    Host,
    Layer,
    LocalToolset,
    Provider,
    Server,
    Step,
    StepLayer,
    filtered,
    placed,
)
from tooltrue.host.host_guard import STAGES as HOST_STAGES
from tooltrue.host.host_guard import guarding
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import STAGES, described, standard
from tooltrue.policy.placing import GUARANTEES, by_gap, checked, forms, with_authors
from tooltrue.policy.plan import Planned
from tooltrue.tools.advice import HOOKS
from tooltrue.tools.vocabulary import Principal, RequestContext, Tool

NAMES = [stage.name for stage in STAGES]


class Passes(Layer, frozen=True):
    """A layer without any effect."""


class Around(Layer, frozen=True):
    async def around(self, operation: Any, proceed: Any) -> Any:
        return await proceed(operation)


class Steps(StepLayer, frozen=True):
    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        return Step(lambda call: None)


class Lists(Layer, frozen=True):
    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return await self.inner.list_tools(context)


class StepsAndFinds(Steps, frozen=True):
    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.inner.find_tool(name, context)


class StepsWithoutForm(Layer, frozen=True):
    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        return Step(lambda call: None)


# --- the order --------------------------------------------------------------------------------------------------------

places = st.one_of(
    st.just({}),
    st.sampled_from(NAMES[1:]).map(lambda name: {"before": name}),
    st.sampled_from(NAMES).map(lambda name: {"after": name}),
)


def gap_of(place: dict[str, str]) -> int:
    match place:
        case {"before": name}:
            return NAMES.index(name)
        case {"after": name}:
            return NAMES.index(name) + 1
        case _:
            return len(NAMES)


@given(st.lists(places, max_size=8))
def test_each_layer_stands_in_its_gap_and_layers_of_one_gap_keep_their_order(chosen: list[dict[str, str]]):
    layers = [placed(Passes, **place, name=f"layer {number}") for number, place in enumerate(chosen)]
    row = [name for name, _ in with_authors([(stage, Passes) for stage in NAMES], layers)]
    row = [name for name in row if name != "errors_as_results (2)"]
    assert [name for name in row if name in NAMES] == NAMES
    assert row[0] == "audit"
    for number, place in enumerate(chosen):
        outside = [name for name in row[: row.index(f"layer {number}")] if name in NAMES]
        assert outside == NAMES[: gap_of(place)]
    in_order = sorted(range(len(chosen)), key=lambda number: gap_of(chosen[number]))
    assert [name for name in row if name not in NAMES] == [f"layer {number}" for number in in_order]


@given(st.lists(places, max_size=4))
def test_inspect_shows_the_layers_in_their_gaps(chosen: list[dict[str, str]]):
    layers = tuple(placed(Passes, **place, name=f"layer {number}") for number, place in enumerate(chosen))
    rows = described(Guard().with_settings("here", layers=layers))
    shown = [name for name, _, _ in rows if name not in ("secrets", "personal data")]
    gaps = by_gap(layers, NAMES)
    expected = list[str]()
    for gap in range(len(NAMES) + 1):
        expected += [*(layer.name for layer in gaps.get(gap, ())), *NAMES[gap : gap + 1]]
    assert shown == expected
    assert {origin for name, _, origin in rows if name.startswith("layer")} <= {"here"}


def test_a_layer_stands_innermost_by_default_in_a_server_and_around_the_declared_effects_in_a_host():
    [gap] = by_gap([Around], NAMES)
    assert gap == len(NAMES)
    host = [stage.name for stage in HOST_STAGES]
    [gap] = by_gap([Around], host)
    assert host[gap:] == ["declare_effects"]


def test_each_stage_has_a_guarantee_for_the_layers_inside_of_it():
    assert list(GUARANTEES) == NAMES


# --- names ------------------------------------------------------------------------------------------------------------


def confirm(inner: Provider) -> Provider:
    return inner


def test_each_layer_has_a_name_of_its_own():
    layers = checked(
        [Around, Around, partial(Around), confirm, lambda inner: inner, placed(Around, name="mine"), placed(Around)],
        NAMES,
    )
    assert [layer.name for layer in layers] == [
        "Around",
        "Around (2)",
        "Around (3)",
        "confirm (2)",
        "layer",
        "mine",
        "Around (4)",
    ]


# --- forms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "form"),
    [
        (Around, "around"),
        (placed(Around, after="sanitize_output"), "around"),
        (placed(Around, before="sanitize_output"), "general"),
        (Steps, "steps"),
        (StepsAndFinds, "general"),
        (Lists, "passes calls"),
        (Passes, "passes calls"),
        (placed(Lists, after="audit"), "passes calls"),
        (lambda inner: inner, "passes calls"),
        (lambda inner: filtered(inner, lambda tool, context: True), "general"),
    ],
)
def test_only_a_layer_without_steps_at_its_place_keeps_calls_from_plans(layer: Any, form: str):
    assert list(forms([layer], NAMES).values()) == [form]
    provider = standard(LocalToolset(), Guard(layers=(layer,)))
    assert isinstance(provider, Planned) == (form != "general")


@given(st.lists(st.tuples(st.sampled_from([Around, Steps, StepsAndFinds, Lists]), places), max_size=4))
def test_inspect_names_the_layers_that_keep_calls_from_plans(chosen: list[tuple[Any, dict[str, str]]]):
    layers = [placed(layer, **place) for layer, place in chosen if "Steps" not in layer.__name__ or gap_of(place) > 5]
    found = forms(layers, NAMES)
    assert len(found) == len(layers)
    provider = standard(LocalToolset(), Guard(layers=tuple(layers)))
    assert isinstance(provider, Planned) == ("general" not in found.values())


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_no_layer_stands_outside_of_audit():
    with pytest.raises(ConfigurationError) as caught:
        placed(Around, before="audit")
    assert caught.value.code == "TT4501"
    assert placed(Around, after="audit").after == "audit"


def test_an_unknown_stage_is_refused_with_the_nearest_and_the_list():
    with pytest.raises(ConfigurationError) as caught:
        Server("s", layers=[placed(Around, before="confrm")])
    assert caught.value.code == "TT4500"
    assert caught.value.facts["nearest"] == "confirm"
    assert caught.value.facts["stages"].split(", ") == NAMES


def test_a_host_has_stages_of_its_own():
    Host({}, layers=[placed(Around, before="label_output")])
    with pytest.raises(ConfigurationError) as caught:
        Host({}, layers=[placed(Around, after="confirm")])
    assert caught.value.code == "TT4500"
    with pytest.raises(ConfigurationError) as caught:
        Host({}, layers=[Around], guarding=guarding())
    assert caught.value.code == "TT4503"


def test_two_places_are_refused():
    with pytest.raises(ConfigurationError) as caught:
        placed(Around, before="confirm", after="rate")
    assert caught.value.code == "TT4502"


@pytest.mark.parametrize("layer", [LocalToolset(), None, "Around"])
def test_an_item_that_makes_no_layer_is_refused(layer: Any):
    with pytest.raises(DefinitionError) as caught:
        Server("s", layers=[layer])
    assert caught.value.code == "TT3400"


def test_a_name_that_would_break_a_line_is_refused():
    with pytest.raises(DefinitionError) as caught:
        placed(Around, name="a\nb")
    assert caught.value.code == "TT3405"


@pytest.mark.parametrize(
    ("layer", "code"),
    [
        (lambda inner: None, "TT3401"),
        (StepsWithoutForm, "TT3402"),
        (placed(Steps, after="audit"), "TT3403"),
        (placed(Steps, before="authorize"), "TT3403"),
    ],
)
def test_a_layer_that_cannot_keep_its_promise_is_refused_when_the_pipeline_is_built(layer: Any, code: str):
    server = Server("s", layers=[layer])
    with pytest.raises(DefinitionError) as caught:
        _ = server.provider
    assert caught.value.code == code


def test_steps_stand_anywhere_inside_of_authorize():
    for name in NAMES[NAMES.index("authorize") :]:
        assert isinstance(Server("s", layers=[placed(Steps, after=name)]).provider, Planned)


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_a_hook_of_another_library_is_refused_since_it_would_guard_nothing(hook: str):
    layer: Any = type("Guard", (Layer,), {hook: lambda self: None})
    server = Server("shop", layers=[layer])
    with pytest.raises(DefinitionError) as caught:
        _ = server.provider
    assert caught.value.code == "TT3406"
    assert HOOKS[hook] in str(caught.value)

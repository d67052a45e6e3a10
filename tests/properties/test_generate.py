"""Properties of values generated from any schema: they are valid, or invalid as labelled, and deterministic."""

from __future__ import annotations

from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st

from properties.test_schema import compiled, patient, schemas
from tooltrue.protocol.schema import OWN, Schema
from tooltrue.testing.generate import samples


@patient
@given(schemas, st.integers(0, 3))
def test_valid_values_are_accepted_and_invalid_ones_refused_for_the_rule_they_name(
    definition: dict[str, Any], seed: int
):
    judge = compiled(definition, OWN)
    if not isinstance(judge, Schema):
        reject()
    found = samples(judge, seed=seed, count=3)
    assert all(judge.accepts(sample.value) for sample in found.valid)
    for sample in found.invalid:
        [problem] = judge.problems(sample.value)
        assert (problem.rule, problem.path) == (sample.rule, sample.path)
    assert found.valid or found.missing
    assert samples(judge, seed=seed, count=3) == found

"""The table of what works where: it names every verb and family, its tests exist, and its features are the facts."""

from __future__ import annotations

from importlib.metadata import entry_points

import click
import pytest

from support.platforms import FEATURES, PARTS, SYSTEMS, folders, this_system
from support.sources import ROOT
from tooltrue.cli.main import cli


def test_every_verb_and_every_family_is_in_the_table():
    assert {verb for part in PARTS for verb in part.verbs} == set(cli.list_commands(click.Context(cli)))
    assert {name for part in PARTS for name in part.families} == {
        entry.name for entry in entry_points(group="tooltrue.families")
    }


def test_the_tests_of_every_part_exist():
    assert [test for part in PARTS for test in part.tests if not (ROOT / test).exists()] == []


def test_the_tests_that_are_to_run_include_the_wire_the_journeys_and_the_command():
    assert {"tests/wire", "tests/journeys", "tests/unit/cli"} <= set(folders("Linux"))


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_tests_of_each_part_that_works_are_run(system: str):
    run = folders(system)
    for part in PARTS:
        if not part.on(system).startswith("no"):
            for test in part.tests:
                assert any(test == place or test.startswith(f"{place}/") for place in run), test


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_part_says_whether_it_works(system: str):
    states = {part.on(system).partition(";")[0].partition(":")[0] for part in PARTS}
    assert states <= {"yes", "limited", "no"}


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_is_there_where_the_table_says_so(name: str):
    assert FEATURES[name].is_there() == (this_system() in FEATURES[name].systems)

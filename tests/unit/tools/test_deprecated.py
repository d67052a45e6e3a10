"""Deprecated protocol features: they still work, and their use raises a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from tooltrue import Context, Roots, Sampling
from tooltrue.server.service import SILENT
from tooltrue.tools.vocabulary import LOCAL


def sample() -> object:
    return Sampling("How deep is the sea?", max_tokens=5)


def roots() -> object:
    return Roots()


def log() -> object:
    return Context(LOCAL, SILENT).log("info", "x")


@pytest.mark.requirement("VER-19")
@pytest.mark.parametrize("use", [sample, roots, log])
def test_a_deprecated_feature_warns_once_for_each_place_of_use(use: Callable[[], object]):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        use()
        use()
    assert [(warning.category, warning.filename) for warning in caught] == [(DeprecationWarning, __file__)]


@pytest.mark.requirement("VER-19")
@pytest.mark.parametrize("marked", [Sampling, Roots, Context.log])
def test_a_deprecated_feature_is_marked_for_type_checkers_with_its_replacement(marked: object):
    assert "is deprecated by the protocol: " in getattr(marked, "__deprecated__", "")

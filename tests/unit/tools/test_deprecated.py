"""What the protocol has deprecated: still there, and whoever uses it is told."""

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
def test_whoever_uses_it_is_warned_once_for_each_place(use: Callable[[], object]):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        use()
        use()
    assert [(warning.category, warning.filename) for warning in caught] == [(DeprecationWarning, __file__)]


@pytest.mark.requirement("VER-19")
@pytest.mark.parametrize("marked", [Sampling, Roots, Context.log])
def test_it_is_marked_for_type_checkers_and_says_what_to_do_instead(marked: object):
    assert "is deprecated by the protocol: " in getattr(marked, "__deprecated__", "")

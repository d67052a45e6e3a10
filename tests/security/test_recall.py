"""Bounds for recall and false positives of detection by patterns, in each half of the project's own corpus."""

from __future__ import annotations

import pytest

from security.recall import definitions

FIRST = ("en", "zh")
OTHERS = ("es", "fr", "de", "pt", "ru")


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize(("languages", "least"), [(FIRST, 0.85), (OTHERS, 0.6), (("it", "ja", "ko"), 0.6)])
def test_a01_most_poisoned_definitions_are_found(languages: tuple[str, ...], least: float, measured: bool):
    figures = definitions(measured=measured, languages=languages)
    assert figures.found >= least * figures.attacks, figures


@pytest.mark.parametrize("measured", [True, False])
def test_a01_twin_few_benign_definitions_are_flagged(measured: bool):
    figures = definitions(measured=measured)
    assert figures.flagged <= 0.06 * figures.twins, figures

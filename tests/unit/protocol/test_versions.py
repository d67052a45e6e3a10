"""Protocol revisions: their order, and the result of a handshake."""

from __future__ import annotations

import pytest

from tooltrue.protocol import versions


def test_every_revision_is_modern_or_legacy_and_the_newest_comes_first():
    assert (*versions.MODERN, *versions.LEGACY) == versions.ALL
    assert sorted(versions.ALL, reverse=True) == list(versions.ALL)
    assert versions.MODERN == ("2026-07-28",)
    assert versions.LEGACY == ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
    assert (versions.LATEST, versions.NEWEST_LEGACY) == ("2026-07-28", "2025-11-25")
    assert versions.ASSUMED in versions.LEGACY


@pytest.mark.requirement("LIFE-09")
@pytest.mark.parametrize("offered", versions.LEGACY)
def test_a_handshake_settles_on_the_supported_revision_that_the_client_offers(offered: str):
    assert versions.agree(offered).name == offered


@pytest.mark.requirement("LIFE-10")
@pytest.mark.parametrize("offered", ["", "2026-07-28", "1999-01-01", "2025-11-25 ", "latest", "9999-99-99"])
def test_a_handshake_that_offers_anything_else_settles_on_our_newest_legacy_revision(offered: str):
    assert versions.agree(offered).name == "2025-11-25"


def test_a_feature_of_a_revision_exists_in_all_later_revisions():
    columns = ("annotations", "audio", "progress_message", "title", "structured", "resource_link", "meta", "icons")
    for column in columns:
        said = [getattr(versions.BY_NAME[name], column) for name in reversed(versions.LEGACY)]
        assert said == sorted(said), column


def test_batches_end_with_2025_06_18():
    assert [name for name in versions.ALL if versions.BY_NAME[name].batches] == ["2025-03-26", "2024-11-05"]

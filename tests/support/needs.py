"""The mark ``needs``: a test that needs a feature of a system is skipped where this process does not have it."""

from __future__ import annotations

import pytest

from support.platforms import FEATURES

__all__ = ["Needs"]


class Needs:
    """A plugin of pytest. The names of the features are those of ``platforms.py``, and no others."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for name in [name for mark in item.iter_markers("needs") for name in mark.args]:
                if name not in FEATURES:
                    raise pytest.UsageError(f"{item.nodeid} needs {name!r}; there are {', '.join(sorted(FEATURES))}")
                if not FEATURES[name].is_there():
                    item.add_marker(pytest.mark.skip(reason=f"needs {FEATURES[name].title}"))

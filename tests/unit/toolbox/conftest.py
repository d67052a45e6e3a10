"""Whatever holds of paths holds both ways: where the kernel resolves them in one call, and where it cannot."""

from __future__ import annotations

import os

import pytest

from toolwright.toolbox import confined
from toolwright.toolbox.openat2 import beneath

WAYS = ["in one call", "name by name"]


def kernel_can() -> bool:
    here = os.open(".", os.O_PATH)
    try:
        found = beneath(here, ".")
        if found is not None:
            os.close(found)
        return found is not None
    finally:
        os.close(here)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "name by name":
        monkeypatch.setattr(confined, "beneath", lambda *_, **__: None)
    elif not kernel_can():
        pytest.skip("this kernel has no openat2")
    return request.param

"""A folder and the files tools over it. Tests of paths run both ways: where the kernel resolves a path in one call, and
where it cannot."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tooltrue_toolbox.files import Files
from tooltrue_toolbox.platform import handles

WAYS = ["in one call", "name by name"]


def kernel_can() -> bool:
    here = handles.open_root(Path())
    try:
        found = handles.beneath(here, ".")
        if found is not None:
            handles.close(found)
        return found is not None
    finally:
        handles.close(here)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder in an otherwise empty folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@pytest.fixture
def files(root: Path) -> Generator[Files]:
    with Files([root]) as opened:
        yield opened


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "name by name":
        monkeypatch.setattr(handles, "beneath", lambda *_, **__: None)
    elif not kernel_can():
        pytest.skip("this kernel has no openat2")
    return request.param

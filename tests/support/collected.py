"""All tests of the suite and the names in their markers, regardless of the part that is running."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from support.tiers import COLLECTED
from support.variants import promised

__all__ = ["Named", "named_by", "whole_suite"]

TESTS = Path(__file__).parents[1]
_MARKERS = ("requirement", "attack", "twin")


@dataclass(frozen=True, slots=True)
class Named:
    """A test, and the names in its markers. ``runs``: no marker skips it or expects it to fail. ``variants``: the
    number of variants of an attack that it tries."""

    id: str
    name: str
    markers: dict[str, list[str]]
    runs: bool
    variants: int = 1


def named_by(item: pytest.Item) -> Named:
    markers = {mark: sorted({id for one in item.iter_markers(mark) for id in one.args}) for mark in _MARKERS}
    runs = not any(item.iter_markers("skip")) and not any(item.iter_markers("xfail"))
    return Named(item.nodeid, item.name, markers, runs, promised(item))


def whole_suite(session: pytest.Session | None = None) -> list[Named]:
    """All tests: those of ``session`` where it runs them all, otherwise as pytest collects them in another process."""
    if session is not None and _is_whole(session.config):
        return [named_by(item) for item in session.config.stash[COLLECTED]]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(TESTS)
    command = [sys.executable, "-m", "support.collected"]
    done = subprocess.run(command, cwd=TESTS.parent, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the tests cannot be collected:\n{done.stderr}")
    return [Named(**said) for said in json.loads(done.stdout)]


def _is_whole(config: pytest.Config) -> bool:
    return [(config.rootpath / one).resolve() for one in config.args] == [TESTS]


class _Gatherer:
    """A plugin that stores the collected tests."""

    def __init__(self) -> None:
        self.tests: list[Named] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.tests = [named_by(item) for item in session.items]


def main() -> int:
    gatherer = _Gatherer()
    options = ["--collect-only", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"]
    with contextlib.redirect_stdout(sys.stderr):
        status = pytest.main([*options, str(TESTS)], plugins=[gatherer])
    print(json.dumps([asdict(one) for one in gatherer.tests]))
    return status


if __name__ == "__main__":
    sys.exit(main())

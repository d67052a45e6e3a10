"""The table of attacks says what the tests say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from security.table import load

ROWS = {row.id: row for group in load() for row in group.rows}


@pytest.fixture(scope="module")
def tests() -> dict[str, list[str]]:
    """The rows that tests name, whichever part of the suite is running: pytest collects them in another process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    command = [sys.executable, str(Path(__file__)), "--collect"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_every_row_that_a_test_names_is_in_the_table(tests: dict[str, list[str]]):
    assert sorted({*tests["attacks"], *tests["twins"]} - ROWS.keys()) == []


def test_every_row_is_tested_or_says_what_it_waits_for(tests: dict[str, list[str]]):
    assert [id for id, row in ROWS.items() if (id in tests["attacks"]) == (row.later is not None)] == []


def test_every_attack_that_is_blocked_has_a_twin_that_passes(tests: dict[str, list[str]]):
    assert [id for id in tests["attacks"] if id not in tests["twins"]] == []


if __name__ == "__main__":
    from security.table import FOLDER, Seen

    seen = Seen()
    status = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", str(FOLDER.parent)], plugins=[seen])
    print(json.dumps({"attacks": sorted(seen.attacks), "twins": sorted(seen.twins)}))
    sys.exit(status)

"""A seal file after a disk was full. For the purpose of seals see ``tests/security/test_audit.py``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tooltrue.errors import ConfigurationError
from tooltrue.state.log import Mark
from tooltrue.state.seal import FileSeal, read_seals
from tooltrue.testing.state import LIMIT

FULL = """
import resource, sys
from pathlib import Path
from tooltrue.errors import StateError
from tooltrue.state.log import Mark
from tooltrue.state.seal import FileSeal
path = Path(sys.argv[1])
seal = FileSeal(path)
seal.keep(Mark(1, "a" * 64))
for position in (2, 4):
    # as good as a disk with room for a part of a line
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, resource.RLIM_INFINITY))
    try:
        seal.keep(Mark(position, "b" * 64))
    except StateError as error:
        print(error.code)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    seal.keep(Mark(position + 1, "c" * 64))
"""


@pytest.mark.needs("limits")
@pytest.mark.process
def test_all_seals_are_readable_after_repeated_disk_full_errors(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path / "seal")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True)
    assert done.stdout.split() == ["TT7012", "TT7012"]
    assert [mark.position for mark in read_seals(tmp_path / "seal")] == [1, 3, 5]


def test_a_line_that_was_cut_short_spoils_none_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "seal"
    for length in range(1, len("1 " + "a" * 64)):
        FileSeal(path).keep(Mark(length, "b" * 64))
        with path.open("a") as file:
            file.write(("1 " + "a" * 64)[:length])
    assert [mark.position for mark in read_seals(path)] == [*range(1, 66)]


@pytest.mark.parametrize("text", ["", "12\n", "a poem\nof two lines\n", f"1 {'a' * 64}\nand\nmore\n"])
def test_a_file_with_other_content_is_refused_as_a_seal_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "seal").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_seals(tmp_path / "seal")
    assert caught.value.code == "TT7013"

"""The key that signs the record of where a log was pruned. Its use is tested in ``tests/security/test_audit.py``."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tooltrue.errors import ConfigurationError
from tooltrue.state.retention import signing_key
from tooltrue.testing.state import LIMIT

FULL = """
import resource, sys
from pathlib import Path
from tooltrue.errors import ConfigurationError
from tooltrue.state.retention import signing_key
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # as good as a full disk
try:
    signing_key(Path(sys.argv[1]), make=True)
except ConfigurationError as error:
    print(error.code)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(signing_key(Path(sys.argv[1]), make=True).decode())
"""


@pytest.mark.process
def test_a_key_that_found_no_room_is_made_once_there_is_some(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path / "key")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True)
    code, key = done.stdout.splitlines()
    assert code == "TT7014"
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("make", [True, False])
@pytest.mark.parametrize("text", ["", " \n"])
def test_a_well_known_text_is_refused_as_a_signing_key(tmp_path: Path, text: str, make: bool) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        signing_key(tmp_path / "key", make=make)
    assert caught.value.code == "TT7014"


def test_a_key_is_for_its_owner_alone_and_made_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "new" / "key"
    assert signing_key(path, make=False) is None
    assert signing_key(path, make=True) == path.read_bytes().strip()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_all_that_start_at_once_have_the_one_key(tmp_path: Path) -> None:
    together = Barrier(4)

    def make(number: int) -> bytes | None:
        together.wait(LIMIT)
        return signing_key(tmp_path / str(number), make=True)

    with ThreadPoolExecutor(4) as threads:
        for number in range(50):
            assert len({*threads.map(make, [number] * 4)}) == 1
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 50

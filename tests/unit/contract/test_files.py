"""Files that are written as a whole or not at all, and what is no file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from toolwright.contract.files import write_whole
from toolwright.errors import ConfigurationError


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("before")
    file.chmod(0o640)
    write_whole(file, "after")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("after", 0o640)
    assert list(tmp_path.iterdir()) == [file]


def test_behind_a_link_the_file_is_replaced(tmp_path: Path):
    file, link = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_text("before")
    link.symlink_to(file)
    write_whole(link, "after")
    assert link.is_symlink()
    assert file.read_text() == "after"


def test_what_is_no_file_is_written_to_and_stays_what_it_is(tmp_path: Path):
    pipe, said = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "after")
    reader.join(10)
    assert (said, pipe.is_fifo()) == (["after"], True)


def test_what_cannot_be_written_is_said(tmp_path: Path):
    for place in (tmp_path, tmp_path / "no" / "folder.txt", Path("/dev/full")):
        with pytest.raises(ConfigurationError) as caught:
            write_whole(place, "after")
        assert caught.value.code == "TW9009"
    assert list(tmp_path.iterdir()) == []

"""Atomic writes of files, and paths that are not regular files."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tooltrue.contract.files import alone, write_whole
from tooltrue.errors import ConfigurationError
from tooltrue.testing.state import LIMIT


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("before")
    file.chmod(0o640)
    write_whole(file, "after")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("after", 0o640)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.needs("modes")
def test_a_written_file_keeps_its_mode_under_any_umask_and_its_owner_if_permitted(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("before")
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    file.chmod(0o666)
    before, umask = file.stat(), os.umask(0o077)
    try:
        write_whole(file, "after")
    finally:
        os.umask(umask)
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_file_and_a_link_to_it_share_one_lock(tmp_path: Path):
    file, link, order = tmp_path / "a.txt", tmp_path / "b" / "c.txt", list[str]()
    link.parent.mkdir()
    link.symlink_to(file)

    def second() -> None:
        with alone(link):
            order.append("second")

    with alone(file):
        waiting = threading.Thread(target=second)
        waiting.start()
        order.append("first")
    waiting.join(LIMIT)
    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == [link.parent], "nothing is left of it"


def test_where_others_do_not_let_go_it_is_said(tmp_path: Path):
    file = tmp_path / "a.txt"
    with alone(file), pytest.raises(ConfigurationError) as caught, alone(file, seconds=0.0):
        pass
    assert caught.value.code == "TT9009"


def test_a_folder_that_is_not_there_is_for_the_write_to_say(tmp_path: Path):
    with alone(tmp_path / "no" / "a.txt"):
        pass


def test_behind_a_link_the_file_is_replaced(tmp_path: Path):
    file, link = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_text("before")
    link.symlink_to(file)
    write_whole(link, "after")
    assert link.is_symlink()
    assert file.read_text() == "after"


@pytest.mark.needs("fifos")
def test_a_pipe_is_written_to_and_remains_a_pipe(tmp_path: Path):
    pipe, said = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "after")
    reader.join(LIMIT)
    assert (said, pipe.is_fifo()) == (["after"], True)


def test_a_path_that_cannot_be_written_raises_a_configuration_error(tmp_path: Path):
    for place in (tmp_path, tmp_path / "no" / "folder.txt", Path("/dev/full")):
        with pytest.raises(ConfigurationError) as caught:
            write_whole(place, "after")
        assert caught.value.code == "TT9009"
    assert list(tmp_path.iterdir()) == []

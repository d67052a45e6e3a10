"""A client's file is the old one or the new one, at every moment and after every fault."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files import replacement
from tooltrue.host.client_files.replacement import (
    Replacement,
    backup_beside,
    backups_of,
    discard,
    read_client_file,
    replace,
    replace_together,
)

OLD, NEW = '{"mcpServers": {}}\n', '{"mcpServers": {"notes": {"command": "/bin/notes"}}}\n'


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        self.now += 1.5
        return self.now


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def changed(path: Path, text: str | None, clock: Callable[[], float] | None = None) -> Any:
    return replace(Replacement(read_client_file(path, path.parent), text), clock=clock or Clock())


def code_of(run: Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as raised:
        run()
    return raised.value.code


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "client" / "mcp.json"
    backup = changed(file, NEW)
    assert (file.read_text(), mode(file), mode(file.parent)) == (NEW, 0o600, 0o700)
    assert (backup.path.name, backup.text, mode(backup.path)) == (
        f"mcp.json.tooltrue-20270115T080001.500000Z-{backup.digest}.none",
        None,
        0o600,
    )
    assert backups_of(file) == [backup]


@pytest.mark.parametrize(
    ("before", "of_backup"),
    [
        (0o600, 0o600),
        (0o644, 0o600),
        (0o664, 0o600),
        pytest.param(0o400, 0o400, marks=pytest.mark.needs("modes")),  # Windows replaces no read-only file
        (0o640, 0o600),
    ],
)
def test_an_existing_file_keeps_its_mode_and_its_backup_is_private(tmp_path: Path, before: int, of_backup: int) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(OLD)
    file.chmod(before)
    backup = changed(file, NEW)
    assert (file.read_text(), mode(file)) == (NEW, before)
    assert (backup.text, mode(backup.path)) == (OLD, of_backup)
    assert backup.follows(NEW)
    assert not backup.follows(OLD)


def test_only_the_last_backups_are_kept(tmp_path: Path) -> None:
    file, clock = tmp_path / "mcp.json", Clock()
    (tmp_path / "mcp.json.bak").write_text("not ours")
    (tmp_path / "mcp.json.tooltrue-note.bak").write_text("not ours")
    for number in range(8):
        changed(file, f'{{"a": {number}}}', clock)
    assert [backup.text for backup in backups_of(file)] == [f'{{"a": {number}}}' for number in (6, 5, 4, 3, 2)]
    assert len(list(tmp_path.iterdir())) == 8
    discard(backups_of(file)[0])
    assert len(backups_of(file)) == 4


def test_a_file_that_another_program_has_changed_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(OLD)
    change = Replacement(read_client_file(file, tmp_path), NEW)
    file.write_text('{"theirs": 1}')
    assert code_of(lambda: replace(change)) == "TT4659"
    assert file.read_text() == '{"theirs": 1}'
    file.unlink()
    assert code_of(lambda: replace(change)) == "TT4659"
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed_within_the_home_only(tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside.json"
    (home / "dotfiles").mkdir(parents=True)
    (home / "dotfiles" / "mcp.json").write_text(OLD)
    outside.write_text(OLD)
    link = home / "mcp.json"
    link.symlink_to("dotfiles/mcp.json")
    file = read_client_file(link, home)
    assert (file.path, file.link, file.text) == (home / "dotfiles" / "mcp.json", link, OLD)
    replace(Replacement(file, NEW))
    assert link.is_symlink()
    assert link.read_text() == NEW
    assert len(backups_of(home / "dotfiles" / "mcp.json")) == 1

    other = home / "other.json"
    other.symlink_to(outside)
    assert code_of(lambda: read_client_file(other, home)) == "TT4650"
    (home / "inside").symlink_to("dotfiles")
    assert read_client_file(home / "inside" / "mcp.json", home).link == home / "inside" / "mcp.json"
    (home / "away").symlink_to(tmp_path)
    assert code_of(lambda: read_client_file(home / "away" / "outside.json", home)) == "TT4650"
    assert read_client_file(outside, home).link is None  # where the environment puts it
    (tmp_path / "alias").symlink_to(home)
    assert read_client_file(tmp_path / "alias" / "dotfiles" / "mcp.json", tmp_path / "alias").link is None
    loop = home / "loop.json"
    loop.symlink_to(loop)
    assert code_of(lambda: read_client_file(loop, home)) == "TT4650"


@pytest.mark.needs("fifos")
def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    (tmp_path / "large.json").write_text(OLD)
    monkeypatch.setattr(replacement, "MAX_BYTES", 4)
    for name in ("folder", "pipe", "latin", "large"):
        assert code_of(lambda name=name: read_client_file(tmp_path / f"{name}.json", tmp_path)) == "TT4650"
    assert code_of(lambda: read_client_file(tmp_path / "large.json" / "x.json", tmp_path)) == "TT4650"


def test_a_folder_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "client").touch()
    assert code_of(lambda: read_client_file(tmp_path / "client" / "mcp.json", tmp_path)) == "TT4650"


# --- faults -----------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone: no further call has an effect."""


def disk_full() -> OSError:
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    error.winerror = 112  # pyright: ignore[reportAttributeAccessIssue] - an attribute of Windows
    return error


class Faults:
    """Counts the calls that change the file system, and fails at one of them: with an error, or as if killed.

    Half of a text is written when writing is what fails.
    """

    CALLS = ("open", "fsync", "fchmod", "fchown", "replace", "unlink", "mkdir")
    CALLS_OF_WINDOWS = ("_create_file", "_create_directory")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, *, kills: bool) -> None:
        self.count, self.at, self.kills, self.is_dead = 0, at, kills, False
        for name in self.CALLS:
            if hasattr(os, name):
                monkeypatch.setattr(os, name, self._failing(getattr(os, name)))
        if not HAS_POSIX:
            from tooltrue._internal.platform import windows_handles  # noqa: PLC0415 - of one system

            for name in self.CALLS_OF_WINDOWS:
                monkeypatch.setattr(windows_handles, name, self._failing(getattr(windows_handles, name)))
        real = os.fdopen
        monkeypatch.setattr(os, "fdopen", lambda *words, **more: self._stream(real(*words, **more)))

    def _failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **more: Any) -> Any:
            self._count()
            return real(*words, **more)

        return call

    def _count(self) -> None:
        if self.is_dead:
            raise Killed
        self.count += 1
        if self.count == self.at:
            self.is_dead = self.kills
            raise Killed if self.kills else disk_full()

    def _stream(self, stream: Any) -> Any:
        if isinstance(stream, io.TextIOWrapper):
            write = stream.write

            def half(text: str) -> int:
                try:
                    self._count()
                except BaseException:
                    write(text[: len(text) // 2])
                    stream.flush()
                    raise
                return write(text)

            stream.write = half
        return stream


@pytest.fixture(params=["error", "kill"])
def kills(request: pytest.FixtureRequest) -> bool:
    return request.param == "kill"


def outcomes(monkeypatch: pytest.MonkeyPatch, kills: bool, run: Callable[[], object]) -> Iterator[int]:
    """Run with a fault at the first call, at the second, and so on, until there is none left to fail."""
    at, ended = 0, False
    while not ended:
        at += 1
        with monkeypatch.context() as patched:
            faults = Faults(patched, at, kills=kills)
            try:
                run()
                ended = faults.count < at
            except (ConfigurationError, Killed):
                pass
        yield at


@pytest.mark.parametrize("old", [OLD, None])
def test_a_fault_at_any_call_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: bool, old: str | None
) -> None:
    file = tmp_path / "client" / "mcp.json"
    seen: set[str | None] = set()
    tried: list[int] = []

    def prepared() -> None:
        file.parent.mkdir(exist_ok=True)
        for one in file.parent.iterdir():
            one.unlink()
        if old is None:
            file.parent.rmdir()
        else:
            file.write_text(old)

    prepared()
    for place in outcomes(monkeypatch, kills, lambda: changed(file, NEW)):
        tried.append(place)
        text = file.read_text() if file.exists() else None
        assert text in (old, NEW)
        seen.add(text)
        left = [one.name for one in file.parent.iterdir()] if file.parent.exists() else []
        assert kills or not [name for name in left if name.startswith(".")]  # an error leaves nothing behind
        changed(file, NEW + " ")  # the next run is not in the way of what is left
        assert file.read_text() == NEW + " "
        prepared()
    assert len(tried) > 6
    assert seen == {old, NEW}


def test_a_fault_while_undoing_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: bool
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(NEW)
    for _ in outcomes(
        monkeypatch, kills, lambda: replace(Replacement(read_client_file(file, tmp_path), OLD), keeps_backup=False)
    ):
        assert file.read_text() in (OLD, NEW)
        file.write_text(NEW)


def test_files_that_change_together_have_backups_of_the_same_time(tmp_path: Path) -> None:
    one, other, clock = tmp_path / "one.json", tmp_path / "other.json", Clock()
    changed(other, OLD, clock)
    files = [Replacement(read_client_file(path, tmp_path), NEW) for path in (one, other)]
    of_one, of_other = replace_together(files, clock=clock)
    assert (one.read_text(), other.read_text()) == (NEW, NEW)
    assert backup_beside(of_other, one) == of_one
    assert (of_one.text, of_other.text) == (None, OLD)
    changed(other, None, clock)
    assert backup_beside(backups_of(other)[0], one) is None


def test_files_that_change_together_change_all_or_none(tmp_path: Path) -> None:
    one, new, last = (tmp_path / name for name in ("one.json", "new.json", "last.json"))
    one.write_text(OLD)
    last.write_text(OLD)
    files = [Replacement(read_client_file(path, tmp_path), NEW) for path in (one, new, last)]
    last.write_text("{}")  # by another program, since it was read
    assert code_of(lambda: replace_together(files, clock=Clock())) == "TT4659"
    assert {path.name: path.read_text() for path in tmp_path.glob("*.json*") if ".lock" not in path.name} == {
        "one.json": OLD,
        "last.json": "{}",
    }

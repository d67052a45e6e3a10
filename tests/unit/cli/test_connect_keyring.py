"""``tooltrue connect --gateway --keyring``: secrets move from the client's file to the keyring, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import keyring
import keyring.backend
import pytest
from keyring.errors import PasswordDeleteError

from tooltrue._internal.platform.system import PLATFORM
from tooltrue.cli.main import cli
from tooltrue.host.client_files.clients import client_profiles, location, system_of

SECRET = "hunter2-" + "correct-horse"


class Keyring(keyring.backend.KeyringBackend):
    """A keyring that works like any, in memory."""

    priority: ClassVar[float] = 5.0  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.texts.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.texts[username] = password

    def delete_password(self, service: str, username: str) -> None:
        if username not in self.texts:
            raise PasswordDeleteError("not there")
        del self.texts[username]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of Cursor in a home of its own, with a secret in it."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    system = system_of(PLATFORM)
    made = Path(location(client_profiles()["cursor"].files[system], system, {}, str(tmp_path)))
    made.parent.mkdir(parents=True)
    made.write_text(json.dumps({"mcpServers": {"one": {"command": "c", "env": {"API_TOKEN": SECRET}}}}))
    return made


def test_a_secret_moves_to_the_keyring_and_back(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    used, text = Keyring(), file.read_text()
    monkeypatch.setattr(keyring, "get_keyring", lambda: used)
    cli(["connect", "cursor", "--gateway", "--keyring", "--dry-run"], standalone_mode=False)
    assert used.texts == {}  # no person has agreed

    cli(["connect", "cursor", "--gateway", "--keyring", "--yes"], standalone_mode=False)
    assert used.texts == {"variable cursor/one/API_TOKEN": SECRET}
    moved = (tmp_path / "settings/tooltrue/gateway/cursor.json").read_text()
    assert json.loads(moved)["mcpServers"]["one"]["env"] == {"API_TOKEN": "${keyring:cursor/one/API_TOKEN}"}
    assert SECRET not in moved + file.read_text()
    seen = capsys.readouterr()
    assert SECRET not in seen.out + seen.err
    assert "The backup still has the secrets" in seen.err

    cli(["connect", "cursor", "--undo", "--yes"], standalone_mode=False)
    assert (file.read_text(), used.texts) == (text, {})


def test_without_a_keyring_no_file_is_written(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, unsafe = file.read_text(), Keyring()
    monkeypatch.setattr(Keyring, "priority", 0.5)
    monkeypatch.setattr(keyring, "get_keyring", lambda: unsafe)
    with pytest.raises(SystemExit) as ended:
        cli(["connect", "cursor", "--gateway", "--keyring", "--yes"], standalone_mode=False)
    assert (ended.value.code, "TT4812" in capsys.readouterr().err) == (2, True)
    assert file.read_text() == text
    assert [one.name for one in file.parent.iterdir()] == [file.name]

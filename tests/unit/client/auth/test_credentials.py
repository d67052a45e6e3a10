"""Token storage: file permissions, the state after a failed write, and locking."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any, ClassVar

import keyring
import keyring.backend
import pytest
from keyring.errors import KeyringLocked, PasswordDeleteError

from tooltrue.client.auth.credentials import Credentials, InFiles, InMemory
from tooltrue.client.auth.keyring_credentials import InKeyring
from tooltrue.client.auth.user_store import user_store
from tooltrue.errors import StateError
from tooltrue.testing.state import LIMIT


class Keyring(keyring.backend.KeyringBackend):
    """A keyring that works like any, in memory."""

    priority: ClassVar[float] = 5.0  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked("locked")
        return self.texts.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise KeyringLocked("locked")
        self.texts[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.texts:
            raise PasswordDeleteError("not there")
        del self.texts[service, username]


@pytest.fixture(params=["memory", "files", "keyring"])
def credentials(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Credentials:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return {"memory": InMemory, "files": InFiles, "keyring": lambda: InKeyring(Keyring())}[request.param]()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "credentials"


def test_the_last_written_credential_is_read_until_it_is_removed(credentials: Credentials):
    async def scenario() -> list[str | None]:
        seen = [await credentials.read("a key of «https://issuer.example/é»")]
        for text in ("one", "two ✓", None, None):
            await credentials.write("a key of «https://issuer.example/é»", text)
            seen.append(await credentials.read("a key of «https://issuer.example/é»"))
        return [*seen, await credentials.read("another")]

    assert asyncio.run(scenario()) == [None, "one", "two ✓", None, None, None]


def test_one_at_a_time_is_alone_with_a_key(credentials: Credentials):
    order: list[str] = []

    async def second(started: asyncio.Event) -> None:
        started.set()
        async with credentials.alone("key"):
            order.append("second")

    async def scenario() -> None:
        started = asyncio.Event()
        async with credentials.alone("key"):
            waiting = asyncio.create_task(second(started))
            await started.wait()
            done, _ = await asyncio.wait([waiting], timeout=0.2)
            assert not done
            order.append("first")
        await asyncio.wait_for(waiting, LIMIT)

    asyncio.run(scenario())
    assert order == ["first", "second"]


def test_a_cancelled_waiter_leaves_no_lock_behind(folder: Path):
    async def scenario() -> None:
        async with InFiles(folder).alone("key"):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1), InFiles(folder).alone("key"):
                    raise AssertionError("two at once")
        async with asyncio.timeout(LIMIT), InFiles(folder).alone("key"):
            pass

    asyncio.run(scenario())


@pytest.mark.requirement("AUTHC-47")
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_files_are_private_to_their_owner_under_any_umask(folder: Path, umask: int):
    before = os.umask(umask)
    try:
        folder.parent.joinpath("credentials").mkdir(mode=0o755)
        asyncio.run(InFiles(folder).write("key", "secret"))
    finally:
        os.umask(before)
    [file] = folder.iterdir()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)
    assert "key" not in file.name


def test_a_file_that_others_can_read_is_not_used(folder: Path):
    asyncio.run(InFiles(folder).write("key", "secret"))
    [file] = folder.iterdir()
    file.chmod(0o644)
    with pytest.raises(StateError) as found:
        asyncio.run(InFiles(folder).read("key"))
    assert found.value.code == "TT5110"
    assert "secret" not in str(found.value)


def test_a_link_in_the_place_of_a_file_is_not_followed(folder: Path, tmp_path: Path):
    asyncio.run(InFiles(folder).write("key", "secret"))
    [file] = folder.iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError):
        asyncio.run(InFiles(folder).read("key"))
    asyncio.run(InFiles(folder).write("key", "new"))
    assert (tmp_path / "elsewhere").read_text() == "secret"
    assert asyncio.run(InFiles(folder).read("key")) == "new"


def test_a_failed_write_leaves_the_old_content(folder: Path, monkeypatch: pytest.MonkeyPatch):
    asyncio.run(InFiles(folder).write("key", "old"))

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError, match="No space left"):
        asyncio.run(InFiles(folder).write("key", "new"))
    assert asyncio.run(InFiles(folder).read("key")) == "old"
    assert len(list(folder.iterdir())) == 1


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError) as found:
        asyncio.run(InFiles(tmp_path / "file" / "credentials").write("key", "secret"))
    assert found.value.code == "TT5110"


def test_a_keyring_that_is_locked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    backend = Keyring()
    backend.is_locked = True
    for work in (InKeyring(backend).read("key"), InKeyring(backend).write("key", "secret")):
        with pytest.raises(StateError, match="keyring: locked"):
            asyncio.run(work)


@pytest.mark.parametrize(("priority", "kind"), [(5.0, InKeyring), (0.5, InFiles), (0.0, InFiles)])
def test_only_a_keyring_that_keeps_secrets_is_used(
    priority: float, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    backend: Any = type("Backend", (Keyring,), {"priority": priority})()
    monkeypatch.setattr("keyring.get_keyring", lambda: backend)
    assert type(user_store()) is kind

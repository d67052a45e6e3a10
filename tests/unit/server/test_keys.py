"""Keys: made, kept as digests, read from a file, and ended."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tooltrue import ApiKeys, ConfigurationError, Principal
from tooltrue.server.identity import Refused
from tooltrue.server.keys import Key, new_key
from tooltrue.transport.carrier import Carrier

ADA, ADAS = new_key("ada")


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def holder(keys: ApiKeys, **headers: str) -> Principal | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(keys.principal(Carrier("http", named, "192.0.2.1")))


def test_a_holder_of_a_key_is_authenticated_by_either_header():
    keys = ApiKeys({"ada": Key(ADAS, frozenset({"read"}))})
    ada = Principal("key:ada", frozenset({"read"}))
    assert [holder(keys, authorization=f"Bearer {ADA}"), holder(keys, x_api_key=ADA)] == [ada, ada]


@pytest.mark.parametrize(
    "key",
    [ADA[:-1] + ("A" if ADA[-1] != "A" else "B"), ADA.replace("ada", "eve"), new_key("ada")[0]],
    ids=["its end", "its name", "another"],
)
def test_a_key_that_is_not_right_to_the_last_letter_is_refused(key: str):
    with pytest.raises(Refused):
        holder(ApiKeys({"ada": Key(ADAS)}), authorization=f"Bearer {key}")


@pytest.mark.parametrize(
    "token",
    ["eyJhbGciOiJSUzI1NiJ9.e30.x", "opaque", ADA + "x", "tt_ada_"],
    ids=["JWT", "opaque", "too long", "too short"],
)
def test_a_token_of_another_kind_is_for_somebody_else_to_judge(token: str):
    keys = ApiKeys({"ada": Key(ADAS)})
    assert holder(keys, authorization=f"Bearer {token}") is None
    with pytest.raises(Refused):
        holder(keys, x_api_key=token)


def test_a_key_ends_at_its_time():
    clock = Clock()
    keys = ApiKeys({"ada": Key(ADAS, expires=1_001.0)}, clock=clock)
    assert holder(keys, x_api_key=ADA) == Principal("key:ada")
    clock.now = 1_001.0
    with pytest.raises(Refused, match="expired"):
        holder(keys, x_api_key=ADA)


def write(path: Path, text: str, *, at: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(at, at))


def test_a_key_that_is_taken_out_of_the_file_ends_within_a_second(tmp_path: Path):
    clock, path = Clock(), tmp_path / "keys.toml"
    write(path, f'[ada]\nsha256 = "{ADAS}"\n', at=1)
    keys = ApiKeys(path, clock=clock)
    assert holder(keys, x_api_key=ADA) == Principal("key:ada")
    write(path, "", at=2)
    clock.now += 1.0
    with pytest.raises(Refused):
        holder(keys, x_api_key=ADA)


@pytest.mark.parametrize("what", ["broken", "gone"])
def test_an_unreadable_key_file_refuses_all_callers_and_logs_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
):
    clock, path = Clock(), tmp_path / "keys.toml"
    write(path, f'[ada]\nsha256 = "{ADAS}"\n', at=1)
    keys = ApiKeys(path, clock=clock)
    if what == "gone":
        path.unlink()
    else:
        write(path, "[ada", at=2)
    clock.now += 1.0
    with pytest.raises(Refused):
        holder(keys, x_api_key=ADA)
    assert "TT4202" in caplog.text


def test_a_file_that_could_not_be_read_once_is_read_again_though_it_is_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock, path = Clock(), tmp_path / "keys.toml"
    text = f'[ada]\nsha256 = "{ADAS}"\n'
    write(path, text, at=1)
    keys = ApiKeys(path, clock=clock)
    write(path, text.replace("]", " "), at=2)  # in place of a file whose reading fails, for want of a descriptor
    for _ in range(3):
        clock.now += 1.0
        with pytest.raises(Refused):
            holder(keys, x_api_key=ADA)
    assert caplog.text.count("TT4202") == 1, "it is said once"
    write(path, text, at=2)
    clock.now += 1.0
    assert holder(keys, x_api_key=ADA) == Principal("key:ada")


@pytest.mark.parametrize(
    "text",
    [
        "[ada",
        "ada = 1",
        "[ada]",
        "[ada]\nsha256 = 7",
        '[ada]\nsha256 = "short"',
        f'["A da"]\nsha256 = "{ADAS}"',
        f'[ada]\nsha256 = "{ADAS}"\nscope = ["read"]',
        f'[ada]\nsha256 = "{ADAS}"\nscopes = "read"',
        f'[ada]\nsha256 = "{ADAS}"\nscopes = ["two words"]',
        f'[ada]\nsha256 = "{ADAS}"\nexpires = "soon"',
        f'[ada]\nsha256 = "{ADAS}"\nexpires = 2027-01-01T00:00:00',
    ],
    ids=range(11),
)
def test_a_file_with_a_mistake_is_refused_at_the_start(tmp_path: Path, text: str):
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        ApiKeys(path)
    assert caught.value.code == "TT4202"


def test_no_digest_lets_in():
    with pytest.raises(Refused):
        holder(ApiKeys({"ada": Key(ADAS)}), x_api_key=f"tt_ada_{ADAS[:43]}")

"""Detection of the other workers of a third-party ASGI server from within one worker."""

from __future__ import annotations

import logging
import sys

import pytest

from tooltrue import Server
from tooltrue.server.sealed_tokens import BadSeal, Sealer
from tooltrue.server.worker_count import workers_started
from tooltrue.state.facts import MemoryFacts

KEY = b"k" * 32


@pytest.mark.parametrize(
    ("command", "environment", "workers"),
    [
        ("/usr/bin/uvicorn app:app --workers 4", {}, 4),
        ("/usr/bin/uvicorn app:app --workers=4", {}, 4),
        ("/usr/lib/python3/uvicorn/__main__.py app:app --workers 2 --port 80", {}, 2),
        ("gunicorn -w 3 app:app", {}, 3),
        ("gunicorn app:app -w3", {}, 3),
        ("gunicorn app:app", {"GUNICORN_CMD_ARGS": "--bind :80 --workers 5"}, 5),
        ("gunicorn app:app -w 2", {"GUNICORN_CMD_ARGS": "--workers 5"}, 2),
        ("hypercorn app:app -w 6", {}, 6),
        ("granian --workers 2 app:app", {}, 2),
        ("granian app:app", {"GRANIAN_WORKERS": "3"}, 3),
        ("uvicorn app:app", {"WEB_CONCURRENCY": "8"}, 8),
        ("uvicorn app:app --workers 1", {"WEB_CONCURRENCY": "8"}, 1),
        ("uvicorn app:app", {}, 1),
        ("uvicorn app:app", {"WEB_CONCURRENCY": "many"}, 1),
        ("/usr/bin/pytest -w 4 --workers 4", {"WEB_CONCURRENCY": "8"}, 1),
        ("", {"WEB_CONCURRENCY": "8"}, 1),
    ],
)
def test_the_workers_of_a_known_server_are_counted(command: str, environment: dict[str, str], workers: int):
    assert workers_started(command.split(), environment) == workers


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, True),
        ({"keys": [KEY]}, True),
        ({"facts": MemoryFacts()}, True),
        ({"keys": [KEY], "facts": MemoryFacts()}, False),
    ],
)
def test_workers_that_share_nothing_are_told_of_at_the_start(
    settings: dict[str, object], told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/uvicorn", "app:app", "--workers", "2"])
    Server("s", audit=False, **settings).http_app()  # pyright: ignore[reportArgumentType]
    assert ("[TT7057]" in caplog.text) is told


def test_a_token_of_another_worker_is_told_of_once(caplog: pytest.LogCaptureFixture):
    here, there = Sealer([KEY], own=True), Sealer([b"o" * 32], own=True)
    for token in (there.seal("session", (), b"", 60), there.seal("cursor", (), b"x", 60)):
        with pytest.raises(BadSeal):
            here.open("cursor", (), token)
    with pytest.raises(BadSeal):
        here.reveal("requestState", (), there.hide("requestState", (), b"x", 60))
    assert [record.levelno for record in caplog.records if "[TT7056]" in record.message] == [logging.WARNING]


def test_a_hidden_token_of_another_worker_is_told_of(caplog: pytest.LogCaptureFixture):
    with pytest.raises(BadSeal):
        Sealer([KEY], own=True).reveal("requestState", (), Sealer([b"o" * 32]).hide("requestState", (), b"x", 60))
    assert "[TT7056]" in caplog.text


@pytest.mark.parametrize("token", ["", "nonsense", "AAAA", "QUFB" * 40])
def test_an_invalid_token_is_not_logged(token: str, caplog: pytest.LogCaptureFixture):
    with pytest.raises(BadSeal):
        Sealer([KEY], own=True, clock=lambda: 2.0**47).open("cursor", (), token)
    assert caplog.text == ""


def test_an_expired_token_of_another_worker_is_not_told_of(caplog: pytest.LogCaptureFixture):
    old = Sealer([b"o" * 32], clock=lambda: 0.0).seal("session", (), b"", 60)
    with pytest.raises(BadSeal):
        Sealer([KEY], own=True, clock=lambda: 100.0).open("session", (), old)
    assert caplog.text == ""


def test_a_server_with_keys_tells_nothing(caplog: pytest.LogCaptureFixture):
    with pytest.raises(BadSeal):
        Sealer([KEY]).open("session", (), Sealer([b"o" * 32]).seal("session", (), b"", 60))
    assert caplog.text == ""

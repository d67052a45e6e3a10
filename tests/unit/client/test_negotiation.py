"""Negotiation of the protocol revision by a client, for every kind of server answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tooltrue.client.eras import Era
from tooltrue.client.negotiation import negotiate
from tooltrue.errors import (
    ConnectionLost,
    HeaderMismatch,
    InvalidAnswer,
    MethodNotFound,
    RequestTimeout,
    RpcError,
    TransportError,
    UnsupportedVersion,
)
from tooltrue.protocol import versions
from tooltrue.transport.http_client import HttpStatus

DISCOVERED = {"supportedVersions": list(versions.ALL), "capabilities": {"tools": {}}, "instructions": "Use it."}
INITIALIZED = {
    "protocolVersion": versions.NEWEST_LEGACY,
    "capabilities": {},
    "serverInfo": {"name": "old", "version": "1"},
}


def unsupported(*supported: Any) -> UnsupportedVersion:
    error = UnsupportedVersion("no")
    error.data = {"supported": list(supported)}
    return error


def settle(answers: Mapping[str, Any], revision: str | None = None) -> tuple[str, list[str]]:
    """The negotiated revision, and the methods requested. A list holds one answer per request."""
    said: list[str] = []

    async def ask(era: Era | None, method: str, params: dict[str, Any], seconds: float) -> Any:
        answer = answers[method]
        if isinstance(answer, list):
            answer = answer[said.count(method)]
        said.append(method)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def main() -> str:
        era, facts = await negotiate(ask, lambda era, method: said.append(method), 1.0, revision=revision)
        assert facts.revision == era.revision
        return era.revision

    return asyncio.run(main()), said


def refused(answers: Mapping[str, Any], revision: str | None = None) -> Exception:
    with pytest.raises((TransportError, RpcError)) as caught:
        settle(answers, revision)
    return caught.value


def test_a_modern_server_is_spoken_to_at_once():
    assert settle({"server/discover": DISCOVERED}) == (versions.LATEST, ["server/discover"])


def test_a_modern_server_that_was_slow_and_takes_no_handshake_any_more_is_asked_again():
    answers = {"server/discover": [RequestTimeout("silence"), DISCOVERED], "initialize": RpcError("too late")}
    assert settle(answers) == (versions.LATEST, ["server/discover", "initialize", "server/discover"])


def test_a_server_that_is_silent_and_takes_no_handshake_is_none():
    answers = {"server/discover": RequestTimeout("silence"), "initialize": RpcError("no")}
    assert isinstance(refused(answers), RequestTimeout)
    answers = {"server/discover": MethodNotFound("no"), "initialize": RpcError("no")}
    assert str(refused(answers)) == "no"


@pytest.mark.requirement("VER-08")
@pytest.mark.parametrize(
    "answer",
    [
        MethodNotFound("no"),
        RpcError("any"),
        RequestTimeout("silence"),
        HttpStatus("400"),
        InvalidAnswer("both a result and an error"),
        unsupported(versions.NEWEST_LEGACY),
        {"supportedVersions": "2026"},
        {},
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_anything_but_a_modern_answer_means_a_legacy_server(answer: Any):
    revision, said = settle({"server/discover": answer, "initialize": INITIALIZED})
    assert revision == versions.NEWEST_LEGACY
    assert said == ["server/discover", "initialize", "notifications/initialized"]


def test_a_server_whose_answer_is_not_valid_and_that_takes_no_handshake_is_named_by_that_answer():
    odd = InvalidAnswer("both a result and an error")
    assert refused({"server/discover": odd, "initialize": MethodNotFound("no")}) is odd
    assert refused({"server/discover": MethodNotFound("no"), "initialize": odd}) is odd


@pytest.mark.requirement("VER-09")
@pytest.mark.parametrize("supported", [(), ("2099-01-01",), (7, None)])
def test_a_server_of_the_future_is_not_taken_for_one_of_the_past(supported: Any):
    error = refused({"server/discover": unsupported(*supported)})
    assert isinstance(error, TransportError)
    assert error.code == "TT5008"


def test_a_server_that_lists_only_legacy_revisions_gets_its_handshake():
    answers = {"server/discover": {**DISCOVERED, "supportedVersions": list(versions.LEGACY)}, "initialize": INITIALIZED}
    assert settle(answers)[0] == versions.NEWEST_LEGACY


@pytest.mark.parametrize("error", [ConnectionLost("gone"), HeaderMismatch("x")])
def test_a_failure_that_says_nothing_of_eras_is_the_callers(error: Exception):
    assert refused({"server/discover": error}) is error


@pytest.mark.requirement("LIFE-13")
@pytest.mark.parametrize("revision", [versions.LATEST, "1999-01-01", None, 7])
def test_a_handshake_that_settles_on_an_unknown_revision_is_aborted(revision: Any):
    answers = {"server/discover": MethodNotFound("x"), "initialize": {**INITIALIZED, "protocolVersion": revision}}
    assert getattr(refused(answers), "code", "") == "TT5008"


@pytest.mark.parametrize("revision", versions.LEGACY)
def test_every_legacy_revision_is_spoken(revision: str):
    answers = {"server/discover": MethodNotFound("x"), "initialize": {**INITIALIZED, "protocolVersion": revision}}
    assert settle(answers)[0] == revision


def test_a_revision_that_is_named_is_the_only_one_that_is_tried():
    answers = {"server/discover": DISCOVERED, "initialize": INITIALIZED}
    assert settle(answers, versions.LATEST) == (versions.LATEST, ["server/discover"])
    assert settle(answers, versions.NEWEST_LEGACY) == (
        versions.NEWEST_LEGACY,
        ["initialize", "notifications/initialized"],
    )
    assert isinstance(refused({"server/discover": unsupported()}, versions.LATEST), UnsupportedVersion)
    assert getattr(refused(answers, versions.LEGACY[-1]), "code", "") == "TT5008"

"""The HTTP server that these tests speak to, and the authorization server that gives out tokens for it."""

import pytest

from support.issuing.server import one_more_running_issuer, one_running_issuer, other_running_issuer, running_issuer
from support.wire.mounting import running_mounts
from tooltrue.client import negotiation
from tooltrue.testing.state import LIMIT
from tooltrue.transport import http_client

__all__ = [
    "one_more_running_issuer",
    "one_running_issuer",
    "other_running_issuer",
    "running_issuer",
    "running_mounts",
]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client does not take a machine that stands still for some seconds for a server that is silent."""
    monkeypatch.setattr(negotiation, "_PROBE_SECONDS", LIMIT)
    monkeypatch.setattr(http_client, "_LISTEN_SECONDS", LIMIT)
    monkeypatch.setattr(http_client, "_CLOSE_SECONDS", LIMIT)

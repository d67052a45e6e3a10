"""The record of what a person decides about a contract in a terminal, with the members that the console records."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from tooltrue._internal.platform.users import operating_system_user
from tooltrue.host.pins import Review

__all__ = ["contract_act"]


def contract_act(act: str, subject: str, contract: str, accepted: str, review: Review) -> Mapping[str, Any]:
    """Return the record: ``contract`` is the key of the contract, and ``accepted`` the digest of the one that holds so
    far. The changes of ``review`` are what was shown."""
    return {
        "accepted": accepted,
        "arguments": review.shown(),
        "contract": contract,
        "decision": act,
        "how": "terminal",
        "id": secrets.token_hex(8),
        "instance": review.server,
        "published": review.digest,
        "subject": subject,
        "who": operating_system_user(),
    }

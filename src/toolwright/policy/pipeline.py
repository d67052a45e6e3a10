"""The default pipeline, composed in one place."""

from __future__ import annotations

from dataclasses import dataclass

from toolwright.errors import ConfigurationError
from toolwright.policy.answered import answered
from toolwright.policy.audit import audit
from toolwright.policy.authorize import authorize, authorize_arguments
from toolwright.policy.confirm import confirm
from toolwright.policy.limits import concurrency, rate, timeout
from toolwright.policy.rules import Decide, allow_all
from toolwright.policy.tidy import tidy
from toolwright.policy.validate import validate
from toolwright.tools.toolset import Provider, guarded

__all__ = ["LAYERS", "Limits", "standard"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may take, unless its tool says otherwise: ``seconds`` to answer, ``max_bytes`` of result."""

    seconds: float = 30.0
    max_bytes: int = 2_097_152

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("max_bytes", self.max_bytes)):
            if not 0 < value < float("inf"):
                raise ConfigurationError.of("TW4009", name=f"Limits({name}=…)", wanted="a number above 0")


def standard(provider: Provider, *, limits: Limits, decide: Decide = allow_all, language: str = "en") -> Provider:
    """``provider`` behind everything that the specification demands of servers, outermost first."""
    return guarded(
        provider,
        audit,  # also what is refused
        answered(language),  # below, failures are exceptions; above, they are results
        authorize(decide),  # hidden and unknown read the same
        rate,  # before any question: nobody floods the user
        validate,  # nobody is asked about arguments that are wrong
        authorize_arguments(decide),
        confirm,  # human time is not counted below
        concurrency,
        timeout(limits.seconds),
        tidy(limits.max_bytes),  # what leaves fits the schema and the limit
    )


LAYERS = (
    ("audit", "stands, records nothing yet"),
    ("answered", "on: failures become results, crash text is masked"),
    ("authorize", "stands, allows all"),
    ("rate", "stands, no limit"),
    ("validate", "on: published schema, closed objects, no coercion"),
    ("authorize arguments", "stands, allows all"),
    ("confirm", "stands, asks nothing"),
    ("concurrency", "stands, plain functions bounded by their threads"),
    ("timeout", "on: {seconds} s a call"),
    ("tidy", "on: output schema, {max_bytes} bytes a result"),
)
"""What ``toolwright inspect`` prints, in the order of :func:`standard`."""

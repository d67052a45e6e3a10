"""The default pipeline, composed in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from toolwright.errors import ConfigurationError
from toolwright.policy.answered import answered
from toolwright.policy.approvals import Approvals
from toolwright.policy.audit import audit
from toolwright.policy.authorize import authorize, authorize_arguments
from toolwright.policy.confirm import Confirm, confirm, spend
from toolwright.policy.limits import concurrency, rate, timeout
from toolwright.policy.rules import Decide, allow_all
from toolwright.policy.tidy import tidy
from toolwright.policy.validate import validate
from toolwright.state.facts import Facts, MemoryFacts
from toolwright.tools.toolset import Provider, guarded

__all__ = ["Guard", "Limits", "described", "standard"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may take, unless its tool says otherwise: ``seconds`` to answer, ``max_bytes`` of result."""

    seconds: float = 30.0
    max_bytes: int = 2_097_152

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("max_bytes", self.max_bytes)):
            if not 0 < value < float("inf"):
                raise ConfigurationError.of("TW4009", name=f"Limits({name}=…)", wanted="a number above 0")


@dataclass(frozen=True, slots=True)
class Guard:
    """The settings of all layers; each has a default. ``server`` is the name that a person is told when asked.
    ``origins``: which of them came from where, for ``inspect``."""

    limits: Limits = Limits()
    decide: Decide = allow_all
    confirm: Confirm = field(default_factory=Confirm)
    language: str = "en"
    server: str = ""
    origins: Mapping[str, str] = field(default_factory=dict[str, str])

    def given(self, origin: str, **settings: Any) -> Self:
        """With those ``settings`` that are not ``None``; ``origin`` is where they came from, ``{}`` being the name."""
        said = {name: value for name, value in settings.items() if value is not None}
        return replace(self, **said, origins={**self.origins, **{name: origin.format(name) for name in said}})


def standard(
    provider: Provider,
    guard: Guard | None = None,
    facts: Facts | None = None,
    *,
    approvals: Approvals | None = None,
) -> Provider:
    """``provider`` behind everything that the specification demands of servers, outermost first. ``facts`` is what
    the workers of a server share, so that limits hold for all of them together; without it they hold for this one.
    ``approvals`` is where tickets lie; without it they lie in ``facts``."""
    guard = guard or Guard()
    facts = MemoryFacts() if facts is None else facts  # empty ones are false
    approvals = approvals or Approvals(facts)
    return guarded(
        provider,
        audit,  # also what is refused
        answered(guard.language),  # below, failures are exceptions; above, they are results
        authorize(guard.decide),  # hidden and unknown read the same
        rate,  # before any question: nobody floods the user
        validate,  # nobody is asked about arguments that are wrong
        authorize_arguments(guard.decide),
        confirm(
            guard.confirm, approvals, facts, server=guard.server, language=guard.language
        ),  # human time counts above
        concurrency,
        spend,  # a yes is used up when there is a place for the call, and not before
        timeout(guard.limits.seconds),
        tidy(guard.limits.max_bytes),  # what leaves fits the schema and the limit
    )


_Said = Callable[[Guard], str]

_LAYERS: tuple[tuple[str, str, _Said], ...] = (
    ("audit", "audit", lambda guard: "stands, records nothing yet"),
    ("answered", "", lambda guard: "on: failures become results, crash text is masked"),
    ("authorize", "decide", lambda guard: _decision(guard)),
    ("rate", "rate", lambda guard: "stands, no limit"),
    ("validate", "", lambda guard: "on: published schema, closed objects, no coercion"),
    ("authorize arguments", "decide", lambda guard: _decision(guard)),
    ("confirm", "confirm", lambda guard: _confirmation(guard.confirm)),
    ("concurrency", "concurrency", lambda guard: "stands, plain functions bounded by their threads"),
    ("spend", "confirm", lambda guard: "on: a yes is used up right before the run, once"),
    ("timeout", "limits", lambda guard: f"on: {guard.limits.seconds:g} s a call"),
    ("tidy", "limits", lambda guard: f"on: output schema, {guard.limits.max_bytes} bytes a result"),
)
# layer, in the order of `standard` → the setting it goes by → what it does


def _decision(guard: Guard) -> str:
    return "stands, allows all" if guard.decide is allow_all else "on: the server's own decision"


def _confirmation(settings: Confirm) -> str:
    which = ", ".join(sorted(settings.effects))
    return f"on: {which} tools ask, or wait for a ticket" if which else "on: where a tool or a rule says so"


def described(guard: Guard) -> list[tuple[str, str, str]]:
    """Each layer, outermost first: its name, what it does, and where its setting came from."""
    return [(name, said(guard), guard.origins.get(setting, "default")) for name, setting, said in _LAYERS]

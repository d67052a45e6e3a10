"""The default pipeline, composed in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from toolwright.errors import ConfigurationError
from toolwright.meter import Meter
from toolwright.policy.answered import answered
from toolwright.policy.audit import audit
from toolwright.policy.authorize import authorize, authorize_arguments
from toolwright.policy.confirm import confirm
from toolwright.policy.keep import BUDGET, keeping, kept
from toolwright.policy.limits import concurrency, rate, timeout
from toolwright.policy.observe import observe
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
    """The settings of all layers; each has a default. ``origins``: which of them came from where, for ``inspect``."""

    limits: Limits = Limits()
    decide: Decide = allow_all
    language: str = "en"
    meter: Meter = field(default_factory=Meter)
    origins: Mapping[str, str] = field(default_factory=dict[str, str])

    def given(self, origin: str, **settings: Any) -> Self:
        """With those ``settings`` that are not ``None``; ``origin`` is where they came from, ``{}`` being the name."""
        said = {name: value for name, value in settings.items() if value is not None}
        return replace(self, **said, origins={**self.origins, **{name: origin.format(name) for name in said}})


def standard(provider: Provider, guard: Guard | None = None, facts: Facts | None = None) -> Provider:
    """``provider`` behind everything that the specification demands of servers, outermost first. ``facts`` is what
    the workers of a server share, so that limits hold for all of them together; without it they hold for this one."""
    guard, facts = guard or Guard(), MemoryFacts() if facts is None else facts
    return guarded(
        provider,
        audit,  # also what is refused
        answered(guard.language),  # below, failures are exceptions; above, they are results
        observe(guard.meter),  # sees how it ended, and why
        authorize(guard.decide),  # hidden and unknown read the same
        rate,  # before any question: nobody floods the user
        validate,  # nobody is asked about arguments that are wrong
        authorize_arguments(guard.decide),
        confirm,  # human time is not counted below
        concurrency,
        timeout(guard.limits.seconds),
        keeping(facts),  # also what tidying had to leave out
        tidy(guard.limits.max_bytes),  # what leaves fits the schema and the limit
        kept(facts, guard.language),
    )


_Said = Callable[[Guard], str]

_LAYERS: tuple[tuple[str, str, _Said], ...] = (
    ("audit", "audit", lambda guard: "stands, records nothing yet"),
    ("answered", "", lambda guard: "on: failures become results, crash text is masked"),
    ("observe", "", lambda guard: "on: counts each operation by tool and outcome, spans where tracing is set up"),
    ("authorize", "decide", lambda guard: _decision(guard)),
    ("rate", "rate", lambda guard: "stands, no limit"),
    ("validate", "", lambda guard: "on: published schema, closed objects, no coercion"),
    ("authorize arguments", "decide", lambda guard: _decision(guard)),
    ("confirm", "confirm", lambda guard: "stands, asks nothing"),
    ("concurrency", "concurrency", lambda guard: "stands, plain functions bounded by their threads"),
    ("timeout", "limits", lambda guard: f"on: {guard.limits.seconds:g} s a call"),
    ("tidy", "limits", lambda guard: f"on: output schema, {guard.limits.max_bytes} bytes a result"),
    ("kept", "", lambda guard: f"on: for the caller alone, {BUDGET // 1_048_576} MiB at once"),
)
# layer, in the order of `standard` → the setting it goes by → what it does


def _decision(guard: Guard) -> str:
    return "stands, allows all" if guard.decide is allow_all else "on: the server's own decision"


def described(guard: Guard) -> list[tuple[str, str, str]]:
    """Each layer, outermost first: its name, what it does, and where its setting came from."""
    return [(name, said(guard), guard.origins.get(setting, "default")) for name, setting, said in _LAYERS]

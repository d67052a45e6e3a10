"""The default pipeline, composed in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from tooltrue.errors import ConfigurationError
from tooltrue.meter import Meter
from tooltrue.policy.abuse import Abuse, abuse
from tooltrue.policy.answered import answered
from tooltrue.policy.apart import apart
from tooltrue.policy.approvals import Approvals
from tooltrue.policy.audit import audit, intent
from tooltrue.policy.audit_settings import Audit
from tooltrue.policy.authorize import authorize, authorize_arguments
from tooltrue.policy.concurrency import Concurrency, concurrency
from tooltrue.policy.confirm import Confirm, confirm, spend
from tooltrue.policy.deciding import decision
from tooltrue.policy.globs import Globs
from tooltrue.policy.keep import BUDGET, keeping, kept
from tooltrue.policy.limits import sizes, timeout
from tooltrue.policy.observe import observe
from tooltrue.policy.rate import RateLimits, rate
from tooltrue.policy.recorder import Recorder
from tooltrue.policy.renames import renames
from tooltrue.policy.repair import repair
from tooltrue.policy.rules import Decide, Held, Rules, allow_all
from tooltrue.policy.signals import Signals
from tooltrue.policy.tidy import tidy
from tooltrue.policy.validate import validate
from tooltrue.protocol.types import Value, field, replaced
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.tools.toolset import Personal, Provider, Secrets, guarded

__all__ = ["Guard", "Limits", "described", "standard"]


class Limits(Value, frozen=True):
    """The limits of one call, unless its tool has its own: ``seconds`` to answer, ``max_bytes`` of result,
    ``max_argument_bytes``. An ``async`` function that blocks the event loop for ``blocked_seconds`` is reported in the
    log."""

    seconds: float = 30.0
    max_bytes: int = 2_097_152
    max_argument_bytes: int = 4_194_304
    blocked_seconds: float = 0.5

    def __post_init__(self) -> None:
        for name in ("seconds", "max_bytes", "max_argument_bytes", "blocked_seconds"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ConfigurationError.of("TT4009", name=f"Limits({name}=…)", wanted="a number above 0")


class Guard(Value, frozen=True):
    """The settings of all layers; each has a default. ``server`` is the name that a person sees in a question;
    ``instance`` distinguishes servers of that name, or else ``started`` does, so that an approval for one does not hold
    for another. ``repair``: the tools whose arguments are repaired if they miss the schema by spelling. ``origins``:
    the source of each setting, for ``inspect``."""

    limits: Limits = Limits()
    decide: Decide = allow_all
    rate: RateLimits = field(default_factory=RateLimits)
    concurrency: Concurrency = field(default_factory=Concurrency)
    abuse: Abuse = field(default_factory=Abuse)
    rules: Rules | None = None
    held: Held = field(default_factory=dict[str, frozenset[str]])
    confirm: Confirm = field(default_factory=Confirm)
    server: str = ""
    instance: str = ""
    started: str = ""
    language: str = "en"
    meter: Meter = field(default_factory=Meter)
    signals: Signals = field(default_factory=Signals)
    audit: Audit = field(default_factory=Audit)
    secrets: Secrets = "mask"
    repair: Globs | None = None
    personal: Personal = "keep"
    origins: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def which(self) -> str:
        """Display name: ``name (instance)``, or with ``started`` for the instance; empty if neither is set."""
        told = self.instance or self.started
        return f"{self.server} ({told})" if told else ""

    def given(self, origin: str, **settings: Any) -> Self:
        """Return the guard with those ``settings`` that are not ``None``. ``origin`` is their source, ``{}`` being the
        name."""
        said = {name: value for name, value in settings.items() if value is not None}
        return replaced(self, **said, origins={**self.origins, **{name: origin.format(name) for name in said}})


def standard(
    provider: Provider,
    guard: Guard | None = None,
    facts: Facts | None = None,
    recorder: Recorder | None = None,
    *,
    approvals: Approvals | None = None,
) -> Provider:
    """Wrap ``provider`` in all layers that the specification demands of servers, outermost first. ``facts`` is the
    store that the workers of a server share, so that limits hold for all of them together; without it they hold for
    this one. ``recorder`` writes the audit log; without it, into memory. ``approvals`` holds the tickets; without it,
    ``facts`` does."""
    guard, facts = guard or Guard(), MemoryFacts() if facts is None else facts
    recorder, approvals = recorder or Recorder(guard.audit, guard.which), approvals or Approvals(facts)
    decide = decision(guard.rules, guard.decide, guard.held)
    return guarded(
        provider,
        audit(recorder),  # records refusals too
        answered(guard.language),  # below, failures are exceptions; above, they are results
        apart,  # nested calls need their own approval, and ask for themselves
        observe(guard.meter),  # sees the outcome, and its reason
        abuse(guard.abuse, facts, guard.signals),  # sees every refusal below, and guesses at names
        authorize(decide),  # hidden and unknown read the same
        renames(guard.language),  # a tool has one name from here on; a result tells that it was called by another
        rate(guard.rate, facts, guard.signals),  # before any question, so that no caller floods the user
        sizes(guard.limits.max_argument_bytes),  # before arguments are inspected closely
        repair(guard.repair),  # repaired arguments are validated, authorized and shown as they will run
        validate,  # a person is not asked about invalid arguments
        authorize_arguments(decide),
        confirm(
            guard.confirm,
            approvals,
            facts,
            server=guard.server,
            instance=guard.instance,
            started=guard.started,
            language=guard.language,
        ),  # a person's time is not counted below
        concurrency(guard.concurrency, guard.signals),  # the timeout begins when a call has its slots
        intent(recorder),  # a call that is recorded here runs, unless its grant was used up meanwhile
        spend,  # a grant is consumed when there is a slot for the call, and not before
        timeout(guard.limits.seconds),
        keeping(facts),  # also the parts that `tidy` leaves out
        tidy(
            guard.limits.max_bytes, guard.secrets, guard.language, guard.personal
        ),  # results are clean, and fit the schema and the limit
        kept(facts, guard.language),
    )


_Said = Callable[[Guard], str]

_LAYERS: tuple[tuple[str, str, _Said], ...] = (
    ("audit", "audit", lambda guard: guard.audit.said()),
    ("answered", "", lambda guard: "on: failures become results, crash text is masked"),
    ("apart", "", lambda guard: "on: what a tool calls is agreed to, and asks, for itself"),
    ("observe", "", lambda guard: "on: counts each operation by tool and outcome, spans where tracing is set up"),
    ("abuse", "abuse", lambda guard: f"on: {guard.abuse}"),
    ("authorize", "rules", lambda guard: _decision(guard)),
    ("renames", "", lambda guard: "on: old names of tools stand for the present ones, and results say so"),
    ("rate", "rate", lambda guard: f"on: {guard.rate}"),
    ("sizes", "limits", lambda guard: f"on: {guard.limits.max_argument_bytes} bytes of arguments"),
    ("repair", "repair", lambda guard: _repair(guard)),
    ("validate", "", lambda guard: "on: published schema, closed objects, no coercion"),
    ("authorize arguments", "rules", lambda guard: _decision(guard)),
    ("confirm", "confirm", lambda guard: _confirmation(guard.confirm)),
    ("concurrency", "concurrency", lambda guard: f"on: {guard.concurrency}"),
    ("intent", "audit", lambda guard: guard.audit.said_of_intents()),
    ("spend", "confirm", lambda guard: "on: a yes is used up right before the run, once"),
    ("timeout", "limits", lambda guard: f"on: {guard.limits.seconds:g} s a call"),
    ("tidy", "limits", lambda guard: f"on: output schema, {guard.limits.max_bytes} bytes a result, cleaned"),
    ("secrets", "secrets", lambda guard: "on: masked" if guard.secrets == "mask" else "off: kept"),
    ("personal data", "personal", lambda guard: "on: masked" if guard.personal == "mask" else "off: kept"),
    ("kept", "", lambda guard: f"on: for the caller alone, {BUDGET // 1_048_576} MiB at once"),
)
# layer, in the order of `standard` → its setting → its description


def _decision(guard: Guard) -> str:
    said = [f"{len(guard.rules.rules)} rules, closed where none matches"] if guard.rules else []
    said += ["the server's own decision"] if guard.decide is not allow_all else []
    return f"on: {' and '.join(said)}" if said else "on: scopes that tools require; allows all else"


def _repair(guard: Guard) -> str:
    tools = "" if guard.repair is None else f"{', '.join(guard.repair.patterns)}, and "
    return f"on: {tools}tools that say so" if tools else "on: for tools that say so"


def _confirmation(settings: Confirm) -> str:
    which = ", ".join(sorted(settings.effects))
    return f"on: {which} tools ask, or wait for a ticket" if which else "on: where a tool or a rule says so"


def described(guard: Guard) -> list[tuple[str, str, str]]:
    """Return each layer, outermost first: its name, its description, and the source of its setting."""
    origins = {**guard.origins, "rules": _origin_of_decision(guard)}
    return [(name, said(guard), origins.get(setting, "default")) for name, setting, said in _LAYERS]


def _origin_of_decision(guard: Guard) -> str:
    """Return the sources of the decision, which combines several settings."""
    return ", ".join(guard.origins[name] for name in ("rules", "decide") if name in guard.origins) or "default"

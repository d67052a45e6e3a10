"""The settings of all layers, as the author, the operator's file and the command line combine them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from tooltrue.errors import ConfigurationError
from tooltrue.observe.meter import Meter
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.layers.abuse import Abuse
from tooltrue.policy.layers.abuse_events import AbuseEvents
from tooltrue.policy.layers.concurrency import Concurrency
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.rules.globs import Globs
from tooltrue.policy.rules.rule import Decide, LocalScopes, Rules, allow_all
from tooltrue.protocol.types import Value, field, replaced
from tooltrue.tools.vocabulary import Personal, Secrets
from tooltrue.wording import LABEL_NUMBER_ABOVE_ZERO, SETTING_INVALID, Worded

if TYPE_CHECKING:  # few servers have layers of their own
    from tooltrue.policy.placing import AuthorLayer

__all__ = ["Guard", "Limits"]


class Limits(Value, frozen=True):
    """The limits of one call, unless its tool has its own: ``seconds`` to answer, ``max_bytes`` of result,
    ``max_argument_bytes``. An ``async`` function that blocks the event loop for ``blocked_seconds`` is reported in the
    log. ``lifespan_seconds`` limit how long the end of a server waits for its lifespan. A round of a task has
    ``task_seconds``: from its begin, or from the answer to its question, to its next question or its end."""

    seconds: float = 30.0
    max_bytes: int = 2_097_152
    max_argument_bytes: int = 4_194_304
    blocked_seconds: float = 0.5
    lifespan_seconds: float = 1.0
    task_seconds: float = 3_600.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ConfigurationError.of(
                    SETTING_INVALID, name=f"Limits({name}=…)", wanted=Worded(LABEL_NUMBER_ABOVE_ZERO, {})
                )


class Guard(Value, frozen=True):
    """The settings of all layers; each has a default. ``server`` is the name that a person sees in a question;
    ``instance`` distinguishes servers of that name, or else ``started`` does, so that an approval for one does not hold
    for another. ``repair``: the tools whose arguments are repaired if they miss the schema by spelling. ``layers`` are
    the author's, beside the stages. ``origins``: the source of each setting, for ``inspect``."""

    limits: Limits = Limits()
    decide: Decide = allow_all
    rate: RateLimits = field(default_factory=RateLimits)
    concurrency: Concurrency = field(default_factory=Concurrency)
    abuse: Abuse = field(default_factory=Abuse)
    rules: Rules | None = None
    local_scopes: LocalScopes = field(default_factory=dict[str, frozenset[str]])
    confirm: Confirm = field(default_factory=Confirm)
    server: str = ""
    instance: str = ""
    started: str = ""
    language: str = "en"
    meter: Meter = field(default_factory=Meter)
    abuse_events: AbuseEvents = field(default_factory=AbuseEvents)
    audit: Audit = field(default_factory=Audit)
    secrets: Secrets = "mask"
    repair: Globs | None = None
    personal: Personal = "keep"
    layers: tuple[AuthorLayer, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def which(self) -> str:
        """Display name: ``name (instance)``, or with ``started`` for the instance; empty if neither is set."""
        instance = self.instance or self.started
        return f"{self.server} ({instance})" if instance else ""

    def with_settings(self, origin: str, **settings: Any) -> Self:
        """Return the guard with those ``settings`` that are not ``None``. ``origin`` is their source, ``{}`` being the
        name."""
        changes = {name: value for name, value in settings.items() if value is not None}
        return replaced(self, **changes, origins={**self.origins, **{name: origin.format(name) for name in changes}})

"""The pipeline of a host, composed in one place: that of a server, and the layers that only the driver of a model
needs.

The rules are the same, in the same file. The differences: where no rule matches, calls that only read run and all
others ask; the question goes to the person at hand; server output is labelled as data; and a task, all calls for one
request of the user, has a budget, loop detection, and a guard against sending out private data after reading untrusted
content.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from tooltrue.host.asking import Asking, Front, approved, edited
from tooltrue.policy.abuse import abuse
from tooltrue.policy.answered import answered
from tooltrue.policy.apart import apart
from tooltrue.policy.approvals import Approvals
from tooltrue.policy.audit import audit, intent
from tooltrue.policy.authorize import authorize, authorize_arguments
from tooltrue.policy.budget import budgeted
from tooltrue.policy.concurrency import concurrency
from tooltrue.policy.config import Config
from tooltrue.policy.confirm import spend
from tooltrue.policy.deciding import decision
from tooltrue.policy.effects import declared
from tooltrue.policy.flow import Flow, flow, flowed
from tooltrue.policy.globs import Globs, globs
from tooltrue.policy.keep import keeping, kept
from tooltrue.policy.labels import labelled
from tooltrue.policy.limits import sizes, timeout
from tooltrue.policy.loops import Loops, circling
from tooltrue.policy.observe import observe
from tooltrue.policy.pipeline import Guard
from tooltrue.policy.rate import rate
from tooltrue.policy.recorder import Recorder
from tooltrue.policy.repair import repair
from tooltrue.policy.retry import Retry, Sleep, retried
from tooltrue.policy.rules import Rule, Rules
from tooltrue.policy.tidy import tidy
from tooltrue.policy.validate import validate
from tooltrue.protocol.types import Value, field, replaced
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.tools.tasks import Budget, Task
from tooltrue.tools.toolset import Effect, Provider, guarded
from tooltrue.wording import sentence

__all__ = ["Hosting", "guarding", "hosted"]


class Hosting(Value, frozen=True):
    """The settings of the layers that only a host has; each has a default. ``effects`` are the operator's own
    classification of tools; ``budget`` is that of each task. ``clock`` and ``sleep`` are for tests."""

    effects: Mapping[Effect, Globs] = field(default_factory=dict[Effect, Globs])
    budget: Budget = field(default_factory=Budget)
    flow: Flow = field(default_factory=Flow)
    loops: Loops = field(default_factory=Loops)
    retry: Retry = field(default_factory=Retry)
    asking: Asking = field(default_factory=Asking)
    clock: Callable[[], float] = time.monotonic
    sleep: Sleep = asyncio.sleep

    def task(self) -> Task:
        """Create a task: the work for one request of the user."""
        return Task(self.budget, self.clock)

    def over(self, config: Config) -> Self:
        """These settings, overridden by the operator's file."""
        said = {name: _read(config.tables[name]) for name in _TABLES if name in config.tables}
        parts = {name: replaced(getattr(self, name), **keys) for name, keys in said.items()}
        effects = {name: globs(tools) for name, tools in config.tables.get("effects", {}).items()}
        return replaced(self, **parts, **({"effects": effects} if effects else {}))


def guarding(
    hosting: Hosting | None = None, front: Front | None = None
) -> Callable[[Provider, Guard, Facts, Recorder, Approvals], Provider]:
    """:func:`hosted` with these settings, as :class:`tooltrue.host.host.Host` takes it."""

    def around(provider: Provider, guard: Guard, facts: Facts, recorder: Recorder, approvals: Approvals) -> Provider:
        return hosted(provider, guard, hosting, facts, recorder, approvals=approvals, front=front)

    return around


_TABLES = ("budget", "flow", "loops", "retry", "asking")
_PATTERNS = frozenset({"patient", "idempotent", *(name for name in Flow.__struct_fields__ if name != "is_on")})


def _read(said: Mapping[str, Any]) -> dict[str, Any]:
    return {key: globs(value) if key in _PATTERNS else value for key, value in said.items()}


def hosted(
    provider: Provider,
    guard: Guard | None = None,
    hosting: Hosting | None = None,
    facts: Facts | None = None,
    recorder: Recorder | None = None,
    *,
    approvals: Approvals | None = None,
    front: Front | None = None,
) -> Provider:
    """``provider`` behind all layers between servers and a model, outermost first.

    ``front`` puts questions to a person; without one, a call that needs approval leaves a ticket. ``facts``,
    ``recorder`` and ``approvals`` are as for :func:`tooltrue.policy.pipeline.standard`. A call that is part of a task
    has it in its context; a call without a task has no budget, and shares its taint with all others without one.
    """
    guard, hosting, facts = guard or Guard(), hosting or Hosting(), MemoryFacts() if facts is None else facts
    recorder, approvals = recorder or Recorder(guard.audit), approvals or Approvals(facts)
    decide = decision(_with_defaults(guard), guard.decide, guard.held)
    common = Task(Budget(None, None, None), hosting.clock)
    language, limits = guard.language, guard.limits
    return guarded(
        provider,
        audit(recorder),  # also refused, edited, repaired and stopped calls
        answered(language),  # below, failures are exceptions; above, they are results
        apart,  # nested calls are authorized and approved on their own
        observe(guard.meter),
        budgeted(language),  # a task that is over makes no more calls; each attempt counts
        circling(hosting.loops, language),  # sees every call with its outcome, refusals too
        abuse(guard.abuse, facts, guard.signals),
        authorize(decide),
        rate(guard.rate, facts, guard.signals),
        edited(hosting.asking, language),  # an edited call passes all layers below again
        sizes(limits.max_argument_bytes),
        repair(guard.repair),  # only where a tool declares it
        validate,  # a person is never asked about invalid arguments, and none are sent
        authorize_arguments(decide),
        flow(hosting.flow, common, language),  # calls that are harmless alone may ask in combination
        approved(
            guard.confirm,
            hosting.asking,
            approvals,
            facts,
            front,
            common,
            server=guard.server,
            instance=guard.instance,
            language=language,
        ),  # human time is not counted below
        concurrency(guard.concurrency, guard.signals),
        intent(recorder),
        spend,
        flowed(hosting.flow, common, facts),  # a call that ran adds its taint
        retried(hosting.retry, hosting.sleep),  # each attempt has its own timeout
        timeout(limits.seconds),
        labelled(language),  # output from below is data
        keeping(facts),
        tidy(limits.max_bytes, guard.secrets, language),
        kept(facts, language),
        declared(hosting.effects),  # so that every layer sees the same effect
    )


def _with_defaults(guard: Guard) -> Rules:
    """The operator's rules, followed by the defaults: reading runs, and all else asks."""
    rules = guard.rules.rules if guard.rules else ()
    every, number = globs("*"), len(rules)
    defaults = (
        Rule("allow", "default: what only reads", number, tools=every, effect=frozenset({"read"})),
        Rule("allow", "default: resources and prompts", number + 1, resources=every, prompts=every),
        Rule("ask", "default: all else", number + 2, tools=every, reason=sentence("TT2428", guard.language, {})),
    )
    return Rules((*rules, *defaults), guard.rules.server if guard.rules else guard.server, guard.held)

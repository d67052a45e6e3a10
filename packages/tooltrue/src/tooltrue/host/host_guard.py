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
from typing import Any, Final, Self

from tooltrue.host.approval_prompts import ApprovalPrompter, PromptLimits, apply_edits, ask_person
from tooltrue.host.wording import LABEL_DEFAULT_ASK_RULE
from tooltrue.policy import pipeline
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.config import OperatorConfig
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import LayerFactory, LayerRow, Parts, Stage, build
from tooltrue.policy.rules.decision import decision
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.policy.rules.rule import Rule, Rules
from tooltrue.policy.tasks.budget import enforce_budget
from tooltrue.policy.tasks.declared_effects import declare_effects
from tooltrue.policy.tasks.labels import label_output
from tooltrue.policy.tasks.lethal_trifecta import Flow, check_flow, record_taint
from tooltrue.policy.tasks.loop_detection import Loops, detect_loops
from tooltrue.policy.tasks.retry import Retry, Sleep, retry
from tooltrue.protocol.types import Value, field, replaced
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.tools.tasks import Budget, Task
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Effect
from tooltrue.wording import sentence

__all__ = ["Hosting", "guarding", "hosted", "unguarded"]


class Hosting(Value, frozen=True):
    """The settings of the layers that only a host has; each has a default. ``effects`` are the operator's own
    classification of tools; ``budget`` is that of each task. ``clock`` and ``sleep`` are for tests."""

    effects: Mapping[Effect, Globs] = field(default_factory=dict[Effect, Globs])
    budget: Budget = field(default_factory=Budget)
    flow: Flow = field(default_factory=Flow)
    loops: Loops = field(default_factory=Loops)
    retry: Retry = field(default_factory=Retry)
    asking: PromptLimits = field(default_factory=PromptLimits)
    clock: Callable[[], float] = time.monotonic
    sleep: Sleep = asyncio.sleep

    def task(self) -> Task:
        """Create a task: the work for one request of the user."""
        return Task(self.budget, self.clock)

    def over(self, config: OperatorConfig) -> Self:
        """These settings, overridden by the operator's file."""
        settings = {name: _read(config.tables[name]) for name in _TABLES if name in config.tables}
        parts = {name: replaced(getattr(self, name), **keys) for name, keys in settings.items()}
        effects = {name: globs(tools) for name, tools in config.tables.get("effects", {}).items()}
        return replaced(self, **parts, **({"effects": effects} if effects else {}))


def guarding(
    hosting: Hosting | None = None, front: ApprovalPrompter | None = None
) -> Callable[[Provider, Guard, Facts, Recorder, Approvals], Provider]:
    """:func:`hosted` with these settings, as :class:`tooltrue.host.host.Host` takes it."""

    def around(provider: Provider, guard: Guard, facts: Facts, recorder: Recorder, approvals: Approvals) -> Provider:
        return hosted(provider, guard, hosting, facts, recorder, approvals=approvals, front=front)

    return around


_TABLES = ("budget", "flow", "loops", "retry", "asking")
_PATTERNS = frozenset({"patient", "idempotent", *(name for name in Flow.__struct_fields__ if name != "is_on")})


def _read(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: globs(value) if key in _PATTERNS else value for key, value in table.items()}


def hosted(
    provider: Provider,
    guard: Guard | None = None,
    hosting: Hosting | None = None,
    facts: Facts | None = None,
    recorder: Recorder | None = None,
    *,
    approvals: Approvals | None = None,
    front: ApprovalPrompter | None = None,
) -> Provider:
    """``provider`` behind all layers between servers and a model, outermost first.

    ``front`` puts questions to a person; without one, a call that needs approval leaves a ticket. ``facts``,
    ``recorder`` and ``approvals`` are as for :func:`tooltrue.policy.pipeline.standard`. A call that is part of a task
    has it in its context; a call without a task has no budget, and shares its taint with all others without one.
    """
    guard, hosting, facts = guard or Guard(), hosting or Hosting(), MemoryFacts() if facts is None else facts
    recorder, approvals = recorder or Recorder(guard.audit), approvals or Approvals(facts)
    decide = decision(_with_defaults(guard), guard.decide, guard.local_scopes)
    common = Task(Budget(None, None, None), hosting.clock)
    parts = HostParts(guard, facts, recorder, approvals, decide, hosting=hosting, common=common, prompter=front)
    return build(provider, parts, STAGES, guard.layers)


class HostParts(Parts, frozen=True, kw_only=True):
    """The objects that the layers of a host share: also ``common``, the task of all calls without a task, and
    ``prompter``, which puts questions to a person."""

    hosting: Hosting
    common: Task
    prompter: ApprovalPrompter | None


def _ask_person(parts: HostParts) -> LayerFactory:
    guard = parts.guard
    return ask_person(
        guard.confirm,
        parts.hosting.asking,
        parts.approvals,
        parts.facts,
        parts.prompter,
        parts.common,
        server=guard.server,
        instance=guard.instance,
        language=guard.language,
    )


def _stage(name: str, does: str, make: Callable[[HostParts], LayerFactory], why: str) -> Stage[HostParts]:
    return Stage((LayerRow(name, does),), make, why, "host-guard.md")


_SERVER: Final = {stage.name: stage for stage in pipeline.STAGES}

STAGES: Final[tuple[Stage[HostParts], ...]] = (
    _SERVER["audit"],
    _SERVER["errors_as_results"],
    _SERVER["nested_calls"],
    _SERVER["observe"],
    _stage(
        "enforce_budget",
        "limits the calls, bytes, time and cost of a task; the model is warned once before the end",
        lambda parts: enforce_budget(parts.guard.language),
        "a task that is over makes no more calls; each attempt counts",
    ),
    _stage(
        "detect_loops",
        "tells a model that it repeats itself, and stops it",
        lambda parts: detect_loops(parts.hosting.loops, parts.guard.language),
        "sees every call with its outcome, refusals too",
    ),
    _SERVER["abuse"],
    _SERVER["authorize"],
    _SERVER["rate"],
    _stage(
        "apply_edits",
        "sends arguments that the person has changed through all layers below again",
        lambda parts: apply_edits(parts.hosting.asking, parts.guard.language),
        "an edited call is limited, validated and authorized like any other",
    ),
    _SERVER["sizes"],
    _SERVER["repair"],
    _SERVER["validate"],
    _SERVER["authorize_arguments"],
    _stage(
        "check_flow",
        "asks before a task that has read private data and met untrusted content sends anything out",
        lambda parts: check_flow(parts.hosting.flow, parts.common, parts.guard.language),
        "above the question, because it is a reason to ask",
    ),
    _stage(
        "ask_person",
        "asks the person at the host before a call that does more than read; without a person, leaves a ticket",
        _ask_person,
        "every refusal comes before a question, and a person's time is not counted below",
    ),
    _SERVER["concurrency"],
    _SERVER["write_ahead_audit"],
    _SERVER["consume_grant"],
    _stage(
        "record_taint",
        "records that a task has read private data, or met untrusted content",
        lambda parts: record_taint(parts.hosting.flow, parts.common, parts.facts),
        "a call that has run adds its taint, and a refused one does not",
    ),
    _stage(
        "retry",
        "repeats a call whose transport failed, if a repetition is harmless",
        lambda parts: retry(parts.hosting.retry, parts.hosting.sleep),
        "each attempt has its own timeout",
    ),
    _SERVER["timeout"],
    _stage(
        "label_output",
        "puts output of servers between delimiters that mark it as data",
        lambda parts: label_output(parts.guard.language),
        "below this layer, all output is that of a server",
    ),
    _SERVER["store_results"],
    _SERVER["sanitize_output"],
    _SERVER["stored_results"],
    _stage(
        "declare_effects",
        "gives tools the effects that the operator has declared for them",
        lambda parts: declare_effects(parts.hosting.effects),
        "innermost, so that every layer sees the same effect",
    ),
)
"""The layers of a host, outermost first: those of a server, and those that only a program with a model needs."""


def _with_defaults(guard: Guard) -> Rules:
    """The operator's rules, followed by the defaults: reading runs, and all else asks."""
    rules = guard.rules.rules if guard.rules else ()
    every, number = globs("*"), len(rules)
    defaults = (
        Rule("allow", "default: what only reads", number, tools=every, effect=frozenset({"read"})),
        Rule("allow", "default: resources and prompts", number + 1, resources=every, prompts=every),
        Rule(
            "ask",
            "default: all else",
            number + 2,
            tools=every,
            reason=sentence(LABEL_DEFAULT_ASK_RULE, guard.language, {}),
        ),
    )
    return Rules((*rules, *defaults), guard.rules.server if guard.rules else guard.server, guard.local_scopes)


def unguarded(provider: Provider, guard: Guard, facts: Facts, recorder: Recorder, approvals: Approvals) -> Provider:
    """The provider itself, for a host whose layers are those of the server around it."""
    return provider

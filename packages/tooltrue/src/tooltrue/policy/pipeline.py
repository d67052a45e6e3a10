"""The pipeline of a server: every layer around its tools, in one table.

:data:`STAGES` is the only list of layers. :func:`standard` builds them, ``tooltrue inspect`` describes them, the tables
of the documentation are made from them, and the pipeline of a host (:mod:`tooltrue.host.host_guard`) takes them up by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.abuse import abuse
from tooltrue.policy.layers.audit import audit, write_ahead_audit
from tooltrue.policy.layers.authorize import authorize, authorize_arguments
from tooltrue.policy.layers.concurrency import concurrency
from tooltrue.policy.layers.confirm import confirm, consume_grant
from tooltrue.policy.layers.errors_as_results import errors_as_results
from tooltrue.policy.layers.limits import sizes, timeout
from tooltrue.policy.layers.nested_calls import nested_calls
from tooltrue.policy.layers.observe import observe
from tooltrue.policy.layers.rate import rate
from tooltrue.policy.layers.renames import renames
from tooltrue.policy.layers.repair import repair
from tooltrue.policy.layers.sanitize import sanitize_output
from tooltrue.policy.layers.stored_results import BUDGET, store_results, stored_results
from tooltrue.policy.layers.tasks import tasks
from tooltrue.policy.layers.validate import validate
from tooltrue.policy.plan import planned
from tooltrue.policy.rules.decision import decision
from tooltrue.policy.rules.rule import Decide, allow_all
from tooltrue.protocol.types import Value
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.tools.toolset import Provider

if TYPE_CHECKING:  # few servers have layers of their own, or run tasks
    from tooltrue.policy.placing import AuthorLayer, LayerForm, Placed
    from tooltrue.tasks.service import TaskService
    from tooltrue.tasks.upstream import UpstreamTasks

__all__ = ["STAGES", "LayerFactory", "LayerRow", "Parts", "Stage", "build", "described", "standard"]

LayerFactory: TypeAlias = Callable[[Provider], Provider]


class Parts(Value, frozen=True):
    """The objects that the layers of one pipeline share. ``decide`` is the decision of rules, scopes and author."""

    guard: Guard
    facts: Facts
    recorder: Recorder
    approvals: Approvals
    decide: Decide
    task_service: TaskService | None = None
    upstream_tasks: UpstreamTasks | None = None


def _on(guard: Guard) -> str:
    return "on"


class LayerRow(Value, frozen=True):
    """A line on a layer, for people. ``does`` is its effect by default, ``shows`` describes it with the settings of a
    guard, and ``setting`` is the field of the guard that holds them."""

    name: str
    does: str
    shows: Callable[[Guard], str] = _on
    setting: str = ""


PartsT = TypeVar("PartsT", contravariant=True)


class Stage(Value, Generic[PartsT], frozen=True):
    """One layer of a pipeline. ``make`` builds it from the shared parts, ``why`` is the reason for its place in the
    order, and ``page`` the page of the documentation on it. A layer with several settings has a row for each."""

    rows: tuple[LayerRow, ...]
    make: Callable[[PartsT], LayerFactory]
    why: str
    page: str = ""

    @property
    def name(self) -> str:
        return self.rows[0].name


def _stage(
    name: str,
    does: str,
    shows: str | Callable[[Guard], str],
    make: Callable[[Parts], LayerFactory],
    why: str,
    page: str = "",
    setting: str = "",
    more: tuple[LayerRow, ...] = (),
) -> Stage[Parts]:
    row = LayerRow(name, does, (lambda guard: shows) if isinstance(shows, str) else shows, setting)
    return Stage((row, *more), make, why, page)


def _decision(guard: Guard) -> str:
    parts = [f"{len(guard.rules.rules)} rules; a call that none matches is denied"] if guard.rules else []
    parts += ["the server's own decision"] if guard.decide is not allow_all else []
    return (
        f"on: {' and '.join(parts)}" if parts else "on: checks the scopes that tools require; there are no other rules"
    )


def _repair(guard: Guard) -> str:
    tools = "" if guard.repair is None else f"{', '.join(guard.repair.patterns)}, and "
    return f"on: {tools}tools that declare it" if tools else "on: for tools that declare it"


def _confirmation(guard: Guard) -> str:
    which = ", ".join(sorted(guard.confirm.effects))
    return f"on: {which} tools ask a person, or leave a ticket" if which else "on: where a tool or a rule demands it"


def _bytes(count: int) -> str:
    return f"{count} bytes" if count % 1024 else f"{count // 1024} KiB" if count % 1_048_576 else f"{count >> 20} MiB"


def _masking(setting: str) -> str:
    return "on: masked" if setting == "mask" else "off: not masked"


def _confirm(parts: Parts) -> LayerFactory:
    guard = parts.guard
    return confirm(
        guard.confirm,
        parts.approvals,
        parts.facts,
        server=guard.server,
        instance=guard.instance,
        started=guard.started,
        language=guard.language,
    )


def _sanitize_output(parts: Parts) -> LayerFactory:
    guard = parts.guard
    return sanitize_output(guard.limits.max_bytes, guard.secrets, guard.language, guard.personal)


STAGES: Final[tuple[Stage[Parts], ...]] = (
    _stage(
        "audit",
        "writes one record for each operation, including refused ones, with secrets masked; into a file of the user or "
        "PostgreSQL",
        lambda guard: guard.audit.summary(),
        lambda parts: audit(parts.recorder),
        "outermost, so that refusals are recorded too",
        "audit.md",
        "audit",
    ),
    _stage(
        "errors_as_results",
        "turns failures into results for the model; the text of a crash goes to the log, not to the client",
        "on: failures become results; the text of a crash is masked",
        lambda parts: errors_as_results(parts.guard.language),
        "below, failures are exceptions; above, they are results",
        "tools.md",
    ),
    _stage(
        "nested_calls",
        "gives each nested call (a tool that calls tools with its own context) its own consent and its own questions",
        "on: each nested call needs its own approval, and asks its own questions",
        lambda parts: nested_calls,
        "a nested call passes all layers that refuse and ask, under its own name",
        "approvals.md",
    ),
    _stage(
        "observe",
        "counts each operation, and traces it if tracing is set up",
        "on: counts each operation by tool and outcome; traces it if tracing is set up",
        lambda parts: observe(parts.guard.meter),
        "sees the outcome, and its reason",
        "operations.md",
    ),
    _stage(
        "abuse",
        "pauses callers with too many refusals, longer each time",
        lambda guard: f"on: {guard.abuse}",
        lambda parts: abuse(parts.guard.abuse, parts.facts, parts.guard.abuse_events),
        "sees every refusal below, and guesses at names",
        "limits.md",
        "abuse",
    ),
    _stage(
        "authorize",
        "decides which callers can see and use a tool, by required scopes and your rules; a hidden tool reads like an "
        "unknown one",
        _decision,
        lambda parts: authorize(parts.decide),
        "no layer below learns of a tool that the caller may not see",
        "policy.md",
        "rules",
    ),
    _stage(
        "renames",
        "resolves the old name of a renamed tool; access rules see the tool itself, and the result mentions the new "
        "name",
        "on: resolves old names of tools; results mention the new name",
        lambda parts: renames(parts.guard.language),
        "a tool has one name from here on",
        "tools.md#another-name-and-the-end-of-a-tool",
    ),
    _stage(
        "rate",
        "limits calls to 50 a second after a burst of 1,000, per caller and tool; further limits apply per caller and "
        "to the whole server",
        lambda guard: f"on: {guard.rate}",
        lambda parts: rate(parts.guard.rate, parts.facts, parts.guard.abuse_events),
        "before any question, so that no caller floods a person",
        "limits.md",
        "rate",
    ),
    _stage(
        "sizes",
        "limits arguments to 4 MiB",
        lambda guard: f"on: at most {_bytes(guard.limits.max_argument_bytes)} of arguments",
        lambda parts: sizes(parts.guard.limits.max_argument_bytes),
        "before a layer walks through the arguments",
        "limits.md",
        "limits",
    ),
    _stage(
        "repair",
        "corrects arguments that differ from the schema only in spelling, for tools that declare it",
        _repair,
        lambda parts: repair(parts.guard.repair),
        "arguments are validated, authorized and shown as they will run",
        "schema.md",
        "repair",
    ),
    _stage(
        "validate",
        "checks arguments against the published schema, fills in defaults, refuses unknown arguments and coerces no "
        "value",
        "on: published schema, unknown arguments refused, no coercion",
        lambda parts: validate,
        "a person is not asked about invalid arguments",
        "schema.md",
    ),
    _stage(
        "authorize_arguments",
        "applies the same rules to the arguments that will run",
        _decision,
        lambda parts: authorize_arguments(parts.decide),
        "rules read valid arguments, with defaults",
        "policy.md",
        "rules",
    ),
    _stage(
        "confirm",
        "asks a person before a destructive tool runs: through the client, or by a ticket if the client cannot ask",
        _confirmation,
        _confirm,
        "every refusal comes before a question, and a person's time is not counted below",
        "approvals.md",
        "confirm",
    ),
    _stage(
        "concurrency",
        "limits concurrent calls to 100 per tool, 200 per caller and 1,000 in all; further calls wait for up to 15 s",
        lambda guard: f"on: {guard.concurrency}",
        lambda parts: concurrency(parts.guard.concurrency, parts.guard.abuse_events),
        "the timeout begins when a call has its slots",
        "limits.md",
        "concurrency",
    ),
    _stage(
        "write_ahead_audit",
        "writes a record to disk before any destructive call runs",
        lambda guard: guard.audit.write_ahead_summary(),
        lambda parts: write_ahead_audit(parts.recorder),
        "a call that is recorded here runs, unless its grant was used up meanwhile",
        "audit.md",
        "audit",
    ),
    _stage(
        "consume_grant",
        "consumes the grant right before the run, once",
        "on: consumes the grant right before the run, once",
        lambda parts: consume_grant,
        "a grant is consumed when there is a slot for the call, and not before",
        "approvals.md",
        "confirm",
    ),
    _stage(
        "tasks",
        "begins a task for tools that declare it, where the client supports tasks, and answers requests about tasks",
        "on: tools with task=…, for clients that support tasks",
        lambda parts: tasks(parts.task_service, parts.upstream_tasks, parts.guard.language),
        "a task begins with a call that was allowed, approved and recorded",
        "tasks.md",
    ),
    _stage(
        "timeout",
        "limits a call to 30 s; `async` tools are cancelled, threads cannot be, and the result says so",
        lambda guard: f"on: {guard.limits.seconds:g} s per call",
        lambda parts: timeout(parts.guard.limits.seconds, parts.guard.limits.task_seconds),
        "counts the time of the tool alone",
        "limits.md",
        "limits",
    ),
    _stage(
        "store_results",
        "stores results that a call returns by reference, for its caller alone, for 15 minutes and up to 64 MiB",
        f"on: results by reference, for their caller alone, up to {_bytes(BUDGET)}",
        lambda parts: store_results(parts.facts),
        "stores results as they leave, clean, and the parts that the layer below cuts off",
        "results.md",
    ),
    _stage(
        "sanitize_output",
        "checks results against the output schema, removes hidden characters and limits a result to 2 MiB; a larger "
        "one is truncated, with a link to the whole",
        lambda guard: f"on: output schema, no hidden characters, at most {_bytes(guard.limits.max_bytes)} per result",
        _sanitize_output,
        "a result is clean, and fits schema and limit, before any layer above stores, counts or returns it",
        "results.md",
        "limits",
        more=(
            LayerRow(
                "secrets",
                "masks them, with a marker that tools which change data refuse",
                lambda guard: _masking(guard.secrets),
                "secrets",
            ),
            LayerRow(
                "personal data",
                "stays, unless the server or a tool asks for masking",
                lambda guard: _masking(guard.personal),
                "personal",
            ),
        ),
    ),
    _stage(
        "stored_results",
        "serves stored results to the caller whose call returned them, and to no other",
        "on: serves them to their caller alone",
        lambda parts: stored_results(parts.facts, parts.guard.language),
        "innermost, so that a stored result is read through all layers",
        "results.md",
    ),
)
"""The layers of a server, outermost first."""


def build(
    provider: Provider, parts: PartsT, stages: Sequence[Stage[PartsT]], layers: Sequence[AuthorLayer] = ()
) -> Provider:
    """Wrap ``provider`` in the layers of these stages, the outermost first, and in those of an author among them."""
    made = [(stage.name, stage.make(parts)) for stage in stages]
    if layers:
        from tooltrue.policy.placing import with_authors  # noqa: PLC0415 - few servers have layers of their own

        made = with_authors(made, layers)
    return planned(provider, made)


def standard(
    provider: Provider,
    guard: Guard | None = None,
    facts: Facts | None = None,
    recorder: Recorder | None = None,
    *,
    approvals: Approvals | None = None,
    task_service: TaskService | None = None,
    upstream_tasks: UpstreamTasks | None = None,
) -> Provider:
    """Wrap ``provider`` in all layers that the specification demands of servers, outermost first. ``facts`` is the
    store that the workers of a server share, so that limits hold for all of them together; without it they hold for
    this one. ``recorder`` writes the audit log; without it, into memory. ``approvals`` holds the tickets; without it,
    ``facts`` does. ``task_service`` begins and runs tasks; without it, calls become none. ``upstream_tasks`` are those
    of other servers, which are not followed here but by callers."""
    guard, facts = guard or Guard(), MemoryFacts() if facts is None else facts
    recorder, approvals = recorder or Recorder(guard.audit, guard.which), approvals or Approvals(facts)
    decide = decision(guard.rules, guard.decide, guard.local_scopes)
    parts = Parts(guard, facts, recorder, approvals, decide, task_service, upstream_tasks)
    return build(provider, parts, STAGES, guard.layers)


def described(guard: Guard) -> list[tuple[str, str, str]]:
    """Return a line for each layer, outermost first: its name, its description, and the source of its setting."""
    origins = {**guard.origins, "rules": _origin_of_decision(guard)}
    rows = list[LayerRow]()
    authors = _authors_rows(guard) if guard.layers else {}
    for gap, stage in enumerate(STAGES):
        rows += [*authors.get(gap, ()), *stage.rows]
    rows += authors.get(len(STAGES), ())
    return [(row.name, row.shows(guard), origins.get(row.setting, "default")) for row in rows]


def _authors_rows(guard: Guard) -> dict[int, list[LayerRow]]:
    from tooltrue.policy.placing import by_gap, forms  # noqa: PLC0415 - few servers have layers of their own

    stages = [stage.name for stage in STAGES]
    shown = {name: _FORMS[form] for name, form in forms(guard.layers, stages).items()}

    def row(layer: Placed) -> LayerRow:
        return LayerRow(layer.name, shown[layer.name], lambda guard: shown[layer.name], "layers")

    return {gap: [row(layer) for layer in layers] for gap, layers in by_gap(guard.layers, stages).items()}


_FORMS: Final[Mapping[LayerForm, str]] = {
    "steps": "on: an author's layer, a step in the plans of calls",
    "around": "on: an author's layer, right around the tools",
    "general": "on: an author's layer without steps at its place, so that calls of all tools take the general form",
    "passes calls": "on: an author's layer, which leaves calls alone",
}


def _origin_of_decision(guard: Guard) -> str:
    """Return the sources of the decision, which combines several settings."""
    return ", ".join(guard.origins[name] for name in ("rules", "decide") if name in guard.origins) or "default"

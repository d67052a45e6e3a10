"""The same random calls through the plans of a pipeline and through its nested form, with the events of each.

A :class:`World` is one server in one of the two forms, with its own facts, log, meter and clock. The store, the log and
the tools wait at checkpoints, where a call may be cancelled and the store may fail. A probe between every two layers
notes each call on its way down and up, and can fail there itself. :func:`story` runs a :class:`Plot` and returns all
events in order; for both forms they have to be equal.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from support.clock import skip
from support.fake_secrets import FAKES
from tooltrue import Context, Form, LocalToolset
from tooltrue.errors import InternalError, InvalidArguments, NeedsAgreement, StateError, ToolError, UnknownTool
from tooltrue.observe.meter import Meter
from tooltrue.policy import pipeline
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.config import examine
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard, Limits
from tooltrue.policy.layers.abuse import Abuse, abuse
from tooltrue.policy.layers.concurrency import Concurrency
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.placing import placed, with_authors
from tooltrue.policy.plan import Planned, Step, StepLayer, planned
from tooltrue.policy.rules.decision import decision
from tooltrue.policy.rules.rule import ALLOW, Ask, Decide, Deny, Subject, Verdict, allow_all
from tooltrue.protocol.types import (
    CallToolResult,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    ToolOutcome,
    replaced,
)
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.state.log import MemoryLog, text_of
from tooltrue.tools.bounds import Rate
from tooltrue.tools.null import SILENT
from tooltrue.tools.rounds import Rounds, remembered
from tooltrue.tools.threads import HELD, ThreadPool
from tooltrue.tools.toolset import Layer, Provider, Wrapper, guarded
from tooltrue.tools.views import prefixed
from tooltrue.tools.vocabulary import CallRecord, Channel, Principal, RequestContext, Tool, ToolCall

__all__ = [
    "ANSWERS",
    "AROUND",
    "AUTHORS",
    "BEHAVIOURS",
    "DECISIONS",
    "KINDS",
    "PRINCIPALS",
    "PROBES",
    "Author",
    "Call",
    "Fault",
    "Plot",
    "ToolPlan",
    "World",
    "story",
]

SECRET = next(text for kind, text in FAKES if kind == "github-token")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "do": {"type": "string"},
        "n": {"type": "integer", "default": 1},
        "dry": {"type": "boolean", "default": False},
        "text": {"type": "string"},
    },
    "required": ["do"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
PRINCIPALS = (Principal("local"), Principal("ann"), Principal("abe", frozenset({"s1"})))

# -- the plot ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToolPlan:
    """One tool: ``kind`` is how its function runs, ``settings`` are those of ``LocalToolset.add_raw``."""

    kind: str
    effect: Any
    settings: Mapping[str, Any]
    has_output: bool = False


@dataclass(frozen=True)
class Call:
    """One call. ``change`` happens to the tools before it, ``later`` is how far the clocks advance before, and
    ``settle`` is the decision about open tickets after it."""

    name: str
    arguments: dict[str, Any]
    principal: Principal = PRINCIPALS[0]
    trail: str = "none"
    has_rounds: bool = True
    can_ask: bool = True
    is_silent: bool = True
    answer: str = "once"
    has_state: bool = True
    tool_is_found: bool = False
    is_admitted: bool = True
    change: str = ""
    later: float = 0.0
    settle: str = ""


@dataclass(frozen=True)
class Fault:
    """The action of a probe: in the layer gap ``place``, in ``part`` of the step, at the visit of this ``number``."""

    place: int
    part: str
    does: str
    number: int = 0


@dataclass(frozen=True)
class Author:
    """An author's layer, right inside of the stage ``after``, and what it ``does``."""

    after: str
    does: str


@dataclass(frozen=True)
class Plot:
    tools: tuple[ToolPlan, ...]
    calls: tuple[tuple[Call, ...], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    decision: str = "none"
    store: str = "here"
    view: str = "plain"
    faults: tuple[Fault, ...] = ()
    has_probes: bool = True
    cancel_at: int = 0
    fail_at: int = 0
    log_is_behind: bool = False
    log_fails: bool = False
    authors: tuple[Author, ...] = ()


PROBES = len(pipeline.STAGES) + 1

# -- decisions ---------------------------------------------------------------------------------------------------------

_ANN = 'principal = "ann"'
DECISIONS: dict[str, str] = {
    "none": "",
    "rules allow": '[[rules]]\nthen = "allow"',
    "rules deny": '[[rules]]\ntools = "*"\neffect = ["write", "open-world"]\nthen = "deny"\nreason = "Not now."\n'
    '[[rules]]\nthen = "allow"',
    "rules hide": f'[[rules]]\ntools = "t0"\n{_ANN}\nthen = "hide"\n[[rules]]\nthen = "allow"',
    "rules ask": '[[rules]]\narguments = {properties = {do = {const = "value"}}}\nthen = "ask"\nreason = "Sure?"\n'
    '[[rules]]\nthen = "allow"',
    "rules refuse arguments": '[[rules]]\narguments = {properties = {n = {const = 1}}}\nthen = "deny"\n'
    '[[rules]]\nthen = "allow"',
    "closed": '[[rules]]\ntools = "t1"\nthen = "allow"',
    "author": "",
    "author crashes": "",
}

# -- tools -------------------------------------------------------------------------------------------------------------

KINDS = ("async", "async", "typed", "inline", "thread")


def _value(world: World, arguments: dict[str, Any], context: Context) -> Any:
    return f"value {arguments.get('n')}"


def _refuse(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise ToolError(f"No: {SECRET}")


def _invalid(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise InvalidArguments.of("TT2001", tool="t", problems="p", next="n", wrong=("$.n type",))


def _unknown(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise UnknownTool("inner")


def _crash(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise ValueError("boom")


def _ask(world: World, arguments: dict[str, Any], context: Context) -> Any:
    return f"answered {bool(context.ask(Form('Sure?'), key='sure'))}"


def _twice(world: World, arguments: dict[str, Any], context: Context) -> Any:
    return f"{context.once('a', lambda: 1)} {bool(context.ask(Form('A?')))} {bool(context.ask(Form('B?')))}"


def _needs(world: World, arguments: dict[str, Any], context: Context) -> Any:
    context.progress(1, None, f"needs {SECRET}")
    if not context.agreed:
        raise NeedsAgreement("A person must agree.").because("It replaces a file.")
    return "agreed"


def _needs_always(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise NeedsAgreement("A person must agree.").because("It never ends.")


def _needs_then_fails(world: World, arguments: dict[str, Any], context: Context) -> Any:
    if not context.agreed:
        raise NeedsAgreement("A person must agree.").because("It fails.")
    raise ToolError("It failed.")


def _needs_then_asks(world: World, arguments: dict[str, Any], context: Context) -> Any:
    if not context.agreed:
        raise NeedsAgreement("A person must agree.").because("It asks.")
    return str(bool(context.ask(Form("Really?"), key="really")))


def _store(world: World, arguments: dict[str, Any], context: Context) -> Any:
    return context.keep(f"kept {SECRET} " + "x" * 3_000, "notes")


def _store_and_fail(world: World, arguments: dict[str, Any], context: Context) -> Any:
    context.keep("gone", "notes")
    raise ToolError("It failed.")


def _progress(world: World, arguments: dict[str, Any], context: Context) -> Any:
    context.progress(1, 2, f"half {SECRET}")
    return "done"


def _mutate(world: World, arguments: dict[str, Any], context: Context) -> Any:
    arguments["n"] = 99
    return "changed"


def _exit(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise SystemExit(3)


def _cancelled(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise asyncio.CancelledError("the tool's own")


def _rpc(world: World, arguments: dict[str, Any], context: Context) -> Any:
    raise InternalError.of("TT1020", id="x")


def _remove(world: World, arguments: dict[str, Any], context: Context) -> Any:
    world.remove("t0")
    return "removed"


Function = Callable[["World", dict[str, Any], Context], Any]
_PLAIN: dict[str, Function] = {
    "value": _value,
    "id": lambda world, arguments, context: {"id": arguments.get("n")},
    "unfit": lambda world, arguments, context: {"id": "x", SECRET: [SECRET]},
    "secret": lambda world, arguments, context: f"a secret {SECRET}",
    "secret id": lambda world, arguments, context: {"id": 1, "token": SECRET, "mail": "jane.doe@example.com"},
    "hidden": lambda world, arguments, context: "a\u200bb\u202ec",
    "long": lambda world, arguments, context: "line é\n" * 200,
    "error": lambda world, arguments, context: CallToolResult([TextContent(text=SECRET)], isError=True),
    "meta": lambda world, arguments, context: CallToolResult([], structuredContent={"id": 1}, meta={"a": SECRET}),
    "link": lambda world, arguments, context: [ResourceLink("kept:none", "none"), ResourceLink("file:///x", "x")],
    "question": lambda world, arguments, context: InputRequiredResult(requestState="own"),
    "refuse": _refuse,
    "invalid": _invalid,
    "unknown": _unknown,
    "crash": _crash,
    "ask": _ask,
    "twice": _twice,
    "needs": _needs,
    "needs always": _needs_always,
    "needs then fails": _needs_then_fails,
    "needs then asks": _needs_then_asks,
    "store": _store,
    "store and fail": _store_and_fail,
    "progress": _progress,
    "mutate": _mutate,
    "exit": _exit,
    "cancelled": _cancelled,
    "rpc": _rpc,
    "remove": _remove,
}


async def _wait(world: World, arguments: dict[str, Any], context: Context) -> Any:
    for number in range(3):
        await world.checkpoint(f"tool waits {number}")
    return "waited"


async def _late(world: World, arguments: dict[str, Any], context: Context) -> Any:
    skip(1_000)
    await asyncio.Event().wait()


async def _stubborn(world: World, arguments: dict[str, Any], context: Context) -> Any:
    try:
        await _late(world, arguments, context)
    except asyncio.CancelledError:
        return "late all the same"


async def _turn(world: World, arguments: dict[str, Any], context: Context) -> Any:
    try:
        await _late(world, arguments, context)
    except asyncio.CancelledError:
        raise ValueError("turned") from None


async def _late_failure(world: World, arguments: dict[str, Any], context: Context) -> Any:
    try:
        await world.checkpoint("tool waits")
    except asyncio.CancelledError:
        raise ToolError("given up") from None
    raise ToolError("not given up")


async def _nested(world: World, arguments: dict[str, Any], context: Context) -> Any:
    if world.has_threads:
        return "not nested: a wait for its own slot would be long"
    do = arguments.get("text", "value")
    outcome = await world.provider.call_tool(ToolCall("t1", {"do": do if do != "nested" else "value"}, context))
    return f"nested: {outcome.content}" if isinstance(outcome, CallToolResult) else outcome


async def _cancel_within(world: World, arguments: dict[str, Any], context: Context) -> Any:
    task = asyncio.ensure_future(asyncio.Event().wait())
    await asyncio.sleep(0)
    task.cancel()
    await task


_AWAITED: dict[str, Callable[[World, dict[str, Any], Context], Awaitable[Any]]] = {
    "wait": _wait,
    "late": _late,
    "stubborn": _stubborn,
    "turn": _turn,
    "late failure": _late_failure,
    "nested": _nested,
    "cancel within": _cancel_within,
}
BEHAVIOURS = (*_PLAIN, *_AWAITED)
ANSWERS = ("once", "session", "deny", "decline", "cancel", "bad")

# -- the parts of a world that note what happens -----------------------------------------------------------------------


class NotedMeter(Meter):
    def __init__(self, events: list[str]) -> None:
        super().__init__()
        self.events = events

    def count_operation(self, method: str, name: str, outcome: str, seconds: float) -> None:
        self.events.append(f"meter {method} {name!r} {outcome}")
        super().count_operation(method, name, outcome, seconds)

    def counter(self, method: str, name: str) -> Callable[[str, float], None]:
        return lambda outcome, seconds: self.count_operation(method, name, outcome, seconds)

    def refused(self, code: str) -> None:
        self.events.append(f"meter refused {code}")
        super().refused(code)

    def count_event(self, kind: str) -> None:
        self.events.append(f"meter event {kind}")
        super().count_event(kind)


class NotedLog(MemoryLog):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.behind = world.plot.log_is_behind
        self.failing = world.plot.log_fails

    async def append(self, record: Any) -> int:
        await self.world.checkpoint(f"log append {_timeless(text_of(record))}")
        if self.world.plot.log_fails:
            raise StateError("the log fails")
        return await super().append(record)

    def note(self, record: Any) -> None:
        self.world.events.append(f"log note {_timeless(text_of(record))}")
        super().note(record)

    async def head(self) -> Any:
        await self.world.checkpoint("log head")
        return await super().head()


class NotedFacts(MemoryFacts):
    def __init__(self, world: World) -> None:
        super().__init__(world.clock)
        self.world = world

    async def get(self, key: str) -> bytes | None:
        await self.world.visit(f"get {key}")
        return await super().get(key)

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        await self.world.visit(f"put {key} {value!r} {seconds}")
        await super().put(key, value, seconds)

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        await self.world.visit(f"put_if_absent {key} {value!r} {seconds}")
        return await super().put_if_absent(key, value, seconds)

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        await self.world.visit(f"replace {key} {value!r} {seconds}")
        return await super().replace(key, old, value, seconds)

    async def remove(self, key: str) -> bytes | None:
        await self.world.visit(f"remove {key}")
        return await super().remove(key)

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        await self.world.visit(f"take {key} {cost}")
        return await super().take(key, per_second=per_second, burst=burst, cost=cost)

    def taker(self, buckets: Any) -> Callable[[], float]:
        take, keys = super().taker(buckets), [bucket.key for bucket in buckets]

        def noted() -> float:
            self.world.events.append(f"take {keys}")
            return take()

        return noted


class Elsewhere:
    """The same store as another process would offer it: a limit has to wait for it."""

    def __init__(self, facts: NotedFacts) -> None:
        self._facts = facts
        for name in ("get", "put", "put_if_absent", "replace", "remove", "take", "publish", "subscribe"):
            setattr(self, name, getattr(facts, name))


class NotedChannel:
    def __init__(self, events: list[str]) -> None:
        self.events = events

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.events.append(f"progress {progress} {total} {message}")

    def log(self, level: str, data: Any, logger: str | None) -> None:
        self.events.append(f"message {level} {data} {logger}")

    def detach(self) -> None:
        self.events.append("detach")


class Probe(Wrapper, frozen=True):
    """A layer that notes calls, and has faults. Its nested form is written by hand, not made from the step."""

    place: int
    world: World

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        return Step(self.enter, self.leave, self.fail)

    def enter(self, call: ToolCall) -> Any:
        return self.world.probed(self.place, "before", call, None)

    def leave(self, call: ToolCall, outcome: ToolOutcome) -> Any:
        return self.world.probed(self.place, "after", call, outcome)

    def fail(self, call: ToolCall, error: BaseException) -> Any:
        return self.world.probed(self.place, "failed", call, error)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        if (early := await _maybe(self.enter(call))) is not None:
            return early
        try:
            outcome = await self.inner.call_tool(call)
        except BaseException as error:
            end = await _maybe(self.fail(call, error))
            if end is error:
                raise
            if isinstance(end, BaseException):
                raise end from None
            return end
        return await _maybe(self.leave(call, outcome))


AUTHORS = ("pass", "deny", "crash", "end", "wait", "ask", "ask late", "change", "change the call", "recover", "again")


class AuthorSteps(StepLayer, frozen=True):
    """A layer as an author writes it. Both of its forms are made of one step."""

    does: str
    world: World

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        if self.does == "pass" and tool.effect == "read":
            return None
        return Step(self.enter, self.leave, self.fail)

    def enter(self, call: ToolCall) -> Any:
        self.world.events.append(f"author enters {call.name} {call.arguments}")
        call.keep(f"author {id(self)}", self.does)
        match self.does:
            case "deny":
                raise ToolError(f"Not now: {SECRET}")
            case "crash":
                raise RuntimeError("an author's layer crashed")
            case "end":
                return _given(CallToolResult([TextContent(text=f"of the author {SECRET}")]))
            case "wait":
                return self.world.checkpoint("author waits")
            case "ask":
                self.world.events.append(f"author hears {bool(call.context.ask(Form('Author?'), key='author'))}")
            case "change the call":
                call.arguments = {**call.arguments, "n": 7}
            case _:
                pass
        return None

    def leave(self, call: ToolCall, outcome: ToolOutcome) -> Any:
        self.world.events.append(f"author leaves {call.recall(f'author {id(self)}')} {_end(outcome)}")
        if self.does == "ask late":
            call.context.ask(Form("Was it right?"), key="late")
        if self.does == "change":
            return CallToolResult([TextContent(text="changed")])
        return outcome

    def fail(self, call: ToolCall, error: BaseException) -> Any:
        self.world.events.append(f"author fails {_end(error)}")
        if self.does == "recover" and isinstance(error, ToolError):
            return CallToolResult([TextContent(text="recovered")])
        if self.does == "again" and isinstance(error, ToolError) and call.proceed is not None:
            return call.proceed(call)
        return error


AROUND = ("around", "around, deny", "around, crash", "around, end", "around, ask", "around, change", "around, twice")


class AuthorAround(Layer, frozen=True):
    """A layer without steps, right around the tools."""

    does: str
    world: World

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        self.world.events.append(f"author around {call.name} {call.arguments} {call.tool is not None}")
        await self.world.checkpoint("author waits")
        match self.does:
            case "around, deny":
                raise ToolError(f"Not now: {SECRET}")
            case "around, crash":
                raise RuntimeError("an author's layer crashed")
            case "around, end":
                return CallToolResult([TextContent(text=f"of the author {SECRET}")])
            case "around, ask":
                call.context.ask(Form("Author?"), key="author")
            case "around, change":
                call = replaced(call, arguments={**call.arguments, "n": 7})
            case "around, twice":
                self.world.events.append(f"author hears {_end(await self.inner.call_tool(call))}")
            case _:
                pass
        try:
            return await self.inner.call_tool(call)
        except BaseException as error:
            self.world.events.append(f"author fails {_end(error)}")
            raise


async def _given(value: Any) -> Any:
    return value


async def _maybe(value: Any) -> Any:
    return await value if isinstance(value, Awaitable) else value


class _OnlyFinds(Wrapper, frozen=True):
    """A toolset that can find its tools only by waiting."""

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.inner.find_tool(name, context)


_THREADS = ThreadPool(8)  # of all worlds: its threads stay

# -- the world ---------------------------------------------------------------------------------------------------------


class World:
    def __init__(self, plot: Plot, *, as_plan: bool) -> None:
        self.plot = plot
        self.events: list[str] = []
        self.now = 1_000_000.0
        self.checkpoints = self.visits = 0
        self.is_running = False
        self.probe_visits: dict[tuple[int, str], int] = {}
        self.release = threading.Event()
        self.loop: Any = asyncio.get_running_loop()
        self.tools = LocalToolset()
        self.tools.pool = _THREADS
        self.versions = itertools.count()
        for number in range(len(plot.tools)):
            self.add(number)
        self.facts = NotedFacts(self)
        self.meter = NotedMeter(self.events)
        guard = self._guard()
        store: Any = self.facts if plot.store == "here" else Elsewhere(self.facts)
        self.recorder = Recorder(guard.audit, guard.which, clock=self.clock)
        self.approvals = Approvals(store, clock=self.clock)
        self.layers = self._layers(guard, store)
        view = self._view()
        self.provider = planned(view, self.layers) if as_plan else guarded(view, *(layer for _, layer in self.layers))
        assert isinstance(self.provider, Planned) == as_plan

    def clock(self) -> float:
        return self.now

    def _guard(self) -> Guard:
        plot = self.plot
        base = Guard(
            Limits(seconds=30, max_bytes=4_000, max_argument_bytes=2_000),
            decide=self._decide(),
            rate=RateLimits(Rate(0.01, 20), Rate(0.01, 60), Rate(0.01, 90)),
            concurrency=Concurrency(2, 3, 4, seconds=15),
            abuse=Abuse(Rate(0.01, 6), Rate(0.01, 3), Rate(0.01, 2), pause=5),
            server="s",
            meter=self.meter,
            audit=Audit(NotedLog(self)),
        )
        base.abuse_events.listen(lambda event: self.events.append(f"abuse {event}"))
        settings = dict(plot.settings)
        if settings.pop("audit_off", False):
            settings["audit"] = Audit(is_on=False)
        if settings.pop("audit_refuses", False):
            settings["audit"] = Audit(NotedLog(self), on_failure="refuse")
        guard = replaced(base, **settings)
        if rules := DECISIONS[plot.decision]:
            config, problems = examine("f.toml", rules)
            assert {problem.code for problem in problems} <= {"TT4303"}, problems
            guard = config.over(guard, "s")
        return guard

    def _decide(self) -> Decide:
        if not self.plot.decision.startswith("author"):
            return allow_all

        def decide(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
            self.events.append(f"decide {subject.name} {context.principal.id} {arguments}")
            if self.plot.decision == "author crashes" and arguments and arguments.get("n") != 1:
                raise asyncio.CancelledError("of the author's making")
            if context.principal.id == "ann" and subject.name == "t0":
                return Deny("never told", hidden=True)
            if arguments and arguments["do"] == "value":
                return Ask("Really?")
            return Deny("Not this.") if arguments and arguments["do"] == "secret" else ALLOW

        return decide

    def _layers(self, guard: Guard, facts: Facts) -> list[tuple[str, Callable[[Provider], Provider]]]:
        decide = decision(guard.rules, guard.decide, guard.local_scopes)
        parts = pipeline.Parts(guard, facts, self.recorder, self.approvals, decide)
        layers = [(stage.name, stage.make(parts)) for stage in pipeline.STAGES]
        made = {"abuse": abuse(guard.abuse, facts, guard.abuse_events, self.clock)}
        layers = [(name, made.get(name, layer)) for name, layer in layers]
        authors = [placed(self._author(author.does), after=author.after) for author in self.plot.authors]
        layers = with_authors(layers, authors) if authors else layers
        if not self.plot.has_probes:
            return layers
        probes = [(f"probe {place}", self._probe(place)) for place in range(len(layers) + 1)]
        # A layer without steps takes plans only where no step, as of a probe, is inside of it.
        is_around = bool(self.plot.authors) and self.plot.authors[-1].does in AROUND
        return [pair for both in zip(probes, layers, strict=False) for pair in both] + probes[-1:] * (not is_around)

    def _author(self, does: str) -> Callable[[Provider], Provider]:
        layer = AuthorAround if does in AROUND else AuthorSteps
        return lambda inner: layer(inner, does, self)

    def _probe(self, place: int) -> Callable[[Provider], Provider]:
        return lambda inner: Probe(inner, place, self)

    def _view(self) -> Provider:
        match self.plot.view:
            case "prefixed":
                return prefixed(self.tools, "v")
            case "only finds":
                return _OnlyFinds(self.tools)
            case _:
                return self.tools

    # --- tools

    def add(self, number: int) -> None:
        plan, name = self.plot.tools[number], f"t{number}"
        settings = {key: value for key, value in plan.settings.items() if key not in ("old", "visible")}
        if plan.settings.get("old"):
            settings["replaces"] = f"old{number}"
        if plan.settings.get("visible"):
            settings["visible"] = lambda principal: principal.id != "abe"
        settings |= {"effect": plan.effect, "output_schema": OUTPUT if plan.has_output else None}
        version = next(self.versions)
        match plan.kind:
            case "typed":
                del settings["output_schema"]
                self.tools.add(self._typed(name, version), name=name, **settings)
            case "async":
                self.tools.add_raw(name, SCHEMA, self._async(name, version), **settings)
            case kind:
                settings["blocking"] = kind == "thread"
                self.tools.add_raw(name, SCHEMA, self._plain(name, version), **settings)

    def remove(self, name: str) -> None:
        if name in self.tools.names:
            self.tools.remove(name)

    def _note_run(self, name: str, version: int, arguments: Mapping[str, Any], context: Context) -> None:
        self.events.append(f"tool {name} {version} {dict(arguments)} {context.agreed} {context.principal.id}")

    def _async(self, name: str, version: int) -> Any:
        async def run(arguments: dict[str, Any], context: Context) -> Any:
            self._note_run(name, version, arguments, context)
            await self.checkpoint("tool begins")
            if awaited := _AWAITED.get(arguments["do"]):
                return await awaited(self, arguments, context)
            return _PLAIN.get(arguments["do"], _value)(self, arguments, context)

        return run

    def _typed(self, name: str, version: int) -> Any:
        handler = self._async(name, version)

        async def run(do: str, context: Context, n: int = 1, dry: bool = False, text: str = "") -> Any:
            return await handler({"do": do, "n": n, "dry": dry, "text": text or "value"}, context)

        return run

    def _plain(self, name: str, version: int) -> Any:
        def run(arguments: dict[str, Any], context: Context) -> Any:
            self._note_run(name, version, arguments, context)
            if arguments["do"] == "late" and threading.current_thread() is not threading.main_thread():
                self.loop.call_soon_threadsafe(skip, 1_000)
                assert self.release.wait(20)
            return _PLAIN.get(arguments["do"], _value)(self, arguments, context)

        return run

    # --- what goes wrong

    async def checkpoint(self, what: str) -> None:
        """Wait for one turn of the loop; the call is cancelled at one of these."""
        self.events.append(what)
        if self.is_running:
            self.checkpoints += 1
            if self.checkpoints == self.plot.cancel_at:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
        await asyncio.sleep(0)

    async def visit(self, what: str) -> None:
        """An operation of the store, which may fail."""
        await self.checkpoint(f"facts {what}")
        if self.is_running:
            self.visits += 1
            if self.visits == self.plot.fail_at:
                raise StateError("the store fails")

    def probed(self, place: int, part: str, call: ToolCall, end: Any) -> Any:
        """The part of a probe's step. Without a fault, the call passes."""
        self.events.append(f"probe {place} {part} {call.name} {_end(end)}")
        number = self.probe_visits.get((place, part), 0)
        self.probe_visits[place, part] = number + 1
        for fault in self.plot.faults:
            if (fault.place, fault.part, fault.number) == (place, part, number):
                return self._fault(fault.does, call, end)
        return end

    def _fault(self, does: str, call: ToolCall, end: Any) -> Any:
        match does:
            case "refuse":
                raise ToolError.of("TT2007", tool=call.name, reason="the probe says so")
            case "crash":
                raise RuntimeError("a layer crashed")
            case "state":
                raise StateError("no state")
            case "wait":
                return self._after_wait(lambda: end)
            case "cancel":
                return self._cancel(end)
            case "wait, crash":
                return self._after_wait(self._crash)
            case "result":
                return self._after_wait(lambda: CallToolResult([TextContent(text="of the probe")]))
            case _:
                return self._after_wait(lambda: InputRequiredResult(requestState="of the probe"))

    def _crash(self) -> Any:
        raise RuntimeError("a layer crashed")

    async def _after_wait(self, does: Callable[[], Any]) -> Any:
        await self.checkpoint("probe waits")
        return does()

    async def _cancel(self, end: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await self.checkpoint("probe is cancelled")
        return end

    # --- calls

    async def converse(self, call: Call) -> None:
        """Make a call, and answer its questions, for a few rounds."""
        rounds = Rounds() if call.has_rounds else None
        for number in range(4):
            outcome = await self.attempt(call, rounds)
            if not isinstance(outcome, InputRequiredResult) or rounds is None:
                return
            try:
                memory = remembered(outcome, rounds)
            except ToolError:
                return
            answers = {key: _answer(call.answer, key) for key in outcome.inputRequests or {}}
            rounds = Rounds(memory, answers, f"state {number % 2}" if call.has_state else "")

    async def attempt(self, call: Call, rounds: Rounds | None) -> object:
        channel: Channel = SILENT if call.is_silent else NotedChannel(self.events)
        trail = None if call.trail == "none" else CallRecord(claimed=call.trail == "claimed")
        capabilities = {"elicitation": {}} if call.can_ask else {}
        meta = {} if call.is_silent else {"traceparent": "x"}  # half of the calls take a plan with times
        context = RequestContext(call.principal, channel, capabilities, meta, rounds, trail=trail, stored=[], slices=[])
        name = f"v_{call.name}" if self.plot.view == "prefixed" else call.name
        made = ToolCall(name, dict(call.arguments), context)
        if not call.is_admitted:
            made.admit = self._refuse_admission
        if call.tool_is_found:
            with suppress(UnknownTool):
                made.tool = self.tools.known_tool(call.name, context)
        facts = (made.tool, made.asks, made.grant, made.called, made.text, made.state, made.deadline)
        task = asyncio.ensure_future(self._made(made))
        await asyncio.wait([task])
        assert facts == (made.tool, made.asks, made.grant, made.called, made.text, made.state, made.deadline)
        assert made.context is context
        end: Any = task.exception() if not task.cancelled() and task.exception() else None
        end = end or ("cancelled" if task.cancelled() else task.result())
        self.events.append(f"ends {_end(end)} {task.cancelling()} {[thing.data for thing in context.stored]}")
        if trail is not None:
            self.events.append(f"trail {trail.ran} {trail.decision} {trail.rule} {trail.code} {trail.called}")
        return end

    async def _made(self, call: ToolCall) -> ToolOutcome:
        try:
            return await self.provider.call_tool(call)
        finally:
            self.events.append(f"holds {HELD.get()}")

    def _refuse_admission(self, tool: Tool) -> None:
        self.events.append(f"admit {tool.name}")
        raise InternalError.of("TT1020", id="admission")

    async def run(self) -> list[str]:
        for group in self.plot.calls:
            self._change(group[0])
            self.is_running = True
            if self.has_threads:
                for call in group:
                    await self.converse(call)
            else:
                await asyncio.gather(*map(self.converse, group))
            self.is_running = False
            await self._free_threads()
            await self._settle(group[0].settle)
            self._note_state()
        self.recorder._write_due(self.now, all=True)  # pyright: ignore[reportPrivateUsage] - no public name ends them
        return self.events

    @property
    def has_threads(self) -> bool:
        return any(plan.kind == "thread" for plan in self.plot.tools)

    def _change(self, call: Call) -> None:
        self.now += call.later
        if call.change:
            self.remove("t0")
            if call.change == "exchange":
                self.add(0)

    async def _settle(self, how: str) -> None:
        for ticket in await self.approvals.all() if how else ():
            await (self.approvals.deny(ticket, "No.") if how == "deny" else self.approvals.allow(ticket, "once"))

    async def _free_threads(self) -> None:
        self.release.set()
        while self.tools.pool.abandoned:  # noqa: ASYNC110 - threads set no event
            await asyncio.sleep(0.001)
        self.release.clear()

    def _note_state(self) -> None:
        """Note the slots, the running calls and the figures; none of the slots is in use."""
        pools = [pool for layer in _chain(self.provider) for pool in _pools(layer)]
        assert pools
        for key, pool in pools:
            assert (pool.running, pool.queued, len(pool.waiting)) == (0, 0, 0), f"slots of {key} are lost"
        assert self.meter.running == 0, "a call is counted for ever"
        figures = self.meter.figures()
        del figures["tooltrue_operation_seconds"]
        self.events.append(f"figures {figures} facts {len(self.facts)}")


def _chain(provider: Any) -> Iterator[Any]:
    while provider is not None:
        yield provider
        provider = getattr(provider, "inner", None)


def _pools(layer: Any) -> list[tuple[str, Any]]:
    if type(layer).__name__ != "_Concurrency":
        return []
    return [("server", layer.server), *sorted(layer.tools.items()), *sorted(layer.callers.items())]


def _answer(how: str, key: str) -> dict[str, Any]:
    if how in ("decline", "cancel"):
        return {"action": how}
    if how == "bad":
        return {"action": "accept", "content": {"answer": "maybe"}}
    return {"action": "accept", "content": {"answer": how} if key == "tooltrue:confirm" else {}}


def _end(end: object) -> str:
    """All that a caller can tell from an outcome or an error."""
    if isinstance(end, BaseException):
        names = ("code", "facts", "data", "number", "untrusted", "reason", "scopes")
        return f"{type(end).__name__} {end} {[getattr(end, name, None) for name in names]}"
    return repr(end)


_TIMES = re.compile(r'"(?:ms|queue_ms|question_ms)":[0-9.e-]+,?')


def _timeless(text: str) -> str:
    return _TIMES.sub("", text)


# -- a story -----------------------------------------------------------------------------------------------------------


class _Lines(logging.Handler):
    def __init__(self, events: list[str]) -> None:
        super().__init__()
        self.events = events

    def emit(self, record: logging.LogRecord) -> None:
        if record.threadName == "MainThread":
            message = record.getMessage().partition(" (To tell the model")[
                0
            ]  # the number of frames depends on the form
            self.events.append(f"line {record.levelname} {message}")


class _Hurry(asyncio.SelectorEventLoop):
    """A loop that waits for no timer: where nothing else is to be done, its clock moves on to the next."""

    ahead = 0.0
    waits_for_threads = False

    def time(self) -> float:
        return super().time() + self.ahead

    def _run_once(self) -> None:
        loop: Any = self
        if not (self.waits_for_threads or loop._ready) and loop._scheduled:
            self.ahead += max(0.0, loop._scheduled[0].when() - self.time())
        super()._run_once()  # pyright: ignore[reportAttributeAccessIssue] - of every loop of asyncio


@contextmanager
def _known_ids() -> Iterator[None]:
    """Random ids are numbers, in the order in which they are made."""
    numbers = itertools.count()

    def word(size: int = 16) -> str:
        return f"{next(numbers):0{2 * size}x}"

    with ExitStack() as stack:
        for name in ("token_hex", "token_urlsafe"):
            stack.enter_context(patch.object(secrets, name, word))
        yield


def story(plot: Plot, *, as_plan: bool) -> list[str]:
    """Run a plot in one of the two forms, and return all that happened, in order."""

    async def main() -> list[str]:
        world = World(plot, as_plan=as_plan)
        world.loop.waits_for_threads = world.has_threads
        lines, log = _Lines(world.events), logging.getLogger("tooltrue")
        log.addHandler(lines)
        propagates, log.propagate = log.propagate, False
        try:
            return await world.run()
        finally:
            log.propagate = propagates
            log.removeHandler(lines)

    with _known_ids(), asyncio.Runner(loop_factory=_Hurry) as runner:
        return runner.run(main())

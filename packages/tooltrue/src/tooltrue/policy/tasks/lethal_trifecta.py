"""Guard against the lethal trifecta: private data, untrusted content, and a way out, all in one task.

Each is harmless alone. A task that has read private data and met untrusted content must ask before it sends anything
out. The operator declares the possible behaviour of a call (``Flow``), or it follows from the effect; without a
declaration, a tool may do all three. ``check_flow`` asks, above the confirmation layer; ``record_taint`` records the
taint of calls that have run, right at the run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from tooltrue.errors import InvalidParams
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.rules.globs import Globs
from tooltrue.policy.sanitize.secrets import kinds_in
from tooltrue.policy.wording import COMPOSED_URI_AFTER_TAINT, LETHAL_TRIFECTA, SECRET_IN_OUTGOING_ARGUMENTS
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import PromptOutcome, ReadOutcome, ToolOutcome, Value, replaced
from tooltrue.state.facts import Values
from tooltrue.tools.stored_results import SCHEME
from tooltrue.tools.tasks import Taint, Task
from tooltrue.tools.toolset import Provider, Wrapper, resolve_call
from tooltrue.tools.vocabulary import PromptGet, ResourceRead, Tool, ToolCall
from tooltrue.wording import sentence

__all__ = ["TRIFECTA", "Flow", "check_flow", "record_taint"]

TRIFECTA = "flow"
"""The stake of a call that would complete the trifecta."""

_TAINTED, _PROMPTS = "(what was written before)", "(a prompt)"  # sources other than servers
_TAINTED_SECONDS = 2_592_000.0  # 30 days


class Flow(Value, frozen=True):
    """The operator's declarations for tools, which override their effects: ``private`` tools read private data,
    ``public`` ones do not; ``untrusted`` tools bring in text that strangers have written, ``trusted`` ones do not;
    ``sends`` tools may send something out, ``stays`` ones do not. ``is_on=False`` turns the guard off."""

    private: Globs | None = None
    public: Globs | None = None
    untrusted: Globs | None = None
    trusted: Globs | None = None
    sends: Globs | None = None
    stays: Globs | None = None
    is_on: bool = True

    def taints(self, tool: Tool) -> frozenset[Taint]:
        hint = None if tool.definition.annotations is None else tool.definition.annotations.openWorldHint
        if tool.server:
            hint = None  # a foreign server's own hint must not relax anything
        acts, reads = tool.effect == "open-world", tool.effect == "read"
        follows: dict[Taint, bool] = {
            "private": hint is None or not (hint or acts),
            "untrusted": tool.untrusted or hint is None or (hint and reads),  # an act outside only returns its outcome
            "sends": acts or hint is not False,
        }
        declared: dict[Taint, bool] = {
            "private": _applies(tool.name, self.private, self.public, follows["private"]),
            "untrusted": _applies(tool.name, self.untrusted, self.trusted, follows["untrusted"]),
            "sends": _applies(tool.name, self.sends, self.stays, follows["sends"]),
        }
        return frozenset(kind for kind, holds in declared.items() if holds)

    def goes_back(self, tool: Tool, task: Task) -> bool:
        """Return whether a call sends only its own server's content, back to that server: everything that the task has
        met came from there. Holds only for tools that only read, by the operator's declaration, and do not themselves
        claim to reach outside."""
        hints = tool.definition.annotations
        is_outside = (hints is not None and hints.openWorldHint is True) or _applies(tool.name, self.sends, None, False)
        return tool.effect == "read" and not is_outside and _is_its_own(task, tool)


def _applies(name: str, yes: Globs | None, no: Globs | None, otherwise: bool) -> bool:
    if yes is not None and yes.match(name):
        return True
    return otherwise and not (no is not None and no.match(name))


def check_flow(settings: Flow, common: Task, language: str) -> Callable[[Provider], Provider]:
    """Ask before a call that may send something out, if its task has met the two other legs, or if a secret would go
    with it. ``common`` is the task of all calls that belong to no task."""
    return (lambda inner: _CheckFlow(inner, settings, common, language)) if settings.is_on else Wrapper


def record_taint(settings: Flow, common: Task, values: Values) -> Callable[[Provider], Provider]:
    """Record the taint of calls that have run. Data that a task writes after it has met untrusted content stays
    untrusted, also for later tasks."""
    return (lambda inner: _RecordTaint(inner, settings, common, values)) if settings.is_on else Wrapper


class _CheckFlow(Wrapper, frozen=True):
    settings: Flow
    common: Task
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await resolve_call(self.inner, call)
        if "sends" not in self.settings.taints(tool) or _carries_nothing(call, tool):
            return await self.inner.call_tool(call)
        task = call.context.task or self.common
        taint = task.taint
        reasons = [call.asks] if call.asks else []
        stakes: list[str] = []
        if "private" in taint and "untrusted" in taint and not self.settings.goes_back(tool, task):
            stakes.append(TRIFECTA)
            facts = {"tool": call.name, "private": taint["private"], "untrusted": taint["untrusted"]}
            reasons.append(sentence(LETHAL_TRIFECTA, self.language, facts))
        if kinds := kinds_in(encode(call.arguments)):
            stakes.append("secrets")
            reasons.append(
                sentence(SECRET_IN_OUTGOING_ARGUMENTS, self.language, {"tool": call.name, "kinds": ", ".join(kinds)})
            )
        if stakes:
            call = replaced(call, asks="\n".join(reasons), stake="+".join(stakes))
        return await self.inner.call_tool(call)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        """Refuse a constructed URI to a tainted task, since it may carry data away; one that is listed cannot."""
        taint = (request.context.task or self.common).taint
        if "private" in taint and "untrusted" in taint and not request.uri.startswith(SCHEME):
            first, *_ = await self.inner.find_entries(request)
            if isinstance(first, wire.ResourceTemplate):
                raise InvalidParams.of(COMPOSED_URI_AFTER_TAINT, uri=request.uri[:200])
        return await self.inner.read_resource(request)


class _RecordTaint(Wrapper, frozen=True):
    settings: Flow
    common: Task
    values: Values

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await resolve_call(self.inner, call)
        taints = self.settings.taints(tool)
        task = call.context.task or self.common
        async with self._recording(task, taints, call.name, tool.server):
            if "untrusted" in task.taint and tool.effect != "read" and not _is_its_own(task, tool):
                await self.values.put(_tainted(tool), b"1", _TAINTED_SECONDS)
            elif tool.effect == "read" and await self.values.get(_tainted(tool)) is not None:
                taints |= {"untrusted"}
                task.add_taint("untrusted", call.name, _TAINTED)
            return await self.inner.call_tool(call)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        if request.uri.startswith(SCHEME):
            return await self.inner.read_resource(request)
        async with self._recording(
            request.context.task or self.common, frozenset({"private", "untrusted"}), request.uri, request.uri
        ):
            return await self.inner.read_resource(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        async with self._recording(get.context.task or self.common, frozenset({"untrusted"}), get.name, _PROMPTS):
            return await self.inner.get_prompt(get)

    @asynccontextmanager
    async def _recording(self, task: Task, taints: frozenset[Taint], name: str, source: str) -> AsyncGenerator[None]:
        """Record the taint of a call even if it fails: an error brings content in too."""
        try:
            yield
        finally:
            for kind in taints - {"sends"}:
                task.add_taint(kind, name, source)


def _carries_nothing(call: ToolCall, tool: Tool) -> bool:
    """Return whether the call only reads, by the operator's declaration, and has no arguments that could carry data."""
    return tool.effect == "read" and not call.arguments


def _is_its_own(task: Task, tool: Tool) -> bool:
    """Return whether everything that a task has met is from the very server to which the tool writes."""
    return bool(tool.server) and task.sources <= {tool.server}


def _tainted(tool: Tool) -> str:
    """Return the key for the place where a tool writes, as precisely as it is known: its server, or this process."""
    return f"tainted {tool.server or '(here)'}"

"""Three harmless things that are none together: private data was read, text of strangers came in, and now something
would go out. The third asks.

What a call may do is said by the operator (``Flow``), or follows from its effect; of a tool that nobody vouches for
everything is possible. ``flow`` asks, above where a person is asked; ``flowed`` notes what has run, right at the run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from toolwright.errors import InvalidParams
from toolwright.jsonrpc.messages import encode
from toolwright.policy.globs import Globs
from toolwright.policy.secrets import kinds_in
from toolwright.protocol import types as wire
from toolwright.protocol.types import PromptOutcome, ReadOutcome, ToolOutcome, Value, replaced
from toolwright.state.facts import Values
from toolwright.tools.keeping import SCHEME
from toolwright.tools.tasks import Leg, Task
from toolwright.tools.toolset import PromptGet, Provider, ResourceRead, Tool, ToolCall, Wrapper, found
from toolwright.wording import sentence

__all__ = ["STAKE", "Flow", "flow", "flowed"]

STAKE = "flow"
"""What a call is said to have at stake that would be the third leg."""

_TAINTED, _PROMPTS = "(what was written before)", "(a prompt)"  # sources that are no server
_TAINTED_SECONDS = 2_592_000.0  # 30 days


class Flow(Value, frozen=True):
    """What calls of these tools do, whatever follows from their effects: ``private`` read what is private, ``public``
    do not; ``untrusted`` bring in what strangers have written, ``trusted`` do not; ``sends`` may send something out,
    ``stays`` do not. ``is_on=False`` asks nothing."""

    private: Globs | None = None
    public: Globs | None = None
    untrusted: Globs | None = None
    trusted: Globs | None = None
    sends: Globs | None = None
    stays: Globs | None = None
    is_on: bool = True

    def legs(self, tool: Tool) -> frozenset[Leg]:
        hint = None if tool.definition.annotations is None else tool.definition.annotations.openWorldHint
        if tool.server:
            hint = None  # what a stranger says of itself takes nothing away
        acts, reads = tool.effect == "open-world", tool.effect == "read"
        follows: dict[Leg, bool] = {
            "private": hint is None or not (hint or acts),
            "untrusted": tool.untrusted or hint is None or (hint and reads),  # who acts outside is told how it went
            "sends": acts or hint is not False,
        }
        said: dict[Leg, bool] = {
            "private": _said(tool.name, self.private, self.public, follows["private"]),
            "untrusted": _said(tool.name, self.untrusted, self.trusted, follows["untrusted"]),
            "sends": _said(tool.name, self.sends, self.stays, follows["sends"]),
        }
        return frozenset(leg for leg, holds in said.items() if holds)

    def goes_back(self, tool: Tool, task: Task) -> bool:
        """Whether a call sends nothing but what its own server has said, to that server: all that the task has met is
        from there. This is for what only reads by the operator's word, and does not itself say that it goes outside."""
        hints = tool.definition.annotations
        is_outside = (hints is not None and hints.openWorldHint is True) or _said(tool.name, self.sends, None, False)
        return tool.effect == "read" and not is_outside and _is_its_own(task, tool)


def _said(name: str, yes: Globs | None, no: Globs | None, otherwise: bool) -> bool:
    if yes is not None and yes.match(name):
        return True
    return otherwise and not (no is not None and no.match(name))


def flow(settings: Flow, common: Task, language: str) -> Callable[[Provider], Provider]:
    """A call that may send something out asks, where its task has met the two others, or where a secret would go with
    it. ``common`` is the task of all calls that belong to none."""
    return (lambda inner: _Flow(inner, settings, common, language)) if settings.is_on else Wrapper


def flowed(settings: Flow, common: Task, values: Values) -> Callable[[Provider], Provider]:
    """What has run is noted. What a task has written after it met strangers stays theirs, also for later tasks."""
    return (lambda inner: _Flowed(inner, settings, common, values)) if settings.is_on else Wrapper


class _Flow(Wrapper, frozen=True):
    settings: Flow
    common: Task
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await found(self.inner, call)
        if "sends" not in self.settings.legs(tool) or _carries_nothing(call, tool):
            return await self.inner.call_tool(call)
        task = call.context.task or self.common
        met = task.met
        reasons = [call.asks] if call.asks else []
        stakes: list[str] = []
        if "private" in met and "untrusted" in met and not self.settings.goes_back(tool, task):
            stakes.append(STAKE)
            facts = {"tool": call.name, "private": met["private"], "untrusted": met["untrusted"]}
            reasons.append(sentence("TW9370", self.language, facts))
        if kinds := kinds_in(encode(call.arguments)):
            stakes.append("secrets")
            reasons.append(sentence("TW9372", self.language, {"tool": call.name, "kinds": ", ".join(kinds)}))
        if stakes:
            call = replaced(call, asks="\n".join(reasons), stake="+".join(stakes))
        return await self.inner.call_tool(call)

    async def read_resource(self, read: ResourceRead) -> ReadOutcome:
        """An address that was put together may carry something away; one that stands in a list cannot."""
        met = (read.context.task or self.common).met
        if "private" in met and "untrusted" in met and not read.uri.startswith(SCHEME):
            first, *_ = await self.inner.find_entries(read)
            if isinstance(first, wire.ResourceTemplate):
                raise InvalidParams.of("TW9371", uri=read.uri[:200])
        return await self.inner.read_resource(read)


class _Flowed(Wrapper, frozen=True):
    settings: Flow
    common: Task
    values: Values

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        call, tool = await found(self.inner, call)
        legs = self.settings.legs(tool)
        task = call.context.task or self.common
        async with self._met(task, legs, call.name, tool.server):
            if "untrusted" in task.met and tool.effect != "read" and not _is_its_own(task, tool):
                await self.values.put(_tainted(tool), b"1", _TAINTED_SECONDS)
            elif tool.effect == "read" and await self.values.get(_tainted(tool)) is not None:
                legs |= {"untrusted"}
                task.meet("untrusted", call.name, _TAINTED)
            return await self.inner.call_tool(call)

    async def read_resource(self, read: ResourceRead) -> ReadOutcome:
        if read.uri.startswith(SCHEME):
            return await self.inner.read_resource(read)
        async with self._met(read.context.task or self.common, frozenset({"private", "untrusted"}), read.uri, read.uri):
            return await self.inner.read_resource(read)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        async with self._met(get.context.task or self.common, frozenset({"untrusted"}), get.name, _PROMPTS):
            return await self.inner.get_prompt(get)

    @asynccontextmanager
    async def _met(self, task: Task, legs: frozenset[Leg], name: str, source: str) -> AsyncGenerator[None]:
        """Whatever came of it, an error too, has been brought in."""
        try:
            yield
        finally:
            for leg in legs - {"sends"}:
                task.meet(leg, name, source)


def _carries_nothing(call: ToolCall, tool: Tool) -> bool:
    """Whether it only reads, by the operator's word, and there is nothing in it that could be read elsewhere."""
    return tool.effect == "read" and not call.arguments


def _is_its_own(task: Task, tool: Tool) -> bool:
    """Whether all that a task has met is from the very server to which it writes."""
    return bool(tool.server) and task.sources <= {tool.server}


def _tainted(tool: Tool) -> str:
    """Where a tool writes, as near as can be known: its server, or this process."""
    return f"tainted {tool.server or '(here)'}"

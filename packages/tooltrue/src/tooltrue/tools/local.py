"""Tools of this process: functions, methods, and raw JSON Schemas with a handler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from tooltrue.crashes import log_crash
from tooltrue.errors import DefinitionError, UnknownTool
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import ToolOutcome
from tooltrue.tools.binding import Bound, ToolOptions, bind, bind_raw
from tooltrue.tools.memo import Remembered
from tooltrue.tools.null import NoLibrary
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import (
    EVERYONE,
    ProviderChange,
    RequestContext,
    Tool,
    ToolCall,
    Unwatch,
)
from tooltrue.tools.wording import (
    ALIAS_ALREADY_TAKEN,
    DEFINITION_SETTING_INVALID,
    DUPLICATE_TOOL_NAME,
    LABEL_LEFT_OUT_NAMED,
    REGISTERED_VALUE_NOT_FUNCTION,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:  # for annotations only
    from tooltrue.tools.lifespan_values import LifespanValues
    from tooltrue.tools.settings import ToolSettings
    from tooltrue.tools.switches import Switches

__all__ = ["LocalToolset"]

F = TypeVar("F", bound=Callable[..., Any])


def _name(tool: Tool) -> str:
    return tool.name


def _shows(bound: Bound, context: RequestContext) -> bool:
    if bound.visible is None or context.principal is EVERYONE:
        return True
    try:
        is_visible: object = bound.visible(context.principal)
        if isinstance(is_visible, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            return is_visible
        # The coroutine of an async function is truthy, but no answer.
        raise TypeError(f"visible of a tool returns True or False, not {type(is_visible).__name__}")
    # Not `(Exception, SystemExit)`: there is no await here, so that a cancellation is of the author's making too.
    except BaseException as error:  # noqa: BLE001 - if `visible` raises, this tool alone is hidden
        log_crash("visible of tool %s failed: hidden", bound.tool.name, error=error)
        return False


class LocalToolset(NoLibrary):
    """Tools that may be added and removed at any time; watchers are notified."""

    def __init__(self, *, threads: int = 32) -> None:
        self.pool = ThreadPool(threads)
        self._lock = threading.Lock()  # tools are added and removed on any thread
        self._bound: dict[str, Bound] = {}
        self._off: dict[str, Bound] = {}  # the disabled ones
        self._switches: Switches | None = None
        self._now: dict[str, str] = {}  # old name → present name
        self._listed: tuple[Tool, ...] | None = None
        self._varies = False  # whether the list depends on the caller
        self._lists = Remembered[Tool]()
        self._watchers: list[Callable[[ProviderChange], None]] = []
        self.lifespan: LifespanValues | None = None
        self.credentials: frozenset[str] = frozenset()
        """The headers with credentials of the caller that tools have declared."""

    def lifespan_values(self) -> LifespanValues:
        """The values that the tools take from the lifespan of a server, made for the first tool that takes one."""
        if self.lifespan is None:
            from tooltrue.tools.lifespan_values import LifespanValues  # noqa: PLC0415 - few tools need it

            self.lifespan = LifespanValues()
        return self.lifespan

    @overload
    def tool(self, function: F, /, **settings: Unpack[ToolSettings]) -> F: ...

    @overload
    def tool(self, /, **settings: Unpack[ToolSettings]) -> Callable[[F], F]: ...

    def tool(self, function: F | None = None, /, **settings: Unpack[ToolSettings]) -> F | Callable[[F], F]:
        """Make a tool of a function: ``@tools.tool``, ``@tools.tool(effect="read", …)``, or ``tools.tool(function,
        effect="read", …)``. The function itself is returned unchanged.
        """

        def register(function: F) -> F:
            self.add(function, **settings)
            return function

        return register if function is None else register(function)

    def add(self, function: Callable[..., Any], **settings: Unpack[ToolSettings]) -> Tool:
        """Make a tool of any callable, methods included. Raises ``DefinitionError``, also for a name that is taken."""
        if isinstance(function, str):
            raise DefinitionError.of(REGISTERED_VALUE_NOT_FUNCTION, value=function, kind="tool")
        return self._register(bind(function, ToolOptions.of(settings), self.pool, self.lifespan_values))

    def add_raw(
        self,
        name: str,
        input_schema: Mapping[str, Any],
        handler: Callable[..., Any],
        /,
        *,
        output_schema: Mapping[str, Any] | None = None,
        credentials: Collection[str] = (),
        **settings: Unpack[ToolSettings],
    ) -> Tool:
        """Make a tool of a JSON Schema and ``handler(arguments)`` or ``handler(arguments, context)``. ``credentials``:
        the headers by which a caller authenticates that are in ``context.carried``; other headers are not.
        """
        if "name" in settings:
            raise DefinitionError.of(DEFINITION_SETTING_INVALID, name="name", wanted=Worded(LABEL_LEFT_OUT_NAMED, {}))
        output = None if output_schema is None else dict(output_schema)
        definition = wire.ToolDefinition(name=name, inputSchema=dict(input_schema), outputSchema=output)
        return self._register(bind_raw(handler, definition, ToolOptions.of(settings), self.pool, credentials))

    def _register(self, bound: Bound) -> Tool:
        with self._lock:
            self._check_names(bound.tool)
            is_off = self._switches is not None and self._switches.is_off(bound.tool)
            (self._off if is_off else self._bound)[bound.tool.name] = bound
            self._now |= dict.fromkeys(bound.tool.replaces, bound.tool.name)
            self.credentials |= frozenset(bound.tool.credentials)
            self._listed = None
        self._notify()
        return bound.tool

    def _check_names(self, tool: Tool) -> None:
        if self.has(tool.name):
            raise DefinitionError.of(DUPLICATE_TOOL_NAME, name=tool.name)
        for name in tool.names:
            if (other := name if self.has(name) else self._now.get(name)) is not None:
                raise DefinitionError.of(ALIAS_ALREADY_TAKEN, tool=tool.name, name=name, other=other)

    @property
    def has_tasks(self) -> bool:
        """Whether calls of a tool become tasks."""
        with self._lock:
            return any(bound.tool.task for bound in (*self._bound.values(), *self._off.values()))

    def has(self, name: str) -> bool:
        """Whether it has a tool of this present name, disabled or not."""
        return name in self._bound or name in self._off

    def remove(self, name: str) -> None:
        """Remove a tool, its old names too; calls that already run finish. Raises ``UnknownTool``."""
        with self._lock:
            if (bound := self._bound.pop(name, None) or self._off.pop(name, None)) is None:
                raise UnknownTool(name)
            for old in bound.tool.replaces:
                del self._now[old]
            self._listed = None
        self._notify()

    def disable(self, *names: str, tags: Collection[str] = ()) -> None:
        """Disable the tools of these names, and all that have one of these ``tags``, now or later. To callers they do
        not exist; calls that already run finish. Raises ``UnknownTool``. Thread-safe.
        """
        self._switch(names, tags, on=False)

    def enable(self, *names: str, tags: Collection[str] = ()) -> None:
        """Enable tools again. A name also holds for a tool that one of its tags has disabled. Raises ``UnknownTool``.
        Thread-safe.
        """
        self._switch(names, tags, on=True)

    def _switch(self, names: Collection[str], tags: Collection[str], *, on: bool) -> None:
        from tooltrue.tools.switches import Switches  # noqa: PLC0415 - few servers disable tools
        from tooltrue.tools.views import tag_set  # noqa: PLC0415 - few servers disable tools

        with self._lock:
            for name in names:
                if not self.has(name):
                    raise UnknownTool(name)
            self._switches = switches = self._switches or Switches()
            (switches.enable if on else switches.disable)(names, tag_set(tags))
            everyone = {**self._bound, **self._off}
            self._off = {name: bound for name, bound in everyone.items() if switches.is_off(bound.tool)}
            self._bound = {name: bound for name, bound in everyone.items() if name not in self._off}
            self._listed = None
        self._notify()

    def _notify(self) -> None:
        for changed in tuple(self._watchers):
            changed(ProviderChange("tools"))

    @property
    def names(self) -> tuple[str, ...]:
        """The present names of its tools, sorted; disabled ones are left out."""
        with self._lock:
            return tuple(sorted(self._bound))

    def abandoned(self) -> dict[str, int]:
        """Return the number of threads of each tool that run abandoned calls: they cannot be stopped."""
        with self._lock:
            lanes = {name: bound.lane for name, bound in sorted({**self._bound, **self._off}.items())}
        return {name: lane.abandoned for name, lane in lanes.items() if lane is not None and lane.abandoned}

    def changed(self) -> None:
        """Notify watchers that ``visible`` has changed for some callers, so that tools appeared or disappeared."""
        self._notify()

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        with self._lock:
            if self._listed is None:
                self._varies = any(bound.visible for bound in self._bound.values())
                self._listed = tuple(bound.tool for _, bound in sorted(self._bound.items()))
            if self._off and context.principal is EVERYONE:
                return tuple(bound.tool for _, bound in sorted({**self._bound, **self._off}.items()))
            if not self._varies:
                return self._listed
            everyone = tuple(self._bound.values())
        tools = sorted((bound.tool for bound in everyone if _shows(bound, context)), key=_name)
        return self._lists.same(tuple(tools), context.principal.id)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return self._find(name, context).tool

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        bound = self._bound.get(name)
        return bound.tool if bound is not None and bound.visible is None else self._find(name, context).tool

    def lacks(self, name: str) -> bool:
        """Whether no tool has this name, present or old, for any caller."""
        return not self.has(name) and name not in self._now

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        bound = self._bound.get(call.name)
        if bound is None or bound.visible is not None or bound.tool is not call.tool:
            bound = self._find(call.name, call.context)
            if call.tool is not None and call.tool.input is not bound.tool.input:
                raise UnknownTool(call.name)  # exchanged since its arguments were checked
        return await bound.run(call)

    def _find(self, name: str, context: RequestContext) -> Bound:
        bound = self._bound.get(name) or self._bound.get(self._now.get(name, ""))
        if bound is None and context.principal is EVERYONE:
            bound = self._off.get(name)
        if bound is None or not _shows(bound, context):
            raise UnknownTool(name)
        return bound

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed) if changed in self._watchers else None

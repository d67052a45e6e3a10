"""The lifespan of a server: what its author opens before the first request, and closes at the end.

It runs in a task of its own, so that it is entered and left by the same task, however the server ends and whichever of
several clients in memory is the last. It is entered once for all who need it on one event loop: by the first, and left
with the last. Leaving has a time limit; a lifespan that exceeds it is reported, and given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import linecache
import logging
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from tooltrue._internal.signatures import signature_of
from tooltrue.crashes import last_place, traced
from tooltrue.errors import ConfigurationError, DefinitionError, TooltrueError
from tooltrue.server.wording import (
    LIFESPAN_ENDED_EARLY,
    LIFESPAN_LEAVING_FAILED,
    LIFESPAN_LEAVING_HANGS,
    LIFESPAN_MISSING,
    LIFESPAN_NOT_A_FUNCTION,
    LIFESPAN_START_FAILED,
)
from tooltrue.tools.lifespan_values import LifespanNeed, LifespanValues, class_of, type_name
from tooltrue.tools.type_aliases import unaliased
from tooltrue.tools.wording import LIFESPAN_NOT_ENTERED, LIFESPAN_TYPE_AMBIGUOUS, LIFESPAN_TYPE_NOT_YIELDED
from tooltrue.wording import coded_sentence, names_or_none

__all__ = ["LifespanFunction", "ServerLifespan", "entered", "lifespans_of"]

LifespanFunction: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any] | AsyncIterator[Any]]
"""``@asynccontextmanager async def lifespan(server)``; the bare generator function is accepted too."""

_CANCELLING_SECONDS: Final = 0.1
_UNKNOWN: Final = object()

_log = logging.getLogger("tooltrue")


class ServerLifespan:
    """The lifespan functions of the server ``name``: entered in order with ``server``, and left in the opposite order.

    The values that they yield, except ``None``, are found by type. ``shown`` is their description for an operator.
    """

    def __init__(self, functions: LifespanFunction | Sequence[LifespanFunction], server: Any, name: str) -> None:
        listed = [functions] if callable(functions) else list(functions)
        self.functions = [_manager_function(function, name) for function in listed]
        self.name = name
        self.shown = ", ".join(_shown(function) for function in listed)
        self.values: list[LifespanValues] = []
        self._server = server
        self._types = [_type_yielded_by(function) for function in listed]
        self._runs: dict[asyncio.AbstractEventLoop, _EnteredLifespan] = {}
        self._left: dict[asyncio.AbstractEventLoop, asyncio.Task[None]] = {}

    def provide(self, values: LifespanValues) -> None:
        """Provide the values that a toolset takes from its lifespan. Raises ``DefinitionError`` for one of a type that
        is not yielded.
        """
        values.belong_to(self)
        self.values.append(values)

    def check(self, need: LifespanNeed) -> None:
        """Raise ``DefinitionError`` if this value is not yielded, as far as that is known: by what has been yielded, or
        else by the types that the functions declare.
        """
        if (run := next(iter(self._runs.values()), None)) is not None and run.values is not None:
            _found(need, run.values)
        elif _UNKNOWN not in self._types and not any(_may_be(need.type, type_) for type_ in self._types):
            yielded = names_or_none(type_name(type_) for type_ in self._types if type_ is not type(None))
            raise DefinitionError.of(
                LIFESPAN_TYPE_NOT_YIELDED, subject=need.subject, type=type_name(need.type), yielded=yielded
            )

    def value_of(self, type_: Any) -> Any:
        """Return the yielded value of this type. Call on the event loop. Raises ``DefinitionError`` outside of the
        lifespan.
        """
        run = self._runs.get(asyncio.get_running_loop())
        if run is None or run.values is None:
            raise DefinitionError.of(LIFESPAN_NOT_ENTERED, type=type_name(type_))
        if type_ not in run.by_type:
            run.by_type[type_] = _found(LifespanNeed(type_, self.name), run.values)
        return run.by_type[type_]

    @contextlib.asynccontextmanager
    async def entered(self, leaving: _LeavingTime) -> AsyncGenerator[None]:
        """Context in which the lifespan is entered. Raises ``ConfigurationError`` if it cannot be started."""
        loop = asyncio.get_running_loop()
        run = self._runs.get(loop) or self._begin(loop)
        run.count += 1
        try:
            await asyncio.shield(run.started)
            yield
        finally:
            run.count -= 1
            if not run.count:
                del self._runs[loop]
                self._left[loop] = run.task
                await run.end(leaving)
                self._left.pop(loop, None)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> _EnteredLifespan:
        for other in [other for other in self._runs if other.is_closed()]:  # it was ended without its clients
            del self._runs[other]
        run = self._runs[loop] = _EnteredLifespan(self, loop, self._left.get(loop))
        return run

    async def start(self, stack: contextlib.AsyncExitStack) -> list[Any]:
        """Enter all functions; returns the values. Raises ``ConfigurationError``, with the author's frames in the
        log.
        """
        values: list[Any] = []
        try:
            for function in self.functions:
                values.append(await stack.enter_async_context(function(self._server)))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
            trace = traced(error)[0]
            _log.error("The lifespan of %s failed.", self.name, exc_info=(type(error), error, trace))
            raise self._failed(error) from None
        values = [value for value in values if value is not None]
        for need in (need for one in self.values for need in one.needs):
            _found(need, values)
        return values

    def _failed(self, error: BaseException) -> ConfigurationError:
        file, line = last_place(error) or ("?", 0)
        problem = error.say() if isinstance(error, TooltrueError) else f"{type(error).__name__}: {error}"
        facts = {"server": self.name, "error": problem, "file": file, "line": line}
        return ConfigurationError.of(LIFESPAN_START_FAILED, **facts, text=linecache.getline(file, line).strip())


class _EnteredLifespan:
    """One time of a lifespan, on one event loop. ``count`` are those who need it."""

    def __init__(
        self, lifespan: ServerLifespan, loop: asyncio.AbstractEventLoop, before: asyncio.Task[None] | None
    ) -> None:
        self._lifespan = lifespan
        self._stop = asyncio.Event()
        self.count = 0
        self.values: list[Any] | None = None
        self.by_type: dict[Any, Any] = {}
        self.started: asyncio.Future[None] = loop.create_future()
        self.started.add_done_callback(lambda done: done.cancelled() or done.exception())  # all who wait may be gone
        self.task = loop.create_task(self._live(before), name=f"lifespan of {lifespan.name}")

    async def _live(self, before: asyncio.Task[None] | None) -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            async with contextlib.AsyncExitStack() as stack:
                try:
                    self.values = await self._lifespan.start(stack)
                except TooltrueError as error:
                    self.started.set_exception(error)
                    return
                self.started.set_result(None)
                await self._stop.wait()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
            is_over = self._stop.is_set() or self.started.exception() is not None
            code = LIFESPAN_LEAVING_FAILED if is_over else LIFESPAN_ENDED_EARLY
            text = coded_sentence(code, "en", {"server": self._lifespan.name})
            _log.error("%s", text, exc_info=(type(error), error, traced(error)[0]))
        finally:
            self.values = None
            self.started.cancel()

    async def end(self, leaving: _LeavingTime) -> None:
        """Leave the lifespan, or stop its start. Returns in time, even if the author's code does not."""
        if self.started.done():
            self._stop.set()
        else:
            self.task.cancel()
        _, late = await asyncio.wait({self.task}, timeout=leaving.left())
        if late:
            facts = {"server": self._lifespan.name, "seconds": leaving.seconds}
            _log.warning("%s", coded_sentence(LIFESPAN_LEAVING_HANGS, "en", facts))
            self.task.cancel()
            await asyncio.wait({self.task}, timeout=_CANCELLING_SECONDS)


class _LeavingTime:
    """The time for leaving, which several lifespans share; it begins with the first that is left."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until: float | None = None

    def left(self) -> float:
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self.seconds
        return max(0.0, self._until - now)


@contextlib.asynccontextmanager
async def entered(lifespans: Sequence[ServerLifespan], seconds: float) -> AsyncGenerator[None]:
    """Context in which ``lifespans`` are entered, in order. All together have ``seconds`` to be left."""
    leaving = _LeavingTime(seconds)
    async with contextlib.AsyncExitStack() as stack:
        for lifespan in lifespans:
            await stack.enter_async_context(lifespan.entered(leaving))
        yield


def lifespans_of(own: ServerLifespan | None, held: Sequence[LifespanValues], name: str) -> tuple[ServerLifespan, ...]:
    """Return the lifespans to enter for a server: its own first, then those of the servers whose toolsets it serves.

    A toolset of no server takes its values from ``own``; raises ``ConfigurationError`` if there is none, and
    ``DefinitionError`` for a type that it does not yield.
    """
    lifespans = [] if own is None else [own]
    for values in held:
        if values.owner is None and own is not None:
            own.provide(values)
        if isinstance(values.owner, ServerLifespan):
            lifespans += [values.owner] if values.owner not in lifespans else []
        elif values.needs:
            need = values.needs[0]
            raise ConfigurationError.of(LIFESPAN_MISSING, server=name, subject=need.subject, type=type_name(need.type))
    return tuple(lifespans)


def _manager_function(function: Any, name: str) -> Callable[[Any], AbstractAsyncContextManager[Any]]:
    """Return the function that makes the context manager. Raises ``ConfigurationError`` for one that cannot."""
    is_made_of = inspect.unwrap(function)
    is_wrong = inspect.iscoroutinefunction(is_made_of) or inspect.isgeneratorfunction(is_made_of)
    if not callable(function) or is_wrong or not _takes_one(function):
        raise ConfigurationError.of(LIFESPAN_NOT_A_FUNCTION, server=name)
    made: Any = contextlib.asynccontextmanager(function) if inspect.isasyncgenfunction(function) else function
    return made


def _shown(function: Any) -> str:
    """The name of a function, and the type that it declares to yield."""
    name, yielded = getattr(function, "__qualname__", type(function).__name__), _type_yielded_by(function)
    return name if yielded in (_UNKNOWN, None, type(None)) else f"{name} (yields {type_name(yielded)})"


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        signature_of(function).bind(None)
    except (TypeError, ValueError):
        return False
    return True


_YIELDING = (AsyncIterator, AsyncGenerator, AsyncIterable, AbstractAsyncContextManager)


def _type_yielded_by(function: Any) -> Any:
    """Return the type that a lifespan declares to yield, ``_UNKNOWN`` if it declares none."""
    with contextlib.suppress(Exception):  # an annotation that cannot be read declares nothing
        returns = unaliased(get_type_hints(inspect.unwrap(function)).get("return"))
        if get_origin(returns) in _YIELDING:
            return get_args(returns)[0]
    return _UNKNOWN


def _options(type_: Any) -> Sequence[Any]:
    return get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)


def _may_be(needed: Any, yielded: Any) -> bool:
    """Whether a value of the type ``yielded`` may be of the type ``needed``, as far as the types tell."""
    for one in map(class_of, _options(needed)):
        for other in map(class_of, _options(yielded)):
            if other is type(None):
                continue
            if Any in (one, other) or not (isinstance(one, type) and isinstance(other, type)):
                return True
            with contextlib.suppress(TypeError):  # a protocol that cannot be checked
                if not (issubclass(one, other) or issubclass(other, one)):
                    continue
            return True
    return False


def _fits(type_: Any, value: Any) -> bool:
    """Whether a value is of the type. Where that cannot be checked, it is."""
    try:
        return any(isinstance(value, class_of(option)) for option in _options(type_))
    except TypeError:
        return True


def _found(need: LifespanNeed, values: Sequence[Any]) -> Any:
    """Return the one value of the type that is needed. Raises ``DefinitionError`` for none, and for several."""
    found = [value for value in values if _fits(need.type, value)]
    if len(found) == 1:
        return found[0]
    facts = {"subject": need.subject, "type": type_name(need.type)}
    if found:
        raise DefinitionError.of(LIFESPAN_TYPE_AMBIGUOUS, **facts, count=len(found))
    yielded = names_or_none(type(value).__name__ for value in values)
    raise DefinitionError.of(LIFESPAN_TYPE_NOT_YIELDED, **facts, yielded=yielded)

"""Dependency injection: what a function is given for each call, beside its arguments.

The plan is made once, at registration: the steps that make dependencies, each after those that it needs, and the values
that need no step (the context, values of the lifespan, headers). A circle, or a parameter that nothing provides, is a
``DefinitionError``.

A call opens the steps in their order, and closes generators and context managers in the opposite order, however it
ends. The error of a call is raised within them, so that a transaction can be rolled back; they can neither answer for
it nor replace it. An error while closing is logged.

An ``async`` step runs on the event loop. A plain one may block, so that it never does, except for ``blocking=False``:

- *A plain function* and its plain steps share one thread, from the first step to the last that is closed. Its ``async``
  steps come first, unless they need a plain one: then the thread waits for them. If the call is abandoned, its thread
  goes on, and all steps are closed once the function has returned, and not under its hands.
- *An async function* is called on the event loop, and each plain step of it runs on a thread of the pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar, cast

from tooltrue.crashes import traced
from tooltrue.errors import DefinitionError
from tooltrue.protocol.types import Value
from tooltrue.tools.binding.dependencies import Threads, by_keywords
from tooltrue.tools.binding.signature import (
    MISSING,
    Provided,
    Signature,
    is_context,
    parameter_hints,
    parameters_of,
    plain,
    provided_by,
)
from tooltrue.tools.binding.tool_options import Depends, Header
from tooltrue.tools.vocabulary import RequestContext, for_author
from tooltrue.tools.wording import (
    DEPENDENCY_CIRCLE,
    DEPENDENCY_CLOSING_FAILED,
    DEPENDENCY_CLOSING_HANGS,
    DEPENDENCY_NOT_FUNCTION,
    DEPENDENCY_PARAMETER_UNRESOLVED,
    DEPENDENCY_RETURNED_COROUTINE,
    DEPENDENCY_TOO_MANY_PARAMETERS,
    GENERATOR_AS_DEPENDENCY,
)
from tooltrue.wording import coded_sentence

__all__ = ["Injection", "Source"]

_CLOSING_SECONDS: Final = 1.0
"""How long the steps of a cancelled call may take to close, together."""
_LEAST_SECONDS: Final = 0.2
"""How long each of them may take at least, after one that hangs: another one may hold a transaction."""

_log = logging.getLogger("tooltrue")

ResultT = TypeVar("ResultT")


class Source(Value, frozen=True):
    """Where the provided values of a function come from. ``of_lifespan(type)`` returns the function that reads a value
    of the lifespan, ``of_header(name, provided)`` the one that reads a header. Both raise ``DefinitionError`` for what
    can never be provided.
    """

    of_lifespan: Callable[[Any], Callable[[], Any]]
    of_header: Callable[[str, Provided], Callable[[RequestContext], Any]]


class _Step(Value, frozen=True):
    """Makes one dependency and puts it into ``slot``. ``inputs`` are the slots of its parameters, by position and by
    name. ``opens``: what it makes is a generator or a context manager, ``is_async``: it has to be awaited.
    """

    slot: int
    name: str
    make: Callable[..., Any]
    by_position: tuple[int, ...]
    by_name: tuple[tuple[str, int], ...]
    opens: bool
    is_async: bool

    @property
    def inputs(self) -> Iterable[int]:
        return (*self.by_position, *(slot for _, slot in self.by_name))

    def made(self, values: Sequence[Any]) -> Any:
        named = {name: values[slot] for name, slot in self.by_name}
        return self.make(*(values[slot] for slot in self.by_position), **named)

    def open(self, values: list[Any]) -> _Opened | None:
        """Make the value of a plain step on this thread; returns what has to be closed."""
        made = self.made(values)
        if self.opens and (manager := _manager_of(made)) is not None:
            values[self.slot] = manager.__enter__()
            return _Opened(self.name, manager)
        values[self.slot] = _checked(self.name, made)
        return None

    async def open_async(self, values: list[Any]) -> _Opened | None:
        """Make the value of an ``async`` step; returns what has to be closed."""
        made = self.made(values)
        if self.opens and (manager := _async_manager_of(made)) is not None:
            values[self.slot] = await manager.__aenter__()
            return _Opened(self.name, manager, is_async=True)
        values[self.slot] = _checked(self.name, await made if inspect.isawaitable(made) else made)
        return None


class _Opened(Value, frozen=True):
    """An open dependency, to be closed by the end of the call."""

    name: str
    manager: Any
    is_async: bool = False

    def close(self, error: BaseException | None) -> None:
        self.manager.__exit__(*_about(error))

    async def close_async(self, error: BaseException | None) -> None:
        await self.manager.__aexit__(*_about(error))


def _about(error: BaseException | None) -> tuple[Any, ...]:
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


# --- at registration --------------------------------------------------------------------------------------------------


class _Planner:
    """Collects the values and steps of one function."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._slots: dict[Any, int] = {}
        self._path: list[Callable[..., Any]] = []
        self.count = 0
        self.readers: list[tuple[int, Callable[[RequestContext], Any]]] = []
        self.steps: list[_Step] = []

    def context(self) -> int:
        """Return the slot of the context, as an author's function gets it."""
        return self._read("context", for_author)

    def slot_of(self, name: str, provided: Provided) -> int:
        match provided.provider:
            case Depends() as depends:
                return self._depends(depends)
            case Header():
                return self._read(None, self._source.of_header(name, provided))
            case _:
                value = self._source.of_lifespan(provided.type)
                return self._read(None, lambda _context: value())

    def _read(self, key: str | None, read: Callable[[RequestContext], Any]) -> int:
        if key is not None and key in self._slots:
            return self._slots[key]
        slot = self._new_slot(key)
        self.readers.append((slot, read))
        return slot

    def _new_slot(self, key: Any) -> int:
        slot, self.count = self.count, self.count + 1
        if key is not None:
            self._slots[key] = slot
        return slot

    def _depends(self, depends: Depends) -> int:
        make = depends.make
        if not callable(make):
            raise DefinitionError.of(DEPENDENCY_NOT_FUNCTION, value=_name_of(make))
        if any(make == other for other in self._path):
            names = (_name_of(one) for one in (*self._path[self._path.index(make) :], make))
            raise DefinitionError.of(DEPENDENCY_CIRCLE, names=" → ".join(names))
        key = _key_of(make) if depends.use_cache else None
        if key is not None and key in self._slots:
            return self._slots[key]
        self._path.append(make)
        by_position, by_name = self._inputs(make)
        self._path.pop()
        slot = self._new_slot(key)
        opens, is_async = _form_of(make)
        self.steps.append(_Step(slot, _name_of(make), make, by_position, by_name, opens, is_async))
        return slot

    def _inputs(self, make: Callable[..., Any]) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]]:
        """Return the slots of the parameters of a dependency. One without a type, if it is the only one that has to be
        provided, is the context.
        """
        name, hints = _name_of(make), parameter_hints(make)
        slots: dict[str, int] = {}
        untyped: list[str] = []
        declared = parameters_of(make)
        for parameter in declared:
            annotation = hints.get(parameter.name, parameter.annotation)
            if (provided := provided_by(parameter, annotation)) is not None:
                slots[parameter.name] = self.slot_of(parameter.name, provided)
            elif is_context(annotation):
                slots[parameter.name] = self.context()
            elif parameter.default is not MISSING:
                continue
            elif annotation is MISSING and parameter.kind is not parameter.VAR_KEYWORD:
                untyped.append(parameter.name)
            else:
                raise DefinitionError.of(DEPENDENCY_PARAMETER_UNRESOLVED, name=name, parameter=parameter.name)
        if len(untyped) > 1 or (untyped and slots):
            raise DefinitionError.of(DEPENDENCY_TOO_MANY_PARAMETERS, name=name)
        slots |= dict.fromkeys(untyped, self.context()) if untyped else {}
        return self._arranged(declared, slots)

    def _arranged(
        self, declared: Sequence[inspect.Parameter], slots: dict[str, int]
    ) -> tuple[tuple[int, ...], tuple[tuple[str, int], ...]]:
        """Return the slots by position and by name, with the defaults of parameters before one by position."""
        positional = [one for one in declared if one.kind in (one.POSITIONAL_ONLY, one.VAR_POSITIONAL)]
        while positional and positional[-1].name not in slots:
            positional.pop()
        if positional and positional[-1].kind is inspect.Parameter.VAR_POSITIONAL:
            positional = list(declared[: declared.index(positional[-1]) + 1])
        first = tuple(
            slots.pop(one.name) if one.name in slots else self._read(None, partial(_constant, one.default))
            for one in positional
        )
        return first, tuple(slots.items())


def _constant(value: Any, _context: RequestContext) -> Any:
    return value


def _name_of(make: Any) -> str:
    return getattr(make, "__name__", str(make))


def _key_of(make: Callable[..., Any]) -> Any:
    try:
        hash(make)
    except TypeError:  # a method of an object that has no hash
        return id(make)
    return make


def _form_of(make: Callable[..., Any]) -> tuple[bool, bool]:
    """Return whether it makes a generator or a context manager, and whether it belongs on the event loop."""
    if isinstance(make, type):
        for enter, leave, is_async in (("__aenter__", "__aexit__", True), ("__enter__", "__exit__", False)):
            if hasattr(make, enter) and hasattr(make, leave):
                return True, is_async
        return False, False
    function = inspect.unwrap(plain(make))  # also behind the wrapper that contextlib, or a decorator, has put around it
    if inspect.isasyncgenfunction(function):
        return True, True
    if inspect.isgeneratorfunction(function):
        return True, False
    return False, inspect.iscoroutinefunction(function)


# --- at a call --------------------------------------------------------------------------------------------------------


class Injection:
    """A function with what it is provided. ``threads`` run what may block; without them nothing does."""

    def __init__(
        self, function: Callable[..., Any], signature: Signature, threads: Threads | None, source: Source
    ) -> None:
        planner = _Planner(source)
        slots = {name: planner.slot_of(name, provided) for name, provided in signature.provided.items()}
        if signature.context is not None:
            slots[signature.context] = planner.context()
        self._function = by_keywords(function, signature.positional)
        self._slots = tuple(slots.items())
        self._count = planner.count
        self._readers = tuple(planner.readers)
        self._steps = tuple(planner.steps)
        self._threads = threads
        self._on_thread = not signature.is_async and threads is not None
        self._early, self._late = _split(self._steps)

    async def call(
        self, arguments: dict[str, Any], request: RequestContext, finish: Callable[[Any], ResultT]
    ) -> ResultT:
        """Call the function with ``arguments`` and what it is provided; ``finish`` makes the result of its value, while
        all dependencies are open.
        """
        values: list[Any] = [None] * self._count
        for slot, read in self._readers:
            values[slot] = read(request)
        opened: list[_Opened] = []
        if self._on_thread and self._threads is not None:
            return await self._call_on_thread(self._threads, arguments, values, opened, finish)
        try:
            for step in self._steps:
                await self._open(step, values, opened)
            result = finish(await _awaited(self.called(arguments, values)))
        except BaseException as error:
            await _close(opened, error, self._threads)
            raise
        await _close(opened, None, self._threads)
        return result

    def called(self, arguments: dict[str, Any], values: Sequence[Any]) -> Any:
        return self._function(**arguments, **{name: values[slot] for name, slot in self._slots})

    async def _open(self, step: _Step, values: list[Any], opened: list[_Opened]) -> None:
        if step.is_async:
            more = await step.open_async(values)
        elif self._threads is None:
            more = step.open(values)
        else:
            more = await _OpeningOnThread(step, values, opened).run(self._threads)
        if more is not None:
            opened.append(more)

    async def _call_on_thread(
        self,
        threads: Threads,
        arguments: dict[str, Any],
        values: list[Any],
        opened: list[_Opened],
        finish: Callable[[Any], ResultT],
    ) -> ResultT:
        job = _ThreadCall(self._late, values, partial(self.called, arguments, values), finish)
        try:
            for step in self._early:
                await self._open(step, values, opened)
            await threads.run(job)
            result = job.value if job.is_finished else finish(await _awaited(job.value))
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError) or job.give_up():
                await _close(opened, error, threads)
            elif opened:
                _later(_close_after(job.ended, opened, error, threads))
            raise
        await _close(opened, None, threads)
        return result


def _split(steps: Sequence[_Step]) -> tuple[tuple[_Step, ...], tuple[_Step, ...]]:
    """Return the ``async`` steps that need no plain one, and the others."""
    late: list[_Step] = []
    slots: set[int] = set()
    for step in steps:
        if not step.is_async or not slots.isdisjoint(step.inputs):
            late.append(step)
            slots.add(step.slot)
    return tuple(step for step in steps if step.slot not in slots), tuple(late)


async def _awaited(value: Any) -> Any:
    """Await the value of an ``async`` function, which may stand behind a plain wrapper."""
    return await value if inspect.isawaitable(value) else value


async def _close(opened: list[_Opened], error: BaseException | None, threads: Threads | None) -> None:
    """Close all, the last first, and log what fails. If the call is cancelled, or is so meanwhile, the rest has
    ``_CLOSING_SECONDS``, and each of them ``_LEAST_SECONDS``; a new cancellation is raised at the end.
    """
    until = _deadline() if isinstance(error, asyncio.CancelledError) and opened else None
    cancelled: asyncio.CancelledError | None = None
    while opened:
        one, began = opened.pop(), _now()
        limit = asyncio.timeout_at(until and max(until, _now() + _LEAST_SECONDS))
        try:
            async with limit:
                await _close_one(one, error, threads)
        except asyncio.CancelledError as again:
            error = cancelled = again
            until = until or _deadline()
        except BaseException as failure:  # noqa: BLE001 - the result of the call stands
            if isinstance(failure, TimeoutError) and limit.expired():
                facts = {"name": one.name, "seconds": round(_now() - began, 1)}
                _log.warning("%s", coded_sentence(DEPENDENCY_CLOSING_HANGS, "en", facts))
            else:
                _log_failure(one, failure, error)
    if cancelled is not None:
        raise cancelled


def _now() -> float:
    return asyncio.get_running_loop().time()


def _deadline() -> float:
    return _now() + _CLOSING_SECONDS


async def _close_one(one: _Opened, error: BaseException | None, threads: Threads | None) -> None:
    if one.is_async:
        await one.close_async(error)
    elif threads is None:
        one.close(error)
    else:
        await threads.run(partial(one.close, error))


def _log_failure(one: _Opened, failure: BaseException, error: BaseException | None) -> None:
    """Log an error of closing; the error of the call itself, which passes through, is none."""
    if failure is not error:
        text = coded_sentence(DEPENDENCY_CLOSING_FAILED, "en", {"name": one.name})
        _log.error("%s", text, exc_info=(type(failure), failure, traced(failure)[0]))


_closing: set[asyncio.Task[None]] = set()


def _later(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    _closing.add(task)
    task.add_done_callback(_closing.discard)


async def _close_after(
    ended: asyncio.Event, opened: list[_Opened], error: BaseException, threads: Threads | None
) -> None:
    """Close the ``async`` dependencies of an abandoned call, once its thread has ended."""
    with contextlib.suppress(asyncio.CancelledError):  # the event loop ends before the thread
        await ended.wait()
    await _close(opened, error, threads)


class _OpeningOnThread:
    """Opens a plain dependency of an ``async`` function on a thread. If the call is cancelled meanwhile, the thread
    closes it again.
    """

    def __init__(self, step: _Step, values: list[Any], opened: list[_Opened]) -> None:
        self._step = step
        self._values = values
        self._all = opened
        self._lock = threading.Lock()
        self._is_abandoned = False
        self._opened: _Opened | None = None

    async def run(self, threads: Threads) -> _Opened | None:
        try:
            await threads.run(self._open)
        except asyncio.CancelledError:
            with self._lock:
                self._is_abandoned = True
                if self._opened is not None:
                    self._all.append(self._opened)
            raise
        return self._opened

    def _open(self) -> None:
        opened = self._step.open(self._values)
        with self._lock:
            if not self._is_abandoned:
                self._opened = opened
                return
        if opened is not None:
            _close_here(opened, asyncio.CancelledError())


def _close_here(one: _Opened, error: BaseException | None) -> None:
    try:
        one.close(error)
    except BaseException as failure:  # noqa: BLE001 - the result of the call stands
        _log_failure(one, failure, error)


class _ThreadCall:
    """The part of a plain function's call that runs on its thread: plain steps, the function, closing.

    ``ended`` is set when the thread is done with it. ``is_finished``: ``value`` is the result already, which is made
    here if a dependency of this thread is open.
    """

    def __init__(
        self, steps: Sequence[_Step], values: list[Any], call: Callable[[], Any], finish: Callable[[Any], Any]
    ) -> None:
        self._steps = steps
        self._values = values
        self._call = call
        self._finish = finish
        self._loop = asyncio.get_running_loop()
        self._claim = threading.Lock()
        self._is_abandoned = False
        self._waiting: Any = None
        self.ended = asyncio.Event()
        self.value: Any = None
        self.is_finished = False

    def give_up(self) -> bool:
        """Abandon it. Returns whether no thread works on it: it has ended, or will not begin."""
        if self._claim.acquire(blocking=False):
            return True
        self._is_abandoned = True
        if (waiting := self._waiting) is not None:
            waiting.cancel()
        return self.ended.is_set()

    def __call__(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        opened: list[_Opened] = []
        try:
            self._run(opened)
        except BaseException as error:
            self._close(opened, error)
            raise
        else:
            self._close(opened, None)
        finally:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self.ended.set)

    def _run(self, opened: list[_Opened]) -> None:
        for step in self._steps:
            more = self._await(step.open_async(self._values)) if step.is_async else step.open(self._values)
            if more is not None:
                opened.append(more)
        self.value = self._call()
        if opened:
            value = self._await(_awaited(self.value)) if inspect.isawaitable(self.value) else self.value
            self.value = self._finish(value)
            self.is_finished = True

    def _close(self, opened: list[_Opened], error: BaseException | None) -> None:
        for one in reversed(opened):
            if not one.is_async:
                _close_here(one, error)
                continue
            try:
                self._on_loop(self._bounded(one, error)).result()
            except BaseException as failure:  # noqa: BLE001 - the result of the call stands
                _log_failure(one, failure, error)

    async def _bounded(self, one: _Opened, error: BaseException | None) -> None:
        async with asyncio.timeout(_CLOSING_SECONDS if self._is_abandoned else None):
            await one.close_async(error)

    def _await(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Wait on this thread for work on the event loop, which is cancelled if the call is abandoned."""
        self._waiting = waiting = self._on_loop(work)
        if self._is_abandoned:
            waiting.cancel()
        return waiting.result()

    def _on_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop has ended
            work.close()
            raise


def _nothing() -> Generator[None]:
    yield


async def _nothing_async() -> AsyncGenerator[None]:
    yield


_MANAGER = type(contextlib.contextmanager(_nothing)())
_ASYNC_MANAGER = type(contextlib.asynccontextmanager(_nothing_async)())


def _manager_of(made: Any) -> Any:
    """Return the context manager for a generator, or for what has its methods; ``None`` for another value."""
    if isinstance(made, Generator):
        return contextlib.contextmanager(lambda: cast("Generator[Any]", made))()
    return made if hasattr(made, "__enter__") and hasattr(made, "__exit__") else None


def _async_manager_of(made: Any) -> Any:
    if isinstance(made, AsyncGenerator):
        return contextlib.asynccontextmanager(lambda: cast("AsyncGenerator[Any]", made))()
    return made if hasattr(made, "__aenter__") and hasattr(made, "__aexit__") else None


def _checked(name: str, value: Any) -> Any:
    """Return the value of a dependency. Raises ``DefinitionError`` for one that would have to be awaited or opened."""
    if isinstance(value, Coroutine):
        value.close()
        raise DefinitionError.of(DEPENDENCY_RETURNED_COROUTINE, name=name)
    if isinstance(value, (Generator, AsyncGenerator, _MANAGER, _ASYNC_MANAGER)):
        raise DefinitionError.of(GENERATOR_AS_DEPENDENCY, name=name)
    return value  # pyright: ignore[reportUnknownVariableType]

"""Dependency injection: the request context and the dependencies of a function.

A dependency is made for each call. An ``async`` one is awaited on the event loop. A plain one runs on a thread: for a
plain function on the function's own, just before it; for an ``async`` function on a thread of its own.

Generators, context managers and dependencies with parameters of their own are refused: at registration if the function
shows it, otherwise at the call.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from typing import Any, Protocol

from tooltrue.errors import DefinitionError
from tooltrue.protocol.types import Value
from tooltrue.tools.binding.signature import (
    MISSING,
    Signature,
    dependency_of,
    is_context,
    parameter_hints,
    parameters_of,
    plain,
)
from tooltrue.tools.binding.tool_options import Depends
from tooltrue.tools.vocabulary import RequestContext, for_author
from tooltrue.tools.wording import (
    DEPENDENCY_NOT_FUNCTION,
    DEPENDENCY_NOT_SUPPORTED_HERE,
    DEPENDENCY_PARAMETER_UNRESOLVED,
    DEPENDENCY_RETURNED_COROUTINE,
    DEPENDENCY_TOO_MANY_PARAMETERS,
    GENERATOR_AS_DEPENDENCY,
)

__all__ = ["Threads", "injector", "refuse_dependencies", "standing_alone"]


class Threads(Protocol):
    """Runs functions that may block."""

    def run(self, function: Callable[[], Any], /) -> Awaitable[Any]: ...


class _Maker(Value, frozen=True):
    """Makes a dependency: ``context`` is the parameter for the context, passed by position if possible."""

    name: str
    make: Callable[..., Any]
    context: inspect.Parameter | None
    is_async: bool

    def __call__(self, context: RequestContext) -> Any:
        if self.context is None:
            return self.make()
        if self.context.kind is inspect.Parameter.KEYWORD_ONLY:
            return self.make(**{self.context.name: context})
        return self.make(context)

    def here(self, context: RequestContext) -> Any:
        """Make the value on this thread. Raises ``DefinitionError`` for one that would have to be awaited or
        entered.
        """
        return _checked(self.name, self(context))


def injector(
    signature: Signature, threads: Threads | None
) -> Callable[[RequestContext], Awaitable[dict[str, Any]]] | None:
    """Return the function that provides context and dependencies; ``None`` if the signature has neither.

    The plain dependencies of a plain function come as functions, which :func:`standing_alone` calls on its thread.
    """
    if signature.context is None and not signature.depends:
        return None
    makers = {name: _maker(dependency) for name, dependency in signature.depends.items()}
    later = _made_later(signature)

    async def inject(request: RequestContext) -> dict[str, Any]:
        context = for_author(request)
        values: dict[str, Any] = {} if signature.context is None else {signature.context: context}
        for name, maker in makers.items():
            if name in later:
                values[name] = functools.partial(maker.here, context)
            else:
                values[name] = await _made(maker, context, threads)
        return values

    return inject


async def _made(maker: _Maker, context: RequestContext, threads: Threads | None) -> Any:
    if not maker.is_async:
        return maker.here(context) if threads is None else await threads.run(functools.partial(maker.here, context))
    value = maker(context)
    return _checked(maker.name, await value if inspect.isawaitable(value) else value)


def standing_alone(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return ``function`` with keyword parameters only. It makes its plain dependencies itself, on the thread that
    calls it.
    """
    later, positional = _made_later(signature), signature.positional
    if not later and not positional:
        return function

    def call(**named: Any) -> Any:
        named |= {name: named[name]() for name in later}
        first = [named.pop(name) for name in positional if name in named]
        return function(*first, **named)

    return call


def _made_later(signature: Signature) -> tuple[str, ...]:
    if signature.is_async:
        return ()
    return tuple(name for name, dependency in signature.depends.items() if not _is_async(dependency.make))


def _maker(dependency: Depends) -> _Maker:
    """Check a dependency. Raises ``DefinitionError`` for one that cannot provide a value."""
    make = dependency.make
    name = getattr(make, "__name__", str(make))
    if not callable(make):
        raise DefinitionError.of(DEPENDENCY_NOT_FUNCTION, value=name)
    if _is_generator(plain(make)):
        raise DefinitionError.of(GENERATOR_AS_DEPENDENCY, name=name)
    return _Maker(name, make, _context_parameter(name, make), _is_async(make))


def _is_async(make: Callable[..., Any]) -> bool:
    """Whether it is ``async``, also behind a plain wrapper with ``__wrapped__``."""
    return inspect.iscoroutinefunction(inspect.unwrap(plain(make)))


def _is_generator(make: Callable[..., Any]) -> bool:
    """Whether it is a generator, or a context manager that ``contextlib`` makes of one."""
    code = getattr(make, "__code__", None)
    if code is not None and code.co_filename == contextlib.__file__:
        make = inspect.unwrap(make)
    return inspect.isgeneratorfunction(make) or inspect.isasyncgenfunction(make)


def _context_parameter(name: str, make: Callable[..., Any]) -> inspect.Parameter | None:
    """Return the parameter that receives the context: the one annotated with it, or else the only one, without an
    annotation.
    """
    parameters, hints = parameters_of(make), parameter_hints(make)
    typed = {one.name: hints.get(one.name, one.annotation) for one in parameters}
    contexts = [one for one in parameters if is_context(typed[one.name])]
    others = [one for one in parameters if one not in contexts and _is_needed(one, typed[one.name])]
    if len(contexts) + len(others) > 1:
        raise DefinitionError.of(DEPENDENCY_TOO_MANY_PARAMETERS, name=name)
    for one in others:
        if typed[one.name] is not MISSING or one.default is not MISSING or one.kind is one.VAR_KEYWORD:
            raise DefinitionError.of(DEPENDENCY_PARAMETER_UNRESOLVED, name=name, parameter=one.name)
    return next(iter((*contexts, *others)), None)


def _is_needed(parameter: inspect.Parameter, annotation: Any) -> bool:
    """Whether the parameter has to be provided; one with a default belongs to the dependency itself."""
    return parameter.default is MISSING or dependency_of(parameter, annotation) is not None


def _nothing() -> Generator[None]:
    yield


async def _nothing_async() -> AsyncGenerator[None]:
    yield


_MANAGERS = (type(contextlib.contextmanager(_nothing)()), type(contextlib.asynccontextmanager(_nothing_async)()))


def _checked(name: str, value: Any) -> Any:
    """Return the value of a dependency. Raises ``DefinitionError`` for a generator, or a value to be awaited or
    entered.
    """
    if isinstance(value, Coroutine):
        value.close()
        raise DefinitionError.of(DEPENDENCY_RETURNED_COROUTINE, name=name)
    if isinstance(value, (Generator, AsyncGenerator, *_MANAGERS)):
        raise DefinitionError.of(GENERATOR_AS_DEPENDENCY, name=name)
    return value  # pyright: ignore[reportUnknownVariableType]


def refuse_dependencies(function: Callable[..., Any]) -> None:
    """Raise ``DefinitionError`` if a function that is called without injection declares a dependency."""
    hints = parameter_hints(function)
    for parameter in _readable(function):
        if dependency_of(parameter, hints.get(parameter.name, parameter.annotation)) is not None:
            raise DefinitionError.of(DEPENDENCY_NOT_SUPPORTED_HERE, name=parameter.name)


def _readable(function: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    with contextlib.suppress(DefinitionError):  # a builtin may have no signature, and has no dependency
        return parameters_of(function)
    return ()

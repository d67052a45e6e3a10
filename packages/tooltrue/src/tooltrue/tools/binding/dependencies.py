"""The seam between a function and its dependencies: who gets none, and where those of the others are planned.

A function without dependencies is called directly; :mod:`tooltrue.tools.binding.injection`, which plans and opens
dependencies, is imported with the first function that has some.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from tooltrue.errors import DefinitionError
from tooltrue.tools.binding.signature import parameter_hints, parameters_of, provided_by
from tooltrue.tools.wording import DEPENDENCY_NOT_SUPPORTED_HERE

__all__ = ["Threads", "by_keywords", "refuse_dependencies"]


class Threads(Protocol):
    """Runs functions that may block."""

    def run(self, function: Callable[[], Any], /) -> Awaitable[Any]: ...


def by_keywords(function: Callable[..., Any], positional: tuple[str, ...]) -> Callable[..., Any]:
    """Return ``function`` with keyword parameters only; ``positional`` are those that it takes by position."""
    if not positional:
        return function

    def call(**named: Any) -> Any:
        first = [named.pop(name) for name in positional if name in named]
        return function(*first, **named)

    return call


def refuse_dependencies(function: Callable[..., Any]) -> None:
    """Raise ``DefinitionError`` if a function that is called without injection declares a dependency."""
    hints = parameter_hints(function)
    for parameter in _readable(function):
        if provided_by(parameter, hints.get(parameter.name, parameter.annotation)) is not None:
            raise DefinitionError.of(DEPENDENCY_NOT_SUPPORTED_HERE, name=parameter.name)


def _readable(function: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    with contextlib.suppress(DefinitionError):  # a builtin may have no signature, and has no dependency
        return parameters_of(function)
    return ()

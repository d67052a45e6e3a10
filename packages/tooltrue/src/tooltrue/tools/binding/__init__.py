"""Turns a Python function into a tool: its contract is derived here, once, at registration. Owns pydantic.

JSON Schema alone accepts or refuses arguments; pydantic writes the schema and then only *converts* (strict JSON mode).
Plain types need no pydantic: it is imported with the first function that has others, or with the first such value.
A function that cannot be described is a ``DefinitionError`` that names the fix.

In reading order: ``tool_options`` (the author's declarations), ``signature`` (the function's parameters and docstring),
``plain_types`` and ``schemas`` (the published schemas, without and with pydantic), ``arguments``, ``return_values``,
``bind`` (all of it together, and the call), ``injection`` and ``sources`` (dependencies, and where provided values
come from), ``text_functions`` (functions whose arguments come as text: prompts and templates), ``forms`` (types that a
person fills in).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tooltrue.tools.binding.bind import Bound, bind, bind_raw
from tooltrue.tools.binding.tool_options import Completes, Depends, Header, Lifespan, ToolOptions

__all__ = [
    "Bound",
    "Completes",
    "Depends",
    "Header",
    "Lifespan",
    "ToolOptions",
    "bind",
    "bind_raw",
]

if TYPE_CHECKING:  # to a type checker ``x: T = Depends(make)`` is a default of the type that ``make`` returns
    T = TypeVar("T")

    @overload
    def Depends(make: Callable[..., Coroutine[Any, Any, T]], use_cache: bool = True) -> T: ...

    @overload
    def Depends(
        make: Callable[..., AbstractContextManager[T] | AbstractAsyncContextManager[T]], use_cache: bool = True
    ) -> T: ...

    @overload
    def Depends(make: Callable[..., Iterator[T] | AsyncIterator[T]], use_cache: bool = True) -> T: ...

    @overload
    def Depends(make: Callable[..., T], use_cache: bool = True) -> T: ...

    def Depends(make: Any, use_cache: bool = True) -> Any: ...

else:
    from tooltrue.tools.binding.tool_options import Depends

"""Turns a Python function into a tool: its contract is derived here, once, at registration. Owns pydantic.

JSON Schema alone accepts or refuses arguments; pydantic writes the schema and then only *converts* (strict JSON mode).
Plain types need no pydantic: it is imported with the first function that has others, or with the first such value.
A function that cannot be described is a ``DefinitionError`` that names the fix.

In reading order: ``tool_options`` (the author's declarations), ``signature`` (the function's parameters and docstring),
``plain_types`` and ``schemas`` (the published schemas, without and with pydantic), ``arguments``, ``return_values``,
``bind`` (all of it together, and the call), ``text_functions`` (functions whose arguments come as text: prompts and
templates), ``forms`` (types that a person fills in).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tooltrue.tools.binding.bind import Bound, bind, bind_raw
from tooltrue.tools.binding.tool_options import Completes, Depends, ToolOptions

__all__ = [
    "Bound",
    "Completes",
    "Depends",
    "ToolOptions",
    "bind",
    "bind_raw",
]

if TYPE_CHECKING:  # to a type checker ``x: T = Depends(make)`` is a default of the type that ``make`` returns
    T = TypeVar("T")

    @overload
    def Depends(make: Callable[..., Coroutine[Any, Any, T]]) -> T: ...

    @overload
    def Depends(make: Callable[..., T]) -> T: ...

    def Depends(make: Any) -> Any: ...

else:
    from tooltrue.tools.binding.tool_options import Depends

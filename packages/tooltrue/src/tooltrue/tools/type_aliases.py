"""Type aliases: of the statement ``type Rows = list[Row]``, which Python has from 3.12 on, and of typing_extensions."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin

import typing_extensions

__all__ = ["unaliased"]

# typing_extensions has a class of its own before Python 3.14, even where typing has one.
_ALIASES = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType))


def unaliased(type_: Any) -> Any:
    """Return the type with each alias within it replaced by the type that it stands for.

    An alias stays if it contains itself, if it names a type in text, which has a meaning in its own module alone, and
    if it has a parameter for several types. Raises ``NameError`` for an alias of an unknown name.
    """
    return _AliasReader().read(type_)


class _AliasReader:
    """Reads one type. ``_open`` are the aliases around the current part, ``_staying`` those that are not replaced."""

    def __init__(self) -> None:
        self._open: list[Any] = []
        self._staying: list[Any] = []

    def read(self, type_: Any) -> Any:
        if type(type_) is type:
            return type_
        if isinstance(type_, str | ForwardRef):
            self._staying += self._open
            return type_
        origin, inner = get_origin(type_), get_args(type_)
        alias = type_ if origin is None else origin
        if isinstance(alias, _ALIASES):
            return self._alias(type_, alias, inner)
        if not inner or origin is Literal:
            return type_
        if origin is Annotated:
            bare = self.read(inner[0])
            return type_ if bare is inner[0] else Annotated[(bare, *type_.__metadata__)]  # pyright: ignore[reportInvalidTypeForm]
        parts = tuple(map(self.read, inner))
        if all(part is before for part, before in zip(parts, inner, strict=True)):
            return type_
        generic: Any = Union if origin in (Union, types.UnionType) else origin
        return generic[parts]

    def _alias(self, type_: Any, alias: Any, arguments: tuple[Any, ...]) -> Any:
        if alias in self._open:
            self._staying.append(alias)
            return type_
        self._open.append(alias)
        try:
            value = self.read(_with_arguments(alias, arguments))
        except (LookupError, TypeError, ValueError):  # one parameter stands for several types
            value = type_
        self._open.pop()
        return type_ if alias in self._staying else value


def _with_arguments(alias: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the type that an alias stands for, with ``arguments`` in place of its parameters."""
    value, parameters = alias.__value__, alias.__type_params__
    if not arguments:
        return value
    given = dict(zip(parameters, arguments, strict=True))
    if value in parameters:
        return given[value]
    free = value.__parameters__ if get_args(value) else ()
    return value[tuple(given[parameter] for parameter in free)] if free else value

"""The registration of a family's tools: the settings of each stand at its function, as with ``@server.tool``.

A family is an object whose methods are tools, and the object is made when it is served. So the decorator of this module
only stores the settings, and :func:`add_tools` makes tools of the methods of one object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any, TypeVar, Unpack, cast

from tooltrue.tools.local import LocalToolset
from tooltrue.tools.settings import ToolSettings

__all__ = ["add_tools", "preview_of", "settings_of", "tool"]

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__tool_registration__"


@dataclass(slots=True)
class _Registration:
    """The settings of a tool, and the function that describes the effect of a call for the person who approves it."""

    settings: ToolSettings
    preview: Callable[..., Any] | None = None


def tool(shared: ToolSettings | None = None, /, **settings: Unpack[ToolSettings]) -> Callable[[F], F]:
    """Mark a function as a tool with these settings, which are added to ``shared`` ones. The function itself is
    returned unchanged."""

    def mark(function: F) -> F:
        setattr(function, _MARK, _Registration({**(shared or {}), **settings}))
        return function

    return mark


def preview_of(function: Callable[..., Any]) -> Callable[[F], F]:
    """Mark a method as the preview of the tool ``function``, a method of the same class above it."""

    def mark(preview: F) -> F:
        _registration(function).preview = preview
        return preview

    return mark


def settings_of(function: Callable[..., Any], **changes: Unpack[ToolSettings]) -> ToolSettings:
    """The settings that stand at ``function``, a function or a method of an object, with ``changes`` made at run
    time."""
    registration = _registration(function)
    settings: ToolSettings = {**registration.settings, **changes}
    if registration.preview is not None:
        settings["preview"] = MethodType(registration.preview, cast("MethodType", function).__self__)
    return settings


def add_tools(tools: LocalToolset, family: object, *, read_only: bool = False, **changes: Unpack[ToolSettings]) -> None:
    """Make tools of the marked methods of ``family``, with ``changes`` to the settings of each. ``read_only`` leaves
    out those that change something."""
    for name, member in vars(type(family)).items():
        if not hasattr(member, _MARK):
            continue
        settings = settings_of(getattr(family, name), **changes)
        if not read_only or settings.get("effect") == "read":
            tools.add(getattr(family, name), **settings)


def _registration(function: Callable[..., Any]) -> _Registration:
    registration: _Registration = getattr(function, _MARK)
    return registration

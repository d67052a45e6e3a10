"""The tools of a toolset as a model sees them, and the mapping from its names back to tools.

A tool that a provider would refuse is left out and reported, so that it does not cost the others the whole request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from tooltrue.contract.portable import fitting
from tooltrue.contract.profile import profile, profile_names
from tooltrue.errors import DefinitionError
from tooltrue.host.models.tool_formats import format_of
from tooltrue.host.wording import EXPOSED_NAME_INVALID, EXPOSED_NAME_TAKEN
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import ToolDefinition, Value

__all__ = ["ExposedTools", "Fit", "LeftOut", "exposed", "legal"]

Fit: TypeAlias = Callable[[ToolDefinition], ToolDefinition]
"""Converts a definition to the form a provider accepts, its name included. ``DefinitionError`` if there is none."""


class LeftOut(Value, frozen=True):
    """A tool that the model is not shown, and why."""

    name: str
    why: DefinitionError


class ExposedTools(Value, frozen=True):
    """``tools`` are in the provider's format; ``names`` maps the model's name for a tool to its own."""

    tools: tuple[dict[str, Json], ...]
    names: Mapping[str, str]
    left_out: tuple[LeftOut, ...] = ()


_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def legal(tool: ToolDefinition) -> ToolDefinition:
    """The definition unchanged. Checks only that every provider accepts the name."""
    if not _LEGAL.fullmatch(tool.name):
        raise DefinitionError.of(EXPOSED_NAME_INVALID, name=tool.name)
    return tool


def exposed(tools: Iterable[ToolDefinition], provider: str, fit: Fit | None = None) -> ExposedTools:
    """The tools in the format of ``provider``, in the given order. ``fit`` adapts a definition to the provider; the
    default follows its profile (:mod:`tooltrue.contract.profile`)."""
    fit = fit or (fitting(profile(provider)) if provider in profile_names() else legal)
    convert = format_of(provider)
    definitions, names, left_out = list[dict[str, Json]](), dict[str, str](), list[LeftOut]()
    for tool in tools:
        try:
            fitted = _unlike(fit(tool), names)
        except DefinitionError as error:
            left_out.append(LeftOut(tool.name, error))
            continue
        names[fitted.name] = tool.name
        definitions.append(convert(fitted))
    return ExposedTools(tuple(definitions), names, tuple(left_out))


def _unlike(tool: ToolDefinition, names: Mapping[str, str]) -> ToolDefinition:
    """Reject a second tool of the same name: it is left out, and never replaces the first."""
    if tool.name in names:
        raise DefinitionError.of(EXPOSED_NAME_TAKEN, name=tool.name, other=names[tool.name])
    return tool

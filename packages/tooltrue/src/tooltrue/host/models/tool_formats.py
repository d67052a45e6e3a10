"""A tool in the format of a provider's API. Only the envelope: fitting names, schemas and descriptions to the provider
is up to the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tooltrue.errors import ConfigurationError
from tooltrue.host.wording import UNKNOWN_PROVIDER
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import ToolDefinition

__all__ = ["FORMATS", "ToolFormat", "format_of"]

ToolFormat: TypeAlias = Callable[[ToolDefinition], dict[str, Json]]


def _function(tool: ToolDefinition) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description or "", "parameters": tool.inputSchema}


def _openai(tool: ToolDefinition) -> dict[str, Json]:
    return {"type": "function", "function": _function(tool)}


def _responses(tool: ToolDefinition) -> dict[str, Json]:
    # Strict would refuse every optional parameter, and the arguments are validated here in any case.
    return {"type": "function", **_function(tool), "strict": False}


def _anthropic(tool: ToolDefinition) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description or "", "input_schema": tool.inputSchema}


FORMATS: dict[str, ToolFormat] = {
    "anthropic": _anthropic,
    "gemini": _function,
    "openai": _openai,
    "openai-responses": _responses,
    "plain": _function,
}


def format_of(provider: str) -> ToolFormat:
    """The format of a provider. ``ConfigurationError`` for an unknown one."""
    if provider not in FORMATS:
        raise ConfigurationError.of(UNKNOWN_PROVIDER, provider=provider, known=", ".join(FORMATS))
    return FORMATS[provider]

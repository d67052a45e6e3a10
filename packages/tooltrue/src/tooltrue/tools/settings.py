"""The arguments of the decorators. A server that registers tools alone does not load this module: to build these types
takes longer than to register a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from tooltrue.protocol import types as wire
from tooltrue.tools.bounds import Rate
from tooltrue.tools.vocabulary import Effect, Personal, Principal, Secrets

__all__ = ["PromptSettings", "ResourceSettings", "ToolSettings"]


class ToolSettings(TypedDict, total=False):
    """The arguments of the ``tool`` decorator; described in :class:`tooltrue.tools.binding.ToolOptions`."""

    name: str
    title: str
    description: str
    effect: Effect
    idempotent: bool
    open_world: bool
    examples: Sequence[Mapping[str, Any]]
    seconds: float
    max_bytes: int
    max_argument_bytes: int
    rate: Rate
    at_once: int
    isolation: Literal["process"]
    blocking: bool
    secrets: Secrets
    personal: Personal
    untrusted: bool
    sends: bool
    repair: bool
    visible: Callable[[Principal], bool]
    requires: Collection[str]
    confirm: bool
    read_when: Mapping[str, bool]
    preview: Callable[[dict[str, Any]], Any]
    excused: Mapping[str, str]
    icons: Sequence[wire.Icon]
    meta: Mapping[str, Any]
    replaces: str | Collection[str]
    deprecated: str
    tags: Collection[str]


class ResourceSettings(TypedDict, total=False):
    """The arguments of the ``resource`` decorator.

    ``size`` is in bytes. ``blocking=False``: a plain function that is known to be quick is called without a thread.
    ``untrusted=True``: the contents come from strangers, and are marked so for the client.
    """

    name: str
    title: str
    description: str
    mime_type: str
    size: int
    annotations: wire.Annotations
    icons: Sequence[wire.Icon]
    meta: Mapping[str, Any]
    blocking: bool
    untrusted: bool


class PromptSettings(TypedDict, total=False):
    """The arguments of the ``prompt`` decorator."""

    name: str
    title: str
    description: str
    icons: Sequence[wire.Icon]
    meta: Mapping[str, Any]
    blocking: bool

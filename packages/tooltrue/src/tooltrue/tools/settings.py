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
    reads_stored: bool
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
    task: bool | Literal["when-slow", "manual", "required"]


class ResourceSettings(TypedDict, total=False):
    """The arguments of the ``resource`` decorator.

    - ``name``: the name of the resource, by default that of the function.
    - ``title``: the name that a person sees in a client.
    - ``description``: the text for the model, by default the docstring of the function.
    - ``mime_type``: the media type of the contents.
    - ``size``: the size of the contents, in bytes.
    - ``annotations``: for whom the contents are, and how important they are.
    - ``icons``: pictures of the resource that a client may show.
    - ``meta``: published in the ``_meta`` of the resource.
    - ``blocking=False``: a plain function that is known to be quick is called without a thread.
    - ``untrusted=True``: the contents come from strangers, and are marked so for the client.
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
    """The arguments of the ``prompt`` decorator.

    - ``name``: the name of the prompt, by default that of the function.
    - ``title``: the name that a person sees in a client.
    - ``description``: the text for a person, by default the docstring of the function.
    - ``icons``: pictures of the prompt that a client may show.
    - ``meta``: published in the ``_meta`` of the prompt.
    - ``blocking=False``: a plain function that is known to be quick is called without a thread.
    """

    name: str
    title: str
    description: str
    icons: Sequence[wire.Icon]
    meta: Mapping[str, Any]
    blocking: bool

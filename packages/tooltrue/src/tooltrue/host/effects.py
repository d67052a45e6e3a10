"""The effect of a remote tool as this side judges it: the operator's classification, which the server's own annotations
can only tighten."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tooltrue.protocol import types as wire
from tooltrue.tools.vocabulary import Effect

__all__ = ["Effects", "effects_by"]

Effects: TypeAlias = Callable[[wire.ToolDefinition], Effect]

_WORSE: tuple[Effect, ...] = ("read", "write", "open-world", "destructive")


def effects_by(configured: Callable[[str], Effect | None], *, hints: bool = False) -> Effects:
    """Classify tools by effect. ``configured`` returns the operator's classification of a tool by its name. Without one
    a tool counts as destructive, unless ``hints`` trusts the server's annotations. With one, annotations can only
    tighten it."""

    def effect(tool: wire.ToolDefinition) -> Effect:
        ruled, claimed = configured(tool.name), _claimed(tool.annotations)
        if ruled is None:
            return (claimed or "destructive") if hints else "destructive"
        return _WORSE[max(_WORSE.index(ruled), _WORSE.index(claimed or "read"))]

    return effect


def _claimed(hints: wire.ToolAnnotations | None) -> Effect | None:
    """The effect that a server's annotations claim; ``None`` without a claim."""
    if hints is None:
        return None
    if hints.readOnlyHint:
        # Both at once is a contradiction, and the worse of the two counts.
        return "destructive" if hints.destructiveHint else "open-world" if hints.openWorldHint else "read"
    if hints.destructiveHint:
        return "destructive"
    if hints.destructiveHint is False:
        return "open-world" if hints.openWorldHint else "write"
    return "destructive" if hints.readOnlyHint is False else None

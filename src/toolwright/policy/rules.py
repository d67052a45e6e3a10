"""Verdicts. A decision is pure and total: it looks at who, at what and, the second time, at which arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolwright.protocol import types as wire
from toolwright.tools.toolset import RequestContext, Tool

__all__ = ["ALLOW", "Allow", "Ask", "Decide", "Deny", "Subject", "Verdict", "allow_all"]


@dataclass(frozen=True, slots=True)
class Allow:
    pass


@dataclass(frozen=True, slots=True)
class Deny:
    """``reason`` is told to the caller. ``hidden``: to this caller the tool does not exist, and no reason is told."""

    reason: str
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """A person decides. A tool that asks is always listed."""

    question: str


Verdict: TypeAlias = Allow | Deny | Ask

Subject: TypeAlias = Tool | wire.Resource | wire.Prompt
"""What is decided about. A resource that is read need not be listed: then only its URI is known."""

Decide: TypeAlias = Callable[[Subject, RequestContext, Mapping[str, Any] | None], Verdict]
"""Arguments are ``None`` when it is asked about the subject alone: for a list, and before they have been checked."""

ALLOW = Allow()


def allow_all(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
    """The decision where nobody has written rules."""
    return ALLOW

"""Verdicts. A decision is pure and total: it looks at who, at what and, the second time, at which arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolwright.protocol.types import Value
from toolwright.tools.toolset import Entry, RequestContext, Tool

__all__ = ["ALLOW", "Allow", "Ask", "Decide", "Deny", "Subject", "Verdict", "allow_all"]


class Allow(Value, frozen=True):
    pass


class Deny(Value, frozen=True):
    """``reason`` is told to the caller. ``hidden``: to this caller the tool does not exist, and no reason is told."""

    reason: str
    hidden: bool = False


class Ask(Value, frozen=True):
    """A person decides. A tool that asks is always listed."""

    question: str


Verdict: TypeAlias = Allow | Deny | Ask

Subject: TypeAlias = Tool | Entry
"""What is decided about. A resource of a template is decided about twice: the template first, then its own URI."""

Decide: TypeAlias = Callable[[Subject, RequestContext, Mapping[str, Any] | None], Verdict]
"""Arguments are ``None`` when it is asked about the subject alone: for a list, and before they have been checked."""

ALLOW = Allow()


def allow_all(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
    """The decision where nobody has written rules."""
    return ALLOW

"""Errors as JSON, between the processes of a gateway: they keep their code and facts, and so their languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tooltrue.errors import TooltrueError
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.wording import Worded

__all__ = ["error_of", "facts_of", "members_of"]

ErrorT = TypeVar("ErrorT", bound=TooltrueError)


def members_of(error: TooltrueError) -> list[Json]:
    """The text, the code and the facts of an error."""
    return [str(error), error.code, _members(error.facts)]


def error_of(kind: type[ErrorT], members: Any) -> ErrorT:
    """The error of these members."""
    text, code, facts = members
    return kind(text, code=code, facts=facts_of(facts))


def _members(facts: Mapping[str, Any]) -> dict[str, Json]:
    """The facts of a message as JSON; those that are messages themselves keep their languages."""
    return {
        name: {"code": fact.code, "facts": _members(fact.facts), "is_clause": fact.is_clause}
        if isinstance(fact, Worded)
        else fact
        if isinstance(fact, int | float | str)
        else str(fact)
        for name, fact in facts.items()
    }


def facts_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of these members."""
    return {
        name: Worded(fact["code"], facts_of(fact["facts"]), is_clause=fact["is_clause"]) if is_object(fact) else fact
        for name, fact in members.items()
    }

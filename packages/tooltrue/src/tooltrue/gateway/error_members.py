"""Errors as JSON, between the processes of a gateway: they keep their class, code and facts, and so their languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tooltrue.errors import (
    AuthorizationFailed,
    ConfigurationError,
    ConnectionLost,
    DefinitionError,
    InternalError,
    InvalidAnswer,
    RequestTimeout,
    RpcError,
    ToolError,
    ToolTimeout,
    TooltrueError,
    TransportError,
    Unreachable,
)
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.wording import Worded

__all__ = ["as_rpc_error", "error_of", "members_of", "original_of"]

_CLASSES: Final[Mapping[str, type[TooltrueError]]] = {
    one.__name__: one
    for one in (
        AuthorizationFailed,
        ConfigurationError,
        ConnectionLost,
        DefinitionError,
        InvalidAnswer,
        RequestTimeout,
        RpcError,
        ToolError,
        ToolTimeout,
        TooltrueError,
        TransportError,
        Unreachable,
    )
}


def members_of(error: TooltrueError) -> dict[str, Json]:
    """The members of an error: its nearest class of those above, its text, code and facts."""
    name = next(one.__name__ for one in type(error).__mro__ if one.__name__ in _CLASSES)
    members: dict[str, Json] = {"class": name, "text": str(error), "code": error.code, "facts": _members(error.facts)}
    if isinstance(error, RpcError):
        members |= {"number": error.number, "data": error.data}
    return members


def error_of(members: Any) -> TooltrueError:
    """The error of these members."""
    text, code, facts = members["text"], members["code"], _facts_of(members["facts"])
    kind = _CLASSES[members["class"]]
    if kind is not RpcError:
        return kind(text, code=code, facts=facts)
    error = RpcError.received(members["number"], text, members["data"])
    error.code, error.facts = code, facts
    return error


def as_rpc_error(error: ToolError) -> RpcError:
    """The RPC error that carries an error to another process of the gateway."""
    carrier = InternalError(str(error))
    carrier.data = {"original": members_of(error)}
    return carrier


def original_of(carrier: RpcError) -> TooltrueError:
    """The error that ``carrier`` carries; ``carrier`` itself if it carries none."""
    match carrier.data:
        case {"original": members}:
            return error_of(members)
        case _:
            return carrier


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


def _facts_of(members: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: Worded(fact["code"], _facts_of(fact["facts"]), is_clause=fact["is_clause"]) if is_object(fact) else fact
        for name, fact in members.items()
    }

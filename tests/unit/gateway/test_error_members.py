"""Errors that pass between the processes of a gateway."""

from __future__ import annotations

from typing import Any

import pytest

from tooltrue.errors import (
    ConfigurationError,
    ConnectionLost,
    DefinitionError,
    InvalidAnswer,
    InvalidArguments,
    InvalidParams,
    RequestTimeout,
    RpcError,
    ToolError,
    ToolTimeout,
    TooltrueError,
    Unreachable,
    fact_of,
)
from tooltrue.gateway.error_members import as_rpc_error, error_of, members_of, original_of
from tooltrue.gateway.wording import HELD_OPERATION_GONE
from tooltrue.host.wording import HOST_SERVER_UNAVAILABLE
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED

CLASSES = [ConfigurationError, ConnectionLost, DefinitionError, InvalidAnswer, RequestTimeout, ToolTimeout, Unreachable]
PROBLEM = fact_of(ConnectionLost.of(CONNECTION_CLOSED))


def passed(error: TooltrueError) -> TooltrueError:
    return error_of(decode(encode(members_of(error))))


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_keeps_its_class_and_its_languages(kind: type[TooltrueError]) -> None:
    error = kind.of(HOST_SERVER_UNAVAILABLE, server="up", problem=PROBLEM)
    there = passed(error)
    assert type(there) is kind
    assert [there.say(language) for language in ("en", "zh")] == [error.say(language) for language in ("en", "zh")]


def test_any_other_class_becomes_its_nearest_base() -> None:
    assert type(passed(InvalidArguments("no"))) is ToolError


def test_an_rpc_error_keeps_its_number_and_data() -> None:
    error = InvalidParams.of(HELD_OPERATION_GONE)
    error.data = {"a": [1]}
    there = passed(error)
    assert isinstance(there, InvalidParams)
    assert (there.number, there.data, there.code) == (error.number, {"a": [1]}, error.code)


def test_an_rpc_error_carries_another_error() -> None:
    there: Any = original_of(as_rpc_error(Unreachable.of(HELD_OPERATION_GONE)))
    assert (type(there), there.code) == (Unreachable, HELD_OPERATION_GONE)
    other = RpcError.received(-32603, "no", {"other": 1})
    assert original_of(other) is other

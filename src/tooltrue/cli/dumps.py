"""The contract in a file: a lock, or a dump of ``tools/list``. Reading one does not load the client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tooltrue.contract.contract import Contract
from tooltrue.contract.contract import Path as At
from tooltrue.contract.lock import Lock, is_lock, parse
from tooltrue.errors import ConfigurationError, DefinitionError, ParseError
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object

__all__ = ["Gather", "bytes_of", "lock_in", "lock_of_json", "tools_in"]


Gather: TypeAlias = Callable[..., Contract]
"""``Contract.of``, or ``Contract.as_listed`` for definitions to be judged."""


def bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError.of("TT9006", file=str(path), problem=error.strerror) from None


def lock_in(data: bytes, path: Path, gather: Gather = Contract.of) -> Lock:
    """The lock, or the dump of tools, in the file ``path``."""
    try:
        said = decode(data)
    except ParseError as error:
        if path.suffix != ".lock":
            raise ConfigurationError.of("TT9006", file=str(path), problem=error) from None
        said = None
    return lock_of_json(said, data, path, gather)


def lock_of_json(said: Json, data: bytes, path: Path, gather: Gather = Contract.of) -> Lock:
    """As :func:`lock_in`, with ``said`` decoded from ``data`` already."""
    return parse(data, str(path)) if is_lock(said) or path.suffix == ".lock" else Lock(_dumped(said, path, gather))


def tools_in(said: Json) -> tuple[At, Json]:
    """The path and the value of the tools in a dump of ``tools/list``: a response, its result, or the array alone."""
    at, said = _result_in(said)
    return ((*at, "tools"), said.get("tools")) if is_object(said) else (at, said)


def _result_in(said: Json) -> tuple[At, Json]:
    at: At = ()
    while is_object(said) and is_object(said.get("result")):
        said, at = said["result"], (*at, "result")
    return at, said


def _dumped(said: Json, path: Path, gather: Gather) -> Contract:
    (_, tools), (_, said) = tools_in(said), _result_in(said)
    instructions = said.get("instructions") if is_object(said) else None
    if not is_array(tools) or not all(map(is_object, tools)):
        raise ConfigurationError.of("TT9007", file=str(path))
    if is_object(said) and said.get("nextCursor") is not None:
        raise ConfigurationError.of("TT9033", file=str(path), count=len(tools))
    try:
        return gather(tools, instructions if isinstance(instructions, str) else None)
    except DefinitionError as error:
        error.locate(str(path))
        raise

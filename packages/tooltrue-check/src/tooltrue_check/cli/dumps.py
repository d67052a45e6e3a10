"""The contract in a file: a lock, or a dump of ``tools/list``. Reading one does not load the client."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tooltrue.contract.contract import Contract
from tooltrue.contract.contract import Path as At
from tooltrue.contract.lock import Lock, is_lock, parse
from tooltrue.contract.wording import FILE_UNREADABLE
from tooltrue.errors import ConfigurationError, DefinitionError, ParseError, fact_of
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue_check.wording import DUMP_INCOMPLETE_PAGE, FILE_WITHOUT_DEFINITIONS

__all__ = ["Gather", "bytes_of", "lock_in", "lock_of_json", "tools_in"]


Gather: TypeAlias = Callable[..., Contract]
"""``Contract.of``, or ``Contract.as_listed`` for definitions to be judged."""


def bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError.of(FILE_UNREADABLE, file=str(path), problem=error.strerror) from None


def lock_in(data: bytes, path: Path, gather: Gather = Contract.of) -> Lock:
    """The lock, or the dump of tools, in the file ``path``."""
    try:
        document = decode(data)
    except ParseError as error:
        if path.suffix != ".lock":
            raise ConfigurationError.of(FILE_UNREADABLE, file=str(path), problem=fact_of(error)) from None
        document = None
    return lock_of_json(document, data, path, gather)


def lock_of_json(document: Json, data: bytes, path: Path, gather: Gather = Contract.of) -> Lock:
    """As :func:`lock_in`, with ``document`` decoded from ``data`` already."""
    return (
        parse(data, str(path))
        if is_lock(document) or path.suffix == ".lock"
        else Lock(_contract_in_dump(document, path, gather))
    )


def tools_in(document: Json) -> tuple[At, Json]:
    """The path and the value of the tools in a dump of ``tools/list``: a response, its result, or the array alone."""
    at, document = _result_in(document)
    return ((*at, "tools"), document.get("tools")) if is_object(document) else (at, document)


def _result_in(document: Json) -> tuple[At, Json]:
    at: At = ()
    while is_object(document) and is_object(document.get("result")):
        document, at = document["result"], (*at, "result")
    return at, document


def _contract_in_dump(document: Json, path: Path, gather: Gather) -> Contract:
    (_, tools), (_, document) = tools_in(document), _result_in(document)
    instructions = document.get("instructions") if is_object(document) else None
    if not is_array(tools) or not all(map(is_object, tools)):
        raise ConfigurationError.of(FILE_WITHOUT_DEFINITIONS, file=str(path))
    if is_object(document) and document.get("nextCursor") is not None:
        raise ConfigurationError.of(DUMP_INCOMPLETE_PAGE, file=str(path), count=len(tools))
    try:
        return gather(tools, instructions if isinstance(instructions, str) else None)
    except DefinitionError as error:
        error.locate(str(path))
        raise

"""Where a contract comes from on the command line: a lock file, a dump of tools, or a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from toolwright.cli.connecting import target_of
from toolwright.cli.families import Family
from toolwright.client.client import Client, Target
from toolwright.contract.contract import Contract
from toolwright.contract.contract import Path as At
from toolwright.contract.lock import Lock, is_lock, parse
from toolwright.errors import ConfigurationError, DefinitionError, ParseError
from toolwright.jsonrpc.messages import Json, decode, is_array, is_object

__all__ = ["bytes_of", "listed", "lock_in", "lock_of", "tools_in"]


Gather: TypeAlias = Callable[..., Contract]
"""``Contract.of``, or ``Contract.as_listed`` for what is to be judged."""


def lock_of(source: str, family: Family | None = None, timeout: float = 30.0, gather: Gather = Contract.of) -> Lock:
    """What SOURCE promises: a file is read, anything else is asked."""
    path = Path(source)
    named = path.suffix in (".lock", ".json") and " " not in source and "://" not in source
    if named or (path.is_file() and path.suffix != ".py"):
        return lock_in(bytes_of(path), path, gather)
    return asyncio.run(listed(target_of(source, family), timeout, gather))


def bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError.of("TW9006", file=str(path), problem=error.strerror) from None


def lock_in(data: bytes, path: Path, gather: Gather = Contract.of) -> Lock:
    """The lock, or the dump of tools, that stands in the file ``path``."""
    try:
        said = decode(data)
    except ParseError as error:
        if path.suffix != ".lock":
            raise ConfigurationError.of("TW9006", file=str(path), problem=error) from None
        said = None
    return parse(data, str(path)) if is_lock(said) or path.suffix == ".lock" else Lock(_dumped(said, path, gather))


def tools_in(said: Json) -> tuple[At, Json]:
    """Where the tools of ``tools/list`` are: in its answer, its result, or the array alone; and what is there."""
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
        raise ConfigurationError.of("TW9007", file=str(path))
    if is_object(said) and said.get("nextCursor") is not None:
        raise ConfigurationError.of("TW9033", file=str(path), count=len(tools))
    try:
        return gather(tools, instructions if isinstance(instructions, str) else None)
    except DefinitionError as error:
        error.locate(str(path))
        raise


async def listed(target: Target, timeout: float, gather: Gather = Contract.of, **settings: Any) -> Lock:
    """What a server publishes now: tools, instructions, and prompts and resources where it has some. ``settings`` are
    those of :class:`Client`."""
    async with Client(target, timeout=timeout, **settings) as client:
        facts = client.facts
        has_prompts, has_resources = "prompts" in facts.capabilities, "resources" in facts.capabilities
        contract = gather(
            await client.list_tools(),
            facts.instructions or None,
            prompts=await client.list_prompts() if has_prompts else (),
            resources=[*await client.list_resources(), *await client.list_templates()] if has_resources else (),
        )
        return Lock(contract, facts.name, facts.version)

"""The contract that a server publishes now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrue.client.client import Client, Target
from tooltrue.contract.contract import Contract
from tooltrue.contract.lock import Lock

__all__ = ["fetch_lock"]


async def fetch_lock(
    target: Target, timeout: float, gather: Callable[..., Contract] = Contract.of, **settings: Any
) -> Lock:
    """The definitions that a server publishes now: tools, instructions, and prompts and resources if it has any.

    ``gather`` is ``Contract.of``, or ``Contract.as_listed`` for definitions to be judged. ``settings`` are those of
    :class:`Client`.
    """
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

"""The origin of a contract on the command line: a lock file, a dump of tools, or a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.live_contract import fetch_lock
from tooltrue.cli.server_connection import target_of
from tooltrue.contract.contract import Contract
from tooltrue.contract.lock import Lock
from tooltrue_check.cli.dumps import Gather, bytes_of, lock_in

__all__ = ["lock_of"]


def lock_of(
    source: str, family: FamilyOptions | None = None, timeout: float = 30.0, gather: Gather = Contract.of
) -> Lock:
    """The contract of SOURCE: read from a file, else listed from a server."""
    path = Path(source)
    is_file_name = path.suffix in (".lock", ".json") and " " not in source and "://" not in source
    if is_file_name or (path.is_file() and path.suffix != ".py"):
        return lock_in(bytes_of(path), path, gather)
    return asyncio.run(fetch_lock(target_of(source, family, only_lists=True), timeout, gather))

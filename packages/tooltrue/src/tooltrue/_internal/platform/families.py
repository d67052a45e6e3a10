"""The programs that a process starts, for the case that it is killed: its parent ends them."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Collection

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["end_family", "join_family", "new_family", "reap_orphans"]


def new_family() -> str:
    """A name for a process and the programs that it will start."""
    return secrets.token_hex(16)


if HAS_POSIX:
    from tooltrue._internal.platform.posix_processes import MARK, descendants, is_alive, kill_strays

    def join_family(name: str) -> None:
        """Have the programs that this process starts from now on bear the name."""
        os.environ[MARK] = f"{os.environ.get(MARK, '')}:{name}"

    def end_family(name: str) -> None:
        """Kill the programs that bear the name. Never raises."""
        kill_strays(name, {})

    def reap_orphans(known: Collection[int | None]) -> None:
        """Reap the children of this process that have ended, but not the ``known`` ones: others wait for those."""
        for child in descendants() - set(known):
            if not is_alive(child):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child, os.WNOHANG)

else:

    def join_family(name: str) -> None:
        """No-op: a job object ends the programs of a process with it."""

    def end_family(name: str) -> None:
        """No-op: a job object ends the programs of a process with it."""

    def reap_orphans(known: Collection[int | None]) -> None:
        """No-op: a process that has ended leaves nothing behind."""

"""Seals of tasks: their ids as clients have them, and their state as the engine stores it."""

from __future__ import annotations

from typing import Final

from tooltrue.server.sealed_tokens import BadSeal, Sealer

__all__ = ["SealedTasks", "SealedUpstreamTasks"]

_SECONDS: Final = 3_155_760_000.0
"""A century: the engine removes expired tasks, and with them their state."""

_UPSTREAM: Final = "up."
"""How the id of a task of another server begins, which no id of a task of our own does."""


class SealedTasks:
    """An id is bound to its caller, and a state to its task."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def seal_id(self, task: str, owner: str) -> str:
        return self._sealer.seal("task", (owner,), bytes.fromhex(task), _SECONDS)

    def open_id(self, id: str, owner: str) -> str | None:
        try:
            return self._sealer.open("task", (owner,), id).hex()
        except BadSeal:
            return None

    def hide(self, task: str, text: bytes) -> str:
        return self._sealer.hide("task state", (task,), text, _SECONDS)

    def reveal(self, task: str, text: str) -> bytes | None:
        try:
            return self._sealer.reveal("task state", (task,), text)
        except BadSeal:
            return None


class SealedUpstreamTasks:
    """Ids of tasks of other servers: each is bound to its caller, and shows nobody what it stands for."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def seal(self, payload: bytes, owner: str) -> str:
        return _UPSTREAM + self._sealer.hide("upstream task", (owner,), payload, _SECONDS)

    def open(self, id: str, owner: str) -> bytes | None:
        if not id.startswith(_UPSTREAM):
            return None
        try:
            return self._sealer.reveal("upstream task", (owner,), id.removeprefix(_UPSTREAM))
        except BadSeal:
            return None

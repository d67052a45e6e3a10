"""Databases of tasks as an operator opens them: where they are, and the keys by which their tasks open."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tooltrue.errors import ConfigurationError
from tooltrue.protocol.types import Value
from tooltrue.server.sealed_tokens import Sealer, realm_of_view
from tooltrue.server.sealing_keys import VARIABLE, read_keys
from tooltrue.server.task_seals import SealedTasks
from tooltrue.state.places import beside, state_folder, without_password
from tooltrue.tasks.engine import DamagedTask, StoredTask, TaskInspector
from tooltrue.tasks.inspection import InspectedTask, inspected
from tooltrue.tasks.opening import inspecting
from tooltrue.tasks.records import OperatorAct
from tooltrue.tasks.wording import TASK_DATABASE_NOT_FOUND, TASK_KEYS_REQUIRED, TASK_KEYS_WRONG
from tooltrue.wording import names_or_none

__all__ = ["TaskStore", "task_files", "task_store"]


class TaskStore(Value, frozen=True):
    """A database of tasks. ``server`` is the name of the server, and ``None`` for the only one that has tasks there.
    ``keys`` are its own, and those of its views if it is a gateway; ``place`` is where they come from."""

    url: str
    server: str | None
    keys: Sequence[bytes]
    place: str

    def attached(self) -> AbstractAsyncContextManager[TaskInspector]:
        """As :func:`tooltrue.tasks.opening.inspecting`."""
        return inspecting(self.url, instance=self.server)

    def opened(self, task: StoredTask, language: str = "en") -> InspectedTask:
        """``ConfigurationError`` if the task was sealed with other keys."""
        if (opened := inspected(task, self._seals, language)) is None:
            raise ConfigurationError.of(TASK_KEYS_WRONG, store=without_password(self.url), place=self.place)
        return opened

    def opened_or_damaged(self, task: StoredTask | DamagedTask, language: str = "en") -> InspectedTask | DamagedTask:
        try:
            return task if isinstance(task, DamagedTask) else self.opened(task, language)
        except ConfigurationError as error:
            return DamagedTask(task.id, error)

    def note(self, task: InspectedTask, verb: str, who: str, questions: Sequence[str] = ()) -> str:
        """The note about an act on a task, for the audit log of its server."""
        act = OperatorAct(verb, who, task.tool, questions, time.time())
        return self.hide(task, act.encoded())

    def hide(self, task: InspectedTask, text: bytes) -> str:
        """Seal a text for the server that runs the task."""
        return self._seals(task.view).hide(task.id, text)

    def _seals(self, view: str) -> SealedTasks:
        return SealedTasks(Sealer(self.keys, realm=realm_of_view(view) if view else ""))


def task_files() -> list[Path]:
    """The databases of this user's servers in the state folder, by name."""
    return sorted((state_folder() / "tasks").glob("*.db"))


def task_store(url: str, server: str | None = None, key_file: str | None = None) -> TaskStore:
    """The database at ``url``, with the keys of ``key_file``, of the environment, or of the file beside it.
    ``ConfigurationError`` if there is no such database, or no key."""
    path = beside(url, "")
    if path and not Path(path).is_file():
        known = names_or_none([file.stem for file in task_files()])
        raise ConfigurationError.of(TASK_DATABASE_NOT_FOUND, what=path, known=known)
    keys, place = read_keys(key_file), key_file or VARIABLE
    if not keys:
        place = beside(url, ".key")
        if not place or not Path(place).is_file():
            raise ConfigurationError.of(TASK_KEYS_REQUIRED, store=without_password(url))
        keys = read_keys(place)
    return TaskStore(url, server, keys, place)

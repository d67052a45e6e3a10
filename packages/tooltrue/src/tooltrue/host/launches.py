"""Approved launch commands: a person approves the command that is shown, identified by its digest.

A command that comes with a file runs as the user, before any tool is called. So the first time, and after every change,
the whole command is shown: every word, the folder, the variables. Approvals are stored in the user's own state folder,
never in a repository.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from tooltrue._internal.platform.file_replacement import read_file
from tooltrue._internal.platform.private_files import make_private_folder
from tooltrue.client.config import Input, Launch, RemoteEndpoint, is_secret, refers_only
from tooltrue.contract.digests import digest
from tooltrue.contract.files import alone, write_whole
from tooltrue.contract.wording import FILE_NOT_WRITABLE
from tooltrue.errors import ConfigurationError, ParseError, fact_of
from tooltrue.host.packages import unpinned
from tooltrue.host.wording import (
    CREDENTIAL_SENDING_DENIED,
    CREDENTIAL_SENDING_NOT_APPROVED,
    LAUNCH_APPROVALS_UNREADABLE,
    LAUNCH_DENIED,
    LAUNCH_NOT_APPROVED,
    REASON_APPROVALS_ALTERED,
)
from tooltrue.jsonrpc.messages import decode, is_object
from tooltrue.policy.audit.argument_masking import MASKED, Masks
from tooltrue.policy.consent.argument_display import display_json, display_text
from tooltrue.protocol.types import Value
from tooltrue.state.places import state_folder
from tooltrue.wording import Worded

__all__ = ["ApproveLaunch", "LaunchRequest", "Launches", "described"]


class LaunchRequest(Value, frozen=True):
    """A request for approval before a server starts. ``text`` is the whole launch, safe to print on a terminal;
    ``before`` is the text approved last under this label in this file, if it differs. With ``connects`` no process
    starts, but variables of this user are sent to an address."""

    server: str
    file: str
    digest: str
    text: str
    warnings: tuple[str, ...] = ()
    before: str | None = None
    connects: bool = False


ApproveLaunch: TypeAlias = Callable[[LaunchRequest], "bool | Awaitable[bool]"]
"""Returns whether a person agrees. False if no person is there to answer."""


class Launches:
    """The approved commands. ``folder`` defaults to the user's state folder; tests override it."""

    def __init__(self, folder: Path | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    @property
    def file(self) -> Path:
        return (self._folder or state_folder()) / "launches.json"

    async def check(self, server: str, file: str, launch: Launch | RemoteEndpoint, ask: ApproveLaunch | None) -> None:
        """Return once this very command may start, or the variables an endpoint takes may go there: it was approved
        before, or is approved now. Otherwise raise ``ConfigurationError``, which says how to approve it."""
        if isinstance(launch, RemoteEndpoint) and not launch.takes:
            return
        request = self.request(server, file, launch)
        if self.is_approved(request.digest):
            return
        approval = False if ask is None else ask(request)
        if not (await approval if inspect.isawaitable(approval) else approval):
            if isinstance(launch, RemoteEndpoint):
                code = CREDENTIAL_SENDING_NOT_APPROVED if ask is None else CREDENTIAL_SENDING_DENIED
                takes = display_text(", ".join(launch.takes))
                raise ConfigurationError.of(code, server=server, file=file, origin=_origin(launch), takes=takes)
            code = LAUNCH_NOT_APPROVED if ask is None else LAUNCH_DENIED
            raise ConfigurationError.of(code, server=server, file=file, command=_line(launch))
        self.approve(request)

    def request(self, server: str, file: str, launch: Launch | RemoteEndpoint) -> LaunchRequest:
        name, text = digest(_approved(launch)), described(launch)
        previous = self._read().get("last", {}).get(_place(server, file))
        before = previous if isinstance(previous, str) and previous != text else None
        warnings = unpinned(launch.display) if isinstance(launch, Launch) else ()
        return LaunchRequest(server, file, name, text, warnings, before, isinstance(launch, RemoteEndpoint))

    def is_approved(self, name: str) -> bool:
        return name in self._read().get("approved", {})

    def approve(self, request: LaunchRequest) -> None:
        """Record that a person has agreed to ``request`` as shown."""
        self._make_folder()
        with alone(self.file):
            approvals = self._read()
            entry = {"server": request.server, "file": request.file, "command": request.text, "at": self._clock()}
            approvals.setdefault("approved", {})[request.digest] = entry
            approvals.setdefault("last", {})[_place(request.server, request.file)] = request.text
            self._write(approvals)

    def all(self) -> dict[str, dict[str, Any]]:
        """The approvals: digest → server, file, command, time."""
        return self._read().get("approved", {})

    def revoke(self, name: str) -> bool:
        """Revoke all approvals whose digest starts with this prefix. Returns whether one existed."""
        with alone(self.file):
            approvals = self._read()
            digests = [one for one in approvals.get("approved", {}) if one.startswith(name)]
            for one in digests:
                del approvals["approved"][one]
            if digests:
                self._write(approvals)
        return bool(digests)

    def _read(self) -> dict[str, Any]:
        try:
            approvals = decode(read_file(self.file))
        except FileNotFoundError:
            return {}
        except (OSError, ParseError) as error:
            raise ConfigurationError.of(LAUNCH_APPROVALS_UNREADABLE, file=self.file, problem=fact_of(error)) from None
        if not is_object(approvals) or not all(is_object(approvals.get(part, {})) for part in ("approved", "last")):
            raise ConfigurationError.of(
                LAUNCH_APPROVALS_UNREADABLE, file=self.file, problem=Worded(REASON_APPROVALS_ALTERED, {})
            )
        return approvals

    def _make_folder(self) -> None:
        try:
            make_private_folder(self.file.parent)
        except OSError as error:
            raise ConfigurationError.of(FILE_NOT_WRITABLE, file=self.file, problem=error.strerror) from None

    def _write(self, approvals: dict[str, Any]) -> None:
        """Write atomically, readable by the owner only."""
        write_whole(self.file, json.dumps(approvals, indent=1, sort_keys=True), 0o600)


def _place(server: str, file: str) -> str:
    return f"{os.path.abspath(file)}#{server}"


def _approved(launch: Launch | RemoteEndpoint) -> dict[str, Any]:
    """All that decides which process runs. Of secret variables, the values written in the file, not the resolved
    ones."""
    inputs = [[one.id, one.default, *one.options] for one in launch.inputs]
    if isinstance(launch, RemoteEndpoint):
        return {"origin": _origin(launch), "takes": list(launch.takes), "inputs": inputs}
    return {
        "argv": list(launch.display),
        "cwd": launch.cwd,
        "env": {name: digest(value) for name, value in launch.env_written.items()},
        "inputs": inputs,
    }


_FLAG: Final = re.compile(r"(--?)([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)


def _shown_words(words: Sequence[str]) -> list[str]:
    """The words of a command, with the values masked that look like keys, or that belong to a flag whose name says that
    they are secret: ``--token VALUE`` and ``--token=VALUE``. The approval is bound to the true words."""
    shown: list[str] = Masks().mask(list(words), None)[0]
    for place, word in enumerate(words):
        if (flag := _FLAG.fullmatch(word)) is None:
            continue
        dashes, name, value = flag.groups()
        if value is not None:
            shown[place] = f"{dashes}{name}={MASKED}" if _is_secret_value(name, value) else shown[place]
        elif place + 1 < len(words) and not _FLAG.fullmatch(words[place + 1]):
            shown[place + 1] = MASKED if _is_secret_value(name, words[place + 1]) else shown[place + 1]
    return shown


_PLACE_OR_PROGRAM: Final = re.compile(r"(file|path|dir|env|command|cmd|helper|exec|program|script)$", re.IGNORECASE)
_ONE_KEY: Final = re.compile(r"[\w.~+/=:@%,^*#?-]+")


def _is_secret_value(name: str, value: str) -> bool:
    """Whether a flag of this name has a secret: not the place of one, nor anything that may be run. A person has to see
    what runs."""
    if _PLACE_OR_PROGRAM.search(name) or refers_only(value) or not _ONE_KEY.fullmatch(value):
        return False
    return bool(Masks().mask({name: value}, None)[1])


def _line(launch: Launch) -> str:
    words = _shown_words(launch.display)
    return display_text(" ".join(word if re.fullmatch(r"[\w@%+=:,./-]+", word) else repr(word) for word in words))


def _origin(endpoint: RemoteEndpoint) -> str:
    """The origin of the address: the path concerns only the server at that origin."""
    parts = urlsplit(endpoint.display)
    return display_text(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


def described(launch: Launch | RemoteEndpoint) -> str:
    """The whole launch as text for a person: nothing in it is hidden or left out."""
    inputs = [one for one in map(_of_the_file, launch.inputs) if one]
    answers = [f"{'inputs' if place == 0 else '':<9}{line}" for place, line in enumerate(inputs)]
    if isinstance(launch, RemoteEndpoint):
        takes = [f"{'sends' if place == 0 else '':<9}{display_text(name)}" for place, name in enumerate(launch.takes)]
        return "\n".join([f"to       {_origin(launch)}", *takes, *answers])
    lines = [f"command  {display_text(launch.display[0])}"]
    lines += [f"         {display_json(word)}" for word in _shown_words(launch.display)[1:]]
    lines += [f"in       {display_text(launch.cwd)}"]
    values = [
        f"{display_text(name)} = {_as_written(name, value)}" for name, value in sorted(launch.env_written.items())
    ]
    lines += [f"{'with' if place == 0 else '':<9}{value}" for place, value in enumerate(values)]
    return "\n".join([*lines, *answers])


def _as_written(name: str, value: str) -> str:
    """A variable as the file has it. One that is secret by its name is masked unless the file only refers to a
    variable."""
    if is_secret(name) and not refers_only(value):
        return MASKED
    return display_text(Masks().text(value))


def _of_the_file(one: Input) -> str:
    """The default and the options that the file gives for an input."""
    parts = [f"default {display_json(Masks().text(one.default))}"] if one.default is not None else []
    parts += (
        [f"one of {', '.join(display_json(Masks().text(option)) for option in one.options)}"] if one.options else []
    )
    return f"{display_text(one.id)}: {'; '.join(parts)}" if parts else ""

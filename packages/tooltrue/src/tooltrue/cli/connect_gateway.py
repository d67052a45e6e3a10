"""``tooltrue connect CLIENT --gateway``: the servers of a client move behind one gateway, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tooltrue.cli.connect_report import gateway_consequence, tell_message, warn
from tooltrue.cli.connect_session import ConnectSession
from tooltrue.cli.connect_target import gateway_words
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.terminal_host import launch_requests, show_request
from tooltrue.cli.wording import (
    CLIENT_WITHOUT_SERVERS_TO_MOVE,
    CONSOLE_MOVE_SERVERS,
    GATEWAY_NEEDS_CLIENT_FILE,
    HINT_BACKUP_HOLDS_SECRETS,
    HINT_SERVER_STAYS,
    REPORT_SERVERS_BEHIND_GATEWAY,
)
from tooltrue.client.auth.keyring_variables import read_variable, write_variables
from tooltrue.client.config import HostConfig, read_config
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files.entry import NO_CONFIRM, command_line, entry_of, is_gateway
from tooltrue.host.client_files.file_edit import edit_text, servers_in
from tooltrue.host.client_files.gateway_file import (
    Moved,
    keyring_names,
    moved,
    of_gateway,
    with_keyring,
    without_gateways,
)
from tooltrue.host.client_files.replacement import ClientFile, Replacement
from tooltrue.host.launches import Launches, LaunchRequest
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.wording import Worded, sentence

__all__ = ["move_behind_gateway", "undo"]

_NAME: Final = "tooltrue"


@dataclass(slots=True)
class _Move:
    """The move of the servers of one client. ``options`` are those of ``tooltrue gateway``."""

    session: ConnectSession
    name: str | None
    confirms: bool | None
    uses_keyring: bool
    options: Sequence[str]
    requests: list[LaunchRequest] = field(default_factory=list[LaunchRequest])
    secrets: dict[str, str] = field(default_factory=dict[str, str])
    labels: list[str] = field(default_factory=list[str])

    def changed(self, client: ClientFile) -> list[Replacement]:
        """The replacements of both files, once the person has seen them and each command that starts."""
        profile, text = self.session.profile, client.text or ""
        servers = servers_in(str(client.path), text, profile)
        behind = self.session.opened_gateway_file()
        before = next((name for name, entry in servers.items() if _serves(entry, behind)), None)
        leaving = without_gateways(servers)
        move = moved(self._config(text), leaving, profile, in_project=self.session.project) if leaving else Moved.none()
        for label, reason in move.staying.items():
            warn(HINT_SERVER_STAYS, server=label, problem=Worded(reason, {}))
        if not move.entries:
            if before is None:
                raise ConfigurationError.of(CLIENT_WITHOUT_SERVERS_TO_MOVE, file=str(client.path))
            return []
        self.labels = list(move.entries)
        entries = dict(move.entries)
        if self.uses_keyring:
            entries, self.secrets = with_keyring(behind.path, entries)
        after = edit_text(str(behind.path), behind.text or "", of_gateway(profile), entries)
        name = self.name or before or _NAME
        gateway = self._entry(behind, move.variables, servers.get(name if before is None else before))
        removed = {label: None for label in (*move.entries, before) if label is not None and label != name}
        if name not in move.entries:
            self.session.check(client, {name: gateway})
        replacements = [
            Replacement(behind, after),
            self.session.edited(client, {**removed, name: gateway}),
        ]
        for replacement in replacements:
            self.session.show(replacement)
        self._show_commands(read_config(behind.path, after))
        self.session.show_closing_hint()
        return replacements

    def _config(self, text: str) -> HostConfig:
        """The client's file as a list of servers."""
        config = read_config(self.session.file_name() or "", text)
        for note in config.notes:
            tell(one_line(note.say(current_language())), fg="yellow", err=True)
        return config

    def _entry(self, behind: ClientFile, variables: Mapping[str, Json], before: Json) -> dict[str, Json]:
        words = gateway_words(str(behind.path), self.options)
        if gateway_consequence(self.session.profile, self.confirms):
            words = (words[0], NO_CONFIRM, *words[1:])
        entry = entry_of(self.session.profile, command_line(words), {})
        return {**entry, **_merged(before, variables)}

    def _show_commands(self, config: HostConfig) -> None:
        async def read_secret(name: str) -> str | None:
            return self.secrets[name] if name in self.secrets else await read_variable(name)

        launches = Launches()
        requests = launch_requests(launches, config, (), read_secret)
        self.requests = [one for one in requests if not launches.is_approved(one.digest)]
        for request in self.requests:
            show_request(request)

    def store_secrets(self) -> None:
        if self.secrets:
            asyncio.run(write_variables(self.secrets))

    def run(self) -> None:
        question = sentence(CONSOLE_MOVE_SERVERS, current_language(), {})
        if not self.session.write(self.changed, question, self.store_secrets):
            return
        launches = Launches()
        for request in self.requests:
            launches.approve(request)
        tell_message(
            REPORT_SERVERS_BEHIND_GATEWAY,
            servers=", ".join(self.labels),
            file=self.session.opened_gateway_file().path,
            count=len(self.requests),
        )
        if self.secrets:
            tell_message(HINT_BACKUP_HOLDS_SECRETS, err=True)


def move_behind_gateway(
    session: ConnectSession, name: str | None, confirms: bool | None, options: Sequence[str], *, uses_keyring: bool
) -> None:
    """Move the servers of the client behind a gateway, once a person, or ``--yes``, agrees to the change of both files
    and to the command of each server."""
    if session.profile.installs != "file" or session.file_name() is None:
        raise ConfigurationError.of(GATEWAY_NEEDS_CLIENT_FILE, client=session.profile.title or session.profile.name)
    _Move(session, name, confirms, uses_keyring, options).run()


def undo(session: ConnectSession) -> None:
    """Restore the last backup, and remove from the keyring what was moved into it with that change."""
    restored = session.undo()
    if restored is not None:
        unmoved = keyring_names(restored.file.text) - keyring_names(restored.text)
        if unmoved:
            asyncio.run(write_variables(dict.fromkeys(unmoved)))


def _serves(entry: Json, file: ClientFile) -> bool:
    args = entry.get("args") if is_object(entry) else None
    return is_gateway(entry) and is_array(args) and str(file.path) in args


def _merged(before: Json, variables: Mapping[str, Json]) -> dict[str, Json]:
    """The variables of the gateway's entry, with those that it had for the servers moved earlier."""
    earlier = before if is_object(before) and is_gateway(before) else {}
    merged: dict[str, Json] = {}
    for key in ("env", "env_vars"):
        old, new = earlier.get(key), variables.get(key)
        if is_object(old) or is_object(new):
            merged[key] = {**(old if is_object(old) else {}), **(new if is_object(new) else {})}
        elif is_array(old) or is_array(new):
            merged[key] = list(dict.fromkeys([*(old if is_array(old) else []), *(new if is_array(new) else [])]))
    return merged

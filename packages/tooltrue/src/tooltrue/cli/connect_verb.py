"""``tooltrue connect``: installs a server into the configuration file of a client, shows the change first, and can undo
it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from tooltrue._internal.platform.command_lines import joined
from tooltrue._internal.platform.system import PLATFORM
from tooltrue.cli.connect_report import show_consequence, show_diff, tell_message, title_of, warn
from tooltrue.cli.connect_target import served_words
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here, tell_data, tell_json
from tooltrue.cli.terminal_prompts import confirmed
from tooltrue.cli.usage import Verb, misuse
from tooltrue.cli.wording import (
    CLIENT_CHANGE_REQUIRES_PERSON,
    CLIENT_ENTRY_NOT_FOUND,
    CLIENT_ENTRY_OF_ANOTHER_PROGRAM,
    CLIENT_FILE_CHANGED_SINCE,
    CLIENT_FILE_NOT_MANAGED,
    CLIENT_FILE_WITHOUT_BACKUP,
    CLIENT_SERVER_NAME_INVALID,
    CLIENT_WITHOUT_PROJECT_FILE,
    COMMAND_ARGUMENT_UNREADABLE,
    CONSOLE_WRITE_CHANGE,
    HINT_BLOCK_FOR_ANY_CLIENT,
    HINT_BLOCK_FOR_FILE,
    HINT_CLIENT_FOLDER_NEW,
    HINT_CLIENT_WRITES_ITSELF,
    HINT_IMPORT_BLOCK,
    HINT_LINK_FOLLOWED,
    REASON_NOT_KEY_VALUE,
    REPORT_CLIENT_FILE_RESTORED,
    REPORT_CLIENT_FILE_UNCHANGED,
    REPORT_CLIENT_FILE_WRITTEN,
    REPORT_NOTHING_WRITTEN,
    SERVER_OPTION_MISPLACED,
    UNKNOWN_CLIENT,
    WARNING_SECRETS_IN_PROJECT,
    WARNING_TEMPORARY_ENVIRONMENT,
)
from tooltrue.client.config import is_secret
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files.clients import ClientProfile, client_profiles, location, system_of
from tooltrue.host.client_files.entry import (
    NO_CONFIRM,
    command_line,
    entry_of,
    is_ours,
    server_name,
    temporary_environment,
)
from tooltrue.host.client_files.file_edit import Changes, edit_text, servers_in
from tooltrue.host.client_files.replacement import (
    Backup,
    ClientFile,
    Replacement,
    backup_to_restore,
    discard,
    read_client_file,
    replace,
)
from tooltrue.host.wording import CLIENT_FILE_CHANGED
from tooltrue.jsonrpc.messages import Json
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.wording import Worded, names_or_none, sentence

__all__ = ["command"]

_ANY: Final = ClientProfile(
    name="other", title="", form="json", table=("mcpServers",), installs="block", facts=(), files={}, entry={}
)
_LONGEST_NAME: Final = 60
_ATTEMPTS: Final = 10
"""How often a change is made anew for a script, if another program changes the file at the same moment."""


class _ConnectVerb(Verb):
    """Says where the options of the server belong, if one stands among its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise ConfigurationError.of(SERVER_OPTION_MISPLACED, option=error.option_name) from None


@click.command(
    "connect",
    cls=_ConnectVerb,
    example="tooltrue connect cursor notes.py",
    short_help="Install a server into a client.",
)
@click.argument("client")
@click.argument("target", required=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS...]")
@click.option("--name", metavar="NAME", help="The name of the server in the client. Default: from TARGET.")
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of the server; NAME: as set now."
)
@click.option("--project", is_flag=True, help="Use the client's file in the current folder, not that of the user.")
@click.option(
    "--confirm/--no-confirm",
    "confirms",
    default=None,
    help="Whether the server asks before destructive calls. Default: what suits the client.",
)
@click.option("--print", "as_block", is_flag=True, help="Print what to add to the file, and write nothing.")
@click.option("--remove", metavar="NAME", help="Remove the server NAME from the client.")
@click.option("--undo", is_flag=True, help="Restore the file as it was before the last change made by connect.")
@click.option("--force", is_flag=True, help="Replace the entry of another program, or a file that has changed since.")
@click.option("--dry-run", is_flag=True, help="Show the change, and write nothing.")
@click.option("--yes", is_flag=True, help="Write without a question, for scripts.")
def command(
    client: str,
    target: str | None,
    options: tuple[str, ...],
    name: str | None,
    variables: tuple[str, ...],
    project: bool,
    confirms: bool | None,
    as_block: bool,
    remove: str | None,
    undo: bool,
    force: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Install the server TARGET into CLIENT: a toolbox name, FILE.py, FILE.py:NAME or package.module:NAME.

    CLIENT is claude-desktop, claude-code, cursor, vscode, windsurf, codex, gemini-cli or cherry-studio; 'other' prints
    what to add to the configuration of any other. The change of the client's file is shown first, the rest of the file
    stays as it is, and a backup is kept beside it. OPTIONS are those of 'tooltrue serve' for the server.
    """
    if (target is None) + (remove is None) + (not undo) != 2:
        raise misuse("TARGET, --remove NAME or --undo is needed.")
    profile = _profile(client)
    session = _Session(profile, project=project, force=force, dry_run=dry_run, yes=yes)
    if undo:
        session.undo()
    elif remove is not None:
        session.change({remove: None})
    elif target is not None:
        name = _checked(server_name(target) if name is None else name)
        line, env = _line(profile, target, options, confirms, name, _variables(variables))
        if as_block or profile.installs != "file":
            _show_block(profile, session.file_name(), name, entry_of(profile, line, _without_secrets(env)))
        else:
            session.change({name: entry_of(profile, line, env)}, shares_secrets=bool(env))


def _profile(client: str) -> ClientProfile:
    profiles = client_profiles()
    if client == _ANY.name:
        return _ANY
    if client not in profiles:
        raise ConfigurationError.of(UNKNOWN_CLIENT, name=client, known=", ".join(profiles))
    return profiles[client]


def _checked(name: str) -> str:
    if re.fullmatch(rf"[A-Za-z0-9_-]{{1,{_LONGEST_NAME}}}", name) is None:
        raise ConfigurationError.of(CLIENT_SERVER_NAME_INVALID, name=name, limit=_LONGEST_NAME)
    return name


def _variables(words: Sequence[str]) -> dict[str, str]:
    """The variables of the server. A name without a value takes the value that the variable has now."""
    variables: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None or (not equals and name not in os.environ):
            problem = Worded(REASON_NOT_KEY_VALUE, {})
            raise ConfigurationError.of(COMMAND_ARGUMENT_UNREADABLE, what=f"--env {name}", problem=problem)
        variables[name] = value if equals else os.environ[name]
    return variables


def _without_secrets(env: Mapping[str, str]) -> dict[str, str]:
    """The variables for output: in the place of a secret stands the name of its variable."""
    return {
        name: f"<{name}>" if is_secret(name) or Masks().text(value) != value else value for name, value in env.items()
    }


def _line(
    profile: ClientProfile,
    target: str,
    options: tuple[str, ...],
    confirms: bool | None,
    name: str,
    env: Mapping[str, str],
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The command line of the server, with the option that suits the client, once the person was told what follows."""
    if temporary_environment():
        warn(WARNING_TEMPORARY_ENVIRONMENT, folder=sys.prefix)
    if options[:1] == (NO_CONFIRM,):  # as an option of `serve`
        options, confirms = options[1:], False
    words = served_words(target, options)
    is_left_out = show_consequence(profile, name, command_line(words), env, confirms)
    return command_line((words[0], NO_CONFIRM, *words[1:]) if is_left_out else words), env


def _show_block(profile: ClientProfile, file: str | None, name: str, entry: Mapping[str, Json]) -> None:
    if profile.installs == "import":
        tell_message(HINT_IMPORT_BLOCK, err=True, client=profile.title)
    elif file is not None:
        tell_message(HINT_BLOCK_FOR_FILE, err=True, file=file)
    else:
        tell_message(HINT_BLOCK_FOR_ANY_CLIENT, err=True)
    if profile.form == "toml":
        tell_data(edit_text("", "", profile, {name: entry}), nl=False)
        return
    block: Any = {name: entry}
    for key in reversed(profile.table):
        block = {key: block}
    tell_json(block)


@dataclass(frozen=True, slots=True)
class _Session:
    """The edit of the file of one client."""

    profile: ClientProfile
    project: bool
    force: bool
    dry_run: bool
    yes: bool

    def file_name(self) -> str | None:
        """The client's file for this user or this project; None if it has none."""
        if self.project:
            if self.profile.project is None:
                raise ConfigurationError.of(CLIENT_WITHOUT_PROJECT_FILE, client=self.profile.title)
            return str(Path.cwd() / self.profile.project)
        system = system_of(PLATFORM)
        template = self.profile.files.get(system)
        return None if template is None else str(location(template, system, os.environ, str(Path.home())))

    def _opened(self) -> ClientFile:
        name = self.file_name()
        if self.profile.installs != "file" or name is None:
            raise ConfigurationError.of(CLIENT_FILE_NOT_MANAGED, client=title_of(self.profile))
        file = read_client_file(Path(name), Path.cwd() if self.project else Path.home())
        if file.link is not None:
            tell_message(HINT_LINK_FOLLOWED, err=True, link=file.link, file=file.path)
        return file

    def change(self, changes: Changes, *, shares_secrets: bool = False) -> None:
        """Show the change, and write it once a person, or ``--yes``, agrees."""
        for attempt in range(_ATTEMPTS):
            file = self._opened()
            self._check(file, changes)
            text = edit_text(str(file.path), file.text or "", self.profile, changes)
            if text == (file.text or ""):
                tell_message(REPORT_CLIENT_FILE_UNCHANGED, file=file.path)
                return
            show_diff(str(file.path), file.text, text, self.profile.form)
            self._show_hints(file, shares_secrets=shares_secrets and self.project)
            with contextlib.suppress(_MustRetry):
                backup = self._replaced(Replacement(file, text), is_last=attempt == _ATTEMPTS - 1)
                if backup is not None:
                    self._report(file, backup)
                return

    def _check(self, file: ClientFile, changes: Changes) -> None:
        servers = servers_in(str(file.path), file.text or "", self.profile)
        for name, entry in changes.items():
            if entry is None and name not in servers:
                known = names_or_none(list(servers))
                raise ConfigurationError.of(CLIENT_ENTRY_NOT_FOUND, file=str(file.path), name=name, known=known)
            if entry is not None and name in servers and not is_ours(servers[name]) and not self.force:
                raise ConfigurationError.of(CLIENT_ENTRY_OF_ANOTHER_PROGRAM, file=str(file.path), name=name)

    def _show_hints(self, file: ClientFile, *, shares_secrets: bool) -> None:
        if not self.project and not file.path.parent.is_dir():
            tell_message(HINT_CLIENT_FOLDER_NEW, err=True, folder=file.path.parent, client=self.profile.title)
        if self.profile.writes_while_running and not self.project:
            tell_message(HINT_CLIENT_WRITES_ITSELF, err=True, client=self.profile.title)
        if shares_secrets:
            warn(WARNING_SECRETS_IN_PROJECT, file=file.path)

    def _is_agreed(self) -> bool:
        if self.dry_run:
            agreed = False
        elif self.yes:
            return True
        elif not is_somebody_here():
            raise ConfigurationError.of(CLIENT_CHANGE_REQUIRES_PERSON)
        else:
            agreed = confirmed(sentence(CONSOLE_WRITE_CHANGE, current_language(), {}))
        if not agreed:
            tell_message(REPORT_NOTHING_WRITTEN)
        return agreed

    def _replaced(self, change: Replacement, *, is_last: bool) -> Backup | None:
        if not self._is_agreed():
            return None
        try:
            return replace(change)
        except ConfigurationError as error:
            if error.code == CLIENT_FILE_CHANGED and self.yes and not is_last:
                raise _MustRetry from None
            raise

    def _report(self, file: ClientFile, backup: Backup) -> None:
        words = ["tooltrue", "connect", self.profile.name, *(["--project"] if self.project else []), "--undo"]
        tell_message(
            REPORT_CLIENT_FILE_WRITTEN,
            file=file.path,
            backup=backup.path.name,
            command=joined(words),
            client=self.profile.title,
        )

    def undo(self) -> None:
        """Restore the last backup, if the file is still as it was written, or with ``--force``."""
        file = self._opened()
        backup = backup_to_restore(file)
        if backup is None:
            raise ConfigurationError.of(CLIENT_FILE_WITHOUT_BACKUP, file=str(file.path))
        before = backup.text
        show_diff(str(file.path), file.text, before, self.profile.form)
        follows = backup.follows(file.text)
        if not follows and not self.force:
            raise ConfigurationError.of(CLIENT_FILE_CHANGED_SINCE, file=str(file.path))
        if self._is_agreed():
            replace(Replacement(file, before), keeps_backup=not follows)
            discard(backup)
            tell_message(REPORT_CLIENT_FILE_RESTORED, file=file.path, client=self.profile.title)


class _MustRetry(Exception):
    """Another program has changed the file between reading and writing."""

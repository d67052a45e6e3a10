"""The edit of the file of one client, as a person sees it: the change, the question, the backup and the way back."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tooltrue._internal.platform.command_lines import joined
from tooltrue._internal.platform.system import PLATFORM
from tooltrue.cli.connect_report import show_diff, tell_message, title_of, warn
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here
from tooltrue.cli.terminal_prompts import confirmed
from tooltrue.cli.wording import (
    CLIENT_CHANGE_REQUIRES_PERSON,
    CLIENT_ENTRY_NOT_FOUND,
    CLIENT_ENTRY_OF_ANOTHER_PROGRAM,
    CLIENT_FILE_CHANGED_SINCE,
    CLIENT_FILE_NOT_MANAGED,
    CLIENT_FILE_WITHOUT_BACKUP,
    CLIENT_WITHOUT_PROJECT_FILE,
    CONSOLE_WRITE_CHANGE,
    HINT_CLIENT_FOLDER_NEW,
    HINT_CLIENT_WRITES_ITSELF,
    HINT_LINK_FOLLOWED,
    REPORT_CLIENT_FILE_RESTORED,
    REPORT_CLIENT_FILE_UNCHANGED,
    REPORT_CLIENT_FILE_WRITTEN,
    REPORT_NOTHING_WRITTEN,
    WARNING_GATEWAY_FILE_STAYS,
    WARNING_SECRETS_IN_PROJECT,
)
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files.clients import ClientProfile, location, system_of
from tooltrue.host.client_files.entry import is_ours
from tooltrue.host.client_files.file_edit import Changes, edit_text, servers_in
from tooltrue.host.client_files.gateway_file import gateway_file
from tooltrue.host.client_files.replacement import (
    Backup,
    ClientFile,
    Replacement,
    backup_beside,
    backup_to_restore,
    discard,
    read_client_file,
    replace,
    replace_together,
)
from tooltrue.host.wording import CLIENT_FILE_CHANGED
from tooltrue.wording import names_or_none, sentence

__all__ = ["ConnectSession"]

_ATTEMPTS: Final = 10
"""How often a change is made anew for a script, if another program changes the file at the same moment."""


@dataclass(frozen=True, slots=True)
class ConnectSession:
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

    def opened_gateway_file(self) -> ClientFile:
        """The file with the servers of this client that stand behind the gateway."""
        path = gateway_file(self.profile, Path.cwd() if self.project else None)
        return read_client_file(path, path.parent)

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

        def changed(file: ClientFile) -> list[Replacement]:
            self.check(file, changes)
            replacement = self.edited(file, changes)
            if replacement.text == (file.text or ""):
                return []
            self.show(replacement)
            self._show_hints(file, shares_secrets=shares_secrets and self.project)
            return [replacement]

        self.write(changed, sentence(CONSOLE_WRITE_CHANGE, current_language(), {}))

    def edited(self, file: ClientFile, changes: Changes) -> Replacement:
        return Replacement(file, edit_text(str(file.path), file.text or "", self.profile, changes))

    def show(self, change: Replacement) -> None:
        show_diff(str(change.file.path), change.file.text, change.text, self.profile.form)

    def write(
        self,
        changed: Callable[[ClientFile], Sequence[Replacement]],
        question: str,
        before: Callable[[], None] = lambda: None,
    ) -> bool:
        """Write the replacements that ``changed`` makes of the client's file, once a person, or ``--yes``, agrees;
        returns whether they were written. The client's own file is the last of them. ``before`` is called when the
        person has agreed."""
        for attempt in range(_ATTEMPTS):
            file = self._opened()
            replacements = changed(file)
            if not replacements:
                tell_message(REPORT_CLIENT_FILE_UNCHANGED, file=file.path)
                return False
            if not self._is_agreed(question):
                return False
            before()
            try:
                backups = replace_together(replacements)
            except ConfigurationError as error:
                if error.code == CLIENT_FILE_CHANGED and self.yes and attempt < _ATTEMPTS - 1:
                    continue  # another program has changed the file between reading and writing
                raise
            self._report(file, backups[-1])
            return True
        return False

    def check(self, file: ClientFile, changes: Changes) -> None:
        """``ConfigurationError`` where a server to remove is not there, or one to add would replace another one."""
        servers = servers_in(str(file.path), file.text or "", self.profile)
        for name, entry in changes.items():
            if entry is None and name not in servers:
                entries = names_or_none(list(servers))
                raise ConfigurationError.of(CLIENT_ENTRY_NOT_FOUND, file=str(file.path), name=name, known=entries)
            if entry is not None and name in servers and not is_ours(servers[name]) and not self.force:
                raise ConfigurationError.of(CLIENT_ENTRY_OF_ANOTHER_PROGRAM, file=str(file.path), name=name)

    def _show_hints(self, file: ClientFile, *, shares_secrets: bool) -> None:
        if not self.project and not file.path.parent.is_dir():
            tell_message(HINT_CLIENT_FOLDER_NEW, err=True, folder=file.path.parent, client=self.profile.title)
        self.show_closing_hint()
        if shares_secrets:
            warn(WARNING_SECRETS_IN_PROJECT, file=file.path)

    def show_closing_hint(self) -> None:
        """Ask the person to close a client that writes its file while it runs."""
        if self.profile.writes_while_running and not self.project:
            tell_message(HINT_CLIENT_WRITES_ITSELF, err=True, client=self.profile.title)

    def _is_agreed(self, question: str) -> bool:
        if self.dry_run:
            agreed = False
        elif self.yes:
            return True
        elif not is_somebody_here():
            raise ConfigurationError.of(CLIENT_CHANGE_REQUIRES_PERSON)
        else:
            agreed = confirmed(question)
        if not agreed:
            tell_message(REPORT_NOTHING_WRITTEN)
        return agreed

    def _report(self, file: ClientFile, backup: Backup) -> None:
        words = ["tooltrue", "connect", self.profile.name, *(["--project"] if self.project else []), "--undo"]
        tell_message(
            REPORT_CLIENT_FILE_WRITTEN,
            file=file.path,
            backup=backup.path.name,
            command=joined(words),
            client=self.profile.title,
        )

    def undo(self) -> Replacement | None:
        """Restore the last backup, if the file is still as it was written, or with ``--force``. The gateway's file, if
        it was changed together with this one, is restored too; returns its replacement."""
        file = self._opened()
        backup = backup_to_restore(file)
        if backup is None:
            raise ConfigurationError.of(CLIENT_FILE_WITHOUT_BACKUP, file=str(file.path))
        restored = Replacement(file, backup.text)
        self.show(restored)
        follows = backup.follows(file.text)
        if not follows and not self.force:
            raise ConfigurationError.of(CLIENT_FILE_CHANGED_SINCE, file=str(file.path))
        behind = self.opened_gateway_file()
        beside = backup_beside(backup, behind.path)
        is_beside = beside is not None and (beside.follows(behind.text) or self.force)
        beside_restored = Replacement(behind, beside.text) if beside is not None and is_beside else None
        if beside_restored is not None:
            self.show(beside_restored)
        elif beside is not None:
            warn(WARNING_GATEWAY_FILE_STAYS, file=behind.path)
        if not self._is_agreed(sentence(CONSOLE_WRITE_CHANGE, current_language(), {})):
            return None
        replace(restored, keeps_backup=not follows)
        discard(backup)
        if beside is not None and beside_restored is not None:
            replace(beside_restored, keeps_backup=not beside.follows(behind.text))
            discard(beside)
        tell_message(REPORT_CLIENT_FILE_RESTORED, file=file.path, client=self.profile.title)
        return beside_restored

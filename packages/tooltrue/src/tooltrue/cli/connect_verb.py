"""``tooltrue connect``: installs a server into the configuration file of a client, shows the change first, and can undo
it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from tooltrue.cli.connect_gateway import move_behind_gateway
from tooltrue.cli.connect_gateway import undo as undo_change
from tooltrue.cli.connect_report import show_consequence, tell_message, warn
from tooltrue.cli.connect_session import ConnectSession
from tooltrue.cli.connect_target import served_words
from tooltrue.cli.printing import tell_data, tell_json
from tooltrue.cli.usage import Verb, misuse
from tooltrue.cli.wording import (
    CLIENT_SERVER_NAME_INVALID,
    COMMAND_ARGUMENT_UNREADABLE,
    HINT_BLOCK_FOR_ANY_CLIENT,
    HINT_BLOCK_FOR_FILE,
    HINT_IMPORT_BLOCK,
    REASON_NOT_KEY_VALUE,
    SERVER_OPTION_MISPLACED,
    UNKNOWN_CLIENT,
    WARNING_TEMPORARY_ENVIRONMENT,
)
from tooltrue.client.config import is_secret
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files.clients import ClientProfile, client_profiles
from tooltrue.host.client_files.entry import (
    NO_CONFIRM,
    command_line,
    entry_of,
    server_name,
    temporary_environment,
)
from tooltrue.host.client_files.file_edit import edit_text
from tooltrue.jsonrpc.messages import Json
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.wording import Worded

__all__ = ["command"]

_ANY: Final = ClientProfile(
    name="other", title="", form="json", table=("mcpServers",), installs="block", facts=(), files={}, entry={}
)
_LONGEST_NAME: Final = 60


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
@click.option("--gateway", is_flag=True, help="Put the servers of the client behind one gateway.")
@click.option("--keyring", is_flag=True, help="With --gateway: move secrets of the servers to the keyring.")
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
    gateway: bool,
    keyring: bool,
    undo: bool,
    force: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Install the server TARGET into CLIENT: a toolbox name, FILE.py, FILE.py:NAME or package.module:NAME.

    CLIENT is claude-desktop, claude-code, cursor, vscode, windsurf, codex, gemini-cli or cherry-studio; 'other' prints
    what to add to the configuration of any other. The change of the client's file is shown first, the rest of the file
    stays as it is, and a backup is kept beside it. OPTIONS are those of 'tooltrue serve' for the server, and with
    --gateway those of 'tooltrue gateway'.
    """
    if keyring and not gateway:
        raise misuse("--keyring goes with --gateway.")
    if gateway and (target or "--").startswith("-"):  # the words behind -- are options of the gateway
        options, target = (*filter(None, (target,)), *options), None
    if (target is not None) + (remove is not None) + gateway + undo != 1:
        raise misuse("TARGET, --gateway, --remove NAME or --undo is needed.")
    profile = _profile(client)
    session = ConnectSession(profile, project=project, force=force, dry_run=dry_run, yes=yes)
    if undo:
        undo_change(session)
    elif gateway:
        move_behind_gateway(session, None if name is None else _checked(name), confirms, options, uses_keyring=keyring)
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

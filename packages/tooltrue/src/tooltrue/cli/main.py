"""``tooltrue``: the group of commands, and their exit codes.

0 done · 1 the tool answered with an error, or a check failed · 2 wrong usage or settings · 3 the peer broke, or
refused, the protocol · 4 no connection: cannot start, connect, or get an answer in time
"""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

import tooltrue
from tooltrue._internal.computed_imports import load
from tooltrue._internal.platform.descriptors import open_empty_input
from tooltrue._internal.platform.text_streams import carry_every_character
from tooltrue.cli.language import language_of, speaking
from tooltrue.cli.plugins import VERBS, load_plugin, names_of, not_installed, summary_of
from tooltrue.cli.printing import discard_output, escape_logs, flush_output, tell, tell_usage, with_own_output
from tooltrue.cli.usage import Verbs, in_language
from tooltrue.crashes import DEBUG
from tooltrue.errors import (
    ConfigurationError,
    DefinitionError,
    ModelError,
    RpcError,
    StateError,
    TooltrueError,
    TransportError,
)
from tooltrue.transport.wording import STDOUT_NOT_WRITABLE
from tooltrue.wording import LANGUAGES

__all__ = ["EXIT_CODES", "exit_code", "main"]

_VERBS = (
    *(
        "approvals",
        "audit",
        "call",
        "chat",
        "connect",
        "dev",
        "gateway",
        "grants",
        "inspect",
        "inventory",
        "keys",
        "list",
        "login",
    ),
    *("logout", "new", "pins", "policy", "serve", "tasks", "test", "trust", "wrap"),
)
"""The verbs of this distribution. A plugin cannot replace one: its verb of the same name is never found."""

_LISTING = "tooltrue.listing"
_SERVE = ("gateway", "serve")
"""Commands whose standard output carries the protocol: :mod:`tooltrue.transport.stdio` reserves it."""

_SYNONYMS = {
    **dict.fromkeys(("create", "init", "scaffold"), "new"),
    **dict.fromkeys(("run", "start"), "serve"),
    **dict.fromkeys(("develop", "inspector", "reload", "watch"), "dev"),
    **dict.fromkeys(("add", "install"), "connect"),
    **dict.fromkeys(("exec", "invoke"), "call"),
    **dict.fromkeys(("ls", "tools"), "list"),
    **dict.fromkeys(("lint", "validate"), "check"),
}
"""Names of commands in other programs → their names here."""

EXIT_CODES: tuple[tuple[type[TooltrueError], int], ...] = (
    (ConfigurationError, 2),
    (DefinitionError, 2),
    (StateError, 2),
    (RpcError, 3),
    (ModelError, 4),
    (TransportError, 4),
)


def exit_code(error: TooltrueError) -> int:
    """The exit code of a command that ends with this error."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), 3)


class _RootVerbs(Verbs):
    """Loads each command on first use, so that no command pays for another."""

    synonyms = _SYNONYMS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*_VERBS, *names_of(VERBS)})

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        language = language_of(args)
        return super(_RootVerbs, in_language(self, language)).make_context(
            info_name, args, parent, obj=language, **extra
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        ctx.meta[_LISTING] = True
        try:
            super().format_commands(ctx, formatter)
        finally:
            del ctx.meta[_LISTING]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if _LISTING in ctx.meta and cmd_name not in _VERBS:  # a listing imports no plugin
            return _listed(cmd_name, ctx.obj)
        return super().get_command(ctx, cmd_name)

    def find_command(self, cmd_name: str) -> click.Command | None:
        if cmd_name not in _VERBS:
            verb = _verb_of_plugin(cmd_name)
            return verb and speaking(verb)
        verb = speaking(load(f"tooltrue.cli.{cmd_name}_verb:command"))
        return verb if cmd_name in _SERVE else with_own_output(verb)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            flush_output()
            return result
        except BrokenPipeError:
            os._exit(0)  # the reader of the output has closed it
        except OSError as error:
            _end_unwritten(error, ctx.obj)
        except TooltrueError as error:
            tell(f"tooltrue: {_indented(error.say(ctx.obj))}", err=True)
            sys.exit(exit_code(error))


def _listed(verb: str, language: str) -> click.Command:
    """A plugin's verb as a listing shows it: in English also if its Chinese help cannot be imported."""
    command = click.Command(verb, short_help=summary_of(verb))
    try:
        return in_language(command, language, verb)
    except ConfigurationError:
        return command


def _verb_of_plugin(name: str) -> click.Command | None:
    """The verb of another distribution; ``None`` if no distribution is known to have it."""
    verb = load_plugin(VERBS, name)
    if verb is None and (error := not_installed(VERBS, name)) is not None:
        raise error
    return verb


@click.command(
    cls=_RootVerbs, epilog=" ".join((__doc__ or "").split("\n\n")[-1].split()).replace("0 done", "Exit codes: 0 done")
)
@click.version_option(tooltrue.__version__, prog_name="tooltrue")
@click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    expose_value=False,
    help="Language of help and errors. Default: from the locale.",
)
@click.option("--debug", is_flag=True, help="Log crashes of tools with all frames, not the author's alone.")
def cli(debug: bool) -> None:
    """Serve, list, call, inspect and test tools of the Model Context Protocol, and decide who may use them."""
    if debug:
        os.environ[DEBUG] = "1"  # for workers too


def _indented(text: str) -> str:
    """Indent the further lines of a sentence, so that none of them passes for another message."""
    return text.replace("\n", "\n    ")


def _end_unwritten(error: OSError, language: str) -> NoReturn:
    """Exit if standard output cannot be written; raise any other error again."""
    try:
        tell()
        flush_output()  # the error does not say which stream could not be written
    except OSError:
        failure = ConfigurationError.of(STDOUT_NOT_WRITABLE, problem=error.strerror)
        tell(f"tooltrue: {failure.say(language)}", err=True)
        discard_output()
        sys.exit(exit_code(failure))
    raise error


def main() -> None:
    """Run a command. A ``TooltrueError`` ends in one sentence and an exit code, never in a traceback."""
    if sys.stdout is None:  # closed: a stream that cannot be written takes its place, so that lost output is an error
        sys.stdout = os.fdopen(open_empty_input(), "w", encoding="utf-8", newline="\n")
    carry_every_character()
    escape_logs()
    try:
        cli(prog_name="tooltrue", standalone_mode=False)
    except click.ClickException as error:
        tell_usage(error, language_of(sys.argv[1:]))
        sys.exit(2)
    except click.exceptions.Exit as exit_request:
        sys.exit(exit_request.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:  # from --help and --version, which run before any command
        _end_unwritten(error, language_of(sys.argv[1:]))

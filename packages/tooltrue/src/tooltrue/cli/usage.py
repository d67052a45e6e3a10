"""Commands and groups: errors for all missing arguments at once, suggestions, and the language of help and errors."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import click

from tooltrue.cli.language import current_language
from tooltrue.cli.wording import (
    COMMAND_ARGUMENT_MISSING,
    TARGET_HAS_NO_SUCH_TOOL,
    UNKNOWN_COMMAND,
    UNKNOWN_COMMAND_OPTION,
    UNKNOWN_COMMAND_WITH_SUGGESTION,
)
from tooltrue.errors import ConfigurationError
from tooltrue.spelling import closest

__all__ = ["Verb", "Verbs", "in_language", "misuse", "unknown_tool", "usage_text"]

C = TypeVar("C", bound=click.Command)


class Verb(click.Command):
    """A command that reports all missing arguments in one error, with an example.

    ``either`` are parameters of which one is required. ``synonyms`` maps options of other programs to those of this
    one.
    """

    def __init__(
        self,
        *args: Any,
        example: str = "",
        either: Sequence[str] = (),
        synonyms: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*args, epilog=f"Example: {example}" if example else None, **more)
        self._example = example
        self._either = either
        self._synonyms = synonyms or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except click.MissingParameter:
            self._refuse(ctx, typed)
        except click.NoSuchOption as error:
            if (option := self._synonyms.get(error.option_name)) is None:
                raise
            raise ConfigurationError.of(
                UNKNOWN_COMMAND_OPTION, verb=self.name, option=error.option_name, meant=option
            ) from None
        if self._either and all(ctx.params[name] is None for name in self._either):
            self._refuse(ctx, typed)
        return rest

    def _refuse(self, ctx: click.Context, args: list[str]) -> NoReturn:
        values, _, _ = self.make_parser(ctx).parse_args(args)
        missing = [
            _parameter_text(param) for param in self.params if param.required and _is_missing(param, ctx, values)
        ]
        either = [param for param in self.params if param.name in self._either]
        if either and all(_is_missing(param, ctx, values) for param in either):
            missing.insert(0, usage_text(" or ").join(map(_parameter_text, either)))
        raise ConfigurationError.of(
            COMMAND_ARGUMENT_MISSING,
            verb=" ".join(_path(ctx)) or self.name,
            missing=", ".join(missing),
            example=self._example,
        )


def _is_missing(param: click.Parameter, ctx: click.Context, values: Mapping[str, Any]) -> bool:
    value, _ = param.consume_value(ctx, values)
    return value is None or param.value_is_missing(value)


def _parameter_text(param: click.Parameter) -> str:
    return f"{param.opts[0]} {param.metavar}" if isinstance(param, click.Option) else param.human_readable_name


class Verbs(click.Group):
    """A group of commands. The error for an unknown command suggests similar ones."""

    synonyms: Mapping[str, str] = {}
    """Words of other programs → the command. A command that is not installed is not suggested."""

    def find_command(self, cmd_name: str) -> click.Command | None:
        """The subcommand of this name, as it was declared."""
        return self.commands.get(cmd_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = self.find_command(cmd_name)
        return command and in_language(command, ctx.find_root().obj, *_path(ctx), cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        typed = args[0]
        if self.get_command(ctx, typed) is None and not typed.startswith("-"):
            raise self._unknown(ctx, typed)
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: click.Context, typed: str) -> ConfigurationError:
        verbs = self.list_commands(ctx)
        synonym = self.synonyms.get(typed)
        near = [synonym] if synonym in verbs else difflib.get_close_matches(typed, verbs)
        if not near:
            return ConfigurationError.of(UNKNOWN_COMMAND, name=typed, verbs=", ".join(verbs))
        command_line = " ".join(filter(None, (ctx.command_path, "{}"))).format
        return ConfigurationError.of(
            UNKNOWN_COMMAND_WITH_SUGGESTION, name=typed, near=", ".join(map(command_line, near))
        )


def _path(context: click.Context) -> list[str]:
    """The names of the commands below the root, as in ``approvals list``."""
    return [] if context.parent is None else [*_path(context.parent), context.info_name or ""]


def in_language(command: C, language: str | None, *path: str) -> C:
    """The command at ``path`` with its help in this language."""
    if language != "zh":
        return command
    from tooltrue.cli.chinese_help import translated  # noqa: PLC0415 - an English command does not load Chinese texts

    return translated(command, path)


def usage_text(text: str) -> str:
    """A text on how the command is used, in the language of the running command."""
    if current_language() != "zh":
        return text
    from tooltrue.cli.chinese_help import translated_usage  # noqa: PLC0415 - an English command loads no Chinese texts

    return translated_usage(text, _path(click.get_current_context()))


def misuse(text: str) -> click.UsageError:
    """The error for options that do not go together."""
    return click.UsageError(usage_text(text))


def unknown_tool(target: str, name: str, tools: Collection[str]) -> ConfigurationError:
    """The error for a tool that ``target`` does not list."""
    return ConfigurationError.of(TARGET_HAS_NO_SUCH_TOOL, target=target, name=name, near=closest(name, tools))

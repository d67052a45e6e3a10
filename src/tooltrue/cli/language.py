"""``--lang`` after a command: users write it there as well as before the command."""

from __future__ import annotations

from typing import TypeVar

import click

__all__ = ["speaking", "spoken"]

C = TypeVar("C", bound=click.Command)


def _speak(context: click.Context, param: click.Parameter, said: str | None) -> None:
    if said is not None:
        context.obj = context.find_root().obj = said


_LANGUAGE = click.Option(
    ["--lang"], type=click.Choice(["en", "zh"]), hidden=True, is_eager=True, expose_value=False, callback=_speak
)


def speaking(verb: C) -> C:
    """Add the option to the command and to its subcommands."""
    if _LANGUAGE not in verb.params:
        verb.params.append(_LANGUAGE)
        for inner in verb.commands.values() if isinstance(verb, click.Group) else ():
            speaking(inner)
    return verb


def spoken() -> str:
    """The language of the running command; English outside of one."""
    context = click.get_current_context(silent=True)
    return (context.find_root().obj if context is not None else None) or "en"

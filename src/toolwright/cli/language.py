"""``--lang`` behind a verb: people write it there as well as before it."""

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
    """The verb, which takes the option now, as do those that it has."""
    if _LANGUAGE not in verb.params:
        verb.params.append(_LANGUAGE)
        for inner in verb.commands.values() if isinstance(verb, click.Group) else ():
            speaking(inner)
    return verb


def spoken() -> str:
    """The language of the command that runs; English outside of one."""
    context = click.get_current_context(silent=True)
    return (context.find_root().obj if context is not None else None) or "en"

"""``tooltrue policy``: whether a file of rules is valid, why it decides as it does, and the effect of a change."""

from __future__ import annotations

import click

from tooltrue._internal.computed_imports import load
from tooltrue.cli.language import speaking
from tooltrue.cli.printing import with_own_output
from tooltrue.cli.usage import Verbs

__all__ = ["command"]

_VERBS = ("check", "explain", "simulate")


class _PolicyVerbs(Verbs):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_VERBS)

    def find_command(self, cmd_name: str) -> click.Command | None:
        return (
            with_own_output(speaking(load(f"tooltrue.cli.policy_{cmd_name}:command"))) if cmd_name in _VERBS else None
        )


@click.group("policy", cls=_PolicyVerbs, short_help="Check, explain and try out rules.")
def command() -> None:
    """Check, explain and try out the rules in a file such as tooltrue.toml."""

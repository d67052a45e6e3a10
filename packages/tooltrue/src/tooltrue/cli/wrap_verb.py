"""``tooltrue wrap``: the name of a verb that ``tooltrue gateway`` has replaced."""

from __future__ import annotations

import click

from tooltrue.cli.wording import VERB_WRAP_REPLACED
from tooltrue.errors import ConfigurationError

__all__ = ["command"]


@click.command("wrap", short_help="Replaced by tooltrue gateway.")
@click.argument("file", nargs=-1, type=click.UNPROCESSED, metavar="[FILE]")
@click.option("--observe", is_flag=True, help="Accepted, and ignored.")
def command(file: tuple[str, ...], observe: bool) -> None:
    """Name the command that has replaced this one: tooltrue gateway FILE."""
    raise ConfigurationError.of(VERB_WRAP_REPLACED, file=" ".join(file) or "FILE")

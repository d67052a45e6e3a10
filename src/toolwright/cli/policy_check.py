"""``toolwright policy check``: everything that is wrong with a file of rules."""

from __future__ import annotations

import asyncio
import sys

import click

from toolwright.cli.printing import printable
from toolwright.cli.targets import Spec, load_server
from toolwright.errors import ConfigurationError
from toolwright.policy.config import Config, examine

__all__ = ["command"]


@click.command("check", short_help="Find what is wrong with a file of rules.")
@click.argument("file")
@click.argument("target", required=False)
@click.option("--root", "roots", multiple=True, metavar="DIR", help="files: a folder to be used. Repeatable.")
@click.pass_context
def command(context: click.Context, file: str, target: str | None, roots: tuple[str, ...]) -> None:
    """Check FILE: unknown keys, schemas that are none, rules that can never match.

    With TARGET, a server of ours, also names of tools, resources, prompts and arguments that it does not have.
    """
    config, problems = examine(file)
    if target is not None and not problems:
        problems = _against(config, Spec(target, roots))
    language = context.find_root().obj or "en"
    for problem in problems:
        click.echo(printable(problem.say(language)))
    if problems:
        sys.exit(1)
    count = len(config.rules.rules) if config.rules else 0
    tables = "".join(f", [{name}]" for name in config.tables)
    click.echo(printable(f"{file}: {count} rules{tables}; nothing is wrong{f' for {target}' if target else ''}."))


def _against(config: Config, spec: Spec) -> list[ConfigurationError]:
    return asyncio.run(load_server(spec).astray(config))

"""``tooltrue policy check``: all problems of a file of rules."""

from __future__ import annotations

import asyncio
import sys
from typing import TypeAlias

import click

from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.printing import tell
from tooltrue.cli.targets import Spec, load_server
from tooltrue.errors import ConfigurationError
from tooltrue.policy.config import OperatorConfig, examine
from tooltrue.policy.rules.lint import lenient

__all__ = ["command"]


@click.command(
    "check",
    cls=TargetVerb,
    example="tooltrue policy check tooltrue.toml notes.py",
    short_help="Find mistakes in a file of rules.",
)
@click.argument("file")
@click.argument("target", required=False)
@click.pass_context
def command(context: click.Context, file: str, target: str | None, family: FamilyOptions) -> None:
    """Check FILE for unknown keys, invalid schemas and rules that can never match.

    With TARGET, a server of ours, also names of tools, resources, prompts and arguments that it does not have. A note
    on a rule that may be a mistake is no error.
    """
    config, problems = examine(file)
    if not problems:
        problems, notes = _on_its_own(config) if target is None else asyncio.run(_against(config, Spec(target, family)))
    else:
        notes = []
    language = context.find_root().obj or "en"
    for message in [*problems, *notes]:
        tell(message.say(language))
    if problems:
        sys.exit(1)
    count = len(config.rules.rules) if config.rules else 0
    tables = "".join(f", [{name}]" for name in config.tables)
    tell(f"{file}: {count} rules{tables}; nothing is wrong{f' for {target}' if target else ''}.")


_ProblemsAndNotes: TypeAlias = tuple[list[ConfigurationError], list[ConfigurationError]]
"""Problems, and notes."""


def _on_its_own(config: OperatorConfig) -> _ProblemsAndNotes:
    return [], [*lenient(config.rules.rules, None, config.place)] if config.rules else []


async def _against(config: OperatorConfig, spec: Spec) -> _ProblemsAndNotes:
    server = load_server(spec)
    problems = await server.unknown_references(config)
    if config.rules is None or problems:
        return problems, []
    there = await server.inventory()
    return [], [*lenient(config.rules.on(server.name).here(), there.tools, config.place)]

"""``tooltrue diff``: the changes between two contracts, and whether they are acceptable."""

from __future__ import annotations

import sys

import click

from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.output import show_json
from tooltrue.cli.printing import tell, with_own_output
from tooltrue.contract.contract import Contract
from tooltrue.contract.diff import Class, Diff, diff
from tooltrue.contract.diff_phrases import class_counts, grows, phrase
from tooltrue_check.cli.contracts import lock_of

__all__ = ["command"]

_CLASSES = [kind.value for kind in Class]


@with_own_output
@click.command(
    "diff",
    cls=TargetVerb,
    example="tooltrue diff tooltrue.lock notes.py",
    short_help="Show changes in the contract of a server.",
)
@click.argument("old")
@click.argument("new")
@click.option(
    "--fail-on",
    type=click.Choice(_CLASSES),
    default="narrowed",
    show_default=True,
    help="The lowest class that makes the command fail.",
)
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context, old: str, new: str, family: FamilyOptions, fail_on: str, timeout: float, as_json: bool
) -> None:
    """Compare the contracts OLD and NEW: lock files, dumps of tools/list as JSON, or servers.

    Exits with 1 when a change is of the class of --fail-on or a worse one.
    """
    difference = diff(*(lock_of(one, family, timeout, Contract.as_listed).contract for one in (old, new)))
    if as_json:
        show_json(difference.data())
    else:
        _show(difference, context.obj or "en")
    if difference.worst is not None and difference.worst.rank >= Class(fail_on).rank:
        sys.exit(1)


def _show(difference: Diff, language: str) -> None:
    for line in difference.lines(language):
        tell(line)
    if not difference:
        tell(phrase("same", language))
        return
    tell(class_counts(difference, language) + phrase("bump", language, bump=grows(difference.bump, language)))

"""``tooltrue lock``: the contract of a server in a file to be committed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from tooltrue.cli.contract_acts import contract_act
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.printing import one_line, tell, with_own_output
from tooltrue.contract import lock as locks
from tooltrue.contract.contract import Contract
from tooltrue.contract.diff import Diff, diff
from tooltrue.contract.diff_phrases import class_counts, phrase
from tooltrue.contract.wording import LOCK_FILE_DIGEST_MISMATCH
from tooltrue.errors import ConfigurationError, StateError, TooltrueError, fact_of
from tooltrue.host.pins import Review
from tooltrue.policy.audit.acts import acts_url, record_done
from tooltrue_check.cli.contracts import lock_of
from tooltrue_check.wording import LOCK_NOT_RECORDED

__all__ = ["command"]


@with_own_output
@click.command(
    "lock", cls=TargetVerb, example="tooltrue lock notes.py", short_help="Write the contract of a server to a file."
)
@click.argument("target")
@click.option("-o", "--file", default="tooltrue.lock", show_default=True, metavar="FILE", help="The file to write.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@click.pass_context
def command(context: click.Context, target: str, family: FamilyOptions, file: str, timeout: float) -> None:
    """Write every field of every tool of TARGET to a file that is read in a review.

    TARGET is a server of ours (toolbox name, FILE.py, module:NAME), a URL, or a command in quotes.
    """
    path = Path(file)
    before = _before(path)
    lock = lock_of(target, family, timeout)
    locks.write(path, lock)
    language, contract = context.obj or "en", lock.contract
    message = phrase("kept", language, file=file, count=len(contract.tools), pin=contract.pin[:16])
    tell(message)
    changes = diff(Contract() if before is None else before.contract, contract)
    if before is not None:
        tell(class_counts(changes, language) or phrase("same", language))
    if changes:
        _record(path, Contract() if before is None else before.contract, lock, changes, language)


def _record(path: Path, before: Contract, lock: locks.Lock, changes: Diff, language: str) -> None:
    """Add the change to the history of the file. The file itself is what holds, so that it is written in any case."""
    review = Review(lock.name or path.name, lock.contract.pin, changes)
    act = contract_act("write lock", path.name, locks.key_of(path), before.pin, review)
    try:
        asyncio.run(record_done(acts_url(), act))
    except TooltrueError as error:
        note = StateError.of(LOCK_NOT_RECORDED, file=str(path), problem=fact_of(error, is_clause=False))
        tell(one_line(note.say(language)), fg="yellow", err=True)


def _before(path: Path) -> locks.Lock | None:
    """Return the lock in the file, or ``None`` if there is no file or if it was edited, which writing it again repairs.
    Any other file is an error, so that it is not overwritten."""
    try:
        return locks.read(path) if path.exists() else None
    except ConfigurationError as error:
        if error.code == LOCK_FILE_DIGEST_MISMATCH:
            return None
        raise

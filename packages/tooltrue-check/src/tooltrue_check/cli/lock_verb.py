"""``tooltrue lock``: the contract of a server in a file to be committed."""

from __future__ import annotations

from pathlib import Path

import click

from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.printing import tell, with_own_output
from tooltrue.contract import lock as locks
from tooltrue.contract.diff import diff
from tooltrue.contract.diff_phrases import class_counts, phrase
from tooltrue.contract.wording import LOCK_FILE_DIGEST_MISMATCH
from tooltrue.errors import ConfigurationError
from tooltrue_check.cli.contracts import lock_of

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
    if before is not None:
        tell(class_counts(diff(before.contract, contract), language) or phrase("same", language))


def _before(path: Path) -> locks.Lock | None:
    """Return the lock in the file, or ``None`` if there is no file or if it was edited, which writing it again repairs.
    Any other file is an error, so that it is not overwritten."""
    try:
        return locks.read(path) if path.exists() else None
    except ConfigurationError as error:
        if error.code == LOCK_FILE_DIGEST_MISMATCH:
            return None
        raise

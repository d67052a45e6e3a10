"""``tooltrue test``: the kit's checks against any server."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import click

from tooltrue.cli.crashes import counted_crashes
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.output import show_json
from tooltrue.cli.printing import one_line, redrawn, tell
from tooltrue.cli.server_connection import target_of
from tooltrue.cli.targets import is_ours
from tooltrue.cli.wording import LABEL_SERVER_CRASH
from tooltrue.client.client import Target
from tooltrue.testing.checks import Plan, examine
from tooltrue.testing.report import Report
from tooltrue.wording import sentence

__all__ = ["command"]

_USUAL = Plan()


@click.command(
    "test", cls=TargetVerb, example="tooltrue test notes.py", short_help="Test a server against its contract."
)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--tool", "tools", multiple=True, metavar="GLOB", help="Call only tools of such names. Repeatable.")
@click.option(
    "--effects",
    type=click.Choice(["read", "write"]),
    default="read",
    show_default=True,
    help="The effects of the tools to call.",
)
@click.option("--destructive", multiple=True, metavar="NAME", help="Call this destructive tool. Repeatable.")
@click.option(
    "--varies",
    multiple=True,
    metavar="NAME",
    help="This read-only tool may answer the same call differently. Repeatable.",
)
@click.option("--open-world", is_flag=True, help="Also call tools that reach services beyond the server, many times.")
@click.option("--seed", type=int, default=_USUAL.seed, show_default=True, help="The seed of the generated arguments.")
@click.option(
    "--calls", type=click.IntRange(1, 10_000), default=_USUAL.calls, show_default=True, help="Valid calls per tool."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=_USUAL.seconds,
    show_default=True,
    help="The time limit of each call, in seconds.",
)
@click.option(
    "--in-flight", type=click.IntRange(1, 1_000), default=_USUAL.in_flight, show_default=True, help="Concurrent calls."
)
@click.option(
    "--p95",
    type=SECONDS,
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="Fail a tool if one call in twenty takes longer.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format of the report.",
)
@click.pass_context
def command(
    context: click.Context,
    targets: tuple[str, ...],
    family: FamilyOptions,
    tools: tuple[str, ...],
    effects: str,
    destructive: tuple[str, ...],
    varies: tuple[str, ...],
    open_world: bool,
    seed: int,
    calls: int,
    seconds: float,
    in_flight: int,
    p95: float,
    form: str,
) -> None:
    """Call the tools of each TARGET with generated arguments, and report breaches of their contract.

    Only read-only tools are called, and none that reaches services beyond the server, unless --effects, --destructive
    or --open-world allows more.
    """
    plan = Plan(
        seed=seed,
        calls=calls,
        seconds=seconds,
        tools=tools or ("*",),
        effects="write" if effects == "write" else "read",
        destructive=frozenset(destructive),
        varies=frozenset(varies),
        open_world=open_world,
        in_flight=in_flight,
        p95=p95,
    )
    language = context.obj or "en"
    with counted_crashes() as crashes:
        reports = {target: _examined(target, family, plan) for target in targets}
    if sys.stderr.isatty():
        redrawn()
    if form == "json":
        show_json({target: report.as_json(language) for target, report in reports.items()})
    else:
        tell("\n\n".join(f"{target}\n{report.text(language)}" for target, report in reports.items()))
    for line in crashes.lines():
        tell(one_line(sentence(LABEL_SERVER_CRASH, language, {"crash": line})), err=True)
    if not all(report.ok for report in reports.values()):
        sys.exit(1)


def _examined(target: str, family: FamilyOptions, plan: Plan) -> Report:
    plan = replace(plan, carriers=_carriers(target, family))
    progress = _progress if sys.stderr.isatty() else None
    return asyncio.run(examine(target_of(target, family), plan, progress=progress))


def _carriers(target: str, family: FamilyOptions) -> dict[str, Target]:
    """Further transports for the checks: a tooltrue server runs in this process, and is also started over stdio, as
    by a host."""
    if not is_ours(target):
        return {}
    main = "from tooltrue.cli.main import main; main()"
    return {"stdio": [sys.executable, "-c", main, "serve", target, *family.words()]}


def _progress(section: str, check: str) -> None:
    redrawn(f"{section}: {check} …")

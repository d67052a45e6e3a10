"""``tooltrue openapi``: work with a description of an HTTP API before it is served."""

from __future__ import annotations

from pathlib import Path

import click

from tooltrue.cli.language import current_language
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.usage import Verb, Verbs
from tooltrue.errors import ConfigurationError
from tooltrue.extras import required
from tooltrue.wording import sentence
from tooltrue_toolbox.cli.openapi_export import export
from tooltrue_toolbox.distribution import DISTRIBUTION
from tooltrue_toolbox.openapi.wording import PLAN_EXISTS, PLAN_WRITTEN
from tooltrue_toolbox.wording import TOOLBOX_PACKAGE_MISSING

__all__ = ["command", "missing"]


def missing(command: str) -> ConfigurationError:
    """The error for the extra that is not installed."""
    facts = {"family": "openapi", "package": "openapi-spec-validator", "extra": "openapi", "command": command}
    return ConfigurationError.of(TOOLBOX_PACKAGE_MISSING, **facts)


@click.group("openapi", cls=Verbs, short_help="Plan the tools of an HTTP API; describe tools as one.")
def command() -> None:
    """Work with a description of an HTTP API: OpenAPI 3.0 to 3.2, or Swagger 2.0."""


command.add_command(export)


@command.command(
    "plan",
    cls=Verb,
    example="tooltrue openapi plan petstore.yaml",
    short_help="Write the tools of a description to a file to edit.",
)
@click.argument("spec", metavar="FILE")
@click.option("--operations", multiple=True, metavar="PATTERN", help="Only tag:, path:, method: or id:PATTERN.")
@click.option(
    "--budget", type=click.IntRange(1), metavar="TOKENS", help="Only the first tools that fit, by an estimate."
)
@click.option("--output", "-o", metavar="FILE", help="The plan; by default the name of FILE with .plan.toml.")
def plan(spec: str, operations: tuple[str, ...], budget: int | None, output: str | None) -> None:
    """Write a plan: the operations of FILE with the names, texts and effects of their tools.

    serve openapi --spec FILE --api-plan PLAN serves what stands in it. A plan that is there is never overwritten.
    """
    with required("openapi_spec_validator", "openapi", missing, DISTRIBUTION):
        from tooltrue_toolbox.openapi.openapi_tools import forms_of, load_api, within_budget  # noqa: PLC0415 - an extra
        from tooltrue_toolbox.openapi.plan import plan_text  # noqa: PLC0415 - the same
    api = load_api(spec)
    forms = forms_of(api, operations)
    forms, beyond = (forms, ()) if budget is None else within_budget(api, forms, budget)
    place = Path(output) if output is not None else Path(Path(spec.partition("?")[0]).with_suffix(".plan.toml").name)
    try:
        with place.open("x", encoding="utf-8", newline="\n") as file:
            file.write(plan_text(api, forms, beyond))
    except FileExistsError:
        raise ConfigurationError.of(PLAN_EXISTS, file=str(place)) from None
    follow = f"tooltrue serve openapi --spec {spec} --api-plan {place} --api-url URL"
    tell(one_line(sentence(PLAN_WRITTEN, current_language(), {"file": place, "count": len(forms), "command": follow})))
